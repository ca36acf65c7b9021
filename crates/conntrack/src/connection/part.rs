//! A worker's connections of one address family: lookup, insertion, expiry and eviction.
//!
//! Freed entries are reused only after the next tick, so that a [`FlowId`] from an earlier lookup never refers
//! to another connection.

use std::sync::Arc;

use packet::{Tuple, protocol};

use super::draft::Draft;
use super::entry::{Entry, set_state_in, write};
use super::hash::{Hash, Keys};
use super::id::{FlowId, Slot};
use super::index::{Buckets, Index, Target};
use super::layout::{Layout, Line, flag, half_of, load, own, pair, shared, store};
use super::row::{Row, Words};
use super::settings::{TICKS_PER_SECOND, Tick};
use super::state::NatState;
use super::sweep::Epoch;
use super::table::{Entries, Lines};
use super::wheel::Wheel;

/// A worker's connections of one address family.
#[derive(Debug)]
pub(super) struct Part<F> {
    pub(super) entries: Arc<Entries<F>>,
    /// The slot of the first entry.
    first: Slot,
    index: Index,
    /// One timer wheel per eviction class, and one for assured connections.
    wheels: [Wheel; CLASSES + 1],
    /// The wheel that the next search for expired connections begins with.
    first_wheel: usize,
    /// The epoch that new connections get.
    pub(super) epoch: Epoch,
    /// The first free entry plus one; free entries are linked by their cold words.
    free: u32,
    /// Entries freed since the last tick: the first and the last, plus one.
    resting: (u32, u32),
    /// True if a connection was ever translated.
    translates: bool,
    /// Original tuples of closed connections that a `connection-limit` no longer counts.
    pub(super) over: Vec<Tuple>,
}

/// Eviction classes: TCP, UDP, ICMP, other. A connection is evicted for another one of its class, so that a
/// flood of one protocol does not evict connections of other protocols.
const CLASSES: usize = 4;

/// Connections that eviction examines before it takes one that had packets since it was put into the wheel.
const CANDIDATES: usize = 8;

/// Resources of an ended connection that its owner has to release elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedConnection {
    /// The original tuple and the reply tuple, if they are claimed in `TupleClaims`.
    pub(super) claimed: [Option<Tuple>; 2],
    /// The original tuple, if a `connection-limit` counts it.
    pub(super) counted: Option<Tuple>,
    /// Both tuples and the kinds of translation, if the connection holds NAT mappings.
    pub(super) mapped: Option<(NatState, Tuple, Tuple)>,
    /// The attachment, if not 0.
    pub(super) attached: Option<u32>,
    /// Both tuples, if the connection may have shortcuts.
    pub(super) shortened: Option<[Tuple; 2]>,
}

impl<F: Layout> Part<F> {
    pub(super) fn new(entries: Arc<Entries<F>>, worker: u16, now: Tick) -> Self {
        Self {
            index: Index::new(Arc::clone(entries.shared_buckets())),
            entries,
            first: Slot::new(F::IPV6, worker, 0),
            wheels: core::array::from_fn(|_| Wheel::new(now)),
            first_wheel: 0,
            epoch: Epoch::default(),
            free: 0,
            resting: (0, 0),
            translates: false,
            over: Vec::new(),
        }
    }

    /// Returns true if any connection is or was translated.
    #[inline(always)]
    pub(super) fn translates(&self) -> bool {
        self.translates
    }

