//! AVX2.

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm_movemask_epi8, _mm_packs_epi16, _mm256_castsi256_ps, _mm256_castsi256_si128,
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_extracti128_si256,
    _mm256_max_epu8, _mm256_max_epu16, _mm256_max_epu32, _mm256_movemask_epi8, _mm256_movemask_ps,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32,
};

use super::{Lanes, Line};

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
