//! Resolves the DNS names in the configuration and keeps their addresses current (RFC 1035, 7).
//!
//! ```text
//! Watch ─▶ queue ─▶ Ask ─▶ Heard ─▶ Add, Remove ─▶ waits for its time ─▶ queue …
//!                    └ nobody answers: later, and later again
//! ```
//! A name is queried again when the TTL of its answer ends. An address stays valid for its TTL, plus the configured
//! extra time, plus the query timeout, so that a name with a stable address never loses it. An address that a new
//! answer lacks is removed when its TTL and the extra time end. If no server answers, it is removed after all three.
//!
//! The number of pending queries and of queries per second is bounded; further names wait in a queue. The owner
//! passes the queries to the forwarder ([`dns`](crate::dns)) and reports each result; a query without a result counts
//! as unanswered.

mod config;
#[cfg(test)]
mod tests;

use core::net::IpAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{Instant, Machine};
use wire::dns::{Kind, Name, ResolvedAddress};

pub use config::Config;

/// Maximum number of pending queries.
pub const UNDER_WAY: usize = 64;
/// Maximum number of queries per second.
const IN_A_SECOND: usize = 500;
/// Maximum number of addresses per name.
const ADDRESSES: usize = 4_096;
/// Minimum interval between queries for a name.
const SHORTEST: Duration = Duration::from_secs(1);
/// First and maximum retry interval of an unanswered name.
const BACKOFF: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(300)];

/// A name and the address family to resolve.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    name: Arc<str>,
    kind: Kind,
}

impl Key {
    /// Creates the key of a name as a user wrote it; `None` if the text is not a valid name.
    pub fn new(text: &str, kind: Kind) -> Option<Self> {
        Name::new(text)?;
        let text = text.strip_suffix('.').unwrap_or(text);
        Some(Self {
            name: text.to_ascii_lowercase().into(),
            kind,
        })
    }

    /// Name in lower case, without a trailing dot.
    pub fn text(&self) -> &str {
        &self.name
    }

    /// The name in wire form; always `Some`, because [`Self::new`] checks it.
    pub fn name(&self) -> Option<Name> {
        Name::new(&self.name)
    }

    /// Address family.
    pub const fn kind(&self) -> Kind {
        self.kind
    }
}

/// Events of a [`Resolver`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The configuration changed.
    Configure(Config),
    /// The DNS servers changed: failed names are queried again.
    OtherServers,
    /// Resolve this name. A name that is already watched keeps its state.
    Watch(Key),
    /// Stop to resolve this name; its addresses produce no further actions.
    Forget(Key),
    /// Result of a query.
    Heard {
        /// Ticket of the query.
        ticket: u64,
        /// Result.
        heard: Resolution,
    },
}

/// Result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Addresses of the name; empty if it has none of the family.
    Addresses(Vec<ResolvedAddress>),
    /// The name does not exist.
    NoName,
    /// No server answered.
    Silent,
}

/// Actions that the owner of a [`Resolver`] carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a query.
    Ask(Ask),
    /// The name gained this address.
    Add(Key, IpAddr),
    /// The name lost this address.
    Remove(Key, IpAddr),
}

/// A query. A result counts only if it arrives within twice the query timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Identifies the result.
    pub ticket: u64,
    /// Name and address family.
    pub key: Key,
}

/// Times of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressTimes {
    /// When the name gained it.
    pub since: Instant,
    /// End of its TTL.
    pub fresh: Instant,
    /// Removal if no server answers until then.
    pub end: Instant,
}

/// Resolver of watched names.
#[derive(Debug, Default)]
pub struct Resolver {
    config: Config,
    names: BTreeMap<Key, Watched>,
    /// Deadlines, at most one per name.
    alarms: BTreeSet<(Instant, Key)>,
    /// Names that wait for their query.
    queue: BTreeMap<u64, Key>,
    asked: BTreeMap<u64, PendingQuery>,
    /// The current second, and the number of queries in it.
    begun: (u64, usize),
    last: u64,
}

/// A watched name.
#[derive(Debug)]
struct Watched {
    addresses: BTreeMap<IpAddr, AddressTimes>,
    state: State,
    /// Number of consecutive failed queries.
    failures: u32,
    alarm: Option<Instant>,
}

