//! Algorithms: names, sizes, and valid combinations.

use core::fmt;

use zeroize::Zeroizing;

/// Key length of a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bits {
    /// 16 bytes.
    B128,
    /// 24 bytes.
    B192,
    /// 32 bytes.
    B256,
}

impl Bits {
    /// Returns the length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::B128 => 16,
            Self::B192 => 24,
            Self::B256 => 32,
        }
    }
}

/// Encryption algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encryption {
    /// No encryption (RFC 2410).
    Null,
    /// DES in CBC mode (RFC 2405).
    Des,
    /// Triple DES in CBC mode with three keys (RFC 2451).
    TripleDes,
    /// Blowfish in CBC mode with a key of 128 bits (RFC 2451).
    Blowfish,
    /// Twofish in CBC mode with a key of 128 bits.
    Twofish,
    /// AES in CBC mode (RFC 3602).
    AesCbc(Bits),
    /// Camellia in CBC mode (RFC 4312).
    Camellia(Bits),
    /// AES in counter mode (RFC 3686).
    AesCtr(Bits),
    /// AES-GCM with an ICV of 16 bytes (RFC 4106).
    AesGcm(Bits),
    /// ChaCha20 and Poly1305 (RFC 7634).
    ChaCha20Poly1305,
}

/// Encryption algorithms with their RouterOS names.
const ENCRYPTIONS: [(Encryption, &str); 18] = [
    (Encryption::Null, "null"),
    (Encryption::Des, "des"),
    (Encryption::TripleDes, "3des"),
    (Encryption::Blowfish, "blowfish"),
    (Encryption::Twofish, "twofish"),
    (Encryption::AesCbc(Bits::B128), "aes-128-cbc"),
    (Encryption::AesCbc(Bits::B192), "aes-192-cbc"),
    (Encryption::AesCbc(Bits::B256), "aes-256-cbc"),
    (Encryption::Camellia(Bits::B128), "camellia-128"),
    (Encryption::Camellia(Bits::B192), "camellia-192"),
    (Encryption::Camellia(Bits::B256), "camellia-256"),
    (Encryption::AesCtr(Bits::B128), "aes-128-ctr"),
    (Encryption::AesCtr(Bits::B192), "aes-192-ctr"),
    (Encryption::AesCtr(Bits::B256), "aes-256-ctr"),
    (Encryption::AesGcm(Bits::B128), "aes-128-gcm"),
    (Encryption::AesGcm(Bits::B192), "aes-192-gcm"),
    (Encryption::AesGcm(Bits::B256), "aes-256-gcm"),
    (Encryption::ChaCha20Poly1305, "chacha20poly1305"),
];

impl Encryption {
    /// Iterates over all algorithms.
    pub fn all() -> impl Iterator<Item = Self> {
        ENCRYPTIONS.into_iter().map(|(encryption, _)| encryption)
    }

    /// Returns the algorithm of a RouterOS name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = ENCRYPTIONS.into_iter();
        all.find_map(|(encryption, own)| (own == name).then_some(encryption))
    }

    /// Returns the RouterOS name.
    pub fn name(self) -> &'static str {
        let mut all = ENCRYPTIONS.into_iter();
        let name = all.find_map(|(encryption, name)| (encryption == self).then_some(name));
        name.unwrap_or_default()
    }

    /// Length of the negotiated key in bytes, including the salt.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Null => 0,
            Self::Des => 8,
            Self::TripleDes => 24,
            Self::Blowfish | Self::Twofish => 16,
            Self::AesCbc(bits) | Self::Camellia(bits) => bits.bytes(),
            Self::AesCtr(bits) | Self::AesGcm(bits) => bits.bytes() + SALT,
            Self::ChaCha20Poly1305 => 32 + SALT,
        }
    }

    /// Length of the salt at the end of the key, which is part of the nonce, in bytes.
    pub const fn salt_len(self) -> usize {
        match self {
            Self::AesCtr(_) | Self::AesGcm(_) | Self::ChaCha20Poly1305 => SALT,
            _ => 0,
        }
    }

    /// Length of the initialization vector in each packet, in bytes.
    pub const fn iv_len(self) -> usize {
        match self {
            Self::Null => 0,
            Self::AesCbc(_) | Self::Camellia(_) | Self::Twofish => 16,
            _ => 8,
        }
    }

    /// Alignment of payload, padding and trailer together, in bytes.
    pub const fn block_len(self) -> usize {
        match self {
            Self::AesCbc(_) | Self::Camellia(_) | Self::Twofish => 16,
            Self::Des | Self::TripleDes | Self::Blowfish => 8,
            _ => 4,
        }
    }

    /// Length of the integrity check value in bytes; 0 unless the cipher is an AEAD.
    pub const fn icv_len(self) -> usize {
        if self.is_aead() { 16 } else { 0 }
    }

    /// Returns true for AEAD ciphers, which need no HMAC.
    pub const fn is_aead(self) -> bool {
        matches!(self, Self::AesGcm(_) | Self::ChaCha20Poly1305)
    }
}

impl fmt::Display for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// HMAC of packets, truncated according to its RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Authentication {
    /// No HMAC: with AEAD ciphers, or for encryption alone.
    None,
    /// HMAC-MD5-96 (RFC 2403).
    Md5,
    /// HMAC-SHA1-96 (RFC 2404).
    Sha1,
    /// HMAC-SHA-256-128 (RFC 4868).
    Sha256,
    /// HMAC-SHA-384-192 (RFC 4868).
    Sha384,
    /// HMAC-SHA-512-256 (RFC 4868).
    Sha512,
}

