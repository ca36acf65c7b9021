//! AVX2.

mod steps;

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16,
    _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_castsi128_si256, _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_castsi256_si128,
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi64, _mm256_extracti128_si256, _mm256_i32gather_epi32, _mm256_i64gather_epi64,
    _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_max_epu8, _mm256_max_epu16,
    _mm256_max_epu32, _mm256_min_epu32, _mm256_movemask_epi8, _mm256_movemask_pd,
    _mm256_movemask_ps, _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_set_epi64x, _mm256_set1_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srl_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{Lanes, Line};
use steps::Steps;

/// AVX2; made only where it was detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V3(());

impl V3 {
    /// # Safety
    /// The processor has AVX2, BMI1, BMI2, LZCNT and POPCNT.
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

/// The 16 bits that lie `place` bytes behind the beginning of the line.
#[inline(always)]
pub(super) fn value(line: &Line, place: u32) -> u16 {
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

/// Eight numbers of 32 bits, or four of 64.
///
/// # Safety
/// 32 bytes may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<T>(from: *const T) -> __m256i {
    // SAFETY: the caller's.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Writes eight numbers of 32 bits, or four of 64.
///
/// # Safety
/// 32 bytes may be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store<T>(to: *mut T, value: __m256i) {
    // SAFETY: the caller's.
    unsafe { _mm256_storeu_si256(to.cast(), value) }
}

/// Like `load`, where others store meanwhile.
///
/// # Safety
/// 32 bytes may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_relaxed<T>(from: *const T) -> __m256i {
    let value: __m256i;
    // SAFETY: the caller's. In assembly as in `half`.
    unsafe {
        asm!(
            "vmovdqu {value}, [{from}]",
            value = lateout(ymm_reg) value,
            from = in(reg) from,
            options(nostack, readonly, preserves_flags),
        );
    }
    value
}

/// The words at these places.
///
/// # Safety
/// They may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather_relaxed(table: *const u32, places: __m256i) -> __m256i {
    let words: __m256i;
    // SAFETY: the caller's. In assembly as in `half`.
    unsafe {
        asm!(
            "vpcmpeqd {all}, {all}, {all}",
            "vpxor {words}, {words}, {words}",
            "vpgatherdd {words}, [{table} + {places}*4], {all}",
            all = out(ymm_reg) _,
            words = out(ymm_reg) words,
            table = in(reg) table,
            places = in(ymm_reg) places,
            options(nostack, readonly, preserves_flags),
        );
    }
    words
}

/// All ones where a number of 32 bits is at most the key beside it.
#[inline]
#[target_feature(enable = "avx2")]
fn at_most(numbers: __m256i, keys: __m256i) -> __m256i {
    _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, keys), keys)
}

/// Numbers of 64 bits with the highest bits turned over: compares take that for the sign.
#[inline]
#[target_feature(enable = "avx2")]
fn turned(numbers: __m256i) -> __m256i {
    _mm256_xor_si256(numbers, _mm256_set1_epi64x(i64::MIN))
}

