//! Algorithms with their menu keywords: of IKE SAs, and of the ESP and AH SAs they negotiate.

/// A hash of phase 1 (`hash-algorithm`): in IKEv1 the hash and its HMAC, in IKEv2 integrity and PRF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hash {
    /// MD5: weak.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// Cipher of IKE messages (`enc-algorithm`), always in CBC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// DES: weak.
    Des,
    /// Triple DES with three keys: weak.
    TripleDes,
    /// Blowfish with a key of 128 bits: weak, for its blocks of 64 bits.
    Blowfish,
    /// AES with a key of 128 bits.
    Aes128,
    /// AES with a key of 192 bits.
    Aes192,
    /// AES with a key of 256 bits.
    Aes256,
    /// Camellia with a key of 128 bits.
    Camellia128,
    /// Camellia with a key of 192 bits.
    Camellia192,
    /// Camellia with a key of 256 bits.
    Camellia256,
}

/// A Diffie-Hellman group (`dh-group`, `pfs-group`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// 768 bits (RFC 2409, 6.1): weak.
    Modp768,
    /// 1024 bits (RFC 2409, 6.2): weak.
    Modp1024,
    /// 1536 bits (RFC 3526).
    Modp1536,
    /// 2048 bits (RFC 3526).
    Modp2048,
    /// 3072 bits (RFC 3526).
    Modp3072,
    /// 4096 bits (RFC 3526).
    Modp4096,
    /// 6144 bits (RFC 3526).
    Modp6144,
    /// 8192 bits (RFC 3526).
    Modp8192,
    /// NIST P-256 (RFC 5903).
    Ecp256,
    /// NIST P-384 (RFC 5903).
    Ecp384,
    /// NIST P-521 (RFC 5903).
    Ecp521,
    /// Curve25519 (RFC 8031).
    X25519,
}

/// Cipher of an ESP SA; [`Encryption`] adds the key length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// No encryption (RFC 2410), or an AH SA.
    Null,
    /// DES in CBC mode: weak.
    Des,
    /// Triple DES in CBC mode: weak.
    TripleDes,
    /// Blowfish in CBC mode: weak.
    Blowfish,
    /// Twofish in CBC mode; IKEv1 only.
    Twofish,
    /// AES in CBC mode (RFC 3602).
    AesCbc,
    /// AES in counter mode (RFC 3686); the key ends with 4 bytes of nonce.
    AesCtr,
    /// AES-GCM with an ICV of 16 bytes (RFC 4106); the key ends with 4 bytes of salt.
    AesGcm,
    /// Camellia in CBC mode (RFC 4312).
    Camellia,
    /// ChaCha20 and Poly1305 (RFC 7634); the key ends with 4 bytes of salt. IKEv2 only.
    ChaCha20Poly1305,
}

/// Cipher and key length of a proposal (`enc-algorithms`): `aes-256-cbc` is `AesCbc` and 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Encryption {
    /// Cipher and mode.
    pub kind: Kind,
    /// Key length in bits, without salt: 0 for Null, 64 for DES, 192 for triple DES.
    pub bits: u16,
}

/// Algorithms of an ESP or AH pair.
///
/// Encryption keys have `bits / 8` bytes, and 4 bytes of salt for CTR, GCM and ChaCha20; authentication keys
/// are as long as their hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildSuite {
    /// Encryption algorithm.
    pub encryption: Encryption,
    /// HMAC (`auth-algorithms`), truncated to 96 bits for MD5 and SHA-1, to half for the others. `None` with
    /// AEAD ciphers.
    pub authentication: Option<Hash>,
}

impl Encryption {
    /// Combines a cipher with a key length in bits.
    pub const fn new(kind: Kind, bits: u16) -> Self {
        Self { kind, bits }
    }

    /// Length of the key in bytes, including the salt.
    pub const fn key_len(self) -> usize {
        let salt = match self.kind {
            Kind::AesCtr | Kind::AesGcm | Kind::ChaCha20Poly1305 => 4,
            _ => 0,
        };
        self.bits as usize / 8 + salt
    }

    /// Returns true for ciphers that authenticate as well; such SAs negotiate no HMAC.
    pub const fn is_aead(self) -> bool {
        matches!(self.kind, Kind::AesGcm | Kind::ChaCha20Poly1305)
    }

