//! Gathers numbers from several addresses, and tests 16 numbers at once.

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm256_castsi128_si256, _mm256_castsi256_pd,
    _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_inserti128_si256,
    _mm256_min_epu32, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_set_epi64x, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_sllv_epi32,
    _mm256_srl_epi64, _mm256_sub_epi32, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{Line, load, store};

/// Loads like `load`, while other threads may store.
///
/// # Safety
/// 32 bytes may be read.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn load_relaxed<T>(from: *const T) -> __m256i {
    let value: __m256i;
    // SAFETY: guaranteed by the caller. In assembly as in `half`.
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

/// Loads the words at these indices.
///
/// # Safety
/// The words may be read.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn gather_relaxed(table: *const u32, places: __m256i) -> __m256i {
    let words: __m256i;
    // SAFETY: guaranteed by the caller. In assembly as in `half`.
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

/// Loads eight indices, limited to the last index of a table.
///
/// # Safety
/// Eight numbers may be read.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn within(places: *const u32, last: usize) -> __m256i {
    let last = i32::try_from(last).unwrap_or(i32::MAX);
    // SAFETY: guaranteed by the caller.
    let places = unsafe { load(places) };
    _mm256_min_epu32(places, _mm256_set1_epi32(last))
}

/// Gathers the elements at 16 indices of a table with `len` elements.
///
/// # Safety
/// The entries may be read.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn gathered(table: *const u32, len: usize, places: &[u32; 16]) -> [u32; 16] {
    let mut found = [0; 16];
    let Some(last) = len.checked_sub(1) else {
        return found;
    };
    // SAFETY: no place is beyond the last; 8 of 16 places are read and 8 of 16 entries are written, twice.
    unsafe {
        for half in [0, 8] {
            let places = within(places.as_ptr().add(half), last);
            store(found.as_mut_ptr().add(half), gather_relaxed(table, places));
        }
    }
    found
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn gather(table: &[u32], places: &[u32; 16]) -> [u32; 16] {
    // SAFETY: the table has this number of elements.
    unsafe { gathered(table.as_ptr(), table.len(), places) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn gather_shared(table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
    // SAFETY: the table has this number of elements.
    unsafe { gathered(table.as_ptr().cast(), table.len(), places) }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn columns<const PARTS: usize>(
    rows: &[&[[u8; 16]; PARTS]; 16],
) -> [[[u32; 16]; 4]; PARTS] {
    let mut columns = [[[0; 16]; 4]; PARTS];
    for (at, part) in columns.iter_mut().enumerate() {
        for half in [0, 8] {
            // SAFETY: of each row a part of 16 bytes is read; 8 of 16 numbers are written to each of
            // four columns.
            unsafe {
                let piece = |row: usize| _mm_loadu_si128(rows[row][at].as_ptr().cast());
                // Pairs each row with the fourth row after it: each half of the transposed result then has
                // its rows in order.
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn zeros(numbers: &[u32; 16]) -> u32 {
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn marked(marks: u32, places: &[u32; 16]) -> u32 {
    // SAFETY: 8 of 16 places are read, twice.
    unsafe {
        let bits = |from: usize| {
            let places = load(places.as_ptr().add(from));
            // Moves the mark of each lane to the highest bit.
            let left = _mm256_sub_epi32(_mm256_set1_epi32(31), places);
            let marks = _mm256_sllv_epi32(_mm256_set1_epi32(marks as i32), left);
            _mm256_movemask_ps(_mm256_castsi256_ps(marks)) as u32
        };
        bits(0) | bits(8) << 8
    }
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn alike<const SHIFT: u32>(words: &[AtomicU64; 8], key: u64) -> u32 {
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

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn alike_wide(line: &Line, key: u128) -> u32 {
    // SAFETY: 8 of 16 words are read, twice.
    let bits = unsafe {
        let (high, low) = ((key >> 64) as i64, key as i64);
        let keys = _mm256_set_epi64x(high, low, high, low);
        let bits = |from: usize| {
            let words = load_relaxed(line.as_ptr().add(from));
            _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(words, keys))) as u32
        };
        bits(0) | bits(8) << 4
    };
    halved(bits)
}

/// Returns which pairs of eight bits are both set.
#[inline(always)]
pub(in crate::lanes) fn halved(bits: u32) -> u32 {
    let pairs = bits & bits >> 1 & 0x55;
    let pairs = (pairs | pairs >> 1) & 0x33;
    (pairs | pairs >> 2) & 0x0f
}
