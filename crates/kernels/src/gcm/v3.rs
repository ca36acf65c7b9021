//! GCM with eight blocks per step, two in each 256-bit register: while eight blocks are encrypted, the eight before
//! them are hashed.
//!
//! Counter blocks and hashed blocks run in parallel. Block 0 of the row is the first counter block, whose encryption
//! masks the tag, and in the hash the authenticated data; block `i` is block `i` of the text, from 1 on. The lengths
//! end the hash.

use core::arch::x86_64::*;

use super::{Gcm, GcmMessage, POWERS};
use crate::aes::wide::{BLOCK, load};
use crate::ghash::wide::{Sum, backwards, number, register};

/// Bytes per register.
const REGISTER: usize = 2 * BLOCK;
/// Registers per step, and their blocks and bytes.
const STEP: usize = 4;
const STEP_BLOCKS: usize = 2 * STEP;
const STEP_BYTES: usize = STEP * REGISTER;

/// Blocks to be hashed, in the byte order of the hash.
type Blocks = [__m256i; STEP];

/// State between steps.
struct State<'g> {
    gcm: &'g Gcm,
    /// The next two counter blocks, each with its last word in native byte order.
    counters: __m256i,
    /// GHASH value of the blocks hashed so far.
    hash: __m128i,
}

/// Unreduced products.
struct Products {
    low: __m256i,
    middle: __m256i,
    high: __m256i,
}

