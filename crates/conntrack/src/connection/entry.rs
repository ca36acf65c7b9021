//! One entry of the connection table: words that the owning worker writes and other threads read.

use core::sync::atomic::{AtomicU64, Ordering, fence};

use packet::protocol;

use super::draft::{Claims, Draft, is_call};
use super::layout::{
    Cold, EPOCH_SHIFT, FLAGS_SHIFT, Layout, Line, SHARED, TUPLE_BITS, flag, half_of, line_of, load,
    own, pair, shared, store, with_next_hop,
};
use super::rate::Rate;
use super::row::Words;
use super::settings::{TICKS_PER_SECOND, Tick};
use super::state::Helper;
use super::sweep::Epoch;
use super::tcp::Talk;
use super::wheel::HORIZON_SECS;

/// Mask of the timeout, in seconds, in the word `STATE`.
const TIMEOUT_BITS: u32 = 0xff_ffff;

/// Reference to one entry of the connection table.
#[derive(Debug)]
pub(super) struct Entry<'a, F> {
    pub(super) lines: &'a [Line],
    /// The cold words of all entries; `place` is the index of this entry.
    pub(super) cold: &'a [Cold],
    pub(super) place: usize,
    pub(super) of: core::marker::PhantomData<F>,
}

impl<F> Clone for Entry<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Entry<'_, F> {}

/// Returns the flags in a direction's line if the line holds the tuple `key`, else `None`.
#[inline(always)]
pub(super) fn flags_of<F: Layout>(line: &Line, key: &F::Key) -> Option<u8> {
    let key = key.as_ref();
    // Without branches: the whole tuple is nearly always equal.
    let others = (0..F::META).fold(0, |others, word| others | load(&line[word]) ^ key[word]);
    let meta = load(&line[F::META]);
    let same = others | (meta ^ key[F::META]) & TUPLE_BITS == 0;
    same.then_some((meta >> FLAGS_SHIFT) as u8)
}

impl<'a, F: Layout> Entry<'a, F> {
    /// Returns the cache line of a direction.
    #[inline(always)]
    pub(super) fn line(self, reply: bool) -> &'a Line {
        &self.lines[line_of(reply)]
    }

    /// Returns a word of a direction's cache line.
    #[inline(always)]
    pub(super) fn word(self, reply: bool, word: usize) -> &'a AtomicU64 {
        &self.lines[line_of(reply)][word]
    }

    /// Returns the cache line that both directions share.
    #[inline(always)]
    pub(super) fn shared_line(self) -> &'a Line {
        &self.lines[SHARED]
    }

    /// Returns a word of the shared cache line.
    #[inline(always)]
    pub(super) fn shared(self, word: usize) -> &'a AtomicU64 {
        &self.lines[SHARED][word]
    }

    /// Returns the word of a direction's rate and sample (`word` 0), or a word of its rewrite.
    #[inline(always)]
    pub(super) fn rate(self, reply: bool, word: usize) -> &'a AtomicU64 {
        &self.lines[F::RATE_LINE[usize::from(reply)]][F::RATE + word]
    }

    /// Returns a word of the entry's cold line.
    #[inline(always)]
    pub(super) fn cold(self, word: usize) -> &'a AtomicU64 {
        &self.cold[self.place][word]
    }

    /// Returns true if a direction has the tuple `key`.
    #[inline(always)]
    pub(super) fn is(self, reply: bool, key: &F::Key) -> bool {
        flags_of::<F>(self.line(reply), key).is_some()
    }

    /// Returns the flags that are stored in the lines of both directions.
    #[inline(always)]
    pub(super) fn flags(self, reply: bool) -> u8 {
        (load(self.word(reply, F::META)) >> FLAGS_SHIFT) as u8
    }

    /// Sets flags in both directions' lines.
    pub(super) fn set_flags(self, flags: u8) {
        for reply in [false, true] {
            let meta = self.word(reply, F::META);
            store(meta, load(meta) | u64::from(flags) << FLAGS_SHIFT);
        }
    }

    /// Returns the flags that are stored in the shared line only.
    #[inline(always)]
    pub(super) fn own(self) -> u16 {
        (load(self.shared(shared::STATE)) >> 40) as u16
    }

    /// Returns the epoch of the last purge that this connection survived or came after.
    pub(super) fn epoch(self) -> Epoch {
        Epoch((load(self.shared(shared::STATE)) >> EPOCH_SHIFT) as u8)
    }

    /// Sets the epoch: only purges of later epochs remove the connection.
    #[inline(always)]
    pub(super) fn set_epoch(self, epoch: Epoch) {
        let state = self.shared(shared::STATE);
        let rest = load(state) & ((1 << EPOCH_SHIFT) - 1);
        store(state, rest | u64::from(epoch.0) << EPOCH_SHIFT);
    }

    /// Returns how many connections this slot held before the current one.
    #[inline(always)]
    pub(super) fn generation(self) -> u32 {
        half_of(load(self.shared(shared::VERSION)), 1)
    }

    /// Returns true if the slot holds a connection.
    #[inline(always)]
    pub(super) fn is_live(self) -> bool {
        self.own() & own::LIVE != 0
    }

    /// Returns true if a helper expected the connection.
    pub(super) fn is_expected(self) -> bool {
        self.own() & own::EXPECTED != 0
    }

    /// Returns true if the connection is a PPTP call that the PPTP helper announced.
    pub(super) fn is_call(self, protocol: u8) -> bool {
        self.is_expected() && is_call(protocol, self.helper())
    }

    /// Returns true if a helper reads the connection's payload.
    pub(super) fn is_helped(self) -> bool {
        self.helper() != Helper::None && !self.is_expected()
    }

    /// Returns true if the connection is assured: a full table does not evict it.
    #[inline(always)]
    pub(super) fn is_assured(self) -> bool {
        self.flags(false) & flag::ASSURED != 0
    }

    /// Runs `change` under an odd version (seqlock), so that concurrent readers retry; sets the generation.
    pub(super) fn change<T>(self, generation: u32, change: impl FnOnce() -> T) -> T {
        let version = self.shared(shared::VERSION);
        let odd = (load(version) as u32).wrapping_add(1) | 1;
        store(version, pair(odd, generation));
        fence(Ordering::Release);
        let changed = change();
        version.store(pair(odd.wrapping_add(1), generation), Ordering::Release);
        changed
    }

    /// Copies all words of the entry.
    pub(super) fn words(self) -> Words {
        let mut words = Words::default();
        for (copy, line) in words.lines.iter_mut().zip(self.lines) {
            *copy = core::array::from_fn(|word| load(&line[word]));
        }
        words.cold = core::array::from_fn(|word| load(self.cold(word)));
        words
    }

    /// Overwrites this entry with the words of an entry of another table. Claims, counters and the attachment
    /// belong to the other table and are not copied.
    pub(super) fn copy(self, words: &Words) {
        for (line, copy) in words.lines.iter().take(F::LINES).enumerate() {
            let first = if line == SHARED { shared::STATE } else { 0 };
            for (word, value) in copy.iter().enumerate().skip(first) {
                store(&self.lines[line][word], *value);
            }
        }
        let state = self.shared(shared::STATE);
        let held = u64::from(own::CLAIMED | own::CLAIMED_ORIGINAL | own::COUNTED) << 40;
        store(state, load(state) & !held);
        store(self.cold(1), 0);
    }

    /// Returns the tick at which the connection expires if no further packet arrives.
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

    /// Returns the TCP sequence state, with `reply` as the sender's direction.
    #[inline(always)]
    pub(super) fn talk(self, reply: bool) -> Talk {
        talk_in(self.shared_line(), reply)
    }

    /// Stores the TCP sequence state.
    #[inline(always)]
    pub(super) fn set_talk(self, talk: &Talk, reply: bool) {
        set_talk_in(self.shared_line(), talk, reply);
    }
}

