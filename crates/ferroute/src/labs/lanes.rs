//! Lanes between a board's chip and its processor, simulated by devices of the chip's host: one device per lane
//! and direction, with a rate limit, shared by all ports of the lane.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Stdio;

use board::{Board, Shared};
use lab::{Lab, Story};
use serde_json::Value;

/// Factor by which lanes of a lab are slower than the board's, so that any machine can fill them.
const SLOWDOWN: u32 = 20;
/// Rate of a lane without known speed, in Mbit/s.
const DEFAULT_RATE_MBPS: u32 = 1_000;

/// Counters of a lane in one direction, since the lab was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LaneCounters {
    /// Forwarded frames.
    pub(super) frames: u64,
    /// Frames dropped by the rate limit.
    pub(super) lost: u64,
}

/// Usage of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaneUsage {
    /// Ports of the lab that share the lane.
    pub(super) ports: Vec<String>,
    /// Counters towards the processor and from it.
    pub(super) ways: [LaneCounters; 2],
}

/// Assigns the ports to lanes, given the switched ports; does nothing in a story without chip.
pub(super) fn lay(lab: &Lab, story: &Story, switched: &BTreeSet<&str>) -> Result<(), String> {
    let (Some(chip), Some(board)) = (story.chip, board(story)) else {
        return Ok(());
    };
    let lanes = used(story, &board.shared(switched));
    run(lab, chip, &script(&lanes)).map(|_| ())
}

/// Returns the current counters of the lanes.
pub(super) fn read(
    lab: &Lab,
    story: &Story,
    switched: &BTreeSet<&str>,
) -> Result<Vec<LaneUsage>, String> {
    let (Some(chip), Some(board)) = (story.chip, board(story)) else {
        return Ok(Vec::new());
    };
    let said = run(lab, chip, "tc -s -j qdisc show")?;
    let rows: Value = serde_json::from_str(&said).map_err(|error| format!("tc: {error}"))?;
    let way = |device: String| {
        let rows = rows.as_array().map_or(&[][..], |rows| rows);
        let row = rows.iter().find(|row| row["dev"] == *device);
        let number = |name: &str| row.and_then(|row| row[name].as_u64()).unwrap_or(0);
        LaneCounters {
            frames: number("packets"),
            lost: number("drops"),
        }
    };
    let lanes = used(story, &board.shared(switched));
    let lane = |(number, _, ports): (usize, u32, Vec<String>)| LaneUsage {
        ports,
        ways: ["up", "down"].map(|to| way(format!("{to}{number}"))),
    };
    Ok(lanes.into_iter().map(lane).collect())
}

fn board(story: &Story) -> Option<&'static Board> {
    Board::named(story.board?).ok()
}

/// Returns the lanes by number, with the lab's rates in Mbit/s and the lab's ports.
fn used(story: &Story, shared: &[Shared<'_>]) -> Vec<(usize, u32, Vec<String>)> {
    let own = story.layout.ports();
    let lane = |lane: &Shared<'_>| {
        let mut ports: Vec<_> = { lane.ports.iter() }
            .filter(|port| own.contains(port))
            .map(|port| (*port).to_owned())
            .collect();
        ports.sort_unstable();
        let rate = lane.mbps.unwrap_or(DEFAULT_RATE_MBPS) / SLOWDOWN;
        (lane.lane, rate, ports)
    };
    shared.iter().map(lane).collect()
}

/// Returns the commands for the chip's host. A frame that a port receives passes the lane's device, and
/// continues as if the port had received it then (ifb).
fn script(lanes: &[(usize, u32, Vec<String>)]) -> String {
    let mut text = String::new();
    for (number, rate, _) in lanes {
        for device in [format!("up{number}"), format!("down{number}")] {
            let _ = writeln!(
                text,
                "ip link show dev {device} >/dev/null 2>&1 || {{\n\
                 ip link add name {device} type ifb; ip link set dev {device} up\n\
                 tc qdisc add dev {device} root tbf rate {rate}mbit burst 32k latency 10ms; }}"
            );
        }
    }
    for (number, _, ports) in lanes {
        for port in ports {
            let at = port.trim_start_matches("ether");
            for (from, to) in [("p", "up"), ("c", "down")] {
                let _ = writeln!(
                    text,
                    "tc qdisc del dev {from}{at} clsact 2>/dev/null || true\n\
                     tc qdisc add dev {from}{at} clsact\n\
                     tc filter add dev {from}{at} ingress protocol all u32 match u32 0 0 \
                     action mirred egress redirect dev {to}{number}"
                );
            }
        }
    }
    text
}

fn run(lab: &Lab, host: &str, script: &str) -> Result<String, String> {
    let argv = ["sh", "-ec", script].map(str::to_owned);
    let mut command = lab
        .command_line(host, &argv)
        .map_err(|error| error.to_string())?;
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{host}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(format!(
            "the lanes of {host} cannot be made (the kernel needs ifb, sch_tbf, cls_u32, act_mirred): {}",
            text(&output.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_are_switched_share_the_devices_of_one_lane() {
        let story = lab::story("shared-lane").expect("it comes with the program");
        let board = board(story).expect("a board that is known");
        let of = |switched: &[&str]| {
            let switched = switched.iter().copied().collect();
            used(story, &board.shared(&switched))
        };
        let ports = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<_>>();

        let together = [
            (0, 50, ports("ether1 ether2")),
            (1, 50, ports("ether3 ether4")),
        ];
        assert_eq!(of(&["ether1", "ether2"]), together);
        let apart = [
            (0, 50, ports("ether1 ether3")),
            (1, 50, ports("ether2 ether4")),
        ];
        assert_eq!(of(&[]), apart);

        let script = script(&together);
        for line in [
            "tc filter add dev p1 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev up0",
            "tc filter add dev c2 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev down0",
            "tc filter add dev p4 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev up1",
        ] {
            assert!(script.contains(line), "{script}");
        }
    }
}
