//! Encryption of stored values: each value is encrypted with AES-256-GCM and bound to its place, so that a copied file
//! reveals nothing, and changed or moved values are detected.
//!
//! Each file has its own salt, and its key is derived from the salt and the machine's key ([RFC 5869]). The unencrypted
//! head of a file names the machine key that it needs, so that a wrong key is not mistaken for damage.
//!
//! [RFC 5869]: https://www.rfc-editor.org/rfc/rfc5869

use std::io;

use hkdf::Hkdf;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;

use super::aead::{Cipher, NONCE, TAG};

const SALT: usize = 16;
/// Length of a key's name in bytes.
pub(super) const NAME: usize = 8;

/// Bytes that encryption adds to a value: nonce and tag.
pub(super) const MORE: usize = NONCE + TAG;

/// Fills a buffer with unpredictable bytes from the kernel.
///
/// # Panics
/// The kernel has no such source.
pub fn unpredictable(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        let got = getrandom(&mut bytes[filled..], GetRandomFlags::empty());
        // getrandom(2) blocks at most once after boot, and does not fail afterwards.
        filled += got.expect("the kernel gives random numbers");
    }
}

/// Returns unpredictable bytes.
///
/// # Errors
/// The system has none.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut random = [0; N];
    match getrandom(&mut random, GetRandomFlags::empty()) {
        Ok(count) if count == N => Ok(random),
        _ => Err(io::Error::other("no random numbers")),
    }
}

/// Returns the kernel's source of unpredictable bytes.
pub(crate) fn entropy() -> ike::Entropy {
    Box::new(unpredictable)
}

/// The machine's key, from which all file keys of the store are derived.
#[derive(Clone)]
pub struct Key {
    bytes: [u8; 32],
    /// Source of the key, as text.
    from: String,
    /// Fault of the file that the key was read from.
    complaint: Option<String>,
}

impl Key {
    /// Creates a key; `from` describes its source.
    pub fn new(bytes: [u8; 32], from: impl Into<String>) -> Self {
        Self {
            bytes,
            from: from.into(),
            complaint: None,
        }
    }

    /// Returns the key with a fault of its file.
    pub(super) fn with_complaint(self, complaint: Option<String>) -> Self {
        Self { complaint, ..self }
    }

    /// Returns the fault of the key's file, for administrators.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// Returns the source of the key.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// Derives bytes from the key for this purpose.
    fn expand<const N: usize>(&self, salt: &[u8], purpose: &[u8]) -> [u8; N] {
        let mut out = [0; N];
        let made = Hkdf::<Sha256>::new(Some(salt), &self.bytes).expand(purpose, &mut out);
        debug_assert!(made.is_ok(), "HKDF makes so few bytes of any key");
        out
    }

    /// Returns the name of the key, which tells a wrong key from the right one.
    pub(super) fn name(&self) -> [u8; NAME] {
        self.expand(b"", b"ferroute store: name of the key")
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.from)
    }
}

/// Unencrypted head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    salt: [u8; SALT],
    /// Name of the machine key.
    pub(super) key: [u8; NAME],
}

impl Head {
    pub(super) const LEN: usize = SALT + NAME;

    pub(super) fn bytes(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..SALT].copy_from_slice(&self.salt);
        out[SALT..].copy_from_slice(&self.key);
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (salt, key) = bytes.split_first_chunk()?;
        let key = key.try_into().ok()?;
        Some(Self { salt: *salt, key })
    }
}

/// Encrypts and decrypts the values of one file.
pub(super) struct Vault {
    cipher: Cipher,
    pub(super) head: Head,
}

impl Vault {
    /// Creates the vault of a new file.
    pub(super) fn new(key: &Key) -> io::Result<Self> {
        let (salt, name) = (random()?, key.name());
        Ok(Self::of(key, Head { salt, key: name }))
    }

    /// Creates the vault of the file with this head.
    pub(super) fn of(key: &Key, head: Head) -> Self {
        let bytes: [u8; 32] = key.expand(&head.salt, b"ferroute store: key of a file");
        Self {
            cipher: Cipher::new(&bytes),
            head,
        }
    }

    /// Encrypts the value of a place: nonce, ciphertext, tag.
    ///
    /// # Errors
    /// The system gives no random numbers, or the value is longer than GCM allows.
    pub(super) fn seal(&self, place: &SealContext<'_>, value: &[u8]) -> io::Result<Vec<u8>> {
        let nonce: [u8; NONCE] = random()?;
        let mut sealed = Vec::with_capacity(value.len() + MORE);
        sealed.extend_from_slice(&nonce);
        (self.cipher).encrypt(nonce, &place.bytes(), value, &mut sealed)?;
        Ok(sealed)
    }

    /// Decrypts the value of a place. Returns `None` if authentication fails: the bytes were changed, or belong to
    /// another place or key.
    pub(super) fn open(&self, place: &SealContext<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        self.cipher.decrypt(*nonce, &place.bytes(), sealed)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

/// Position of a sealed value, which authentication covers: table or file, and a text and a number
/// within it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealContext<'a>(pub(super) &'a str, pub(super) &'a str, pub(super) u64);

impl SealContext<'_> {
    fn bytes(&self) -> Vec<u8> {
        let number = self.2.to_le_bytes();
        // No table name contains a zero byte, and the number has a fixed length.
        [self.0.as_bytes(), b"\0", self.1.as_bytes(), &number].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_data_opens_only_unchanged_at_its_place_with_its_key() {
        let key = Key::new([1; 32], "a test");
        let vault = Vault::new(&key).expect("random numbers");
        let place = SealContext("items", "/ip/address", 7);
        let sealed = vault.seal(&place, b"secret").expect("random numbers");

        assert_eq!(vault.open(&place, &sealed).as_deref(), Some(&b"secret"[..]));
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert_eq!(sealed.len(), 6 + MORE);
        let elsewhere = [
            SealContext("items", "/ip/address", 8),
            SealContext("items", "/ip/route", 7),
            SealContext("held", "/ip/address", 7),
        ];
        assert!(elsewhere.iter().all(|p| vault.open(p, &sealed).is_none()));
        for bit in 0..sealed.len() * 8 {
            let mut flipped = sealed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(vault.open(&place, &flipped), None, "{bit}");
        }
        let other = Vault::of(&Key::new([2; 32], "another"), vault.head);
        assert_eq!(other.open(&place, &sealed), None);
        assert_ne!(Key::new([2; 32], "another").name(), key.name());
    }
}