/// Stores TCP state and timeout. Returns true if the timer wheel has to look at the connection earlier than
/// planned.
#[inline(always)]
pub(super) fn set_state_in(word: &AtomicU64, state: u8, timeout_secs: u32) -> bool {
    let old = load(word);
    let new = old >> 32 << 32 | u64::from(state) << 24 | u64::from(timeout_secs);
    if new == old {
        return false;
    }
    store(word, new);
    // Timeouts beyond the wheel's horizon are checked at the horizon in any case.
    timeout_secs < (old as u32 & TIMEOUT_BITS).min(HORIZON_SECS)
}

/// Reads the TCP sequence state from a shared line, with `reply` as the sender's direction.
#[inline(always)]
pub(super) fn talk_in(line: &Line, reply: bool) -> Talk {
    let mut talk = Talk::default();
    // The half of the sender's direction first.
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

/// Stores the TCP sequence state in a shared line.
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

/// Writes a new connection into a free slot.
pub(super) fn write<F: Layout>(
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
        let meta = key.as_ref()[F::META] | u64::from(flags) << FLAGS_SHIFT;
        let (meta, last) = with_next_hop(meta, now.0.into(), hop);
        store(entry.word(reply, F::META), meta);
        let counted = if reply { (0, 0) } else { (1, draft.bytes) };
        store(entry.word(reply, F::PACKETS), counted.0);
        store(entry.word(reply, F::BYTES), u64::from(counted.1));
        store(entry.word(reply, F::LAST), last);
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
        let end = pair(draft.opening.segment.end, 0);
        store(entry.shared(shared::ENDS), end);
    }
    if let Some(gre) = draft.gre {
        store(entry.shared(shared::GRE), gre.to_word());
    }
    let mut owned = own::LIVE;
    owned |= if draft.masquerade { own::MASQUERADE } else { 0 };
    owned |= match draft.claims {
        Claims::None => 0,
        Claims::Reply => own::CLAIMED,
        Claims::Both => own::CLAIMED | own::CLAIMED_ORIGINAL,
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
