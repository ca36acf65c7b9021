//! Signatures by private keys, and their verification by certificates, for key exchanges such as IKE.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _, RsaEncoding, RsaKeyPair,
    UnparsedPublicKey, VerificationAlgorithm,
};
use rsa::pkcs1::DecodeRsaPublicKey as _;
use rsa::pkcs8::DecodePrivateKey as _;
use rsa::rand_core::{TryCryptoRng, TryRng};
use rsa::{Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

use crate::Key;
use crate::scheme::{Hash, SignatureScheme};

/// Private key for signatures.
pub struct Signing(Kind);

enum Kind {
    Rsa {
        pair: RsaKeyPair,
        /// Key for schemes that `pair` lacks: SHA-1, and messages without hash.
        old: Box<RsaPrivateKey>,
    },
    Curve(EcdsaKeyPair, SignatureScheme),
}

impl std::fmt::Debug for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signing")
    }
}

/// System random number generator, for blinding the private key operation.
struct System;

impl TryRng for System {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        aws_lc_rs::rand::fill(bytes).expect("the system has random numbers");
        Ok(())
    }
}

impl TryCryptoRng for System {}

impl Signing {
    /// Parses a DER key, as `/certificate` stores it.
    ///
    /// # Errors
    /// Fails for kinds of keys that cannot sign.
    pub fn read(der: &[u8]) -> Result<Self, String> {
        let key = Key::read(der, crate::Digest::Sha256)?;
        let der = key.as_pkcs8()?;
        if let Ok(pair) = RsaKeyPair::from_pkcs8(&der) {
            let old = RsaPrivateKey::from_pkcs8_der(&der);
            let old = Box::new(old.map_err(|error| format!("the key: {error}"))?);
            return Ok(Self(Kind::Rsa { pair, old }));
        }
        let curves: [(&EcdsaSigningAlgorithm, SignatureScheme); 3] = [
            (
                &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
                SignatureScheme::P256,
            ),
            (
                &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
                SignatureScheme::P384,
            ),
            (
                &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
                SignatureScheme::P521,
            ),
        ];
        let mut read = curves.iter().filter_map(|(algorithm, way)| {
            let pair = EcdsaKeyPair::from_pkcs8(algorithm, &der).ok()?;
            Some(Self(Kind::Curve(pair, *way)))
        });
        read.next()
            .ok_or_else(|| String::from("the key is neither RSA nor of a curve that signs here"))
    }

    /// True if the key supports this scheme.
    pub fn can(&self, way: SignatureScheme) -> bool {
        match &self.0 {
            Kind::Rsa { .. } => match way {
                SignatureScheme::RsaPss(hash) => hash != Hash::Sha1,
                way => matches!(way, SignatureScheme::RsaPkcs1(_) | SignatureScheme::RsaRaw),
            },
            Kind::Curve(_, own) => *own == way,
        }
    }

    /// Signs a message; `None` if the key does not support the scheme.
    pub fn sign(&self, way: SignatureScheme, message: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        let (pair, old) = match &self.0 {
            Kind::Curve(pair, own) if *own == way => {
                return Some(pair.sign(&random, message).ok()?.as_ref().to_vec());
            }
            Kind::Curve(..) => return None,
            Kind::Rsa { pair, old } => (pair, old),
        };
        let raw = |text: &[u8]| {
            let padding = Pkcs1v15Sign::new_unprefixed();
            old.sign_with_rng(&mut System, padding, text).ok()
        };
        let encoding: &dyn RsaEncoding = match way {
            SignatureScheme::RsaRaw => return raw(message),
            SignatureScheme::RsaPkcs1(Hash::Sha1) => return raw(&Hash::Sha1.digest_info(message)),
            SignatureScheme::RsaPkcs1(Hash::Sha256) => &signature::RSA_PKCS1_SHA256,
            SignatureScheme::RsaPkcs1(Hash::Sha384) => &signature::RSA_PKCS1_SHA384,
            SignatureScheme::RsaPkcs1(Hash::Sha512) => &signature::RSA_PKCS1_SHA512,
            SignatureScheme::RsaPss(Hash::Sha256) => &signature::RSA_PSS_SHA256,
            SignatureScheme::RsaPss(Hash::Sha384) => &signature::RSA_PSS_SHA384,
            SignatureScheme::RsaPss(Hash::Sha512) => &signature::RSA_PSS_SHA512,
            _ => return None,
        };
        let mut signature = vec![0; pair.public_modulus_len()];
        pair.sign(encoding, &random, message, &mut signature).ok()?;
        Some(signature)
    }

    /// Public key: PKCS #1 for RSA, the point for a curve.
    pub fn public(&self) -> &[u8] {
        match &self.0 {
            Kind::Rsa { pair, .. } => pair.public_key().as_ref(),
            Kind::Curve(pair, _) => pair.public_key().as_ref(),
        }
    }
}

/// Verifies a signature by the key of a certificate.
///
/// # Errors
/// Fails if the signature or the certificate is invalid.
pub fn verify(
    certificate: &[u8],
    way: SignatureScheme,
    message: &[u8],
    made: &[u8],
) -> Result<(), String> {
    let (_, read) = X509Certificate::from_der(certificate)
        .map_err(|error| format!("no certificate: {error}"))?;
    let key = &read.public_key().subject_public_key.data;
    let algorithm: &'static dyn VerificationAlgorithm = match way {
        SignatureScheme::RsaRaw => {
            let key = RsaPublicKey::from_pkcs1_der(key);
            let key = key.map_err(|error| format!("the certificate's key: {error}"))?;
            let verified = key.verify(Pkcs1v15Sign::new_unprefixed(), message, made);
            return verified.map_err(|_| String::from("the signature is wrong"));
        }
        SignatureScheme::RsaPkcs1(Hash::Sha1) => {
            &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY
        }
        SignatureScheme::RsaPkcs1(Hash::Sha256) => &signature::RSA_PKCS1_2048_8192_SHA256,
        SignatureScheme::RsaPkcs1(Hash::Sha384) => &signature::RSA_PKCS1_2048_8192_SHA384,
        SignatureScheme::RsaPkcs1(Hash::Sha512) => &signature::RSA_PKCS1_2048_8192_SHA512,
        SignatureScheme::RsaPss(Hash::Sha256) => &signature::RSA_PSS_2048_8192_SHA256,
        SignatureScheme::RsaPss(Hash::Sha384) => &signature::RSA_PSS_2048_8192_SHA384,
        SignatureScheme::RsaPss(Hash::Sha512) => &signature::RSA_PSS_2048_8192_SHA512,
        SignatureScheme::RsaPss(Hash::Sha1) => {
            return Err(String::from("PSS with SHA-1 is not verified"));
        }
        SignatureScheme::P256 => &signature::ECDSA_P256_SHA256_FIXED,
        SignatureScheme::P384 => &signature::ECDSA_P384_SHA384_FIXED,
        SignatureScheme::P521 => &signature::ECDSA_P521_SHA512_FIXED,
    };
    let verified = UnparsedPublicKey::new(algorithm, key).verify(message, made);
    verified.map_err(|_| String::from("the signature is wrong"))
}
