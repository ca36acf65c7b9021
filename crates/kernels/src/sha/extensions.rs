//! The SHA extensions of x86: two messages in turn, so that the processor overlaps the rounds of both.

use core::arch::x86_64::*;

use super::rounds::SHA256;
use super::{Engine, Hash, MAX_LANES, State};

/// Two lanes.
pub(crate) struct Extensions;

impl<H: Hash> Engine<H> for Extensions {
    const LANES: usize = 2;
    type States = [State<H>; 2];

    fn set(states: &mut Self::States, lane: usize, state: &State<H>) {
        states[lane] = *state;
    }

    fn state(states: &Self::States, lane: usize) -> State<H> {
        states[lane]
    }

    unsafe fn compress(states: &mut Self::States, sources: &[*const u8; MAX_LANES], count: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe { H::compress_two(states, [sources[0], sources[1]], count) }
    }
}

/// Four rounds of SHA-1 per number: `group` is the number, the constant selects function and round constant.
macro_rules! sha1_groups {
    (
        $abcd:ident, $before:ident, $w:ident, $function:literal, $($group:literal)*
    ) => {$(
        for lane in 0..2 {
            let w = &mut $w[lane];
            if $group >= 4 {
                let words = _mm_sha1msg1_epu32(w[$group % 4], w[($group + 1) % 4]);
                let words = _mm_xor_si128(words, w[($group + 2) % 4]);
                w[$group % 4] = _mm_sha1msg2_epu32(words, w[($group + 3) % 4]);
            }
            let e = match $group {
                0 => _mm_add_epi32($before[lane], w[0]),
                _ => _mm_sha1nexte_epu32($before[lane], w[$group % 4]),
            };
            $before[lane] = $abcd[lane];
            $abcd[lane] = _mm_sha1rnds4_epu32::<$function>($abcd[lane], e);
        }
    )*};
}

/// SHA-1 of two messages.
///
/// # Safety
/// Both sources have `count` blocks.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
pub(super) unsafe fn sha1(states: &mut [[u32; 8]; 2], sources: [*const u8; 2], count: usize) {
    let reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    // The first word is the highest.
    let mut abcd = [_mm_setzero_si128(); 2];
    let mut e = abcd;
    for lane in 0..2 {
        let [a, b, c, d, last, ..] = states[lane].map(|word| word as i32);
        abcd[lane] = _mm_set_epi32(a, b, c, d);
        e[lane] = _mm_set_epi32(last, 0, 0, 0);
    }
    for block in 0..count {
        let (saved, saved_e) = (abcd, e);
        let mut w = [[reverse; 4]; 2];
        for lane in 0..2 {
            for (at, words) in w[lane].iter_mut().enumerate() {
                // SAFETY: the block exists.
                let read = unsafe { load(sources[lane], 64 * block + 16 * at) };
                *words = _mm_shuffle_epi8(read, reverse);
            }
        }
        sha1_groups!(abcd, e, w, 0, 0 1 2 3 4);
        sha1_groups!(abcd, e, w, 1, 5 6 7 8 9);
        sha1_groups!(abcd, e, w, 2, 10 11 12 13 14);
        sha1_groups!(abcd, e, w, 3, 15 16 17 18 19);
        for lane in 0..2 {
            e[lane] = _mm_sha1nexte_epu32(e[lane], saved_e[lane]);
            abcd[lane] = _mm_add_epi32(abcd[lane], saved[lane]);
        }
    }
    for lane in 0..2 {
        let words = [
            _mm_extract_epi32::<3>(abcd[lane]),
            _mm_extract_epi32::<2>(abcd[lane]),
            _mm_extract_epi32::<1>(abcd[lane]),
            _mm_extract_epi32::<0>(abcd[lane]),
            _mm_extract_epi32::<3>(e[lane]),
        ];
        for (place, word) in states[lane].iter_mut().zip(words) {
            *place = word as u32;
        }
    }
}

/// SHA-256 of two messages.
///
/// # Safety
/// Both sources have `count` blocks.
#[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
pub(super) unsafe fn sha256(states: &mut [[u32; 8]; 2], sources: [*const u8; 2], count: usize) {
    let reverse = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    let mut abef = [_mm_setzero_si128(); 2];
    let mut cdgh = abef;
    for lane in 0..2 {
        let [a, b, c, d, e, f, g, h] = states[lane].map(|word| word as i32);
        abef[lane] = _mm_set_epi32(a, b, e, f);
        cdgh[lane] = _mm_set_epi32(c, d, g, h);
    }
    for block in 0..count {
        let (saved, other_saved) = (abef, cdgh);
        let mut w = [[reverse; 4]; 2];
        for lane in 0..2 {
            for (at, words) in w[lane].iter_mut().enumerate() {
                // SAFETY: the block exists.
                let read = unsafe { load(sources[lane], 64 * block + 16 * at) };
                *words = _mm_shuffle_epi8(read, reverse);
            }
        }
        for (group, constants) in SHA256.as_chunks::<4>().0.iter().enumerate() {
            // SAFETY: the array is 16 bytes long.
            let constants = unsafe { load(constants.as_ptr().cast(), 0) };
            for lane in 0..2 {
                let w = &mut w[lane];
                if group >= 4 {
                    let words = _mm_sha256msg1_epu32(w[group % 4], w[(group + 1) % 4]);
                    let [late, last] = [w[(group + 2) % 4], w[(group + 3) % 4]];
                    let words = _mm_add_epi32(words, _mm_alignr_epi8::<4>(last, late));
                    w[group % 4] = _mm_sha256msg2_epu32(words, last);
                }
                let words = _mm_add_epi32(w[group % 4], constants);
                cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], words);
                let words = _mm_shuffle_epi32::<0x0e>(words);
                abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], words);
            }
        }
        for lane in 0..2 {
            abef[lane] = _mm_add_epi32(abef[lane], saved[lane]);
            cdgh[lane] = _mm_add_epi32(cdgh[lane], other_saved[lane]);
        }
    }
    for lane in 0..2 {
        let words = [
            _mm_extract_epi32::<3>(abef[lane]),
            _mm_extract_epi32::<2>(abef[lane]),
            _mm_extract_epi32::<3>(cdgh[lane]),
            _mm_extract_epi32::<2>(cdgh[lane]),
            _mm_extract_epi32::<1>(abef[lane]),
            _mm_extract_epi32::<0>(abef[lane]),
            _mm_extract_epi32::<1>(cdgh[lane]),
            _mm_extract_epi32::<0>(cdgh[lane]),
        ];
        states[lane] = words.map(|word| word as u32);
    }
}

/// Loads 16 bytes.
///
/// # Safety
/// They may be read.
#[inline]
#[target_feature(enable = "sse2")]
unsafe fn load(source: *const u8, offset: usize) -> __m128i {
    // SAFETY: guaranteed by the caller.
    unsafe { _mm_loadu_si128(source.add(offset).cast()) }
}
