//! Private keys: generation, and parsing of their file formats.

use rcgen::{KeyPair, PublicKeyData as _, RsaKeySize, SignatureAlgorithm};
use rustls_pki_types::PrivatePkcs8KeyDer;

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

    const fn of_rsa(self) -> &'static SignatureAlgorithm {
        match self {
            Self::Sha256 => &rcgen::PKCS_RSA_SHA256,
            Self::Sha384 => &rcgen::PKCS_RSA_SHA384,
            Self::Sha512 => &rcgen::PKCS_RSA_SHA512,
        }
    }
}

/// Private key.
pub struct Key {
    pub(crate) pair: KeyPair,
}

impl Key {
    /// Generates a key. An RSA key takes a second, sometimes several.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn new(size: KeySize) -> Result<Self, String> {
        let rsa = |size| KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size);
        let pair = match size {
            KeySize::Rsa2048 => rsa(RsaKeySize::_2048),
            KeySize::Rsa4096 => rsa(RsaKeySize::_4096),
            KeySize::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            KeySize::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            KeySize::P521 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512),
        };
        pair.map(|pair| Self { pair })
            .map_err(|error| format!("the key: {error}"))
    }

    /// Parses a DER key: PKCS#8, PKCS#1 or SEC 1. An RSA key signs with this hash.
    ///
    /// # Errors
    /// Fails for malformed or unknown keys.
    pub fn read(der: &[u8], digest: Digest) -> Result<Self, String> {
        let pair = KeyPair::try_from(der).map_err(|error| format!("no private key: {error}"))?;
        if digest == Digest::Sha256 || *pair.algorithm() != rcgen::PKCS_RSA_SHA256 {
            return Ok(Self { pair });
        }
        let pkcs8 = PrivatePkcs8KeyDer::from(pair.serialize_der());
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, digest.of_rsa());
        pair.map(|pair| Self { pair })
            .map_err(|error| format!("no private key: {error}"))
    }

    /// The key in DER, in its original format; PKCS#8 if it was generated here.
    pub fn der(&self) -> &[u8] {
        self.pair.serialized_der()
    }

    /// Converts a PKCS#1 or SEC 1 key to PKCS#8.
    ///
    /// # Errors
    /// Fails for unsupported kinds of keys.
    pub(crate) fn wrapped(&self) -> Result<Vec<u8>, String> {
        use pkcs8::der::{Decode as _, Encode as _};
        use pkcs8::spki::SubjectPublicKeyInfoRef;
        let failed = |error: &dyn std::fmt::Display| format!("the key: {error}");
        let public = self.public_key();
        let public = SubjectPublicKeyInfoRef::from_der(&public).map_err(|error| failed(&error))?;
        let inside =
            pkcs8::der::asn1::OctetStringRef::new(self.der()).map_err(|error| failed(&error))?;
        let wrapped = pkcs8::PrivateKeyInfoRef::new(public.algorithm, inside);
        wrapped.to_der().map_err(|error| failed(&error))
    }

    /// The key as PKCS#8, whatever its original format.
    ///
    /// # Errors
    /// Fails for unsupported kinds of keys.
    pub(crate) fn as_pkcs8(&self) -> Result<Vec<u8>, String> {
        use pkcs8::der::Decode as _;
        match pkcs8::PrivateKeyInfoRef::from_der(self.der()) {
            Ok(_) => Ok(self.der().to_vec()),
            Err(_) => self.wrapped(),
        }
    }

    /// SubjectPublicKeyInfo, as in certificates.
    pub fn public_key(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}
