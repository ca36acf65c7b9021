//! AVX-512.

mod squeeze;

use core::arch::asm;
use core::arch::x86_64::{
    __m256i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm256_storeu_si256, _mm512_add_epi32,
    _mm512_add_epi64, _mm512_castsi128_si512, _mm512_castsi256_si512, _mm512_castsi512_si256,
    _mm512_cmpeq_epi64_mask, _mm512_cmple_epu8_mask, _mm512_cmple_epu16_mask,
    _mm512_cmple_epu32_mask, _mm512_cmple_epu64_mask, _mm512_cvtepi32_epi8, _mm512_cvtepi64_epi32,
    _mm512_cvtepu32_epi64, _mm512_extracti64x4_epi64, _mm512_i32gather_epi32,
    _mm512_i64gather_epi64, _mm512_inserti32x4, _mm512_inserti64x4, _mm512_loadu_si512,
    _mm512_mask_add_epi32, _mm512_mask_add_epi64, _mm512_mask_blend_epi32, _mm512_mask_blend_epi64,
    _mm512_maskz_compress_epi32, _mm512_maskz_mov_epi32, _mm512_min_epu32, _mm512_mullo_epi32,
    _mm512_mullo_epi64, _mm512_permutex2var_epi32, _mm512_permutex2var_epi64, _mm512_set_epi32,
    _mm512_set_epi64, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_set4_epi32, _mm512_set4_epi64, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_sllv_epi32, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_test_epi32_mask,
    _mm512_test_epi64_mask, _mm512_testn_epi32_mask, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::v3::{halved, value};
use super::{Every, Lanes, Line, Squeeze};

/// The AVX-512 instruction set; created only where it was detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V4(());

impl V4 {
    /// # Safety
    /// The processor has the features of `V3`, and AVX-512 F, BW, DQ and VL.
    #[inline(always)]
    pub(crate) unsafe fn detected() -> Self {
        Self(())
    }
}

/// Loads a whole line.
#[inline]
#[target_feature(enable = "avx512f")]
fn whole(line: &Line) -> __m512i {
    // SAFETY: the line has 64 bytes.
    unsafe { load(line.as_ptr().cast()) }
}

/// Loads 64 bytes.
///
/// # Safety
/// The bytes may be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load(address: *const u8) -> __m512i {
    let value: __m512i;
    // SAFETY: guaranteed by the caller. In assembly as in `v3`.
    unsafe {
        asm!(
            "vmovdqu64 {value}, [{address}]",
            value = lateout(zmm_reg) value,
            address = in(reg) address,
            options(nostack, readonly, preserves_flags),
        );
    }
    value
}

/// Loads the words at these indices.
///
/// # Safety
/// The words may be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather_relaxed(table: *const u32, places: __m512i) -> __m512i {
    let words: __m512i;
    // SAFETY: guaranteed by the caller. In assembly as in `v3`.
    unsafe {
        asm!(
            "kxnorw {all}, {all}, {all}",
            "vpxord {words}, {words}, {words}",
            "vpgatherdd {words} {{{all}}}, [{table} + {places}*4]",
            all = out(kreg) _,
            words = out(zmm_reg) words,
            table = in(reg) table,
            places = in(zmm_reg) places,
            options(nostack, readonly, preserves_flags),
        );
    }
    words
}

/// Loads 16 indices, limited to the last index of a table.
#[inline]
#[target_feature(enable = "avx512f")]
fn at_most(places: &[u32; 16], last: usize) -> __m512i {
    let last = i32::try_from(last).unwrap_or(i32::MAX);
    // SAFETY: 16 numbers are read, of 16.
    let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
    _mm512_min_epu32(places, _mm512_set1_epi32(last))
}

/// Step sizes of a binary search (without the first step among 64 numbers): each step compares with the last
/// number of a skippable group.
const STEPS: [i32; 5] = [16, 8, 4, 2, 1];

/// Returns the ranks of 16 keys among the first 31 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn rank_in_32(numbers: &[u32; 32], keys: __m512i) -> __m512i {
    // SAFETY: 16 of 32 numbers are read, twice.
    let sixteen = |from: usize| unsafe { _mm512_loadu_si512(numbers.as_ptr().add(from).cast()) };
    let (low, high) = (sixteen(0), sixteen(16));
    let mut rank = _mm512_setzero_si512();
    for step in STEPS {
        let at = _mm512_add_epi32(rank, _mm512_set1_epi32(step - 1));
        let number = _mm512_permutex2var_epi32(low, at, high);
        let most = _mm512_cmple_epu32_mask(number, keys);
        rank = _mm512_mask_add_epi32(rank, most, rank, _mm512_set1_epi32(step));
    }
    rank
}

