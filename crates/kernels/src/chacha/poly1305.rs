//! Poly1305 of eight messages, one in each lane of 64 bits. Numbers have three limbs of 44, 44 and 42 bits.

use core::arch::x86_64::*;

use super::{BLOCK, ChaChaMessage, HASH_BLOCK, TOGETHER};

/// Bits of the lower limbs, and their mask.
const LIMB: u32 = 44;
const LOW: u64 = (1 << LIMB) - 1;
/// Mask of the highest limb, which has 42 bits.
const HIGH: u64 = (1 << 42) - 1;
/// The bit behind a block, 2^128, in the highest limb.
const BEHIND: u64 = 1 << 40;
/// Bits of the key's first half that stay (RFC 8439, 2.5).
const CLAMP: u128 = 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;

/// A number in each lane.
#[derive(Clone, Copy)]
struct Limbs([__m512i; 3]);

/// The keys of all lanes: the limbs, and the higher ones times 20, which is 2^132 modulo the prime.
struct Keys {
    limbs: [__m512i; 3],
    folded: [__m512i; 3],
}

/// Sets the tags of at most [`TOGETHER`] messages over their data, texts and lengths. `keys` has the keys of the hash.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512ifma")]
pub(super) fn hash(messages: &mut [ChaChaMessage<'_>], keys: &[[u8; 32]; TOGETHER]) {
    let halves = keys.map(|key| {
        let half = |at: usize| {
            key[at..]
                .first_chunk()
                .map_or(0, |half| u128::from_le_bytes(*half))
        };
        (half(0) & CLAMP, half(16))
    });
    let multipliers = Keys::new(&halves.map(|(first, _)| first));
    let mut sum = Limbs([_mm512_setzero_si512(); 3]);
    let mut data = [0_u128; TOGETHER];
    let mut lengths = [0_u128; TOGETHER];
    let mut with_data = 0_u8;
    let mut longest = 0;
    for (lane, message) in messages.iter().enumerate().take(TOGETHER) {
        data[lane] = u128::from_le_bytes(message.data.0);
        with_data |= u8::from(message.data.1 > 0) << lane;
        lengths[lane] = message.data.1 as u128 | (message.text.len() as u128) << 64;
        longest = longest.max(message.text.len());
    }
    if with_data != 0 {
        sum.absorb(numbers(&data), with_data, &multipliers);
    }
    for at in (0..longest).step_by(BLOCK) {
        sum.absorb_texts(messages, at, &multipliers);
    }
    sum.absorb(numbers(&lengths), u8::MAX, &multipliers);
    let sums = sum.finish();
    for ((message, sum), (_, last)) in messages.iter_mut().zip(sums).zip(halves) {
        message.tag = sum.wrapping_add(last).to_le_bytes();
    }
}

/// Returns 64 bits of each of eight numbers: the low halves, and the high halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(all: &[u128; TOGETHER]) -> [__m512i; 2] {
    let (low, high) = (
        all.map(|number| number as u64),
        all.map(|number| (number >> 64) as u64),
    );
    [words(&low), words(&high)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn words(all: &[u64; TOGETHER]) -> __m512i {
    // SAFETY: the place has 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_epi64(all.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn every(number: u64) -> __m512i {
    _mm512_set1_epi64(number.cast_signed())
}

/// Splits numbers of 128 bits into limbs.
#[inline]
#[target_feature(enable = "avx512f")]
fn limbs([low, high]: [__m512i; 2]) -> [__m512i; 3] {
    let middle = _mm512_or_si512(
        _mm512_srli_epi64::<LIMB>(low),
        _mm512_slli_epi64::<20>(high),
    );
    [
        _mm512_and_si512(low, every(LOW)),
        _mm512_and_si512(middle, every(LOW)),
        _mm512_srli_epi64::<24>(high),
    ]
}

impl Keys {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(keys: &[u128; TOGETHER]) -> Self {
        let limbs = limbs(numbers(keys));
        let folded = limbs.map(|limb| {
            let four = _mm512_slli_epi64::<2>(limb);
            _mm512_add_epi64(_mm512_slli_epi64::<4>(limb), four)
        });
        Self { limbs, folded }
    }
}

impl Limbs {
    /// Adds a block of each lane in `lanes`, and multiplies by the key.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn absorb(&mut self, block: [__m512i; 2], lanes: u8, keys: &Keys) {
        let mut block = limbs(block);
        block[2] = _mm512_or_si512(block[2], every(BEHIND));
        let mut sum = self.0;
        for (sum, block) in sum.iter_mut().zip(block) {
            *sum = _mm512_add_epi64(*sum, block);
        }
        let product = multiply(&sum, keys);
        for (limb, product) in self.0.iter_mut().zip(product) {
            *limb = _mm512_mask_mov_epi64(*limb, lanes, product);
        }
    }

    /// Adds the four blocks from `at` on of each text that is longer.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512ifma")]
    fn absorb_texts(&mut self, messages: &[ChaChaMessage<'_>], at: usize, keys: &Keys) {
        let mut rows = [_mm512_setzero_si512(); TOGETHER];
        let mut counts = [0_u64; TOGETHER];
        for (lane, message) in messages.iter().enumerate().take(TOGETHER) {
            let text = message.text.get(at..).unwrap_or_default();
            let len = text.len().min(BLOCK);
            let mask = u64::MAX.checked_shr((BLOCK - len) as u32).unwrap_or(0);
            // SAFETY: the mask selects the first `len` bytes, all within the text.
            rows[lane] = unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().cast()) };
            counts[lane] = len.div_ceil(HASH_BLOCK) as u64;
        }
        transpose(&mut rows);
        let counts = words(&counts);
        for (number, pair) in rows.chunks_exact(2).enumerate() {
            let lanes = _mm512_cmpgt_epu64_mask(counts, every(number as u64));
            if lanes != 0 {
                self.absorb([pair[0], pair[1]], lanes, keys);
            }
        }
    }

    /// Returns the numbers modulo the prime.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn finish(self) -> [u128; TOGETHER] {
        let mut lanes = [[0_u64; TOGETHER]; 3];
        for (place, limb) in lanes.iter_mut().zip(self.0) {
            // SAFETY: the place has 64 bytes; the store needs no alignment.
            unsafe { _mm512_storeu_epi64(place.as_mut_ptr().cast(), limb) };
        }
        core::array::from_fn(|lane| reduced([lanes[0][lane], lanes[1][lane], lanes[2][lane]]))
    }
}