/// Eight places; the last one of a table for those beyond it.
///
/// # Safety
/// Eight numbers may be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn within(places: *const u32, last: usize) -> __m256i {
    let last = i32::try_from(last).unwrap_or(i32::MAX);
    // SAFETY: the caller's.
    let places = unsafe { load(places) };
    _mm256_min_epu32(places, _mm256_set1_epi32(last))
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
        unsafe { at_most_u8(line, at, key) }
    }

    #[inline(always)]
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { at_most_u16(line, at, key) }
    }

    #[inline(always)]
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { at_most_u32(line, at, key) }
    }

    #[inline(always)]
    fn rank(self, numbers: &[u32; 16], key: u32) -> u32 {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { rank(numbers, key) }
    }

    #[inline(always)]
    fn rank_u64(self, numbers: &[u64; 8], key: u64) -> u32 {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { rank_u64(numbers, key) }
    }

    #[inline(always)]
    fn rows(self, numbers: &[u32; 32], rows: &[u64; 32], keys: &[u32; 16]) -> [u64; 16] {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { rows_of(numbers, rows, keys) }
    }

    #[inline(always)]
    fn ranks(self, numbers: &[u32], every: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { ranks(numbers, every, keys) }
    }

    #[inline(always)]
    fn ranks_u64(self, numbers: &[u64], every: &[u64; 16], keys: &[u64; 16]) -> [u32; 16] {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { ranks_u64(numbers, every, keys) }
    }

    #[inline(always)]
    fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { gather(table, places) }
    }

    #[inline(always)]
    fn gather_shared(self, table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { gather_shared(table, places) }
    }

    #[inline(always)]
    fn columns<const PARTS: usize>(
        self,
        rows: &[&[[u8; 16]; PARTS]; 16],
    ) -> [[[u32; 16]; 4]; PARTS] {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { columns::<PARTS>(rows) }
    }

    #[inline(always)]
    fn zeros(self, numbers: &[u32; 16]) -> u32 {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { zeros(numbers) }
    }

    #[inline(always)]
    fn alike<const SHIFT: u32>(self, words: &[AtomicU64; 8], key: u64) -> u32 {
        // SAFETY: there is a `V3` only where AVX2 was detected.
        unsafe { alike::<SHIFT>(words, key) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u8(line: &Line, at: u32, key: u8) -> u32 {
    let keys = _mm256_set1_epi8(key as i8);
    let larger = _mm256_max_epu8(half(line, at), keys);
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(larger, keys)) as u32
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u16(line: &Line, at: u32, key: u16) -> u32 {
    let keys = _mm256_set1_epi16(key as i16);
    let larger = _mm256_max_epu16(half(line, at), keys);
    let most = _mm256_cmpeq_epi16(larger, keys);
    let (low, high) = (
        _mm256_castsi256_si128(most),
        _mm256_extracti128_si256::<1>(most),
    );
    _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
}

#[inline]
#[target_feature(enable = "avx2")]
fn at_most_u32(line: &Line, at: u32, key: u32) -> u32 {
    let keys = _mm256_set1_epi32(key as i32);
    let bits = |numbers| {
        let most = _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, keys), keys);
        _mm256_movemask_ps(_mm256_castsi256_ps(most)) as u32
    };
    bits(half(line, at)) | (bits(half(line, at | 2)) << 8)
}

#[inline]
#[target_feature(enable = "avx2")]
fn rank(numbers: &[u32; 16], key: u32) -> u32 {
    // SAFETY: 16 numbers are read, of 16.
    let (low, high) = unsafe {
        let keys = _mm256_set1_epi32(key as i32);
        let bits = |from: usize| {
            let most = at_most(load(numbers.as_ptr().add(from)), keys);
            _mm256_movemask_ps(_mm256_castsi256_ps(most)) as u32
        };
        (bits(0), bits(8))
    };
    (low | high << 8).count_ones()
}

#[inline]
#[target_feature(enable = "avx2")]
fn rank_u64(numbers: &[u64; 8], key: u64) -> u32 {
    // SAFETY: 8 numbers are read, of 8.
    let (low, high) = unsafe {
        let keys = turned(_mm256_set1_epi64x(key as i64));
        let bits = |from: usize| {
            let more = _mm256_cmpgt_epi64(turned(load(numbers.as_ptr().add(from))), keys);
            _mm256_movemask_pd(_mm256_castsi256_pd(more)) as u32
        };
        (bits(0), bits(4))
    };
    (low | high << 4).count_zeros() - 24
}

#[inline]
#[target_feature(enable = "avx2")]
fn rows_of(numbers: &[u32; 32], rows: &[u64; 32], keys: &[u32; 16]) -> [u64; 16] {
    let mut ranks = [0; 16];
    // SAFETY: 8 of 16 keys are read and 8 of 16 ranks are written, twice.
    unsafe {
        let steps = Steps::of(numbers);
        for half in [0, 8] {
            let rank = steps.rank(load(keys.as_ptr().add(half)));
            store(ranks.as_mut_ptr().add(half), rank);
        }
    }
    let mut found = [0; 16];
    for (found, rank) in found.iter_mut().zip(ranks) {
        *found = rows[rank as usize % 32];
    }
    found
}