/// State of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waits until this time.
    Until(Instant),
    /// Waits in the queue.
    Queued(u64),
    /// A query is pending.
    Asked(u64),
}

/// A pending query.
#[derive(Debug)]
struct PendingQuery {
    key: Key,
    /// Timeout of the result.
    late: Instant,
}

impl Machine for Resolver {
    type Event<'a> = Event;
    type Action = Action;
    type Timer = ();

    fn handle(&mut self, event: Event, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.config = config,
            Event::OtherServers => self.retry(now),
            Event::Watch(key) => self.watch(key),
            Event::Forget(key) => self.forget(&key),
            Event::Heard { ticket, heard } => self.resolved(ticket, heard, now, out),
        }
        self.ask(now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let late = self.asked.iter().filter(|(_, asked)| asked.late <= now);
        let late: Vec<_> = late.map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            self.resolved(ticket, Resolution::Silent, now, out);
        }
        while let Some((at, _)) = self.alarms.first()
            && *at <= now
            && let Some((_, key)) = self.alarms.pop_first()
        {
            self.wake(key, now, out);
        }
        self.ask(now, out);
    }

    fn deadline(&self) -> Option<(Instant, ())> {
        let alarm = self.alarms.first().map(|(at, _)| *at);
        let late = self.asked.values().map(|asked| asked.late).min();
        let turn = self.may_ask() && !self.queue.is_empty();
        let turn = turn.then(|| Instant::from_secs(self.begun.0 + 1));
        let all = [alarm, late, turn].into_iter().flatten();
        all.min().map(|at| (at, ()))
    }
}

impl Resolver {
    /// Addresses of a name.
    pub fn known(&self, key: &Key) -> impl Iterator<Item = (IpAddr, AddressTimes)> {
        let watched = self.names.get(key).into_iter();
        let all = watched.flat_map(|watched| &watched.addresses);
        all.map(|(address, known)| (*address, *known))
    }

    /// Queries all failed names at once.
    fn retry(&mut self, now: Instant) {
        let failed = self.names.iter().filter(|(_, name)| name.failures > 0);
        let failed: Vec<_> = failed.map(|(key, _)| key.clone()).collect();
        for key in failed {
            if let Some(name) = self.names.get_mut(&key) {
                name.failures = 0;
                if let State::Until(at) = &mut name.state {
                    *at = now;
                }
                set_alarm(&mut self.alarms, &key, name);
            }
        }
    }

    fn watch(&mut self, key: Key) {
        if self.names.contains_key(&key) {
            return;
        }
        let state = self.queue_up(&key);
        let watched = Watched {
            addresses: BTreeMap::new(),
            state,
            failures: 0,
            alarm: None,
        };
        self.names.insert(key, watched);
    }

