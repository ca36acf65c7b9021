//! Numbers that one thread counts and any thread reads: a relaxed load and a store, never a locked instruction.

use core::sync::atomic::{AtomicU64, Ordering};

/// One number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds; only the owner calls this.
    #[inline(always)]
    pub fn add(&self, count: u64) {
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(count);
        self.0.store(sum, Ordering::Relaxed);
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Packets and bytes.
#[derive(Debug, Default)]
pub struct Pair {
    packets: Counter,
    bytes: Counter,
}

impl Pair {
    /// Adds both.
    #[inline(always)]
    pub fn add(&self, packets: u64, bytes: u64) {
        self.packets.add(packets);
        self.bytes.add(bytes);
    }

    /// Takes what was added back; only the owner calls this.
    #[inline]
    pub fn take_back(&self, packets: u64, bytes: u64) {
        self.add(packets.wrapping_neg(), bytes.wrapping_neg());
    }

    /// Both values.
    pub fn get(&self) -> Traffic {
        Traffic {
            packets: self.packets.get(),
            bytes: self.bytes.get(),
        }
    }
}

/// Packets and bytes, read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// How many packets.
    pub packets: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl core::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.packets = self.packets.wrapping_add(other.packets);
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }
}
