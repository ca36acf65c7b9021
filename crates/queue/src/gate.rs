//! A gate: a token bucket that several workers charge without locks.
//!
//! Tokens are stored as a time: `next` is the time when the bucket stops being empty. A packet may pass if
//! `next` is not in the future, and delays `next` by the transmission time of its bytes at the rate of the
//! gate. The depth of the bucket limits how far `next` is in the past. A single number therefore contains the
//! whole state, at any rate.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use machine::Instant;

/// Time units per nanosecond.
const PER_NANO: u64 = 64;
/// Fraction bits of the cost of a byte.
const FRACTION: u32 = 16;
/// Minimum depth in milliseconds, because queues are sometimes checked that late.
const DEPTH_MIN: u64 = 2;
/// Limit of the debt of a bucket caused by the guarantees of other queues: a twentieth of a second.
const DEBT_MAX: u64 = 50_000_000 * PER_NANO;

/// Converts a time into the unit of gates.
pub const fn ticks(now: Instant) -> u64 {
    now.as_nanos().saturating_mul(PER_NANO)
}

/// Converts ticks into a time.
pub(crate) const fn instant(ticks: u64) -> Instant {
    Instant::from_nanos(ticks.div_ceil(PER_NANO))
}

/// Returns the cost of a byte at a rate in bits per second.
pub(crate) fn cost(bits: u64) -> u64 {
    match bits {
        0 => 0,
        bits => ((8_000_000_000 * u128::from(PER_NANO)) << FRACTION)
            .div_ceil(bits.into())
            .try_into()
            .unwrap_or(u64::MAX),
    }
}

/// Returns the ticks that `bytes` take at a cost per byte.
#[inline(always)]
fn takes(cost: u64, bytes: u64) -> u64 {
    let takes = (u128::from(cost) * u128::from(bytes)) >> FRACTION;
    u64::try_from(takes).unwrap_or(u64::MAX)
}

/// A token bucket.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Ticks per byte, with a fraction; 0: always open.
    cost: AtomicU64,
    /// How far `next` may be in the past, in ticks.
    depth: AtomicU64,
    next: AtomicU64,
}

impl Gate {
    /// Sets the rate in bits per second (0: always open) and the depth in milliseconds of the rate.
    pub(crate) fn set(&self, bits: u64, thousandths: u64) {
        let depth = thousandths.max(DEPTH_MIN) * 1_000_000 * PER_NANO;
        self.depth.store(depth, Relaxed);
        self.cost.store(cost(bits), Relaxed);
    }

    /// Returns true if the gate has a rate.
    pub(crate) fn is_set(&self) -> bool {
        self.cost.load(Relaxed) != 0
    }

    /// Returns when the gate opens, and 0 without a rate.
    pub(crate) fn opens_at(&self) -> u64 {
        match self.is_set() {
            true => self.next.load(Relaxed),
            false => 0,
        }
    }

    /// Returns true if the gate is open now and stays open until the last of `bytes` has taken its tokens.
    #[inline]
    pub(crate) fn stays_open(&self, bytes: u64, now: u64) -> bool {
        let cost = self.cost.load(Relaxed);
        let floor = now.saturating_sub(self.depth.load(Relaxed));
        let next = self.next.load(Relaxed).max(floor);
        cost == 0 || next.saturating_add(takes(cost, bytes)) <= now
    }

    /// Returns true if the debt of the bucket stays below its limit when `bytes` take their tokens.
    pub(crate) fn may_owe(&self, bytes: u64, now: u64) -> bool {
        let takes = takes(self.cost.load(Relaxed), bytes);
        self.next.load(Relaxed).saturating_add(takes) <= now.saturating_add(DEBT_MAX)
    }

    /// Takes tokens for `bytes`, at `cost` per byte if given. `shared`: other workers do so at the same time.
    #[inline]
    pub(crate) fn charge(&self, bytes: u64, now: u64, cost: Option<u64>, shared: bool) {
        let own = self.cost.load(Relaxed);
        if own == 0 {
            return;
        }
        let takes = takes(cost.unwrap_or(own), bytes);
        let floor = now.saturating_sub(self.depth.load(Relaxed));
        let ceiling = now.saturating_add(DEBT_MAX.max(takes));
        let after = |before: u64| {
            let after = before.max(floor).saturating_add(takes);
            after.min(ceiling.max(before))
        };
        let mut before = self.next.load(Relaxed);
        if !shared {
            return self.next.store(after(before), Relaxed);
        }
        while let Err(other) =
            { &self.next }.compare_exchange_weak(before, after(before), Relaxed, Relaxed)
        {
            before = other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that pass in `seconds` with a check every `step` nanoseconds.
    fn passed(bits: u64, seconds: u64, step: u64, packet: u32) -> u64 {
        let gate = Gate::default();
        gate.set(bits, 100);
        let mut bytes = 0;
        // A new bucket is full, so it is emptied first.
        let begin = 1_000_000_000_000;
        gate.next.store(begin * PER_NANO, Relaxed);
        for now in (begin..begin + seconds * 1_000_000_000).step_by(step as usize) {
            while gate.opens_at() <= now * PER_NANO {
                gate.charge(packet.into(), now * PER_NANO, None, true);
                bytes += u64::from(packet);
            }
        }
        bytes
    }

    #[test]
    fn rates_from_ten_kilobits_to_forty_gigabits_are_kept() {
        for (bits, packet, step) in [
            (10_000, 100, 1_000_000),
            (64_000, 1_500, 1_000_000),
            (1_000_000, 1_500, 200_000),
            (1_000_000_000, 1_514, 50_000),
            (40_000_000_000, 1_514, 100_000),
        ] {
            let seconds = if bits > 1_000_000_000 { 1 } else { 10 };
            let bytes = passed(bits, seconds, step, packet);
            let wanted = bits * seconds / 8;
            let more = wanted / 200 + u64::from(packet);
            assert!(
                bytes.abs_diff(wanted) <= more,
                "{bits}: {bytes} of {wanted}"
            );
        }
    }

    #[test]
    fn tokens_are_saved_up_to_the_depth_and_no_further() {
        let gate = Gate::default();
        gate.set(8_000_000, 100);
        let now = 3_600 * 1_000_000_000 * PER_NANO;
        let mut bytes = 0;
        while gate.opens_at() <= now {
            gate.charge(1_000, now, None, false);
            bytes += 1_000;
        }
        // A tenth of a second at 1 MB/s, and the packet that took the last token.
        assert_eq!(bytes, 101_000);
    }
}
