//! `ferroute bench table`: prints the results of this machine in the format of the test results of RouterOS's maker,
//! beside boards of that maker.
//!
//! Boards forward between all their ports; this machine is measured in memory, on one core, without devices: the result
//! shows the cost of the code, not the rate of the ports.

use std::fmt::Write as _;

use bench::{Family, Options, Row};
use board::Board;
use serde_json::{Value, json};

use super::pin;
use crate::cli::Table;
use crate::cli::output;

/// Frame lengths with FCS.
const FRAMES: [u16; 3] = [1518, 512, 64];

/// A line of the table: mode, configuration, and benchmark row.
const LINES: [(&str, &str, &str); 5] = [
    ("Bridging", "none (fast path)", "bridging-fast-path"),
    ("Bridging", "25 bridge filter rules", "bridge-filter-25"),
    ("Routing", "none (fast path)", "routing-fast-path"),
    ("Routing", "25 simple queues", "simple-queues-25"),
    ("Routing", "25 ip filter rules", "filter-25"),
];

/// Thousands of packets per second, by line and frame length.
type Results = [[Option<f64>; 3]; 5];

/// Boards with published results, all their ports in use: title and name.
const BOARDS: [(&str, &str); 6] = [
    ("hEX (RB750Gr3)", "hEX"),
    ("RB3011UiAS-RM", "RB3011UiAS"),
    ("RB1100AHx2", "RB1100AHx2"),
    ("RB1100AHx4", "RB1100AHx4"),
    ("hAP ac (RB962)", "hAP ac"),
    ("RB4011", "RB4011iGS+"),
];

/// Returns the published results of a board.
fn published(name: &str) -> Results {
    let hardware = Board::named(name).ok().and_then(Board::hardware);
    let rates = hardware.and_then(|hardware| hardware.forwarding);
    rates.map_or([[None; 3]; 5], |rates| {
        rates.rows().map(|row| row.map(Some))
    })
}

/// Runs the measurements, and prints the table.
pub(super) fn run(asked: &Table) -> Result<(), String> {
    let options = Options {
        families: vec![Family::Ipv4],
        frames: FRAMES.to_vec(),
        flows: vec![1_000],
        routes: vec![1],
        runs: asked.runs,
        pin: Some(pin),
        ..Options::default()
    };
    let mut rows = Vec::new();
    let mut keep = |row: Row| rows.push(row);
    bench::run(&options, &mut keep)
        .and_then(|()| {
            bench::bridged(
                &options,
                &["bridging-fast-path", "bridge-filter-25"],
                &mut keep,
            )
        })
        .and_then(|()| bench::queued(&options, &["simple-queues-25"], &mut keep))
        .and_then(|()| bench::guarded(&options, &["filter-25"], &mut keep))
        .map_err(|invalid| invalid.to_string())?;
    let own = results(&rows);
    output::text(match asked.json {
        true => format!("{}\n", to_json(&own)),
        false => to_markdown(&own),
    })
}

/// Returns the figures for the table's lines; among several rows, those with a thousand flows or hosts.
fn results(rows: &[Row]) -> Results {
    LINES.map(|(_, _, name)| {
        FRAMES.map(|frame| {
            let mut own = rows
                .iter()
                .filter(|row| row.row == name && row.frame == frame);
            let usual = own
                .clone()
                .find(|row| row.flows == 1_000 || row.hosts == 1_000);
            usual.or_else(|| own.next_back()).map(Row::kpps)
        })
    })
}

/// Returns the layer-2 rate in Mbit/s.
fn mbps(kpps: f64, frame: u16) -> f64 {
    kpps * f64::from(frame) * 8.0 / 1e3
}

fn to_markdown(own: &Results) -> String {
    let mut text = String::new();
    let title = "this machine, one core, in memory";
    let _ = write!(text, "{}", one_table(title, own));
    for (title, name) in BOARDS {
        let _ = write!(text, "\n{}", one_table(title, &published(name)));
    }
    text.push_str(
        "\nFrame sizes include the FCS; Mbps are of layer 2. Boards: all ports, as published by the manufacturer.\n\
         This machine: one core without devices, a thousand flows, median. Rules were measured only with the\n\
         shortest frames, since they read only headers.\n",
    );
    text
}

fn one_table(title: &str, results: &Results) -> String {
    let mut text = format!("| {title} | |");
    for frame in FRAMES {
        let _ = write!(text, " {frame} kpps | Mbps |");
    }
    text.push_str("\n|---|---|---:|---:|---:|---:|---:|---:|\n");
    for ((mode, configuration, _), line) in LINES.iter().zip(results) {
        let _ = write!(text, "| {mode} | {configuration} |");
        for (kpps, frame) in line.iter().zip(FRAMES) {
            let _ = match kpps {
                Some(kpps) => write!(text, " {kpps:.1} | {:.1} |", mbps(*kpps, frame)),
                None => write!(text, " – | – |"),
            };
        }
        text.push('\n');
    }
    text
}

fn to_json(own: &Results) -> Value {
    let lines = |results: &Results| -> Value {
        let lines = LINES.iter().zip(results);
        let each = lines.flat_map(|((mode, configuration, _), line)| {
            let cells = line.iter().zip(FRAMES);
            cells.filter_map(move |(kpps, frame)| {
                let kpps = (*kpps)?;
                Some(json!({
                    "mode": mode, "configuration": configuration, "frame": frame,
                    "kpps": kpps, "mbps": mbps(kpps, frame),
                }))
            })
        });
        each.collect()
    };
    let boards =
        BOARDS.map(|(title, name)| json!({ "name": title, "results": lines(&published(name)) }));
    json!({ "own": lines(own), "boards": boards })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_line_for_each_configuration_measured_or_not() {
        let mut own: Results = [[Some(1_000.0); 3]; 5];
        own[4][0] = None;
        let text = one_table("x", &own);
        assert_eq!(text.lines().count(), 2 + LINES.len());
        assert!(
            text.contains("| Routing | none (fast path) | 1000.0 | 12144.0 | 1000.0 | 4096.0 |")
        );
        assert!(text.contains("| Routing | 25 ip filter rules | – | – |"));
        let json = to_json(&own);
        assert_eq!(json["own"].as_array().map(Vec::len), Some(14));
        assert_eq!(json["boards"][0]["results"][2]["kpps"], 1039.1);
    }
}
