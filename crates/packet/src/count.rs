//! Counters that one thread writes and any thread reads: a relaxed load and a store, no locked instruction.

use core::sync::atomic::{AtomicU64, Ordering};

/// A counter with a single writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`; only the owner calls this.
    #[inline(always)]
    pub fn add(&self, count: u64) {
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(count);
        self.0.store(sum, Ordering::Relaxed);
    }

    /// Returns the value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A packet and a byte counter with a single writer.
#[derive(Debug, Default)]
pub struct Pair {
    packets: Counter,
    bytes: Counter,
}

impl Pair {
    /// Adds to both counters; only the owner calls this.
    #[inline(always)]
    pub fn add(&self, packets: u64, bytes: u64) {
        self.packets.add(packets);
        self.bytes.add(bytes);
    }

    /// Subtracts a value that was added before; only the owner calls this.
    #[inline]
    pub fn take_back(&self, packets: u64, bytes: u64) {
        self.add(packets.wrapping_neg(), bytes.wrapping_neg());
    }

    /// Returns both values.
    pub fn get(&self) -> Traffic {
        Traffic {
            packets: self.packets.get(),
            bytes: self.bytes.get(),
        }
    }
}

/// A number of packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl core::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.packets = self.packets.wrapping_add(other.packets);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }
}
