//! `ferroute bench`: command line and table of the benchmark.

mod attack;
mod compare;
mod limits;
mod pppoe;
mod process;
mod queues;
mod store;
mod table;
mod tap;
mod through;
mod tunnels;
mod update;
mod veth;
mod vpn;

use std::sync::LazyLock;

use bench::{
    BRIDGED, ENCRYPTED, GUARDED, HOME, KEYED, LAYERED, Options, PROTECTED, Peer, QUEUED, Row,
    SESSIONS,
};

use crate::cli::output;
use crate::cli::{Bench, BenchPart, Via};
use crate::run::workers;

/// Names of the rows outside `IN_MEMORY`.
const ROWS: &[&str] = &[
    "routing-fast-path",
    "fib-update",
    tap::ROW,
    BRIDGE_OFFLOAD,
    store::ROWS[0],
    store::ROWS[1],
    store::ROWS[2],
];

/// Rows measured in memory besides `routing-fast-path`, in the order of output.
const IN_MEMORY: &[&[&str]] = &[
    GUARDED, LAYERED, SESSIONS, ENCRYPTED, PROTECTED, KEYED, BRIDGED, QUEUED, HOME,
];

const BRIDGE_OFFLOAD: &str = veth::BRIDGE_OFFLOAD;

/// Text before the list of rows in the error about an unknown row; `compare` parses it.
const UNKNOWN: &str = "; there are: ";

/// The names of all rows.
fn all_rows() -> Vec<&'static str> {
    [ROWS, &IN_MEMORY.concat()].concat()
}

/// Whether a row with this name exists.
fn exists(row: &str) -> bool {
    ROWS.contains(&row) || IN_MEMORY.iter().any(|rows| rows.contains(&row))
}

/// Runs the requested measurements, and prints them row by row.
pub(crate) fn run(bench: &Bench) -> Result<u8, String> {
    if let Some(part) = &bench.part {
        return apart(part);
    }
    if let Some(unknown) = bench.rows.iter().find(|row| !exists(row)) {
        return Err(format!(
            "no row is called {unknown}{UNKNOWN}{}",
            all_rows().join(", ")
        ));
    }
    let asked = |row: &str| bench.rows.iter().any(|asked| asked == row);
    let of_store = |row: &String| store::ROWS.contains(&row.as_str());
    let one_worker =
        |row: &&String| of_store(row) || *row == "fib-update" || HOME.contains(&row.as_str());
    if let Some(row) = bench.rows.iter().find(one_worker)
        && bench.workers > 1
    {
        return Err(format!("{row} is measured with one worker"));
    }
    if bench.rows.iter().any(of_store) {
        if bench.via != Via::Memory || !bench.rows.iter().all(of_store) {
            let rows = store::ROWS.join(", ");
            return Err(format!("{rows} are measured apart, with --via memory"));
        }
        store::run(bench)?;
        return Ok(0);
    }
    if asked("fib-update") && bench.via != Via::Memory {
        return Err(String::from("fib-update is measured with --via memory"));
    }
    if asked(tap::ROW) != (bench.via == Via::Tap) && !bench.rows.is_empty() {
        return Err(format!(
            "{} is what --via tap measures, and nothing else",
            tap::ROW
        ));
    }
    if bench.via == Via::Tap {
        tap::run(bench)?;
        return Ok(0);
    }
    if asked(BRIDGE_OFFLOAD) && bench.via != Via::Xdp {
        return Err(format!("{BRIDGE_OFFLOAD} is measured with --via xdp"));
    }
    let all = bench.rows.is_empty();
    let guarded = IN_MEMORY.concat().into_iter();
    let guarded: Vec<_> = guarded
        .filter(|row| asked(row) || (all && bench.via == Via::Memory))
        .collect();
    let in_memory = |row: &&str| !veth::ROWS.contains(row);
    if let Some(row) = guarded.iter().copied().find(in_memory)
        && bench.via != Via::Memory
    {
        return Err(format!("{row} is measured with --via memory"));
    }
    if asked("routing-fast-path") || asked(BRIDGE_OFFLOAD) || !guarded.is_empty() || all {
        walk(bench, &guarded)?;
    }
    // With several workers, tables that only one worker can measure are omitted.
    let all = all && bench.via == Via::Memory && bench.workers == 1;
    if asked("fib-update") || all {
        update::run(bench)?;
    }
    if all {
        store::run(bench)?;
    }
    Ok(0)
}

/// Runs a measurement without a row; returns the exit code.
fn apart(part: &BenchPart) -> Result<u8, String> {
    match part {
        BenchPart::Attack(attack) => attack::run(attack)?,
        BenchPart::Compare(compare) => return compare::run(compare, &all_rows()),
        BenchPart::Limits => return limits::run(),
        BenchPart::Pppoe(pppoe) => return pppoe::run(pppoe),
        BenchPart::Queues(queues) => queues::run(queues)?,
        BenchPart::Table(table) => table::run(table)?,
        BenchPart::Through(through) => through::run(through)?,
        BenchPart::Tunnels(tunnels) => tunnels::run(tunnels)?,
        BenchPart::Vpn(vpn) => vpn::run(vpn)?,
    }
    Ok(0)
}

