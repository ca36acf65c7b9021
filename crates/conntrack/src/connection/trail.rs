//! FastTrack state of an entry, in the words of the TCP state: slow-path counters and both sides' positions
//! (`tcp::Trails`).

use packet::count::Traffic;
use packet::protocol;

use super::entry::Entry;
use super::layout::{Layout, flag, half_of, load, own, pair, shared, store};
use super::rate::Rate;
use super::tcp::{Claim, Segment, Step, Talk, Trail, Trails};

/// The packet counter is below the byte mark in its word, the byte counter below the claim.
const MARK_BITS: u32 = 24;
const PACKET_BITS: u32 = u64::BITS - MARK_BITS;
const BYTE_BITS: u32 = u64::BITS - Claim::BITS;
/// Unit of a byte mark in bytes.
const UNIT: u64 = 1 << 10;
/// Seconds of traffic that a shortcut may not have reported yet, plus one as a margin for a growing rate.
const UNHEARD_SECS: u64 = 3;
/// Bytes of a TCP header without options.
const HEADER: u64 = 20;

/// Decodes the slow-path counters of a direction.
pub(super) const fn slow_of(packets: u64, bytes: u64) -> Traffic {
    Traffic {
        packets: packets & ((1 << PACKET_BITS) - 1),
        bytes: bytes & ((1 << BYTE_BITS) - 1),
    }
}

impl<F: Layout> Entry<'_, F> {
    /// Counts a slow-path packet.
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

    /// Begins FastTrack: packets so far count as slow-path packets, and the current positions are stored.
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

    /// Returns the positions of both sides, relative to a direction.
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

    /// Returns an estimate of the bytes that a shortcut has forwarded but not reported yet; shortcuts report
    /// once a second.
    fn unheard(self, reply: bool) -> u64 {
        if self.own() & own::SHORTCUT == 0 {
            return 0;
        }
        let rate = Rate::of_word(load(self.rate(reply, 0)));
        let bytes = self.traffic(reply).bytes;
        let lately = u128::from(rate.lately(bytes) * UNHEARD_SECS);
        // The share of headers is subtracted.
        let data = lately * u128::from(self.data(reply)) / u128::from(bytes.max(1));
        u64::try_from(data).unwrap_or(u64::MAX)
    }

    /// Stores the positions after a segment that was already counted.
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

    /// Sets the byte mark of a direction to the number of bytes sent so far.
    fn set_mark_of(self, reply: bool) {
        let word = self.shared(shared::SLOW_PACKETS[usize::from(reply)]);
        let mark = (self.data(reply) / UNIT) << PACKET_BITS;
        store(word, merged(mark, load(word), PACKET_BITS));
    }

    /// Returns an upper bound of the payload bytes that the direction carried.
    fn data(self, reply: bool) -> u64 {
        let Traffic { packets, bytes } = self.traffic(reply);
        bytes.saturating_sub(packets.saturating_mul(F::HEADER as u64 + HEADER))
    }
}

/// Combines the upper bits of one word with the lower `bits` of another.
const fn merged(upper: u64, lower: u64, bits: u32) -> u64 {
    let low = (1 << bits) - 1;
    (upper & !low) | (lower & low)
}