#[inline]
#[target_feature(enable = "avx2")]
fn ranks(numbers: &[u32], every: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
    let stride = (numbers.len() / 32).min(1 << 24) as i32;
    let mut found = [0; 16];
    // SAFETY: what is gathered lies among the numbers: 31 strides at most, and then the halves of one,
    // which come to less than it.
    unsafe {
        let steps = Steps::of(every);
        for half in [0, 8] {
            let keys = load(keys.as_ptr().add(half));
            let mut rank = _mm256_mullo_epi32(steps.rank(keys), _mm256_set1_epi32(stride));
            let mut step = stride / 2;
            while step >= 16 {
                let at = _mm256_add_epi32(rank, _mm256_set1_epi32(step - 1));
                let number = _mm256_i32gather_epi32::<4>(numbers.as_ptr().cast(), at);
                let more = _mm256_and_si256(at_most(number, keys), _mm256_set1_epi32(step));
                rank = _mm256_add_epi32(rank, more);
                step /= 2;
            }
            store(found.as_mut_ptr().add(half), rank);
        }
    }
    if stride > 1 {
        let (lines, _) = numbers.as_chunks();
        for (found, key) in found.iter_mut().zip(keys) {
            let line = lines.get(*found as usize / 16);
            *found += line.map_or(0, |line| rank(line, *key));
        }
    }
    found
}

#[inline]
#[target_feature(enable = "avx2")]
fn ranks_u64(numbers: &[u64], every: &[u64; 16], keys: &[u64; 16]) -> [u32; 16] {
    let stride = (numbers.len() / 16).min(1 << 24) as i32;
    let mut found = [0; 16];
    let mut ranks = [_mm256_set1_epi64x(15); 4];
    let mut turned_keys = [_mm256_setzero_si256(); 4];
    for (turned_keys, keys) in turned_keys.iter_mut().zip(keys.chunks_exact(4)) {
        // SAFETY: 4 keys are read, of 4.
        *turned_keys = turned(unsafe { load(keys.as_ptr()) });
    }
    for number in &every[..15] {
        let number = turned(_mm256_set1_epi64x(*number as i64));
        for (rank, keys) in ranks.iter_mut().zip(&turned_keys) {
            // What is more than its key is -1.
            *rank = _mm256_add_epi64(*rank, _mm256_cmpgt_epi64(number, *keys));
        }
    }
    let groups = ranks.iter().zip(&turned_keys);
    for ((rank, keys), found) in groups.zip(found.chunks_exact_mut(4)) {
        let mut rank = _mm256_mul_epu32(*rank, _mm256_set1_epi64x(stride.into()));
        let mut step = i64::from(stride / 2);
        let mut ranks = [0_u64; 4];
        // SAFETY: as in `ranks`, with 4 numbers of 64 bits at a time; 4 ranks are written, of 4.
        unsafe {
            while step >= 8 {
                let at = _mm256_add_epi64(rank, _mm256_set1_epi64x(step - 1));
                let number = _mm256_i64gather_epi64::<8>(numbers.as_ptr().cast(), at);
                let more = _mm256_cmpgt_epi64(turned(number), *keys);
                rank = _mm256_add_epi64(rank, _mm256_andnot_si256(more, _mm256_set1_epi64x(step)));
                step /= 2;
            }
            store(ranks.as_mut_ptr(), rank);
        }
        for (found, rank) in found.iter_mut().zip(ranks) {
            *found = rank as u32;
        }
    }
    if stride > 1 {
        let (lines, _) = numbers.as_chunks();
        for (found, key) in found.iter_mut().zip(keys) {
            let line = lines.get(*found as usize / 8);
            *found += line.map_or(0, |line| rank_u64(line, *key));
        }
    }
    found
}

