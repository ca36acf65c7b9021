//! The table of the configuration: rows `import`, `print` and `completion`, without packets.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use menu::{Offline, Output, Store};
use router::store::{Durable, Key, OnDamage};
use script::Session;

use crate::cli::Bench;
use crate::cli::output;

/// The rows of this table.
pub(super) const ROWS: [&str; 3] = ["import", "print", "completion"];

/// Number of imported lines, and of printed items.
const LINES: usize = 10_000;
const ITEMS: usize = 100_000;
/// Maximum number of runs, because each takes long.
const RUNS: u32 = 11;

/// A measurement: name, size, and times in milliseconds.
struct Timed {
    row: &'static str,
    what: &'static str,
    items: usize,
    ms: Vec<f64>,
}

impl Timed {
    /// Returns the quantile `part` of the times.
    fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        let at = (last as f64 * part).round() as usize;
        sorted.get(at).copied().unwrap_or(0.0)
    }

    fn to_json(&self) -> String {
        format!(
            "{{\"row\":\"{}\",\"what\":\"{}\",\"items\":{},\"runs\":{},\"ms\":{:.3},\"p10\":{:.3},\"p90\":{:.3}}}",
            self.row,
            self.what,
            self.items,
            self.ms.len(),
            self.quantile(0.5),
            self.quantile(0.1),
            self.quantile(0.9)
        )
    }

    fn table_line(&self) -> String {
        format!(
            "{:<12} {:<28} {:>8} {:>10.3} {:>10.3} {:>10.3}",
            self.row,
            self.what,
            self.items,
            self.quantile(0.5),
            self.quantile(0.1),
            self.quantile(0.9)
        )
    }
}

/// Runs the requested rows, and prints them.
pub(super) fn run(bench: &Bench) -> Result<(), String> {
    let runs = bench.runs.clamp(1, RUNS);
    if !bench.json {
        let _ = output::line(format_args!(
            "{:<12} {:<28} {:>8} {:>10} {:>10} {:>10}",
            "row", "", "items", "median ms", "p10", "p90"
        ));
    }
    let asked = |row: &str| bench.rows.is_empty() || bench.rows.iter().any(|asked| asked == row);
    let print = |timed: &Timed| {
        let line = match bench.json {
            true => timed.to_json(),
            false => timed.table_line(),
        };
        let _ = output::line(line);
    };
    if asked(ROWS[0]) {
        for (what, text) in [
            ("address-list, durable", entries()),
            ("filter rules, durable", rules()),
        ] {
            print(&import(what, &text, runs)?);
        }
    }
    if asked(ROWS[1]) {
        let (first, total) = printed(runs)?;
        print(&first);
        print(&total);
    }
    if asked(ROWS[2]) {
        print(&completion(runs));
    }
    if !bench.json {
        let _ = output::line(format_args!(
            "\nimport: a file of this many add lines as one transaction, synced to disk. print: a list of this\n\
             many items. completion: of one line, with all menus."
        ));
    }
    Ok(())
}

fn entries() -> String {
    let line = |n: usize| format!("add address=10.{}.{}.0/24 list=blocked\n", n >> 8, n & 255);
    format!(
        "/ip firewall address-list\n{}",
        (0..LINES).map(line).collect::<String>()
    )
}

fn rules() -> String {
    let line = |n: usize| {
        format!(
            "add action=drop chain=forward comment=\"rule {n}\" dst-port={} protocol=tcp \
             src-address=10.{}.{}.0/24\n",
            n % 60_000 + 1,
            n >> 8,
            n & 255
        )
    };
    format!(
        "/ip firewall filter\n{}",
        (0..LINES).map(line).collect::<String>()
    )
}

/// Temporary folder on the disk of the state folders, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("ferroute-bench-{}", std::process::id());
        let shm = Path::new("/var/tmp");
        let place = match shm.is_dir() {
            true => shm.to_owned(),
            false => std::env::temp_dir(),
        };
        Self(place.join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn import(what: &'static str, text: &str, runs: u32) -> Result<Timed, String> {
    let mut ms = Vec::new();
    for _ in 0..runs {
        let folder = Folder::new();
        let mut store = schema::store();
        let key = Key::new([7; 32], "a measurement");
        let mut durable = Durable::open(&folder.0, &key, OnDamage::Refuse)?;
        durable.replace(&store.save())?;
        store.set_journal(Box::new(durable));
        let start = Instant::now();
        fill(&mut store, text)?;
        ms.push(milliseconds(start));
    }
    Ok(Timed {
        row: ROWS[0],
        what,
        items: LINES,
        ms,
    })
}

fn fill(store: &mut Store, text: &str) -> Result<(), String> {
    let mut session = Session::new("admin");
    let done = script::import(store, &mut Offline, &mut session, text, &mut String::new());
    done.map_err(|refusal| refusal.to_string())
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

/// Discards output; records when its first byte arrived.
struct Reader {
    start: Instant,
    first_ms: Option<f64>,
    bytes: usize,
}

impl Output for Reader {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        let start = self.start;
        self.first_ms.get_or_insert_with(|| milliseconds(start));
        self.bytes += text.len();
        ControlFlow::Continue(())
    }
}

fn printed(runs: u32) -> Result<(Timed, Timed), String> {
    let mut store = schema::store();
    for part in 0..ITEMS / LINES {
        fill(
            &mut store,
            &entries().replace("=10.", &format!("={}.", part + 11)),
        )?;
    }
    let (mut first, mut total) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut session = Session::new("admin");
        let mut reader = Reader {
            start: Instant::now(),
            first_ms: None,
            bytes: 0,
        };
        let command = "/ip firewall address-list print";
        let done = script::run(&mut store, &mut Offline, &mut session, command, &mut reader);
        done.map_err(|refusal| refusal.to_string())?;
        total.push(milliseconds(reader.start));
        first.push(reader.first_ms.unwrap_or(0.0));
    }
    let timed = |what, ms| Timed {
        row: ROWS[1],
        what,
        items: ITEMS,
        ms,
    };
    Ok((timed("to the first byte", first), timed("whole", total)))
}

fn completion(runs: u32) -> Timed {
    let store = schema::store();
    let session = Session::new("admin");
    let lines = [
        "/",
        "/ip firewall filter add ",
        "/ip firewall filter add chain=forward action=",
        "/interface/brid",
        "/ip address set [find where interf",
    ];
    let mut ms = Vec::new();
    for _ in 0..runs {
        for line in lines {
            let start = Instant::now();
            let found = script::complete(&store, &session, line, line.len());
            ms.push(milliseconds(start));
            std::hint::black_box(found);
        }
    }
    Timed {
        row: ROWS[2],
        what: "one line",
        items: store.menus().len(),
        ms,
    }
}
