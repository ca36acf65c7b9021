//! `ferroute plan`: finds the bottleneck of a board for expected traffic, and suggests better ports and boards.
//! Lanes come from the manufacturer's block diagrams (`router::board`).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use router::board::{BOARDS, Board};
use serde_json::{Value, json};

use crate::cli::Plan;
use crate::cli::output;

/// Traffic between two ports, in bit/s.
#[derive(Clone, Debug, PartialEq)]
struct Flow {
    from: String,
    to: String,
    rate: f64,
    back: f64,
}

/// Load of a lane.
#[derive(Clone, Debug, PartialEq)]
struct Load<'a> {
    lane: usize,
    mbps: Option<u32>,
    ports: Vec<&'a str>,
    /// Load towards the processor and from it, in bit/s.
    up: f64,
    down: f64,
}

impl Load<'_> {
    /// Returns the utilisation of the busier direction; `None` if the lane's speed is unknown.
    fn share(&self) -> Option<f64> {
        let most = self.up.max(self.down);
        self.mbps.map(|mbps| most / (f64::from(mbps) * 1e6))
    }
}

/// Runs `ferroute plan`; returns the exit code: 4 if a lane is overloaded.
pub(crate) fn plan(asked: &Plan) -> Result<u8, String> {
    let flows: Result<Vec<_>, String> = asked.flows.iter().map(|text| flow(text)).collect();
    let flows = flows?;
    let switched: BTreeSet<&str> = asked.switched.iter().map(String::as_str).collect();
    let board = asked.board;
    if board.lanes.is_empty() {
        return Err(format!(
            "it is not published how the ports of {} reach its processor",
            board.name
        ));
    }
    let named = flows.iter().flat_map(|flow| [&flow.from, &flow.to]);
    for name in named.chain(&asked.switched) {
        if !has_port(board, name) {
            let ports = ports_of(board).join(", ");
            let board = board.name;
            return Err(format!(
                "{name}: only the lanes of {ports} to the processor of {board} are known"
            ));
        }
    }
    let loads = loads(board, &flows, &switched);
    let busy = busiest(&loads);
    let over = busy.is_some_and(|(share, _)| share > 1.0);
    let better = if over {
        swaps(board, &flows, &switched)
    } else {
        None
    };
    let others = if over {
        boards(board, &flows, &switched)
    } else {
        Vec::new()
    };
    output::text(match asked.json {
        true => format!("{}\n", to_json(board, &loads, better.as_ref(), &others)),
        false => to_text(board, &loads, better.as_ref(), &others),
    })?;
    Ok(if over { 4 } else { 0 })
}

/// Parses `ether2-ether4=700M`, or `ether2-ether4=700M/300M` with return traffic.
fn flow(text: &str) -> Result<Flow, String> {
    let wrong =
        || format!("--flow {text}: expected ether2-ether4=700M, or =700M/300M with return traffic");
    let (ports, rates) = text.split_once('=').ok_or_else(wrong)?;
    // Port names may contain hyphens: the hyphen before a port name separates.
    let cut = ports.match_indices('-').map(|(at, _)| at);
    let mut cuts = cut.filter(|at| {
        let behind = &ports[at + 1..];
        ["ether", "sfp", "qsfp", "combo"]
            .iter()
            .any(|kind| behind.starts_with(kind))
            && !ports[..*at].ends_with("sfp")
    });
    let at = cuts.next().ok_or_else(wrong)?;
    let (rate, back) = rates.split_once('/').unwrap_or((rates, "0"));
    let bits = |text: &str| calc::bits_per_second(text).map_err(|_| wrong());
    Ok(Flow {
        from: ports[..at].to_owned(),
        to: ports[at + 1..].to_owned(),
        rate: bits(rate)?,
        back: bits(back)?,
    })
}

fn ports_of(board: &Board) -> Vec<&'static str> {
    board
        .lanes
        .iter()
        .flat_map(|lane| lane.ports)
        .copied()
        .collect()
}

fn has_port(board: &Board, name: &str) -> bool {
    ports_of(board).contains(&name)
}