/// Returns the product of sums and keys, with limbs that may exceed their bits slightly.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply(sum: &[__m512i; 3], keys: &Keys) -> [__m512i; 3] {
    let [r0, r1, r2] = keys.limbs;
    let [_, s1, s2] = keys.folded;
    // The factors of each limb of the product: of the sum's limbs in order.
    let factors = [[r0, s2, s1], [r1, r0, s2], [r2, r1, r0]];
    let zero = _mm512_setzero_si512();
    let products = factors.map(|[a, b, c]| {
        let mut low = _mm512_madd52lo_epu64(zero, sum[0], a);
        let mut high = _mm512_madd52hi_epu64(zero, sum[0], a);
        low = _mm512_madd52lo_epu64(low, sum[1], b);
        high = _mm512_madd52hi_epu64(high, sum[1], b);
        low = _mm512_madd52lo_epu64(low, sum[2], c);
        high = _mm512_madd52hi_epu64(high, sum[2], c);
        (low, high)
    });
    let [(low0, high0), (low1, high1), (low2, high2)] = products;
    // The high parts count from bit 52 on: eight bits above the next limb, ten above the highest one.
    let carry = _mm512_add_epi64(
        _mm512_srli_epi64::<LIMB>(low0),
        _mm512_slli_epi64::<8>(high0),
    );
    let low1 = _mm512_add_epi64(low1, carry);
    let carry = _mm512_add_epi64(
        _mm512_srli_epi64::<LIMB>(low1),
        _mm512_slli_epi64::<8>(high1),
    );
    let low2 = _mm512_add_epi64(low2, carry);
    let carry = _mm512_add_epi64(
        _mm512_srli_epi64::<42>(low2),
        _mm512_slli_epi64::<10>(high2),
    );
    let folded = _mm512_add_epi64(carry, _mm512_slli_epi64::<2>(carry));
    let first = _mm512_add_epi64(_mm512_and_si512(low0, every(LOW)), folded);
    let second = _mm512_add_epi64(
        _mm512_and_si512(low1, every(LOW)),
        _mm512_srli_epi64::<LIMB>(first),
    );
    [
        _mm512_and_si512(first, every(LOW)),
        second,
        _mm512_and_si512(low2, every(HIGH)),
    ]
}

/// Exchanges rows and columns of eight words of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: &mut [__m512i; TOGETHER]) {
    let [a, b, c, d, e, f, g, h] = *rows;
    let pairs = [(a, b), (c, d), (e, f), (g, h)];
    let low = pairs.map(|(a, b)| _mm512_unpacklo_epi64(a, b));
    let high = pairs.map(|(a, b)| _mm512_unpackhi_epi64(a, b));
    for (half, at) in [(low, 0), (high, 1)] {
        let [a, b, c, d] = half;
        let first = _mm512_shuffle_i64x2::<0x88>(a, b);
        let second = _mm512_shuffle_i64x2::<0xdd>(a, b);
        let third = _mm512_shuffle_i64x2::<0x88>(c, d);
        let fourth = _mm512_shuffle_i64x2::<0xdd>(c, d);
        rows[at] = _mm512_shuffle_i64x2::<0x88>(first, third);
        rows[2 + at] = _mm512_shuffle_i64x2::<0x88>(second, fourth);
        rows[4 + at] = _mm512_shuffle_i64x2::<0xdd>(first, third);
        rows[6 + at] = _mm512_shuffle_i64x2::<0xdd>(second, fourth);
    }
}

/// Returns a number modulo the prime 2^130 - 5, without the bits above 2^128.
fn reduced(limbs: [u64; 3]) -> u128 {
    let [mut first, mut second, mut third] = limbs;
    for _ in 0..2 {
        second += first >> LIMB;
        first &= LOW;
        third += second >> LIMB;
        second &= LOW;
        first += (third >> 42) * 5;
        third &= HIGH;
    }
    second += first >> LIMB;
    first &= LOW;
    // The number minus the prime, if it is not smaller.
    let a = first + 5;
    let b = second + (a >> LIMB);
    let c = third + (b >> LIMB);
    let is_larger = (c >> 42).min(1);
    let choose = |reduced: u64, same: u64| {
        let mask = is_larger.wrapping_neg();
        reduced & mask | same & !mask
    };
    let (first, second, third) = (
        choose(a & LOW, first),
        choose(b & LOW, second),
        choose(c, third),
    );
    u128::from(first) | u128::from(second) << LIMB | u128::from(third) << (2 * LIMB)
}
