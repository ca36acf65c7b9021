//! A worker's connections of one family: finding, entering, expiring and evicting them.
//!
//! Places that were given back are used again from the next round on, so that a [`Way`] found
//! before still means what it meant.

use std::sync::Arc;

use packet::{Tuple, protocol};

use super::draft::Draft;
use super::entry::{Entry, set_state_in, write};
use super::hash::{Hash, Keys};
use super::id::{Slot, Way};
use super::index::{Buckets, Index, Target};
use super::layout::{Layout, Line, flag, half_of, load, own, pair, shared, store};
use super::row::{Row, Words};
use super::settings::{TICKS_PER_SECOND, Tick};
use super::state::NatState;
use super::sweep::Epoch;
use super::table::{Entries, Lines};
use super::wheel::Wheel;

/// See the module.
#[derive(Debug)]
pub(super) struct Part<F> {
    pub(super) entries: Arc<Entries<F>>,
    /// The slot of its first place.
    first: Slot,
    index: Index,
    /// One for each class of those that may be evicted, and one of assured connections.
    wheels: [Wheel; CLASSES + 1],
    /// The wheel whose turn it is to be looked at first.
    first_wheel: usize,
    /// Of those that begin now.
    pub(super) epoch: Epoch,
    /// The first free place plus one; they are linked by their cold words.
    free: u32,
    /// Given back in this round: the first and the last, plus one.
    resting: (u32, u32),
    /// A connection was translated at some time.
    translates: bool,
    /// The original tuples of conversations that are over, and that no `connection-limit` is to count
    /// any more.
    pub(super) over: Vec<Tuple>,
}

/// TCP, UDP, ICMP, all others: which of them may be evicted for another is decided within a class, so
/// that a flood of one protocol pays for itself.
const CLASSES: usize = 4;

/// How many connections eviction looks at before it takes one that spoke since it was put there.
const CANDIDATES: usize = 8;

/// What somebody else holds of a connection that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// The original tuple and the reply tuple, where they are claimed in `Homes`.
    pub(super) claimed: [Option<Tuple>; 2],
    /// The original tuple, counted by a `connection-limit`.
    pub(super) counted: Option<Tuple>,
    /// Both tuples, which mappings of endpoints were held for, and which ones.
    pub(super) mapped: Option<(NatState, Tuple, Tuple)>,
    /// What others kept about it, if not 0.
    pub(super) attached: Option<u32>,
    /// Both tuples, where packets of them may go by shortcuts.
    pub(super) shortened: Option<[Tuple; 2]>,
}

impl<F: Layout> Part<F> {
    pub(super) fn new(entries: Arc<Entries<F>>, worker: u16, now: Tick) -> Self {
        Self {
            index: Index::new(Arc::clone(entries.shelf())),
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

    /// Whether connections are translated.
    #[inline(always)]
    pub(super) fn translates(&self) -> bool {
        self.translates
    }

    /// Bytes of the index.
    pub(super) fn index_bytes(&self) -> usize {
        self.index.bytes()
    }

    /// Asks for what [`Self::candidate`] reads.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: Hash) {
        self.buckets().prefetch(hash);
    }

    /// Where the index has its tuples, for loops.
    #[inline(always)]
    pub(super) fn buckets(&self) -> Buckets<'_> {
        self.index.buckets()
    }

