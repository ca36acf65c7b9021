//! A bitmap filter that excludes most foreign addresses at the cost of one load.
//!
//! The bitmap has 64 bits per stored address, so one foreign address in 64 needs a full lookup. A
//! reader may still use a bitmap that a larger one has replaced; the old bitmap is no longer
//! written.

use core::sync::atomic::{AtomicU16, AtomicU32, AtomicUsize, Ordering};
use std::sync::OnceLock;

use kernels::Lanes;

/// Bits of the first bitmap, as a power of two: 512 bytes.
const FIRST: u32 = 12;
/// Number of bitmaps. Each is twice as long as its predecessor; the last has 256 KB.
const LEVELS: usize = 10;
/// Bits per address below which the bitmap grows, as a power of two.
const SPARE: u32 = 6;

/// The bitmaps, and the counters that control needs to change them.
#[derive(Debug)]
pub(super) struct Filter {
    level: AtomicUsize,
    bitmaps: [OnceLock<Box<[AtomicU32]>>; LEVELS],
    /// Number of addresses that share each bit of a bitmap. Used by control only.
    shared: [OnceLock<Box<[AtomicU16]>>; LEVELS],
    /// Number of stored addresses. Used by control only.
    noted: AtomicUsize,
}

/// Returns the word of a key in the bitmap of a level, and the bit in it.
#[inline(always)]
fn place(level: usize, key: u32) -> (u32, u32) {
    let bits = FIRST + level as u32;
    let hash = key.wrapping_mul(0x9e37_79b9) >> (32 - bits);
    (hash >> 5, hash & 31)
}

impl Filter {
    pub(super) fn new() -> Self {
        let filter = Self {
            level: AtomicUsize::new(0),
            bitmaps: [const { OnceLock::new() }; LEVELS],
            shared: [const { OnceLock::new() }; LEVELS],
            noted: AtomicUsize::new(0),
        };
        filter.make(0);
        filter
    }

    fn make(&self, level: usize) {
        let words = 1 << (FIRST as usize - 5 + level);
        self.bitmaps[level].get_or_init(|| (0..words).map(|_| AtomicU32::new(0)).collect());
        self.shared[level].get_or_init(|| (0..words * 32).map(|_| AtomicU16::new(0)).collect());
    }

    #[inline(always)]
    fn bitmap(&self) -> (usize, &[AtomicU32]) {
        let level = self.level.load(Ordering::Acquire) % LEVELS;
        (level, self.bitmaps[level].get().map_or(&[], |bits| bits))
    }

    /// Returns false if a key is certainly not stored.
    #[inline(always)]
    pub(super) fn may_hold(&self, key: u32) -> bool {
        let (level, bitmap) = self.bitmap();
        let (word, bit) = place(level, key);
        bitmap
            .get(word as usize)
            .is_some_and(|word| word.load(Ordering::Relaxed) >> bit & 1 != 0)
    }

    /// Checks 16 keys: 0 for each key that is certainly not stored.
    #[inline(always)]
    pub(super) fn may_hold_16<L: Lanes>(&self, lanes: L, keys: &[u32; 16]) -> [u32; 16] {
        let (level, bitmap) = self.bitmap();
        let words = keys.map(|key| place(level, key).0);
        let mut bits = lanes.gather_shared(bitmap, &words);
        for (bits, key) in bits.iter_mut().zip(keys) {
            *bits = *bits >> place(level, *key).1 & 1;
        }
        bits
    }

    /// Returns true if another key would make the bitmap too full and a larger one exists.
    pub(super) fn is_full(&self) -> bool {
        let level = self.level.load(Ordering::Relaxed);
        let room = 1 << (FIRST - SPARE + level as u32);
        self.noted.load(Ordering::Relaxed) >= room && level + 1 < LEVELS
    }

    /// Switches to a bitmap of twice the length, filled with these keys. Only control calls this.
    pub(super) fn grow(&self, keys: impl Iterator<Item = u32>) {
        let level = self.level.load(Ordering::Relaxed) + 1;
        self.make(level);
        self.noted.store(0, Ordering::Relaxed);
        for key in keys {
            self.note_in(level, key);
        }
        self.level.store(level, Ordering::Release);
    }

    /// Adds a key. Only control calls this, once per key.
    pub(super) fn note(&self, key: u32) {
        self.note_in(self.level.load(Ordering::Relaxed), key);
    }

    fn note_in(&self, level: usize, key: u32) {
        self.noted.fetch_add(1, Ordering::Relaxed);
        let (word, bit) = place(level, key);
        let Some((bits, shared)) = self.place_of(level, word, bit) else {
            return;
        };
        // A saturated bit stays set for good, which only costs full lookups.
        let by = shared.load(Ordering::Relaxed).saturating_add(1);
        shared.store(by, Ordering::Relaxed);
        bits.fetch_or(1 << bit, Ordering::Release);
    }

    /// Removes a key that [`note`](Self::note) added. Only control calls this.
    pub(super) fn forget(&self, key: u32) {
        self.noted.fetch_sub(1, Ordering::Relaxed);
        let level = self.level.load(Ordering::Relaxed);
        let (word, bit) = place(level, key);
        let Some((bits, shared)) = self.place_of(level, word, bit) else {
            return;
        };
        match shared.load(Ordering::Relaxed) {
            u16::MAX => {}
            by => shared.store(by.saturating_sub(1), Ordering::Relaxed),
        }
        if shared.load(Ordering::Relaxed) == 0 {
            bits.fetch_and(!(1 << bit), Ordering::Release);
        }
    }

    fn place_of(&self, level: usize, word: u32, bit: u32) -> Option<(&AtomicU32, &AtomicU16)> {
        let bits = self.bitmaps[level].get()?.get(word as usize)?;
        let shared = self.shared[level].get()?.get((word << 5 | bit) as usize)?;
        Some((bits, shared))
    }
}
