//! Binary search of eight keys at once among 31 numbers held in registers.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_blendv_epi8, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_ps, _mm256_slli_epi32,
    _mm256_sub_epi32,
};

use super::{at_most, load};

/// Returns the numbers at even and at odd positions of two vectors of eight, in order.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn parted(low: __m256i, high: __m256i) -> (__m256i, __m256i) {
    let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    let even = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
    let odd = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
    (
        _mm256_permute4x64_epi64::<0b11_01_10_00>(even),
        _mm256_permute4x64_epi64::<0b11_01_10_00>(odd),
    )
}

/// 31 sorted numbers, arranged for the steps of a binary search of eight keys.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The fourth, the eighth and so on, for the first three steps.
    fours: __m256i,
    /// The second, the sixth and so on.
    twos: __m256i,
    /// The first, the third and so on.
    ones: [__m256i; 2],
}

impl Steps {
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn of(numbers: &[u32; 32]) -> Self {
        // SAFETY: eight of 32 numbers are read, four times.
        let eight = |from: usize| unsafe { load(numbers.as_ptr().add(from % 4 * 8)) };
        Self::of_eights([eight(0), eight(1), eight(2), eight(3)])
    }

    /// Arranges the numbers, given as four vectors of eight.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn of_eights(eights: [__m256i; 4]) -> Self {
        let (low, low_pairs) = parted(eights[0], eights[1]);
        let (high, high_pairs) = parted(eights[2], eights[3]);
        let (twos, fours) = parted(low_pairs, high_pairs);
        Self {
            fours,
            twos,
            ones: [low, high],
        }
    }

    /// Returns the numbers that step `step` of five compares with, given the result of the previous steps.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn numbers(&self, step: u32, found: __m256i) -> __m256i {
        let pick = |among: __m256i, place: __m256i| _mm256_permutevar8x32_epi32(among, place);
        match step {
            0 => pick(self.fours, _mm256_set1_epi32(3)),
            1 => {
                let place = _mm256_add_epi32(_mm256_slli_epi32::<2>(found), _mm256_set1_epi32(1));
                pick(self.fours, place)
            }
            2 => pick(self.fours, _mm256_add_epi32(found, found)),
            3 => pick(self.twos, found),
            _ => {
                // An index has three bits; the fourth selects the half.
                let low = _mm256_castsi256_ps(pick(self.ones[0], found));
                let high = _mm256_castsi256_ps(pick(self.ones[1], found));
                let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(found));
                _mm256_castps_si256(_mm256_blendv_ps(low, high, upper))
            }
        }
    }

    /// Returns the ranks of eight keys.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn rank(&self, keys: __m256i) -> __m256i {
        let mut found = _mm256_setzero_si256();
        for step in 0..STEPS {
            found = next(found, at_most(self.numbers(step, found), keys));
        }
        found
    }
}

/// 31 sorted 64-bit numbers, as lower and higher halves.
#[derive(Clone, Copy)]
pub(super) struct LongSteps {
    high: Steps,
    low: Steps,
}

impl LongSteps {
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn of(numbers: &[u64; 32]) -> Self {
        let (low_a, high_a) = halves(numbers, 0);
        let (low_b, high_b) = halves(numbers, 8);
        let (low_c, high_c) = halves(numbers, 16);
        let (low_d, high_d) = halves(numbers, 24);
        Self {
            high: Steps::of_eights([high_a, high_b, high_c, high_d]),
            low: Steps::of_eights([low_a, low_b, low_c, low_d]),
        }
    }

    /// Returns the ranks of eight keys.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn rank(&self, low_keys: __m256i, high_keys: __m256i) -> __m256i {
        let mut found = _mm256_setzero_si256();
        for step in 0..STEPS {
            let high = self.high.numbers(step, found);
            let low = at_most(self.low.numbers(step, found), low_keys);
            // The lower halves decide where the higher halves are equal.
            let equal = _mm256_cmpeq_epi32(high, high_keys);
            found = next(
                found,
                _mm256_blendv_epi8(at_most(high, high_keys), low, equal),
            );
        }
        found
    }
}

/// Returns the lower and higher halves of eight of the numbers.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn halves<const N: usize>(numbers: &[u64; N], from: usize) -> (__m256i, __m256i) {
    const { assert!(N >= 8, "eight are read") };
    let from = from.min(N - 8);
    // SAFETY: eight of the numbers are read.
    unsafe {
        let four = |from: usize| load(numbers.as_ptr().add(from));
        parted(four(from), four(from + 4))
    }
}

const STEPS: u32 = 5;

/// A step doubles the result and adds one if its number is at most the key (comparison result -1).
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn next(found: __m256i, at_most: __m256i) -> __m256i {
    _mm256_sub_epi32(_mm256_add_epi32(found, found), at_most)
}
