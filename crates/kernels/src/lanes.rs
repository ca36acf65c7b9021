//! Compares a key with the many small numbers of a cache line at once.
//!
//! The numbers lie in the line's words as in memory, the first in the lowest bits, from quarter
//! `at` of the line on; behind the fourth quarter there are none. The answer has a bit for each,
//! the first in bit 0: set where the number is at most the key. Its other bits mean nothing.
//!
//! Words are loaded relaxed, each as a whole; a line that changes meanwhile may be seen partly
//! changed.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A cache line of a shared table.
pub type Line = [AtomicU32; 16];

/// The compares of an instruction set. Only [`widest`](crate::widest) gives one away, and only
/// where the processor has it.
pub trait Lanes: Copy {
    /// Which of 32 bytes are at most `key`. `at` is even for more than 16.
    fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32;

    /// Which of 16 numbers of 16 bits are at most `key`. `at` is even for more than 8.
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32;

    /// Which of 10 numbers of 32 bits are at most `key`. `at` is even, and 0 for more than 8.
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32;

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

    /// For each of 16 keys the row at its rank, which is how many of the first 31 numbers are at most
    /// it. The numbers are in order.
    #[inline(always)]
    fn rows(self, numbers: &[u32; 32], rows: &[u64; 32], keys: &[u32; 16]) -> [u64; 16] {
        let mut found = [0; 16];
        for (found, key) in found.iter_mut().zip(keys) {
            let numbers = numbers.iter().take(31);
            let rank: usize = numbers.map(|number| usize::from(*number <= *key)).sum();
            *found = rows[rank % 32];
        }
        found
    }

    /// For each of 16 keys how many of `numbers` are at most it. The numbers are in order, 32 times 1
    /// or a power of two from 16 on; `every` has the last of each 32nd of them. The last of all may be
    /// counted or not.
    #[inline(always)]
    fn ranks(self, numbers: &[u32], every: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
        let stride = numbers.len() / 32;
        let mut ranks = [0; 16];
        for (rank, key) in ranks.iter_mut().zip(keys) {
            let parts = every.iter().take(31).map(|last| usize::from(last <= key));
            let mut found = parts.sum::<usize>() * stride;
            let mut step = stride / 2;
            while step > 0 {
                let number = numbers.get(found + step - 1);
                found += step * usize::from(number.is_some_and(|number| number <= key));
                step /= 2;
            }
            *rank = found as u32;
        }
        ranks
    }

    /// The same of longer numbers: 16 times 1 or a power of two from 8 on, `every` 16th.
    #[inline(always)]
    fn ranks_u64(self, numbers: &[u64], every: &[u64; 16], keys: &[u64; 16]) -> [u32; 16] {
        let stride = numbers.len() / 16;
        let mut ranks = [0; 16];
        for (rank, key) in ranks.iter_mut().zip(keys) {
            let parts = every.iter().take(15).map(|last| usize::from(last <= key));
            let mut found = parts.sum::<usize>() * stride;
            let mut step = stride / 2;
            while step > 0 {
                let number = numbers.get(found + step - 1);
                found += step * usize::from(number.is_some_and(|number| number <= key));
                step /= 2;
            }
            *rank = found as u32;
        }
        ranks
    }

