//! Bonds and cables in virtual time; PDUs are lost, duplicated and reordered.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;

use crate::lacp::{Action, Config, Event, Lacp, Link, Mux, PortView};

/// A port: index of its bond, and port number.
pub(super) type PortRef = (usize, u16);

/// A PDU in transit: time of arrival, sequence number, destination, contents.
type OnTheWay = (Instant, u64, PortRef, Vec<u8>);

/// A link with 1 Gbit/s.
pub(super) const UP: Link = Link {
    up: true,
    megabits: 1_000,
    full_duplex: true,
};

/// Bonds and the cables between them.
pub(super) struct Net {
    pub(super) now: Instant,
    pub(super) bonds: Vec<Lacp>,
    cables: BTreeMap<PortRef, PortRef>,
    /// Reported roles: collecting, distributing.
    does: BTreeMap<PortRef, (bool, bool)>,
    /// Cables that carry no frames although their ends have links.
    pub(super) dead: BTreeSet<PortRef>,
    on_the_way: BinaryHeap<Reverse<OnTheWay>>,
    pub(super) sent: u64,
    rng: Rng,
    /// Percentages of lost and of duplicated PDUs.
    pub(super) loss: u8,
    pub(super) twice: u8,
    /// Maximum delay in milliseconds.
    pub(super) slowest: u64,
    pub(super) looped: Vec<PortRef>,
    /// Time for which a port distributed to a port that did not collect.
    pub(super) into_nothing: Duration,
}

/// System id of the bond with this number.
pub(super) fn system(number: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, number as u8 + 1])
}

impl Net {
    /// Creates bonds with these configurations.
    pub(super) fn new(configs: Vec<Config>, seed: u64) -> Self {
        Self {
            now: Instant::from_secs(1),
            bonds: configs.into_iter().map(Lacp::new).collect(),
            cables: BTreeMap::new(),
            does: BTreeMap::new(),
            dead: BTreeSet::new(),
            on_the_way: BinaryHeap::new(),
            sent: 0,
            rng: Rng::seeded(seed),
            loss: 0,
            twice: 0,
            slowest: 1,
            looped: Vec::new(),
            into_nothing: Duration::ZERO,
        }
    }

    /// Creates active bonds, each with its own system id.
    pub(super) fn of(count: usize, change: impl Fn(usize, &mut Config)) -> Self {
        let config = |number| {
            let mut config = Config::new(system(number));
            change(number, &mut config);
            config
        };
        Self::new((0..count).map(config).collect(), 1)
    }

    /// Connects two ports and brings their links up.
    pub(super) fn join(&mut self, one: PortRef, other: PortRef) {
        self.cables.insert(one, other);
        self.cables.insert(other, one);
        for (bond, port) in BTreeSet::from([one, other]) {
            self.feed(bond, Event::Port(port));
            self.feed(bond, Event::Link(port, UP));
        }
    }

    /// Sets the link state of both ends of a cable.
    pub(super) fn set_up(&mut self, one: PortRef, up: bool) {
        for (bond, port) in [one, self.cables[&one]] {
            self.feed(bond, Event::Link(port, Link { up, ..UP }));
        }
    }

    pub(super) fn feed(&mut self, bond: usize, event: Event<'_>) {
        let mut out = Vec::new();
        self.bonds[bond].handle(event, self.now, &mut out);
        self.obey(bond, out);
    }

    fn obey(&mut self, bond: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send { port, pdu } => self.send((bond, port), &pdu[..]),
                Action::Become {
                    port,
                    collecting,
                    distributing,
                } => {
                    self.does.insert((bond, port), (collecting, distributing));
                }
                Action::Looped { port } => self.looped.push((bond, port)),
            }
        }
    }

    fn send(&mut self, from: PortRef, pdu: &[u8]) {
        self.sent += 1;
        let Some(to) = self.cables.get(&from).copied() else {
            return;
        };
        if self.dead.contains(&from) || self.rng.percent(self.loss) {
            return;
        }
        let copies = 1 + u64::from(self.rng.percent(self.twice));
        for copy in 0..copies {
            let way = Duration::from_millis(1 + self.rng.below(self.slowest));
            let frame = (self.now + way, self.sent * 2 + copy, to, pdu.to_vec());
            self.on_the_way.push(Reverse(frame));
        }
    }

    /// Advances the time.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.bonds.iter().enumerate();
            let due = due.filter_map(|(at, bond)| Some((bond.deadline()?.0, at)));
            let tick = due.min();
            let frame = self.on_the_way.peek().map(|Reverse((at, ..))| *at);
            let next = tick.map(|(at, _)| at).into_iter().chain(frame).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.pass_to(next);
            if frame == Some(next) {
                if let Some(Reverse((_, _, (bond, port), pdu))) = self.on_the_way.pop() {
                    self.feed(bond, Event::Received(port, &pdu));
                }
            } else if let Some((_, bond)) = tick {
                let mut out = Vec::new();
                self.bonds[bond].tick(next, &mut out);
                self.obey(bond, out);
            }
        }
        self.pass_to(end);
    }

    fn pass_to(&mut self, now: Instant) {
        let wrong = self.cables.iter().any(|(from, to)| {
            let (from, to) = (self.does(*from), self.does(*to));
            from.1 && !to.0
        });
        if wrong {
            self.into_nothing += now.saturating_since(self.now);
        }
        self.now = now;
    }

    fn does(&self, place: PortRef) -> (bool, bool) {
        self.does.get(&place).copied().unwrap_or_default()
    }

    /// Ports of a bond that carry frames in both directions.
    pub(super) fn carries(&self, bond: usize) -> Vec<u16> {
        let of_it = self.does.range((bond, 0)..=(bond, u16::MAX));
        let all = of_it.filter(|(_, does)| **does == (true, true));
        all.map(|((_, port), _)| *port).collect()
    }

    pub(super) fn port(&self, bond: usize, port: u16) -> PortView {
        let view = self.bonds[bond].port(port).expect("a port");
        let does = self.does((bond, port));
        let of_mux = (view.mux >= Mux::Collecting, view.mux == Mux::Distributing);
        assert_eq!(does, of_mux, "the owner knows what the port does");
        assert_eq!(self.bonds[bond].unsettled(), 0);
        view
    }
}