    /// The lines of its entries, for loops.
    #[inline(always)]
    pub(super) fn lines(&self) -> Lines<'_, F> {
        self.entries.lines()
    }

    /// The slot of its first entry.
    #[inline(always)]
    pub(super) fn slot(&self) -> Slot {
        self.first
    }

    /// A target under this hash.
    #[cold]
    #[inline(never)]
    pub(super) fn any(&self, hash: Hash) -> Option<Target> {
        self.index.find(hash, |_| true)
    }

    /// The way of a tuple.
    #[inline(always)]
    pub(super) fn find(&self, hash: Hash, key: &F::Key) -> Option<Way> {
        let right = |target: Target| self.entries.at(target >> 1).is(target & 1 != 0, key);
        let target = self.index.find(hash, right)?;
        Some(self.way(target))
    }

    #[inline(always)]
    fn way(&self, target: Target) -> Way {
        Way::to(self.first, target)
    }

    /// The entry of a way.
    #[inline(always)]
    pub(super) fn entry(&self, way: Way) -> Entry<'_, F> {
        self.entries.at(way.slot().place())
    }

    /// The number of the line of a way's direction.
    #[inline(always)]
    pub(super) fn number(&self, way: Way) -> u32 {
        Lines::<F>::number(way.slot().place(), way.reply())
    }

    /// That line.
    #[inline(always)]
    pub(super) fn line(&self, way: Way) -> &Line {
        self.lines().line(self.number(way))
    }

    /// The line of the rewrite of a way's direction.
    #[inline(always)]
    pub(super) fn rewrite_line(&self, way: Way) -> &Line {
        self.lines().rewrite(way.slot().place(), way.reply())
    }

    /// Asks for the place that the next connection takes.
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

    /// A place for one more connection.
    fn take_place(&mut self) -> Option<u32> {
        let Some(place) = self.free.checked_sub(1) else {
            return self.entries.extend();
        };
        self.free = half_of(load(self.entries.at(place).cold(0)), 1);
        Some(place)
    }

    /// Enters a connection whose tuples are free. None when there is no place.
    pub(super) fn enter(
        &mut self,
        draft: &Draft,
        keys: &Keys,
        timeout_secs: u32,
        rewrites: [F::Rewrite; 2],
        now: Tick,
    ) -> Option<Way> {
        let way = self.lay([draft.original, draft.reply], keys, |entry| {
            write(entry, draft, timeout_secs, rewrites, now);
            now.after(timeout_secs * TICKS_PER_SECOND)
        })?;
        self.translates |= draft.nat != NatState::default();
        Some(way)
    }

    /// Enters a copy of a connection of another table. None when there is no place.
    pub(super) fn adopt(&mut self, row: &Row, words: &Words, keys: &Keys) -> Option<Way> {
        let way = self.lay([row.original, row.reply], keys, |entry| {
            entry.copy(words);
            entry.deadline()
        })?;
        self.translates |= row.nat != NatState::default();
        Some(way)
    }

    /// Finds a place for a connection between these tuples and has it written there, which tells its
    /// deadline.
    #[inline(always)]
    fn lay(
        &mut self,
        tuples: [Tuple; 2],
        keys: &Keys,
        write: impl FnOnce(Entry<'_, F>) -> Tick,
    ) -> Option<Way> {
        let place = self.take_place()?;
        let hashes = tuples.map(|tuple| keys.hash(&tuple));
        let targets = [place << 1, place << 1 | 1];
        if !self.index.insert(hashes[0], targets[0]) {
            self.rest(place);
            return None;
        }
        // A connection with itself has one tuple; its packets all go the original way.
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

    /// Takes a connection out; what others hold of it.
    pub(super) fn leave(&mut self, place: u32, keys: &Keys) -> Left {
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
            // Who found it before in this round finds neither tuple nor flags.
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
        Left {
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

    /// Gives a place back, from the next round on.
    fn rest(&mut self, place: u32) {
        let entry = self.entries.at(place);
        if entry.generation() == u32::MAX {
            // Its next id would be one that was used.
            return;
        }
        store(entry.cold(0), pair(0, self.resting.0));
        self.resting.0 = place + 1;
        if self.resting.1 == 0 {
            self.resting.1 = place + 1;
        }
    }

    /// Begins a round: places that were given back may be used.
    pub(super) fn begin_round(&mut self) {
        self.first_wheel = (self.first_wheel + 1) % self.wheels.len();
        let (first, last) = core::mem::take(&mut self.resting);
        if let Some(last) = last.checked_sub(1) {
            store(self.entries.at(last).cold(0), pair(0, self.free));
            self.free = first;
        }
    }

    /// In how many ticks [`Self::expired`] is next worth calling.
    pub(super) fn due_in(&self, now: Tick) -> Option<u32> {
        let wheels = self.wheels.iter().filter_map(|wheel| wheel.due_in(now));
        wheels.min()
    }

    /// A connection whose time is up, looking at as many as `budget` allows. The wheels take turns:
    /// a flood of one protocol does not keep others' connections for longer.
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

    /// A connection to evict: of the largest class of those that are not assured about the one that
    /// was silent longest.
    pub(super) fn victim(&mut self) -> Option<u32> {
        let classes = self.wheels[..CLASSES].iter_mut();
        let wheel = classes.max_by_key(|wheel| wheel.len())?;
        for _ in 0..CANDIDATES {
            let place = wheel.soonest()?;
            let deadline = self.entries.at(place).deadline();
            wheel.remove(&self.entries, place);
            wheel.insert(&self.entries, place, deadline);
            // It was not silent if something else comes up sooner than it.
            if wheel.soonest() == Some(place) {
                return Some(place);
            }
        }
        wheel.soonest()
    }

    /// Sets flags in both directions; one that becomes assured changes wheels.
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

    /// Changes TCP's state and the timeout.
    #[inline(always)]
    pub(super) fn set_state(&mut self, place: u32, state: u8, timeout_secs: u32) {
        let word = self.entries.at(place).shared(shared::STATE);
        if set_state_in(word, state, timeout_secs) {
            self.hasten(place);
        }
    }

    /// Has a connection come up earlier.
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
    /// The wheel that it is in.
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