    /// Returns the keyword of `enc-algorithms`.
    pub const fn name(self) -> &'static str {
        match (self.kind, self.bits) {
            (Kind::Null, _) => "null",
            (Kind::Des, _) => "des",
            (Kind::TripleDes, _) => "3des",
            (Kind::Blowfish, _) => "blowfish",
            (Kind::Twofish, _) => "twofish",
            (Kind::AesCbc, 128) => "aes-128-cbc",
            (Kind::AesCbc, 192) => "aes-192-cbc",
            (Kind::AesCbc, _) => "aes-256-cbc",
            (Kind::AesCtr, 128) => "aes-128-ctr",
            (Kind::AesCtr, 192) => "aes-192-ctr",
            (Kind::AesCtr, _) => "aes-256-ctr",
            (Kind::AesGcm, 128) => "aes-128-gcm",
            (Kind::AesGcm, 192) => "aes-192-gcm",
            (Kind::AesGcm, _) => "aes-256-gcm",
            (Kind::Camellia, 128) => "camellia-128",
            (Kind::Camellia, 192) => "camellia-192",
            (Kind::Camellia, _) => "camellia-256",
            (Kind::ChaCha20Poly1305, _) => "chacha20poly1305",
        }
    }
}

impl ChildSuite {
    /// Length of the authentication key in bytes.
    pub const fn authentication_len(self) -> usize {
        match self.authentication {
            None => 0,
            Some(hash) => hash.size(),
        }
    }
}

impl Hash {
    /// Length of the digest and of HMAC keys in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// Length of an IKEv2 integrity checksum in bytes: 12 for MD5 and SHA-1, half of the digest for the others.
    pub const fn icv_len(self) -> usize {
        match self {
            Self::Md5 | Self::Sha1 => 12,
            _ => self.size() / 2,
        }
    }

    /// Returns the keyword of `hash-algorithm`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}

impl Cipher {
    /// Length of the key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Des => 8,
            Self::Blowfish | Self::Aes128 | Self::Camellia128 => 16,
            Self::TripleDes | Self::Aes192 | Self::Camellia192 => 24,
            Self::Aes256 | Self::Camellia256 => 32,
        }
    }

    /// Length of a block and of an initialisation vector in bytes.
    pub const fn block_len(self) -> usize {
        match self {
            Self::Des | Self::TripleDes | Self::Blowfish => 8,
            _ => 16,
        }
    }

    /// Returns the keyword of `enc-algorithm`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Des => "des",
            Self::TripleDes => "3des",
            Self::Blowfish => "blowfish",
            Self::Aes128 => "aes-128",
            Self::Aes192 => "aes-192",
            Self::Aes256 => "aes-256",
            Self::Camellia128 => "camellia-128",
            Self::Camellia192 => "camellia-192",
            Self::Camellia256 => "camellia-256",
        }
    }
}

impl Group {
    /// Returns the keyword of `dh-group`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modp768 => "modp768",
            Self::Modp1024 => "modp1024",
            Self::Modp1536 => "modp1536",
            Self::Modp2048 => "modp2048",
            Self::Modp3072 => "modp3072",
            Self::Modp4096 => "modp4096",
            Self::Modp6144 => "modp6144",
            Self::Modp8192 => "modp8192",
            Self::Ecp256 => "ecp256",
            Self::Ecp384 => "ecp384",
            Self::Ecp521 => "ecp521",
            Self::X25519 => "x25519",
        }
    }

    /// Returns the transform ID in both versions (IANA, "Transform Type 4").
    pub const fn number(self) -> u16 {
        match self {
            Self::Modp768 => 1,
            Self::Modp1024 => 2,
            Self::Modp1536 => 5,
            Self::Modp2048 => 14,
            Self::Modp3072 => 15,
            Self::Modp4096 => 16,
            Self::Modp6144 => 17,
            Self::Modp8192 => 18,
            Self::Ecp256 => 19,
            Self::Ecp384 => 20,
            Self::Ecp521 => 21,
            Self::X25519 => 31,
        }
    }

    /// Returns the group of a transform ID.
    pub const fn of(number: u16) -> Option<Self> {
        Some(match number {
            1 => Self::Modp768,
            2 => Self::Modp1024,
            5 => Self::Modp1536,
            14 => Self::Modp2048,
            15 => Self::Modp3072,
            16 => Self::Modp4096,
            17 => Self::Modp6144,
            18 => Self::Modp8192,
            19 => Self::Ecp256,
            20 => Self::Ecp384,
            21 => Self::Ecp521,
            31 => Self::X25519,
            _ => return None,
        })
    }
}
