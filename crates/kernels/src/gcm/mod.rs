//! AES-GCM (NIST SP 800-38D) over messages, with cipher and hash in one pass: with AVX-512 32 blocks at a time, with
//! AVX2 eight.
//!
//! The hash is that of [`Ghash`](crate::Ghash), with as many powers of its key as a step has blocks, and those of the
//! blocks beside the text.

#[cfg(target_arch = "x86_64")]
mod v3;
#[cfg(target_arch = "x86_64")]
mod v4;

use crate::Aes;

/// A key, expanded for cipher and hash.
#[derive(Clone)]
pub struct Gcm {
    form: GcmForm,
    aes: Aes,
    powers: Powers,
}

/// Powers of the hash key, from the highest down to the key itself, followed by zeros that fill a register. Registers
/// of four powers lie in one cache line if they end a multiple of four before the zeros.
#[derive(Clone)]
#[repr(align(64))]
struct Powers([u128; POWERS + ZEROS]);

/// A message that is encrypted or decrypted in place.
///
/// Blocks are numbers whose highest byte is their first.
pub struct GcmMessage<'m> {
    /// The key.
    pub gcm: &'m Gcm,
    /// The first counter block with a counter of 0: 96 bits, followed by 32 zeros.
    pub nonce: u128,
    /// The authenticated data, padded with zeros.
    pub first: u128,
    /// Plaintext or ciphertext.
    pub text: &'m mut [u8],
    /// The lengths of authenticated data and text in bits.
    pub last: u128,
    /// Result: the tag over the authenticated data, the ciphertext, and the lengths.
    pub tag: u128,
}

/// Implementation of GCM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcmForm {
    /// Eight blocks at a time: VAES and VPCLMULQDQ with AVX2.
    V3,
    /// Sixteen blocks at a time: VAES and VPCLMULQDQ with AVX-512.
    V4,
}

impl GcmForm {
    /// Returns the forms that this machine has, the fastest last.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::V3, Self::V4]
            .into_iter()
            .filter(|form| form.is_available())
    }

    fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let aes = has!("aes") && has!("avx2") && has!("vaes");
            let wide = has!("bmi2") && has!("avx512f") && has!("avx512bw") && has!("avx512vl");
            aes && has!("pclmulqdq") && has!("vpclmulqdq") && (self == Self::V3 || wide)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            false
        }
    }
}

/// Number of powers of the hash key.
const POWERS: usize = 36;
/// Number of zeros behind the powers.
const ZEROS: usize = 4;

