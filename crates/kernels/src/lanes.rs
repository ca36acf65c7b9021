//! Compares a key with many small numbers at once.
//!
//! The numbers lie in words as they lie in memory, the first in the lowest bits. The answer has a
//! bit for each, the first in bit 0: set where the number is at most the key. On x86-64 this is
//! SSE2, which every such processor has; elsewhere the compiler vectorises what it can.

/// Which of 24 bytes are at most `key`.
#[inline(always)]
pub fn at_most_u8(words: [u64; 3], key: u8) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_max_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
        };
        // SAFETY: SSE2 belongs to the baseline of x86-64; the operations touch no memory.
        unsafe {
            let keys = _mm_set1_epi8(key as i8);
            let low = _mm_set_epi64x(words[1] as i64, words[0] as i64);
            let high = _mm_set_epi64x(-1, words[2] as i64);
            let low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(low, keys), keys)) as u32;
            let high = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(high, keys), keys)) as u32;
            low | ((high & 0xff) << 16)
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::at_most_u8(words, key)
}

/// Which of 16 numbers of 16 bits are at most `key`.
#[inline(always)]
pub fn at_most_u16(words: [u64; 4], key: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{
            _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x, _mm_set1_epi16,
            _mm_setzero_si128, _mm_subs_epu16,
        };
        // SAFETY: SSE2 belongs to the baseline of x86-64; the operations touch no memory.
        unsafe {
            let (keys, zero) = (_mm_set1_epi16(key as i16), _mm_setzero_si128());
            let low = _mm_set_epi64x(words[1] as i64, words[0] as i64);
            let high = _mm_set_epi64x(words[3] as i64, words[2] as i64);
            // A saturating difference of zero says "at most".
            let low = _mm_cmpeq_epi16(_mm_subs_epu16(low, keys), zero);
            let high = _mm_cmpeq_epi16(_mm_subs_epu16(high, keys), zero);
            _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::at_most_u16(words, key)
}

/// Which of 10 numbers of 32 bits are at most `key`.
#[inline(always)]
pub fn at_most_u32(words: [u64; 5], key: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{
            _mm_cmpgt_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set_epi64x,
            _mm_set1_epi32, _mm_xor_si128,
        };
        // SAFETY: SSE2 belongs to the baseline of x86-64; the operations touch no memory.
        unsafe {
            // SSE2 compares signed numbers: turn the sign bits over.
            let sign = _mm_set1_epi32(i32::MIN);
            let keys = _mm_set1_epi32((key ^ (1 << 31)) as i32);
            let more = |high: u64, low: u64| {
                let four = _mm_set_epi64x(high as i64, low as i64);
                _mm_cmpgt_epi32(_mm_xor_si128(four, sign), keys)
            };
            let first = _mm_packs_epi32(more(words[1], words[0]), more(words[3], words[2]));
            let last = more(0, words[4]);
            let all = _mm_packs_epi16(first, _mm_packs_epi32(last, last));
            !(_mm_movemask_epi8(all) as u32) & 0x3ff
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    portable::at_most_u32(words, key)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    pub(super) fn at_most_u8(words: [u64; 3], key: u8) -> u32 {
        (0..24).fold(0, |bits, lane| {
            let number = (words[lane / 8] >> (lane % 8 * 8)) as u8;
            bits | (u32::from(number <= key) << lane)
        })
    }

    pub(super) fn at_most_u16(words: [u64; 4], key: u16) -> u32 {
        (0..16).fold(0, |bits, lane| {
            let number = (words[lane / 4] >> (lane % 4 * 16)) as u16;
            bits | (u32::from(number <= key) << lane)
        })
    }

    pub(super) fn at_most_u32(words: [u64; 5], key: u32) -> u32 {
        (0..10).fold(0, |bits, lane| {
            let number = (words[lane / 2] >> (lane % 2 * 32)) as u32;
            bits | (u32::from(number <= key) << lane)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_lane_is_compared_as_an_unsigned_number(
            words: [u64; 5],
            key: u32,
            lane in 0..10_usize,
        ) {
            let three = [words[0], words[1], words[2]];
            let four = [words[0], words[1], words[2], words[3]];
            let equal = (words[lane / 2] >> (lane % 2 * 32)) as u32;
            for key in [key, equal, equal.wrapping_sub(1)] {
                prop_assert_eq!(at_most_u8(three, key as u8), portable::at_most_u8(three, key as u8));
                prop_assert_eq!(at_most_u16(four, key as u16), portable::at_most_u16(four, key as u16));
                prop_assert_eq!(at_most_u32(words, key), portable::at_most_u32(words, key));
            }
        }
    }
}
