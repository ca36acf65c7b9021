//! Computes ranks: counts the numbers up to a key, for one key or several.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
    _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmpgt_epi64, _mm256_i32gather_epi32,
    _mm256_i64gather_epi64, _mm256_movemask_pd, _mm256_movemask_ps, _mm256_mul_epu32,
    _mm256_mullo_epi32, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_xor_si256,
};

use super::steps::{LongSteps, Steps, halves};
use super::{at_most, load, store};

/// Inverts the highest bits of 64-bit numbers, because comparisons are signed.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn turned(numbers: __m256i) -> __m256i {
    _mm256_xor_si256(numbers, _mm256_set1_epi64x(i64::MIN))
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn rank(numbers: &[u32; 16], key: u32) -> u32 {
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn rank_u64(numbers: &[u64; 8], key: u64) -> u32 {
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn few_ranks(numbers: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
    let mut found = [0; 16];
    let steps = Steps::of(numbers);
    for half in [0, 8] {
        // SAFETY: 8 of 16 keys are read and 8 of 16 ranks are written, twice.
        unsafe {
            let rank = steps.rank(load(keys.as_ptr().add(half)));
            store(found.as_mut_ptr().add(half), rank);
        }
    }
    found
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn ranks(numbers: &[u32], every: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
    let stride = (numbers.len() / 32).min(1 << 24) as i32;
    let mut found = [0; 16];
    // SAFETY: all gathered elements are among the numbers: at most 31 strides, plus the halves of one stride,
    // whose sum is less than a stride.
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn few_ranks_u64(numbers: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
    let mut found = [0; 16];
    let steps = LongSteps::of(numbers);
    for half in [0, 8] {
        let (low, high) = halves(keys, half);
        // SAFETY: 8 of 16 ranks are written, twice.
        unsafe { store(found.as_mut_ptr().add(half), steps.rank(low, high)) };
    }
    found
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn ranks_u64(numbers: &[u64], every: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
    let stride = (numbers.len() / 32).min(1 << 24) as i32;
    let mut found = [0; 16];
    let mut ranks = [_mm256_set1_epi64x(31); 4];
    let mut turned_keys = [_mm256_setzero_si256(); 4];
    for (turned_keys, keys) in turned_keys.iter_mut().zip(keys.chunks_exact(4)) {
        // SAFETY: 4 keys are read, of 4.
        *turned_keys = turned(unsafe { load(keys.as_ptr()) });
    }
    for number in &every[..31] {
        let number = turned(_mm256_set1_epi64x(*number as i64));
        for (rank, keys) in ranks.iter_mut().zip(&turned_keys) {
            // The comparison yields -1 for a number above its key.
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
