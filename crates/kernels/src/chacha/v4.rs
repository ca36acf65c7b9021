//! ChaCha20 with one block in each lane of 32 bits: each register holds one of the sixteen state words of all blocks.

use core::arch::x86_64::*;

use super::poly1305;
use super::{BLOCK, ChaChaMessage, TOGETHER};

/// Blocks that are computed together.
const LANES: usize = 16;
/// `expand 32-byte k`.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// A block of the key stream: the message, and the block's counter. Counter 0 gives the key of the hash.
#[derive(Clone, Copy, Default)]
struct Position {
    message: u8,
    counter: u32,
}

/// Blocks that wait until there are enough for all lanes.
struct Waiting {
    positions: [Position; LANES],
    count: usize,
}

/// Encrypts or decrypts at most [`TOGETHER`] messages.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512ifma")]
pub(super) fn run<const OPENS: bool>(messages: &mut [ChaChaMessage<'_>]) {
    let mut keys = [[0; 32]; TOGETHER];
    let mut waiting = Waiting {
        positions: [Position::default(); LANES],
        count: 0,
    };
    for message in 0..messages.len().min(TOGETHER) {
        waiting.add(message, 0, messages, &mut keys);
    }
    if OPENS {
        waiting.finish(messages, &mut keys);
        poly1305::hash(messages, &keys);
    }
    for message in 0..messages.len().min(TOGETHER) {
        let blocks = messages[message].text.len().div_ceil(BLOCK) as u32;
        for counter in 1..=blocks {
            waiting.add(message, counter, messages, &mut keys);
        }
    }
    waiting.finish(messages, &mut keys);
    if !OPENS {
        poly1305::hash(messages, &keys);
    }
}

impl Waiting {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    fn add(
        &mut self,
        message: usize,
        counter: u32,
        messages: &mut [ChaChaMessage<'_>],
        keys: &mut [[u8; 32]; TOGETHER],
    ) {
        self.positions[self.count % LANES] = Position {
            message: message as u8,
            counter,
        };
        self.count += 1;
        if self.count == LANES {
            self.finish(messages, keys);
        }
    }

    /// Computes the waiting blocks, and applies each to its message.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    fn finish(&mut self, messages: &mut [ChaChaMessage<'_>], keys: &mut [[u8; 32]; TOGETHER]) {
        let positions = &self.positions[..self.count.min(LANES)];
        if positions.is_empty() {
            return;
        }
        let start = initial(positions, messages);
        let mut state = rounds(start);
        for (word, start) in state.iter_mut().zip(start) {
            *word = _mm512_add_epi32(*word, start);
        }
        transpose(&mut state);
        for (position, block) in positions.iter().zip(state) {
            let message = usize::from(position.message) % TOGETHER;
            match position.counter.checked_sub(1) {
                None => {
                    let low = _mm512_castsi512_si256(block);
                    // SAFETY: the place has 32 bytes; the store needs no alignment.
                    unsafe { _mm256_storeu_si256(keys[message].as_mut_ptr().cast(), low) };
                }
                Some(at) => {
                    let at = at as usize * BLOCK;
                    let text = { messages.get_mut(message) }
                        .and_then(|message| message.text.get_mut(at..))
                        .unwrap_or_default();
                    apply(text, block);
                }
            }
        }
        self.count = 0;
    }
}

/// Returns the words of the first state of each block (RFC 8439, 2.3). Lanes without a block repeat the first one.
#[inline]
#[target_feature(enable = "avx512f")]
fn initial(positions: &[Position], messages: &[ChaChaMessage<'_>]) -> [__m512i; LANES] {
    let mut rest = [[0_u32; LANES]; 4];
    let mut is_one_key = true;
    let first = &messages[usize::from(positions[0].message) % TOGETHER % messages.len()];
    for lane in 0..LANES {
        let position = positions.get(lane).unwrap_or(&positions[0]);
        let message = &messages[usize::from(position.message) % TOGETHER % messages.len()];
        is_one_key &= core::ptr::eq(message.key, first.key);
        rest[0][lane] = position.counter;
        for (word, bytes) in rest[1..].iter_mut().zip(message.nonce.chunks_exact(4)) {
            word[lane] = bytes
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes));
        }
    }
    let mut state = [_mm512_setzero_si512(); LANES];
    for (word, constant) in state.iter_mut().zip(CONSTANTS) {
        *word = _mm512_set1_epi32(constant.cast_signed());
    }
    for (number, word) in state[4..12].iter_mut().enumerate() {
        *word = match is_one_key {
            true => _mm512_set1_epi32(first.key.0[number].cast_signed()),
            false => {
                let mut words = [0_u32; LANES];
                for (lane, word) in words.iter_mut().enumerate() {
                    let position = positions.get(lane).unwrap_or(&positions[0]);
                    let message = usize::from(position.message) % TOGETHER % messages.len();
                    *word = messages[message].key.0[number];
                }
                load(&words)
            }
        };
    }
    for (word, rest) in state[12..].iter_mut().zip(&rest) {
        *word = load(rest);
    }
    state
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u32; LANES]) -> __m512i {
    // SAFETY: the place has 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_epi32(words.as_ptr().cast()) }
}