/// Algorithms with name, key length and ICV length in bytes.
const AUTHENTICATIONS: [(Authentication, &str, usize, usize); 6] = [
    (Authentication::None, "null", 0, 0),
    (Authentication::Md5, "md5", 16, 12),
    (Authentication::Sha1, "sha1", 20, 12),
    (Authentication::Sha256, "sha256", 32, 16),
    (Authentication::Sha384, "sha384", 48, 24),
    (Authentication::Sha512, "sha512", 64, 32),
];

impl Authentication {
    /// Iterates over all algorithms.
    pub fn all() -> impl Iterator<Item = Self> {
        AUTHENTICATIONS.into_iter().map(|(own, ..)| own)
    }

    /// Returns the algorithm of a RouterOS name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = AUTHENTICATIONS.into_iter();
        all.find_map(|(own, called, ..)| (called == name).then_some(own))
    }

    const fn facts(self) -> (Self, &'static str, usize, usize) {
        // The table has the order of the variants.
        AUTHENTICATIONS[self as usize]
    }

    /// Returns the RouterOS name.
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    /// Length of the negotiated key in bytes.
    pub const fn key_len(self) -> usize {
        self.facts().2
    }

    /// Length of the integrity check value in bytes.
    pub const fn icv_len(self) -> usize {
        self.facts().3
    }
}

impl fmt::Display for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The algorithms of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suite {
    /// Encryption algorithm.
    pub encryption: Encryption,
    /// HMAC; none with an AEAD cipher.
    pub authentication: Authentication,
}

impl Suite {
    /// Checks that the algorithms may be combined.
    ///
    /// # Errors
    ///
    /// An AEAD cipher with an HMAC, and neither encryption nor authentication.
    pub const fn check(self) -> Result<(), Refused> {
        let is_authenticated = !matches!(self.authentication, Authentication::None);
        if self.encryption.is_aead() && is_authenticated {
            return Err(Refused::AuthenticatedTwice(self.encryption));
        }
        if matches!(self.encryption, Encryption::Null) && !is_authenticated {
            return Err(Refused::Nothing);
        }
        Ok(())
    }

    /// Length of the integrity check value in bytes.
    pub const fn icv_len(self) -> usize {
        self.encryption.icv_len() + self.authentication.icv_len()
    }

    /// Returns true if packets are authenticated.
    pub const fn has_integrity(self) -> bool {
        self.icv_len() != 0
    }
}

/// Keys of one direction of an association. Dropping wipes them; they have no `Debug`.
#[derive(Clone)]
pub struct Keys {
    /// Cipher key followed by its salt: [`Encryption::key_len`] bytes.
    pub encryption: Zeroizing<Vec<u8>>,
    /// HMAC key: [`Authentication::key_len`] bytes.
    pub authentication: Zeroizing<Vec<u8>>,
}

impl Keys {
    /// Copies both keys.
    pub fn new(encryption: &[u8], authentication: &[u8]) -> Self {
        Self {
            encryption: Zeroizing::new(encryption.to_vec()),
            authentication: Zeroizing::new(authentication.to_vec()),
        }
    }

    /// Checks the lengths of the keys.
    pub(crate) fn check(&self, suite: Suite) -> Result<(), Refused> {
        suite.check()?;
        let (wanted, length) = (suite.encryption.key_len(), self.encryption.len());
        if wanted != length {
            return Err(Refused::EncryptionKey { wanted, length });
        }
        let (wanted, length) = (suite.authentication.key_len(), self.authentication.len());
        if wanted != length {
            return Err(Refused::AuthenticationKey { wanted, length });
        }
        Ok(())
    }
}

/// Reason for rejecting the parameters of an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An AEAD cipher combined with an HMAC.
    AuthenticatedTwice(Encryption),
    /// Neither encryption nor authentication.
    Nothing,
    /// SPIs from 0 to 255 are reserved (RFC 4303, 2.1).
    Spi(u32),
    /// Wrong length of the cipher key, in bytes.
    EncryptionKey {
        /// Required length, including the salt.
        wanted: usize,
        /// Given length.
        length: usize,
    },
    /// Wrong length of the HMAC key, in bytes.
    AuthenticationKey {
        /// Required length.
        wanted: usize,
        /// Given length.
        length: usize,
    },
    /// Invalid window size: it must be a multiple of 32, at most 1024.
    Window(u32),
    /// Replay window or extended sequence numbers without authentication (RFC 4303, 3.4.3).
    NumbersWithoutIntegrity,
    /// Extended sequence numbers need a window (RFC 4303, appendix A2).
    ExtendedWithoutWindow,
    /// AH needs authentication and null encryption (RFC 4302).
    NotForAh,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AuthenticatedTwice(encryption) => {
                write!(
                    f,
                    "{encryption} includes authentication: no HMAC is allowed"
                )
            }
            Self::Nothing => f.write_str("neither encryption nor authentication"),
            Self::Spi(spi) => write!(f, "SPI {spi} is reserved"),
            Self::EncryptionKey { wanted, length } => {
                write!(f, "encryption key has {length} bytes, not {wanted}")
            }
            Self::AuthenticationKey { wanted, length } => {
                write!(f, "authentication key has {length} bytes, not {wanted}")
            }
            Self::Window(bits) => {
                write!(
                    f,
                    "replay window of {bits}: expected a multiple of 32, at most 1024"
                )
            }
            Self::NumbersWithoutIntegrity => {
                f.write_str("replay window and extended numbers need authentication")
            }
            Self::ExtendedWithoutWindow => {
                f.write_str("extended sequence numbers need a replay window")
            }
            Self::NotForAh => f.write_str("AH needs authentication, and no encryption"),
        }
    }
}

impl core::error::Error for Refused {}

/// Length of the salt in bytes.
const SALT: usize = 4;
