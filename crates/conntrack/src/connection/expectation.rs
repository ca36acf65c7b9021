//! Connections that helpers expect: a tuple, parts of which may be anything, and whose child it is.
//!
//! Bounded: 4,096 for a worker, 32 of them for a connection; a connection that expects more forgets
//! what it has waited for longest. Looking one up costs four lookups in an ordered map, and nothing
//! while there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use packet::Tuple;

use super::board::Board;
use super::id::EntryId;
use super::settings::{TICKS_PER_SECOND, Tick};
use super::state::Helper;

/// The most expectations of a worker.
pub(super) const EXPECTATIONS_MAX: usize = 4_096;

/// The most expectations of a connection.
const EACH_MAX: usize = 32;

/// A connection that a helper expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The connection over which it was agreed upon.
    pub parent: EntryId,
    /// The tuple of its first packet. Source address and source port are not looked at where they
    /// are 0.
    pub tuple: Tuple,
    /// The helper that expects it; `connection-type` of the child.
    pub helper: Helper,
    /// Where its first packet is to be sent instead; none leaves the destination as it is.
    pub destination: Option<(u128, u16)>,
    /// The source address that its first packet leaves with; none leaves the source as it is.
    pub source: Option<u128>,
    /// The destination port of its answers where that is not the source port that it leaves with:
    /// PPTP's tunnels have a number of their own in each direction.
    pub answer: Option<u16>,
    /// How long it is expected, in seconds.
    pub timeout_secs: u32,
    /// Its tuple is only held, so that nobody else is told the same: what is to come is not agreed
    /// upon yet, and nothing is related by it.
    pub held: bool,
}

impl Expectation {
    /// Whether the other, which has the same tuple, is of another connection or leads elsewhere.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        (self.parent, self.destination) != (other.parent, other.destination)
    }

    /// Whether it waits for a connection that begins with this tuple.
    pub fn awaits(&self, tuple: &Tuple) -> bool {
        self.fits(tuple).is_some() && !self.held
    }

    /// How exactly its tuple is that of a packet, 0 the most; none where it is another.
    pub(super) fn fits(&self, tuple: &Tuple) -> Option<usize> {
        let own = Key::of(&self.tuple);
        let mut forms = Key::of(tuple).forms().into_iter();
        forms.position(|form| form == own)
    }

    /// What becomes of its first packet, which came with this tuple.
    pub fn translated(&self, tuple: &Tuple) -> Tuple {
        let own = (tuple.destination, tuple.destination_port);
        let (destination, destination_port) = self.destination.unwrap_or(own);
        Tuple {
            source: self.source.unwrap_or(tuple.source),
            destination,
            destination_port,
            ..*tuple
        }
    }

    /// The tuple of its answers when it leaves like this.
    pub fn reply(&self, leaves: &Tuple) -> Tuple {
        let reversed = leaves.reversed();
        match self.answer {
            None => reversed,
            Some(answer) => Tuple {
                source_port: 0,
                destination_port: answer,
                ..reversed
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    destination: u128,
    source: u128,
    ports: (u16, u16),
    protocol: u8,
    ipv6: bool,
}

impl Key {
    const fn of(tuple: &Tuple) -> Self {
        Self {
            destination: tuple.destination,
            source: tuple.source,
            ports: (tuple.destination_port, tuple.source_port),
            protocol: tuple.protocol,
            ipv6: tuple.ipv6,
        }
    }

    /// The keys of what may expect this one, the most exact first.
    const fn forms(self) -> [Self; 4] {
        let any_port = Self {
            ports: (self.ports.0, 0),
            ..self
        };
        let any_source = Self { source: 0, ..self };
        let anybody = Self {
            source: 0,
            ..any_port
        };
        [self, any_port, any_source, anybody]
    }

    /// Before all others.
    const FIRST: Self = Self {
        destination: 0,
        source: 0,
        ports: (0, 0),
        protocol: 0,
        ipv6: false,
    };
}

#[derive(Debug)]
struct Waiting {
    deadline: Tick,
    what: Expectation,
    /// Where it stands on the board.
    place: u16,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    by_tuple: BTreeMap<Key, Waiting>,
    by_parent: BTreeSet<(EntryId, Key)>,
    /// The second in which those whose time was up were last taken out.
    swept: u32,
    shown: Shown,
}

/// Where others read what is expected, and which of its places nobody has.
#[derive(Debug, Default)]
struct Shown {
    board: Option<Arc<Board>>,
    free: Vec<u16>,
    /// Places from this one on were never taken.
    used: u16,
}

impl Shown {
    fn put(&self, place: u16, what: Option<&Expectation>) {
        if let Some(board) = &self.board {
            board.put(place, what);
        }
    }

    /// A place that nobody has, of which there are as many as expectations.
    fn take(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        })
    }

    fn give_back(&mut self, place: u16) {
        self.put(place, None);
        self.free.push(place);
    }
}

impl Expectations {
    /// Shows others what is expected from now on; the board has [`EXPECTATIONS_MAX`] places.
    pub(super) fn show_on(&mut self, board: Arc<Board>) {
        debug_assert!(self.by_tuple.is_empty(), "nothing is expected yet");
        self.shown.board = Some(board);
    }

