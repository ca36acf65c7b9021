use script::Done;

use super::*;

static LEASE: Menu = Menu::new("/lease", MenuShape::List, "Leases");
static MENUS: &[&Menu] = &[&LEASE];

fn fields(row: &str) -> Vec<(&str, String)> {
    let pairs = row.split(' ').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name, value.to_owned()))
        .collect()
}

fn collect(query: &str, rows: &[&str]) -> Snapshot {
    let view = View::parse(query).unwrap_or_else(|fault| panic!("{}", fault.body()));
    let mut run = |_: &Request, out: &mut dyn Rows| {
        for row in rows {
            if out.row(&fields(row)).is_break() {
                break;
            }
        }
        Ok(Done::Nothing)
    };
    let snapshot = view.collect(MENUS, &mut run, &mut Counters::default(), Duration::ZERO);
    snapshot.unwrap_or_else(|fault| panic!("{}", fault.body()))
}

fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.window.iter().map(|(id, _)| id.as_str()).collect()
}

const LEASES: [&str; 4] = [
    ".id=*1 address=10.0.0.10 age=2m rate=1.5Mbps host=Tom chain=b",
    ".id=*2 address=10.0.0.9 age=90s rate=900kbps host=anna chain=a",
    ".id=*3 address=10.0.0.100 age=1d02:00:00 rate=2bps disabled=true chain=b",
    ".id=*4 address=9.0.0.1 age=3h host=tim chain=a",
];

#[test]
fn rows_are_sorted_by_size_and_the_window_is_cut() {
    for (sort, expected) in [
        ("address", ["*4", "*2", "*1", "*3"]),
        ("age", ["*2", "*1", "*4", "*3"]),
        ("-rate", ["*1", "*2", "*3", "*4"]),
        ("host", ["*3", "*2", "*4", "*1"]),
        ("none,host", ["*3", "*2", "*4", "*1"]),
        ("", ["*1", "*2", "*3", "*4"]),
    ] {
        let all = collect(&format!("menu=/lease&sort={sort}"), &LEASES);
        assert_eq!(ids(&all), expected, "{sort}");
        let two = collect(&format!("menu=/lease&sort={sort}&first=1&count=2"), &LEASES);
        assert_eq!(ids(&two), expected[1..3], "{sort}");
        assert_eq!((two.total, two.matched, two.first), (4, 4, 1));
    }
}

#[test]
fn rows_are_sorted_by_the_rates_of_their_counters() {
    let view = View::parse("menu=/lease&sort=-~bytes&columns=host").expect("valid");
    assert_eq!(view.properties(), [".id", "host", "bytes"]);
    let mut counters = Counters::default();
    let mut order = Vec::new();
    let rows = [
        [".id=*1 bytes=9000", ".id=*2 bytes=10"],
        [".id=*1 bytes=9001", ".id=*2 bytes=500"],
    ];
    for (second, rows) in (1..).zip(rows) {
        let mut run = |_: &Request, out: &mut dyn Rows| {
            for row in rows {
                let _ = out.row(&fields(row));
            }
            Ok(Done::Nothing)
        };
        let snapshot = view.collect(MENUS, &mut run, &mut counters, Duration::from_secs(second));
        order = snapshot.expect("rows").window;
    }
    let ids: Vec<_> = order.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["*2", "*1"]);
}

#[test]
fn filters_find_words_values_and_comparisons() {
    for (filter, expected) in [
        ("TOM", &["*1"][..]),
        ("host=Anna", &["*2"]),
        ("host~t chain=a", &["*4"]),
        ("disabled=yes", &["*3"]),
        ("disabled=no chain!=b", &["*2", "*4"]),
        ("age>2m", &["*3", "*4"]),
        ("rate<1Mbps", &["*2", "*3"]),
        ("\"no such\"", &[]),
    ] {
        let filter = filter.replace(' ', "%20");
        let found = collect(&format!("menu=/lease&filter={filter}"), &LEASES);
        assert_eq!(ids(&found), expected, "{filter}");
        assert_eq!((found.total, found.matched), (4, expected.len()));
    }
}

#[test]
fn groups_have_headings_with_numbers_of_rows() {
    let grouped = collect("menu=/lease&group=chain", &LEASES);
    assert_eq!(ids(&grouped), ["=b", "*1", "*3", "=a", "*2", "*4"]);
    assert_eq!(grouped.lines, 6);
    assert_eq!(grouped.window[3].1[".count"], "2");
}

#[test]
fn a_message_has_only_what_changed_in_the_window() {
    let query = "menu=/lease&count=2";
    let before = collect(query, &LEASES[..3]);
    let whole = before.changes(None).expect("the first message");
    assert!(whole.contains("\"order\":[\"*1\",\"*2\"]"), "{whole}");
    assert!(
        whole.contains("\"*2\":{\"address\":\"10.0.0.9\""),
        "{whole}"
    );
    assert!(!whole.contains("*3"), "{whole}");
    assert_eq!(before.changes(Some(&before)), None);

    let changed = [
        LEASES[0],
        ".id=*2 address=10.0.0.9 age=91s rate=900kbps chain=a",
        LEASES[2],
    ];
    let after = collect(query, &changed).changes(Some(&before));
    assert_eq!(
        after.as_deref(),
        Some(
            "{\"total\":3,\"matched\":3,\"lines\":3,\"first\":0,\
             \"rows\":{\"*2\":{\"age\":\"91s\",\"host\":null}}}"
        )
    );
}

#[test]
fn a_thousand_times_more_rows_do_not_make_the_message_longer() {
    let rows: Vec<_> = (0..20_000)
        .map(|number| {
            format!(
                ".id=*{number:x} address=10.0.0.{} bytes={number}",
                number % 7
            )
        })
        .collect();
    let rows: Vec<_> = rows.iter().map(String::as_str).collect();
    for query in ["menu=/lease&count=60", "menu=/lease&count=60&sort=-bytes"] {
        let message = collect(query, &rows).changes(None).expect("a message");
        assert!(message.len() < 5_000, "{query}: {}", message.len());
    }
}

#[test]
fn malformed_views_are_refused() {
    for query in ["", "menu=", "menu=/lease&first=x", "menu=/lease&colour=red"] {
        assert_eq!(
            View::parse(query).map_err(|fault| fault.status()),
            Err(400),
            "{query}"
        );
    }
    let unknown = View::parse("menu=/none").expect("a path");
    let run = &mut |_: &Request, _: &mut dyn Rows| Ok(Done::Nothing);
    assert_eq!(
        unknown
            .collect(MENUS, run, &mut Counters::default(), Duration::ZERO)
            .map_err(|fault| fault.status()),
        Err(404)
    );
}
