//! Bridges on segments, in virtual time: a frame arrives shortly later at all other ports of its segment.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;

use crate::stp::{Action, Bridge, Config, Event, Link, PortConfig, PortView, State};

/// A port: index of its bridge, and port number.
pub(super) type PortRef = (usize, u16);

/// A frame in transit: time of arrival, sequence number, destination, BPDU.
type OnTheWay = (Instant, u64, PortRef, Vec<u8>);

/// Bridges, and the segments of their ports.
pub(super) struct Net {
    pub(super) now: Instant,
    pub(super) bridges: Vec<Bridge>,
    /// By segment: its ports, and whether it carries frames.
    pub(super) segments: Vec<(Vec<PortRef>, bool)>,
    of_port: BTreeMap<PortRef, usize>,
    states: BTreeMap<(PortRef, u16), State>,
    on_the_way: BinaryHeap<Reverse<OnTheWay>>,
    sent: u64,
    rng: Rng,
    /// Percentage of lost frames.
    pub(super) loss: u8,
    /// Flushes, by port and tree.
    pub(super) flushed: BTreeMap<(PortRef, u16), u64>,
    pub(super) guarded: Vec<PortRef>,
    /// Time for which the common tree contained a loop.
    pub(super) looped: Duration,
}

/// MAC address of the bridge with this index.
pub(super) fn address(number: usize) -> Mac {
    Mac([2, 0, 0, 0, (number >> 8) as u8, number as u8 + 1])
}

/// The link of ports of a segment.
const fn link(ports: &[PortRef]) -> Link {
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

    /// Connects ports by a segment, with this configuration; two ports are point-to-point.
    pub(super) fn join(&mut self, ports: &[PortRef], config: &PortConfig) {
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

    /// Moves a port to another segment, or disconnects it. Its link state is unchanged.
    pub(super) fn put(&mut self, place: PortRef, segment: Option<usize>) {
        for (ports, _) in &mut self.segments {
            ports.retain(|port| *port != place);
        }
        self.of_port.remove(&place);
        if let Some(segment) = segment {
            self.segments[segment].0.push(place);
            self.of_port.insert(place, segment);
        }
    }

    /// Enables or disables a segment.
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

    fn send(&mut self, from: PortRef, bpdu: &[u8]) {
        let Some(segment) = self.of_port.get(&from) else {
            return;
        };
        let (ports, up) = &self.segments[*segment];
        for to in ports.iter().filter(|to| *up && **to != from) {
            if self.rng.percent(self.loss) {
                continue;
            }
            // Frames of a segment keep their order, because all have the same delay.
            let at = self.now + Duration::from_micros(100);
            self.sent += 1;
            self.on_the_way
                .push(Reverse((at, self.sent, *to, bpdu.to_vec())));
        }
    }

    /// Advances the time.
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

    fn forwards(&self, place: PortRef, tree: u16) -> bool {
        self.states.get(&(place, tree)) == Some(&State::Forwarding)
    }

    /// Segments and bridges that frames reach from a bridge, and the number of connections between them.
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

    /// True if a frame could loop in a tree.
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

    /// True if every frame reaches every connected bridge and segment in a tree, by exactly one path.
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
