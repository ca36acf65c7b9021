//! Comparisons of a cache line that other threads may modify.

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_movemask_epi8, _mm_packs_epi16, _mm256_castsi256_pd, _mm256_castsi256_ps,
    _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32,
    _mm256_cmpgt_epi64, _mm256_extracti128_si256, _mm256_max_epu8, _mm256_max_epu16,
    _mm256_max_epu32, _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_movemask_ps,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_xor_si256,
};

use crate::lanes::Line;

/// Loads two quarters of a line: `at` and its neighbour in the pair.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn half(line: &Line, at: u32) -> __m256i {
    let quarter = |at: u32| line[(at % 4) as usize * 4..].as_ptr();
    let value: __m256i;
    // SAFETY: both quarters of 16 bytes lie in the line. The load is written in assembly because other
    // threads may store to the words meanwhile: like relaxed loads it sees each word old or new.
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

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn at_most_u8(line: &Line, at: u32, key: u8) -> u32 {
    let keys = _mm256_set1_epi8(key as i8);
    let larger = _mm256_max_epu8(half(line, at), keys);
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(larger, keys)) as u32
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn at_most_u16(line: &Line, at: u32, key: u16) -> u32 {
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn at_most_u32(line: &Line, at: u32, key: u32) -> u32 {
    let keys = _mm256_set1_epi32(key as i32);
    let bits = |numbers| {
        let most = _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, keys), keys);
        _mm256_movemask_ps(_mm256_castsi256_ps(most)) as u32
    };
    bits(half(line, at)) | (bits(half(line, at | 2)) << 8)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn at_most_u64(line: &Line, key: u64) -> u32 {
    // AVX2 compares signed numbers: invert the sign bits.
    let sign = _mm256_set1_epi64x(i64::MIN);
    let keys = _mm256_xor_si256(_mm256_set1_epi64x(key as i64), sign);
    let more = |numbers| {
        let more = _mm256_cmpgt_epi64(_mm256_xor_si256(numbers, sign), keys);
        _mm256_movemask_pd(_mm256_castsi256_pd(more)) as u32
    };
    !(more(half(line, 0)) | (more(half(line, 2)) << 4)) & 0xff
}