/// Encrypts or decrypts messages, and stores their tags.
#[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
pub(super) fn run<const OPENS: bool>(messages: &mut [GcmMessage<'_>]) {
    let mut rest = messages;
    while let Some((message, later)) = rest.split_first_mut() {
        if let Some(next) = later.first() {
            next.gcm.prefetch(next.text.len());
        }
        message.tag = one::<OPENS>(message);
        rest = later;
    }
}

/// Encrypts or decrypts a message. Returns its tag.
#[inline]
#[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
fn one<const OPENS: bool>(message: &mut GcmMessage<'_>) -> u128 {
    let zero = register(message.nonce.swap_bytes());
    let (first, last) = (register(message.first), register(message.last));
    let (gcm, text) = (message.gcm, &mut *message.text);
    let mut state = State {
        gcm,
        counters: _mm256_add_epi32(
            _mm256_broadcastsi128_si256(zero),
            _mm256_set_epi32(2, 0, 0, 0, 1, 0, 0, 0),
        ),
        hash: _mm_setzero_si128(),
    };
    let (mask, hash) = match text.len() {
        0..=16 => state.short::<1, OPENS>(first, text, last),
        17..=48 => state.short::<2, OPENS>(first, text, last),
        49..=80 => state.short::<3, OPENS>(first, text, last),
        81..=112 => state.short::<4, OPENS>(first, text, last),
        _ => state.long::<OPENS>(first, text, last),
    };
    number(_mm_xor_si128(hash, mask))
}

impl State<'_> {
    /// Processes a text that ends in the `N`-th register of the row. Returns the mask of the tag and the hash, both in
    /// the byte order of the hash.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
    fn short<const N: usize, const OPENS: bool>(
        &mut self,
        first: __m128i,
        text: &mut [u8],
        last: __m128i,
    ) -> (__m128i, __m128i) {
        let stream = self.stream::<N>();
        let mask = _mm_shuffle_epi8(_mm256_castsi256_si128(stream[0]), backwards());
        let mut blocks = [_mm256_setzero_si256(); STEP];
        let (head, rest) = text.split_at_mut(text.len().min(BLOCK));
        let key = _mm256_extracti128_si256::<1>(stream[0]);
        let block = mix::<OPENS>(head, key);
        blocks[0] = _mm256_set_m128i(block, first);
        mix_tail::<OPENS>(rest, &stream[1..], &mut blocks[1..N]);
        let count = 1 + text.len().div_ceil(BLOCK);
        let hash = self.finish::<N>(&mut blocks, count, last);
        (mask, hash)
    }

    /// Processes a text that is longer than one step.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
    fn long<const OPENS: bool>(
        &mut self,
        first: __m128i,
        text: &mut [u8],
        last: __m128i,
    ) -> (__m128i, __m128i) {
        let stream = self.stream::<STEP>();
        let mask = _mm_shuffle_epi8(_mm256_castsi256_si128(stream[0]), backwards());
        let (head, rest) = text.split_at_mut(BLOCK.min(text.len()));
        let block = mix::<OPENS>(head, _mm256_extracti128_si256::<1>(stream[0]));
        let mut blocks = [_mm256_set_m128i(block, first); STEP];
        let (registers, mut rest) = rest.split_at_mut(rest.len().min(3 * REGISTER));
        mix_tail::<OPENS>(registers, &stream[1..], &mut blocks[1..]);
        while rest.len() >= STEP_BYTES {
            let (step, behind) = rest.split_at_mut(STEP_BYTES);
            let stream = self.stream_and_hash::<STEP>(&blocks);
            mix_step::<OPENS>(step, &stream, &mut blocks);
            rest = behind;
        }
        let count = rest.len().div_ceil(BLOCK);
        let hash = match count.div_ceil(2) {
            0 | 1 => self.tail::<1, OPENS>(&mut blocks, rest, last),
            2 => self.tail::<2, OPENS>(&mut blocks, rest, last),
            3 => self.tail::<3, OPENS>(&mut blocks, rest, last),
            _ => self.tail::<4, OPENS>(&mut blocks, rest, last),
        };
        (mask, hash)
    }

    /// Hashes the blocks of the last whole step, and processes the rest of a text in at most `N` registers.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
    fn tail<const N: usize, const OPENS: bool>(
        &mut self,
        blocks: &mut Blocks,
        text: &mut [u8],
        last: __m128i,
    ) -> __m128i {
        let stream = self.stream_and_hash::<N>(blocks);
        mix_tail::<OPENS>(text, &stream, &mut blocks[..N]);
        self.finish::<N>(blocks, text.len().div_ceil(BLOCK), last)
    }

    /// Hashes `count` blocks in at most `N` registers and the last block.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
    fn finish<const N: usize>(
        &mut self,
        blocks: &mut Blocks,
        count: usize,
        last: __m128i,
    ) -> __m128i {
        let mut products = Products::zero();
        blocks[0] = _mm256_xor_si256(blocks[0], _mm256_zextsi128_si256(self.hash));
        let behind = POWERS - (count + 1).min(POWERS);
        let powers = &self.gcm.powers.0[behind..];
        for (register, blocks) in blocks.iter().enumerate().take(N) {
            let powers = powers.get(2 * register..2 * register + 2);
            products.add(*blocks, powers.unwrap_or(&[0; 2]));
        }
        let mut sum = products.folded();
        sum.add(last, load(&self.gcm.powers.0[POWERS - 1]));
        sum.reduced()
    }

    /// Encrypts the next counter blocks.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
    fn stream<const N: usize>(&mut self) -> [__m256i; N] {
        let (first, others, last) = self.gcm.aes.round_keys();
        let mut blocks = self.counters::<N>(first);
        for key in others {
            round(&mut blocks, key);
        }
        last_round(&mut blocks, last);
        blocks
    }

    /// Encrypts the next counter blocks, and hashes the blocks of the step before.
    #[inline]
    #[target_feature(enable = "aes,avx2,vaes,pclmulqdq,vpclmulqdq")]
    fn stream_and_hash<const N: usize>(&mut self, hashed: &Blocks) -> [__m256i; N] {
        let (first, others, last) = self.gcm.aes.round_keys();
        let mut blocks = self.counters::<N>(first);
        let mut products = Products::zero();
        let powers = &self.gcm.powers.0[POWERS - STEP_BLOCKS..];
        let mut before = _mm256_zextsi128_si256(self.hash);
        // The shortest key has nine rounds between the first and the last.
        let (interleaved, others) = others.split_at(others.len().min(2 * STEP));
        for (register, keys) in interleaved.as_chunks::<2>().0.iter().enumerate() {
            round(&mut blocks, &keys[0]);
            let block = _mm256_xor_si256(hashed[register % STEP], before);
            before = _mm256_setzero_si256();
            let powers = powers.get(2 * register..2 * register + 2);
            products.add(block, powers.unwrap_or(&[0; 2]));
            round(&mut blocks, &keys[1]);
        }
        let sum = products.folded();
        for key in others {
            round(&mut blocks, key);
        }
        self.hash = sum.reduced();
        last_round(&mut blocks, last);
        blocks
    }

    /// Returns the next counter blocks with the first round key, and advances the counters.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn counters<const N: usize>(&mut self, first: &u128) -> [__m256i; N] {
        let last_word = _mm256_broadcastsi128_si256(_mm_set_epi8(
            12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
        ));
        let two = _mm256_set_epi32(2, 0, 0, 0, 2, 0, 0, 0);
        let first = twice(first);
        let mut blocks = [first; N];
        for block in &mut blocks {
            *block = _mm256_xor_si256(first, _mm256_shuffle_epi8(self.counters, last_word));
            self.counters = _mm256_add_epi32(self.counters, two);
        }
        blocks
    }
}

