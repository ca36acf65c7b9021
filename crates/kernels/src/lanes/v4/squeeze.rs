//! Compression of IPv6 addresses to 32-bit numbers.

use core::arch::x86_64::{
    __m512i, _mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_mask_blend_epi64,
    _mm512_mask_or_epi32, _mm512_maskz_add_epi32, _mm512_min_epu64, _mm512_permutex2var_epi32,
    _mm512_permutex2var_epi64, _mm512_set_epi32, _mm512_set_epi64, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
};

use super::super::squeeze::{DISTANCE_MAX, SECOND_WINDOW, Squeeze};

/// For eight 64-bit numbers: distance from the beginning of the window; bits of the numbers below all
/// windows; bits of the numbers in the first window.
struct Distances {
    distance: __m512i,
    below: u16,
    first: u16,
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn squeeze(numbers: &[u128; 16], squeeze: &Squeeze) -> [u32; 16] {
    let all = |number: u64| _mm512_set1_epi64(number as i64);
    let begins = squeeze.begins.map(all);
    let shifts = squeeze.shifts.map(all);
    let eight = |from: usize| {
        // SAFETY: 4 of 16 numbers are read, twice.
        let (low, high) = unsafe {
            let numbers = numbers.as_ptr();
            (
                _mm512_loadu_si512(numbers.add(from).cast()),
                _mm512_loadu_si512(numbers.add(from + 4).cast()),
            )
        };
        let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
        let halves = _mm512_permutex2var_epi64(low, odd, high);
        let first = _mm512_cmplt_epu64_mask(halves, begins[1]);
        let begin = _mm512_mask_blend_epi64(first, begins[1], begins[0]);
        let shift = _mm512_mask_blend_epi64(first, shifts[1], shifts[0]);
        let distance = _mm512_srlv_epi64(_mm512_sub_epi64(halves, begin), shift);
        Distances {
            distance: _mm512_min_epu64(distance, all(DISTANCE_MAX.into())),
            below: _mm512_cmplt_epu64_mask(halves, begins[0]).into(),
            first: first.into(),
        }
    };
    let (one, other) = (eight(0), eight(8));
    let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    let distance = _mm512_permutex2var_epi32(one.distance, even, other.distance);
    let within = !(one.below | other.below << 8);
    let second = !(one.first | other.first << 8);
    let number = _mm512_maskz_add_epi32(within, distance, _mm512_set1_epi32(1));
    let number = _mm512_mask_or_epi32(
        number,
        second & within,
        number,
        _mm512_set1_epi32(SECOND_WINDOW as i32),
    );
    let mut found = [0; 16];
    // SAFETY: 16 of 16 numbers are written.
    unsafe { _mm512_storeu_si512(found.as_mut_ptr().cast(), number) };
    found
}
