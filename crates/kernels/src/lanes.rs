//! SIMD comparisons: compares a key with the small numbers of a cache line, and searches for 16 keys at once.
//!
//! The numbers of a line lie in its words in memory order, the first in the lowest bits, beginning at quarter
//! `at` of the line; they end with the fourth quarter. A result has a bit per number, the first in bit 0, set
//! if the number is at most the key. Its other bits are undefined.
//!
//! Words are loaded relaxed, each as a whole; a line that changes concurrently may be seen partly changed.

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
mod squeeze;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod v3;
#[cfg(target_arch = "x86_64")]
mod v4;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub use squeeze::Squeeze;
#[cfg(target_arch = "x86_64")]
pub(crate) use {v3::V3, v4::V4};

/// A cache line of a shared table.
pub type Line = [AtomicU32; 16];

/// Comparisons of an instruction set. Only [`widest`](crate::widest) creates a value, and only if the
/// processor has the instructions.
pub trait Lanes: Copy {
    /// True if 64-bit numbers should be compressed before a search.
    const SQUEEZES: bool = false;

    /// True if [`Lanes::pick`] is cheaper than several loads.
    const PICKS: bool = false;

    /// Returns which of 32 bytes are at most `key`. `at` must be even for more than 16.
    fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32;

    /// Returns which of 16 16-bit numbers are at most `key`. `at` must be even for more than 8.
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32;

    /// Returns which of 10 32-bit numbers are at most `key`. `at` must be even, and 0 for more than 8.
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32;

    /// Returns which of a line's 8 64-bit numbers are at most `key`; the less significant word of a number
    /// comes first.
    #[inline(always)]
    fn at_most_u64(self, line: &Line, key: u64) -> u32 {
        let (numbers, _) = line.as_chunks::<2>();
        let bits = numbers.iter().enumerate().map(|(at, [low, high])| {
            let (low, high) = (low.load(Ordering::Relaxed), high.load(Ordering::Relaxed));
            u32::from(u64::from(high) << 32 | u64::from(low) <= key) << at
        });
        bits.sum()
    }

    /// Returns the rank of `key` among 16 numbers: the count of numbers up to `key`.
    #[inline(always)]
    fn rank(self, numbers: &[u32; 16], key: u32) -> u32 {
        numbers.iter().map(|number| u32::from(*number <= key)).sum()
    }

    /// Returns the rank of `key` among 8 numbers.
    #[inline(always)]
    fn rank_u64(self, numbers: &[u64; 8], key: u64) -> u32 {
        numbers.iter().map(|number| u32::from(*number <= key)).sum()
    }

    /// Returns the elements of a table at 16 indices below 32.
    #[inline(always)]
    fn pick(self, table: &[u64; 32], places: &[u32; 16]) -> [u64; 16] {
        let mut found = [0; 16];
        for (found, place) in found.iter_mut().zip(places) {
            *found = table[*place as usize % 32];
        }
        found
    }

    /// Returns a bit for each of 16 indices (below 32), set if `marks` has the bit of that index; no other
    /// bits are set.
    #[inline(always)]
    fn marked(self, marks: u32, places: &[u32; 16]) -> u32 {
        let bits = places.iter().enumerate();
        bits.map(|(at, place)| (marks >> (place % 32) & 1) << at)
            .sum()
    }

    /// Returns the ranks of 16 keys among the first 31 numbers, which must be sorted.
    #[inline(always)]
    fn few_ranks(self, numbers: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
        halve(numbers, numbers, keys)
    }

    /// Returns the ranks of 16 64-bit keys among the first 31 numbers.
    #[inline(always)]
    fn few_ranks_u64(self, numbers: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        halve(numbers, numbers, keys)
    }

    /// Returns the ranks of 16 keys among `numbers`; padding may be counted. `numbers` must come from
    /// [`parted`] with lines of 16.
    #[inline(always)]
    fn ranks(self, numbers: &[u32], every: &Every, keys: &[u32; 16]) -> [u32; 16] {
        halve(numbers, &every.of_32, keys)
    }

    /// Returns the ranks of 16 64-bit keys among `numbers`; `numbers` and `every` must come from [`parted`]
    /// with lines of 8.
    #[inline(always)]
    fn ranks_u64(self, numbers: &[u64], every: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        halve(numbers, every, keys)
    }

