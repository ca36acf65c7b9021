//! This machine as a board: its ports, and the figures that `ferroute bench table --json` measured on it.

use std::fs;
use std::path::Path;

use board::{
    Board, Connection, Encryption, FRAME_LENGTHS, Forwarding, Hardware, PortGroup, Purpose,
};
use serde_json::Value;

/// Devices of this machine, and its measured rates.
pub(super) struct Machine {
    /// Names and speeds of devices; `None` if the driver reports no speed.
    ports: Vec<(String, Option<u32>)>,
    forwarding: Forwarding,
}

/// Rows of the table: mode and configuration.
const ROWS: [(&str, &str); 5] = [
    ("Bridging", "none (fast path)"),
    ("Bridging", "25 bridge filter rules"),
    ("Routing", "none (fast path)"),
    ("Routing", "25 simple queues"),
    ("Routing", "25 ip filter rules"),
];

impl Machine {
    /// The board of a machine without chips and lanes.
    pub(super) const BOARD: Board = Board {
        name: "this machine",
        model: "",
        chips: &[],
        lanes: &[],
        moves_switched: false,
    };

    /// Reads the devices, and the results of the benchmark.
    ///
    /// # Errors
    /// The file is not one of `ferroute bench table --json`.
    pub(super) fn read(results: &Path) -> Result<Self, String> {
        let failed = |why: String| format!("{}: {why}", results.display());
        let text = fs::read_to_string(results).map_err(|error| failed(error.to_string()))?;
        let json = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        let forwarding = forwarding(&json)
            .ok_or_else(|| failed(String::from("it is not of `ferroute bench table --json`")))?;
        let ports = devices();
        Ok(Self { ports, forwarding })
    }

    /// Returns the names of the devices as groups of one port.
    pub(super) fn names(&self) -> Vec<[&str; 1]> {
        self.ports.iter().map(|(name, _)| [&**name]).collect()
    }

    /// Returns the devices as ports. `names` are those of [`Self::names`].
    pub(super) fn groups<'a>(&'a self, names: &'a [[&'a str; 1]]) -> Vec<PortGroup<'a>> {
        let ports = self.ports.iter().zip(names);
        ports
            .map(|((_, mbps), names)| PortGroup {
                names,
                mbps: *mbps,
                connection: Connection::Direct,
                purpose: Purpose::Traffic,
            })
            .collect()
    }

    /// Returns the hardware: one core of the processor, as the benchmark measures it.
    pub(super) fn hardware<'a>(&'a self, groups: &'a [PortGroup<'a>]) -> Hardware<'a> {
        Hardware {
            board: "this machine",
            aliases: &[],
            processor: None,
            ports: groups,
            exclusions: &[],
            forwarding: Some(&self.forwarding),
            encryption: Encryption {
                engine: None,
                rates: &[],
                software: &[],
            },
            smart_card: None,
            price: None,
        }
    }
}

/// Reads the rates. The benchmark measures rules only with the shortest frames, as they read headers alone: the time
/// that they add is taken for all lengths.
fn forwarding(json: &Value) -> Option<Forwarding> {
    // Tables of this machine come before those of boards.
    let mut tables = json["tables"].as_array()?.iter();
    let table = tables.find(|table| table["kind"] == "forwarding")?;
    let results = table["results"].as_array()?;
    let rate = |(mode, configuration): (&str, &str), size: u32| {
        let mut of_row = results.iter().filter(|result| {
            result["mode"] == mode
                && result["configuration"] == configuration
                && result["size"] == size
        });
        of_row.next()?["kpps"].as_f64().filter(|kpps| *kpps > 0.0)
    };
    let row = |at: usize, base: usize| {
        let shortest = FRAME_LENGTHS[2];
        let added = 1.0 / rate(ROWS[at], shortest)? - 1.0 / rate(ROWS[base], shortest)?;
        let mut kpps = [0.0; 3];
        for (kpps, frame) in kpps.iter_mut().zip(FRAME_LENGTHS) {
            let with_base = || Some(1.0 / (1.0 / rate(ROWS[base], frame)? + added.max(0.0)));
            *kpps = rate(ROWS[at], frame).or_else(with_base)?;
        }
        Some(kpps)
    };
    Some(Forwarding {
        bridging: row(0, 0)?,
        bridge_filter: row(1, 0)?,
        routing: row(2, 2)?,
        queues: row(3, 2)?,
        filter: row(4, 2)?,
        rules_are_guessed: false,
    })
}

/// Returns the network devices with hardware below them, and their speeds in Mbit/s.
fn devices() -> Vec<(String, Option<u32>)> {
    let entries = fs::read_dir("/sys/class/net")
        .into_iter()
        .flatten()
        .flatten();
    let physical = entries.filter(|entry| entry.path().join("device").exists());
    let mut devices: Vec<_> = physical
        .map(|entry| {
            let speed = fs::read_to_string(entry.path().join("speed"));
            // The kernel reports -1 for an unknown speed.
            let speed = speed.ok().and_then(|text| text.trim().parse().ok());
            (entry.file_name().to_string_lossy().into_owned(), speed)
        })
        .collect();
    devices.sort();
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_measured_with_short_frames_cost_long_frames_as_much() {
        let line = |(mode, configuration): (&str, &str), frame: u32, kpps: f64| {
            serde_json::json!({
                "mode": mode, "configuration": configuration, "size": frame, "kpps": kpps,
            })
        };
        let mut own = Vec::new();
        for row in [0, 2] {
            own.extend(FRAME_LENGTHS.map(|frame| line(ROWS[row], frame, 1_000.0)));
        }
        own.extend([1, 3, 4].map(|row| line(ROWS[row], 64, 500.0)));
        let tables = |results| {
            let switching = serde_json::json!({ "kind": "switching", "results": [] });
            let forwarding = serde_json::json!({ "kind": "forwarding", "results": results });
            serde_json::json!({ "tables": [switching, forwarding] })
        };
        let json = tables(own);
        let rates = forwarding(&json).expect("all rows");
        assert_eq!(rates.routing, [1_000.0; 3]);
        assert_eq!(rates.filter, [500.0; 3]);
        assert_eq!(forwarding(&tables(Vec::new())), None);
    }
}
