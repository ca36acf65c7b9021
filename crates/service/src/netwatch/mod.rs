//! Hosts that are watched (`/tool/netwatch`): tests again and again, and when a host has come or gone.
//!
//! ```text
//! waits ─▶ test ─▶ echoes of this machine, or a probe of the owner's sockets ─▶ up or down ─▶ waits
//! ```
//! All deadlines are in one ordered set, so that thousands of hosts cost what is due alone. Tests of one host never
//! overlap: one that takes longer than the interval puts the next off. RouterOS: a test of `simple` is one echo, a
//! test of `icmp` is several, whose statistics have limits.

mod echo;
#[cfg(test)]
mod tests;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};

use crate::ping;

pub use echo::{Limits, Round, Statistics};

/// Most hosts that are watched.
const WATCHES: usize = 4_096;
/// Most probes of the owner at a time: others wait for their turn.
pub const PROBES: usize = 32;
/// Echoes that are under way for a host at most.
pub const ECHOES: u32 = 256;

/// What a host is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Echo requests.
    Echo(Round),
    /// What needs a connection or a name: the owner tries it.
    Probe,
}

/// How a host is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// What it is asked.
    pub kind: Kind,
    /// Its address, once that is known.
    pub host: Option<IpAddr>,
    /// The space between the beginnings of two tests.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How long the first test waits.
    pub first: Duration,
    /// Nothing is run when it is up at first.
    pub ignores_up: bool,
    /// Nothing is run when it is down at first.
    pub ignores_down: bool,
}

/// What a host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It has not been tested.
    #[default]
    Unknown,
    /// It does not answer as it should.
    Down,
    /// It answers.
    Up,
}

impl Status {
    /// As RouterOS shows it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// What happens to a [`Netwatch`].
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A host is watched like this. One that is watched as before goes on.
    Put(u64, Watch),
    /// It is not watched any more.
    Remove(u64),
    /// The address of a host is this one.
    Address(u64, Option<IpAddr>),
    /// What may answer an echo.
    Heard(&'a ping::Heard),
    /// A probe of the owner has ended: whether the host is as it should be.
    Probed {
        /// The host.
        id: u64,
        /// The number of the test.
        test: u64,
        /// Whether it is up.
        up: bool,
    },
}

/// What a [`Netwatch`] wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An echo request is to be sent.
    Echo {
        /// To whom.
        to: IpAddr,
        /// For which host.
        id: u64,
        /// The identifier and the number of the request.
        numbers: (u16, u16),
    },
    /// The owner is to try a host.
    Probe {
        /// The host.
        id: u64,
        /// The number of the test, which its end bears.
        test: u64,
        /// How long it may take.
        timeout: Duration,
    },
    /// A test has ended.
    Tested {
        /// The host.
        id: u64,
        /// What the host is.
        status: Status,
        /// What it was before, if that was something else.
        was: Option<Status>,
        /// Whether what is to be done then is done.
        runs: bool,
    },
}

/// What is known of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// What it is.
    pub status: Status,
    /// Since when.
    pub since: Option<Instant>,
    /// Tests that ended.
    pub done: u64,
    /// Those that failed.
    pub failed: u64,
    /// Of its last round of echoes.
    pub statistics: Statistics,
}

/// See the module.
#[derive(Debug)]
pub struct Netwatch {
    watches: BTreeMap<u64, Watched>,
    /// When something is due, and for whom; at most once for each.
    alarms: BTreeSet<(Instant, u64)>,
    /// Hosts whose probe waits for its turn.
    queue: BTreeSet<(u64, u64)>,
    probes: usize,
    /// Echoes under way, by their numbers: whose, and when they were sent.
    echoes: BTreeMap<u16, (u64, IpAddr, Instant)>,
    id: u16,
    seq: u16,
    tests: u64,
}

#[derive(Debug)]
struct Watched {
    watch: Watch,
    known: Known,
    state: State,
    /// When the next test begins.
    next: Instant,
    alarm: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// It waits for the next test.
    Waits,
    /// Echoes are under way.
    Echoes(echo::Echoes),
    /// Its probe waits for its turn.
    Queued(u64),
    /// The owner tries it, until then at most.
    Probe(u64, Instant),
}

