//! Private keys: made, and read in the forms that files have.

use rcgen::{KeyPair, PublicKeyData as _, RsaKeySize, SignatureAlgorithm};
use rustls_pki_types::PrivatePkcs8KeyDer;

/// The size of a key, or its curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySize {
    /// RSA of 2048 bits.
    Rsa2048,
    /// RSA of 4096 bits.
    Rsa4096,
    /// `prime256v1`
    P256,
    /// `secp384r1`
    P384,
    /// `secp521r1`
    P521,
}

/// The hash of a signature by RSA. Those of curves have the one that belongs to the curve.
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
    /// The size that a word of `key-size` says.
    ///
    /// # Errors
    /// Why keys of this size are not made.
    pub fn of(word: &str) -> Result<Self, String> {
        Ok(match word {
            "2048" => Self::Rsa2048,
            "4096" => Self::Rsa4096,
            "prime256v1" => Self::P256,
            "secp384r1" => Self::P384,
            "secp521r1" => Self::P521,
            "1024" | "1536" => {
                return Err(format!(
                    "a key of {word} bits is not safe: take 2048 or more"
                ));
            }
            _ => {
                return Err(format!(
                    "keys of {word} bits are not made here: take 4096 or a curve"
                ));
            }
        })
    }
}

impl Digest {
    /// The hash that a word of `digest-algorithm` says.
    ///
    /// # Errors
    /// It is not safe to sign with.
    pub fn of(word: &str) -> Result<Self, String> {
        Ok(match word {
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            _ => {
                return Err(format!(
                    "{word} is not safe to sign with: take sha256 or more"
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

/// A private key.
pub struct Key {
    pub(crate) pair: KeyPair,
}

impl Key {
    /// Makes a key. One of RSA takes a second, and sometimes several.
    ///
    /// # Errors
    /// What the library says.
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

    /// Reads a key in DER: PKCS#8, PKCS#1 or SEC 1. An RSA key signs with this hash.
    ///
    /// # Errors
    /// It is none, or of a kind that is not known.
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

    /// The key in DER, as it was read or made: PKCS#8 where it was made here.
    pub fn der(&self) -> &[u8] {
        self.pair.serialized_der()
    }

    /// The key as PKCS#8 where it came as PKCS#1 or SEC 1.
    ///
    /// # Errors
    /// There is no kind of key for it.
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

    /// The key as PKCS#8, however it came.
    ///
    /// # Errors
    /// There is no kind of key for it.
    pub(crate) fn as_pkcs8(&self) -> Result<Vec<u8>, String> {
        use pkcs8::der::Decode as _;
        match pkcs8::PrivateKeyInfoRef::from_der(self.der()) {
            Ok(_) => Ok(self.der().to_vec()),
            Err(_) => self.wrapped(),
        }
    }

    /// The public key with its kind, as certificates have it.
    pub fn public_key(&self) -> Vec<u8> {
        self.pair.subject_public_key_info()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}
