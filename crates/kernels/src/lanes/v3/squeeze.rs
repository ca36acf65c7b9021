//! Compression of IPv6 addresses to 32-bit numbers.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_andnot_si256, _mm256_blendv_epi8, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpgt_epi64, _mm256_min_epu32,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setr_epi32,
    _mm256_setzero_si256, _mm256_shuffle_ps, _mm256_srlv_epi64, _mm256_sub_epi64,
    _mm256_unpackhi_epi64, _mm256_xor_si256,
};

use super::super::squeeze::{DISTANCE_MAX, SECOND_WINDOW, Squeeze};
use super::{load, store};

/// For four 64-bit numbers: distance from the beginning of the window; mask of the numbers below all windows;
/// mask of the numbers not in the second window.
struct Distances {
    distance: __m256i,
    below: __m256i,
    first: __m256i,
}

/// Returns the lower or higher halves of two times four 64-bit numbers: the first two of each, then the
/// others.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn joined<const HIGH: bool>(one: __m256i, other: __m256i) -> __m256i {
    let (one, other) = (_mm256_castsi256_ps(one), _mm256_castsi256_ps(other));
    _mm256_castps_si256(match HIGH {
        false => _mm256_shuffle_ps::<0b10_00_10_00>(one, other),
        true => _mm256_shuffle_ps::<0b11_01_11_01>(one, other),
    })
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn squeeze(numbers: &[u128; 16], squeeze: &Squeeze) -> [u32; 16] {
    let all = |number: u64| _mm256_set1_epi64x(number as i64);
    // Comparisons are signed.
    let sign = all(1 << 63);
    let [first, second] = squeeze.begins;
    let begins = [all(first), all(second)];
    let shifts = squeeze.shifts.map(all);
    let turned = begins.map(|begin| _mm256_xor_si256(begin, sign));
    let distances = |halves: __m256i| {
        let keys = _mm256_xor_si256(halves, sign);
        let first = _mm256_cmpgt_epi64(turned[1], keys);
        let begin = _mm256_blendv_epi8(begins[1], begins[0], first);
        let shift = _mm256_blendv_epi8(shifts[1], shifts[0], first);
        Distances {
            distance: _mm256_srlv_epi64(_mm256_sub_epi64(halves, begin), shift),
            below: _mm256_cmpgt_epi64(turned[0], keys),
            first,
        }
    };
    let mut found = [0; 16];
    for from in [0, 8] {
        // The higher halves of numbers 0, 2, 1, 3.
        // SAFETY: 2 of 16 numbers are read, four times.
        let four = |from: usize| unsafe {
            let two = |from: usize| load(numbers.as_ptr().add(from));
            _mm256_unpackhi_epi64(two(from), two(from + 2))
        };
        let (one, other) = (distances(four(from)), distances(four(from + 4)));
        let fits = _mm256_cmpeq_epi32(
            joined::<true>(one.distance, other.distance),
            _mm256_setzero_si256(),
        );
        let far = _mm256_set1_epi32(DISTANCE_MAX as i32);
        let distance = joined::<false>(one.distance, other.distance);
        let distance = _mm256_min_epu32(_mm256_blendv_epi8(far, distance, fits), far);
        let number = _mm256_add_epi32(distance, _mm256_set1_epi32(1));
        let window = _mm256_andnot_si256(
            joined::<false>(one.first, other.first),
            _mm256_set1_epi32(SECOND_WINDOW as i32),
        );
        let number = _mm256_add_epi32(number, window);
        let number = _mm256_andnot_si256(joined::<false>(one.below, other.below), number);
        // The order is 0, 2, 4, 6, 1, 3, 5, 7.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let number = _mm256_permutevar8x32_epi32(number, order);
        // SAFETY: 8 of 16 numbers are written, twice.
        unsafe { store(found.as_mut_ptr().add(from), number) };
    }
    found
}
