//! Results of this machine in memory: one core without devices.

use bench::{Family, Options, Row};

use super::boards::{FORWARDING, IPSEC};
use super::results::{Cell, FRAMES, Kind, Line, PACKETS, Results};
use crate::bench::pin;

/// Rows of the table of forwarding, in the order of its lines.
const FORWARDING_ROWS: [&str; 5] = [
    "bridging-fast-path",
    "bridge-filter-25",
    "routing-fast-path",
    "simple-queues-25",
    "filter-25",
];

/// Rows of the table of IPsec, in the order of its lines.
const IPSEC_ROWS: [&str; 7] = [
    "esp-cbc-128-sha1-out",
    "esp-cbc-128-sha1-256-tunnels-out",
    "esp-cbc-128-sha256-256-tunnels-out",
    "esp-cbc-256-sha1-256-tunnels-out",
    "esp-cbc-256-sha256-256-tunnels-out",
    "esp-gcm-128-256-tunnels-out",
    "esp-gcm-256-256-tunnels-out",
];

/// Bytes of an Ethernet header and FCS.
const ETHERNET: u16 = 18;

const MACHINE: &str = "this machine, one core, in memory";

/// Measures bridging and routing.
///
/// # Errors
/// A row cannot be measured.
pub(super) fn forwarding(runs: u32) -> Result<Results, String> {
    let options = options(runs);
    let mut rows = Vec::new();
    let mut add = |row: Row| rows.push(row);
    let [bridging, filter, _, queues, rules] = FORWARDING_ROWS;
    bench::run(&options, &mut add)
        .and_then(|()| bench::bridged(&options, &[bridging, filter], &mut add))
        .and_then(|()| bench::queued(&options, &[queues], &mut add))
        .and_then(|()| bench::guarded(&options, &[rules], &mut add))
        .map_err(|invalid| invalid.to_string())?;
    let lines = FORWARDING.iter().zip(FORWARDING_ROWS);
    let lines = lines.map(|((mode, configuration), name)| Line {
        mode,
        configuration: (*configuration).to_owned(),
        cells: FRAMES.map(|size| cell(&rows, name, size, size)),
    });
    Ok(Results {
        machine: MACHINE.to_owned(),
        kind: Kind::Forwarding,
        lines: lines.collect(),
    })
}

/// Measures encryption into IPsec tunnels.
///
/// # Errors
/// A row cannot be measured.
pub(super) fn ipsec(runs: u32) -> Result<Results, String> {
    let mut rows = Vec::new();
    let frames = PACKETS.map(|packet| packet + ETHERNET);
    bench::protected_sizes(&options(runs), &IPSEC_ROWS, &frames, &mut |row| {
        rows.push(row);
    })
    .map_err(|invalid| invalid.to_string())?;
    let lines = IPSEC.iter().zip(IPSEC_ROWS);
    let lines = lines.map(|((tunnels, suite), name)| Line {
        mode: tunnels,
        configuration: (*suite).to_owned(),
        cells: PACKETS.map(|size| cell(&rows, name, size + ETHERNET, size)),
    });
    Ok(Results {
        machine: MACHINE.to_owned(),
        kind: Kind::Ipsec,
        lines: lines.collect(),
    })
}

fn options(runs: u32) -> Options {
    Options {
        families: vec![Family::Ipv4],
        frames: FRAMES.to_vec(),
        rule_frames: FRAMES.to_vec(),
        flows: vec![1_000],
        routes: vec![1],
        runs,
        pin: Some(pin),
        ..Options::default()
    }
}

/// Returns the figure of a row with frames of this length; among several, that with a thousand flows or hosts. `size`
/// is the number of bytes that the bit rate counts.
fn cell(rows: &[Row], name: &str, frame: u16, size: u16) -> Cell {
    let mut own = rows
        .iter()
        .filter(|row| row.row == name && row.frame == frame);
    let usual = own
        .clone()
        .find(|row| row.flows == 1_000 || row.hosts == 1_000);
    usual
        .or_else(|| own.next_back())
        .map_or(Cell::Missing, |row| {
            Cell::measured(row.kpps(), row.tsc_per_packet, size)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_both_tables_is_measured() {
        for results in [forwarding(1), ipsec(1)] {
            let results = results.expect("measured");
            for line in &results.lines {
                for cell in line.cells {
                    assert_ne!(cell, Cell::Missing, "{} {}", line.mode, line.configuration);
                }
            }
        }
    }
}
