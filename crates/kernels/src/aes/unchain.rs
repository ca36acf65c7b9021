//! CBC decryption with four blocks in each 512-bit register.
//!
//! Short texts of several packets are decrypted together, because one alone would wait for the result of each
//! instruction; long ones in steps of 32 blocks.

use core::arch::x86_64::*;

use super::wide::{BLOCK, load};
use super::{Chain, KEYS};

/// Bytes per register.
const REGISTER: usize = 4 * BLOCK;
/// Registers per step of a long text.
const STEP: usize = 8;
/// Packets with short texts that are decrypted together.
const TOGETHER: usize = 4;

/// Decrypts packets in CBC mode.
#[target_feature(enable = "bmi2,avx512f,avx512bw,vaes")]
pub(super) fn unchain(chains: &mut [Chain<'_>]) {
    let (groups, rest) = chains.as_chunks_mut::<TOGETHER>();
    for group in groups {
        let rounds = group[0].aes.rounds;
        let are_alike = group.iter().all(|chain| chain.aes.rounds == rounds);
        let longest = group.iter().fold(0, |len, chain| len.max(chain.text.len()));
        match longest.div_ceil(REGISTER) {
            ..=1 if are_alike => part::<1, TOGETHER>(group),
            2 if are_alike => part::<2, TOGETHER>(group),
            _ => each(group),
        }
    }
    each(rest);
}

/// Decrypts packets one by one.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw,vaes")]
fn each(chains: &mut [Chain<'_>]) {
    for chain in chains {
        let chain = core::array::from_mut(chain);
        while chain[0].text.len() > STEP * REGISTER {
            part::<STEP, 1>(chain);
        }
        match chain[0].text.len().div_ceil(REGISTER) {
            ..=2 => part::<2, 1>(chain),
            3..=4 => part::<4, 1>(chain),
            5..=6 => part::<6, 1>(chain),
            _ => part::<STEP, 1>(chain),
        }
    }
}

/// Decrypts at most `R` registers of each of `P` packets with keys of equal length, and advances texts and
/// initialization vectors.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw,vaes")]
fn part<const R: usize, const P: usize>(chains: &mut [Chain<'_>; P]) {
    let keys = chains.each_ref().map(|chain| &chain.aes.decrypt);
    let last = chains[0].aes.rounds.min(KEYS - 1);
    let mut ciphers = [[_mm512_setzero_si512(); R]; P];
    let mut blocks = ciphers;
    for at in 0..P {
        let key = four_times(&keys[at][0]);
        let text = whole_blocks(chains[at].text);
        for register in 0..R {
            let (bytes, place) = register_of(text, register);
            // SAFETY: the mask selects bytes of the text.
            ciphers[at][register] = unsafe { _mm512_maskz_loadu_epi8(bytes, place) };
            blocks[at][register] = _mm512_xor_si512(ciphers[at][register], key);
        }
    }
    for round in 1..last {
        for (blocks, keys) in blocks.iter_mut().zip(keys) {
            let key = four_times(&keys[round]);
            for block in blocks {
                *block = _mm512_aesdec_epi128(*block, key);
            }
        }
    }
    for at in 0..P {
        let key = four_times(&keys[at][last]);
        // SAFETY: the vector is 16 bytes long, and needs no alignment.
        let vector = unsafe { _mm_loadu_si128(chains[at].vector.as_ptr().cast()) };
        let mut before = _mm512_broadcast_i32x4(vector);
        let text = whole_blocks(chains[at].text);
        for register in 0..R {
            let cipher = ciphers[at][register];
            let block = _mm512_aesdeclast_epi128(blocks[at][register], key);
            let block = _mm512_xor_si512(block, _mm512_alignr_epi64::<6>(cipher, before));
            before = cipher;
            let (bytes, place) = register_of(text, register);
            // SAFETY: the mask selects bytes of the text.
            unsafe { _mm512_mask_storeu_epi8(place, bytes, block) };
        }
        let text = core::mem::take(&mut chains[at].text);
        chains[at].text = text.get_mut(R * REGISTER..).unwrap_or_default();
        // Only a text that goes on needs the vector: its last register was full.
        let vector = _mm512_extracti32x4_epi32::<3>(before);
        // SAFETY: as above.
        unsafe { _mm_storeu_si128(chains[at].vector.as_mut_ptr().cast(), vector) };
    }
}

/// Returns the whole blocks of a text.
#[inline]
fn whole_blocks(text: &mut [u8]) -> &mut [u8] {
    let len = text.len() / BLOCK * BLOCK;
    text.split_at_mut(len).0
}

/// Returns the mask of the bytes of a text in a register, and the address of the register.
#[inline]
#[target_feature(enable = "bmi2")]
fn register_of(text: &mut [u8], register: usize) -> (__mmask64, *mut i8) {
    let begin = register * REGISTER;
    let bytes = text.len().saturating_sub(begin).min(REGISTER);
    let place = text.as_mut_ptr().wrapping_add(begin).cast();
    (_bzhi_u64(!0, bytes as u32), place)
}

/// Returns a round key for the four blocks of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn four_times(key: &u128) -> __m512i {
    _mm512_broadcast_i32x4(load(key))
}
