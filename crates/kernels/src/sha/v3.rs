//! AVX2 registers: eight lanes of 32 bits, four of 64.

use core::arch::x86_64::*;

use super::MAX_LANES;
use super::words::Words;

/// Eight words of 32 bits.
#[derive(Clone, Copy)]
pub struct V3x32(__m256i);

/// Four words of 64 bits.
#[derive(Clone, Copy)]
pub struct V3x64(__m256i);

/// Implements the operations that differ only in the names of their instructions.
macro_rules! operations {
    ($left:ident, $right:ident, $add:ident) => {
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: a value exists only where the processor has AVX2.
            Self(unsafe { $add(self.0, other.0) })
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_xor_si256(self.0, other.0) })
        }

        #[inline(always)]
        fn parity(self, b: Self, c: Self) -> Self {
            self.xor(b).xor(c)
        }

        #[inline(always)]
        fn choose(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe {
                _mm256_xor_si256(c.0, _mm256_and_si256(self.0, _mm256_xor_si256(b.0, c.0)))
            })
        }

        #[inline(always)]
        fn majority(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe {
                let both = _mm256_and_si256(self.0, b.0);
                _mm256_or_si256(both, _mm256_and_si256(c.0, _mm256_or_si256(self.0, b.0)))
            })
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm256_or_si256($left::<LEFT>(self.0), $right::<RIGHT>(self.0)) })
        }

        #[inline(always)]
        fn shift<const RIGHT: i32>(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $right::<RIGHT>(self.0) })
        }
    };
}

impl Words for V3x32 {
    type Word = u32;
    const LANES: usize = 8;

    operations!(_mm256_slli_epi32, _mm256_srli_epi32, _mm256_add_epi32);

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_set1_epi32(word as i32) })
    }

    #[inline(always)]
    unsafe fn load(words: &[u32; MAX_LANES]) -> Self {
        // SAFETY: the first half of the array is 32 bytes long; the caller guarantees AVX2.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u32; MAX_LANES]) {
        // SAFETY: the first half of the array is 32 bytes long.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn block(sources: &[*const u8; MAX_LANES], offset: usize) -> [Self; 16] {
        // SAFETY: the caller guarantees AVX2, and a block of 64 bytes at each source.
        unsafe {
            let reverse = _mm256_broadcastsi128_si256(_mm_set_epi8(
                12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3,
            ));
            let mut block = [Self(reverse); 16];
            for (half, block) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                // Transposes groups of four rows within halves of registers, then the halves.
                let mut groups = [[reverse; 2]; 4];
                for (at, sources) in sources.as_chunks::<4>().0.iter().take(2).enumerate() {
                    let mut rows = [reverse; 4];
                    for (row, source) in rows.iter_mut().zip(sources) {
                        let words = _mm256_loadu_si256(source.add(offset + 32 * half).cast());
                        *row = _mm256_shuffle_epi8(words, reverse);
                    }
                    let low = _mm256_unpacklo_epi32(rows[0], rows[1]);
                    let high = _mm256_unpackhi_epi32(rows[0], rows[1]);
                    let other_low = _mm256_unpacklo_epi32(rows[2], rows[3]);
                    let other_high = _mm256_unpackhi_epi32(rows[2], rows[3]);
                    groups[0][at] = _mm256_unpacklo_epi64(low, other_low);
                    groups[1][at] = _mm256_unpackhi_epi64(low, other_low);
                    groups[2][at] = _mm256_unpacklo_epi64(high, other_high);
                    groups[3][at] = _mm256_unpackhi_epi64(high, other_high);
                }
                for (column, [one, other]) in groups.into_iter().enumerate() {
                    block[column] = Self(_mm256_permute2x128_si256::<0x20>(one, other));
                    block[4 + column] = Self(_mm256_permute2x128_si256::<0x31>(one, other));
                }
            }
            block
        }
    }
}

impl Words for V3x64 {
    type Word = u64;
    const LANES: usize = 4;

    operations!(_mm256_slli_epi64, _mm256_srli_epi64, _mm256_add_epi64);

    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller guarantees AVX2.
        Self(unsafe { _mm256_set1_epi64x(word as i64) })
    }

    #[inline(always)]
    unsafe fn load(words: &[u64; MAX_LANES]) -> Self {
        // SAFETY: the first quarter of the array is 32 bytes long; the caller guarantees AVX2.
        Self(unsafe { _mm256_loadu_si256(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; MAX_LANES]) {
        // SAFETY: the first quarter of the array is 32 bytes long.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn block(sources: &[*const u8; MAX_LANES], offset: usize) -> [Self; 16] {
        // SAFETY: the caller guarantees AVX2, and a block of 128 bytes at each source.
        unsafe {
            let reverse = _mm256_broadcastsi128_si256(_mm_set_epi8(
                8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
            ));
            let mut block = [Self(reverse); 16];
            for (quarter, block) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let mut rows = [reverse; 4];
                for (row, source) in rows.iter_mut().zip(sources) {
                    let from = source.add(offset + 32 * quarter);
                    *row = _mm256_shuffle_epi8(_mm256_loadu_si256(from.cast()), reverse);
                }
                let low = _mm256_unpacklo_epi64(rows[0], rows[1]);
                let high = _mm256_unpackhi_epi64(rows[0], rows[1]);
                let other_low = _mm256_unpacklo_epi64(rows[2], rows[3]);
                let other_high = _mm256_unpackhi_epi64(rows[2], rows[3]);
                *block = [
                    Self(_mm256_permute2x128_si256::<0x20>(low, other_low)),
                    Self(_mm256_permute2x128_si256::<0x20>(high, other_high)),
                    Self(_mm256_permute2x128_si256::<0x31>(low, other_low)),
                    Self(_mm256_permute2x128_si256::<0x31>(high, other_high)),
                ];
            }
            block
        }
    }
}
