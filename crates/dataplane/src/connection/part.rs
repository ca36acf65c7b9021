//! A worker's connections of one family: finding, entering, expiring and evicting them.
//!
//! Places that were given back are used again from the next round on, so that a [`Way`] found
//! before still means what it meant.

use core::sync::atomic::AtomicU64;
use std::sync::Arc;

use super::draft::Draft;
use super::hash::{Hash, Keys};
use super::id::{Slot, Way};
use super::index::{Buckets, Index, Target};
use super::layout::{
    FLAGS_SHIFT, Layout, Line, NEXT_HOP_SHIFT, flag, half_of, load, own, pair, shared, store,
};
use super::rate::Rate;
use super::settings::{TICKS_PER_SECOND, Tick};
use super::state::{Helper, NatState};
use super::table::{Entries, Entry, Lines};
use super::tcp::Talk;
use super::wheel::{HORIZON_SECS, Wheel};
use crate::packet::{Tuple, protocol};

/// See the module.
#[derive(Debug)]
pub(super) struct Part<F> {
    pub(super) entries: Arc<Entries<F>>,
    /// The slot of its first place.
    first: Slot,
    index: Index,
    /// One for each class of those that may be evicted, and one of assured connections.
    wheels: [Wheel; CLASSES + 1],
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
}

impl<F: Layout> Part<F> {
    pub(super) fn new(entries: Arc<Entries<F>>, worker: u16, now: Tick) -> std::io::Result<Self> {
        Ok(Self {
            index: Index::new(entries.capacity() as usize * 2)?,
            entries,
            first: Slot::new(F::IPV6, worker, 0),
            wheels: core::array::from_fn(|_| Wheel::new(now)),
            free: 0,
            resting: (0, 0),
            translates: false,
            over: Vec::new(),
        })
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
        let place = self.take_place()?;
        let hashes = [draft.original, draft.reply].map(|tuple| keys.hash(&tuple));
        let targets = [place << 1, place << 1 | 1];
        if !self.index.insert(hashes[0], targets[0]) {
            self.rest(place);
            return None;
        }
        // A connection with itself has one tuple; its packets all go the original way.
        if draft.original != draft.reply && !self.index.insert(hashes[1], targets[1]) {
            self.index.remove(hashes[0], targets[0]);
            self.rest(place);
            return None;
        }
        let entry = self.entries.at(place);
        entry.change(entry.generation().wrapping_add(1), || {
            write(entry, draft, timeout_secs, rewrites, now);
        });
        self.translates |= draft.nat != NatState::default();
        let deadline = now.after(timeout_secs * TICKS_PER_SECOND);
        self.wheels[entry.wheel()].insert(&self.entries, place, deadline);
        Some(self.way(targets[0]))
    }

    /// Takes a connection out; what others hold of it.
    pub(super) fn leave(&mut self, place: u32, keys: &Keys) -> Left {
        let entry = self.entries.at(place);
        let tuple = |reply| F::tuple(&core::array::from_fn(|word| load(entry.word(reply, word))));
        let (original, reply) = (tuple(false), tuple(true));
        let owned = entry.own();
        let nat = NatState(entry.flags(false) >> flag::NAT_SHIFT & 0xf);
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
        let (first, last) = core::mem::take(&mut self.resting);
        if let Some(last) = last.checked_sub(1) {
            store(self.entries.at(last).cold(0), pair(0, self.free));
            self.free = first;
        }
    }

