//! Compares a key with the many small numbers of a cache line at once, and searches for 16 keys at once.
//!
//! A line's numbers lie in its words as in memory, the first in the lowest bits, from quarter
//! `at` of the line on; behind the fourth quarter there are none. The answer has a bit for each,
//! the first in bit 0: set where the number is at most the key. Its other bits mean nothing.
//!
//! Words are loaded relaxed, each as a whole; a line that changes meanwhile may be seen partly
//! changed.

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

/// The compares of an instruction set. Only [`widest`](crate::widest) gives one away, and only
/// where the processor has it.
pub trait Lanes: Copy {
    /// Long numbers are better squeezed before they are searched.
    const SQUEEZES: bool = false;

    /// [`Lanes::pick`] costs less than some loads.
    const PICKS: bool = false;

    /// Which of 32 bytes are at most `key`. `at` is even for more than 16.
    fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32;

    /// Which of 16 numbers of 16 bits are at most `key`. `at` is even for more than 8.
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32;

    /// Which of 10 numbers of 32 bits are at most `key`. `at` is even, and 0 for more than 8.
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32;

    /// Which of a line's 8 numbers of 64 bits are at most `key`; the less significant word of each comes
    /// first.
    #[inline(always)]
    fn at_most_u64(self, line: &Line, key: u64) -> u32 {
        let (numbers, _) = line.as_chunks::<2>();
        let bits = numbers.iter().enumerate().map(|(at, [low, high])| {
            let (low, high) = (low.load(Ordering::Relaxed), high.load(Ordering::Relaxed));
            u32::from(u64::from(high) << 32 | u64::from(low) <= key) << at
        });
        bits.sum()
    }

    /// How many of 16 numbers are at most `key`.
    #[inline(always)]
    fn rank(self, numbers: &[u32; 16], key: u32) -> u32 {
        numbers.iter().map(|number| u32::from(*number <= key)).sum()
    }

    /// How many of 8 numbers are at most `key`.
    #[inline(always)]
    fn rank_u64(self, numbers: &[u64; 8], key: u64) -> u32 {
        numbers.iter().map(|number| u32::from(*number <= key)).sum()
    }

    /// The entries of a table at 16 places, which are below 32.
    #[inline(always)]
    fn pick(self, table: &[u64; 32], places: &[u32; 16]) -> [u64; 16] {
        let mut found = [0; 16];
        for (found, place) in found.iter_mut().zip(places) {
            *found = table[*place as usize % 32];
        }
        found
    }

    /// Which of 16 places a word has a bit set at: a bit for each, the first in bit 0, and no others. Places
    /// are below 32.
    #[inline(always)]
    fn marked(self, marks: u32, places: &[u32; 16]) -> u32 {
        let bits = places.iter().enumerate();
        bits.map(|(at, place)| (marks >> (place % 32) & 1) << at)
            .sum()
    }

    /// For each of 16 keys how many of the first 31 numbers are at most it. The numbers are in order.
    #[inline(always)]
    fn few_ranks(self, numbers: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
        halve(numbers, numbers, keys)
    }

    /// The same of longer numbers.
    #[inline(always)]
    fn few_ranks_u64(self, numbers: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        halve(numbers, numbers, keys)
    }

    /// For each of 16 keys how many of `numbers` are at most it; numbers that were added to fill the last
    /// part are counted or not. They are as [`parted`] gives them with lines of 16.
    #[inline(always)]
    fn ranks(self, numbers: &[u32], every: &Every, keys: &[u32; 16]) -> [u32; 16] {
        halve(numbers, &every.of_32, keys)
    }

    /// The same of longer numbers, with lines of 8; `every` as [`parted`] gives it.
    #[inline(always)]
    fn ranks_u64(self, numbers: &[u64], every: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        halve(numbers, every, keys)
    }

