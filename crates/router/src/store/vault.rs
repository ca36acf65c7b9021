//! How what is kept is locked: each value is encrypted with AES-256-GCM and bound to its place, so that a copied
//! file says nothing, and what was changed or moved is noticed.
//!
//! Each file has a salt of its own, and its key is made of that and of the machine's ([RFC 5869]). The head of a
//! file tells in the clear which of the machine's keys it needs: a wrong key is not taken for damage.
//!
//! [RFC 5869]: https://www.rfc-editor.org/rfc/rfc5869

use std::io;

use hkdf::Hkdf;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;

use super::aead::{Cipher, NONCE, TAG};

const SALT: usize = 16;
/// Bytes of the name of a key.
pub(super) const NAME: usize = 8;

/// What a sealed value has more than the value: its nonce and its tag.
pub(super) const MORE: usize = NONCE + TAG;

/// Fills bytes that nobody can predict, from the kernel's source.
///
/// # Panics
/// The kernel has no such source.
pub fn unpredictable(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        let got = getrandom(&mut bytes[filled..], GetRandomFlags::empty());
        // It waits for the kernel's source at most once after boot, and does not fail then (getrandom(2)).
        filled += got.expect("the kernel gives random numbers");
    }
}

/// Bytes that nobody can foretell.
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

/// The kernel's source of bytes that nobody can predict.
pub(crate) fn entropy() -> ike::Entropy {
    Box::new(unpredictable)
}

/// The machine's key, which all files of the store are locked with.
#[derive(Clone)]
pub struct Key {
    bytes: [u8; 32],
    /// Where it comes from, in words.
    from: String,
    /// What is wrong with the file that it was read from.
    complaint: Option<String>,
}

impl Key {
    /// A key, and where it comes from in words.
    pub fn new(bytes: [u8; 32], from: impl Into<String>) -> Self {
        Self {
            bytes,
            from: from.into(),
            complaint: None,
        }
    }

    /// The same key, read from a file with this fault.
    pub(super) fn with_complaint(self, complaint: Option<String>) -> Self {
        Self { complaint, ..self }
    }

    /// What an administrator should know of the file that the key was read from.
    pub(super) fn complaint(&self) -> Option<&str> {
        self.complaint.as_deref()
    }

    /// Where it comes from.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// Bytes that follow from the key and nothing else, for this purpose.
    fn expand<const N: usize>(&self, salt: &[u8], purpose: &[u8]) -> [u8; N] {
        let mut out = [0; N];
        let made = Hkdf::<Sha256>::new(Some(salt), &self.bytes).expand(purpose, &mut out);
        debug_assert!(made.is_ok(), "HKDF makes so few bytes of any key");
        out
    }

    /// The name of the key, by which a wrong one is told from the right one.
    pub(super) fn name(&self) -> [u8; NAME] {
        self.expand(b"", b"ferroute store: name of the key")
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.from)
    }
}

/// What a file says in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    salt: [u8; SALT],
    /// The name of the key that it is locked with.
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

/// Locks and unlocks the values of one file.
pub(super) struct Vault {
    cipher: Cipher,
    pub(super) head: Head,
}

impl Vault {
    /// For a new file.
    pub(super) fn new(key: &Key) -> io::Result<Self> {
        let (salt, name) = (random()?, key.name());
        Ok(Self::of(key, Head { salt, key: name }))
    }

    /// For the file with this head.
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
    pub(super) fn seal(&self, place: &Place<'_>, value: &[u8]) -> io::Result<Vec<u8>> {
        let nonce: [u8; NONCE] = random()?;
        let mut sealed = Vec::with_capacity(value.len() + MORE);
        sealed.extend_from_slice(&nonce);
        (self.cipher).encrypt(nonce, &place.bytes(), value, &mut sealed)?;
        Ok(sealed)
    }

    /// Decrypts the value of a place. Returns `None` if authentication fails: the bytes were changed, or belong to
    /// another place or key.
    pub(super) fn open(&self, place: &Place<'_>, bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>()?;
        self.cipher.decrypt(*nonce, &place.bytes(), sealed)
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

/// Where a value stands: a table or file, a text and a number within.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a>(pub(super) &'a str, pub(super) &'a str, pub(super) u64);

impl Place<'_> {
    fn bytes(&self) -> Vec<u8> {
        let number = self.2.to_le_bytes();
        // No table has a zero byte in its name, and the number is of one length.
        [self.0.as_bytes(), b"\0", self.1.as_bytes(), &number].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened_at_its_place_with_its_key_and_as_it_was() {
        let key = Key::new([1; 32], "a test");
        let vault = Vault::new(&key).expect("random numbers");
        let place = Place("items", "/ip/address", 7);
        let sealed = vault.seal(&place, b"secret").expect("random numbers");

        assert_eq!(vault.open(&place, &sealed).as_deref(), Some(&b"secret"[..]));
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert_eq!(sealed.len(), 6 + MORE);
        let elsewhere = [
            Place("items", "/ip/address", 8),
            Place("items", "/ip/route", 7),
            Place("held", "/ip/address", 7),
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