/// Returns the ranks of 16 keys among the first 63 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn rank_in_64(numbers: &[u32; 64], keys: __m512i) -> __m512i {
    // SAFETY: 16 of 64 numbers are read, four times.
    let sixteen = |from: usize| unsafe { _mm512_loadu_si512(numbers.as_ptr().add(from).cast()) };
    let (lower, upper) = ((sixteen(0), sixteen(16)), (sixteen(32), sixteen(48)));
    let is_upper = _mm512_cmple_epu32_mask(_mm512_set1_epi32(numbers[31] as i32), keys);
    let mut rank = _mm512_maskz_mov_epi32(is_upper, _mm512_set1_epi32(32));
    for step in STEPS {
        let at = _mm512_add_epi32(rank, _mm512_set1_epi32(step - 1));
        let low = _mm512_permutex2var_epi32(lower.0, at, lower.1);
        let high = _mm512_permutex2var_epi32(upper.0, at, upper.1);
        let number = _mm512_mask_blend_epi32(is_upper, low, high);
        let most = _mm512_cmple_epu32_mask(number, keys);
        rank = _mm512_mask_add_epi32(rank, most, rank, _mm512_set1_epi32(step));
    }
    rank
}

/// Adds to each of 16 line positions the count of the 16 numbers of that line that are at most the key.
///
/// # Safety
/// `numbers` consists of whole lines, and each position is inside of them.
#[inline]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn add_in_lines(numbers: &[u32], keys: &[u32; 16], places: &mut [u32; 16]) {
    for at in 0..16_usize {
        // SAFETY: the caller guarantees the lines; of `keys` and `places` the element at an index below 16 is
        // read, and that of `places` written. In assembly, because the compiler would otherwise extract the
        // elements from vector registers, which takes twice as long as these loads.
        unsafe {
            asm!(
                "mov {count:e}, [{places} + {at}*4]",
                "and {count:e}, -16",
                "vmovdqu64 {line}, [{numbers} + {count}*4]",
                "vpcmpleud {most}, {line}, dword ptr [{keys} + {at}*4]{{1to16}}",
                "kmovw {count:e}, {most}",
                "popcnt {count:e}, {count:e}",
                "add [{places} + {at}*4], {count:e}",
                count = out(reg) _,
                line = out(zmm_reg) _,
                most = out(kreg) _,
                numbers = in(reg) numbers.as_ptr(),
                keys = in(reg) keys.as_ptr(),
                places = in(reg) places.as_mut_ptr(),
                at = in(reg) at,
                options(nostack),
            );
        }
    }
}

/// Returns the ranks of eight keys among the first 31 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn rank_in_order(numbers: &[u64; 32], keys: __m512i) -> __m512i {
    let mut rank = _mm512_setzero_si512();
    for number in &numbers[..31] {
        let most = _mm512_cmple_epu64_mask(_mm512_set1_epi64(*number as i64), keys);
        rank = _mm512_mask_add_epi64(rank, most, rank, _mm512_set1_epi64(1));
    }
    rank
}

/// Returns the elements of a table at 16 indices below 32.
#[inline]
#[target_feature(enable = "avx512f")]
fn picked(table: &[u64; 32], places: __m512i) -> [u64; 16] {
    let mut found = [0_u64; 16];
    // SAFETY: 8 of 32 entries are read, four times, and 8 of 16 are written, twice.
    unsafe {
        let quarter = |at: usize| _mm512_loadu_si512(table.as_ptr().add(at * 8).cast());
        let quarters = [quarter(0), quarter(1), quarter(2), quarter(3)];
        let pick = |places: __m256i| {
            let places = _mm512_cvtepu32_epi64(places);
            let low = _mm512_permutex2var_epi64(quarters[0], places, quarters[1]);
            let high = _mm512_permutex2var_epi64(quarters[2], places, quarters[3]);
            let upper = _mm512_test_epi64_mask(places, _mm512_set1_epi64(16));
            _mm512_mask_blend_epi64(upper, low, high)
        };
        let low = pick(_mm512_castsi512_si256(places));
        let high = pick(_mm512_extracti64x4_epi64::<1>(places));
        _mm512_storeu_si512(found.as_mut_ptr().cast(), low);
        _mm512_storeu_si512(found.as_mut_ptr().add(8).cast(), high);
    }
    found
}

impl Lanes for V4 {
    const SQUEEZES: bool = true;
    const PICKS: bool = true;

    #[inline(always)]
    fn squeeze(self, numbers: &[u128; 16], squeeze: &Squeeze) -> [u32; 16] {
        // SAFETY: a `V4` exists only where its features were detected.
        unsafe { squeeze::squeeze(numbers, squeeze) }
    }