    fn forget(&mut self, key: &Key) {
        let Some(watched) = self.names.remove(key) else {
            return;
        };
        if let State::Queued(turn) = watched.state {
            self.queue.remove(&turn);
        }
        if let Some(at) = watched.alarm {
            self.alarms.remove(&(at, key.clone()));
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn queue_up(&mut self, key: &Key) -> State {
        let turn = self.next();
        self.queue.insert(turn, key.clone());
        State::Queued(turn)
    }

    /// Handles the expired timer of a name.
    fn wake(&mut self, key: Key, now: Instant, out: &mut Vec<Action>) {
        let Some(name) = self.names.get_mut(&key) else {
            return;
        };
        name.alarm = None;
        name.lose(&key, |_, known| known.end <= now, out);
        let due = matches!(name.state, State::Until(at) if at <= now);
        let state = if due { Some(self.queue_up(&key)) } else { None };
        if let Some(name) = self.names.get_mut(&key) {
            name.state = state.unwrap_or(name.state);
            set_alarm(&mut self.alarms, &key, name);
        }
    }

    fn may_ask(&self) -> bool {
        self.asked.len() < UNDER_WAY
    }

    /// Sends queries for the queued names, within the limits.
    fn ask(&mut self, now: Instant, out: &mut Vec<Action>) {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.begun.0 {
            self.begun = (second, 0);
        }
        while self.may_ask() && self.begun.1 < IN_A_SECOND {
            let Some((_, key)) = self.queue.pop_first() else {
                return;
            };
            self.put(key, now, out);
        }
    }

    fn put(&mut self, key: Key, now: Instant, out: &mut Vec<Action>) {
        let ticket = self.next();
        let Some(name) = self.names.get_mut(&key) else {
            return;
        };
        name.state = State::Asked(ticket);
        set_alarm(&mut self.alarms, &key, name);
        self.begun.1 += 1;
        let late = now + self.config.total * 2 + Duration::from_secs(1);
        let asked = PendingQuery {
            key: key.clone(),
            late,
        };
        self.asked.insert(ticket, asked);
        out.push(Action::Ask(Ask { ticket, key }));
    }

    fn resolved(&mut self, ticket: u64, heard: Resolution, now: Instant, out: &mut Vec<Action>) {
        let Some(asked) = self.asked.remove(&ticket) else {
            return;
        };
        let name = self.names.get(&asked.key);
        if name.is_none_or(|name| name.state != State::Asked(ticket)) {
            return;
        }
        match heard {
            Resolution::Addresses(found) => self.learn(asked.key, &found, now, out),
            Resolution::NoName => self.learn(asked.key, &[], now, out),
            Resolution::Silent => {
                if let Some(name) = self.names.get_mut(&asked.key) {
                    name.fail(now);
                    set_alarm(&mut self.alarms, &asked.key, name);
                }
            }
        }
    }

    fn learn(&mut self, key: Key, found: &[ResolvedAddress], now: Instant, out: &mut Vec<Action>) {
        let Some(name) = self.names.get_mut(&key) else {
            return;
        };
        let mut next = None::<Duration>;
        let mut has = BTreeSet::new();
        for one in found.iter().take(ADDRESSES) {
            let ttl = Duration::from_secs(one.ttl.into());
            let ttl = ttl.min(self.config.longest).max(SHORTEST);
            next = Some(next.map_or(ttl, |next| next.min(ttl)));
            let fresh = now + ttl + self.config.extra;
            let end = fresh + self.config.total;
            has.insert(one.address);
            let known = name.addresses.entry(one.address).or_insert_with(|| {
                out.push(Action::Add(key.clone(), one.address));
                let since = now;
                AddressTimes { since, fresh, end }
            });
            (known.fresh, known.end) = (fresh, end);
        }
        let is_new = |address: &IpAddr| has.contains(address);
        let gone = |address: &_, known: &AddressTimes| !is_new(address) && known.fresh <= now;
        name.lose(&key, gone, out);
        // Addresses that the new answer lacks are removed when their TTL ends.
        for (_, known) in name.addresses.iter_mut().filter(|(a, _)| !is_new(a)) {
            known.end = known.fresh;
        }
        match next {
            Some(next) => (name.failures, name.state) = (0, State::Until(now + next)),
            None => name.fail(now),
        }
        set_alarm(&mut self.alarms, &key, name);
    }
}

impl Watched {
    /// Schedules a retry, with exponential backoff.
    fn fail(&mut self, now: Instant) {
        let [first, most] = BACKOFF;
        let wait = first * 2_u32.saturating_pow(self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        self.state = State::Until(now + wait.min(most));
    }

    /// Removes addresses from the name.
    fn lose(
        &mut self,
        key: &Key,
        lost: impl Fn(&IpAddr, &AddressTimes) -> bool,
        out: &mut Vec<Action>,
    ) {
        self.addresses.retain(|address, known| {
            let lost = lost(address, known);
            if lost {
                out.push(Action::Remove(key.clone(), *address));
            }
            !lost
        });
    }
}

/// Schedules the next timer of a name.
fn set_alarm(alarms: &mut BTreeSet<(Instant, Key)>, key: &Key, name: &mut Watched) {
    let ends = name.addresses.values().map(|known| known.end);
    let asked = match name.state {
        State::Until(at) => Some(at),
        State::Queued(_) | State::Asked(_) => None,
    };
    let at = ends.chain(asked).min();
    if at == name.alarm {
        return;
    }
    if let Some(before) = name.alarm {
        alarms.remove(&(before, key.clone()));
    }
    if let Some(at) = at {
        alarms.insert((at, key.clone()));
    }
    name.alarm = at;
}