/// Encrypts messages in place, and stores their tags. Keys of one form are fastest.
pub fn gcm_seal(messages: &mut [GcmMessage<'_>]) {
    run::<false>(messages);
}

/// Decrypts messages in place, and stores the tags that they must have. Keys of one form are fastest.
pub fn gcm_open(messages: &mut [GcmMessage<'_>]) {
    run::<true>(messages);
}

fn run<const OPENS: bool>(messages: &mut [GcmMessage<'_>]) {
    #[cfg(target_arch = "x86_64")]
    for alike in messages.chunk_by_mut(|one, other| one.gcm.form == other.gcm.form) {
        // SAFETY: a `Gcm` of a form exists only if the processor has the features of its function.
        unsafe {
            match alike.first().map(|message| message.gcm.form) {
                Some(GcmForm::V3) => v3::run::<OPENS>(alike),
                Some(GcmForm::V4) => v4::run::<OPENS>(alike),
                None => {}
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = messages;
}

impl Gcm {
    /// Expands a key of 16, 24 or 32 bytes for the fastest form; `None` for other lengths, or if the processor lacks
    /// the instructions.
    pub fn new(key: &[u8]) -> Option<Self> {
        Self::with_form(GcmForm::available().last()?, key)
    }

    /// Expands a key of 16, 24 or 32 bytes for this form; `None` for other lengths, or if the processor lacks the
    /// instructions.
    pub fn with_form(form: GcmForm, key: &[u8]) -> Option<Self> {
        if !form.is_available() {
            return None;
        }
        #[cfg(target_arch = "x86_64")]
        {
            let aes = Aes::new(key)?;
            let hash_key = crate::ghash::by_x(u128::from_be_bytes(aes.encrypt([0; 16])));
            let mut powers = Powers([0; POWERS + ZEROS]);
            // SAFETY: the processor has the features of the function, which are those of every form.
            let all = unsafe { crate::ghash::wide::powers::<POWERS>(hash_key) };
            powers.0[..POWERS].copy_from_slice(&all);
            Some(Self { form, aes, powers })
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Prefetches the cache lines of the key that a text of `len` bytes needs.
    #[inline(always)]
    pub fn prefetch(&self, len: usize) {
        const PER_LINE: usize = 4;
        self.aes.prefetch_encryption();
        // Additional data and lengths are hashed, too.
        let powers = (len.div_ceil(16) + 2).min(POWERS);
        self.powers.0[POWERS - powers..]
            .iter()
            .step_by(PER_LINE)
            .for_each(crate::prefetch);
    }

    /// Erases the key.
    pub fn wipe(&mut self) {
        self.aes.wipe();
        self.powers = core::hint::black_box(Powers([0; POWERS + ZEROS]));
        core::hint::black_box(&self.powers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ghash;

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|at| ((at * 151) >> 3) as u8).collect()
    }

    /// Separate cipher and hash of one key.
    struct Reference {
        aes: Aes,
        hash: Ghash,
    }

    impl Reference {
        /// `None` if the processor lacks the instructions.
        fn new(key: &[u8]) -> Option<Self> {
            let aes = Aes::new(key)?;
            let hash = Ghash::new(&aes.encrypt([0; 16]))?;
            Some(Self { aes, hash })
        }

        /// Returns ciphertext and tag.
        fn seal(&self, nonce: u128, first: u128, plain: &[u8], last: u128) -> (Vec<u8>, u128) {
            let (mut cipher, mut mask) = (plain.to_vec(), [0; 16]);
            let nonce = nonce.to_be_bytes();
            let nonce = nonce.first_chunk::<12>().expect("16 bytes");
            self.aes.count(nonce, Some(&mut mask), &mut cipher);
            let hash = self
                .hash
                .hash(&first.to_be_bytes(), &cipher, &last.to_be_bytes());
            (
                cipher,
                u128::from_be_bytes(mask) ^ u128::from_be_bytes(hash),
            )
        }
    }

    /// Encrypts and decrypts texts of these lengths together, and compares each with the reference.
    fn compare(form: GcmForm, keys: &[(Gcm, Reference)], lengths: &[usize]) {
        let nonce = |at: usize| u128::from_be_bytes([at as u8 + 1; 16]) >> 32 << 32;
        let beside = |at: usize| (u128::MAX / (at as u128 + 3), u128::MAX / (at as u128 + 5));
        // Bytes around each text stay unchanged.
        let around = |text: &[u8]| [&[0xdd; 64], text, &[0xee; 64]].concat();
        let mut texts: Vec<_> = lengths.iter().map(|len| around(&text(*len))).collect();
        let expected = lengths.iter().enumerate().map(|(at, len)| {
            let (first, last) = beside(at);
            keys[at % keys.len()]
                .1
                .seal(nonce(at), first, &text(*len), last)
        });
        let expected: Vec<_> = expected.collect();
        for seals in [true, false] {
            let parts = texts.iter_mut().zip(lengths).enumerate();
            let mut messages: Vec<_> = parts
                .map(|(at, (text, len))| GcmMessage {
                    gcm: &keys[at % keys.len()].0,
                    nonce: nonce(at),
                    first: beside(at).0,
                    text: &mut text[64..64 + len],
                    last: beside(at).1,
                    tag: 0,
                })
                .collect();
            match seals {
                true => gcm_seal(&mut messages),
                false => gcm_open(&mut messages),
            }
            for (at, (message, expected)) in messages.iter().zip(&expected).enumerate() {
                assert_eq!(message.tag, expected.1, "{form:?} {lengths:?} {at}");
            }
            for ((made, expected), len) in texts.iter().zip(&expected).zip(lengths) {
                let expected = match seals {
                    true => around(&expected.0),
                    false => around(&text(*len)),
                };
                assert_eq!(made, &expected, "{form:?} {lengths:?} {len}");
            }
        }
    }

    /// Runs a test with every form of this machine, and keys of these lengths.
    fn each_form(lengths: &[usize], mut test: impl FnMut(GcmForm, &[(Gcm, Reference)])) {
        if Gcm::new(&[0; 16]).is_none() {
            println!("skipped: the processor has no VAES or VPCLMULQDQ");
            return;
        }
        for form in GcmForm::available() {
            let keys = lengths.iter().enumerate().map(|(number, len)| {
                let key: Vec<u8> = (0..*len).map(|at| at as u8 * 7 + number as u8).collect();
                let gcm = Gcm::with_form(form, &key).expect("the form is available");
                (
                    gcm,
                    Reference::new(&key).expect("each form has the instructions"),
                )
            });
            test(form, &keys.collect::<Vec<_>>());
        }
    }

    #[test]
    fn texts_of_every_length_match_separate_cipher_and_hash() {
        for len in [16, 24, 32] {
            each_form(&[len], |form, keys| {
                (0..1100).for_each(|len| compare(form, keys, &[len]));
            });
        }
        assert!(Gcm::new(&[0; 20]).is_none());
    }

    #[test]
    fn texts_of_any_lengths_and_keys_are_processed_together() {
        for keys in [&[16][..], &[16, 16, 16], &[32, 16], &[16, 16, 16, 16, 24]] {
            each_form(keys, |form, keys| {
                for count in 0..20 {
                    for step in [0, 1, 16, 37, 100] {
                        let lengths = (0..count).map(|at| (48 + at * step) % 300 * (1 + step / 50));
                        compare(form, keys, &lengths.collect::<Vec<_>>());
                    }
                }
            });
        }
    }
}
