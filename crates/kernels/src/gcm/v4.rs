//! GCM with sixteen blocks per step, four in each 512-bit register: the blocks are encrypted, then hashed. A mask
//! handles a text that ends within a register.

use core::arch::x86_64::*;

use super::{Gcm, POWERS};
use crate::aes::wide::{BLOCK, load};
use crate::ghash::wide::{Sum, backwards, number, register};

/// Bytes per register.
const REGISTER: usize = 4 * BLOCK;
/// Blocks between reductions, and their bytes.
const BLOCKS: usize = 16;
const GROUP: usize = BLOCKS * BLOCK;

/// State between groups of blocks.
struct State<'g> {
    gcm: &'g Gcm,
    /// The next four counter blocks, each with its last word in native byte order.
    counters: __m512i,
    /// GHASH value of the blocks processed so far.
    hash: __m128i,
    /// Unreduced products of the blocks before and after the text.
    beside: Sum,
}

#[target_feature(enable = "aes,avx2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
pub(super) fn run<const OPENS: bool>(
    gcm: &Gcm,
    nonce: u128,
    first: u128,
    text: &mut [u8],
    last: u128,
) -> u128 {
    let zero = register(nonce.swap_bytes());
    let (first, last) = (register(first), register(last));
    let mask = mask(gcm, _mm_add_epi32(zero, _mm_set_epi32(1, 0, 0, 0)));
    let counters = _mm512_add_epi32(
        _mm512_broadcast_i32x4(zero),
        _mm512_set_epi32(5, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0),
    );
    let mut state = State {
        gcm,
        counters,
        hash: _mm_setzero_si128(),
        beside: Sum::zero(),
    };
    // The first block comes before the first group, which may also contain the last block.
    let behind = match text.len() {
        len if len > GROUP => BLOCKS,
        len => len.div_ceil(BLOCK) + 1,
    };
    state.beside.add(first, power(gcm, behind + 1));
    let mut text = text;
    while text.len() > GROUP {
        let (group, rest) = text.split_at_mut(GROUP);
        state.group::<4, true, OPENS>(group, BLOCKS);
        text = rest;
    }
    state.beside.add(last, power(gcm, 1));
    let behind = text.len().div_ceil(BLOCK) + 1;
    match text.len().div_ceil(REGISTER) {
        0 | 1 => state.group::<1, false, OPENS>(text, behind),
        2 => state.group::<2, false, OPENS>(text, behind),
        3 => state.group::<3, false, OPENS>(text, behind),
        _ => state.group::<4, false, OPENS>(text, behind),
    }
    number(_mm_xor_si128(state.hash, mask))
}

/// Returns a power of the hash key.
#[inline]
#[target_feature(enable = "avx2")]
fn power(gcm: &Gcm, exponent: usize) -> __m128i {
    load(&gcm.powers[POWERS - exponent.min(POWERS)])
}

/// Returns the first counter block, encrypted, in the byte order of the hash.
#[inline]
#[target_feature(enable = "aes,avx2,avx512f,avx512bw,avx512vl,vaes")]
fn mask(gcm: &Gcm, counter: __m128i) -> __m128i {
    let (first, others, last) = gcm.aes.round_keys();
    let last_word = _mm512_castsi512_si128(last_word());
    let mut block = _mm_xor_si128(load(first), _mm_shuffle_epi8(counter, last_word));
    for key in others {
        block = _mm_aesenc_si128(block, load(key));
    }
    block = _mm_aesenclast_si128(block, load(last));
    _mm_shuffle_epi8(block, backwards())
}

/// Returns the shuffle that converts the last word of each block to network byte order.
#[inline]
#[target_feature(enable = "avx512f")]
fn last_word() -> __m512i {
    _mm512_broadcast_i32x4(_mm_set_epi8(
        12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
    ))
}