    /// Expects a connection, in the place of what the same parent expected under the same tuple.
    /// False when there are too many, or when it is another's. `gone` hears of the tuple that makes
    /// room for it.
    pub(super) fn insert(
        &mut self,
        expectation: Expectation,
        now: Tick,
        gone: impl FnOnce(&Tuple),
    ) -> bool {
        let (key, parent) = (Key::of(&expectation.tuple), expectation.parent);
        let place = match self.by_tuple.get(&key) {
            Some(known) if known.what.parent != parent => return false,
            Some(known) => known.place,
            None => {
                if self.keys_of(parent).count() >= EACH_MAX
                    && let Some(tuple) = self.forget_oldest(parent, now)
                {
                    gone(&tuple);
                }
                if self.by_tuple.len() >= EXPECTATIONS_MAX {
                    return false;
                }
                self.shown.take()
            }
        };
        let waiting = Waiting {
            deadline: now.after(expectation.timeout_secs * TICKS_PER_SECOND),
            what: expectation,
            place,
        };
        self.shown.put(place, Some(&waiting.what));
        self.by_tuple.insert(key, waiting);
        self.by_parent.insert((parent, key));
        true
    }

    /// Whether just this tuple is expected.
    pub(super) fn contains(&self, tuple: &Tuple) -> bool {
        !self.by_tuple.is_empty() && self.by_tuple.contains_key(&Key::of(tuple))
    }

    /// What has this tuple, the most exact first, be it only held.
    pub(super) fn get(&self, tuple: &Tuple) -> Option<&Expectation> {
        if self.by_tuple.is_empty() {
            return None;
        }
        let forms = Key::of(tuple).forms();
        let found = forms.iter().find_map(|key| self.by_tuple.get(key))?;
        Some(&found.what)
    }

    /// What expects a connection with this tuple.
    pub(super) fn find(&self, tuple: &Tuple) -> Option<&Expectation> {
        self.get(tuple).filter(|found| !found.held)
    }

    /// What a connection expects.
    pub(super) fn of(&self, parent: EntryId) -> impl Iterator<Item = &Expectation> {
        self.keys_of(parent)
            .filter_map(|key| Some(&self.by_tuple.get(&key)?.what))
    }

    fn keys_of(&self, parent: EntryId) -> impl Iterator<Item = Key> + '_ {
        let from = self.by_parent.range((parent, Key::FIRST)..);
        from.take_while(move |(of, _)| *of == parent)
            .map(|(_, key)| *key)
    }

    fn forget_oldest(&mut self, parent: EntryId, now: Tick) -> Option<Tuple> {
        let left = |key: &Key| {
            let waiting = self.by_tuple.get(key);
            waiting.map_or(i32::MIN, |waiting| waiting.deadline.since(now))
        };
        let oldest = self.keys_of(parent).min_by_key(left)?;
        self.take(parent, oldest)
    }

    fn take(&mut self, parent: EntryId, key: Key) -> Option<Tuple> {
        self.by_parent.remove(&(parent, key));
        let waiting = self.by_tuple.remove(&key)?;
        self.shown.give_back(waiting.place);
        Some(waiting.what.tuple)
    }

    /// An expected connection came, whose tuples these are: what was expected with either of them is
    /// not any more.
    pub(super) fn fulfil(&mut self, original: &Tuple, reply: &Tuple, mut gone: impl FnMut(&Tuple)) {
        let Some(parent) = self.find(original).map(|found| found.parent) else {
            return;
        };
        let fulfilled = self.of(parent);
        let fulfilled = fulfilled.filter(|one| one.awaits(original) || one.awaits(reply));
        let mut keys = [None; EACH_MAX];
        for (place, one) in keys.iter_mut().zip(fulfilled) {
            *place = Some(Key::of(&one.tuple));
        }
        for key in keys.into_iter().flatten() {
            self.take(parent, key).iter().for_each(&mut gone);
        }
    }

    /// Takes out what a connection expected that is gone.
    pub(super) fn forget(&mut self, parent: EntryId, mut gone: impl FnMut(&Tuple)) {
        let first = |all: &Self| all.keys_of(parent).next();
        while let Some(key) = first(self) {
            self.take(parent, key).iter().for_each(&mut gone);
        }
    }

    /// In how many ticks [`Self::sweep`] is next worth calling.
    pub(super) fn due_in(&self, now: Tick) -> Option<u32> {
        (!self.by_tuple.is_empty()).then(|| TICKS_PER_SECOND - now.0 % TICKS_PER_SECOND)
    }

    /// Takes out what did not come in time, once a second.
    pub(super) fn sweep(&mut self, now: Tick, gone: impl FnMut(&Tuple)) {
        if self.by_tuple.is_empty() || now.second() == self.swept {
            return;
        }
        self.swept = now.second();
        self.retain_so(|deadline, _| deadline.since(now) > 0, gone);
    }

    /// Takes out what does not stay.
    pub(super) fn retain(
        &mut self,
        stays: impl Fn(&Expectation) -> bool,
        gone: impl FnMut(&Tuple),
    ) {
        self.retain_so(|_, expectation| stays(expectation), gone);
    }

    fn retain_so(
        &mut self,
        stays: impl Fn(Tick, &Expectation) -> bool,
        mut gone: impl FnMut(&Tuple),
    ) {
        let (by_parent, shown) = (&mut self.by_parent, &mut self.shown);
        self.by_tuple.retain(|key, waiting| {
            let stays = stays(waiting.deadline, &waiting.what);
            if !stays {
                by_parent.remove(&(waiting.what.parent, *key));
                shown.give_back(waiting.place);
                gone(&waiting.what.tuple);
            }
            stays
        });
    }
}