/// Returns the load of the lanes. Traffic between two ports that one chip switches uses none.
fn loads(board: &'static Board, flows: &[Flow], switched: &BTreeSet<&str>) -> Vec<Load<'static>> {
    let known: BTreeSet<&str> = ports_of(board)
        .into_iter()
        .filter(|port| switched.contains(port))
        .collect();
    let shared = board.shared(&known);
    let mut loads: Vec<_> = { shared.into_iter() }
        .map(|shared| Load {
            lane: shared.lane,
            mbps: shared.mbps,
            ports: shared.ports,
            up: 0.0,
            down: 0.0,
        })
        .collect();
    for flow in flows {
        let both = switched.contains(&*flow.from) && switched.contains(&*flow.to);
        let chip = board.chip_of(&flow.from);
        if both && chip.is_some() && chip == board.chip_of(&flow.to) {
            continue;
        }
        for load in &mut loads {
            if load.ports.contains(&&*flow.from) {
                load.up += flow.rate;
                load.down += flow.back;
            }
            if load.ports.contains(&&*flow.to) {
                load.down += flow.rate;
                load.up += flow.back;
            }
        }
    }
    loads
}

/// Returns the lane with the highest utilisation.
fn busiest<'a>(loads: &'a [Load<'_>]) -> Option<(f64, &'a Load<'a>)> {
    let known = loads.iter().filter_map(|load| Some((load.share()?, load)));
    known.max_by(|(one, _), (other, _)| one.total_cmp(other))
}

/// Returns the moves of one end of a flow to an unused port that reduce the load of the busiest lane most.
fn swaps(
    board: &'static Board,
    flows: &[Flow],
    switched: &BTreeSet<&str>,
) -> Option<(String, &'static str, f64)> {
    let used: BTreeSet<&str> = flows
        .iter()
        .flat_map(|flow| [&*flow.from, &*flow.to])
        .collect();
    let free: Vec<_> = ports_of(board)
        .into_iter()
        .filter(|port| !used.contains(port))
        .collect();
    let share =
        |flows: &[Flow]| busiest(&loads(board, flows, switched)).map_or(0.0, |(share, _)| share);
    let now = share(flows);
    let moves = used
        .iter()
        .flat_map(|from| free.iter().map(move |to| (*from, *to)));
    let tried = moves.map(|(from, to)| {
        let name = |own: &str| {
            if own == from {
                to.to_owned()
            } else {
                own.to_owned()
            }
        };
        let moved: Vec<_> = flows
            .iter()
            .map(|flow| Flow {
                from: name(&flow.from),
                to: name(&flow.to),
                ..flow.clone()
            })
            .collect();
        (from.to_owned(), to, share(&moved))
    });
    let best = tried.min_by(|(.., one), (.., other)| one.total_cmp(other))?;
    (best.2 < now).then_some(best)
}

/// Returns boards with the same ports whose lanes carry the traffic, with the utilisation of the busiest.
fn boards(board: &Board, flows: &[Flow], switched: &BTreeSet<&str>) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    for other in BOARDS.iter().filter(|other| other.name != board.name) {
        let mut ports = flows.iter().flat_map(|flow| [&flow.from, &flow.to]);
        if !ports.all(|port| has_port(other, port)) {
            continue;
        }
        let loads = loads(other, flows, switched);
        // Boards without known lane speeds are not suggested.
        if loads
            .iter()
            .any(|load| load.mbps.is_none() && load.up + load.down > 0.0)
        {
            continue;
        }
        let share = busiest(&loads).map_or(0.0, |(share, _)| share);
        if share <= 1.0 {
            found.push((other.name, share));
        }
    }
    found
}

