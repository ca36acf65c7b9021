//! Private keys: generation, and parsing of their file formats.

use rcgen::{KeyPair, PublicKeyData, RsaKeySize, SignatureAlgorithm, SigningKey};
use rustls_pki_types::PrivatePkcs8KeyDer;

use crate::algorithm::{Digest, KeySize};
use crate::token::TokenKey;

/// Error of operations that need the private key itself.
const IN_TOKEN: &str = "the private key is in a token, which does not give it away";

/// Private key.
pub struct Key(Kind);

enum Kind {
    Pair(KeyPair),
    Token(TokenKey),
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
        pair.map(|pair| Self(Kind::Pair(pair)))
            .map_err(|error| format!("the key: {error}"))
    }

    /// Parses a DER key: PKCS#8, PKCS#1 or SEC 1. An RSA key signs with this hash.
    ///
    /// # Errors
    /// Fails for malformed or unknown keys.
    pub fn read(der: &[u8], digest: Digest) -> Result<Self, String> {
        let pair = KeyPair::try_from(der).map_err(|error| format!("no private key: {error}"))?;
        if digest == Digest::Sha256 || *pair.algorithm() != rcgen::PKCS_RSA_SHA256 {
            return Ok(Self(Kind::Pair(pair)));
        }
        let pkcs8 = PrivatePkcs8KeyDer::from(pair.serialize_der());
        let pair = KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, digest.of_rsa());
        pair.map(|pair| Self(Kind::Pair(pair)))
            .map_err(|error| format!("no private key: {error}"))
    }

    /// Returns a key that stays in a token.
    pub const fn in_token(key: TokenKey) -> Self {
        Self(Kind::Token(key))
    }

    /// The key in DER, in its original format; PKCS#8 if it was generated here. `None` for a key in a token.
    pub fn der(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Pair(pair) => Some(pair.serialized_der()),
            Kind::Token(_) => None,
        }
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
        let der = self.der().ok_or(IN_TOKEN)?;
        let inside = pkcs8::der::asn1::OctetStringRef::new(der).map_err(|error| failed(&error))?;
        let wrapped = pkcs8::PrivateKeyInfoRef::new(public.algorithm, inside);
        wrapped.to_der().map_err(|error| failed(&error))
    }

    /// The key as PKCS#8, whatever its original format.
    ///
    /// # Errors
    /// Fails for unsupported kinds of keys.
    pub(crate) fn as_pkcs8(&self) -> Result<Vec<u8>, String> {
        use pkcs8::der::Decode as _;
        let der = self.der().ok_or(IN_TOKEN)?;
        match pkcs8::PrivateKeyInfoRef::from_der(der) {
            Ok(_) => Ok(der.to_vec()),
            Err(_) => self.wrapped(),
        }
    }

    /// SubjectPublicKeyInfo, as in certificates.
    pub fn public_key(&self) -> Vec<u8> {
        self.subject_public_key_info()
    }
}

impl PublicKeyData for Key {
    fn der_bytes(&self) -> &[u8] {
        match &self.0 {
            Kind::Pair(pair) => pair.der_bytes(),
            Kind::Token(key) => key.der_bytes(),
        }
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match &self.0 {
            Kind::Pair(pair) => pair.algorithm(),
            Kind::Token(key) => key.algorithm(),
        }
    }
}

impl SigningKey for Key {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match &self.0 {
            Kind::Pair(pair) => pair.sign(message),
            Kind::Token(key) => SigningKey::sign(key, message),
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}