impl Products {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn zero() -> Self {
        let zero = _mm256_setzero_si256();
        Self {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// Adds the products of two blocks with two powers.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
    fn add(&mut self, blocks: __m256i, powers: &[u128]) {
        let Some(powers) = powers.first_chunk::<2>() else {
            return;
        };
        // SAFETY: both powers are 32 bytes long together, and need no alignment.
        let powers = unsafe { _mm256_loadu_si256(powers.as_ptr().cast()) };
        let product = _mm256_clmulepi64_epi128::<0x00>(blocks, powers);
        self.low = _mm256_xor_si256(self.low, product);
        let product = _mm256_clmulepi64_epi128::<0x11>(blocks, powers);
        self.high = _mm256_xor_si256(self.high, product);
        let blocks = _mm256_xor_si256(blocks, _mm256_shuffle_epi32::<0x4e>(blocks));
        let powers = _mm256_xor_si256(powers, _mm256_shuffle_epi32::<0x4e>(powers));
        let product = _mm256_clmulepi64_epi128::<0x00>(blocks, powers);
        self.middle = _mm256_xor_si256(self.middle, product);
    }

    /// Returns the sum of the products of both halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn folded(self) -> Sum {
        let outer = _mm256_xor_si256(self.low, self.high);
        Sum {
            low: folded(self.low),
            middle: folded(_mm256_xor_si256(self.middle, outer)),
            high: folded(self.high),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn folded(blocks: __m256i) -> __m128i {
    _mm_xor_si128(
        _mm256_castsi256_si128(blocks),
        _mm256_extracti128_si256::<1>(blocks),
    )
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes")]
fn round<const N: usize>(blocks: &mut [__m256i; N], key: &u128) {
    let key = twice(key);
    for block in blocks {
        *block = _mm256_aesenc_epi128(*block, key);
    }
}

#[inline]
#[target_feature(enable = "aes,avx2,vaes")]
fn last_round<const N: usize>(blocks: &mut [__m256i; N], key: &u128) {
    let key = twice(key);
    for block in blocks {
        *block = _mm256_aesenclast_epi128(*block, key);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn twice(key: &u128) -> __m256i {
    _mm256_broadcastsi128_si256(load(key))
}

/// XORs the registers of a whole step with a key stream, and stores the ciphertext for the hash.
#[inline]
#[target_feature(enable = "avx2")]
fn mix_step<const OPENS: bool>(text: &mut [u8], stream: &[__m256i; STEP], hashed: &mut Blocks) {
    let registers = text.as_chunks_mut::<REGISTER>().0;
    for ((register, key), hashed) in registers.iter_mut().zip(stream).zip(hashed) {
        *hashed = mix_register::<OPENS>(register, *key);
    }
}

/// XORs two blocks with a key stream. Returns the ciphertext in the byte order of the hash.
#[inline]
#[target_feature(enable = "avx2")]
fn mix_register<const OPENS: bool>(text: &mut [u8; REGISTER], key: __m256i) -> __m256i {
    let place = text.as_mut_ptr().cast();
    // SAFETY: the text is 32 bytes long, and needs no alignment.
    let (read, made) = unsafe {
        let read = _mm256_loadu_si256(place);
        let made = _mm256_xor_si256(read, key);
        _mm256_storeu_si256(place, made);
        (read, made)
    };
    let cipher = if OPENS { read } else { made };
    _mm256_shuffle_epi8(cipher, _mm256_broadcastsi128_si256(backwards()))
}

/// XORs a text of at most as many registers as `stream` with it, and stores the ciphertext, padded with zeros, for the
/// hash.
#[inline]
#[target_feature(enable = "avx2")]
fn mix_tail<const OPENS: bool>(text: &mut [u8], stream: &[__m256i], hashed: &mut [__m256i]) {
    let (registers, rest) = text.as_chunks_mut::<REGISTER>();
    let whole = registers.len();
    for (at, (key, hashed)) in stream.iter().zip(hashed).enumerate() {
        *hashed = match registers.get_mut(at) {
            Some(register) => mix_register::<OPENS>(register, *key),
            None if at == whole => {
                let (head, tail) = rest.split_at_mut(rest.len().min(BLOCK));
                let low = mix::<OPENS>(head, _mm256_castsi256_si128(*key));
                let high = mix::<OPENS>(tail, _mm256_extracti128_si256::<1>(*key));
                _mm256_set_m128i(high, low)
            }
            None => _mm256_setzero_si256(),
        };
    }
}

/// XORs at most one block with a key stream. Returns the ciphertext, padded with zeros, in the byte order of the hash.
#[inline]
#[target_feature(enable = "avx2")]
fn mix<const OPENS: bool>(text: &mut [u8], key: __m128i) -> __m128i {
    if let Some(text) = text.first_chunk_mut::<BLOCK>() {
        let place = text.as_mut_ptr().cast();
        // SAFETY: the text is 16 bytes long, and needs no alignment.
        let (read, made) = unsafe {
            let read = _mm_loadu_si128(place);
            let made = _mm_xor_si128(read, key);
            _mm_storeu_si128(place, made);
            (read, made)
        };
        let cipher = if OPENS { read } else { made };
        return _mm_shuffle_epi8(cipher, backwards());
    }
    if text.is_empty() {
        return _mm_setzero_si128();
    }
    let key = number(key);
    let read = partial(text);
    let made = (read ^ key) & ((1 << (8 * text.len())) - 1);
    put_partial(text, made);
    let cipher = if OPENS { read } else { made };
    _mm_shuffle_epi8(load(&cipher), backwards())
}

/// Returns at most 15 bytes as the low bytes of a number.
#[inline]
fn partial(bytes: &[u8]) -> u128 {
    let mut number = 0;
    let mut rest = bytes;
    let mut at = 0;
    if let Some((part, behind)) = rest.split_first_chunk::<8>() {
        number = u128::from(u64::from_le_bytes(*part));
        (rest, at) = (behind, 64);
    }
    if let Some((part, behind)) = rest.split_first_chunk::<4>() {
        number |= u128::from(u32::from_le_bytes(*part)) << at;
        (rest, at) = (behind, at + 32);
    }
    for byte in rest {
        number |= u128::from(*byte) << at;
        at += 8;
    }
    number
}

/// Writes the low bytes of a number into at most 15 bytes.
#[inline]
fn put_partial(bytes: &mut [u8], number: u128) {
    let (mut rest, mut number) = (bytes, number);
    if rest.len() >= 8
        && let Some((part, behind)) = core::mem::take(&mut rest).split_first_chunk_mut::<8>()
    {
        *part = (number as u64).to_le_bytes();
        (rest, number) = (behind, number >> 64);
    }
    if rest.len() >= 4
        && let Some((part, behind)) = core::mem::take(&mut rest).split_first_chunk_mut::<4>()
    {
        *part = (number as u32).to_le_bytes();
        (rest, number) = (behind, number >> 32);
    }
    for byte in rest {
        *byte = number as u8;
        number >>= 8;
    }
}