impl Machine for Netwatch {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = ();

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Put(id, watch) => self.put(id, watch, now),
            Event::Remove(id) => self.remove(id),
            Event::Address(id, host) => {
                if let Some(watched) = self.watches.get_mut(&id) {
                    watched.watch.host = host;
                }
            }
            Event::Heard(heard) => self.hear(heard, now, out),
            Event::Probed { id, test, up } => {
                let watched = self.watches.get(&id);
                let state = watched.map(|watched| &watched.state);
                if matches!(state, Some(State::Probe(own, _)) if *own == test) {
                    self.probes = self.probes.saturating_sub(1);
                    self.end(id, up, now, out);
                }
            }
        }
        self.begin_probes(now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((at, id)) = self.alarms.first().copied()
            && at <= now
        {
            self.alarms.pop_first();
            self.wake(id, now, out);
        }
        self.begin_probes(now, out);
    }

    fn deadline(&self) -> Option<(Instant, ())> {
        self.alarms.first().map(|(at, _)| (*at, ()))
    }
}

impl Netwatch {
    /// Watches nobody; echo requests are to have this identifier.
    pub const fn new(id: u16) -> Self {
        Self {
            watches: BTreeMap::new(),
            alarms: BTreeSet::new(),
            queue: BTreeSet::new(),
            probes: 0,
            echoes: BTreeMap::new(),
            id,
            seq: 0,
            tests: 0,
        }
    }

    /// What is known of a host.
    pub fn known(&self, id: u64) -> Option<&Known> {
        self.watches.get(&id).map(|watched| &watched.known)
    }

    /// Whether a packet may answer one of its echoes.
    pub const fn is_its(&self, heard: &ping::Heard) -> bool {
        heard.id == self.id
    }

    /// Whether anybody is asked by echoes.
    pub fn echoes(&self) -> bool {
        let mut all = self.watches.values();
        all.any(|watched| matches!(watched.watch.kind, Kind::Echo(_)))
    }

    fn put(&mut self, id: u64, watch: Watch, now: Instant) {
        let kept = self.watches.get_mut(&id).filter(|watched| {
            let host = watched.watch.host;
            let same = Watch {
                host,
                ..watch.clone()
            };
            same == watched.watch
        });
        if let Some(kept) = kept {
            // What is known of a name's addresses stays known.
            kept.watch.host = watch.host.or(kept.watch.host);
            return;
        }
        let known = self.watches.get(&id).map(|watched| watched.known);
        self.remove(id);
        if self.watches.len() >= WATCHES {
            return;
        }
        let next = now + watch.first;
        let watched = Watched {
            watch,
            known: known.unwrap_or_default(),
            state: State::Waits,
            next,
            alarm: None,
        };
        self.watches.insert(id, watched);
        self.set_alarm(id);
    }

    fn remove(&mut self, id: u64) {
        let Some(watched) = self.watches.remove(&id) else {
            return;
        };
        if let Some(at) = watched.alarm {
            self.alarms.remove(&(at, id));
        }
        match watched.state {
            State::Queued(turn) => drop(self.queue.remove(&(turn, id))),
            State::Probe(..) => self.probes = self.probes.saturating_sub(1),
            State::Echoes(echoes) => self.forget(&echoes),
            State::Waits => {}
        }
    }

    /// Does what is due about a host.
    fn wake(&mut self, id: u64, now: Instant, out: &mut Vec<Action>) {
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        watched.alarm = None;
        match &mut watched.state {
            State::Waits if watched.next <= now => self.begin(id, now, out),
            State::Probe(_, until) if *until <= now => {
                self.probes = self.probes.saturating_sub(1);
                self.end(id, false, now, out);
            }
            State::Echoes(_) => self.go_on(id, now, out),
            State::Waits | State::Queued(_) | State::Probe(..) => {}
        }
        self.set_alarm(id);
    }

    /// Begins a test.
    fn begin(&mut self, id: u64, now: Instant, out: &mut Vec<Action>) {
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        // Tests do not pile up where one took too long.
        watched.next = (watched.next + watched.watch.interval).max(now);
        match &watched.watch.kind {
            Kind::Echo(round) => {
                watched.state = State::Echoes(echo::Echoes::new(round.clone(), now));
                self.go_on(id, now, out);
            }
            Kind::Probe => {
                self.tests += 1;
                watched.state = State::Queued(self.tests);
                self.queue.insert((self.tests, id));
            }
        }
    }

