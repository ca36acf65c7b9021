//! Bridges on segments, in virtual time: what they send arrives a little later at all others of its segment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;

use crate::stp::{Action, Bridge, Config, Event, Link, PortConfig, PortView, State};

/// A port: a bridge and the port's number.
pub(super) type Place = (usize, u16);

/// When a frame arrives, its number, where, and the BPDU in it.
type OnTheWay = (Instant, u64, Place, Vec<u8>);

/// Bridges, and the segments that their ports are on.
pub(super) struct Net {
    pub(super) now: Instant,
    pub(super) bridges: Vec<Bridge>,
    /// By segment: its ports, and whether it carries frames.
    pub(super) segments: Vec<(Vec<Place>, bool)>,
    of_port: BTreeMap<Place, usize>,
    states: BTreeMap<(Place, u16), State>,
    on_the_way: BinaryHeap<Reverse<OnTheWay>>,
    sent: u64,
    rng: Rng,
    /// Percent of frames that are lost.
    pub(super) loss: u8,
    /// Flushes, by port and tree.
    pub(super) flushed: BTreeMap<(Place, u16), u64>,
    pub(super) guarded: Vec<Place>,
    /// How long there was a loop in the common tree.
    pub(super) looped: Duration,
}

/// The bridge with this number, from 0.
pub(super) fn address(number: usize) -> Mac {
    Mac([2, 0, 0, 0, (number >> 8) as u8, number as u8 + 1])
}

/// The link of ports of a segment.
const fn link(ports: &[Place]) -> Link {
    Link {
        up: true,
        megabits: 1_000,
        full_duplex: ports.len() <= 2,
    }
}

impl Net {
    pub(super) fn new(configs: Vec<Config>, seed: u64) -> Self {
        Self {
            now: Instant::from_secs(1),
            bridges: configs.into_iter().map(Bridge::new).collect(),
            segments: Vec::new(),
            of_port: BTreeMap::new(),
            states: BTreeMap::new(),
            on_the_way: BinaryHeap::new(),
            sent: 0,
            rng: Rng::seeded(seed),
            loss: 0,
            flushed: BTreeMap::new(),
            guarded: Vec::new(),
            looped: Duration::ZERO,
        }
    }

    /// Puts ports on a segment of their own, with this configuration; they are point to point if they are two.
    pub(super) fn join(&mut self, ports: &[Place], config: &PortConfig) {
        let segment = self.segments.len();
        self.segments.push((ports.to_vec(), true));
        for place in ports {
            self.of_port.insert(*place, segment);
            let event = match place.0 % 2 {
                0 => Event::Port(place.1, config.clone()),
                _ => Event::PortWithLink(place.1, config.clone(), link(ports)),
            };
            self.feed(place.0, event);
        }
        self.set_up(segment, true);
    }

    /// Puts a port onto another segment, or takes it off its own. Its link stays as it is.
    pub(super) fn put(&mut self, place: Place, segment: Option<usize>) {
        for (ports, _) in &mut self.segments {
            ports.retain(|port| *port != place);
        }
        self.of_port.remove(&place);
        if let Some(segment) = segment {
            self.segments[segment].0.push(place);
            self.of_port.insert(place, segment);
        }
    }

    /// A segment carries frames from now on, or none.
    pub(super) fn set_up(&mut self, segment: usize, up: bool) {
        self.segments[segment].1 = up;
        let ports = self.segments[segment].0.clone();
        for (bridge, port) in ports.clone() {
            let link = Link { up, ..link(&ports) };
            self.feed(bridge, Event::Link(port, link));
        }
    }

    pub(super) fn feed(&mut self, bridge: usize, event: Event<'_>) {
        let mut out = Vec::new();
        self.bridges[bridge].handle(event, self.now, &mut out);
        self.obey(bridge, out);
    }

