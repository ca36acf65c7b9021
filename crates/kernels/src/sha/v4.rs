//! AVX-512 registers: sixteen lanes of 32 bits, eight of 64.

use core::arch::x86_64::*;

use super::MAX_LANES;
use super::words::Words;

/// Sixteen words of 32 bits.
#[derive(Clone, Copy)]
pub struct V4x32(__m512i);

/// Eight words of 64 bits.
#[derive(Clone, Copy)]
pub struct V4x64(__m512i);

/// Implements the operations that differ only in the names of their instructions.
macro_rules! operations {
    ($rotate:ident, $shift:ident, $add:ident) => {
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            // SAFETY: a value exists only where the processor has AVX-512.
            Self(unsafe { $add(self.0, other.0) })
        }

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_xor_si512(self.0, other.0) })
        }

        #[inline(always)]
        fn parity(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_ternarylogic_epi64::<0x96>(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn choose(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_ternarylogic_epi64::<0xca>(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn majority(self, b: Self, c: Self) -> Self {
            // SAFETY: as above.
            Self(unsafe { _mm512_ternarylogic_epi64::<0xe8>(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
            // SAFETY: as above.
            Self(unsafe { $rotate::<LEFT>(self.0) })
        }

        #[inline(always)]
        fn shift<const RIGHT: i32>(self) -> Self {
            // SAFETY: as above. The compiler makes it a shift by a constant.
            Self(unsafe { $shift(self.0, _mm_cvtsi32_si128(RIGHT)) })
        }
    };
}

impl Words for V4x32 {
    type Word = u32;
    const LANES: usize = 16;

    operations!(_mm512_rol_epi32, _mm512_srl_epi32, _mm512_add_epi32);

    #[inline(always)]
    unsafe fn splat(word: u32) -> Self {
        // SAFETY: the caller guarantees AVX-512.
        Self(unsafe { _mm512_set1_epi32(word as i32) })
    }

    #[inline(always)]
    unsafe fn load(words: &[u32; MAX_LANES]) -> Self {
        // SAFETY: the array is 64 bytes long; the caller guarantees AVX-512.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u32; MAX_LANES]) {
        // SAFETY: the array is 64 bytes long.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn block(sources: &[*const u8; MAX_LANES], offset: usize) -> [Self; 16] {
        // SAFETY: the caller guarantees AVX-512, and a block of 64 bytes at each source.
        unsafe {
            let reverse = _mm512_broadcast_i32x4(_mm_set_epi8(
                12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3,
            ));
            let mut rows = [reverse; 16];
            for (row, source) in rows.iter_mut().zip(sources) {
                let words = _mm512_loadu_si512(source.add(offset).cast());
                *row = _mm512_shuffle_epi8(words, reverse);
            }
            let mut block = [Self(reverse); 16];
            // Transposes groups of four rows within quarters of registers, then the quarters.
            let mut groups = [[reverse; 4]; 4];
            for (at, rows) in rows.as_chunks::<4>().0.iter().enumerate() {
                let low = _mm512_unpacklo_epi32(rows[0], rows[1]);
                let high = _mm512_unpackhi_epi32(rows[0], rows[1]);
                let other_low = _mm512_unpacklo_epi32(rows[2], rows[3]);
                let other_high = _mm512_unpackhi_epi32(rows[2], rows[3]);
                groups[0][at] = _mm512_unpacklo_epi64(low, other_low);
                groups[1][at] = _mm512_unpackhi_epi64(low, other_low);
                groups[2][at] = _mm512_unpacklo_epi64(high, other_high);
                groups[3][at] = _mm512_unpackhi_epi64(high, other_high);
            }
            for (column, group) in groups.into_iter().enumerate() {
                for (at, words) in quarters(group).into_iter().enumerate() {
                    block[4 * at + column] = Self(words);
                }
            }
            block
        }
    }
}

impl Words for V4x64 {
    type Word = u64;
    const LANES: usize = 8;

    operations!(_mm512_rol_epi64, _mm512_srl_epi64, _mm512_add_epi64);

    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller guarantees AVX-512.
        Self(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    unsafe fn load(words: &[u64; MAX_LANES]) -> Self {
        // SAFETY: the first half of the array is 64 bytes long; the caller guarantees AVX-512.
        Self(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, words: &mut [u64; MAX_LANES]) {
        // SAFETY: the first half of the array is 64 bytes long.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) }
    }

    #[inline(always)]
    unsafe fn block(sources: &[*const u8; MAX_LANES], offset: usize) -> [Self; 16] {
        // SAFETY: the caller guarantees AVX-512, and a block of 128 bytes at each source.
        unsafe {
            let reverse = _mm512_broadcast_i32x4(_mm_set_epi8(
                8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
            ));
            let mut block = [Self(reverse); 16];
            for (half, block) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let mut rows = [reverse; 8];
                for (row, source) in rows.iter_mut().zip(sources) {
                    let from = source.add(offset + 64 * half);
                    *row = _mm512_shuffle_epi8(_mm512_loadu_si512(from.cast()), reverse);
                }
                let pairs = rows.as_chunks::<2>().0;
                let mut low = [rows[0]; 4];
                let mut high = low;
                for (at, [one, other]) in pairs.iter().enumerate() {
                    low[at] = _mm512_unpacklo_epi64(*one, *other);
                    high[at] = _mm512_unpackhi_epi64(*one, *other);
                }
                for (at, words) in quarters(low).into_iter().enumerate() {
                    block[2 * at] = Self(words);
                }
                for (at, words) in quarters(high).into_iter().enumerate() {
                    block[2 * at + 1] = Self(words);
                }
            }
            block
        }
    }
}

/// Transposes the quarters of four registers.
///
/// # Safety
/// The processor has AVX-512.
#[inline(always)]
pub(crate) unsafe fn quarters(rows: [__m512i; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = rows;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let first = _mm512_shuffle_i32x4::<0x44>(a, b);
        let second = _mm512_shuffle_i32x4::<0xee>(a, b);
        let third = _mm512_shuffle_i32x4::<0x44>(c, d);
        let fourth = _mm512_shuffle_i32x4::<0xee>(c, d);
        [
            _mm512_shuffle_i32x4::<0x88>(first, third),
            _mm512_shuffle_i32x4::<0xdd>(first, third),
            _mm512_shuffle_i32x4::<0x88>(second, fourth),
            _mm512_shuffle_i32x4::<0xdd>(second, fourth),
        ]
    }
}
