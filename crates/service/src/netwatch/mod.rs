//! Host monitoring (`/tool/netwatch`): periodic tests, and changes between up and down.
//!
//! ```text
//! waits ─▶ test ─▶ echoes of this machine, or a probe of the owner's sockets ─▶ up or down ─▶ waits
//! ```
//! One ordered set holds all deadlines, so that with thousands of hosts only due tests cost time. Tests of one host
//! never overlap: a test that takes longer than the interval delays the next one. RouterOS: a `simple` test is one
//! echo; an `icmp` test is several echoes with thresholds on their statistics.

mod echo;
#[cfg(test)]
mod tests;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};

use crate::ping;

pub use echo::{Limits, Round, Statistics};

/// Maximum number of hosts.
const WATCHES: usize = 4_096;
/// Maximum number of concurrent probes by the owner; further probes are queued.
pub const PROBES: usize = 32;
/// Maximum number of pending echoes per host.
pub const ECHOES: u32 = 256;

/// Kind of test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Echo requests.
    Echo(Round),
    /// Test that needs a connection or a DNS query; the owner performs it.
    Probe,
}

/// Settings of a monitored host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Kind of test.
    pub kind: Kind,
    /// Address, once known.
    pub host: Option<IpAddr>,
    /// Interval between the starts of two tests.
    pub interval: Duration,
    /// Timeout of an answer.
    pub timeout: Duration,
    /// Delay before the first test.
    pub first: Duration,
    /// Do not run the script for an initial up state.
    pub ignores_up: bool,
    /// Do not run the script for an initial down state.
    pub ignores_down: bool,
}

/// Status of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Not tested yet.
    #[default]
    Unknown,
    /// The last test failed.
    Down,
    /// The last test succeeded.
    Up,
}

impl Status {
    /// Name in RouterOS.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// Events of a [`Netwatch`].
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A host was added or changed. Unchanged settings keep the running test.
    Put(u64, Watch),
    /// A host was removed.
    Remove(u64),
    /// The address of a host was resolved or changed.
    Address(u64, Option<IpAddr>),
    /// A packet arrived that may answer an echo.
    Heard(&'a ping::Response),
    /// A probe of the owner ended.
    Probed {
        /// Host.
        id: u64,
        /// Id of the test.
        test: u64,
        /// The host is up.
        up: bool,
    },
}

/// Actions that the owner of a [`Netwatch`] carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send an echo request.
    Echo {
        /// Destination.
        to: IpAddr,
        /// Host.
        id: u64,
        /// Identifier and sequence number.
        numbers: (u16, u16),
    },
    /// Start a probe through the owner's sockets.
    Probe {
        /// Host.
        id: u64,
        /// Id of the test, to return in its result.
        test: u64,
        /// Timeout.
        timeout: Duration,
    },
    /// A test ended.
    Tested {
        /// Host.
        id: u64,
        /// New status.
        status: Status,
        /// Former status, if it changed.
        was: Option<Status>,
        /// Run the host's script.
        runs: bool,
    },
}

/// State of a host, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Status.
    pub status: Status,
    /// Time of the last status change.
    pub since: Option<Instant>,
    /// Number of finished tests.
    pub done: u64,
    /// Number of failed tests.
    pub failed: u64,
    /// Statistics of the last round of echoes.
    pub statistics: Statistics,
}

/// Monitor of all hosts.
#[derive(Debug)]
pub struct Netwatch {
    watches: BTreeMap<u64, Watched>,
    /// Deadlines, at most one per host.
    alarms: BTreeSet<(Instant, u64)>,
    /// Queued probes.
    queue: BTreeSet<(u64, u64)>,
    probes: usize,
    /// Pending echoes by sequence number: host, address, time of sending.
    echoes: BTreeMap<u16, (u64, IpAddr, Instant)>,
    id: u16,
    seq: u16,
    tests: u64,
}

#[derive(Debug)]
struct Watched {
    watch: Watch,
    known: HostState,
    state: State,
    /// Start of the next test.
    next: Instant,
    alarm: Option<Instant>,
}

#[derive(Debug)]
enum State {
    /// Waits for the next test.
    Waits,
    /// Echoes in progress.
    Echoes(echo::Echoes),
    /// Probe queued.
    Queued(u64),
    /// Probe by the owner, with its deadline.
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
            Event::Heard(heard) => self.receive(heard, now, out),
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
    /// Creates a monitor without hosts whose echo requests have this identifier.
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

    /// State of a host.
    pub fn known(&self, id: u64) -> Option<&HostState> {
        self.watches.get(&id).map(|watched| &watched.known)
    }

    /// True if a packet may answer one of this monitor's echoes.
    pub const fn is_its(&self, heard: &ping::Response) -> bool {
        heard.id == self.id
    }

    /// True if any host is tested by echoes.
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
            // Keeps an address that was resolved earlier.
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

    /// Handles the expired timer of a host.
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

    /// Starts a test.
    fn begin(&mut self, id: u64, now: Instant, out: &mut Vec<Action>) {
        let Some(watched) = self.watches.get_mut(&id) else {
            return;
        };
        // A long test delays the next one instead of queueing it.
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

    /// Starts queued probes.
    fn begin_probes(&mut self, now: Instant, out: &mut Vec<Action>) {
        while self.probes < PROBES
            && let Some((test, id)) = self.queue.pop_first()
        {
            let Some(watched) = self.watches.get_mut(&id) else {
                continue;
            };
            let timeout = watched.watch.timeout;
            self.probes += 1;
            // Frees the slot even if the owner never reports the result.
            let until = now + timeout * 2 + Duration::from_secs(5);
            watched.state = State::Probe(test, until);
            out.push(Action::Probe { id, test, timeout });
            self.set_alarm(id);
        }
    }

    /// Sends due echoes and ends a finished round.
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
            // An older echo with this number was lost long ago.
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

    fn receive(&mut self, heard: &ping::Response, now: Instant, out: &mut Vec<Action>) {
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

    /// Forgets the pending echoes of a round.
    fn forget(&mut self, echoes: &echo::Echoes) {
        for seq in echoes.numbers() {
            self.echoes.remove(&seq);
        }
    }

    /// Schedules the next timer of a host.
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
