//! Algorithms: their names, sizes, and which go together.

use core::fmt;

use zeroize::Zeroizing;

/// Length of a cipher's key.
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
    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::B128 => 16,
            Self::B192 => 24,
            Self::B256 => 32,
        }
    }
}

/// What encrypts the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encryption {
    /// Nothing does (RFC 2410).
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

/// Each encryption with the name that RouterOS gives it.
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
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        ENCRYPTIONS.into_iter().map(|(encryption, _)| encryption)
    }

    /// The one that RouterOS calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = ENCRYPTIONS.into_iter();
        all.find_map(|(encryption, own)| (own == name).then_some(encryption))
    }

    /// As RouterOS writes it.
    pub fn name(self) -> &'static str {
        let mut all = ENCRYPTIONS.into_iter();
        let name = all.find_map(|(encryption, name)| (encryption == self).then_some(name));
        name.unwrap_or_default()
    }

    /// Bytes of the key that the peers agree on, salt included.
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

    /// Bytes at the end of the key that are part of the nonce and not of the cipher's key.
    pub const fn salt_len(self) -> usize {
        match self {
            Self::AesCtr(_) | Self::AesGcm(_) | Self::ChaCha20Poly1305 => SALT,
            _ => 0,
        }
    }

    /// Bytes of initialization vector in each packet.
    pub const fn iv_len(self) -> usize {
        match self {
            Self::Null => 0,
            Self::AesCbc(_) | Self::Camellia(_) | Self::Twofish => 16,
            _ => 8,
        }
    }

    /// What payload, padding and the two bytes of the trailer are a multiple of, in bytes.
    pub const fn block_len(self) -> usize {
        match self {
            Self::AesCbc(_) | Self::Camellia(_) | Self::Twofish => 16,
            Self::Des | Self::TripleDes | Self::Blowfish => 8,
            _ => 4,
        }
    }

    /// Bytes of the integrity check value; 0 where the authentication brings it.
    pub const fn icv_len(self) -> usize {
        if self.is_aead() { 16 } else { 0 }
    }

    /// Whether it authenticates what it encrypts, so that no HMAC is there besides.
    pub const fn is_aead(self) -> bool {
        matches!(self, Self::AesGcm(_) | Self::ChaCha20Poly1305)
    }
}

impl fmt::Display for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The HMAC that authenticates packets, truncated as its RFC says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Authentication {
    /// There is none: with AEADs, or where packets are encrypted only.
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

/// Each with its name, bytes of key, and bytes of the ICV.
const AUTHENTICATIONS: [(Authentication, &str, usize, usize); 6] = [
    (Authentication::None, "null", 0, 0),
    (Authentication::Md5, "md5", 16, 12),
    (Authentication::Sha1, "sha1", 20, 12),
    (Authentication::Sha256, "sha256", 32, 16),
    (Authentication::Sha384, "sha384", 48, 24),
    (Authentication::Sha512, "sha512", 64, 32),
];

impl Authentication {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        AUTHENTICATIONS.into_iter().map(|(own, ..)| own)
    }

    /// The one that RouterOS calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = AUTHENTICATIONS.into_iter();
        all.find_map(|(own, called, ..)| (called == name).then_some(own))
    }

    const fn facts(self) -> (Self, &'static str, usize, usize) {
        // In the order of the variants.
        AUTHENTICATIONS[self as usize]
    }

    /// As RouterOS writes it.
    pub const fn name(self) -> &'static str {
        self.facts().1
    }

    /// Bytes of the key that the peers agree on.
    pub const fn key_len(self) -> usize {
        self.facts().2
    }

    /// Bytes of the integrity check value in each packet.
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
    /// What encrypts.
    pub encryption: Encryption,
    /// What authenticates; none with an AEAD.
    pub authentication: Authentication,
}

impl Suite {
    /// Checks that the two go together.
    ///
    /// # Errors
    ///
    /// An AEAD with an HMAC besides, and neither encryption nor authentication.
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

    /// Bytes of the integrity check value in each packet.
    pub const fn icv_len(self) -> usize {
        self.encryption.icv_len() + self.authentication.icv_len()
    }

    /// Whether packets are authenticated at all.
    pub const fn has_integrity(self) -> bool {
        self.icv_len() != 0
    }
}

/// Secrets of an association in one direction. They are wiped when dropped, and have no `Debug`.
#[derive(Clone)]
pub struct Keys {
    /// Key of the cipher, then its salt: [`Encryption::key_len`] bytes.
    pub encryption: Zeroizing<Vec<u8>>,
    /// Key of the HMAC: [`Authentication::key_len`] bytes.
    pub authentication: Zeroizing<Vec<u8>>,
}

impl Keys {
    /// Copies of both.
    pub fn new(encryption: &[u8], authentication: &[u8]) -> Self {
        Self {
            encryption: Zeroizing::new(encryption.to_vec()),
            authentication: Zeroizing::new(authentication.to_vec()),
        }
    }

    /// Checks that they are as long as the algorithms want them.
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

/// Why an association cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The AEAD authenticates, and an HMAC is asked for besides.
    AuthenticatedTwice(Encryption),
    /// Neither encryption nor authentication.
    Nothing,
    /// Numbers from 0 to 255 name no association (RFC 4303, 2.1).
    Spi(u32),
    /// Length of the cipher's key, in bytes.
    EncryptionKey {
        /// Of the algorithm, with its salt.
        wanted: usize,
        /// What there is.
        length: usize,
    },
    /// Length of the HMAC's key, in bytes.
    AuthenticationKey {
        /// Of the algorithm.
        wanted: usize,
        /// What there is.
        length: usize,
    },
    /// A window of so many numbers: it is a multiple of 32, at most 1024.
    Window(u32),
    /// A window or extended numbers, where nobody proves the numbers (RFC 4303, 3.4.3).
    NumbersWithoutIntegrity,
    /// Extended numbers cannot be guessed without a window (RFC 4303, appendix A2).
    ExtendedWithoutWindow,
    /// AH authenticates, and encrypts nothing (RFC 4302).
    NotForAh,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AuthenticatedTwice(encryption) => {
                write!(f, "{encryption} authenticates itself, no HMAC goes with it")
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
                    "replay window of {bits}: it is a multiple of 32, at most 1024"
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

/// Bytes of the nonce that the key brings.
const SALT: usize = 4;
