//! Better ports of a board, and other boards, for given traffic. Only what carries the traffic is recommended.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::Flow;
use super::load::{Evaluation, ResourceKind, evaluate};
use super::setup::Setup;
use crate::boards::BOARDS;
use crate::hardware::{Hardware, Price, Purpose};
use crate::model::Board;

/// Maximum number of moves of a recommendation.
const MAX_MOVES: usize = 12;

/// Recommendations. Empty if the board carries the traffic without changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Moves of cables to other ports of the board after which it carries the traffic.
    pub moves: Option<(Vec<Move>, Evaluation)>,
    /// Loads if the processor forwards for switched ports (`hw=no`).
    pub without_switching: Option<Evaluation>,
    /// Boards that carry the traffic, cheapest first; boards without known price come last.
    pub boards: Vec<BoardAdvice>,
}

/// A cable that moves to another port, with the configuration of its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Present port.
    pub from: String,
    /// New port.
    pub to: String,
}

/// A board that carries the traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct BoardAdvice {
    /// The board.
    pub board: &'static Board,
    /// Ports that differ from those of the flows.
    pub moves: Vec<Move>,
    /// Ports that its chips have to switch.
    pub switched: BTreeSet<String>,
    /// Loads there.
    pub evaluation: Evaluation,
    /// Price, if known.
    pub price: Option<Price>,
}

/// Returns recommendations for traffic.
pub fn advise(board: &Board, hardware: &Hardware<'_>, flows: &[Flow], setup: &Setup) -> Advice {
    let now = evaluate(board, hardware, flows, setup);
    let mut advice = Advice::default();
    if !setup.switched.is_empty() && board.moves_switched {
        let software = in_software(setup);
        advice.without_switching = Some(evaluate(board, hardware, flows, &software));
    }
    if now.carries() {
        return advice;
    }
    let start = Assignment::identity(flows);
    advice.moves = start
        .improved(board, hardware, flows, setup)
        .map(|(assignment, evaluation)| (assignment.moves(), evaluation));
    let others = BOARDS.iter().filter(|other| other.name != board.name);
    advice.boards = { others }
        .filter_map(|other| on_board(other, flows, setup))
        .collect();
    advice.boards.sort_by_key(|other| {
        let cents = other.price.map_or(u32::MAX, |price| price.cents);
        (cents, other.board.name)
    });
    advice
}

fn in_software(setup: &Setup) -> Setup {
    Setup {
        switched: BTreeSet::new(),
        ..setup.clone()
    }
}

/// Evaluates another board, first without switching, then with all bridged ports switched that one chip has.
fn on_board(board: &'static Board, flows: &[Flow], setup: &Setup) -> Option<BoardAdvice> {
    let hardware = board.hardware()?;
    let start = Assignment::onto(hardware, flows)?;
    let software = in_software(setup);
    let named = software.renamed(&|port| start.of(port));
    let mut by_chip = named.clone();
    by_chip.switched = switchable(board, &named);
    for setup in [named, by_chip] {
        let renamed = start.rename(flows);
        let now = evaluate(board, hardware, &renamed, &setup);
        let (assignment, evaluation, moved) = if now.carries() {
            (start, now, Assignment::identity(&renamed))
        } else {
            let improved = Assignment::identity(&renamed);
            let Some((moved, evaluation)) = improved.improved(board, hardware, &renamed, &setup)
            else {
                continue;
            };
            (start.then(&moved), evaluation, moved)
        };
        return Some(BoardAdvice {
            board,
            moves: assignment.moves(),
            switched: setup.renamed(&|port| moved.of(port)).switched,
            evaluation,
            price: hardware.price,
        });
    }
    None
}

/// Returns the bridged ports that the chips of a board can switch.
fn switchable(board: &Board, setup: &Setup) -> BTreeSet<String> {
    let can = |port: &&String| {
        let chip = board.chip_of(port).and_then(|chip| board.chips.get(chip));
        chip.is_some_and(|on| on.chip.switches)
    };
    setup.bridges.keys().filter(can).cloned().collect()
}

/// Ports by the ports of the flows.
#[derive(Clone, Debug, Default)]
struct Assignment(BTreeMap<String, String>);

/// Rank of an evaluation; less is better.
#[derive(PartialEq, PartialOrd)]
struct Rank {
    unknown: usize,
    overload: f64,
    busiest: f64,
}

impl Rank {
    fn of(evaluation: &Evaluation) -> Self {
        let shares =
            { evaluation.resources.iter() }.filter_map(|part| Some((part.kind, part.share?)));
        let overload = shares
            .clone()
            .map(|(_, share)| (share - 1.0).max(0.0))
            .sum();
        let busiest = { shares }
            .filter(|(kind, _)| matches!(kind, ResourceKind::Port | ResourceKind::Lane))
            .map(|(_, share)| share)
            .fold(0.0, f64::max);
        Self {
            unknown: evaluation.unknown.len(),
            overload,
            busiest,
        }
    }
}