    /// Returns the elements of a table at 16 indices; the last element for an index beyond its end, 0 for an
    /// empty table.
    #[inline(always)]
    fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
        let last = table.len().saturating_sub(1);
        places.map(|place| table.get((place as usize).min(last)).copied().unwrap_or(0))
    }

    /// Returns the elements at 16 indices of a table that other threads modify; each element is loaded
    /// relaxed.
    #[inline(always)]
    fn gather_shared(self, table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
        let last = table.len().saturating_sub(1);
        let entry = |place: u32| table.get((place as usize).min(last));
        places.map(|place| entry(place).map_or(0, |entry| entry.load(Ordering::Relaxed)))
    }

    /// Transposes 16 rows of `PARTS` parts: returns the columns of 32-bit numbers, four per part, read most
    /// significant byte first.
    #[inline(always)]
    fn columns<const PARTS: usize>(
        self,
        rows: &[&[[u8; 16]; PARTS]; 16],
    ) -> [[[u32; 16]; 4]; PARTS] {
        let mut columns = [[[0; 16]; 4]; PARTS];
        for (at, row) in rows.iter().enumerate() {
            for (columns, part) in columns.iter_mut().zip(*row) {
                let (numbers, _) = part.as_chunks();
                for (column, number) in columns.iter_mut().zip(numbers) {
                    column[at] = u32::from_be_bytes(*number);
                }
            }
        }
        columns
    }

    /// Returns the 128-bit number at byte offset `at` of each row, most significant byte first; offsets
    /// beyond the row's end are limited to it. A row has at least one part.
    #[inline(always)]
    fn wide<const PARTS: usize>(self, rows: &[&[[u8; 16]; PARTS]; 16], at: usize) -> [u128; 16] {
        let mut numbers = [0; 16];
        for (number, row) in numbers.iter_mut().zip(rows) {
            let bytes = row.as_flattened();
            let at = at.min(bytes.len().saturating_sub(16));
            let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
            *number = bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes));
        }
        numbers
    }

    /// Returns the upper halves of 16 numbers.
    #[inline(always)]
    fn highs(self, numbers: &[u128; 16]) -> [u64; 16] {
        let mut halves = [0; 16];
        for (half, number) in halves.iter_mut().zip(numbers) {
            *half = (number >> 64) as u64;
        }
        halves
    }

    /// Returns the upper 32 bits of 16 numbers.
    #[inline(always)]
    fn tops(self, numbers: &[u128; 16]) -> [u32; 16] {
        let mut tops = [0; 16];
        for (top, number) in tops.iter_mut().zip(numbers) {
            *top = (number >> 96) as u32;
        }
        tops
    }

    /// Compresses the upper halves of 16 numbers with [`Squeeze::number`].
    #[inline(always)]
    fn squeeze(self, numbers: &[u128; 16], squeeze: &Squeeze) -> [u32; 16] {
        numbers.map(|number| squeeze.number((number >> 64) as u64))
    }

    /// Returns a bit for each of 16 numbers that is 0, the first in bit 0; no other bits are set.
    #[inline(always)]
    fn zeros(self, numbers: &[u32; 16]) -> u32 {
        let bits = numbers.iter().enumerate();
        bits.map(|(at, number)| u32::from(*number == 0) << at).sum()
    }

    /// Returns the positions of the bits set among the lowest 16, in order; the elements after them are
    /// undefined.
    #[inline(always)]
    fn places(self, mut bits: u32) -> [u8; 16] {
        let mut places = [0; 16];
        bits &= 0xffff;
        for place in &mut places {
            if bits == 0 {
                break;
            }
            *place = bits.trailing_zeros() as u8;
            bits &= bits - 1;
        }
        places
    }

    /// Returns a bit for each of 8 words that equals `key` above its lowest `SHIFT` bits, the first in bit 0;
    /// no other bits are set.
    #[inline(always)]
    fn alike<const SHIFT: u32>(self, words: &[AtomicU64; 8], key: u64) -> u32 {
        let bits = words.iter().enumerate().map(|(at, word)| {
            let word = word.load(Ordering::Relaxed);
            u32::from(word >> SHIFT == key) << at
        });
        bits.sum()
    }

    /// Returns a bit for each quarter of a line that equals `key` (least significant word first), the first
    /// in bit 0; no other bits are set.
    #[inline(always)]
    fn alike_wide(self, line: &Line, key: u128) -> u32 {
        let (quarters, _) = line.as_chunks::<4>();
        let bits = quarters.iter().enumerate().map(|(at, quarter)| {
            let words = quarter.iter().zip(0..4);
            let others = words.fold(0, |others, (word, part)| {
                others | word.load(Ordering::Relaxed) ^ (key >> (part * 32)) as u32
            });
            u32::from(others == 0) << at
        });
        bits.sum()
    }

    /// Counts the set bits among the first `lanes` bits, at most 31; the set bits must come first.
    #[inline(always)]
    fn count(self, bits: u32, lanes: u32) -> u32 {
        (bits & ((1 << lanes) - 1)).trailing_ones()
    }

    /// Returns the 16 bits at byte offset `place` of the line; `place` must be even.
    #[inline(always)]
    fn value(self, line: &Line, place: u32) -> u16 {
        let word = line[(place / 4) as usize % 16].load(Ordering::Relaxed);
        (word >> (place % 4 * 8)) as u16
    }
}

/// Arranges sorted numbers for [`Lanes::ranks`]: pads them with `greatest` to 32 sections of equal length,
/// which is 1 or a power of two of at least `line`. Also returns the last number of each section.
pub fn parted<T: Copy>(mut numbers: Vec<T>, line: usize, greatest: T) -> (Vec<T>, [T; 32]) {
    let len = match (numbers.len() + 1).div_ceil(32).next_power_of_two() {
        1 => 1,
        more => more.max(line),
    };
    numbers.resize(len * 32, greatest);
    let every = core::array::from_fn(|part| numbers[(part + 1) * len - 1]);
    (numbers, every)
}