    /// A connection whose time is up, looking at as many as `budget` allows.
    pub(super) fn expired(&mut self, now: Tick, budget: &mut usize) -> Option<u32> {
        for wheel in &mut self.wheels {
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

/// The timeout's bits in `STATE`.
const TIMEOUT_BITS: u32 = 0xff_ffff;

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

    /// When it expires if nothing more comes.
    pub(super) fn deadline(self) -> Tick {
        let [original, reply] =
            [false, true].map(|reply| Tick(half_of(load(self.word(reply, F::LAST)), 0)));
        let last = if original.since(reply) > 0 {
            original
        } else {
            reply
        };
        let secs = load(self.shared(shared::STATE)) as u32 & TIMEOUT_BITS;
        last.after(secs * TICKS_PER_SECOND)
    }

    /// TCP's numbers, as seen from a direction.
    #[inline(always)]
    pub(super) fn talk(self, reply: bool) -> Talk {
        talk_in(self.shared_line(), reply)
    }

    /// Keeps TCP's numbers.
    #[inline(always)]
    pub(super) fn set_talk(self, talk: &Talk, reply: bool) {
        set_talk_in(self.shared_line(), talk, reply);
    }
}

/// Changes TCP's state and the timeout in their word; whether the connection is to come up earlier.
#[inline(always)]
pub(super) fn set_state_in(word: &AtomicU64, state: u8, timeout_secs: u32) -> bool {
    let old = load(word);
    let new = old >> 32 << 32 | u64::from(state) << 24 | u64::from(timeout_secs);
    if new == old {
        return false;
    }
    store(word, new);
    // What is longer than the wheel comes up before any such timeout ends.
    timeout_secs < (old as u32 & TIMEOUT_BITS).min(HORIZON_SECS)
}

/// TCP's numbers in a shared line, as seen from a direction.
#[inline(always)]
pub(super) fn talk_in(line: &Line, reply: bool) -> Talk {
    let mut talk = Talk::default();
    // The direction's half first, then the other's.
    let halves = |word: usize| load(&line[word]).rotate_left(u32::from(reply) * 32);
    let (windows, acks) = (halves(shared::WINDOWS), halves(shared::ACKS));
    for (side, peer) in [(0, &mut talk.sender), (1, &mut talk.receiver)] {
        let sent = load(&line[shared::SENT[side ^ usize::from(reply)]]);
        (peer.end, peer.end_max) = (half_of(sent, 0), half_of(sent, 1));
        (peer.window_max, peer.ack_max) = (half_of(windows, side), half_of(acks, side));
    }
    let last = load(&line[shared::LAST]);
    talk.last_end = half_of(last, 0);
    talk.set_bits(half_of(last, 1), reply);
    talk
}

/// Keeps TCP's numbers in a shared line.
#[inline(always)]
pub(super) fn set_talk_in(line: &Line, talk: &Talk, reply: bool) {
    let Talk {
        sender, receiver, ..
    } = talk;
    for (side, peer) in [(0, sender), (1, receiver)] {
        let word = &line[shared::SENT[side ^ usize::from(reply)]];
        store(word, pair(peer.end, peer.end_max));
    }
    let keep = |word: usize, halves: u64| {
        store(&line[word], halves.rotate_left(u32::from(reply) * 32));
    };
    keep(
        shared::WINDOWS,
        pair(sender.window_max, receiver.window_max),
    );
    keep(shared::ACKS, pair(sender.ack_max, receiver.ack_max));
    let bits = pair(talk.last_end, talk.bits(reply));
    store(&line[shared::LAST], bits);
}

/// Writes a new connection into its place.
fn write<F: Layout>(
    entry: Entry<'_, F>,
    draft: &Draft,
    timeout_secs: u32,
    rewrites: [F::Rewrite; 2],
    now: Tick,
) {
    let mut flags = draft.nat.0 << flag::NAT_SHIFT;
    let noted = draft.expected || draft.mark != 0 || draft.helper != Helper::None;
    flags |= if noted { flag::NOTED } else { 0 };
    flags |= if draft.fasttrack { flag::FASTTRACK } else { 0 };
    for (reply, tuple) in [(false, &draft.original), (true, &draft.reply)] {
        let key = F::key(tuple);
        for (word, part) in key.as_ref().iter().enumerate() {
            store(entry.word(reply, word), *part);
        }
        let hop = if reply {
            Default::default()
        } else {
            draft.next_hop
        };
        let meta = u64::from(hop.id.0) << NEXT_HOP_SHIFT | u64::from(flags) << FLAGS_SHIFT;
        store(entry.word(reply, F::META), key.as_ref()[F::META] | meta);
        let counted = if reply { (0, 0) } else { (1, draft.bytes) };
        store(entry.word(reply, F::PACKETS), counted.0);
        store(entry.word(reply, F::BYTES), u64::from(counted.1));
        store(entry.word(reply, F::LAST), pair(now.0, hop.generation));
        let (words, rest) = F::pack(&rewrites[usize::from(reply)]);
        store(entry.rate(reply, 0), Rate::default().to_word(rest));
        for (at, word) in words.iter().enumerate() {
            store(entry.rate(reply, 1 + at), *word);
        }
    }
    (1..8).for_each(|word| store(entry.shared(word), 0));
    if draft.original.protocol == protocol::TCP && !draft.fasttrack {
        entry.set_talk(&Talk::begin(&draft.opening.segment), false);
    } else if draft.fasttrack {
        store(entry.shared(shared::SLOW_PACKETS[0]), 1);
        store(entry.shared(shared::SLOW_BYTES[0]), u64::from(draft.bytes));
    }
    let mut owned = own::LIVE;
    owned |= if draft.masquerade { own::MASQUERADE } else { 0 };
    owned |= if draft.claim { own::CLAIMED } else { 0 };
    owned |= match draft.claim && draft.expected {
        true => own::CLAIMED_ORIGINAL,
        false => 0,
    };
    owned |= if draft.counted { own::COUNTED } else { 0 };
    owned |= if draft.expected { own::EXPECTED } else { 0 };
    let state = u64::from(timeout_secs)
        | (draft.opening.state as u64) << 24
        | (draft.helper as u64) << 32
        | u64::from(owned) << 40;
    store(entry.shared(shared::STATE), state);
    store(entry.shared(shared::MARK), pair(draft.mark, draft.egress.0));
    store(entry.cold(1), pair(draft.attachment, 0));
}
