//! Bonds and the cables between them, in virtual time: PDUs are lost, come twice, and overtake each other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;

use crate::lacp::{Action, Config, Event, Lacp, Link, Mux, PortView};

/// A port: a bond and the port's number.
pub(super) type Place = (usize, u16);

/// When a PDU arrives, its number, where, and it.
type OnTheWay = (Instant, u64, Place, Vec<u8>);

/// A link of a gigabit.
pub(super) const UP: Link = Link {
    up: true,
    megabits: 1_000,
    full_duplex: true,
};

/// Bonds, and what lies between them.
pub(super) struct Net {
    pub(super) now: Instant,
    pub(super) bonds: Vec<Lacp>,
    cables: BTreeMap<Place, Place>,
    /// What ports were told: collecting, distributing.
    does: BTreeMap<Place, (bool, bool)>,
    /// Cables that carry nothing, though their ends have links.
    pub(super) dead: BTreeSet<Place>,
    on_the_way: BinaryHeap<Reverse<OnTheWay>>,
    pub(super) sent: u64,
    rng: Rng,
    /// Percent of PDUs that are lost, and that come twice.
    pub(super) loss: u8,
    pub(super) twice: u8,
    /// The longest way, in milliseconds.
    pub(super) slowest: u64,
    pub(super) looped: Vec<Place>,
    /// How long a port sent to one that took nothing.
    pub(super) into_nothing: Duration,
}

/// The system of the bond with this number.
pub(super) fn system(number: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, number as u8 + 1])
}

impl Net {
    /// Bonds with these configurations.
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

    /// So many bonds, each active with a system of its own.
    pub(super) fn of(count: usize, change: impl Fn(usize, &mut Config)) -> Self {
        let config = |number| {
            let mut config = Config::new(system(number));
            change(number, &mut config);
            config
        };
        Self::new((0..count).map(config).collect(), 1)
    }

    /// Lays a cable, and brings its ends up.
    pub(super) fn join(&mut self, one: Place, other: Place) {
        self.cables.insert(one, other);
        self.cables.insert(other, one);
        for (bond, port) in BTreeSet::from([one, other]) {
            self.feed(bond, Event::Port(port));
            self.feed(bond, Event::Link(port, UP));
        }
    }

    /// Pulls a cable out or puts it in again.
    pub(super) fn set_up(&mut self, one: Place, up: bool) {
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

    fn send(&mut self, from: Place, pdu: &[u8]) {
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

    /// Lets time pass.
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

    fn does(&self, place: Place) -> (bool, bool) {
        self.does.get(&place).copied().unwrap_or_default()
    }

    /// The ports of a bond that carry frames both ways.
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