    /// The entries of a table at 16 places; beyond its end the last one. It is not empty.
    #[inline(always)]
    fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
        let last = table.len() - 1;
        places.map(|place| table[(place as usize).min(last)])
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

/// What the program was built for: SSE2 on x86-64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

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

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::{V3, V4};

#[cfg(target_arch = "x86_64")]
mod wide {
    use core::arch::asm;
    use core::arch::x86_64::{
        __m256i, __m512i, _mm_movemask_epi8, _mm_packs_epi16, _mm256_castsi256_ps,
        _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32,
        _mm256_extracti128_si256, _mm256_max_epu8, _mm256_max_epu16, _mm256_max_epu32,
        _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_set1_epi8, _mm256_set1_epi16,
        _mm256_set1_epi32, _mm256_storeu_si256, _mm512_add_epi32, _mm512_add_epi64,
        _mm512_castsi512_si256, _mm512_cmpeq_epi64_mask, _mm512_cmple_epu8_mask,
        _mm512_cmple_epu16_mask, _mm512_cmple_epu32_mask, _mm512_cmple_epu64_mask,
        _mm512_cvtepi64_epi32, _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64,
        _mm512_i32gather_epi32, _mm512_i64gather_epi64, _mm512_loadu_si512, _mm512_mask_add_epi32,
        _mm512_mask_add_epi64, _mm512_mask_blend_epi64, _mm512_min_epu32, _mm512_mullo_epi32,
        _mm512_mullo_epi64, _mm512_permutex2var_epi32, _mm512_permutex2var_epi64, _mm512_set1_epi8,
        _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
        _mm512_srli_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask,
    };
    use core::sync::atomic::AtomicU64;

    use super::{Lanes, Line};

    /// AVX2; made only where it was detected.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct V3(());

    /// AVX-512; made only where it was detected.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct V4(());

    impl V3 {
        /// # Safety
        /// The processor has AVX2, BMI1, BMI2, LZCNT and POPCNT.
        #[inline(always)]
        pub(crate) unsafe fn detected() -> Self {
            Self(())
        }
    }

    impl V4 {
        /// # Safety
        /// The processor has what `V3` asks for, and AVX-512 F, BW, DQ and VL.
        #[inline(always)]
        pub(crate) unsafe fn detected() -> Self {
            Self(())
        }
    }

    /// Two quarters of a line: `at`, and the one that makes an even number a pair.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn half(line: &Line, at: u32) -> __m256i {
        let quarter = |at: u32| line[(at % 4) as usize * 4..].as_ptr();
        let value: __m256i;
        // SAFETY: both quarters of 16 bytes lie in the line. The load is written in assembly
        // because others may store to the words meanwhile: like relaxed loads it sees each word
        // old or new.
        unsafe {
            asm!(
                "vmovdqu {value:x}, [{low}]",
                "vinserti128 {value}, {value}, [{high}], 1",
                value = out(ymm_reg) value,
                low = in(reg) quarter(at),
                high = in(reg) quarter(at | 1),
                options(nostack, readonly, preserves_flags),
            );
        }
        value
    }

