//! AES-GCM (NIST SP 800-38D) over one packet, with cipher and hash in one pass: sixteen blocks, four per
//! 512-bit register, are encrypted while the hash of the previous ones is multiplied. A mask handles a text
//! that ends within a register.
//!
//! The hash is that of [`Ghash`](crate::Ghash), with eighteen powers of its key: sixteen blocks of text, one
//! block before and one after them.

use crate::Aes;

/// A key, expanded for cipher and hash.
#[derive(Clone)]
pub struct Gcm {
    aes: Aes,
    /// The eighteenth power of the hash key down to the key itself, followed by zeros that fill a register.
    powers: [u128; POWERS + 2],
}

/// Number of powers of the hash key.
const POWERS: usize = 18;

impl Gcm {
    /// Expands a key of 16, 24 or 32 bytes; `None` for other lengths, or if the processor lacks the
    /// instructions.
    pub fn new(key: &[u8]) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512vl");
            if wide && has!("pclmulqdq") && has!("vpclmulqdq") {
                let aes = Aes::new(key)?;
                let hash_key = crate::ghash::by_x(u128::from_be_bytes(aes.encrypt([0; 16])));
                let mut powers = [0; POWERS + 2];
                // SAFETY: the processor has the features of the function.
                let all = unsafe { crate::ghash::wide::powers::<POWERS>(hash_key) };
                powers[..POWERS].copy_from_slice(&all);
                return Some(Self { aes, powers });
            }
        }
        let _ = key;
        None
    }

    /// Encrypts a text in place. Returns the tag over `first` (the authenticated data, padded with zeros),
    /// the ciphertext, and `last` (the lengths of both in bits).
    pub fn seal(
        &self,
        nonce: &[u8; 12],
        first: &[u8; 16],
        text: &mut [u8],
        last: &[u8; 16],
    ) -> [u8; 16] {
        self.run::<false>(nonce, first, text, last)
    }

    /// Decrypts a text in place; returns the tag that it must have.
    pub fn open(
        &self,
        nonce: &[u8; 12],
        first: &[u8; 16],
        text: &mut [u8],
        last: &[u8; 16],
    ) -> [u8; 16] {
        self.run::<true>(nonce, first, text, last)
    }

    #[inline]
    fn run<const OPENS: bool>(
        &self,
        nonce: &[u8; 12],
        first: &[u8; 16],
        text: &mut [u8],
        last: &[u8; 16],
    ) -> [u8; 16] {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: a `Gcm` exists only if the processor has the features of the function.
            unsafe { wide::run::<OPENS>(self, nonce, first, text, last) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (nonce, first, text, last);
            unreachable!("there is no value on other processors")
        }
    }

    /// Erases the key.
    pub fn wipe(&mut self) {
        self.aes.wipe();
        self.powers = core::hint::black_box([0; POWERS + 2]);
        core::hint::black_box(&self.powers);
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use core::arch::x86_64::*;

    use super::{Gcm, POWERS};
    use crate::aes::wide::{BLOCK, load};
    use crate::ghash::wide::{Sum, backwards, read, write};

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
        nonce: &[u8; 12],
        first: &[u8; BLOCK],
        text: &mut [u8],
        last: &[u8; BLOCK],
    ) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..12].copy_from_slice(nonce);
        let zero = load(&u128::from_le_bytes(block));
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
        state.beside.add(read(first), power(gcm, behind + 1));
        let mut text = text;
        while text.len() > GROUP {
            let (group, rest) = text.split_at_mut(GROUP);
            state.group::<4, true, OPENS>(group, BLOCKS);
            text = rest;
        }
        state.beside.add(read(last), power(gcm, 1));
        let behind = text.len().div_ceil(BLOCK) + 1;
        match text.len().div_ceil(REGISTER) {
            0 | 1 => state.group::<1, false, OPENS>(text, behind),
            2 => state.group::<2, false, OPENS>(text, behind),
            3 => state.group::<3, false, OPENS>(text, behind),
            _ => state.group::<4, false, OPENS>(text, behind),
        }
        write(_mm_xor_si128(state.hash, mask))
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ghash;

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|at| ((at * 151) >> 3) as u8).collect()
    }

    #[test]
    fn texts_of_every_length_match_separate_cipher_and_hash() {
        for len in [16, 24, 32] {
            let key: Vec<u8> = (0..len).map(|at| at as u8 * 7 + 3).collect();
            let Some(gcm) = Gcm::new(&key) else {
                println!("skipped: the processor has no AVX-512, VAES or VPCLMULQDQ");
                return;
            };
            let aes = Aes::new(&key).expect("what there is more of is there");
            let hash = Ghash::new(&aes.encrypt([0; 16])).expect("likewise");
            for len in 0..1100 {
                let (nonce, first, last) = ([len as u8; 12], [9; 16], [len as u8 ^ 0x5a; 16]);
                let plain = text(len);
                let (mut cipher, mut tag) = (plain.clone(), [0; 16]);
                aes.count(&nonce, Some(&mut tag), &mut cipher);
                let hashed = hash.hash(&first, &cipher, &last);
                let tag = u128::from_ne_bytes(tag) ^ u128::from_ne_bytes(hashed);
                // Bytes after the text stay unchanged.
                let mut sealed = [&plain[..], &[0xee; 64]].concat();

                let made = gcm.seal(&nonce, &first, &mut sealed[..len], &last);

                assert_eq!(u128::from_ne_bytes(made), tag, "{len}");
                assert_eq!(sealed, [&cipher[..], &[0xee; 64]].concat(), "{len}");
                let made = gcm.open(&nonce, &first, &mut sealed[..len], &last);
                assert_eq!(u128::from_ne_bytes(made), tag, "{len}");
                assert_eq!(sealed, [&plain[..], &[0xee; 64]].concat(), "{len}");
            }
        }
        assert!(Gcm::new(&[0; 20]).is_none());
    }
}
