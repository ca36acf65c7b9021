//! AES-256-GCM (NIST SP 800-38D) for data that the router encrypts on disk: values of the store and backups.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

/// Length of a nonce in bytes. The caller uses a new random nonce for each value.
pub(crate) const NONCE: usize = 12;
/// Length of the authentication tag in bytes.
pub(crate) const TAG: usize = 16;

/// A key of AES-256-GCM.
pub(crate) struct Cipher(LessSafeKey);

impl Cipher {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key);
        Self(LessSafeKey::new(
            key.expect("AES-256 takes any 32 bytes as its key"),
        ))
    }

    /// Appends the ciphertext of `value` and its tag to `out`. The tag covers `associated`, too.
    ///
    /// # Errors
    /// The value is longer than GCM allows: 64 GiB.
    pub(crate) fn encrypt(
        &self,
        nonce: [u8; NONCE],
        associated: &[u8],
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        let begin = out.len();
        out.reserve(value.len() + TAG);
        out.extend_from_slice(value);
        let (nonce, associated) = (Nonce::assume_unique_for_key(nonce), Aad::from(associated));
        let text = &mut out[begin..];
        let tag = self.0.seal_in_place_separate_tag(nonce, associated, text);
        let tag = tag.map_err(|_| std::io::Error::other("too long to be encrypted"))?;
        out.extend_from_slice(tag.as_ref());
        Ok(())
    }

    /// Decrypts a ciphertext with its tag. Returns `None` if authentication fails: key, nonce, associated data or
    /// ciphertext are not those of the encryption.
    pub(crate) fn decrypt(
        &self,
        nonce: [u8; NONCE],
        associated: &[u8],
        ciphertext: &[u8],
    ) -> Option<Vec<u8>> {
        let (nonce, associated) = (Nonce::assume_unique_for_key(nonce), Aad::from(associated));
        let mut value = ciphertext.to_vec();
        let opened = self.0.open_in_place(nonce, associated, &mut value).ok()?;
        let length = opened.len();
        value.truncate(length);
        Some(value)
    }
}
