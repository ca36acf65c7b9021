//! Algorithms of the data channel: names, sizes, key material.

pub use esp::{Authentication as Digest, Bits};
use zeroize::Zeroizing;

/// Cipher of the data channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cipher {
    /// No encryption (`none`; RouterOS: `null`).
    None,
    /// AES in CBC mode with a separate HMAC.
    AesCbc(Bits),
    /// AES-GCM.
    AesGcm(Bits),
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// Ciphers with their names in OpenVPN.
const CIPHERS: [(Cipher, &str); 8] = [
    (Cipher::None, "none"),
    (Cipher::AesCbc(Bits::B128), "AES-128-CBC"),
    (Cipher::AesCbc(Bits::B192), "AES-192-CBC"),
    (Cipher::AesCbc(Bits::B256), "AES-256-CBC"),
    (Cipher::AesGcm(Bits::B128), "AES-128-GCM"),
    (Cipher::AesGcm(Bits::B192), "AES-192-GCM"),
    (Cipher::AesGcm(Bits::B256), "AES-256-GCM"),
    (Cipher::ChaCha20Poly1305, "CHACHA20-POLY1305"),
];

impl Cipher {
    /// Iterates over all ciphers.
    pub fn all() -> impl Iterator<Item = Self> {
        CIPHERS.into_iter().map(|(cipher, _)| cipher)
    }

    /// Returns the cipher of a name of OpenVPN, in any case. `[null-cipher]` is the name of `none` in options strings.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "[null-cipher]" {
            return Some(Self::None);
        }
        let mut all = CIPHERS.into_iter();
        all.find_map(|(cipher, own)| own.eq_ignore_ascii_case(name).then_some(cipher))
    }

    /// Returns the name in OpenVPN.
    pub fn name(self) -> &'static str {
        let mut all = CIPHERS.into_iter();
        let name = all.find_map(|(cipher, name)| (cipher == self).then_some(name));
        name.unwrap_or_default()
    }

    /// Length of the key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::None => 0,
            Self::AesCbc(bits) | Self::AesGcm(bits) => bits.bytes(),
            Self::ChaCha20Poly1305 => 32,
        }
    }

    /// Returns true for AEAD ciphers, which use no HMAC.
    pub const fn is_aead(self) -> bool {
        matches!(self, Self::AesGcm(_) | Self::ChaCha20Poly1305)
    }
}

/// Returns the digest of a name of OpenVPN, in any case.
pub fn digest_from_name(name: &str) -> Option<Digest> {
    match name {
        "none" | "[null-digest]" => Some(Digest::None),
        _ => Digest::from_name(&name.to_ascii_lowercase()),
    }
}

/// Algorithms of a session's data channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suite {
    /// Cipher.
    pub cipher: Cipher,
    /// HMAC of packets, untruncated; without effect with an AEAD cipher.
    pub digest: Digest,
}

impl core::fmt::Display for Suite {
    /// Writes the cipher and the HMAC as RouterOS does, such as `AES-256-CBC/SHA1`; an AEAD cipher alone.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.cipher.name())?;
        match self.cipher.is_aead() {
            true => Ok(()),
            false => write!(f, "/{}", self.digest.name().to_uppercase()),
        }
    }
}

/// Keys of one direction: 64 bytes for the cipher, 64 for the HMAC or the implicit nonce. Dropping wipes them.
#[derive(Clone, PartialEq, Eq)]
pub struct DirectionKeys {
    /// Cipher key in its leading bytes.
    pub cipher: Zeroizing<[u8; PART_BYTES]>,
    /// HMAC key in its leading bytes; the implicit part of the nonce of AEAD ciphers.
    pub hmac: Zeroizing<[u8; PART_BYTES]>,
}

/// Length of each part of the key material in bytes.
pub(crate) const PART_BYTES: usize = 64;

/// Keys of both directions.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Keys of packets that this end sends.
    pub send: DirectionKeys,
    /// Keys of packets that this end receives.
    pub receive: DirectionKeys,
}

impl core::fmt::Debug for Keys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Splits key material: the client's keys for sending, then the server's.
    pub(crate) fn split(material: &[u8; MATERIAL_BYTES], is_client: bool) -> Self {
        let part = |at: usize| {
            let (parts, _) = material.as_chunks::<PART_BYTES>();
            Zeroizing::new(parts.get(at).copied().unwrap_or([0; PART_BYTES]))
        };
        let direction = |first: usize| DirectionKeys {
            cipher: part(first),
            hmac: part(first + 1),
        };
        let (client, server) = (direction(0), direction(2));
        match is_client {
            true => Self {
                send: client,
                receive: server,
            },
            false => Self {
                send: server,
                receive: client,
            },
        }
    }
}

/// Length of the key material of both directions in bytes.
pub(crate) const MATERIAL_BYTES: usize = 4 * PART_BYTES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_openvpn_in_any_case() {
        for cipher in Cipher::all() {
            assert_eq!(Cipher::from_name(cipher.name()), Some(cipher));
            assert_eq!(
                Cipher::from_name(&cipher.name().to_lowercase()),
                Some(cipher)
            );
        }
        assert_eq!(Cipher::from_name("BF-CBC"), None);
        assert_eq!(digest_from_name("SHA256"), Some(Digest::Sha256));
        assert_eq!(digest_from_name("[null-digest]"), Some(Digest::None));
        assert_eq!(digest_from_name("RSA-MD4"), None);
    }
}
