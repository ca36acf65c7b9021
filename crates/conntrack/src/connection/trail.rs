//! What an entry with FastTrack keeps in the place of TCP's numbers: what walked slowly, and both sides'
//! trails (`tcp::Trails`).

use packet::count::Traffic;
use packet::protocol;

use super::entry::Entry;
use super::layout::{Layout, flag, half_of, load, own, pair, shared, store};
use super::rate::Rate;
use super::tcp::{Claim, Segment, Step, Talk, Trail, Trails};

/// A direction's packets lie below the mark of its trail, its bytes below its claim.
const MARK_BITS: u32 = 24;
const PACKET_BITS: u32 = u64::BITS - MARK_BITS;
const BYTE_BITS: u32 = u64::BITS - Claim::BITS;
/// Bytes that a mark counts by.
const UNIT: u64 = 1 << 10;
/// Seconds for which what goes by a shortcut may not have been told, and one more, for it may grow.
const UNHEARD_SECS: u64 = 3;
/// A header of TCP without options.
const HEADER: u64 = 20;

/// What walked slowly in a direction, by its two words.
pub(super) const fn slow_of(packets: u64, bytes: u64) -> Traffic {
    Traffic {
        packets: packets & ((1 << PACKET_BITS) - 1),
        bytes: bytes & ((1 << BYTE_BITS) - 1),
    }
}

impl<F: Layout> Entry<'_, F> {
    /// Counts a packet that walked slowly.
    #[cold]
    #[inline(never)]
    pub(super) fn count_slow(self, reply: bool, len: u64) {
        let side = usize::from(reply);
        for (word, more, bits) in [
            (shared::SLOW_PACKETS[side], 1, PACKET_BITS),
            (shared::SLOW_BYTES[side], len, BYTE_BITS),
        ] {
            let word = self.shared(word);
            let count = load(word).wrapping_add(more);
            store(word, merged(load(word), count, bits));
        }
    }

    /// From here on what was counted and said so far has walked slowly.
    pub(super) fn begin_trails(self, talk: &Talk) {
        for reply in [false, true] {
            let (side, traffic) = (usize::from(reply), self.traffic(reply));
            let kept = slow_of(traffic.packets, traffic.bytes);
            store(self.shared(shared::SLOW_PACKETS[side]), kept.packets);
            store(self.shared(shared::SLOW_BYTES[side]), kept.bytes);
            self.set_mark_of(reply);
        }
        if self.tuple(false).protocol == protocol::TCP {
            let ends = pair(talk.sender.end, talk.receiver.end);
            store(self.shared(shared::ENDS), ends);
        }
    }

    /// What is known of both sides, as seen from a direction.
    pub(super) fn trails(self, reply: bool) -> Trails {
        Trails {
            sender: self.trail(reply),
            receiver: self.trail(!reply),
        }
    }

    fn trail(self, reply: bool) -> Trail {
        let side = usize::from(reply);
        let mark = load(self.shared(shared::SLOW_PACKETS[side])) >> PACKET_BITS;
        let units = (self.data(reply) / UNIT).wrapping_sub(mark) % (1 << MARK_BITS);
        let spoke = !reply || self.flags(true) & flag::SEEN_REPLY != 0;
        Trail {
            end: spoke.then(|| half_of(load(self.shared(shared::ENDS)), side)),
            since: (units + 1) * UNIT + self.unheard(reply),
            claim: Claim::of_bits(
                (load(self.shared(shared::SLOW_BYTES[side])) >> BYTE_BITS) as u32,
            ),
        }
    }

    /// Bytes that the direction may have carried without anybody's having heard of it yet: what goes by a
    /// shortcut is told once a second.
    fn unheard(self, reply: bool) -> u64 {
        if self.own() & own::SHORTCUT == 0 {
            return 0;
        }
        let rate = Rate::of_word(load(self.rate(reply, 0)));
        let bytes = self.traffic(reply).bytes;
        let lately = u128::from(rate.lately(bytes) * UNHEARD_SECS);
        // Headers have a share in it.
        let data = lately * u128::from(self.data(reply)) / u128::from(bytes.max(1));
        u64::try_from(data).unwrap_or(u64::MAX)
    }

    /// Keeps what a segment says, that was counted.
    #[cold]
    #[inline(never)]
    pub(super) fn follow_trails(
        self,
        mut trails: Trails,
        reply: bool,
        step: Step,
        segment: &Segment,
    ) {
        if trails.note(step, segment) {
            let ends = load(self.shared(shared::ENDS)).rotate_right(u32::from(reply) * 32);
            let ends = pair(segment.end, half_of(ends, 1));
            store(
                self.shared(shared::ENDS),
                ends.rotate_left(u32::from(reply) * 32),
            );
            self.set_mark_of(reply);
        }
        for (reply, trail) in [(reply, trails.sender), (!reply, trails.receiver)] {
            let word = self.shared(shared::SLOW_BYTES[usize::from(reply)]);
            let claim = u64::from(Claim::to_bits(trail.claim)) << BYTE_BITS;
            store(word, merged(claim, load(word), BYTE_BITS));
        }
    }

    /// The direction's trail begins at what it has sent by now.
    fn set_mark_of(self, reply: bool) {
        let word = self.shared(shared::SLOW_PACKETS[usize::from(reply)]);
        let mark = (self.data(reply) / UNIT) << PACKET_BITS;
        store(word, merged(mark, load(word), PACKET_BITS));
    }

    /// Bytes of data that the direction has carried at most.
    fn data(self, reply: bool) -> u64 {
        let Traffic { packets, bytes } = self.traffic(reply);
        bytes.saturating_sub(packets.saturating_mul(F::HEADER as u64 + HEADER))
    }
}

/// A word with the upper bits of one and so many lower ones of another.
const fn merged(upper: u64, lower: u64, bits: u32) -> u64 {
    let low = (1 << bits) - 1;
    (upper & !low) | (lower & low)
}
