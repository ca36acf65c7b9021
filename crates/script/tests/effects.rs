//! Settings without effect are reported, and so are settings that depend on them.

use std::ops::ControlFlow;

use menu::{Live, Offline, Scan, Store, Survey};
use script::{ExclusiveSite, Request, Session, request_at};

/// The default configuration of a home router.
const DEFCONF: &str = include_str!("defconf.rsc");

/// A store after running a file.
fn after(text: &str) -> Store {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert_eq!(report.refused, []);
    store
}

/// The output of a command.
fn run(store: &mut Store, line: &str) -> String {
    let mut out = String::new();
    let done = script::run(
        store,
        &mut Offline,
        &mut Session::new("admin"),
        line,
        &mut out,
    );
    assert_eq!(done, Ok(()), "{line}");
    out
}

/// The missing features of a menu's items, in the order of the items.
fn lacks(store: &Store, path: &str) -> Vec<String> {
    let items = store.items(path).map(|item| store.no_effect_reason(item));
    let text = items.map(|lack| lack.map_or(String::new(), |lack| lack.to_string()));
    text.collect()
}

/// The rows that a program receives.
#[derive(Default)]
struct Given(Vec<Vec<(String, String)>>);

impl script::Rows for Given {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        let fields = fields.iter();
        let fields = fields.map(|(name, text)| ((*name).to_owned(), text.clone()));
        self.0.push(fields.collect());
        ControlFlow::Continue(())
    }
}

/// The missing features that a program is told, row by row.
fn told(store: &mut Store, path: &str) -> Vec<Option<String>> {
    let mut given = Given::default();
    let request = Request {
        path: format!("{path}/print"),
        arguments: vec![(String::from(".proplist"), String::from(".no-effect"))],
        ..Request::default()
    };
    let mut session = Session::new("admin");
    let mut live = Offline;
    let mut site = ExclusiveSite::new(store, &mut live);
    request_at(&mut site, &mut session, &request, &mut given).expect("a good request");
    let rows = given.0.into_iter();
    let missing = rows.map(|row| {
        assert!(row.iter().all(|(name, _)| name != "no-effect"), "{row:?}");
        let mut fields = row.into_iter();
        let missing = fields.find(|(name, _)| name == ".no-effect");
        missing.map(|(_, text)| text)
    });
    missing.collect()
}

#[test]
fn interfaces_on_a_mesh_have_no_effect() {
    let mut store = after(
        "/interface mesh add name=br\n\
         /interface vlan add name=v interface=br vlan-id=5\n\
         /interface vlan add name=w interface=v vlan-id=6\n\
         /ip address add address=10.0.0.1/24 interface=w\n\
         /ip address add address=10.1.0.1/24 interface=ether1\n\
         /ip route add dst-address=10.2.0.0/16 gateway=10.0.0.9%w\n\
         /ip route add dst-address=10.3.0.0/16 gateway=v,ether1\n\
         /ip route add dst-address=10.4.0.0/16 gateway=v,br\n\
         /ip firewall filter add chain=input in-interface=w\n\
         /ip firewall filter add chain=input in-interface=!w\n\
         /ip firewall filter add chain=input\n",
    );

    assert_eq!(
        lacks(&store, "/interface/vlan"),
        [
            "virtual interfaces (interface=br)",
            "virtual interfaces (interface=v)"
        ]
    );
    assert_eq!(
        lacks(&store, "/ip/address"),
        ["virtual interfaces (interface=w)", ""]
    );
    let routes = [
        "virtual interfaces (gateway=w)",
        "",
        "virtual interfaces (gateway=v)",
    ];
    assert_eq!(lacks(&store, "/ip/route"), routes);
    let rules = ["virtual interfaces (in-interface=w)", "", ""];
    assert_eq!(lacks(&store, "/ip/firewall/filter"), rules);
    let printed = run(&mut store, "/ip address print");
    assert!(!printed.contains('~'), "{printed}");
    let remark = "\n;;; no effect: virtual interfaces (interface=w)\n";
    let at = printed.find(remark).expect("a remark");
    assert!(printed[at + remark.len()..].starts_with("0 "), "{printed}");
    assert_eq!(printed.matches(";;; no effect").count(), 1, "{printed}");
}

