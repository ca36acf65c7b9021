//! The addresses of names that somebody wants to know for as long as he has the names (RFC 1035, 7):
//! each is asked again when its answer is too old.
//!
//! ```text
//! Watch ─▶ queue ─▶ Ask ─▶ Heard ─▶ Add, Remove ─▶ waits for its time ─▶ queue …
//!                    └ nobody answers: later, and later again
//! ```
//! A name is asked for again when its answer's time is over. An address stays for that time, for what the
//! configuration adds to it, and for as long as the new answer may take. So a name that keeps its address
//! is never without it. One whose new answer does not have the address loses it as soon as that time and
//! what is added are over; one that nobody answers for, when all three are.
//!
//! Questions under way are bounded, and so is how many are begun in a second; names wait for their turn in
//! a queue. Who is asked is the affair of the forwarder ([`dns`](crate::dns)): its owner says what came of each
//! question, or it is as if nobody had answered.

mod config;
#[cfg(test)]
mod tests;

use core::net::IpAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{Instant, Machine};
use wire::dns::{Found, Kind, Name};

pub use config::Config;

/// Most questions under way.
pub const UNDER_WAY: usize = 64;
/// Most questions in a second.
const IN_A_SECOND: usize = 500;
/// Most addresses of a name.
const ADDRESSES: usize = 4_096;
/// The shortest time after which a name is asked for again.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long a name waits that nobody answered for, at first and at most.
const BACKOFF: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(300)];

/// A name, and which of its addresses are wanted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    name: Arc<str>,
    kind: Kind,
}

impl Key {
    /// The key of a name as somebody wrote it; none of a text that is no name.
    pub fn new(text: &str, kind: Kind) -> Option<Self> {
        Name::new(text)?;
        let text = text.strip_suffix('.').unwrap_or(text);
        Some(Self {
            name: text.to_ascii_lowercase().into(),
            kind,
        })
    }

    /// The name in lower case, without a point at its end.
    pub fn text(&self) -> &str {
        &self.name
    }

    /// The name; there is one for each key.
    pub fn name(&self) -> Option<Name> {
        Name::new(&self.name)
    }

    /// Which of its addresses.
    pub const fn kind(&self) -> Kind {
        self.kind
    }
}

/// What happens to a [`Resolver`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is configured.
    Configure(Config),
    /// Others are asked from now on, who may know what those did not.
    OtherServers,
    /// The addresses of this name are wanted. One that is watched already stays as it is.
    Watch(Key),
    /// Nobody wants them any more; nothing is said of those that were known.
    Forget(Key),
    /// What came of a question.
    Heard {
        /// The question's.
        ticket: u64,
        /// What it was.
        heard: Heard,
    },
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The addresses of the name; none if it has none of the kind.
    Addresses(Vec<Found>),
    /// There is no such name.
    NoName,
    /// Nobody answers.
    Silent,
}

/// What a [`Resolver`] wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A question is to be put.
    Ask(Ask),
    /// A name has this address now.
    Add(Key, IpAddr),
    /// A name does not have this address any more.
    Remove(Key, IpAddr),
}

/// A question. What came of it is said within twice the time that an answer may take, or does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// By which what came of it is known.
    pub ticket: u64,
    /// The name, and which addresses.
    pub key: Key,
}

/// What is known of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Since when the name has it.
    pub since: Instant,
    /// When its answer is too old.
    pub fresh: Instant,
    /// When it goes if nobody answers until then.
    pub end: Instant,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Resolver {
    config: Config,
    names: BTreeMap<Key, Watched>,
    /// When something is due about a name; at most once for each.
    alarms: BTreeSet<(Instant, Key)>,
    /// The names that wait for their turn.
    queue: BTreeMap<u64, Key>,
    asked: BTreeMap<u64, Asked>,
    /// The second that questions are counted in, and their number.
    begun: (u64, usize),
    last: u64,
}

/// A name that is watched.
#[derive(Debug)]
struct Watched {
    addresses: BTreeMap<IpAddr, Known>,
    state: State,
    /// Questions in a row that gave nothing.
    failures: u32,
    alarm: Option<Instant>,
}

/// What a name waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its time.
    Until(Instant),
    /// Its turn.
    Queued(u64),
    /// What comes of a question.
    Asked(u64),
}

/// A question under way.
#[derive(Debug)]
struct Asked {
    key: Key,
    /// When nothing is expected any more.
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
            Event::Heard { ticket, heard } => self.hear(ticket, heard, now, out),
        }
        self.ask(now, out);
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let late = self.asked.iter().filter(|(_, asked)| asked.late <= now);
        let late: Vec<_> = late.map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            self.hear(ticket, Heard::Silent, now, out);
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
    /// The addresses of a name.
    pub fn known(&self, key: &Key) -> impl Iterator<Item = (IpAddr, Known)> {
        let watched = self.names.get(key).into_iter();
        let all = watched.flat_map(|watched| &watched.addresses);
        all.map(|(address, known)| (*address, *known))
    }

    /// Asks at once for names that nobody answered for.
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

    /// Does what is due about a name.
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

    /// Puts the questions of the names whose turn it is.
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
        let asked = Asked {
            key: key.clone(),
            late,
        };
        self.asked.insert(ticket, asked);
        out.push(Action::Ask(Ask { ticket, key }));
    }

    fn hear(&mut self, ticket: u64, heard: Heard, now: Instant, out: &mut Vec<Action>) {
        let Some(asked) = self.asked.remove(&ticket) else {
            return;
        };
        let name = self.names.get(&asked.key);
        if name.is_none_or(|name| name.state != State::Asked(ticket)) {
            return;
        }
        match heard {
            Heard::Addresses(found) => self.learn(asked.key, &found, now, out),
            Heard::NoName => self.learn(asked.key, &[], now, out),
            Heard::Silent => {
                if let Some(name) = self.names.get_mut(&asked.key) {
                    name.fail(now);
                    set_alarm(&mut self.alarms, &asked.key, name);
                }
            }
        }
    }

    fn learn(&mut self, key: Key, found: &[Found], now: Instant, out: &mut Vec<Action>) {
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
                Known { since, fresh, end }
            });
            (known.fresh, known.end) = (fresh, end);
        }
        let is_new = |address: &IpAddr| has.contains(address);
        let gone = |address: &_, known: &Known| !is_new(address) && known.fresh <= now;
        name.lose(&key, gone, out);
        // What is still fresh goes when it is not, and does not wait for another answer.
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
    /// Lets it wait, longer each time.
    fn fail(&mut self, now: Instant) {
        let [first, most] = BACKOFF;
        let wait = first * 2_u32.saturating_pow(self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        self.state = State::Until(now + wait.min(most));
    }

    /// Takes addresses from the name.
    fn lose(&mut self, key: &Key, lost: impl Fn(&IpAddr, &Known) -> bool, out: &mut Vec<Action>) {
        self.addresses.retain(|address, known| {
            let lost = lost(address, known);
            if lost {
                out.push(Action::Remove(key.clone(), *address));
            }
            !lost
        });
    }
}

/// Sees to a name when the next thing about it is due.
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
