//! `ferroute lab measure`: sends the traffic of a lab's story, and reports results and costs.
//!
//! In a running lab, it measures the router's current configuration. Otherwise it creates the lab, measures the
//! faulty configuration, corrects it, and measures again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use console::protocol::Message;
use lab::traffic::Sent;
use lab::{Flow, Lab, Story};
use serde_json::{Value, json};

use super::lanes::{self, LaneUsage};
use crate::command::client;

/// UDP port of the first flow.
const FIRST_PORT: u16 = 5_201;
/// Attempts of a sender at intervals of 100 ms: for expected flows and for others.
const ATTEMPTS: [u32; 2] = [150, 10];

/// Measurements of one configuration.
#[derive(Debug)]
pub(super) struct Measured {
    /// Name of the configuration.
    called: &'static str,
    flows: Vec<(&'static Flow, Sent)>,
    /// Ports that the chip switches, and the reasons for the others.
    switched: BTreeSet<String>,
    reasons: BTreeMap<String, String>,
    /// Increase of the counters.
    grown: Counted,
}

/// Counters of a router.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// Frames received by ports.
    frames: u64,
    /// Frames that took the fast path.
    fast: u64,
    /// Packets matched by the rules of the story.
    filtered: u64,
    /// Clocks of workers by activity.
    clocks: BTreeMap<String, u64>,
    lanes: Vec<LaneUsage>,
}

/// Measures a running router.
pub(super) fn measure(
    lab: &Lab,
    story: &'static Story,
    control: &Path,
    called: &'static str,
) -> Result<Measured, String> {
    let (switched, reasons) = ports(control)?;
    let names: BTreeSet<_> = switched.iter().map(String::as_str).collect();
    lanes::lay(lab, story, &names)?;
    let before = Counted::of(lab, story, control, &names)?;
    let mut flows = all_at_once(lab, story, true)?;
    flows.extend(all_at_once(lab, story, false)?);
    let after = Counted::of(lab, story, control, &names)?;
    Ok(Measured {
        called,
        flows,
        grown: after.since(&before),
        switched,
        reasons,
    })
}

/// Runs the correcting commands of a story.
pub(super) fn put_right(story: &Story, control: &Path) -> Result<(), String> {
    for line in story.right.lines() {
        let request = Message::Exec {
            command: line.to_owned(),
            json: false,
        };
        client::answer(control, &request).map_err(|error| format!("{line}: {error}"))?;
    }
    Ok(())
}

/// Sends the expected flows, or the others, and waits for their end.
fn all_at_once(
    lab: &Lab,
    story: &'static Story,
    welcome: bool,
) -> Result<Vec<(&'static Flow, Sent)>, String> {
    let flows = (FIRST_PORT..).zip(story.flows);
    let flows = flows.filter(|(_, flow)| flow.welcome == welcome);
    thread::scope(|scope| {
        let sent = |(port, flow): (u16, &'static Flow)| {
            let handle = scope.spawn(move || send(lab, flow, port));
            (flow, handle)
        };
        let running: Vec<_> = flows.map(sent).collect();
        let done = running.into_iter().map(|(flow, handle)| {
            let sent = handle.join().map_err(|_| String::from("a sender died"))?;
            Ok((flow, sent?))
        });
        done.collect()
    })
}