/// A step of four independent quarter rounds (RFC 8439, 2.1): adds the second word to the first, and combines and
/// rotates the third one. A macro, because all words must stay in registers.
macro_rules! step {
    ($bits:literal: $($sum:ident $addend:ident $other:ident),*) => {
        $($sum = _mm512_add_epi32($sum, $addend);)*
        $($other = _mm512_rol_epi32::<$bits>(_mm512_xor_si512($other, $sum));)*
    };
}

/// Runs twenty rounds: ten times one over columns and one over diagonals (RFC 8439, 2.3).
#[inline]
#[target_feature(enable = "avx512f")]
fn rounds(state: [__m512i; LANES]) -> [__m512i; LANES] {
    let [
        mut x0,
        mut x1,
        mut x2,
        mut x3,
        mut x4,
        mut x5,
        mut x6,
        mut x7,
        mut x8,
        mut x9,
        mut x10,
        mut x11,
        mut x12,
        mut x13,
        mut x14,
        mut x15,
    ] = state;
    for _ in 0..10 {
        step!(16: x0 x4 x12, x1 x5 x13, x2 x6 x14, x3 x7 x15);
        step!(12: x8 x12 x4, x9 x13 x5, x10 x14 x6, x11 x15 x7);
        step!(8: x0 x4 x12, x1 x5 x13, x2 x6 x14, x3 x7 x15);
        step!(7: x8 x12 x4, x9 x13 x5, x10 x14 x6, x11 x15 x7);
        step!(16: x0 x5 x15, x1 x6 x12, x2 x7 x13, x3 x4 x14);
        step!(12: x10 x15 x5, x11 x12 x6, x8 x13 x7, x9 x14 x4);
        step!(8: x0 x5 x15, x1 x6 x12, x2 x7 x13, x3 x4 x14);
        step!(7: x10 x15 x5, x11 x12 x6, x8 x13 x7, x9 x14 x4);
    }
    [
        x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15,
    ]
}

/// Exchanges rows and columns: afterwards a register has all words of one block.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(state: &mut [__m512i; LANES]) {
    // Within each 128-bit lane, four words of four blocks.
    for group in state.chunks_exact_mut(4) {
        let low = _mm512_unpacklo_epi32(group[0], group[1]);
        let high = _mm512_unpackhi_epi32(group[0], group[1]);
        let low2 = _mm512_unpacklo_epi32(group[2], group[3]);
        let high2 = _mm512_unpackhi_epi32(group[2], group[3]);
        group[0] = _mm512_unpacklo_epi64(low, low2);
        group[1] = _mm512_unpackhi_epi64(low, low2);
        group[2] = _mm512_unpacklo_epi64(high, high2);
        group[3] = _mm512_unpackhi_epi64(high, high2);
    }
    // Register `4 * g + i` has in lane `l` the words `4 * g` to `4 * g + 3` of block `4 * l + i`.
    let from = *state;
    for inner in 0..4 {
        let (a, b, c, d) = (
            from[inner],
            from[4 + inner],
            from[8 + inner],
            from[12 + inner],
        );
        let low = _mm512_shuffle_i32x4::<0x44>(a, b);
        let high = _mm512_shuffle_i32x4::<0xee>(a, b);
        let low2 = _mm512_shuffle_i32x4::<0x44>(c, d);
        let high2 = _mm512_shuffle_i32x4::<0xee>(c, d);
        state[inner] = _mm512_shuffle_i32x4::<0x88>(low, low2);
        state[4 + inner] = _mm512_shuffle_i32x4::<0xdd>(low, low2);
        state[8 + inner] = _mm512_shuffle_i32x4::<0x88>(high, high2);
        state[12 + inner] = _mm512_shuffle_i32x4::<0xdd>(high, high2);
    }
}

/// Combines the first [`BLOCK`] bytes of a text, or all if it is shorter, with a block of the key stream.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn apply(text: &mut [u8], block: __m512i) {
    let len = text.len().min(BLOCK);
    let mask = u64::MAX.checked_shr((BLOCK - len) as u32).unwrap_or(0);
    let place = text.as_mut_ptr().cast::<i8>();
    // SAFETY: the mask selects the first `len` bytes, all within the text.
    unsafe {
        let bytes = _mm512_maskz_loadu_epi8(mask, place);
        _mm512_mask_storeu_epi8(place, mask, _mm512_xor_si512(bytes, block));
    }
}