impl State<'_> {
    /// Encrypts or decrypts a text of at most `N` registers (exactly `N` if `FULL`) and adds its
    /// ciphertext to the hash. `behind` is the power for the first block of the text.
    #[inline]
    #[target_feature(enable = "aes,avx2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
    fn group<const N: usize, const FULL: bool, const OPENS: bool>(
        &mut self,
        text: &mut [u8],
        behind: usize,
    ) {
        let stream = self.stream::<N>();
        let reverse = _mm512_broadcast_i32x4(backwards());
        let mut before = _mm512_zextsi128_si512(self.hash);
        let mut low = _mm512_setzero_si512();
        let (mut middle, mut high) = (low, low);
        let powers = &self.gcm.powers[POWERS - behind.min(POWERS)..];
        for (at, key) in stream.into_iter().enumerate() {
            let text = text.get_mut(at * REGISTER..).unwrap_or_default();
            let powers = powers.get(4 * at..4 * at + 4).unwrap_or(&[0; 4]);
            let bytes: __mmask64 = match text.len() {
                _ if FULL => !0,
                len if len >= REGISTER => !0,
                len => (1 << len) - 1,
            };
            // SAFETY: only bytes of the text are read and written, and the four powers are read; none
            // need alignment.
            let (cipher, powers) = unsafe {
                let place: *mut i8 = text.as_mut_ptr().cast();
                let read = _mm512_maskz_loadu_epi8(bytes, place);
                let made = _mm512_xor_si512(read, key);
                _mm512_mask_storeu_epi8(place, bytes, made);
                let cipher = if OPENS {
                    read
                } else {
                    _mm512_maskz_mov_epi8(bytes, made)
                };
                (cipher, _mm512_loadu_si512(powers.as_ptr().cast()))
            };
            let blocks = _mm512_xor_si512(_mm512_shuffle_epi8(cipher, reverse), before);
            before = _mm512_setzero_si512();
            let product = _mm512_clmulepi64_epi128::<0x00>(blocks, powers);
            low = _mm512_xor_si512(low, product);
            let product = _mm512_clmulepi64_epi128::<0x11>(blocks, powers);
            high = _mm512_xor_si512(high, product);
            let one = _mm512_clmulepi64_epi128::<0x01>(blocks, powers);
            let other = _mm512_clmulepi64_epi128::<0x10>(blocks, powers);
            middle = _mm512_xor_si512(middle, _mm512_xor_si512(one, other));
        }
        let beside = core::mem::replace(&mut self.beside, Sum::zero());
        let sum = Sum {
            low: _mm_xor_si128(beside.low, folded(low)),
            middle: _mm_xor_si128(beside.middle, folded(middle)),
            high: _mm_xor_si128(beside.high, folded(high)),
        };
        self.hash = sum.reduced();
    }

    /// Encrypts the next counter blocks.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    fn stream<const N: usize>(&mut self) -> [__m512i; N] {
        let (first, others, last) = self.gcm.aes.round_keys();
        let (last_word, four) = (last_word(), _mm512_maskz_set1_epi32(0x8888, 4));
        let first = four_times(first);
        let mut blocks = [first; N];
        for block in &mut blocks {
            *block = _mm512_xor_si512(first, _mm512_shuffle_epi8(self.counters, last_word));
            self.counters = _mm512_add_epi32(self.counters, four);
        }
        for key in others {
            let key = four_times(key);
            for block in &mut blocks {
                *block = _mm512_aesenc_epi128(*block, key);
            }
        }
        let last = four_times(last);
        for block in &mut blocks {
            *block = _mm512_aesenclast_epi128(*block, last);
        }
        blocks
    }
}

/// Returns a round key for the four blocks of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn four_times(key: &u128) -> __m512i {
    _mm512_broadcast_i32x4(load(key))
}

/// Returns the XOR of the blocks of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn folded(blocks: __m512i) -> __m128i {
    let halves = _mm256_xor_si256(
        _mm512_castsi512_si256(blocks),
        _mm512_extracti64x4_epi64::<1>(blocks),
    );
    _mm_xor_si128(
        _mm256_castsi256_si128(halves),
        _mm256_extracti128_si256::<1>(halves),
    )
}