#[inline]
#[target_feature(enable = "avx2")]
fn gather(table: &[u32], places: &[u32; 16]) -> [u32; 16] {
    let mut found = [0; 16];
    let Some(last) = table.len().checked_sub(1) else {
        return found;
    };
    // SAFETY: no place is beyond the last; 8 of 16 places are read and 8 of 16 entries are written, twice.
    unsafe {
        for half in [0, 8] {
            let places = within(places.as_ptr().add(half), last);
            let entries = _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), places);
            store(found.as_mut_ptr().add(half), entries);
        }
    }
    found
}

#[inline]
#[target_feature(enable = "avx2")]
fn gather_shared(table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
    let mut found = [0; 16];
    let Some(last) = table.len().checked_sub(1) else {
        return found;
    };
    // SAFETY: as in `gather`.
    unsafe {
        for half in [0, 8] {
            let places = within(places.as_ptr().add(half), last);
            let entries = gather_relaxed(table.as_ptr().cast(), places);
            store(found.as_mut_ptr().add(half), entries);
        }
    }
    found
}

#[inline]
#[target_feature(enable = "avx2")]
fn columns<const PARTS: usize>(rows: &[&[[u8; 16]; PARTS]; 16]) -> [[[u32; 16]; 4]; PARTS] {
    let mut columns = [[[0; 16]; 4]; PARTS];
    for (at, part) in columns.iter_mut().enumerate() {
        for half in [0, 8] {
            // SAFETY: of each row a part of 16 bytes is read; 8 of 16 numbers are written to each of
            // four columns.
            unsafe {
                let piece = |row: usize| _mm_loadu_si128(rows[row][at].as_ptr().cast());
                // A row and the fourth behind it: each half of what comes of four such pairs has rows in
                // order.
                let pair = |row: usize| {
                    let first = _mm256_castsi128_si256(piece(half + row));
                    _mm256_inserti128_si256::<1>(first, piece(half + row + 4))
                };
                let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
                let (low_ab, low_cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
                let (high_ab, high_cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
                let numbers = [
                    _mm256_unpacklo_epi64(low_ab, low_cd),
                    _mm256_unpackhi_epi64(low_ab, low_cd),
                    _mm256_unpacklo_epi64(high_ab, high_cd),
                    _mm256_unpackhi_epi64(high_ab, high_cd),
                ];
                let order = _mm256_set_epi64x(
                    0x0c0d_0e0f_0809_0a0b,
                    0x0405_0607_0001_0203,
                    0x0c0d_0e0f_0809_0a0b,
                    0x0405_0607_0001_0203,
                );
                for (column, numbers) in part.iter_mut().zip(numbers) {
                    let numbers = _mm256_shuffle_epi8(numbers, order);
                    store(column.as_mut_ptr().add(half), numbers);
                }
            }
        }
    }
    columns
}

#[inline]
#[target_feature(enable = "avx2")]
fn zeros(numbers: &[u32; 16]) -> u32 {
    // SAFETY: 8 of 16 numbers are read, twice.
    unsafe {
        let bits = |from: usize| {
            let numbers = load(numbers.as_ptr().add(from));
            let zeros = _mm256_cmpeq_epi32(numbers, _mm256_setzero_si256());
            _mm256_movemask_ps(_mm256_castsi256_ps(zeros)) as u32
        };
        bits(0) | bits(8) << 8
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn alike<const SHIFT: u32>(words: &[AtomicU64; 8], key: u64) -> u32 {
    // SAFETY: 4 of 8 words are read, twice.
    unsafe {
        let keys = _mm256_set1_epi64x(key as i64);
        let bits = |from: usize| {
            let words = load_relaxed(words.as_ptr().add(from));
            let words = _mm256_srl_epi64(words, _mm_cvtsi32_si128(SHIFT as i32));
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(words, keys))) as u32
        };
        bits(0) | bits(4) << 4
    }
}
