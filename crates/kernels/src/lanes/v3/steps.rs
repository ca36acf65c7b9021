//! The binary search of eight keys at once among 31 numbers, all in registers.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_sub_epi32,
};

use super::{at_most, load};

/// Of two vectors of eight the numbers at even places, and those at odd ones, in order.
#[inline]
#[target_feature(enable = "avx2")]
fn parted(low: __m256i, high: __m256i) -> (__m256i, __m256i) {
    let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
    let even = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
    let odd = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
    (
        _mm256_permute4x64_epi64::<0b11_01_10_00>(even),
        _mm256_permute4x64_epi64::<0b11_01_10_00>(odd),
    )
}

/// 31 numbers in order, as a binary search of eight keys at once meets them.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The fourth, the eighth and so on: the first three steps find theirs among them.
    fours: __m256i,
    /// The second, the sixth and so on.
    twos: __m256i,
    /// The first, the third and so on.
    ones: [__m256i; 2],
}

impl Steps {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn of(numbers: &[u32; 32]) -> Self {
        // SAFETY: eight of 32 numbers are read, four times.
        let eight = |from: usize| unsafe { load(numbers.as_ptr().add(from % 4 * 8)) };
        let (low, low_pairs) = parted(eight(0), eight(1));
        let (high, high_pairs) = parted(eight(2), eight(3));
        let (twos, fours) = parted(low_pairs, high_pairs);
        Self {
            fours,
            twos,
            ones: [low, high],
        }
    }

    /// For each of eight keys how many of the numbers are at most it.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn rank(&self, keys: __m256i) -> __m256i {
        // A step doubles what was found and adds one, where its number is at most the key: then
        // `at_most` is -1.
        let next = |found: __m256i, number: __m256i| {
            _mm256_sub_epi32(_mm256_add_epi32(found, found), at_most(number, keys))
        };
        let pick = |among: __m256i, place: __m256i| _mm256_permutevar8x32_epi32(among, place);
        let one = |number: i32| _mm256_set1_epi32(number);
        let found = next(_mm256_setzero_si256(), pick(self.fours, one(3)));
        let place = _mm256_add_epi32(_mm256_slli_epi32::<2>(found), one(1));
        let found = next(found, pick(self.fours, place));
        let found = next(found, pick(self.fours, _mm256_add_epi32(found, found)));
        let found = next(found, pick(self.twos, found));
        // A place has three bits; the fourth chooses the half.
        let low = _mm256_castsi256_ps(pick(self.ones[0], found));
        let high = _mm256_castsi256_ps(pick(self.ones[1], found));
        let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(found));
        let number = _mm256_castps_si256(_mm256_blendv_ps(low, high, upper));
        next(found, number)
    }
}