#[test]
fn a_gateway_on_a_mesh_is_not_reached() {
    let mut store = after(
        "/interface mesh add name=br\n\
         /ip address add address=10.0.0.1/16 interface=br\n\
         /ip address add address=10.0.5.1/24 interface=ether1\n\
         /ipv6 address add address=2001:db8::1/64 interface=br advertise=no\n\
         /ip route add dst-address=10.1.0.0/16 gateway=10.0.0.9\n\
         /ip route add dst-address=10.2.0.0/16 gateway=10.0.5.9\n\
         /ip route add dst-address=10.3.0.0/16 gateway=10.0.0.9,192.0.2.1\n\
         /ipv6 route add dst-address=2001:db8:1::/48 gateway=2001:db8::9\n",
    );

    assert_eq!(
        lacks(&store, "/ip/route"),
        ["virtual interfaces (gateway=10.0.0.9)", "", ""]
    );
    assert_eq!(
        lacks(&store, "/ipv6/route"),
        ["virtual interfaces (gateway=2001:db8::9)"]
    );
    run(
        &mut store,
        "/ip address add address=10.0.0.2/16 interface=lo",
    );
    assert_eq!(lacks(&store, "/ip/route"), ["", "", ""]);
}

#[test]
fn a_list_has_an_effect_if_a_member_has() {
    let mut store = after(
        "/interface mesh add name=br\n\
         /interface list add name=LAN\n\
         /interface list add name=more include=LAN\n\
         /interface list member add list=LAN interface=br\n\
         /interface list member add list=LAN interface=ether2 disabled=yes\n\
         /ip firewall filter add chain=input in-interface-list=LAN\n\
         /ip firewall filter add chain=input in-interface-list=more\n\
         /ip firewall filter add chain=input in-interface-list=!LAN\n\
         /ip firewall filter add chain=input in-interface-list=all\n",
    );
    let rules = |lan: &str, more: &str| {
        [
            lan.to_owned(),
            more.to_owned(),
            String::new(),
            String::new(),
        ]
    };

    let (lan, more) = (
        "virtual interfaces (in-interface-list=LAN)",
        "virtual interfaces (in-interface-list=more)",
    );
    assert_eq!(lacks(&store, "/ip/firewall/filter"), rules(lan, more));
    assert_eq!(
        lacks(&store, "/interface/list/member"),
        ["virtual interfaces (interface=br)", ""]
    );
    run(
        &mut store,
        "/interface list member add list=more interface=lo",
    );
    assert_eq!(lacks(&store, "/ip/firewall/filter"), rules(lan, ""));
    run(
        &mut store,
        "/interface list member enable [find interface=ether2]",
    );
    assert_eq!(lacks(&store, "/ip/firewall/filter"), rules("", ""));
    assert!(
        lacks(&store, "/interface/list")
            .iter()
            .all(String::is_empty)
    );
}

#[test]
fn api_rows_name_the_missing_feature_under_its_own_key() {
    let more = "/interface mesh add name=net\n/ip address add address=10.9.0.1/24 interface=net\n";
    let mut store = after(&format!("{DEFCONF}\n{more}"));

    let mesh = Some(String::from("virtual interfaces (interface=net)"));
    assert_eq!(told(&mut store, "/ip/address"), [None, mesh]);
    let members = told(&mut store, "/interface/list/member");
    assert_eq!(members[1], None);
    assert_eq!(told(&mut store, "/ip/pool"), [None]);
    assert!(
        told(&mut store, "/ip/firewall/filter")
            .iter()
            .all(Option::is_none)
    );
    // A view shows items of other menus.
    let interfaces = told(&mut store, "/interface");
    assert!(
        interfaces.contains(&Some(String::from("virtual interfaces"))),
        "{interfaces:?}"
    );
    let shown = run(&mut store, "/tool mac-server print");
    assert!(
        shown.starts_with(";;; no effect: MAC server and RoMON\n"),
        "{shown}"
    );
}

#[test]
fn a_check_names_the_missing_feature_of_each_command() {
    let report = script::check(&mut schema::store(), DEFCONF);

    assert_eq!(report.refused, []);
    assert_eq!(report.applied + report.no_effect.len(), report.commands);
    let told = report.no_effect.iter();
    let told: Vec<_> = told
        .map(|n| format!("{}: {}: {}", n.line, n.item, n.missing))
        .collect();
    assert_eq!(
        told,
        [
            "53: /tool/mac-server: MAC server and RoMON",
            "55: /tool/mac-server/mac-winbox: MAC server and RoMON",
        ]
    );
}

/// A router that keeps its log entries.
#[derive(Default)]
struct Logging(Vec<String>);

impl tool::Router for Logging {}

impl Live for Logging {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }

    fn log(&mut self, topics: &str, message: &str) {
        self.0.push(format!("{topics} {message}"));
    }
}

