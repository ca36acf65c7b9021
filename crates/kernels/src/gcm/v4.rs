//! GCM with four blocks in each 512-bit register.
//!
//! Counter blocks and hashed blocks run in parallel, in one row. Block 0 of the row is the first counter block, whose
//! encryption masks the tag, and in the hash the authenticated data; block `i` is block `i` of the text, from 1 on. The
//! lengths end the hash.
//!
//! Short rows of several messages are processed together, because one alone would wait for the result of each
//! instruction. Long rows are processed in steps of 32 blocks, where the hash of a step overlaps the cipher of the
//! next.

use core::arch::x86_64::*;

use super::{Gcm, GcmMessage, POWERS, Powers};
use crate::aes::wide::{BLOCK, load};
use crate::ghash::wide::{Sum, backwards, number, register};

/// Bytes per register.
const REGISTER: usize = 4 * BLOCK;
/// Registers per step of a long row, and their bytes.
const STEP: usize = 8;
const STEP_BYTES: usize = STEP * REGISTER;
/// Messages with short rows that are processed together.
const TOGETHER: usize = 4;

/// Encrypts or decrypts messages, and stores their tags.
#[target_feature(enable = "aes,avx2,bmi2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
pub(super) fn run<const OPENS: bool>(messages: &mut [GcmMessage<'_>]) {
    let (groups, rest) = messages.as_chunks_mut::<TOGETHER>();
    let mut groups = groups.iter_mut().peekable();
    while let Some(group) = groups.next() {
        if let Some(next) = groups.peek() {
            for message in next.iter() {
                message.gcm.prefetch(message.text.len());
            }
        }
        match longest_row(group) {
            Some(..=1) => short::<1, TOGETHER, OPENS>(group),
            Some(2) => short::<2, TOGETHER, OPENS>(group),
            _ => each::<OPENS>(group),
        }
    }
    each::<OPENS>(rest);
}

/// Returns the registers of the longest row; `None` if the keys differ in length.
#[inline]
fn longest_row(messages: &[GcmMessage<'_>; TOGETHER]) -> Option<usize> {
    let rounds = |message: &GcmMessage<'_>| message.gcm.aes.round_keys().1.len();
    let are_alike = messages
        .iter()
        .all(|message| rounds(message) == rounds(&messages[0]));
    let longest = messages
        .iter()
        .fold(0, |len, message| len.max(message.text.len()));
    are_alike.then(|| registers(longest))
}

/// Returns the registers of the row of a text of `len` bytes.
#[inline]
fn registers(len: usize) -> usize {
    (BLOCK + len).div_ceil(REGISTER)
}

/// Processes messages one by one.
#[inline]
#[target_feature(enable = "aes,avx2,bmi2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
fn each<const OPENS: bool>(messages: &mut [GcmMessage<'_>]) {
    for message in messages {
        let alone = core::array::from_mut(message);
        match registers(alone[0].text.len()) {
            ..=2 => short::<2, 1, OPENS>(alone),
            3..=4 => short::<4, 1, OPENS>(alone),
            5..=STEP => short::<STEP, 1, OPENS>(alone),
            _ => message.tag = long::<OPENS>(message),
        }
    }
}

/// Processes messages with keys of equal length, whose rows have at most `R` registers.
#[inline]
#[target_feature(enable = "aes,avx2,bmi2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
fn short<const R: usize, const P: usize, const OPENS: bool>(messages: &mut [GcmMessage<'_>; P]) {
    let keys = messages
        .each_ref()
        .map(|message| message.gcm.aes.round_keys());
    let mut streams = [[_mm512_setzero_si512(); R]; P];
    for ((stream, message), (first, ..)) in streams.iter_mut().zip(&*messages).zip(keys) {
        let nonce = _mm512_broadcast_i32x4(register(message.nonce.swap_bytes()));
        let nonce = _mm512_xor_si512(nonce, four_times(first));
        for (at, block) in (0..).zip(stream) {
            *block = _mm512_xor_si512(nonce, numbers(4 * at));
        }
    }
    for at in 0..keys[0].1.len() {
        for (stream, (_, others, _)) in streams.iter_mut().zip(keys) {
            round(stream, &others[at]);
        }
    }
    for (stream, (.., last)) in streams.iter_mut().zip(keys) {
        last_round(stream, last);
    }
    for (stream, message) in streams.iter().zip(messages) {
        let mask = mask(stream);
        let blocks = mix_begin::<R, OPENS>(message.text, message.first, stream);
        let count = 1 + message.text.len().div_ceil(BLOCK);
        let hash = finish(message.gcm, &blocks, count, register(message.last));
        message.tag = number(_mm_xor_si128(hash, mask));
    }
}

/// Returns the counters `before + 1` to `before + 4` in the last words of four blocks, in network byte order.
#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(before: i32) -> __m512i {
    let word = |at: i32| (before + at).swap_bytes();
    _mm512_set_epi32(
        word(4),
        0,
        0,
        0,
        word(3),
        0,
        0,
        0,
        word(2),
        0,
        0,
        0,
        word(1),
        0,
        0,
        0,
    )
}

/// Processes a message whose row is longer than a step. Returns its tag.
#[inline]
#[target_feature(enable = "aes,avx2,bmi2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
fn long<const OPENS: bool>(message: &mut GcmMessage<'_>) -> u128 {
    let numbers = _mm512_set_epi32(4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0);
    let nonce = _mm512_broadcast_i32x4(register(message.nonce.swap_bytes()));
    let mut state = State {
        gcm: message.gcm,
        counters: _mm512_or_si512(nonce, numbers),
        hash: _mm_setzero_si128(),
    };
    let stream = state.stream();
    let mask = mask(&stream);
    let (head, mut rest) = message.text.split_at_mut(STEP_BYTES - BLOCK);
    let mut blocks = mix_begin::<STEP, OPENS>(head, message.first, &stream);
    while rest.len() >= STEP_BYTES {
        let (step, behind) = rest.split_at_mut(STEP_BYTES);
        let stream = state.stream_and_hash(&blocks);
        blocks = mix::<STEP, OPENS>(step, &stream);
        rest = behind;
    }
    let last = register(message.last);
    let hash = match rest.len().div_ceil(REGISTER) {
        0 => {
            state.add(&blocks);
            finish(message.gcm, &[], 0, _mm_xor_si128(last, state.hash))
        }
        1 | 2 => state.tail::<2, OPENS>(&blocks, rest, last),
        3 | 4 => state.tail::<4, OPENS>(&blocks, rest, last),
        5 | 6 => state.tail::<6, OPENS>(&blocks, rest, last),
        7 => state.tail::<7, OPENS>(&blocks, rest, last),
        _ => state.tail::<8, OPENS>(&blocks, rest, last),
    };
    number(_mm_xor_si128(hash, mask))
}

/// Returns the mask of the tag, in the byte order of the hash.
#[inline]
#[target_feature(enable = "avx512f")]
fn mask<const R: usize>(stream: &[__m512i; R]) -> __m128i {
    let first = stream.first().copied().unwrap_or(_mm512_setzero_si512());
    _mm_shuffle_epi8(_mm512_castsi512_si128(first), backwards())
}

/// Blocks of a step to be hashed, in the byte order of the hash.
type Blocks = [__m512i; STEP];

/// State between the steps of a long row.
struct State<'g> {
    gcm: &'g Gcm,
    /// The next four counter blocks, each with its last word in native byte order.
    counters: __m512i,
    /// GHASH value of the blocks hashed so far.
    hash: __m128i,
}

impl State<'_> {
    /// Hashes the blocks of the last whole step, and processes the rest of a text in at most `N` registers. Returns the
    /// hash.
    #[inline]
    #[target_feature(enable = "aes,avx2,bmi2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
    fn tail<const N: usize, const OPENS: bool>(
        &mut self,
        blocks: &Blocks,
        text: &mut [u8],
        last: __m128i,
    ) -> __m128i {
        let stream = self.stream_and_hash::<N>(blocks);
        let mut blocks = mix::<N, OPENS>(text, &stream);
        blocks[0] = _mm512_xor_si512(blocks[0], _mm512_zextsi128_si512(self.hash));
        finish(self.gcm, &blocks, text.len().div_ceil(BLOCK), last)
    }

    /// Encrypts the counter blocks of a step.
    #[inline]
    #[target_feature(enable = "aes,avx2,avx512f,avx512bw,vaes")]
    fn stream(&mut self) -> Blocks {
        let (first, others, last) = self.gcm.aes.round_keys();
        let mut blocks = self.counter_blocks::<STEP>(first);
        for key in others {
            round(&mut blocks, key);
        }
        last_round(&mut blocks, last);
        blocks
    }

    /// Hashes the blocks of a step.
    #[inline]
    #[target_feature(enable = "avx2,avx512f,avx512vl,pclmulqdq,vpclmulqdq")]
    fn add(&mut self, blocks: &Blocks) {
        let mut products = Products::zero();
        let powers = self.gcm.powers.of_step();
        for (block, powers) in blocks.iter().zip(powers).skip(1) {
            products.add(*block, powers);
        }
        let first = _mm512_xor_si512(blocks[0], _mm512_zextsi128_si512(self.hash));
        products.add(first, &powers[0]);
        self.hash = products.folded().reduced();
    }

    /// Encrypts the next counter blocks, and hashes the blocks of the step before: a register of these after each
    /// round, the first last, because only it waits for the hash of the blocks before.
    #[inline]
    #[target_feature(enable = "aes,avx2,avx512f,avx512bw,avx512vl,vaes,pclmulqdq,vpclmulqdq")]
    fn stream_and_hash<const N: usize>(&mut self, hashed: &Blocks) -> [__m512i; N] {
        let (first, others, last) = self.gcm.aes.round_keys();
        let mut blocks = self.counter_blocks::<N>(first);
        let mut products = Products::zero();
        let powers = self.gcm.powers.of_step();
        // The shortest key has nine rounds between the first and the last.
        let Some((interleaved, others)) = others.split_first_chunk::<STEP>() else {
            return blocks;
        };
        // A macro, because calls and loops keep the blocks in memory.
        macro_rules! hash {
            ($($round:literal: $register:literal),*) => { $(
                round(&mut blocks, &interleaved[$round]);
                let mut block = hashed[$register];
                if $register == 0 {
                    block = _mm512_xor_si512(block, _mm512_zextsi128_si512(self.hash));
                }
                products.add(block, &powers[$register]);
            )* };
        }
        hash!(0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 0);
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
    #[target_feature(enable = "avx512f,avx512bw")]
    fn counter_blocks<const N: usize>(&mut self, first: &u128) -> [__m512i; N] {
        let last_word = _mm512_broadcast_i32x4(_mm_set_epi8(
            12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
        ));
        let four = _mm512_maskz_set1_epi32(0x8888, 4);
        let first = four_times(first);
        let mut blocks = [first; N];
        for block in &mut blocks {
            *block = _mm512_xor_si512(first, _mm512_shuffle_epi8(self.counters, last_word));
            self.counters = _mm512_add_epi32(self.counters, four);
        }
        blocks
    }
}

/// Hashes `count` blocks and the last block of a message. Bytes of `blocks` behind are zero.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl,pclmulqdq,vpclmulqdq")]
fn finish(gcm: &Gcm, blocks: &[__m512i], count: usize, last: __m128i) -> __m128i {
    let mut products = Products::zero();
    let powers = &gcm.powers.0[POWERS - (count + 1).min(POWERS)..];
    for (at, block) in blocks.iter().enumerate() {
        if let Some(powers) = powers.get(4 * at..).and_then(<[u128]>::first_chunk) {
            products.add(*block, powers);
        }
    }
    let mut sum = products.folded();
    sum.add(last, load(&gcm.powers.0[POWERS - 1]));
    sum.reduced()
}

impl Powers {
    /// Returns the powers for the registers of a step.
    #[inline]
    fn of_step(&self) -> &[[u128; 4]; STEP] {
        const BEGIN: usize = POWERS - 4 * STEP;
        let powers = self.0.as_chunks::<4>().0;
        powers[BEGIN / 4..]
            .first_chunk()
            .expect("the powers of a step")
    }
}

/// Unreduced products, four side by side.
struct Products {
    low: __m512i,
    middle: __m512i,
    high: __m512i,
}

impl Products {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Self {
        let zero = _mm512_setzero_si512();
        Self {
            low: zero,
            middle: zero,
            high: zero,
        }
    }

    /// Adds the products of four blocks with four powers.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn add(&mut self, blocks: __m512i, powers: &[u128; 4]) {
        // SAFETY: the four powers are 64 bytes long together, and need no alignment.
        let powers = unsafe { _mm512_loadu_si512(powers.as_ptr().cast()) };
        let product = _mm512_clmulepi64_epi128::<0x00>(blocks, powers);
        self.low = _mm512_xor_si512(self.low, product);
        let product = _mm512_clmulepi64_epi128::<0x11>(blocks, powers);
        self.high = _mm512_xor_si512(self.high, product);
        let blocks = _mm512_xor_si512(blocks, _mm512_shuffle_epi32::<0x4e>(blocks));
        let powers = _mm512_xor_si512(powers, _mm512_shuffle_epi32::<0x4e>(powers));
        let product = _mm512_clmulepi64_epi128::<0x00>(blocks, powers);
        self.middle = _mm512_xor_si512(self.middle, product);
    }

    /// Returns the sum of the four.
    #[inline]
    #[target_feature(enable = "avx2,avx512f")]
    fn folded(self) -> Sum {
        let outer = _mm512_xor_si512(self.low, self.high);
        Sum {
            low: folded(self.low),
            middle: folded(_mm512_xor_si512(self.middle, outer)),
            high: folded(self.high),
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,avx512f")]
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

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn round<const N: usize>(blocks: &mut [__m512i; N], key: &u128) {
    let key = four_times(key);
    for block in blocks {
        *block = _mm512_aesenc_epi128(*block, key);
    }
}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn last_round<const N: usize>(blocks: &mut [__m512i; N], key: &u128) {
    let key = four_times(key);
    for block in blocks {
        *block = _mm512_aesenclast_epi128(*block, key);
    }
}

/// Returns a round key for the four blocks of a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn four_times(key: &u128) -> __m512i {
    _mm512_broadcast_i32x4(load(key))
}

/// XORs the begin of a text with the key stream of `R` registers, whose first block is not for the text. Returns the
/// blocks to be hashed: `first` and the ciphertext.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw")]
fn mix_begin<const R: usize, const OPENS: bool>(
    text: &mut [u8],
    first: u128,
    stream: &[__m512i; R],
) -> [__m512i; R] {
    let mut blocks = *stream;
    let (head, rest) = text.split_at_mut(text.len().min(REGISTER - BLOCK));
    if let Some((block, others)) = blocks.split_first_mut() {
        // The first block of the register lies before the text.
        let bytes = up_to(head.len()) << BLOCK;
        let place = head.as_mut_ptr().wrapping_sub(BLOCK);
        // SAFETY: the mask selects the bytes of the head.
        *block = unsafe { mix_register::<OPENS>(place, bytes, *block) };
        *block = _mm512_inserti32x4::<0>(*block, register(first));
        mix_all::<OPENS>(rest, others);
    }
    blocks
}

/// XORs a text with the key stream of `N` registers, as many as it needs. Returns the ciphertext, padded with zeros, in
/// the byte order of the hash.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw")]
fn mix<const N: usize, const OPENS: bool>(text: &mut [u8], stream: &[__m512i; N]) -> [__m512i; N] {
    let mut blocks = *stream;
    mix_all::<OPENS>(text, &mut blocks);
    blocks
}

/// Replaces a key stream by the ciphertext, as [`mix`] does.
#[inline]
#[target_feature(enable = "bmi2,avx512f,avx512bw")]
fn mix_all<const OPENS: bool>(text: &mut [u8], stream: &mut [__m512i]) {
    let mut rest = text;
    for block in stream {
        let (now, later) = rest.split_at_mut(rest.len().min(REGISTER));
        // SAFETY: the mask selects the bytes of `now`.
        *block = unsafe { mix_register::<OPENS>(now.as_mut_ptr(), up_to(now.len()), *block) };
        rest = later;
    }
}

/// Returns the mask of the first `len` bytes of a register.
#[inline]
#[target_feature(enable = "bmi2")]
fn up_to(len: usize) -> __mmask64 {
    _bzhi_u64(!0, len.min(REGISTER) as u32)
}

/// XORs the bytes at a place that the mask selects with a key stream. Returns the ciphertext, zero outside of the mask,
/// in the byte order of the hash.
///
/// # Safety
///
/// The selected bytes are valid for reads and writes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn mix_register<const OPENS: bool>(
    place: *mut u8,
    bytes: __mmask64,
    key: __m512i,
) -> __m512i {
    let place = place.cast();
    // SAFETY: by contract of this function.
    let (read, made) = unsafe {
        let read = _mm512_maskz_loadu_epi8(bytes, place);
        let made = _mm512_xor_si512(read, key);
        _mm512_mask_storeu_epi8(place, bytes, made);
        (read, made)
    };
    let cipher = match OPENS {
        true => read,
        false => _mm512_maskz_mov_epi8(bytes, made),
    };
    _mm512_shuffle_epi8(cipher, _mm512_broadcast_i32x4(backwards()))
}
