//! The table of `fib-update`: cost of route changes.

use bench::{Options, Update};

use crate::cli::Bench;
use crate::cli::output;

/// Measures and prints row by row.
pub(super) fn run(bench: &Bench) -> Result<(), String> {
    let options = Options {
        routes: bench.routes.clone(),
        waited: Some(waited),
        ..Options::default()
    };
    if !bench.json {
        let _ = output::line(format_args!("\n{}", header()));
    }
    bench::updates(&options, &mut |row| {
        let line = if bench.json {
            row.to_json()
        } else {
            table_line(&row)
        };
        let _ = output::line(line);
    })
    .map_err(|invalid| invalid.to_string())?;
    if !bench.json {
        let _ = output::line(format_args!("\n{}", legend()));
    }
    Ok(())
}

/// Returns the time that this thread has waited for a processor, in nanoseconds.
fn waited() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().nth(1)?.parse().ok()
}

fn header() -> String {
    format!(
        "{:<20} {:<5} {:>8}  {:<13} {:>9} {:>8} {:>8}",
        "row", "", "routes", "change", "median µs", "p99 µs", "max µs"
    )
}

fn table_line(row: &Update) -> String {
    format!(
        "{:<20} {:<5} {:>8}  {:<13} {:>9.2} {:>8.2} {:>8.2}",
        Update::ROW,
        row.family,
        row.routes,
        row.change,
        row.us.median,
        row.us_p99,
        row.us_max,
    )
}

fn legend() -> &'static str {
    "change: the length of random prefixes that are added and removed, or change their next hop and change\n\
     back; crowded-host: a host in a network of 32,768 host routes. Each operation of the writer is timed\n\
     alone; operations during which the thread waited for a processor are not counted."
}