impl Assignment {
    fn identity(flows: &[Flow]) -> Self {
        let ports = flows.iter().flat_map(|flow| [&flow.from, &flow.to]);
        Self(ports.map(|port| (port.clone(), port.clone())).collect())
    }

    /// Assigns ports of another board by name; missing ports get free ports of the same family.
    fn onto(hardware: &Hardware<'_>, flows: &[Flow]) -> Option<Self> {
        let wanted: BTreeSet<&String> = { flows.iter() }
            .flat_map(|flow| [&flow.from, &flow.to])
            .collect();
        let usable = usable(hardware);
        let mut assigned = BTreeMap::new();
        let mut free: BTreeSet<&str> = usable.iter().copied().collect();
        for port in &wanted {
            if free.remove(port.as_str()) {
                assigned.insert((*port).clone(), (*port).clone());
            }
        }
        for port in wanted {
            if assigned.contains_key(port) {
                continue;
            }
            let of_family = free.iter().find(|other| family(other) == family(port));
            let other = *of_family?;
            free.remove(other);
            assigned.insert(port.clone(), other.to_owned());
        }
        Some(Self(assigned))
    }

    fn of(&self, port: &str) -> String {
        self.0.get(port).map_or(port, String::as_str).to_owned()
    }

    fn then(&self, next: &Self) -> Self {
        let all = self.0.iter();
        Self(
            all.map(|(port, other)| (port.clone(), next.of(other)))
                .collect(),
        )
    }

    fn moves(&self) -> Vec<Move> {
        let moved = self.0.iter().filter(|(from, to)| from != to);
        moved
            .map(|(from, to)| Move {
                from: from.clone(),
                to: to.clone(),
            })
            .collect()
    }

    fn rename(&self, flows: &[Flow]) -> Vec<Flow> {
        let renamed = flows.iter().map(|flow| Flow {
            from: self.of(&flow.from),
            to: self.of(&flow.to),
            ..flow.clone()
        });
        renamed.collect()
    }

    /// Returns the assignment with the port of `key` and, if that is used, of its user exchanged.
    fn with(&self, key: &str, to: &str) -> Self {
        let mut next = self.clone();
        let before = self.of(key);
        let user = self.0.iter().find(|(_, own)| *own == to);
        if let Some((user, _)) = user {
            next.0.insert(user.clone(), before);
        }
        next.0.insert(key.to_owned(), to.to_owned());
        next
    }

    /// Moves and exchanges ports step by step, each time by the best single step, until the board carries the
    /// traffic. Returns `None` if no step is left that improves the loads.
    fn improved(
        &self,
        board: &Board,
        hardware: &Hardware<'_>,
        flows: &[Flow],
        setup: &Setup,
    ) -> Option<(Self, Evaluation)> {
        let usable = usable(hardware);
        let loads = |assignment: &Self| {
            let setup = setup.renamed(&|port| assignment.swapped(port));
            evaluate(board, hardware, &assignment.rename(flows), &setup)
        };
        let mut best = self.clone();
        let mut evaluation = loads(&best);
        for _ in 0..MAX_MOVES {
            if evaluation.carries() {
                return Some((best, evaluation));
            }
            let mut rank = Rank::of(&evaluation);
            let mut next = None;
            for (key, own) in &best.0 {
                let others = usable.iter().filter(|to| {
                    *to != own
                        && family(to) == family(own)
                        && (!setup.switched.contains(key)
                            || board.chip_of(to) == board.chip_of(own))
                });
                for to in others {
                    let tried = best.with(key, to);
                    let loaded = loads(&tried);
                    let of_tried = Rank::of(&loaded);
                    if of_tried < rank {
                        rank = of_tried;
                        next = Some((tried, loaded));
                    }
                }
            }
            (best, evaluation) = next?;
        }
        evaluation.carries().then_some((best, evaluation))
    }

    /// Returns the new name of any port of the board: a port without traffic takes the place of the port that moved
    /// onto it.
    fn swapped(&self, port: &str) -> String {
        if let Some(to) = self.0.get(port) {
            return to.clone();
        }
        let mut at = port.to_owned();
        // The ports that traffic leaves are as many as those that it takes.
        while let Some((from, _)) = self.0.iter().find(|(_, to)| **to == at) {
            at.clone_from(from);
            if at == port {
                break;
            }
        }
        at
    }
}

/// Returns the ports for traffic of users.
fn usable<'a>(hardware: &Hardware<'a>) -> Vec<&'a str> {
    let groups = hardware.ports.iter();
    let groups = groups.filter(|group| group.purpose == Purpose::Traffic);
    groups.flat_map(|group| group.names).copied().collect()
}

/// Returns the family of a port name: `ether` of `ether5`.
fn family(port: &str) -> &str {
    let name = port.trim_end_matches(|c: char| c.is_ascii_digit());
    name.trim_end_matches("28-")
}