    /// The entries of a table at 16 places; beyond its end the last one, and of an empty one 0.
    #[inline(always)]
    fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
        let last = table.len().saturating_sub(1);
        places.map(|place| table.get((place as usize).min(last)).copied().unwrap_or(0))
    }

    /// The same of a table that others write to meanwhile; each entry is loaded relaxed.
    #[inline(always)]
    fn gather_shared(self, table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
        let last = table.len().saturating_sub(1);
        let entry = |place: u32| table.get((place as usize).min(last));
        places.map(|place| entry(place).map_or(0, |entry| entry.load(Ordering::Relaxed)))
    }

    /// The numbers in 16 rows of so many parts of 16 bytes, column by column, four in a part: each of 4
    /// bytes, the most significant first.
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

    /// The numbers of 16 bytes in such rows, `at` bytes from their beginning on, the most significant byte
    /// first; those at the rows' ends where they would lie beyond them. Rows have one part at least.
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

    /// The upper halves of 16 numbers.
    #[inline(always)]
    fn highs(self, numbers: &[u128; 16]) -> [u64; 16] {
        let mut halves = [0; 16];
        for (half, number) in halves.iter_mut().zip(numbers) {
            *half = (number >> 64) as u64;
        }
        halves
    }

    /// The uppermost quarters of 16 numbers.
    #[inline(always)]
    fn tops(self, numbers: &[u128; 16]) -> [u32; 16] {
        let mut tops = [0; 16];
        for (top, number) in tops.iter_mut().zip(numbers) {
            *top = (number >> 96) as u32;
        }
        tops
    }

    /// The upper halves of 16 numbers, as [`Squeeze::number`] has them.
    #[inline(always)]
    fn squeeze(self, numbers: &[u128; 16], squeeze: &Squeeze) -> [u32; 16] {
        numbers.map(|number| squeeze.number((number >> 64) as u64))
    }

    /// Which of 16 numbers are 0: a bit for each, the first in bit 0, and no others.
    #[inline(always)]
    fn zeros(self, numbers: &[u32; 16]) -> u32 {
        let bits = numbers.iter().enumerate();
        bits.map(|(at, number)| u32::from(*number == 0) << at).sum()
    }

    /// The places of the bits that are set among the lowest 16, in order; what lies behind them means nothing.
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

    /// Which of 8 words are `key` above their lowest `SHIFT` bits: a bit for each, the first in bit 0,
    /// and no others.
    #[inline(always)]
    fn alike<const SHIFT: u32>(self, words: &[AtomicU64; 8], key: u64) -> u32 {
        let bits = words.iter().enumerate().map(|(at, word)| {
            let word = word.load(Ordering::Relaxed);
            u32::from(word >> SHIFT == key) << at
        });
        bits.sum()
    }

    /// Which quarters of a line are `key`, the least significant word first: a bit for each, the first in
    /// bit 0, and no others.
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

    /// How many of the first `lanes` bits are set; those that are set come first. `lanes` is at
    /// most 31.
    #[inline(always)]
    fn count(self, bits: u32, lanes: u32) -> u32 {
        (bits & ((1 << lanes) - 1)).trailing_ones()
    }

    /// The 16 bits that lie `place` bytes behind the beginning of the line; `place` is even.
    #[inline(always)]
    fn value(self, line: &Line, place: u32) -> u16 {
        let word = line[(place / 4) as usize % 16].load(Ordering::Relaxed);
        (word >> (place % 4 * 8)) as u16
    }
}

/// Numbers in order as [`Lanes::ranks`] searches them: filled up with the `greatest` to 32 parts of the same
/// length, which is 1, or a power of two of at least a `line`; and the last number of each part.
pub fn parted<T: Copy>(mut numbers: Vec<T>, line: usize, greatest: T) -> (Vec<T>, [T; 32]) {
    let len = match (numbers.len() + 1).div_ceil(32).next_power_of_two() {
        1 => 1,
        more => more.max(line),
    };
    numbers.resize(len * 32, greatest);
    let every = core::array::from_fn(|part| numbers[(part + 1) * len - 1]);
    (numbers, every)
}

/// With what a search among [`parted`] numbers begins.
#[derive(Clone, Copy, Debug)]
pub struct Every {
    /// The last number of each part.
    of_32: [u32; 32],
    /// The last ones of the halves of parts; nothing where parts are one number.
    of_64: [u32; 64],
}

impl Every {
    /// Of numbers with the last ones of their parts.
    pub fn new(numbers: &[u32], of_32: [u32; 32]) -> Self {
        let len = numbers.len() / 64;
        let last = |half: usize| numbers.get(((half + 1) * len).wrapping_sub(1)).copied();
        Self {
            of_32,
            of_64: core::array::from_fn(|half| last(half).unwrap_or(u32::MAX)),
        }
    }
}

/// What the program was built for: SSE2 on x86-64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

/// [`Lanes::ranks`] of any numbers: first among those of `every`, then by halves.
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

/// Eight bytes of a quarter of the line, or of the quarter beside it.
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
            // A saturating difference of zero says "at most".
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
            // SSE2 compares signed numbers: turn the sign bits over.
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