    /// Lets the owner try those whose turn it is.
    fn begin_probes(&mut self, now: Instant, out: &mut Vec<Action>) {
        while self.probes < PROBES
            && let Some((test, id)) = self.queue.pop_first()
        {
            let Some(watched) = self.watches.get_mut(&id) else {
                continue;
            };
            let timeout = watched.watch.timeout;
            self.probes += 1;
            // What the owner forgets does not hold a place for ever.
            let until = now + timeout * 2 + Duration::from_secs(5);
            watched.state = State::Probe(test, until);
            out.push(Action::Probe { id, test, timeout });
            self.set_alarm(id);
        }
    }

    /// Sends the echoes that are due, and ends a round that is over.
    fn go_on(&mut self, id: u64, now: Instant, out: &mut Vec<Action>) {
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        let (host, timeout) = (watched.watch.host, watched.watch.timeout);
        let State::Echoes(echoes) = &mut watched.state else {
            return;
        };
        while echoes.is_due(now) {
            self.seq = self.seq.wrapping_add(1);
            // The oldest of a number that is in use has been lost long ago.
            let numbers = (self.id, self.seq);
            if let Some(to) = host {
                self.echoes.insert(self.seq, (id, to, now));
                out.push(Action::Echo { to, id, numbers });
            }
            echoes.sent(self.seq, now, timeout);
        }
        for seq in echoes.take_late(now) {
            self.echoes.remove(&seq);
        }
        if let Some(up) = echoes.verdict(host.is_some()) {
            self.end(id, up, now, out);
        }
        self.set_alarm(id);
    }

    fn hear(&mut self, heard: &ping::Heard, now: Instant, out: &mut Vec<Action>) {
        if heard.id != self.id {
            return;
        }
        let Some((id, to, at)) = self.echoes.get(&heard.seq).copied() else {
            return;
        };
        if to != heard.to {
            return;
        }
        self.echoes.remove(&heard.seq);
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        if let State::Echoes(echoes) = &mut watched.state {
            let answers = match heard.outcome {
                ping::Outcome::Reply => true,
                ping::Outcome::TtlExceeded => echoes.takes_expired(),
                _ => false,
            };
            if answers {
                echoes.answered(heard.seq, now.saturating_since(at));
                self.go_on(id, now, out);
            }
        }
    }

    /// Ends a test.
    fn end(&mut self, id: u64, up: bool, now: Instant, out: &mut Vec<Action>) {
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        let before = core::mem::replace(&mut watched.state, State::Waits);
        let known = &mut watched.known;
        known.done += 1;
        known.failed += u64::from(!up);
        if let State::Echoes(echoes) = &before {
            known.statistics = echoes.statistics();
        }
        let status = if up { Status::Up } else { Status::Down };
        let was = (known.status != status).then_some(known.status);
        if was.is_some() {
            (known.status, known.since) = (status, Some(now));
        }
        let ignored = match status {
            Status::Up => watched.watch.ignores_up,
            _ => watched.watch.ignores_down,
        };
        let runs = !(was == Some(Status::Unknown) && ignored);
        if let State::Echoes(echoes) = &before {
            self.forget(echoes);
        }
        out.push(Action::Tested {
            id,
            status,
            was,
            runs,
        });
        self.set_alarm(id);
    }

    /// Forgets the echoes of a round that are still under way.
    fn forget(&mut self, echoes: &echo::Echoes) {
        for seq in echoes.numbers() {
            self.echoes.remove(&seq);
        }
    }

    /// Sees to a host when the next thing about it is due.
    fn set_alarm(&mut self, id: u64) {
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        let at = match &watched.state {
            State::Waits => Some(watched.next),
            State::Echoes(echoes) => Some(echoes.next()),
            State::Queued(_) => None,
            State::Probe(_, until) => Some(*until),
        };
        if let Some(before) = watched.alarm {
            self.alarms.remove(&(before, id));
        }
        if let Some(at) = at {
            self.alarms.insert((at, id));
        }
        watched.alarm = at;
    }
}