#[test]
fn the_log_warns_of_enabled_items_without_effect() {
    let mut store = after("/interface mesh add name=br disabled=yes\n");
    let mut live = Logging::default();
    let mut run = |line: &str| {
        let (mut out, mut session) = (String::new(), Session::new("admin"));
        let done = script::run(&mut store, &mut live, &mut session, line, &mut out);
        assert_eq!((done, out.as_str()), (Ok(()), ""), "{line}");
        std::mem::take(&mut live.0)
    };

    let said = "system,warning ip hotspot user a has no effect here yet: hotspot";
    let add = "/ip hotspot user add name=a";
    assert_eq!(run(add), [said]);
    let set = "/ip hotspot user set a comment=x; /ip hotspot user set a disabled=yes";
    assert_eq!(run(set), [""; 0]);
    assert_eq!(run("/ip hotspot user enable a"), [said]);
    let said = "system,warning ip address address=10.0.0.1/24 network=10.0.0.0 interface=br \
                has no effect here yet: virtual interfaces (interface=br)";
    let add = "/ip address add address=10.0.0.1/24 interface=br";
    assert_eq!(run(add), [said]);
    assert_eq!(
        run("/ip address add address=10.0.1.1/24 interface=lo"),
        [""; 0]
    );
    // Items that exist with each interface (`/queue/interface`) are no configuration of the user.
    assert_eq!(
        run("/interface vlan add name=v10 interface=lo vlan-id=10"),
        [""; 0]
    );
    // A loop gives one warning.
    let each = ":for n from=1 to=9 do={ /ip hotspot user add name=$n }";
    assert_eq!(run(each).len(), 1);
}

#[test]
fn a_menu_lists_all_items_without_effect() {
    let more = "/interface mesh add name=net\n/ip address add address=10.9.0.1/24 interface=net\n";
    let mut store = after(&format!("{DEFCONF}\n{more}"));

    let list = run(&mut store, "/system configuration effects print terse");
    let lines: Vec<_> = list.lines().collect();
    assert_eq!(lines.len(), 4, "{list}");
    let address = run(
        &mut store,
        ":put ([/system configuration effects print as-value where menu=\"/ip/address\"]->0)",
    );
    assert!(address.contains("item=address=10.9.0.1/24"), "{address}");
    assert!(
        address.contains("missing=virtual interfaces (interface=net)"),
        "{address}"
    );
    let count = run(
        &mut store,
        "/system configuration effects print count-only where menu~\"mac-server\"",
    );
    assert_eq!(count, "2\n");
    let none = run(
        &mut schema::store(),
        "/system configuration effects print count-only",
    );
    assert_eq!(none, "0\n");
}

#[test]
fn a_summary_line_counts_items_without_effect() {
    assert_eq!(Survey::of(&schema::store()).line(), None);

    let line = Survey::of(&after(DEFCONF)).line();

    let said = "2 of 31 commands have no effect yet: MAC server and RoMON; \
                /system/configuration/effects lists them";
    assert_eq!(line.as_deref(), Some(said));
}

#[test]
fn the_survey_of_a_large_configuration_runs_in_pieces() {
    let mut store = schema::store();
    let mark = store.begin();
    let menu = store.menu("/interface/mesh").expect("a menu");
    for n in 0..10_000 {
        let name = Some(menu::Value::text(format!("b{n}")));
        store
            .add(menu, &[("name", name)], None)
            .expect("the name is free");
    }
    assert!(store.commit(mark).expect("nothing is journaled").is_some());
    let (mut survey, mut pieces) = (Survey::default(), 1);

    while survey.go_on(&store) == Scan::More {
        pieces += 1;
    }

    assert!(pieces > 2, "{pieces}");
    let line = survey.line().unwrap_or_default();
    assert!(line.starts_with("10000 of 10000 commands "), "{line}");
    let count = run(&mut store, "/system configuration effects print count-only");
    assert_eq!(count, "10000\n");
}

#[test]
fn help_marks_features_without_effect() {
    let store = schema::store();
    let help = |line: &str, word: &str| {
        let found = script::complete(&store, &Session::new("admin"), line, line.len());
        let mut found = found.into_iter();
        let found = found.find(|candidate| candidate.text == word);
        found.expect(word).help
    };

    let marked = |line: &str, word: &str| help(line, word).ends_with("(no effect yet)");
    assert!(marked("/interface ", "mesh"));
    assert!(marked("/interface ", "dot1x"));
    assert!(!marked("/", "interface"));
    assert!(marked("/interface mesh ", "add"));
    assert!(!marked("/interface mesh ", "print"));
    assert!(!marked("/interface ", "vlan"));
    assert!(marked("/interface vlan add ", "mvrp"));
    assert!(!marked("/interface vlan add ", "vlan-id"));
    assert!(marked("/tool ", "snmp-walk"));
}

#[test]
fn disabled_items_count_as_implemented() {
    let off = after("/tool romon set enabled=no id=00:00:00:00:00:00\n/ip proxy set enabled=no\n");
    let on = after("/tool romon set enabled=yes\n/ip proxy set enabled=yes\n");
    for path in ["/tool/romon", "/ip/proxy"] {
        let lack = |store: &Store| {
            store
                .settings(path)
                .and_then(|item| store.no_effect_reason(item))
        };
        assert_eq!(lack(&off), None, "{path}");
        assert!(lack(&on).is_some(), "{path}");
    }
}
