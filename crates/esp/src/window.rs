//! The window against replays, and the upper half of extended sequence numbers (RFC 4303, 3.4.3 and
//! appendix A).
//!
//! Bits are kept in a ring of words, as in RFC 6479: moving ahead clears words and shifts nothing.
//! Readers take no lock. A stale look costs no more than work on a packet that the second look, under
//! the lock and behind the integrity check, refuses.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// How sequence numbers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// 32 bits.
    Short,
    /// 64 bits, of which packets carry the lower half (ESN).
    Extended,
}

/// Which numbers have been seen. It begins with none: the first number is 1. Threads may share it.
pub struct Window {
    /// How far back the window reaches, the highest number included; none at 0.
    size: u64,
    /// Highest number seen.
    top: AtomicU64,
    /// The bit of a number is in word `number / 64`, modulo the ring.
    ring: Box<[AtomicU64]>,
    /// Held by who writes.
    writer: Mutex<()>,
}

impl Window {
    /// A window of so many numbers; one of 0 takes numbers any number of times. It has a bit of memory for each.
    pub fn new(size: u32) -> Self {
        // One word more than the window has: the word of the highest number is never whole.
        let words = (size.div_ceil(64) + 1).next_power_of_two();
        Self {
            size: u64::from(size),
            top: AtomicU64::new(0),
            ring: (0..words).map(|_| AtomicU64::new(0)).collect(),
            writer: Mutex::new(()),
        }
    }

    /// How many numbers back are told apart.
    pub(crate) fn size(&self) -> u32 {
        self.size as u32
    }

    /// Highest number that has been taken.
    pub(crate) fn top(&self) -> u64 {
        self.top.load(Relaxed)
    }

    /// Begins with all numbers up to this one seen.
    pub(crate) fn begin(&mut self, last: u64) {
        *self.top.get_mut() = last;
        for word in &mut self.ring {
            *word.get_mut() = u64::MAX;
        }
        // Numbers that share the word of the last one are new.
        let word = (last / 64) as usize & (self.ring.len() - 1);
        *self.ring[word].get_mut() = u64::MAX >> (63 - last % 64);
    }

    /// The whole number of which a packet carries `low`; none where it would lie before the first.
    pub(crate) fn infer(&self, low: u32, numbering: Numbering) -> Option<u64> {
        match numbering {
            Numbering::Short => Some(u64::from(low)),
            Numbering::Extended => extend(self.top(), self.size, low),
        }
    }

    /// Whether a packet with this number may be new.
    pub fn may_be_new(&self, number: u64) -> bool {
        self.size == 0 || self.is_new(self.top(), number)
    }

    fn is_new(&self, top: u64, number: u64) -> bool {
        if number > top {
            return true;
        }
        let is_seen = self.word(number / 64).load(Relaxed) >> (number % 64) & 1 != 0;
        // Zero is nobody's number (RFC 4303, 3.3.3).
        number != 0 && top - number < self.size && !is_seen
    }

    fn word(&self, index: u64) -> &AtomicU64 {
        // The length is a power of two.
        &self.ring[index as usize & (self.ring.len() - 1)]
    }

    /// Takes numbers whose packets were proved, each one once; tells of each whether it was new.
    pub fn take<T>(
        &self,
        packets: &mut [T],
        number: impl Fn(&T) -> Option<u64>,
        mut refuse: impl FnMut(&mut T),
    ) {
        if self.size == 0 {
            return;
        }
        // Whoever panicked under the lock left words as valid as any.
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

/// RFC 4303, A2.2: the upper half that puts `low` next to the window of `size` below `top`.
fn extend(top: u64, size: u64, low: u32) -> Option<u64> {
    let (high, top_low) = (top >> 32, top as u32);
    // The window's left edge, modulo 2^32.
    let left = top_low.wrapping_sub((size as u32).saturating_sub(1));
    let high = match u64::from(top_low) + 1 >= size {
        // All of the window is in one half.
        true if low >= left => high,
        true => high
            .checked_add(1)
            .filter(|high| *high <= u64::from(u32::MAX))?,
        // The window reaches back into the half before.
        false if low >= left => high.checked_sub(1)?,
        false => high,
    };
    Some(high << 32 | u64::from(low))
}

#[cfg(test)]
mod tests;
