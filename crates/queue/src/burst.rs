//! Bursts: a queue that was below its average rate may exceed its limit for some time.
//!
//! RouterOS computes the average rate of the last `burst-time` again every sixteenth of `burst-time`, and
//! allows a burst while the average is below `burst-threshold`.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Number of counted parts of `burst-time`.
const SLOTS: u64 = 16;

/// Burst state of one queue. Several workers count; the first one in a new sixteenth computes the average.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    /// Ticks of a sixteenth; 0: no bursts.
    slot: AtomicU64,
    /// Bytes in `burst-time` at the threshold rate.
    threshold: AtomicU64,
    /// Cost of a byte during a burst, in the unit of [`Gate`](crate::gate::Gate).
    cost: AtomicU64,
    /// Number of the current sixteenth since the clock's origin.
    at: AtomicU64,
    /// Bytes per sixteenth.
    bytes: [AtomicU64; SLOTS as usize],
    allowed: AtomicBool,
}

impl Burst {
    /// Enables bursts at `limit` bits per second while the average over `ticks` is below `threshold`. A value
    /// of 0 disables them. Returns true if bursts are enabled.
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

    /// Returns the cost of a byte if a burst is allowed.
    pub(crate) fn cost(&self, now: u64) -> Option<u64> {
        let slot = self.slot.load(Relaxed);
        self.turn(now.checked_div(slot)?);
        self.allowed.load(Relaxed).then(|| self.cost.load(Relaxed))
    }

    /// Counts forwarded bytes.
    pub(crate) fn count(&self, bytes: u64, now: u64) {
        let slot = self.slot.load(Relaxed);
        if let Some(at) = now.checked_div(slot) {
            self.turn(at);
            self.bytes[(at % SLOTS) as usize].fetch_add(bytes, Relaxed);
        }
    }

    /// Returns the time when the decision may change.
    pub(crate) fn changes_at(&self, now: u64) -> Option<u64> {
        let slot = self.slot.load(Relaxed);
        Some((now.checked_div(slot)? + 1) * slot)
    }

    /// Starts sixteenth `to`, unless another worker has done so.
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
