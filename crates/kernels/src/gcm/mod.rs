//! AES-GCM (NIST SP 800-38D) over one packet, with cipher and hash in one pass: with AVX-512 sixteen blocks at a time,
//! with AVX2 eight.
//!
//! The hash is that of [`Ghash`](crate::Ghash), with eighteen powers of its key: sixteen blocks of text, one
//! block before and one after them.

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
    /// The eighteenth power of the hash key down to the key itself, followed by zeros that fill a register.
    powers: [u128; POWERS + 2],
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
            let wide = has!("avx512f") && has!("avx512bw") && has!("avx512vl");
            aes && has!("pclmulqdq") && has!("vpclmulqdq") && (self == Self::V3 || wide)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            false
        }
    }
}

/// Number of powers of the hash key.
const POWERS: usize = 18;

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
            let mut powers = [0; POWERS + 2];
            // SAFETY: the processor has the features of the function, which are those of every form.
            let all = unsafe { crate::ghash::wide::powers::<POWERS>(hash_key) };
            powers[..POWERS].copy_from_slice(&all);
            Some(Self { form, aes, powers })
        }
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Encrypts a text in place. Returns the tag over `first` (the authenticated data, padded with zeros),
    /// the ciphertext, and `last` (the lengths of both in bits).
    ///
    /// Blocks are numbers whose highest byte is their first. `nonce` is the first counter block with a counter of 0: 96
    /// bits, followed by 32 zeros.
    #[inline]
    pub fn seal(&self, nonce: u128, first: u128, text: &mut [u8], last: u128) -> u128 {
        self.run::<false>(nonce, first, text, last)
    }

    /// Decrypts a text in place; returns the tag that it must have. The parameters are those of [`Self::seal`].
    #[inline]
    pub fn open(&self, nonce: u128, first: u128, text: &mut [u8], last: u128) -> u128 {
        self.run::<true>(nonce, first, text, last)
    }

    #[inline]
    fn run<const OPENS: bool>(
        &self,
        nonce: u128,
        first: u128,
        text: &mut [u8],
        last: u128,
    ) -> u128 {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: a `Gcm` of a form exists only if the processor has the features of its function.
            unsafe {
                match self.form {
                    GcmForm::V3 => v3::run::<OPENS>(self, nonce, first, text, last),
                    GcmForm::V4 => v4::run::<OPENS>(self, nonce, first, text, last),
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (nonce, first, text, last);
            unreachable!("there is no value on other processors")
        }
    }

    /// Prefetches the cache lines of the key that [`Self::seal`] and [`Self::open`] read.
    #[inline(always)]
    pub fn prefetch(&self) {
        const PER_LINE: usize = 4;
        self.aes.prefetch_encryption();
        self.powers
            .iter()
            .step_by(PER_LINE)
            .for_each(crate::prefetch);
    }

    /// Erases the key.
    pub fn wipe(&mut self) {
        self.aes.wipe();
        self.powers = core::hint::black_box([0; POWERS + 2]);
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

    #[test]
    fn texts_of_every_length_match_separate_cipher_and_hash() {
        if Gcm::new(&[0; 16]).is_none() {
            println!("skipped: the processor has no VAES or VPCLMULQDQ");
            return;
        }
        let lengths = [16, 24, 32].into_iter();
        for (form, len) in lengths.flat_map(|len| GcmForm::available().map(move |form| (form, len)))
        {
            let key: Vec<u8> = (0..len).map(|at| at as u8 * 7 + 3).collect();
            let gcm = Gcm::with_form(form, &key).expect("the form is available");
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

                let counter = u128::from_be_bytes([len as u8; 16]) >> 32 << 32;
                let beside = [first, last].map(u128::from_be_bytes);
                let made = gcm.seal(counter, beside[0], &mut sealed[..len], beside[1]);

                assert_eq!(
                    u128::from_ne_bytes(made.to_be_bytes()),
                    tag,
                    "{form:?} {len}"
                );
                assert_eq!(
                    sealed,
                    [&cipher[..], &[0xee; 64]].concat(),
                    "{form:?} {len}"
                );
                let made = gcm.open(counter, beside[0], &mut sealed[..len], beside[1]);
                assert_eq!(
                    u128::from_ne_bytes(made.to_be_bytes()),
                    tag,
                    "{form:?} {len}"
                );
                assert_eq!(sealed, [&plain[..], &[0xee; 64]].concat(), "{form:?} {len}");
            }
        }
        assert!(Gcm::new(&[0; 20]).is_none());
    }
}
