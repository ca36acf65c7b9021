//! Bursts: whether a queue has been idle enough to go faster than its limit for a while.
//!
//! RouterOS: the average rate of the last `burst-time` is computed anew each sixteenth of it; a burst is allowed while
//! that average is below `burst-threshold`.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Parts of `burst-time` that are counted apart.
const SLOTS: u64 = 16;

/// See the module. Several workers count, whichever comes first into a new sixteenth computes.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    /// Ticks of a sixteenth; 0: no bursts.
    slot: AtomicU64,
    /// Bytes of `burst-time` at the threshold.
    threshold: AtomicU64,
    /// The cost of a byte during a burst, as gates have it.
    cost: AtomicU64,
    /// Which sixteenth it is, from the clock's origin.
    at: AtomicU64,
    /// Bytes by sixteenth.
    bytes: [AtomicU64; SLOTS as usize],
    allowed: AtomicBool,
}

impl Burst {
    /// Bursts at `limit` bits per second below an average of `threshold`, over `ticks` of time; none where one of
    /// them is 0. Whether there are any.
    pub(crate) fn set(&self, limit: u64, threshold: u64, ticks: u64) -> bool {
        let slot = match limit == 0 || threshold == 0 {
            true => 0,
            false => ticks / SLOTS,
        };
        let bits = u128::from(threshold) * u128::from(ticks / 64) / 1_000_000_000;
        let bytes = u64::try_from(bits / 8).unwrap_or(u64::MAX);
        self.threshold.store(bytes, Relaxed);
        self.cost.store(crate::gate::cost(limit), Relaxed);
        if self.slot.swap(slot, Relaxed) != slot {
            self.bytes.iter().for_each(|bytes| bytes.store(0, Relaxed));
            self.at.store(0, Relaxed);
            self.allowed.store(slot != 0, Relaxed);
        }
        slot != 0
    }

    /// The cost of a byte while a burst is allowed.
    pub(crate) fn cost(&self, now: u64) -> Option<u64> {
        let slot = self.slot.load(Relaxed);
        self.turn(now.checked_div(slot)?);
        self.allowed.load(Relaxed).then(|| self.cost.load(Relaxed))
    }

    /// Counts bytes that passed.
    pub(crate) fn count(&self, bytes: u32, now: u64) {
        let slot = self.slot.load(Relaxed);
        if let Some(at) = now.checked_div(slot) {
            self.turn(at);
            self.bytes[(at % SLOTS) as usize].fetch_add(bytes.into(), Relaxed);
        }
    }

    /// When what is allowed may change.
    pub(crate) fn changes_at(&self, now: u64) -> Option<u64> {
        let slot = self.slot.load(Relaxed);
        Some((now.checked_div(slot)? + 1) * slot)
    }

    /// Begins this sixteenth, if nobody has.
    fn turn(&self, to: u64) {
        let from = self.at.load(Relaxed);
        if from >= to
            || self
                .at
                .compare_exchange(from, to, Relaxed, Relaxed)
                .is_err()
        {
            return;
        }
        for passed in (from + 1..=to).rev().take(SLOTS as usize) {
            self.bytes[(passed % SLOTS) as usize].store(0, Relaxed);
        }
        let sum: u64 = self.bytes.iter().map(|bytes| bytes.load(Relaxed)).sum();
        let allowed = sum < self.threshold.load(Relaxed);
        self.allowed.store(allowed, Relaxed);
    }
}