fn mbps(bits: f64) -> String {
    format!("{:.0} Mbps", bits / 1e6)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Prints the lanes as a diagram, the bottleneck, and suggestions.
fn to_text(
    board: &Board,
    loads: &[Load<'_>],
    better: Option<&(String, &'static str, f64)>,
    others: &[(&'static str, f64)],
) -> String {
    let mut text = format!("{} ({})\nprocessor\n", board.name, board.model);
    for (at, load) in loads.iter().enumerate() {
        let corner = if at + 1 == loads.len() {
            "└─"
        } else {
            "├─"
        };
        let speed = load
            .mbps
            .map_or_else(|| "? Mbps".to_owned(), |mbps| format!("{mbps} Mbps"));
        let share = load.share().map_or_else(|| "?".to_owned(), percent);
        let full = if load.share().is_some_and(|share| share > 1.0) {
            "  ◀ overloaded"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{corner} lane {} ══ {speed} each way: up {}, down {}, {share}{full} ══ {}",
            load.lane,
            mbps(load.up),
            mbps(load.down),
            load.ports.join(" ")
        );
    }
    match busiest(loads) {
        Some((share, load)) if share > 1.0 => {
            let _ = writeln!(
                text,
                "the bottleneck is lane {}: {} of the traffic gets through",
                load.lane,
                percent(1.0 / share)
            );
        }
        Some((share, load)) => {
            let _ = writeln!(
                text,
                "it fits; the busiest is lane {} with {}",
                load.lane,
                percent(share)
            );
        }
        None => text.push_str("the speed of its lanes is not published\n"),
    }
    if let Some((from, to, share)) = better {
        let _ = writeln!(
            text,
            "better: {to} in place of {from}; then the busiest lane has {}",
            percent(*share)
        );
    }
    if !others.is_empty() {
        let names: Vec<_> = others
            .iter()
            .map(|(name, share)| format!("{name} ({})", percent(*share)))
            .collect();
        let _ = writeln!(text, "boards whose lanes carry it: {}", names.join(", "));
    }
    text
}

fn to_json(
    board: &Board,
    loads: &[Load<'_>],
    better: Option<&(String, &'static str, f64)>,
    others: &[(&'static str, f64)],
) -> Value {
    let lanes = loads.iter().map(|load| {
        json!({
            "lane": load.lane, "mbps": load.mbps, "ports": load.ports,
            "up": load.up, "down": load.down, "share": load.share(),
        })
    });
    json!({
        "board": board.name,
        "lanes": lanes.collect::<Value>(),
        "better": better.map(|(from, to, share)| json!({ "from": from, "to": to, "share": share })),
        "boards": others.iter().map(|(name, share)| json!({ "board": name, "share": share })).collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(texts: &[&str]) -> Vec<Flow> {
        texts.iter().map(|text| flow(text).expect(text)).collect()
    }

    #[test]
    fn flows_are_read_whatever_ports_are_called() {
        let one = flow("ether2-ether4=700M/300M").expect("a flow");
        assert_eq!((&*one.from, &*one.to), ("ether2", "ether4"));
        assert_eq!((one.rate, one.back), (7e8, 3e8));
        let other = flow("sfp-sfpplus1-sfp-sfpplus2=10G").expect("a flow");
        assert_eq!((&*other.from, &*other.to), ("sfp-sfpplus1", "sfp-sfpplus2"));
        for wrong in [
            "ether1",
            "ether1-ether2",
            "ether1=1M",
            "ether1-ether2=x",
            "ether1-lan=1M",
        ] {
            assert!(flow(wrong).is_err(), "{wrong}");
        }
    }

    /// The hEX of the talk: ether1, ether3 and ether5 share a lane of 1 Gbit/s to the processor.
    #[test]
    fn two_ports_of_one_lane_get_half_and_another_port_is_better() {
        let board = Board::named("hEX").expect("a board");
        let wanted = flows(&["ether1-ether2=1G", "ether3-ether4=1G"]);
        let none = BTreeSet::new();
        let loads = loads(board, &wanted, &none);
        let (share, load) = busiest(&loads).expect("known");
        assert_eq!((share, load.up.max(load.down)), (2.0, 2e9));
        let crossed = flows(&["ether1-ether2=1G", "ether4-ether3=1G"]);
        let apart = super::loads(board, &crossed, &none);
        let (share, _) = busiest(&apart).expect("known");
        assert_eq!(share, 1.0);
        let text = to_text(board, &loads, None, &boards(board, &wanted, &none));
        assert!(
            text.contains("overloaded") && text.contains("50 % of the traffic"),
            "{text}"
        );
    }

    #[test]
    fn what_a_chip_switches_takes_no_lane() {
        let board = Board::named("hAP ac2").expect("a board");
        let wanted = flows(&["ether2-ether3=1G/1G"]);
        let switched = BTreeSet::from(["ether2", "ether3"]);
        assert!(
            loads(board, &wanted, &switched)
                .iter()
                .all(|load| load.up == 0.0)
        );
        assert!(
            loads(board, &wanted, &BTreeSet::new())
                .iter()
                .any(|load| load.up > 0.0)
        );
    }
}