    #[inline(always)]
    fn rank(self, numbers: &[u32; 16], key: u32) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 16 numbers are read, of 16.
        let bits = unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            _mm512_cmple_epu32_mask(numbers, _mm512_set1_epi32(key as i32))
        };
        bits.count_ones()
    }

    #[inline(always)]
    fn pick(self, table: &[u64; 32], places: &[u32; 16]) -> [u64; 16] {
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 16 places are read, of 16.
        unsafe { picked(table, _mm512_loadu_si512(places.as_ptr().cast())) }
    }

    #[inline(always)]
    fn marked(self, marks: u32, places: &[u32; 16]) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 16 places are read, of 16.
        let bits = unsafe {
            let places = _mm512_loadu_si512(places.as_ptr().cast());
            let one = _mm512_sllv_epi32(_mm512_set1_epi32(1), places);
            _mm512_test_epi32_mask(one, _mm512_set1_epi32(marks as i32))
        };
        bits.into()
    }

    #[inline(always)]
    fn few_ranks(self, numbers: &[u32; 32], keys: &[u32; 16]) -> [u32; 16] {
        let mut found = [0; 16];
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 16 keys are read, of 16, and 16 ranks are
        // written, of 16.
        unsafe {
            let rank = rank_in_32(numbers, _mm512_loadu_si512(keys.as_ptr().cast()));
            _mm512_storeu_si512(found.as_mut_ptr().cast(), rank);
        }
        found
    }

    #[inline(always)]
    fn few_ranks_u64(self, numbers: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        let mut found = [0; 16];
        for (keys, found) in keys.chunks_exact(8).zip(found.chunks_exact_mut(8)) {
            // SAFETY: a `V4` exists only where AVX-512 F was detected; 8 keys are read, of 8, and 8
            // ranks are written, of 8.
            unsafe {
                let rank = rank_in_order(numbers, _mm512_loadu_si512(keys.as_ptr().cast()));
                let rank = _mm512_cvtepi64_epi32(rank);
                _mm256_storeu_si256(found.as_mut_ptr().cast(), rank);
            }
        }
        found
    }

    #[inline(always)]
    fn ranks(self, numbers: &[u32], every: &Every, keys: &[u32; 16]) -> [u32; 16] {
        let stride = (numbers.len() / 32).min(1 << 24) as i32;
        let mut found = [0; 16];
        // SAFETY: a `V4` exists only where AVX-512 F was detected. All gathered elements are among the
        // numbers: at most all strides but one, plus the halves of one stride, whose sum is less than a
        // stride.
        unsafe {
            let keys = _mm512_loadu_si512(keys.as_ptr().cast());
            let (mut rank, stride) = match stride {
                ..32 => (rank_in_32(&every.of_32, keys), stride),
                _ => (rank_in_64(&every.of_64, keys), stride / 2),
            };
            rank = _mm512_mullo_epi32(rank, _mm512_set1_epi32(stride));
            let mut step = stride / 2;
            while step >= 16 {
                let at = _mm512_add_epi32(rank, _mm512_set1_epi32(step - 1));
                let number = _mm512_i32gather_epi32::<4>(at, numbers.as_ptr().cast());
                let most = _mm512_cmple_epu32_mask(number, keys);
                rank = _mm512_mask_add_epi32(rank, most, rank, _mm512_set1_epi32(step));
                step /= 2;
            }
            _mm512_storeu_si512(found.as_mut_ptr().cast(), rank);
        }
        if stride > 1 {
            // SAFETY: as above; each rank is now the index of a number, and the numbers are whole lines.
            unsafe { add_in_lines(numbers, keys, &mut found) };
        }
        found
    }

    #[inline(always)]
    fn ranks_u64(self, numbers: &[u64], every: &[u64; 32], keys: &[u64; 16]) -> [u32; 16] {
        let stride = (numbers.len() / 32).min(1 << 24) as i64;
        let mut found = [0; 16];
        for (keys, found) in keys.chunks_exact(8).zip(found.chunks_exact_mut(8)) {
            // SAFETY: as in `ranks`, with 8 numbers of 64 bits at a time.
            unsafe {
                let keys = _mm512_loadu_si512(keys.as_ptr().cast());
                let rank = rank_in_order(every, keys);
                let mut rank = _mm512_mullo_epi64(rank, _mm512_set1_epi64(stride));
                let mut step = stride / 2;
                while step >= 8 {
                    let at = _mm512_add_epi64(rank, _mm512_set1_epi64(step - 1));
                    let number = _mm512_i64gather_epi64::<8>(at, numbers.as_ptr().cast());
                    let most = _mm512_cmple_epu64_mask(number, keys);
                    rank = _mm512_mask_add_epi64(rank, most, rank, _mm512_set1_epi64(step));
                    step /= 2;
                }
                let rank = _mm512_cvtepi64_epi32(rank);
                _mm256_storeu_si256(found.as_mut_ptr().cast(), rank);
            }
        }
        if stride > 1 {
            let (lines, _) = numbers.as_chunks();
            for (found, key) in found.iter_mut().zip(keys) {
                let line = lines.get(*found as usize / 8);
                *found += line.map_or(0, |line| self.rank_u64(line, *key));
            }
        }
        found
    }

    #[inline(always)]
    fn gather(self, table: &[u32], places: &[u32; 16]) -> [u32; 16] {
        let mut found = [0; 16];
        let Some(last) = table.len().checked_sub(1) else {
            return found;
        };
        // SAFETY: a `V4` exists only where AVX-512 F was detected; no place is beyond the last.
        unsafe {
            let places = at_most(places, last);
            let entries = _mm512_i32gather_epi32::<4>(places, table.as_ptr().cast());
            _mm512_storeu_si512(found.as_mut_ptr().cast(), entries);
        }
        found
    }

    #[inline(always)]
    fn gather_shared(self, table: &[AtomicU32], places: &[u32; 16]) -> [u32; 16] {
        let mut found = [0; 16];
        let Some(last) = table.len().checked_sub(1) else {
            return found;
        };
        // SAFETY: as in `gather`.
        unsafe {
            let places = at_most(places, last);
            let entries = gather_relaxed(table.as_ptr().cast(), places);
            _mm512_storeu_si512(found.as_mut_ptr().cast(), entries);
        }
        found
    }

    #[inline(always)]
    fn columns<const PARTS: usize>(
        self,
        rows: &[&[[u8; 16]; PARTS]; 16],
    ) -> [[[u32; 16]; 4]; PARTS] {
        let mut columns = [[[0; 16]; 4]; PARTS];
        for (at, part) in columns.iter_mut().enumerate() {
            // SAFETY: a `V4` exists only where AVX-512 F and BW were detected. Of each row a part
            // of 16 bytes is read; 16 numbers are written to each of four columns.
            unsafe {
                let piece = |row: usize| _mm_loadu_si128(rows[row][at].as_ptr().cast());
                // Combines rows 0, 4, 8 and 12 and so on: each quarter of the transposed result then has its
                // rows in order.
                let every_fourth = |row: usize| {
                    let rows = _mm512_castsi128_si512(piece(row));
                    let rows = _mm512_inserti32x4::<1>(rows, piece(row + 4));
                    let rows = _mm512_inserti32x4::<2>(rows, piece(row + 8));
                    _mm512_inserti32x4::<3>(rows, piece(row + 12))
                };
                let (a, b) = (every_fourth(0), every_fourth(1));
                let (c, d) = (every_fourth(2), every_fourth(3));
                let low = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
                let high = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
                let order = _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203);
                let numbers = [
                    _mm512_unpacklo_epi64(low.0, low.1),
                    _mm512_unpackhi_epi64(low.0, low.1),
                    _mm512_unpacklo_epi64(high.0, high.1),
                    _mm512_unpackhi_epi64(high.0, high.1),
                ];
                for (column, numbers) in part.iter_mut().zip(numbers) {
                    let numbers = _mm512_shuffle_epi8(numbers, order);
                    _mm512_storeu_si512(column.as_mut_ptr().cast(), numbers);
                }
            }
        }
        columns
    }

    #[inline(always)]
    fn wide<const PARTS: usize>(self, rows: &[&[[u8; 16]; PARTS]; 16], at: usize) -> [u128; 16] {
        let mut numbers = [0; 16];
        const { assert!(PARTS > 0, "a row has a part") };
        let at = at.min(PARTS * 16 - 16);
        // SAFETY: a `V4` exists only where AVX-512 F and BW were detected. 16 bytes of each row are read,
        // the last of which is inside the row; 4 of 16 numbers are written, four times.
        unsafe {
            let bytes = |row: usize| _mm_loadu_si128(rows[row].as_ptr().byte_add(at).cast());
            let back = _mm512_set4_epi32(0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f);
            for from in (0..16).step_by(4) {
                let four = _mm512_castsi128_si512(bytes(from));
                let four = _mm512_inserti32x4::<1>(four, bytes(from + 1));
                let four = _mm512_inserti32x4::<2>(four, bytes(from + 2));
                let four = _mm512_inserti32x4::<3>(four, bytes(from + 3));
                let four = _mm512_shuffle_epi8(four, back);
                _mm512_storeu_si512(numbers.as_mut_ptr().add(from).cast(), four);
            }
        }
        numbers
    }

    #[inline(always)]
    fn highs(self, numbers: &[u128; 16]) -> [u64; 16] {
        let mut halves = [0; 16];
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 4 of 16 numbers are read, twice, and
        // 8 of 16 halves are written, twice.
        unsafe {
            let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
            for from in [0, 8] {
                let low = _mm512_loadu_si512(numbers.as_ptr().add(from).cast());
                let high = _mm512_loadu_si512(numbers.as_ptr().add(from + 4).cast());
                let eight = _mm512_permutex2var_epi64(low, odd, high);
                _mm512_storeu_si512(halves.as_mut_ptr().add(from).cast(), eight);
            }
        }
        halves
    }

    #[inline(always)]
    fn tops(self, numbers: &[u128; 16]) -> [u32; 16] {
        let mut tops = [0_u32; 16];
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 4 of 16 numbers are read, four times, and
        // 16 of 16 tops are written.
        unsafe {
            let every_fourth =
                _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 31, 27, 23, 19, 15, 11, 7, 3);
            let eight = |from: usize| {
                let low = _mm512_loadu_si512(numbers.as_ptr().add(from).cast());
                let high = _mm512_loadu_si512(numbers.as_ptr().add(from + 4).cast());
                _mm512_castsi512_si256(_mm512_permutex2var_epi32(low, every_fourth, high))
            };
            let first = _mm512_castsi256_si512(eight(0));
            let all = _mm512_inserti64x4::<1>(first, eight(8));
            _mm512_storeu_si512(tops.as_mut_ptr().cast(), all);
        }
        tops
    }

    #[inline(always)]
    fn places(self, bits: u32) -> [u8; 16] {
        let mut places = [0_u8; 16];
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 16 of 16 places are written.
        unsafe {
            let all = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            let some = _mm512_maskz_compress_epi32(bits as u16, all);
            _mm_storeu_si128(places.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(some));
        }
        places
    }

    #[inline(always)]
    fn zeros(self, numbers: &[u32; 16]) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 16 numbers are read, of 16.
        let bits = unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            _mm512_testn_epi32_mask(numbers, numbers)
        };
        u32::from(bits)
    }

    #[inline(always)]
    fn alike<const SHIFT: u32>(self, words: &[AtomicU64; 8], key: u64) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected; the words have 64 bytes.
        let bits = unsafe {
            let words = _mm512_srli_epi64::<SHIFT>(load(words.as_ptr().cast()));
            _mm512_cmpeq_epi64_mask(words, _mm512_set1_epi64(key as i64))
        };
        u32::from(bits)
    }

    #[inline(always)]
    fn alike_wide(self, line: &Line, key: u128) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected.
        let bits = unsafe {
            let (high, low) = ((key >> 64) as i64, key as i64);
            let keys = _mm512_set4_epi64(high, low, high, low);
            _mm512_cmpeq_epi64_mask(whole(line), keys)
        };
        halved(bits.into())
    }

    #[inline(always)]
    fn rank_u64(self, numbers: &[u64; 8], key: u64) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected; 8 numbers are read, of 8.
        let bits = unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            _mm512_cmple_epu64_mask(numbers, _mm512_set1_epi64(key as i64))
        };
        bits.count_ones()
    }

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
        // SAFETY: a `V4` exists only where AVX-512 F and BW were detected.
        let bits = unsafe { _mm512_cmple_epu8_mask(whole(line), _mm512_set1_epi8(key as i8)) };
        (bits >> (at % 4 * 16)) as u32
    }

    #[inline(always)]
    fn at_most_u16(self, line: &Line, at: u32, key: u16) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F and BW were detected.
        let bits = unsafe { _mm512_cmple_epu16_mask(whole(line), _mm512_set1_epi16(key as i16)) };
        bits >> (at % 4 * 8)
    }

    #[inline(always)]
    fn at_most_u32(self, line: &Line, at: u32, key: u32) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected.
        let bits = unsafe { _mm512_cmple_epu32_mask(whole(line), _mm512_set1_epi32(key as i32)) };
        u32::from(bits) >> (at % 4 * 4)
    }

    #[inline(always)]
    fn at_most_u64(self, line: &Line, key: u64) -> u32 {
        // SAFETY: a `V4` exists only where AVX-512 F was detected.
        unsafe { _mm512_cmple_epu64_mask(whole(line), _mm512_set1_epi64(key as i64)).into() }
    }
}
