//! Operations on IPv6 addresses, which are wider than the numbers that can be compared.

use core::arch::x86_64::{
    _mm_loadu_si128, _mm256_castps_si256, _mm256_castsi128_si256, _mm256_castsi256_ps,
    _mm256_inserti128_si256, _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32,
    _mm256_set_epi64x, _mm256_setr_epi32, _mm256_shuffle_epi8, _mm256_shuffle_ps,
    _mm256_unpackhi_epi64,
};

use super::{load, store};

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn wide<const PARTS: usize>(rows: &[&[[u8; 16]; PARTS]; 16], at: usize) -> [u128; 16] {
    let mut numbers = [0; 16];
    const { assert!(PARTS > 0, "a row has a part") };
    let at = at.min(PARTS * 16 - 16);
    // SAFETY: 16 bytes of each row are read, the last of which is inside the row; 2 of 16 numbers are
    // written, eight times.
    unsafe {
        let back = _mm256_set_epi64x(
            0x0001_0203_0405_0607,
            0x0809_0a0b_0c0d_0e0f,
            0x0001_0203_0405_0607,
            0x0809_0a0b_0c0d_0e0f,
        );
        for pair in (0..16).step_by(2) {
            let bytes = |row: &[[u8; 16]; PARTS]| _mm_loadu_si128(row.as_ptr().byte_add(at).cast());
            let first = _mm256_castsi128_si256(bytes(rows[pair]));
            let both = _mm256_inserti128_si256::<1>(first, bytes(rows[pair + 1]));
            let both = _mm256_shuffle_epi8(both, back);
            store(numbers.as_mut_ptr().add(pair), both);
        }
    }
    numbers
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn highs(numbers: &[u128; 16]) -> [u64; 16] {
    let mut halves = [0; 16];
    for from in (0..16).step_by(4) {
        // SAFETY: 2 of 16 numbers are read, twice, and 4 of 16 halves are written.
        unsafe {
            let two = |from: usize| load(numbers.as_ptr().add(from));
            let four = _mm256_unpackhi_epi64(two(from), two(from + 2));
            let four = _mm256_permute4x64_epi64::<0b11_01_10_00>(four);
            store(halves.as_mut_ptr().add(from), four);
        }
    }
    halves
}

#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn tops(numbers: &[u128; 16]) -> [u32; 16] {
    let mut tops = [0; 16];
    for from in [0, 8] {
        // The last words of numbers 0, 0, 2, 2, 1, 1, 3, 3.
        // SAFETY: 2 of 16 numbers are read, four times.
        let four = |from: usize| unsafe {
            let two = |from: usize| _mm256_castsi256_ps(load(numbers.as_ptr().add(from)));
            _mm256_shuffle_ps::<0b11_11_11_11>(two(from), two(from + 2))
        };
        let eight = _mm256_shuffle_ps::<0b10_00_10_00>(four(from), four(from + 4));
        // The order is 0, 2, 4, 6, 1, 3, 5, 7.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let eight = _mm256_permutevar8x32_epi32(_mm256_castps_si256(eight), order);
        // SAFETY: 8 of 16 tops are written, twice.
        unsafe { store(tops.as_mut_ptr().add(from), eight) };
    }
    tops
}
