//! `ferroute bench compare`: measures the rows of an older build of this program and of this one in pairs.
//!
//! Each run is a separate process, `ferroute bench --rows ROW --json`. A pair is one run of either build; the first
//! build alternates (A B, B A, …), so that a machine that becomes slower or faster favours neither. The figure of a
//! row is the median of the pairs' ratios. A row beyond the bound is measured in twice as many further pairs and judged
//! by all of them: a single disturbed run decides nothing.

mod pairs;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::pairs::{Figure, Pairs, Selection};
use super::{BRIDGE_OFFLOAD, UNKNOWN, tap};
use crate::cli::{Compare, output};

/// An unknown row: the error lists the existing rows.
const NO_ROW: &str = "?";

/// Measures the rows and prints a line for each; returns 1 if a row has lost.
pub(super) fn run(options: &Compare, rows: &[&str]) -> Result<u8, String> {
    let current = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let builds = Builds {
        base: options.base.clone(),
        current,
        arguments: arguments(options),
    };
    let rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
    let selection = Selection::new(&options.rows, &rows, &rows_of(&options.base)?)?;
    for (names, build) in [
        (&selection.only_current, "the current build"),
        (&selection.only_base, "the base"),
    ] {
        if !names.is_empty() {
            output::line(format_args!(
                "skipped, only in {build}: {}",
                names.join(", ")
            ))?;
        }
    }
    let (ported, measured): (Vec<_>, Vec<_>) = { selection.both.iter() }
        .partition(|row| [tap::ROW, BRIDGE_OFFLOAD].contains(&row.as_str()));
    for row in ported {
        output::line(format_args!("skipped, measured through devices: {row}"))?;
    }
    output::line(header())?;
    let mut lost = 0;
    for row in measured {
        for pairs in builds.measure(row, options.pairs)? {
            output::line(pairs.to_line())?;
            lost += u32::from(pairs.has_lost());
        }
    }
    output::line(format_args!("\n{}", legend()))?;
    Ok(u8::from(lost > 0))
}

/// Arguments of each run behind the row's name.
fn arguments(options: &Compare) -> Vec<String> {
    let list = |numbers: &[u32]| {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        numbers.join(",")
    };
    let named = [
        ("--frames", list(&options.frames)),
        ("--flows", list(&options.flows)),
        ("--routes", list(&options.routes)),
        ("--runs", options.runs.to_string()),
    ];
    let named = named.into_iter();
    named
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect()
}

/// The rows of a build, read from its refusal of an unknown row.
fn rows_of(binary: &Path) -> Result<Vec<String>, String> {
    let refused = Command::new(binary)
        .args(["bench", "--rows", NO_ROW])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", binary.display()))?;
    let message = String::from_utf8_lossy(&refused.stderr);
    let rows = message.trim().split_once(UNKNOWN).map(|(_, rows)| rows);
    let rows = rows.ok_or_else(|| format!("{}: lists no rows: {message}", binary.display()))?;
    Ok(rows.split(", ").map(str::to_owned).collect())
}

/// Both programs, and the arguments of each run.
struct Builds {
    base: PathBuf,
    current: PathBuf,
    arguments: Vec<String>,
}

impl Builds {
    /// Measures a row in `pairs` pairs, and in twice as many further pairs if a measurement has lost.
    fn measure(&self, row: &str, pairs: u32) -> Result<Vec<Pairs>, String> {
        let mut all = Vec::new();
        for number in 0..pairs * 3 {
            if number == pairs && !all.iter().any(Pairs::has_lost) {
                break;
            }
            let (base, current) = if number % 2 == 0 {
                let base = self.figures(&self.base, row)?;
                (base, self.figures(&self.current, row)?)
            } else {
                let current = self.figures(&self.current, row)?;
                (self.figures(&self.base, row)?, current)
            };
            Pairs::add_all(&mut all, &base, &current);
        }
        if all.is_empty() {
            output::line(format_args!("skipped, measured in other sizes: {row}"))?;
        }
        Ok(all)
    }

    /// One run of a build.
    fn figures(&self, binary: &Path, row: &str) -> Result<Vec<Figure>, String> {
        let run = Command::new(binary)
            .args(["bench", "--json", "--rows", row])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        if !run.status.success() {
            let message = String::from_utf8_lossy(&run.stderr);
            return Err(format!("{}: {row}: {}", binary.display(), message.trim()));
        }
        let lines = String::from_utf8_lossy(&run.stdout);
        Ok(lines.lines().filter_map(Figure::parse).collect())
    }
}

fn header() -> String {
    format!(
        "{:<52} {:>10} {:>10} {:>7}  {:<16} {:>5}",
        "row", "base", "current", "ratio", "spread", "pairs"
    )
}

fn legend() -> &'static str {
    "base, current: medians of the runs, in clocks per packet (fib-update: µs; rows of the store: ms). ratio: current\n\
     over base, the median of the pairs; spread: the lowest and the highest of them. lost: above 1.05."
}