/// `routing-fast-path` and the firewall rows: one table.
fn walk(bench: &Bench, guarded: &[&'static str]) -> Result<(), String> {
    let json = bench.json;
    let mut begun = false;
    let mut print = |row: &Row| {
        // Printed with the first row, so that an error stands alone.
        if !json && !std::mem::replace(&mut begun, true) {
            let _ = output::line(header());
        }
        // A failed write does not stop the measurement.
        let _ = output::line(if json { row.to_json() } else { table_line(row) });
    };
    match bench.via {
        Via::Memory => memory(bench, guarded, &mut print)?,
        Via::Xdp | Via::Packet | Via::Tap => veth::run(bench, &mut print)?,
    }
    if begun && !json {
        let _ = output::line(format_args!("\n{}", legend()));
    }
    Ok(())
}

fn memory(
    bench: &Bench,
    guarded: &[&'static str],
    print: &mut dyn FnMut(&Row),
) -> Result<(), String> {
    let cores = workers::cores().len();
    if usize::from(bench.workers) > cores.max(1) {
        return Err(format!(
            "--workers {}: there are {cores} cores, and each worker needs one of its own",
            bench.workers
        ));
    }
    let frames: Result<Vec<u16>, String> = bench.frames.iter().map(|f| frame(*f)).collect();
    let options = Options {
        frames: frames?,
        flows: bench.flows.clone(),
        routes: bench.routes.clone(),
        runs: bench.runs,
        workers: u16::from(bench.workers),
        pin: Some(pin),
        allocations: Some(kernels::CountingAllocator::count),
        ..Options::default()
    };
    let mut print = |row: Row| print(&row);
    if bench.rows.is_empty() || bench.rows.iter().any(|row| row == "routing-fast-path") {
        bench::run(&options, &mut print).map_err(|invalid| invalid.to_string())?;
    }
    let of = |kind: &[&'static str]| {
        let rows = guarded.iter().copied();
        rows.filter(|row| kind.contains(row)).collect::<Vec<_>>()
    };
    bench::layered(&options, &of(LAYERED), &mut print)
        .and_then(|()| bench::sessions(&options, &of(SESSIONS), &mut print))
        .and_then(|()| bench::encrypted(&options, &of(ENCRYPTED), &mut print))
        .and_then(|()| bench::protected(&options, &of(PROTECTED), &mut print))
        .and_then(|()| bench::keyed(&options, &of(KEYED), &mut print))
        .and_then(|()| bench::bridged(&options, &of(BRIDGED), &mut print))
        .and_then(|()| bench::queued(&options, &of(QUEUED), &mut print))
        .and_then(|()| bench::guarded(&options, &of(GUARDED), &mut print))
        .and_then(|()| bench::home(&options, &of(HOME), &mut print))
        .map_err(|invalid| invalid.to_string())
}

/// Uses the cores from the second on, and the first core last: it has the most other work.
fn pin(worker: u16) {
    static CORES: LazyLock<Vec<usize>> = LazyLock::new(workers::cores);
    if let Some(core) = CORES.get((usize::from(worker) + 1) % CORES.len().max(1)) {
        workers::pin(*core);
    }
}

fn frame(bytes: u32) -> Result<u16, String> {
    match u16::try_from(bytes) {
        Ok(bytes @ 64..=9018) => Ok(bytes),
        _ => Err(format!(
            "--frames {bytes}: a frame has 64 to 9018 bytes, with its FCS"
        )),
    }
}

fn header() -> String {
    format!(
        "{:<24} {:<5} {:>5} {:>6} {:>8} {:>8} {:>9} {:>9}  {:<17} {:>10} {:>8}  {}",
        "row",
        "",
        "frame",
        "flows",
        "routes",
        "kpps",
        "Mbps",
        "clk/pkt",
        "p10 to p90",
        "/reference",
        "core ns",
        "peer"
    )
}

fn table_line(row: &Row) -> String {
    let clocks = row.tsc_per_packet;
    format!(
        "{:<24} {:<5} {:>5} {:>6} {:>8} {:>8.0} {:>9.0} {:>9.1}  {:<17} {:>10.2} {:>8}  {}",
        row.row,
        row.family,
        row.frame,
        row.flows,
        row.routes,
        row.kpps(),
        row.mbps(),
        clocks.median,
        format!("{:.1} to {:.1}", clocks.p10, clocks.p90),
        clocks.median / row.reference_tsc.max(0.001),
        row.core_ns
            .map_or_else(|| String::from("-"), |ns| format!("{ns:.0}")),
        row.peer
            .map_or_else(|| String::from("-"), |peer| peer_words(&peer)),
    )
}

fn peer_words(peer: &Peer) -> String {
    let Peer {
        name,
        kpps,
        ratio,
        core_ns,
    } = peer;
    format!("{ratio:.2} times {kpps:.0} kpps ({name}, {core_ns:.0} core ns)")
}

fn legend() -> &'static str {
    "frame: bytes with FCS. Mbps: layer 2. clk: clocks of the time stamp counter, median over the runs.\n\
     /reference: clk over those of a fixed loop (hash, copy, compare of a 64-byte header) run in between:\n\
     compare this between machines and days, not the clocks. core ns: processor time of the forwarder per\n\
     packet. peer: another forwarder in alternation (with several workers: each of their cores alone with one\n\
     worker), and the median of the ratios within each pair of runs."
}
