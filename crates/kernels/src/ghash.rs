//! GHASH, the hash of GCM (NIST SP 800-38D, 6.4), by carry-less multiplication.
//!
//! Blocks are byte-reversed, so that the polynomial's bits are in the order of a number; the key is
//! multiplied by x once to compensate (RFC 8452, appendix A). Eight blocks are multiplied by eight powers of
//! the key, two per register, and their sum is reduced once.

/// Powers of a hash key: the eighth, the seventh, down to the key itself.
#[derive(Clone)]
pub struct Ghash {
    powers: [u128; 8],
}

impl Ghash {
    /// Computes the powers of `key`, which is the encrypted zero block; `None` if the processor lacks the
    /// instructions.
    pub fn new(key: &[u8; 16]) -> Option<Self> {
        let key = by_x(u128::from_be_bytes(*key));
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("pclmulqdq") && has!("vpclmulqdq") {
                // SAFETY: the processor has the features of the function.
                let powers = unsafe { wide::powers::<8>(key) };
                return Some(Self { powers });
            }
        }
        let _ = key;
        None
    }

    /// Returns the hash of `first`, of `text` padded with zeros to whole blocks, and of `last`.
    pub fn hash(&self, first: &[u8; 16], text: &[u8], last: &[u8; 16]) -> [u8; 16] {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: a `Ghash` exists only if the processor has the features of the function.
            unsafe { wide::hash(&self.powers, first, text, last) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (first, text, last);
            unreachable!("there is no value on other processors")
        }
    }

    /// Erases the key.
    pub fn wipe(&mut self) {
        self.powers = core::hint::black_box([0; 8]);
        core::hint::black_box(&self.powers);
    }
}

