//! Sizes of keys, and hashes of certificates.

use rcgen::SignatureAlgorithm;

use crate::scheme::Hash;

/// RSA key length or curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySize {
    /// RSA of 2048 bits.
    Rsa2048,
    /// RSA of 4096 bits.
    Rsa4096,
    /// Curve `prime256v1`.
    P256,
    /// Curve `secp384r1`.
    P384,
    /// Curve `secp521r1`.
    P521,
}

/// Hash of RSA signatures. ECDSA uses the hash that belongs to the curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl KeySize {
    /// Parses a word of `key-size`.
    ///
    /// # Errors
    /// Returns why keys of this size are not supported.
    pub fn of(word: &str) -> Result<Self, String> {
        Ok(match word {
            "2048" => Self::Rsa2048,
            "4096" => Self::Rsa4096,
            "prime256v1" => Self::P256,
            "secp384r1" => Self::P384,
            "secp521r1" => Self::P521,
            "1024" | "1536" => {
                return Err(format!(
                    "a key of {word} bits is not safe: use 2048 or more"
                ));
            }
            _ => {
                return Err(format!(
                    "keys of {word} bits are not supported: use 4096 or a curve"
                ));
            }
        })
    }
}

impl Digest {
    /// Parses a word of `digest-algorithm`.
    ///
    /// # Errors
    /// Fails for unsafe hashes.
    pub fn of(word: &str) -> Result<Self, String> {
        Ok(match word {
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            _ => {
                return Err(format!(
                    "{word} is not safe for signatures: use sha256 or more"
                ));
            }
        })
    }

    pub(crate) const fn of_rsa(self) -> &'static SignatureAlgorithm {
        match self {
            Self::Sha256 => &rcgen::PKCS_RSA_SHA256,
            Self::Sha384 => &rcgen::PKCS_RSA_SHA384,
            Self::Sha512 => &rcgen::PKCS_RSA_SHA512,
        }
    }

    /// Returns the hash as signatures of messages name it.
    pub(crate) const fn hash(self) -> Hash {
        match self {
            Self::Sha256 => Hash::Sha256,
            Self::Sha384 => Hash::Sha384,
            Self::Sha512 => Hash::Sha512,
        }
    }
}