    /// A whole line.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn whole(line: &Line) -> __m512i {
        // SAFETY: the line has 64 bytes.
        unsafe { load(line.as_ptr().cast()) }
    }

    /// 64 bytes.
    ///
    /// # Safety
    /// They may be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(address: *const u8) -> __m512i {
        let value: __m512i;
        // SAFETY: the caller's. In assembly as in `half`.
        unsafe {
            asm!(
                "vmovdqu64 {value}, [{address}]",
                value = lateout(zmm_reg) value,
                address = in(reg) address,
                options(nostack, readonly, preserves_flags),
            );
        }
        value
    }

    /// For each of 16 keys how many of 32 numbers but the last are at most it.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn rank_in(first: __m512i, second: __m512i, keys: __m512i) -> __m512i {
        let mut rank = _mm512_setzero_si512();
        // A binary search: each step looks at the last of as many numbers as it may skip.
        for step in [16, 8, 4, 2, 1] {
            let at = _mm512_add_epi32(rank, _mm512_set1_epi32(step - 1));
            let number = _mm512_permutex2var_epi32(first, at, second);
            let most = _mm512_cmple_epu32_mask(number, keys);
            rank = _mm512_mask_add_epi32(rank, most, rank, _mm512_set1_epi32(step));
        }
        rank
    }

    /// The 16 bits that lie `place` bytes behind the beginning of the line.
    #[inline(always)]
    fn value(line: &Line, place: u32) -> u16 {
        let address = line.as_ptr();
        let place = u64::from(place & 62);
        let value: u32;
        // SAFETY: the two bytes lie in the line, and in one word of it. In assembly as in `half`.
        unsafe {
            asm!(
                "movzx {value:e}, word ptr [{address} + {place}]",
                value = lateout(reg) value,
                address = in(reg) address,
                place = in(reg) place,
                options(nostack, readonly, preserves_flags),
            );
        }
        value as u16
    }

    impl Lanes for V3 {
        #[inline(always)]
        fn count(self, bits: u32, lanes: u32) -> u32 {
            (bits & ((1 << lanes) - 1)).count_ones()
        }

        #[inline(always)]
        fn value(self, line: &Line, place: u32) -> u16 {
            value(line, place)
        }

        #[inline(always)]
        fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32 {
            // SAFETY: there is a `V3` only where AVX2 was detected.
            unsafe {
                let keys = _mm256_set1_epi8(key as i8);
                let larger = _mm256_max_epu8(half(line, at), keys);
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(larger, keys)) as u32
            }
        }

        #[inline(always)]
        fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
            // SAFETY: there is a `V3` only where AVX2 was detected.
            unsafe {
                let keys = _mm256_set1_epi16(key as i16);
                let larger = _mm256_max_epu16(half(line, at), keys);
                let most = _mm256_cmpeq_epi16(larger, keys);
                let (low, high) = (
                    _mm256_castsi256_si128(most),
                    _mm256_extracti128_si256::<1>(most),
                );
                _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
            }
        }

        #[inline(always)]
        fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
            // SAFETY: there is a `V3` only where AVX2 was detected.
            unsafe {
                let keys = _mm256_set1_epi32(key as i32);
                let bits = |numbers| {
                    let most = _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, keys), keys);
                    _mm256_movemask_ps(_mm256_castsi256_ps(most)) as u32
                };
                bits(half(line, at)) | (bits(half(line, at | 2)) << 8)
            }
        }
    }

    impl Lanes for V4 {
        #[inline(always)]
        fn rank(self, numbers: &[u32; 16], key: u32) -> u32 {
            // SAFETY: there is a `V4` only where AVX-512 F was detected; 16 numbers are read, of 16.
            let bits = unsafe {
                let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
                _mm512_cmple_epu32_mask(numbers, _mm512_set1_epi32(key as i32))
            };
            bits.count_ones()
        }

        #[inline(always)]
        fn rows(self, numbers: &[u32; 32], rows: &[u64; 32], keys: &[u32; 16]) -> [u64; 16] {
            let mut found = [0; 16];
            // SAFETY: there is a `V4` only where AVX-512 F was detected; all that is read and written lies
            // in the arrays: 16 of 32 numbers twice, 8 of 32 rows four times, 16 keys, 16 words.
            unsafe {
                let first = _mm512_loadu_si512(numbers.as_ptr().cast());
                let second = _mm512_loadu_si512(numbers.as_ptr().add(16).cast());
                let keys = _mm512_loadu_si512(keys.as_ptr().cast());
                let rank = rank_in(first, second, keys);
                let quarter = |at: usize| _mm512_loadu_si512(rows.as_ptr().add(at * 8).cast());
                let quarters = [quarter(0), quarter(1), quarter(2), quarter(3)];
                let pick = |rank: __m256i| {
                    let rank = _mm512_cvtepu32_epi64(rank);
                    let low = _mm512_permutex2var_epi64(quarters[0], rank, quarters[1]);
                    let high = _mm512_permutex2var_epi64(quarters[2], rank, quarters[3]);
                    let upper = _mm512_test_epi64_mask(rank, _mm512_set1_epi64(16));
                    _mm512_mask_blend_epi64(upper, low, high)
                };
                let place: *mut u64 = found.as_mut_ptr();
                let low = pick(_mm512_castsi512_si256(rank));
                let high = pick(_mm512_extracti64x4_epi64::<1>(rank));
                _mm512_storeu_si512(place.cast(), low);
                _mm512_storeu_si512(place.add(8).cast(), high);
            }
            found
        }

        #[inline(always)]
        fn ranks(self, numbers: &[u32], every: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
            let stride = (numbers.len() / 32).min(1 << 24) as i32;
            let mut found = [0; 16];
            // SAFETY: there is a `V4` only where AVX-512 F was detected. What is gathered lies among the
            // numbers: 31 strides at most, and then the halves of one, which come to less than it.
            unsafe {
                let first = _mm512_loadu_si512(every.as_ptr().cast());
                let second = _mm512_loadu_si512(every.as_ptr().add(16).cast());
                let keys = _mm512_loadu_si512(keys.as_ptr().cast());
                let mut rank = rank_in(first, second, keys);
                rank = _mm512_mullo_epi32(rank, _mm512_set1_epi32(stride));
                let mut step = stride / 2;
                // A gather takes as long as a compare of a whole line for each key.
                while step >= 16 {
                    let at = _mm512_add_epi32(rank, _mm512_set1_epi32(step - 1));
                    let number = _mm512_i32gather_epi32::<4>(at, numbers.as_ptr().cast());
                    let most = _mm512_cmple_epu32_mask(number, keys);
                    rank = _mm512_mask_add_epi32(rank, most, rank, _mm512_set1_epi32(step));
                    step /= 2;
                }
                _mm512_storeu_si512(found.as_mut_ptr().cast(), rank);
            }
            if stride > 1 {
                let (lines, _) = numbers.as_chunks();
                for (found, key) in found.iter_mut().zip(keys) {
                    let line = lines.get(*found as usize / 16);
                    *found += line.map_or(0, |line| self.rank(line, *key));
                }
            }
            found
        }

        #[inline(always)]
        fn ranks_u64(self, numbers: &[u64], every: &[u64; 16], keys: &[u64; 16]) -> [u32; 16] {
            let stride = (numbers.len() / 16).min(1 << 24) as i64;
            let mut found = [0; 16];
            for (keys, found) in keys.chunks_exact(8).zip(found.chunks_exact_mut(8)) {
                // SAFETY: as in `ranks`, with 8 numbers of 64 bits at a time.
                unsafe {
                    let first = _mm512_loadu_si512(every.as_ptr().cast());
                    let second = _mm512_loadu_si512(every.as_ptr().add(8).cast());
                    let keys = _mm512_loadu_si512(keys.as_ptr().cast());
                    let mut rank = _mm512_setzero_si512();
                    for step in [8, 4, 2, 1] {
                        let at = _mm512_add_epi64(rank, _mm512_set1_epi64(step - 1));
                        let number = _mm512_permutex2var_epi64(first, at, second);
                        let most = _mm512_cmple_epu64_mask(number, keys);
                        rank = _mm512_mask_add_epi64(rank, most, rank, _mm512_set1_epi64(step));
                    }
                    rank = _mm512_mullo_epi64(rank, _mm512_set1_epi64(stride));
                    let mut step = stride / 2;
                    while step >= 8 {
                        let at = _mm512_add_epi64(rank, _mm512_set1_epi64(step - 1));
                        let number = _mm512_i64gather_epi64::<8>(at, numbers.as_ptr().cast());
                        let most = _mm512_cmple_epu64_mask(number, keys);
                        rank = _mm512_mask_add_epi64(rank, most, rank, _mm512_set1_epi64(step));
                        step /= 2;
                    }
                    let rank = _mm512_cvtepi64_epi32(rank);
                    _mm256_storeu_si256(found.as_mut_ptr().cast(), rank);
                }
            }
            if stride > 1 {
                let (lines, _) = numbers.as_chunks();
                for (found, key) in found.iter_mut().zip(keys) {
                    let line = lines.get(*found as usize / 8);
                    *found += line.map_or(0, |line| self.rank_u64(line, *key));
                }
            }
            found
        }

        #[inline(always)]
        fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
            let last = table.len() - 1;
            let last = i32::try_from(last).unwrap_or(i32::MAX);
            let mut found = [0; 16];
            // SAFETY: there is a `V4` only where AVX-512 F was detected; no place is beyond the last.
            unsafe {
                let places = _mm512_loadu_si512(places.as_ptr().cast());
                let places = _mm512_min_epu32(places, _mm512_set1_epi32(last));
                let entries = _mm512_i32gather_epi32::<4>(places, table.as_ptr().cast());
                _mm512_storeu_si512(found.as_mut_ptr().cast(), entries);
            }
            found
        }

        #[inline(always)]
        fn alike<const SHIFT: u32>(self, words: &[AtomicU64; 8], key: u64) -> u32 {
            // SAFETY: there is a `V4` only where AVX-512 F was detected; the words have 64 bytes.
            let bits = unsafe {
                let words = _mm512_srli_epi64::<SHIFT>(load(words.as_ptr().cast()));
                _mm512_cmpeq_epi64_mask(words, _mm512_set1_epi64(key as i64))
            };
            u32::from(bits)
        }

        #[inline(always)]
        fn rank_u64(self, numbers: &[u64; 8], key: u64) -> u32 {
            // SAFETY: there is a `V4` only where AVX-512 F was detected; 8 numbers are read, of 8.
            let bits = unsafe {
                let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
                _mm512_cmple_epu64_mask(numbers, _mm512_set1_epi64(key as i64))
            };
            bits.count_ones()
        }

        #[inline(always)]
        fn count(self, bits: u32, lanes: u32) -> u32 {
            (bits & ((1 << lanes) - 1)).count_ones()
        }

        #[inline(always)]
        fn value(self, line: &Line, place: u32) -> u16 {
            value(line, place)
        }

        #[inline(always)]
        fn at_most_u8(self, line: &Line, at: u32, key: u8) -> u32 {
            // SAFETY: there is a `V4` only where AVX-512 F and BW were detected.
            let bits = unsafe { _mm512_cmple_epu8_mask(whole(line), _mm512_set1_epi8(key as i8)) };
            (bits >> (at % 4 * 16)) as u32
        }

        #[inline(always)]
        fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
            // SAFETY: there is a `V4` only where AVX-512 F and BW were detected.
            let bits =
                unsafe { _mm512_cmple_epu16_mask(whole(line), _mm512_set1_epi16(key as i16)) };
            bits >> (at % 4 * 8)
        }

        #[inline(always)]
        fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
            // SAFETY: there is a `V4` only where AVX-512 F was detected.
            let bits =
                unsafe { _mm512_cmple_epu32_mask(whole(line), _mm512_set1_epi32(key as i32)) };
            u32::from(bits) >> (at % 4 * 4)
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::{Line, load};

    pub(super) fn at_most_u8(line: &Line, at: u32, key: u8) -> u32 {
        (0..32).fold(0, |bits, lane| {
            let number = (load(line, at, lane / 8) >> (lane % 8 * 8)) as u8;
            bits | (u32::from(number <= key) << lane)
        })
    }

    pub(super) fn at_most_u16(line: &Line, at: u32, key: u16) -> u32 {
        (0..16).fold(0, |bits, lane| {
            let number = (load(line, at, lane / 4) >> (lane % 4 * 16)) as u16;
            bits | (u32::from(number <= key) << lane)
        })
    }

    pub(super) fn at_most_u32(line: &Line, at: u32, key: u32) -> u32 {
        (0..10).fold(0, |bits, lane| {
            let number = (load(line, at, lane / 2) >> (lane % 2 * 32)) as u32;
            bits | (u32::from(number <= key) << lane)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Work, widest};
    use proptest::prelude::*;

    struct Compare<'a>(&'a Line, u32, u32);

    struct Value<'a>(&'a Line, u32);

    impl Work for Value<'_> {
        type Output = (u16, u32);

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> (u16, u32) {
            (lanes.value(self.0, self.1), lanes.count(0x3ff, self.1 / 2))
        }
    }

    impl Work for Compare<'_> {
        type Output = [u32; 3];

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> [u32; 3] {
            let Self(line, at, key) = self;
            masked(
                at,
                [
                    lanes.at_most_u8(line, at, key as u8),
                    lanes.at_most_u16(line, at, key as u16),
                    lanes.at_most_u32(line, at & 2, key),
                ],
            )
        }
    }

    struct Alike<'a>(&'a [AtomicU64; 8], u64);

    impl Work for Alike<'_> {
        type Output = u32;

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> u32 {
            lanes.alike::<31>(self.0, self.1)
        }
    }

    #[test]
    fn words_are_alike_above_their_low_bits() {
        let words = [5, 7, 5, 0, 5, 1 << 32, 6, 5].map(|high: u64| high << 31 | 9);
        let words = words.map(AtomicU64::new);

        for work in [Alike(&words, 5), Alike(&words, 1 << 32), Alike(&words, 4)] {
            let right = match work.1 {
                5 => 0b1001_0101,
                4 => 0,
                _ => 0b0010_0000,
            };
            assert_eq!(Alike(&words, work.1).run(Baseline), right);
            assert_eq!(widest(work), right);
        }
    }

    struct Rank<'a>(&'a [u32; 16], &'a [u64; 8], u64);

    impl Work for Rank<'_> {
        type Output = (u32, u32);

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> (u32, u32) {
            (
                lanes.rank(self.0, self.2 as u32),
                lanes.rank_u64(self.1, self.2),
            )
        }
    }

    proptest! {
        #[test]
        fn every_level_ranks_numbers_without_sign(
            narrow: [u32; 16],
            wide: [u64; 8],
            key: u64,
            lane in 0..8_usize,
        ) {
            for key in [key, wide[lane], u64::from(narrow[lane]), u64::MAX, 0] {
                let right = (
                    narrow.iter().filter(|one| **one <= key as u32).count() as u32,
                    wide.iter().filter(|one| **one <= key).count() as u32,
                );
                prop_assert_eq!(widest(Rank(&narrow, &wide, key)), right);
                prop_assert_eq!(Rank(&narrow, &wide, key).run(Baseline), right);
            }
        }
    }

    struct Rows<'a>(&'a [u32; 32], &'a [u64; 32], &'a [u32; 16]);

    impl Work for Rows<'_> {
        type Output = [u64; 16];

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> [u64; 16] {
            lanes.rows(self.0, self.1, self.2)
        }
    }

    proptest! {
        #[test]
        fn every_level_finds_the_row_of_a_key_s_rank(
            mut numbers: [u32; 32],
            rows: [u64; 32],
            mut keys: [u32; 16],
        ) {
            numbers.sort_unstable();
            for (key, number) in keys.iter_mut().step_by(2).zip(numbers.iter().step_by(4)) {
                *key = *number;
            }
            (keys[1], keys[3]) = (0, u32::MAX);
            let right = keys.map(|key| {
                let most = numbers[..31].iter().filter(|number| **number <= key);
                rows[most.count()]
            });
            prop_assert_eq!(widest(Rows(&numbers, &rows, &keys)), right);
            prop_assert_eq!(Rows(&numbers, &rows, &keys).run(Baseline), right);
        }
    }

    struct Ranks<'a>(&'a [u32], &'a [u32; 32], &'a [u32; 16]);

    impl Work for Ranks<'_> {
        type Output = [u32; 16];

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> [u32; 16] {
            lanes.ranks(self.0, self.1, self.2)
        }
    }

    struct RanksU64<'a>(&'a [u64], &'a [u64; 16], &'a [u64; 16]);

    impl Work for RanksU64<'_> {
        type Output = [u32; 16];

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> [u32; 16] {
            lanes.ranks_u64(self.0, self.1, self.2)
        }
    }

    struct Gather<'a>(&'a [u32], &'a [u32; 16]);

    impl Work for Gather<'_> {
        type Output = [u32; 16];

        #[inline(always)]
        fn run<L: Lanes>(self, lanes: L) -> [u32; 16] {
            lanes.gather(self.0, self.1)
        }
    }

    proptest! {
        #[test]
        fn every_level_ranks_many_keys_among_many_numbers(
            mut numbers in proptest::collection::vec(any::<u32>(), 1..700),
            mut keys: [u32; 16],
        ) {
            let stride = match (numbers.len() + 1).div_ceil(32).next_power_of_two() {
                1 => 1,
                more => more.max(16),
            };
            numbers.sort_unstable();
            let count = numbers.len() as u32;
            numbers.resize(stride * 32, u32::MAX);
            for (key, number) in keys.iter_mut().step_by(2).zip(numbers.iter().step_by(stride)) {
                *key = *number;
            }
            (keys[1], keys[3]) = (0, u32::MAX);
            let every = core::array::from_fn(|part| numbers[(part + 1) * stride - 1]);
            let right = |key| numbers.partition_point(|number| *number <= key) as u32;
            let right = keys.map(|key| right(key).min(count));
            let least = |ranks: [u32; 16]| ranks.map(|rank| rank.min(count));
            prop_assert_eq!(least(widest(Ranks(&numbers, &every, &keys))), right);
            prop_assert_eq!(least(Ranks(&numbers, &every, &keys).run(Baseline)), right);
        }

        #[test]
        fn every_level_ranks_many_long_keys(
            mut numbers in proptest::collection::vec(any::<u64>(), 1..500),
            mut keys: [u64; 16],
        ) {
            let stride = match (numbers.len() + 1).div_ceil(16).next_power_of_two() {
                1 => 1,
                more => more.max(8),
            };
            numbers.sort_unstable();
            let count = numbers.len() as u32;
            numbers.resize(stride * 16, u64::MAX);
            for (key, number) in keys.iter_mut().step_by(2).zip(numbers.iter().step_by(stride)) {
                *key = *number;
            }
            (keys[1], keys[3]) = (0, u64::MAX);
            let every = core::array::from_fn(|part| numbers[(part + 1) * stride - 1]);
            let right = |key| numbers.partition_point(|number| *number <= key) as u32;
            let right = keys.map(|key| right(key).min(count));
            let least = |ranks: [u32; 16]| ranks.map(|rank| rank.min(count));
            prop_assert_eq!(least(widest(RanksU64(&numbers, &every, &keys))), right);
            prop_assert_eq!(least(RanksU64(&numbers, &every, &keys).run(Baseline)), right);
        }

        #[test]
        fn every_level_gathers_what_is_there(
            table in proptest::collection::vec(any::<u32>(), 1..90),
            places in proptest::array::uniform16(0..100_u32),
        ) {
            let mut places = places;
            places[3] = u32::MAX;
            let last = table.len() - 1;
            let right = places.map(|place| table[(place as usize).min(last)]);
            prop_assert_eq!(widest(Gather(&table, &places)), right);
            prop_assert_eq!(Gather(&table, &places).run(Baseline), right);
        }
    }

    /// The bits that mean something.
    fn masked(at: u32, bits: [u32; 3]) -> [u32; 3] {
        let [eight, sixteen, thirty_two] = bits;
        let (eights, sixteens) = if at.is_multiple_of(2) {
            (u32::MAX, 0xffff)
        } else {
            (0xffff, 0xff)
        };
        let thirty_twos = if at < 2 { 0x3ff } else { 0xff };
        [eight & eights, sixteen & sixteens, thirty_two & thirty_twos]
    }

    proptest! {
        #[test]
        fn every_level_compares_every_lane_as_an_unsigned_number(
            words: [u32; 16],
            key: u32,
            at in 0..4_u32,
            lane in 0..16_usize,
        ) {
            let line: Line = words.map(AtomicU32::new);
            let equal = words[lane];
            let place = lane as u32 * 4 + key % 2 * 2;
            prop_assert_eq!(widest(Value(&line, place)), Value(&line, place).run(Baseline));
            for key in [key, equal, equal.wrapping_sub(1)] {
                let right = masked(at, [
                    portable::at_most_u8(&line, at, key as u8),
                    portable::at_most_u16(&line, at, key as u16),
                    portable::at_most_u32(&line, at & 2, key),
                ]);
                prop_assert_eq!(Compare(&line, at, key).run(Baseline), right);
                prop_assert_eq!(widest(Compare(&line, at, key)), right);
                #[cfg(target_arch = "x86_64")]
                if Level::here() == Level::V4 {
                    // SAFETY: what has the fourth level has the third.
                    let third = unsafe { V3::detected() };
                    prop_assert_eq!(Compare(&line, at, key).run(third), right);
                }
            }
        }
    }
}