    /// Returns the bytes of the index.
    pub(super) fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    /// Prefetches the index bucket of a hash.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: Hash) {
        self.buckets().prefetch(hash);
    }

    /// Returns the buckets of the index for use in loops.
    #[inline(always)]
    pub(super) fn buckets(&self) -> Buckets<'_> {
        self.index.buckets()
    }

    /// Returns the lines of the entries for use in loops.
    #[inline(always)]
    pub(super) fn lines(&self) -> Lines<'_, F> {
        self.entries.lines()
    }

    /// Returns the slot of the first entry.
    #[inline(always)]
    pub(super) fn slot(&self) -> Slot {
        self.first
    }

    /// Returns any target with this hash.
    #[cold]
    #[inline(never)]
    pub(super) fn any(&self, hash: Hash) -> Option<Target> {
        self.index.find(hash, |_| true)
    }

    /// Looks up a tuple.
    #[inline(always)]
    pub(super) fn find(&self, hash: Hash, key: &F::Key) -> Option<FlowId> {
        let right = |target: Target| self.entries.at(target >> 1).is(target & 1 != 0, key);
        let target = self.index.find(hash, right)?;
        Some(self.way(target))
    }

    #[inline(always)]
    fn way(&self, target: Target) -> FlowId {
        FlowId::to(self.first, target)
    }

    /// Returns the entry of a connection.
    #[inline(always)]
    pub(super) fn entry(&self, way: FlowId) -> Entry<'_, F> {
        self.entries.at(way.slot().place())
    }

    /// Returns the line number of a direction.
    #[inline(always)]
    pub(super) fn number(&self, way: FlowId) -> u32 {
        Lines::<F>::number(way.slot().place(), way.reply())
    }

    /// Returns the line of a direction.
    #[inline(always)]
    pub(super) fn line(&self, way: FlowId) -> &Line {
        self.lines().line(self.number(way))
    }

    /// Returns the line that holds the rewrite of a direction.
    #[inline(always)]
    pub(super) fn rewrite_line(&self, way: FlowId) -> &Line {
        self.lines().rewrite(way.slot().place(), way.reply())
    }

    /// Prefetches the entry that the next new connection will use.
    pub(super) fn prefetch_free(&self) {
        if let Some(place) = self.free.checked_sub(1) {
            let entry = self.entries.at(place);
            kernels::prefetch(entry.cold(0));
            let lines = self.lines();
            for reply in [false, true] {
                lines.prefetch(Lines::<F>::number(place, reply));
            }
            lines.prefetch_shared(place);
        }
    }

    /// Allocates an entry.
    fn take_place(&mut self) -> Option<u32> {
        let Some(place) = self.free.checked_sub(1) else {
            return self.entries.extend();
        };
        self.free = half_of(load(self.entries.at(place).cold(0)), 1);
        Some(place)
    }

    /// Adds a connection whose tuples are not in the table. Returns `None` if there is no free entry.
    pub(super) fn enter(
        &mut self,
        draft: &Draft,
        keys: &Keys,
        timeout_secs: u32,
        rewrites: [F::Rewrite; 2],
        now: Tick,
    ) -> Option<FlowId> {
        let way = self.lay([draft.original, draft.reply], keys, |entry| {
            write(entry, draft, timeout_secs, rewrites, now);
            now.after(timeout_secs * TICKS_PER_SECOND)
        })?;
        self.translates |= draft.nat != NatState::default();
        Some(way)
    }

    /// Adds a copy of a connection from another table. Returns `None` if there is no free entry.
    pub(super) fn adopt(&mut self, row: &Row, words: &Words, keys: &Keys) -> Option<FlowId> {
        let way = self.lay([row.original, row.reply], keys, |entry| {
            entry.copy(words);
            entry.deadline()
        })?;
        self.translates |= row.nat != NatState::default();
        Some(way)
    }

    /// Allocates an entry and indexes both tuples. `write` fills the entry and returns its deadline.
    #[inline(always)]
    fn lay(
        &mut self,
        tuples: [Tuple; 2],
        keys: &Keys,
        write: impl FnOnce(Entry<'_, F>) -> Tick,
    ) -> Option<FlowId> {
        let place = self.take_place()?;
        let hashes = tuples.map(|tuple| keys.hash(&tuple));
        let targets = [place << 1, place << 1 | 1];
        if !self.index.insert(hashes[0], targets[0]) {
            self.rest(place);
            return None;
        }
        // A connection from a socket to itself has one tuple; all its packets take the original direction.
        if tuples[0] != tuples[1] && !self.index.insert(hashes[1], targets[1]) {
            self.index.remove(hashes[0], targets[0]);
            self.rest(place);
            return None;
        }
        let entry = self.entries.at(place);
        let generation = entry.generation().wrapping_add(1);
        let deadline = entry.change(generation, || {
            let deadline = write(entry);
            entry.set_epoch(self.epoch);
            deadline
        });
        self.wheels[entry.wheel()].insert(&self.entries, place, deadline);
        if entry.flags(false) & flag::FASTTRACK != 0 {
            self.entries.begin_fasttrack();
        }
        Some(self.way(targets[0]))
    }

    /// Removes a connection; returns the resources to release.
    pub(super) fn leave(&mut self, place: u32, keys: &Keys) -> EndedConnection {
        let entry = self.entries.at(place);
        let tuple = |reply| F::tuple(&core::array::from_fn(|word| load(entry.word(reply, word))));
        let (original, reply) = (tuple(false), tuple(true));
        let owned = entry.own();
        let flags = entry.flags(false);
        let nat = NatState(flags >> flag::NAT_SHIFT & 0xf);
        if flags & flag::FASTTRACK != 0 {
            self.entries.end_fasttrack();
        }
        self.wheels[entry.wheel()].remove(&self.entries, place);
        entry.change(entry.generation(), || {
            let state = entry.shared(shared::STATE);
            store(state, load(state) & !(u64::from(own::LIVE) << 40));
            // A lookup from before the removal now finds neither tuple nor flags.
            for reply in [false, true] {
                store(entry.word(reply, F::META), 0);
            }
        });
        self.index.remove(keys.hash(&original), place << 1);
        if original != reply {
            self.index.remove(keys.hash(&reply), place << 1 | 1);
        }
        let kept = half_of(load(entry.cold(1)), 0);
        self.rest(place);
        EndedConnection {
            claimed: [
                (owned & own::CLAIMED_ORIGINAL != 0).then_some(original),
                (owned & own::CLAIMED != 0).then_some(reply),
            ],
            counted: (owned & own::COUNTED != 0).then_some(original),
            mapped: nat
                .intersects(NatState::EIN)
                .then_some((nat, original, reply)),
            attached: (kept != 0).then_some(kept),
            shortened: (owned & own::SHORTCUT != 0).then_some([original, reply]),
        }
    }

    /// Frees an entry; it can be reused after the next tick.
    fn rest(&mut self, place: u32) {
        let entry = self.entries.at(place);
        if entry.generation() == u32::MAX {
            // The generation is used up: a reuse would repeat an id, so the entry stays unused.
            return;
        }
        store(entry.cold(0), pair(0, self.resting.0));
        self.resting.0 = place + 1;
        if self.resting.1 == 0 {
            self.resting.1 = place + 1;
        }
    }

    /// Makes entries that were freed before this tick available.
    pub(super) fn begin_round(&mut self) {
        self.first_wheel = (self.first_wheel + 1) % self.wheels.len();
        let (first, last) = core::mem::take(&mut self.resting);
        if let Some(last) = last.checked_sub(1) {
            store(self.entries.at(last).cold(0), pair(0, self.free));
            self.free = first;
        }
    }

    /// Returns the ticks until the next useful call of [`Self::expired`].
    pub(super) fn due_in(&self, now: Tick) -> Option<u32> {
        let wheels = self.wheels.iter().filter_map(|wheel| wheel.due_in(now));
        wheels.min()
    }

    /// Returns an expired connection; decrements `budget` for each connection examined. Calls begin with
    /// different wheels, so that a flood of one protocol does not delay the expiry of others.
    pub(super) fn expired(&mut self, now: Tick, budget: &mut usize) -> Option<u32> {
        let (later, sooner) = self.wheels.split_at_mut(self.first_wheel);
        for wheel in sooner.iter_mut().chain(later) {
            while *budget > 0 {
                let Some(place) = wheel.due(now) else { break };
                *budget -= 1;
                let deadline = self.entries.at(place).deadline();
                if deadline.since(now) <= 0 {
                    return Some(place);
                }
                wheel.remove(&self.entries, place);
                wheel.insert(&self.entries, place, deadline);
            }
        }
        None
    }

    /// Chooses a connection to evict: from the unassured class with the most connections, roughly the one
    /// that was idle longest.
    pub(super) fn victim(&mut self) -> Option<u32> {
        let classes = self.wheels[..CLASSES].iter_mut();
        let wheel = classes.max_by_key(|wheel| wheel.len())?;
        for _ in 0..CANDIDATES {
            let place = wheel.soonest()?;
            let deadline = self.entries.at(place).deadline();
            wheel.remove(&self.entries, place);
            wheel.insert(&self.entries, place, deadline);
            // Another connection that now comes first means that this one was not idle.
            if wheel.soonest() == Some(place) {
                return Some(place);
            }
        }
        wheel.soonest()
    }

    /// Sets flags in both directions. A connection that becomes assured moves to the wheel of assured
    /// connections.
    pub(super) fn set_flags(&mut self, place: u32, flags: u8) {
        let entry = self.entries.at(place);
        if !entry.is_live() {
            return;
        }
        let before = entry.wheel();
        let promoted = flags & flag::ASSURED != 0 && !entry.is_assured();
        if promoted {
            self.wheels[before].remove(&self.entries, place);
        }
        entry.set_flags(flags);
        if promoted {
            self.wheels[entry.wheel()].insert(&self.entries, place, entry.deadline());
        }
    }

    /// Sets TCP state and timeout.
    #[inline(always)]
    pub(super) fn set_state(&mut self, place: u32, state: u8, timeout_secs: u32) {
        let word = self.entries.at(place).shared(shared::STATE);
        if set_state_in(word, state, timeout_secs) {
            self.hasten(place);
        }
    }

    /// Moves a connection to an earlier position in its wheel.
    #[cold]
    #[inline(never)]
    pub(super) fn hasten(&mut self, place: u32) {
        let entry = self.entries.at(place);
        if !entry.is_live() {
            return;
        }
        let wheel = &mut self.wheels[entry.wheel()];
        wheel.remove(&self.entries, place);
        wheel.insert(&self.entries, place, entry.deadline());
    }
}

impl<F: Layout> Entry<'_, F> {
    /// Returns the wheel of the connection.
    fn wheel(self) -> usize {
        if self.is_assured() {
            return CLASSES;
        }
        match (load(self.word(false, F::META)) >> 32) as u8 {
            protocol::TCP => 0,
            protocol::UDP | protocol::UDP_LITE => 1,
            protocol::ICMP | protocol::ICMPV6 => 2,
            _ => 3,
        }
    }
}
