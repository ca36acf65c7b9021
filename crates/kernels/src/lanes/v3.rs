//! AVX2 and the extensions that every AVX2 processor has: BMI, LZCNT and POPCNT.

mod gather;
mod line;
mod search;
mod squeeze;
mod steps;
mod wide;

pub(super) use gather::halved;

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_max_epu32, _mm256_storeu_si256,
};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{Every, Lanes, Line, Squeeze};

/// The AVX2 instruction set; created only where it was detected.
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

/// Returns the 16 bits at byte offset `place` of the line.
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

/// Loads eight 32-bit numbers or four 64-bit numbers.
///
/// # Safety
/// 32 bytes may be read.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn load<T>(from: *const T) -> __m256i {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Stores eight 32-bit numbers or four 64-bit numbers.
///
/// # Safety
/// 32 bytes may be written.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn store<T>(to: *mut T, value: __m256i) {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm256_storeu_si256(to.cast(), value) }
}

/// Returns all ones in each 32-bit lane whose number is at most its key.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn at_most(numbers: __m256i, keys: __m256i) -> __m256i {
    _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, keys), keys)
}

impl Lanes for V3 {
    const SQUEEZES: bool = true;

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
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { line::at_most_u8(line, at, key) }
    }

    #[inline(always)]
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { line::at_most_u16(line, at, key) }
    }

    #[inline(always)]
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { line::at_most_u32(line, at, key) }
    }

    #[inline(always)]
    fn at_most_u64(self, line: &Line, key: u64) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { line::at_most_u64(line, key) }
    }

    #[inline(always)]
    fn rank(self, numbers: &[u32; 16], key: u32) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { search::rank(numbers, key) }
    }

    #[inline(always)]
    fn rank_u64(self, numbers: &[u64; 8], key: u64) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { search::rank_u64(numbers, key) }
    }

    #[inline(always)]
    fn marked(self, marks: u32, places: &[u32; 16]) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::marked(marks, places) }
    }

    #[inline(always)]
    fn few_ranks(self, numbers: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { search::few_ranks(numbers, keys) }
    }

    #[inline(always)]
    fn few_ranks_u64(self, numbers: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { search::few_ranks_u64(numbers, keys) }
    }

    #[inline(always)]
    fn ranks(self, numbers: &[u32], every: &Every, keys: &[u32; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { search::ranks(numbers, &every.of_32, keys) }
    }

    #[inline(always)]
    fn ranks_u64(self, numbers: &[u64], every: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { search::ranks_u64(numbers, every, keys) }
    }

    #[inline(always)]
    fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::gather(table, places) }
    }

    #[inline(always)]
    fn gather_shared(self, table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::gather_shared(table, places) }
    }

    #[inline(always)]
    fn columns<const PARTS: usize>(
        self,
        rows: &[&[[u8; 16]; PARTS]; 16],
    ) -> [[[u32; 16]; 4]; PARTS] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::columns::<PARTS>(rows) }
    }

    #[inline(always)]
    fn wide<const PARTS: usize>(self, rows: &[&[[u8; 16]; PARTS]; 16], at: usize) -> [u128; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { wide::wide::<PARTS>(rows, at) }
    }

    #[inline(always)]
    fn highs(self, numbers: &[u128; 16]) -> [u64; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { wide::highs(numbers) }
    }

    #[inline(always)]
    fn tops(self, numbers: &[u128; 16]) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { wide::tops(numbers) }
    }

    #[inline(always)]
    fn squeeze(self, numbers: &[u128; 16], squeeze: &Squeeze) -> [u32; 16] {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { squeeze::squeeze(numbers, squeeze) }
    }

    #[inline(always)]
    fn zeros(self, numbers: &[u32; 16]) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::zeros(numbers) }
    }

    #[inline(always)]
    fn alike_wide(self, line: &Line, key: u128) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::alike_wide(line, key) }
    }

    #[inline(always)]
    fn alike<const SHIFT: u32>(self, words: &[AtomicU64; 8], key: u64) -> u32 {
        // SAFETY: a `V3` exists only where its features were detected.
        unsafe { gather::alike::<SHIFT>(words, key) }
    }
}