/// Multiplies a key by x modulo the polynomial (RFC 8452, appendix A), without a branch that depends on the
/// key.
pub(crate) fn by_x(key: u128) -> u128 {
    (key << 1) ^ ((key >> 127) * (0xc2 << 120 | 1))
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod wide {
    use core::arch::x86_64::*;

    /// Bytes per block.
    const BLOCK: usize = 16;
    /// Blocks between reductions.
    const GROUP: usize = 8;

    #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
    pub(crate) fn powers<const N: usize>(key: u128) -> [u128; N] {
        let mut powers = [0; N];
        let key = load(&key);
        let mut power = key;
        for place in powers.iter_mut().rev() {
            *place = number(power);
            let mut sum = Sum::zero();
            sum.add(power, key);
            power = sum.reduced();
        }
        powers
    }

    #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
    pub(super) fn hash(
        powers: &[u128; GROUP],
        first: &[u8; BLOCK],
        text: &[u8],
        last: &[u8; BLOCK],
    ) -> [u8; BLOCK] {
        let (first, last) = (read(first), read(last));
        if text.len() <= (GROUP - 2) * BLOCK {
            return write(few(powers, first, text, Some(last)));
        }
        let (head, rest) = text.split_at(text.len().min((GROUP - 1) * BLOCK));
        let mut state = few(powers, first, head, None);
        let (groups, tail) = rest.as_chunks();
        for group in groups {
            state = eight(powers, state, group);
        }
        let (first, rest) = tail.split_at(tail.len().min(BLOCK));
        let first = _mm_xor_si128(state, partly(first));
        // Eight blocks with a partial last one leave no room for `last`.
        if tail.len() > (GROUP - 1) * BLOCK {
            state = few(powers, first, rest, None);
        } else if !tail.is_empty() {
            return write(few(powers, first, rest, Some(last)));
        }
        write(few(powers, _mm_xor_si128(state, last), &[], None))
    }

    /// Hashes a block, a text and another block: at most eight blocks.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
    fn few(powers: &[u128; GROUP], first: __m128i, text: &[u8], last: Option<__m128i>) -> __m128i {
        let count = 1 + text.len().div_ceil(BLOCK) + usize::from(last.is_some());
        let mut powers = powers[GROUP - count.min(GROUP)..]
            .iter()
            .map(|power| load(power));
        let mut sum = Sum::zero();
        let mut add = |block| {
            if let Some(power) = powers.next() {
                sum.add(block, power);
            }
        };
        add(first);
        let (blocks, rest) = text.as_chunks();
        for block in blocks {
            add(read(block));
        }
        if !rest.is_empty() {
            add(partly(rest));
        }
        if let Some(last) = last {
            add(last);
        }
        sum.reduced()
    }

    /// Hashes eight blocks.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
    fn eight(powers: &[u128; GROUP], state: __m128i, group: &[u8; GROUP * BLOCK]) -> __m128i {
        let (pairs, _) = group.as_chunks::<{ 2 * BLOCK }>();
        let mut state = _mm256_zextsi128_si256(state);
        let mut low = _mm256_setzero_si256();
        let (mut middle, mut high) = (low, low);
        for (pair, powers) in pairs.iter().zip(powers.as_chunks::<2>().0) {
            // SAFETY: both are 32 bytes long, and need no alignment.
            let (blocks, powers) = unsafe {
                (
                    _mm256_loadu_si256(pair.as_ptr().cast()),
                    _mm256_loadu_si256(powers.as_ptr().cast()),
                )
            };
            let blocks = _mm256_shuffle_epi8(blocks, _mm256_broadcastsi128_si256(backwards()));
            let blocks = _mm256_xor_si256(blocks, state);
            state = _mm256_setzero_si256();
            let product = _mm256_clmulepi64_epi128::<0x00>(blocks, powers);
            low = _mm256_xor_si256(low, product);
            let product = _mm256_clmulepi64_epi128::<0x11>(blocks, powers);
            high = _mm256_xor_si256(high, product);
            let one = _mm256_clmulepi64_epi128::<0x01>(blocks, powers);
            let other = _mm256_clmulepi64_epi128::<0x10>(blocks, powers);
            middle = _mm256_xor_si256(middle, _mm256_xor_si256(one, other));
        }
        let fold = |wide| {
            _mm_xor_si128(
                _mm256_castsi256_si128(wide),
                _mm256_extracti128_si256::<1>(wide),
            )
        };
        let sum = Sum {
            low: fold(low),
            middle: fold(middle),
            high: fold(high),
        };
        sum.reduced()
    }

    /// A sum of double-width products.
    pub(crate) struct Sum {
        pub(crate) low: __m128i,
        pub(crate) middle: __m128i,
        pub(crate) high: __m128i,
    }

    impl Sum {
        #[inline]
        #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
        pub(crate) fn zero() -> Self {
            let zero = _mm_setzero_si128();
            Self {
                low: zero,
                middle: zero,
                high: zero,
            }
        }

        #[inline]
        #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
        pub(crate) fn add(&mut self, block: __m128i, power: __m128i) {
            self.low = _mm_xor_si128(self.low, _mm_clmulepi64_si128::<0x00>(block, power));
            self.high = _mm_xor_si128(self.high, _mm_clmulepi64_si128::<0x11>(block, power));
            let one = _mm_clmulepi64_si128::<0x01>(block, power);
            let other = _mm_clmulepi64_si128::<0x10>(block, power);
            self.middle = _mm_xor_si128(self.middle, _mm_xor_si128(one, other));
        }

        /// Reduces the sum modulo the polynomial and divides by x^128: multiples of the polynomial cancel the
        /// lower half, one quarter at a time.
        #[inline]
        #[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
        pub(crate) fn reduced(self) -> __m128i {
            let polynomial = _mm_set_epi64x(0, 0xc2 << 56);
            let low = _mm_xor_si128(self.low, _mm_slli_si128::<8>(self.middle));
            let high = _mm_xor_si128(self.high, _mm_srli_si128::<8>(self.middle));
            let product = _mm_clmulepi64_si128::<0x00>(low, polynomial);
            let low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), product);
            let product = _mm_clmulepi64_si128::<0x00>(low, polynomial);
            let low = _mm_xor_si128(_mm_shuffle_epi32::<0x4e>(low), product);
            _mm_xor_si128(high, low)
        }
    }

    /// Returns the shuffle that reverses the bytes of a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn backwards() -> __m128i {
        _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn read(block: &[u8; BLOCK]) -> __m128i {
        // SAFETY: the block is 16 bytes long, and needs no alignment.
        let block = unsafe { _mm_loadu_si128(block.as_ptr().cast()) };
        _mm_shuffle_epi8(block, backwards())
    }

    /// Loads at most a block of bytes, padded with zeros.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn partly(bytes: &[u8]) -> __m128i {
        let mut block = [0; BLOCK];
        for (place, byte) in block.iter_mut().zip(bytes) {
            *place = *byte;
        }
        read(&block)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn write(state: __m128i) -> [u8; BLOCK] {
        number(state).to_be_bytes()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(number: &u128) -> __m128i {
        // SAFETY: the number is 16 bytes long.
        unsafe { _mm_loadu_si128(core::ptr::from_ref(number).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn register(number: u128) -> __m128i {
        _mm_set_epi64x((number >> 64) as i64, number as i64)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn number(register: __m128i) -> u128 {
        let low = _mm_cvtsi128_si64(register) as u64;
        let high = _mm_extract_epi64::<1>(register) as u64;
        u128::from(high) << 64 | u128::from(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers.
    struct Bits(u64);

    impl Bits {
        fn bytes(&mut self, count: usize) -> Vec<u8> {
            let byte = |_| {
                self.0 = self
                    .0
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (self.0 >> 56) as u8
            };
            (0..count).map(byte).collect()
        }
    }

    /// Bitwise multiplication (NIST SP 800-38D, 6.3).
    fn multiply(one: u128, other: u128) -> u128 {
        let (mut product, mut shifted) = (0, other);
        for bit in (0..128).rev() {
            if one >> bit & 1 != 0 {
                product ^= shifted;
            }
            let carry = shifted & 1;
            shifted = (shifted >> 1) ^ (carry * (0xe1 << 120));
        }
        product
    }

    fn plain(key: &[u8; 16], message: &[u8]) -> [u8; 16] {
        let key = u128::from_be_bytes(*key);
        let mut state = 0;
        for block in message.chunks(16) {
            let mut whole = [0; 16];
            whole[..block.len()].copy_from_slice(block);
            state = multiply(state ^ u128::from_be_bytes(whole), key);
        }
        state.to_be_bytes()
    }

    #[test]
    fn texts_of_every_length_hash_as_bit_after_bit() {
        let mut bits = Bits(1);
        for len in 0..600 {
            let block = |bits: &mut Bits| bits.bytes(16).try_into().expect("16 bytes");
            let (key, first, last) = (block(&mut bits), block(&mut bits), block(&mut bits));
            let text = bits.bytes(len);
            let Some(ghash) = Ghash::new(&key) else {
                println!("skipped: the processor has no VPCLMULQDQ");
                return;
            };

            let padded = text.len().next_multiple_of(16);
            let mut message = [&first[..], &text].concat();
            message.resize(16 + padded, 0);
            message.extend(last);

            assert_eq!(
                ghash.hash(&first, &text, &last),
                plain(&key, &message),
                "{len}"
            );
        }
    }
}