/// A receiver process; dropping kills it.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        // Fails only if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send(lab: &Lab, flow: &Flow, port: u16) -> Result<Sent, String> {
    let at = format!("{}:{port}", flow.address);
    let [mut receive, mut send] = [
        own(lab, flow.to, &["receive", &at])?,
        own(
            lab,
            flow.from,
            &[
                "send",
                &at,
                &flow.datagrams.to_string(),
                &flow.mbps.to_string(),
                &ATTEMPTS[usize::from(!flow.welcome)].to_string(),
            ],
        )?,
    ];
    let failed = |error: std::io::Error| format!("{}: {error}", flow.name);
    receive.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut receiver = Receiver(receive.spawn().map_err(failed)?);
    let said = receiver.0.stdout.take().map(BufReader::new);
    let ready = said.and_then(|mut said| said.read_line(&mut String::new()).ok());
    if ready.is_none_or(|bytes| bytes == 0) {
        return Err(format!("{}: no program receives at {at}", flow.name));
    }
    let output = send.stdin(Stdio::null()).output().map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = { said.split_whitespace() }
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [sent, received, micros] => Ok(Sent {
            sent,
            received,
            micros,
        }),
        _ => Err(format!(
            "{}: {}",
            flow.name,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

/// Returns a command that runs this program in a host, with a hidden subcommand of `ferroute lab`.
fn own(lab: &Lab, host: &str, arguments: &[&str]) -> Result<Command, String> {
    let file = std::env::current_exe().map_err(|error| format!("this program's file: {error}"))?;
    let mut command = lab
        .command(host, &file.to_string_lossy())
        .map_err(|error| error.to_string())?;
    command.arg("lab").args(arguments);
    Ok(command)
}

/// Returns the rows of a command's answer.
fn rows(control: &Path, command: &str) -> Result<Vec<Value>, String> {
    let request = Message::Exec {
        command: command.to_owned(),
        json: true,
    };
    let said = client::answer(control, &request)?;
    match serde_json::from_str(&said).map_err(|error| format!("{command}: {error}"))? {
        Value::Array(rows) => Ok(rows),
        row => Ok(vec![row]),
    }
}

fn text(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_owned()
}

fn number(row: &Value, name: &str) -> u64 {
    text(row, name).parse().unwrap_or(0)
}

/// Returns the switched ports of bridges, and the reasons for the others.
fn ports(control: &Path) -> Result<(BTreeSet<String>, BTreeMap<String, String>), String> {
    let (mut switched, mut reasons) = (BTreeSet::new(), BTreeMap::new());
    for row in rows(control, "/interface/bridge/port/print")? {
        let port = text(&row, "interface");
        match row["hw-offload"] == "true" {
            true => _ = switched.insert(port),
            false => _ = reasons.insert(port, text(&row, "hw-offload-reason")),
        }
    }
    Ok((switched, reasons))
}

impl Counted {
    fn of(
        lab: &Lab,
        story: &Story,
        control: &Path,
        switched: &BTreeSet<&str>,
    ) -> Result<Self, String> {
        let own = story.layout.ports();
        let mut counted = Self::default();
        for row in rows(control, "/interface/print stats-detail")? {
            if own.contains(&&*text(&row, "name")) {
                counted.frames += number(&row, "rx-packet");
                counted.fast += number(&row, "fp-rx-packet");
            }
        }
        let rules = rows(control, story.rules)?;
        counted.filtered = rules.iter().map(|row| number(row, "packets")).sum();
        for row in rows(control, "/tool/meter/print")? {
            let clocks = number(&row, "clocks");
            counted.clocks.insert(text(&row, "name"), clocks);
        }
        counted.lanes = lanes::read(lab, story, switched)?;
        Ok(counted)
    }

    /// Returns the increase since an earlier value.
    fn since(&self, before: &Self) -> Self {
        let mut grown = self.clone();
        grown.frames -= before.frames.min(self.frames);
        grown.fast -= before.fast.min(self.fast);
        grown.filtered = self.filtered.saturating_sub(before.filtered);
        for (name, clocks) in &mut grown.clocks {
            *clocks -= before.clocks.get(name).copied().unwrap_or(0).min(*clocks);
        }
        for (lane, before) in grown.lanes.iter_mut().zip(&before.lanes) {
            for (way, before) in lane.ways.iter_mut().zip(before.ways) {
                way.frames -= before.frames.min(way.frames);
                way.lost -= before.lost.min(way.lost);
            }
        }
        grown
    }

    /// Returns the clocks per frame for one activity, or for all except idling.
    fn clocks(&self, on: Option<&str>) -> u64 {
        let counts = |name: &str| on.map_or(name != "idle", |on| on == name);
        let clocks = self.clocks.iter().filter(|(name, _)| counts(name));
        let clocks: u64 = clocks.map(|(_, clocks)| clocks).sum();
        clocks.checked_div(self.frames).unwrap_or(0)
    }
}

impl Measured {
    /// Returns the rows of the table: title, and cell of this configuration.
    fn cells(&self) -> Vec<(String, String)> {
        let grown = &self.grown;
        let mut cells = Vec::new();
        let mut add = |what: &str, cell: String| cells.push((what.to_owned(), cell));
        for (flow, sent) in &self.flows {
            let cell = match (sent.sent, sent.received) {
                (0, _) => String::from("nothing arrives"),
                (all, received) => format!("{received} of {all}, {} Mbit/s", sent.mbps()),
            };
            let wanted = if flow.welcome { "" } else { " (unwanted)" };
            add(&format!("{}{wanted}", flow.name), cell);
        }
        let switched: Vec<_> = self.switched.iter().map(String::as_str).collect();
        let none = String::from("none");
        add(
            "ports of bridges that are switched",
            if switched.is_empty() {
                none
            } else {
                switched.join(" ")
            },
        );
        add("frames that ports received", grown.frames.to_string());
        add("  rules of the story matched", grown.filtered.to_string());
        add(
            "clocks of bridging for each",
            grown.clocks(Some("bridging")).to_string(),
        );
        add(
            "clocks of the firewall for each",
            grown.clocks(Some("firewall")).to_string(),
        );
        add(
            "clocks of all work for each",
            grown.clocks(None).to_string(),
        );
        for (number, lane) in (1..).zip(&grown.lanes) {
            add(&format!("lane {number} is shared by"), lane.ports.join(" "));
            for (to, way) in ["to the processor", "from the processor"]
                .iter()
                .zip(lane.ways)
            {
                let lost = match way.lost {
                    0 => String::new(),
                    lost => format!(", {lost} lost"),
                };
                add(&format!("  frames {to}"), format!("{}{lost}", way.frames));
            }
        }
        cells
    }

    fn to_json(&self) -> Value {
        let flows = self.flows.iter().map(|(flow, sent)| {
            json!({"name": flow.name, "welcome": flow.welcome, "sent": sent.sent,
                "received": sent.received, "mbps": sent.mbps()})
        });
        let lanes = self.grown.lanes.iter().map(|lane| {
            let ways = lane
                .ways
                .map(|way| json!({"frames": way.frames, "lost": way.lost}));
            json!({"ports": lane.ports, "up": ways[0], "down": ways[1]})
        });
        json!({
            "configuration": self.called,
            "flows": flows.collect::<Vec<_>>(),
            "switched": self.switched,
            "reasons": self.reasons,
            "frames": self.grown.frames,
            "fast-path": self.grown.fast,
            "filtered": self.grown.filtered,
            "clocks": self.grown.clocks,
            "lanes": lanes.collect::<Vec<_>>(),
        })
    }
}

/// Formats the measurements, as JSON or side by side.
pub(super) fn shown(measured: &[Measured], as_json: bool) -> String {
    if as_json {
        let all: Vec<_> = measured.iter().map(Measured::to_json).collect();
        return format!("{}\n", Value::Array(all));
    }
    let columns: Vec<_> = measured.iter().map(Measured::cells).collect();
    let width = |cells: &[(String, String)]| {
        let widths = cells.iter().map(|(_, cell)| cell.len());
        widths.max().unwrap_or(0).max(12)
    };
    let widths: Vec<_> = columns.iter().map(|cells| width(cells)).collect();
    let names = columns.iter().flatten().map(|(what, _)| what.len());
    let first = names.max().unwrap_or(0);
    let line = |what: &str, cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths);
        let cells: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        format!("  {what:<first$}  {}", cells.join("  "))
            .trim_end()
            .to_owned()
    };
    let headings = measured.iter().map(|measured| measured.called).collect();
    let mut lines = vec![line("", headings)];
    for (at, (what, _)) in columns.first().into_iter().flatten().enumerate() {
        let cell = |cells: &'_ [(String, String)]| cells.get(at).map(|(_, cell)| cell.clone());
        let cells: Vec<_> = { columns.iter() }
            .map(|cells| cell(cells).unwrap_or_default())
            .collect();
        lines.push(line(what, cells.iter().map(String::as_str).collect()));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::lanes::LaneCounters;

    fn measured(called: &'static str, received: u64) -> Measured {
        let story = lab::story("slow-bridging").expect("it comes with the program");
        let sent = Sent {
            sent: 100,
            received,
            micros: 10_000,
        };
        let lane = |frames| LaneUsage {
            ports: vec![String::from("ether1"), String::from("ether2")],
            ways: [
                LaneCounters { frames, lost: 0 },
                LaneCounters { frames: 7, lost: 2 },
            ],
        };
        let counted = |frames: u64, clocks: u64| Counted {
            frames,
            clocks: [("bridging", clocks), ("idle", 5 * clocks)]
                .map(|(name, clocks)| (name.to_owned(), clocks))
                .into(),
            lanes: vec![lane(frames)],
            ..Counted::default()
        };
        Measured {
            called,
            flows: vec![(&story.flows[0], sent), (&story.flows[1], Sent::default())],
            switched: BTreeSet::new(),
            reasons: BTreeMap::new(),
            grown: counted(250, 90_000).since(&counted(50, 10_000)),
        }
    }

    #[test]
    fn configurations_stand_side_by_side() {
        let both = shown(&[measured("wrong", 50), measured("right", 100)], false);

        let lines: Vec<_> = both.lines().map(str::trim).collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            ["wrong", "right"]
        );
        for line in [
            "workstation to server               50 of 100, 49 Mbit/s  100 of 100, 99 Mbit/s",
            "guest to server (unwanted)          nothing arrives       nothing arrives",
            "clocks of bridging for each         400                   400",
            "frames from the processor         0                     0",
        ] {
            assert!(lines.contains(&line), "{both}");
        }
    }

    #[test]
    fn a_machine_reads_what_grew() {
        let said = shown(&[measured("now", 50)], true);
        let said: Value = serde_json::from_str(&said).expect("JSON");

        assert_eq!(said[0]["configuration"], "now");
        assert_eq!(said[0]["frames"], 200);
        assert_eq!(said[0]["clocks"]["bridging"], 80_000);
        assert_eq!(said[0]["lanes"][0]["up"]["frames"], 200);
        assert_eq!(said[0]["flows"][0]["received"], 50);
    }
}
