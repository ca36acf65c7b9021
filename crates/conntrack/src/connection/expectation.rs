//! Connections that helpers expect: a tuple, possibly with wildcards, and the parent connection.
//!
//! Each worker holds at most 4,096 expectations, 32 of them per parent; a parent that adds more loses its
//! oldest. A lookup takes four lookups in an ordered map, or none while the map is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use packet::Tuple;

use super::id::EntryId;
use super::settings::{TICKS_PER_SECOND, Tick};
use super::shared_expectations::SharedExpectations;
use super::state::Helper;

/// Maximum number of expectations of a worker.
pub(super) const EXPECTATIONS_MAX: usize = 4_096;

/// Maximum number of expectations of a parent connection.
const EACH_MAX: usize = 32;

/// A connection that a helper expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The connection whose payload announced this one.
    pub parent: EntryId,
    /// The tuple of the first packet. A source address or source port of 0 matches any.
    pub tuple: Tuple,
    /// The helper that expects the connection; the child's `connection-type`.
    pub helper: Helper,
    /// New destination of the first packet; `None` leaves the destination unchanged.
    pub destination: Option<(u128, u16)>,
    /// New source address of the first packet; `None` leaves the source unchanged.
    pub source: Option<u128>,
    /// Destination port of the replies if it differs from the translated source port: PPTP calls have an ID
    /// per direction.
    pub answer: Option<u16>,
    /// Lifetime of the expectation in seconds.
    pub timeout_secs: u32,
    /// True if the expectation only reserves its tuple: the endpoints have not agreed on a connection yet, so
    /// no packet matches it.
    pub held: bool,
}

impl Expectation {
    /// Returns true if another expectation with the same tuple has another parent or another destination.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        (self.parent, self.destination) != (other.parent, other.destination)
    }

    /// Returns true if a packet with this tuple begins the expected connection.
    pub fn awaits(&self, tuple: &Tuple) -> bool {
        self.fits(tuple).is_some() && !self.held
    }

    /// Returns how exactly the tuple of a packet matches: 0 is exact, higher values use more wildcards;
    /// `None` is no match.
    pub(super) fn fits(&self, tuple: &Tuple) -> Option<usize> {
        let own = Key::of(&self.tuple);
        let mut forms = Key::of(tuple).forms().into_iter();
        forms.position(|form| form == own)
    }

    /// Returns the tuple of the first packet after translation.
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

    /// Returns the tuple of the replies, given the translated tuple of the first packet.
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

    /// Returns the keys of all expectations that may match this tuple, the most exact first.
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

    /// The smallest key in the order of the map.
    const FIRST: Self = Self {
        destination: 0,
        source: 0,
        ports: (0, 0),
        protocol: 0,
        ipv6: false,
    };
}

#[derive(Debug)]
struct PendingExpectation {
    deadline: Tick,
    what: Expectation,
    /// Index of its slot in the shared table.
    place: u16,
}

/// The expectations of one worker.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    by_tuple: BTreeMap<Key, PendingExpectation>,
    by_parent: BTreeSet<(EntryId, Key)>,
    /// The second of the last sweep for expired expectations.
    swept: u32,
    shared_slots: SharedSlots,
}

/// Allocator of slots in the table that other threads read.
#[derive(Debug, Default)]
struct SharedSlots {
    expectations: Option<Arc<SharedExpectations>>,
    free: Vec<u16>,
    /// Slots from this index on were never allocated.
    used: u16,
}

impl SharedSlots {
    fn put(&self, place: u16, what: Option<&Expectation>) {
        if let Some(expectations) = &self.expectations {
            expectations.put(place, what);
        }
    }

    /// Allocates a slot; the table has a slot for every possible expectation.
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
    /// Publishes all later expectations in `expectations`, which has [`EXPECTATIONS_MAX`] slots.
    pub(super) fn publish_in(&mut self, expectations: Arc<SharedExpectations>) {
        debug_assert!(self.by_tuple.is_empty(), "nothing is expected yet");
        self.shared_slots.expectations = Some(expectations);
    }

    /// Adds an expectation; an expectation of the same parent with the same tuple is replaced. Returns false if the
    /// limit is reached or another parent expects the tuple. Calls `gone` with the tuple of an expectation
    /// that was dropped to make room.
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
                self.shared_slots.take()
            }
        };
        let waiting = PendingExpectation {
            deadline: now.after(expectation.timeout_secs * TICKS_PER_SECOND),
            what: expectation,
            place,
        };
        self.shared_slots.put(place, Some(&waiting.what));
        self.by_tuple.insert(key, waiting);
        self.by_parent.insert((parent, key));
        true
    }

    /// Returns true if exactly this tuple is expected.
    pub(super) fn contains(&self, tuple: &Tuple) -> bool {
        !self.by_tuple.is_empty() && self.by_tuple.contains_key(&Key::of(tuple))
    }

    /// Returns the most exact expectation that matches the tuple, including reservations.
    pub(super) fn get(&self, tuple: &Tuple) -> Option<&Expectation> {
        if self.by_tuple.is_empty() {
            return None;
        }
        let forms = Key::of(tuple).forms();
        let found = forms.iter().find_map(|key| self.by_tuple.get(key))?;
        Some(&found.what)
    }

    /// Returns the most exact expectation that matches the tuple, unless it is a reservation.
    pub(super) fn find(&self, tuple: &Tuple) -> Option<&Expectation> {
        self.get(tuple).filter(|found| !found.held)
    }

    /// Returns the expectations of a parent connection.
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
        self.shared_slots.give_back(waiting.place);
        Some(waiting.what.tuple)
    }

    /// Removes every expectation of the parent that matches either tuple of an expected connection that has
    /// arrived. Calls `gone` for each removed tuple.
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

    /// Removes the expectations of a parent that has ended. Calls `gone` for each removed tuple.
    pub(super) fn forget(&mut self, parent: EntryId, mut gone: impl FnMut(&Tuple)) {
        let first = |all: &Self| all.keys_of(parent).next();
        while let Some(key) = first(self) {
            self.take(parent, key).iter().for_each(&mut gone);
        }
    }

    /// Returns the ticks until the next useful call of [`Self::sweep`], or `None` if there are no
    /// expectations.
    pub(super) fn due_in(&self, now: Tick) -> Option<u32> {
        (!self.by_tuple.is_empty()).then(|| TICKS_PER_SECOND - now.0 % TICKS_PER_SECOND)
    }

    /// Removes expired expectations, at most once per second.
    pub(super) fn sweep(&mut self, now: Tick, gone: impl FnMut(&Tuple)) {
        if self.by_tuple.is_empty() || now.second() == self.swept {
            return;
        }
        self.swept = now.second();
        self.retain_so(|deadline, _| deadline.since(now) > 0, gone);
    }

    /// Removes the expectations for which `stays` returns false.
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
        let (by_parent, shared_slots) = (&mut self.by_parent, &mut self.shared_slots);
        self.by_tuple.retain(|key, waiting| {
            let stays = stays(waiting.deadline, &waiting.what);
            if !stays {
                by_parent.remove(&(waiting.what.parent, *key));
                shared_slots.give_back(waiting.place);
                gone(&waiting.what.tuple);
            }
            stays
        });
    }
}
