//! Replay window, and inference of extended sequence numbers (RFC 4303, 3.4.3 and appendix A).
//!
//! The bits form a ring of words, as in RFC 6479: advancing clears words and shifts nothing. Readers take no
//! lock. A check against stale data wastes cryptography at worst: the second check, under the lock and after
//! the integrity check, decides.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Width of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// 32 bits.
    Short,
    /// 64 bits, of which packets carry the lower half (ESN).
    Extended,
}

/// Set of received sequence numbers, empty at first; the first number is 1. Threads may share it.
pub struct Window {
    /// Size of the window, including the highest number; 0 disables it.
    size: u64,
    /// Highest number received.
    top: AtomicU64,
    /// The bit of a number is in word `number / 64`, modulo the ring.
    ring: Box<[AtomicU64]>,
    /// Lock of the writers.
    writer: Mutex<()>,
}

impl Window {
    /// Creates a window with a bit of memory per number; size 0 accepts numbers repeatedly.
    pub fn new(size: u32) -> Self {
        // One extra word: the word of the highest number is only partly used.
        let words = (size.div_ceil(64) + 1).next_power_of_two();
        Self {
            size: u64::from(size),
            top: AtomicU64::new(0),
            ring: (0..words).map(|_| AtomicU64::new(0)).collect(),
            writer: Mutex::new(()),
        }
    }

    /// Returns the size of the window.
    pub(crate) fn size(&self) -> u32 {
        self.size as u32
    }

    /// Returns the highest number received.
    pub(crate) fn top(&self) -> u64 {
        self.top.load(Relaxed)
    }

    /// Marks all numbers up to `last` as received.
    pub(crate) fn begin(&mut self, last: u64) {
        *self.top.get_mut() = last;
        for word in &mut self.ring {
            *word.get_mut() = u64::MAX;
        }
        // Numbers after `last` in the same word are new.
        let word = (last / 64) as usize & (self.ring.len() - 1);
        *self.ring[word].get_mut() = u64::MAX >> (63 - last % 64);
    }

    /// Infers the complete number from its transmitted half; `None` if the result would be negative.
    pub(crate) fn infer(&self, low: u32, numbering: Numbering) -> Option<u64> {
        match numbering {
            Numbering::Short => Some(u64::from(low)),
            Numbering::Extended => extend(self.top(), self.size, low),
        }
    }

    /// Returns true unless the number is certainly a replay. Takes no lock.
    pub fn may_be_new(&self, number: u64) -> bool {
        self.size == 0 || self.is_new(self.top(), number)
    }

    fn is_new(&self, top: u64, number: u64) -> bool {
        if number > top {
            return true;
        }
        let is_seen = self.word(number / 64).load(Relaxed) >> (number % 64) & 1 != 0;
        // Zero is never assigned (RFC 4303, 3.3.3).
        number != 0 && top - number < self.size && !is_seen
    }

    fn word(&self, index: u64) -> &AtomicU64 {
        // The length is a power of two.
        &self.ring[index as usize & (self.ring.len() - 1)]
    }

    /// Marks numbers of verified packets as received, each once. Reports duplicates.
    pub fn take<T>(
        &self,
        packets: &mut [T],
        number: impl Fn(&T) -> Option<u64>,
        mut refuse: impl FnMut(&mut T),
    ) {
        if self.size == 0 {
            return;
        }
        // A panic under the lock leaves the words valid.
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut top = self.top();
        for packet in packets {
            let Some(number) = number(packet) else {
                continue;
            };
            if !self.is_new(top, number) {
                refuse(packet);
                continue;
            }
            if number > top {
                let steps = (number / 64 - top / 64).min(self.ring.len() as u64);
                for step in 0..steps {
                    self.word(number / 64 - step).store(0, Relaxed);
                }
                top = number;
            }
            let word = self.word(number / 64);
            word.store(word.load(Relaxed) | 1 << (number % 64), Relaxed);
        }
        self.top.store(top, Relaxed);
    }
}

/// Infers the upper half that puts `low` next to the window of `size` below `top` (RFC 4303, A2.2).
fn extend(top: u64, size: u64, low: u32) -> Option<u64> {
    let (high, top_low) = (top >> 32, top as u32);
    // Left edge of the window, modulo 2^32.
    let left = top_low.wrapping_sub((size as u32).saturating_sub(1));
    let high = match u64::from(top_low) + 1 >= size {
        // The whole window lies in one half.
        true if low >= left => high,
        true => high
            .checked_add(1)
            .filter(|high| *high <= u64::from(u32::MAX))?,
        // The window reaches into the previous half.
        false if low >= left => high.checked_sub(1)?,
        false => high,
    };
    Some(high << 32 | u64::from(low))
}

#[cfg(test)]
mod tests;