    fn obey(&mut self, bridge: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send { port, bpdu } => self.send((bridge, port), &bpdu),
                Action::Become { port, tree, state } => {
                    self.states.insert(((bridge, port), tree), state);
                }
                Action::Flush { port, tree } => {
                    *self.flushed.entry(((bridge, port), tree)).or_default() += 1;
                }
                Action::Guarded { port } => self.guarded.push((bridge, port)),
            }
        }
    }

    fn send(&mut self, from: Place, bpdu: &[u8]) {
        let Some(segment) = self.of_port.get(&from) else {
            return;
        };
        let (ports, up) = &self.segments[*segment];
        for to in ports.iter().filter(|to| *up && **to != from) {
            if self.rng.percent(self.loss) {
                continue;
            }
            // Frames of a segment keep their order: all take as long.
            let at = self.now + Duration::from_micros(100);
            self.sent += 1;
            self.on_the_way
                .push(Reverse((at, self.sent, *to, bpdu.to_vec())));
        }
    }

    /// Lets time pass.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.bridges.iter().enumerate();
            let due = due.filter_map(|(at, bridge)| Some((bridge.deadline()?.0, at)));
            let tick = due.min();
            let frame = self.on_the_way.peek().map(|Reverse((at, ..))| *at);
            let next = tick.map(|(at, _)| at).into_iter().chain(frame).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.pass_to(next);
            if frame == Some(next) {
                let Some(Reverse((_, _, (bridge, port), bpdu))) = self.on_the_way.pop() else {
                    break;
                };
                let segment = self.of_port.get(&(bridge, port));
                if segment.is_some_and(|segment| self.segments[*segment].1) {
                    self.feed(bridge, Event::Received(port, &bpdu));
                }
            } else if let Some((_, bridge)) = tick {
                let mut out = Vec::new();
                self.bridges[bridge].tick(next, &mut out);
                self.obey(bridge, out);
            }
        }
        self.pass_to(end);
    }

    fn pass_to(&mut self, now: Instant) {
        if now > self.now && self.has_loop(0) {
            self.looped += now.saturating_since(self.now);
        }
        self.now = now;
    }

    fn forwards(&self, place: Place, tree: u16) -> bool {
        self.states.get(&(place, tree)) == Some(&State::Forwarding)
    }

    /// The segments and bridges that frames get to from a bridge, and how many ways there are between them.
    fn reached(
        &self,
        from: usize,
        tree: u16,
        all: bool,
    ) -> (BTreeSet<usize>, BTreeSet<usize>, usize) {
        let (mut bridges, mut segments, mut ways) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut todo = vec![from];
        bridges.insert(from);
        while let Some(bridge) = todo.pop() {
            for (place, segment) in self.of_port.range((bridge, 0)..=(bridge, u16::MAX)) {
                let (ports, up) = &self.segments[*segment];
                if !*up || !(all || self.forwards(*place, tree)) {
                    continue;
                }
                ways += 1;
                segments.insert(*segment);
                for (other, port) in ports {
                    if (all || self.forwards((*other, *port), tree)) && bridges.insert(*other) {
                        todo.push(*other);
                    }
                }
            }
        }
        (bridges, segments, ways)
    }

    /// Whether a frame could go round in a tree.
    pub(super) fn has_loop(&self, tree: u16) -> bool {
        let mut left: BTreeSet<_> = (0..self.bridges.len()).collect();
        while let Some(bridge) = left.pop_first() {
            let (bridges, segments, ways) = self.reached(bridge, tree, false);
            left.retain(|bridge| !bridges.contains(bridge));
            // A tree has one edge less than nodes.
            if ways + 1 != bridges.len() + segments.len() {
                return true;
            }
        }
        false
    }

    /// Whether in a tree every frame gets to every bridge and segment that there is a way to, by one way.
    pub(super) fn is_tree(&self, tree: u16) -> bool {
        (0..self.bridges.len()).all(|bridge| {
            let (bridges, segments, ways) = self.reached(bridge, tree, false);
            let (all_bridges, all_segments, _) = self.reached(bridge, tree, true);
            (&bridges, &segments) == (&all_bridges, &all_segments)
                && ways + 1 == bridges.len() + segments.len()
        })
    }

    pub(super) fn port(&self, bridge: usize, port: u16) -> PortView {
        self.bridges[bridge].port(port, 0).expect("a port")
    }

    pub(super) fn unsettled(&self) -> u64 {
        self.bridges.iter().map(Bridge::unsettled).sum()
    }
}