/// Start of a search among [`parted`] numbers.
#[derive(Clone, Copy, Debug)]
pub struct Every {
    /// The last number of each section.
    of_32: [u32; 32],
    /// The last number of each half section; undefined if a section is one number.
    of_64: [u32; 64],
}

impl Every {
    /// Creates the start from the numbers and the last numbers of their sections.
    pub fn new(numbers: &[u32], of_32: [u32; 32]) -> Self {
        let len = numbers.len() / 64;
        let last = |half: usize| numbers.get(((half + 1) * len).wrapping_sub(1)).copied();
        Self {
            of_32,
            of_64: core::array::from_fn(|half| last(half).unwrap_or(u32::MAX)),
        }
    }
}

/// The baseline instruction set of the build: SSE2 on x86-64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

/// Implements [`Lanes::ranks`] for any numbers: first among `every`, then by bisection.
#[inline(always)]
fn halve<T: Copy + Ord, const PARTS: usize>(
    numbers: &[T],
    every: &[T; PARTS],
    keys: &[T; 16],
) -> [u32; 16] {
    let stride = numbers.len() / PARTS;
    keys.map(|key| {
        let parts = every
            .iter()
            .take(PARTS - 1)
            .map(|last| usize::from(*last <= key));
        let mut found = parts.sum::<usize>() * stride;
        let mut step = stride / 2;
        while step > 0 {
            let number = numbers.get(found + step - 1);
            found += step * usize::from(number.is_some_and(|number| *number <= key));
            step /= 2;
        }
        found as u32
    })
}

/// Loads eight bytes of a quarter of the line, or of its neighbour.
#[inline(always)]
fn load(line: &Line, at: u32, word: u32) -> u64 {
    let quarter = at | (word / 2);
    let place = (quarter * 4 + word % 2 * 2) as usize;
    let low = line[place % 16].load(Ordering::Relaxed);
    let high = line[(place + 1) % 16].load(Ordering::Relaxed);
    u64::from(low) | (u64::from(high) << 32)
}

#[cfg(not(target_arch = "x86_64"))]
impl Lanes for Baseline {
    fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32 {
        portable::at_most_u8(line, at, key)
    }

    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
        portable::at_most_u16(line, at, key)
    }

    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
        portable::at_most_u32(line, at, key)
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Baseline {
    #[inline(always)]
    fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32 {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_max_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
        };
        // SAFETY: SSE2 belongs to the baseline of x86-64; the operations touch no memory.
        unsafe {
            let keys = _mm_set1_epi8(key as i8);
            let low = _mm_set_epi64x(load(line, at, 1) as i64, load(line, at, 0) as i64);
            let high = _mm_set_epi64x(load(line, at, 3) as i64, load(line, at, 2) as i64);
            let low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(low, keys), keys)) as u32;
            let high = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(high, keys), keys)) as u32;
            low | (high << 16)
        }
    }

    #[inline(always)]
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
        use core::arch::x86_64::{
            _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x, _mm_set1_epi16,
            _mm_setzero_si128, _mm_subs_epu16,
        };
        // SAFETY: SSE2 belongs to the baseline of x86-64; the operations touch no memory.
        unsafe {
            let (keys, zero) = (_mm_set1_epi16(key as i16), _mm_setzero_si128());
            let low = _mm_set_epi64x(load(line, at, 1) as i64, load(line, at, 0) as i64);
            let high = _mm_set_epi64x(load(line, at, 3) as i64, load(line, at, 2) as i64);
            // A saturating difference of zero means "at most".
            let low = _mm_cmpeq_epi16(_mm_subs_epu16(low, keys), zero);
            let high = _mm_cmpeq_epi16(_mm_subs_epu16(high, keys), zero);
            _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
        }
    }

    #[inline(always)]
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
        use core::arch::x86_64::{
            _mm_cmpgt_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set_epi64x,
            _mm_set1_epi32, _mm_xor_si128,
        };
        // SAFETY: SSE2 belongs to the baseline of x86-64; the operations touch no memory.
        unsafe {
            // SSE2 compares signed numbers: invert the sign bits.
            let sign = _mm_set1_epi32(i32::MIN);
            let keys = _mm_set1_epi32((key ^ (1 << 31)) as i32);
            let more = |high: u64, low: u64| {
                let four = _mm_set_epi64x(high as i64, low as i64);
                _mm_cmpgt_epi32(_mm_xor_si128(four, sign), keys)
            };
            let first = _mm_packs_epi32(
                more(load(line, at, 1), load(line, at, 0)),
                more(load(line, at, 3), load(line, at, 2)),
            );
            let last = _mm_packs_epi32(more(0, load(line, at, 4)), sign);
            !(_mm_movemask_epi8(_mm_packs_epi16(first, last)) as u32)
        }
    }
}
