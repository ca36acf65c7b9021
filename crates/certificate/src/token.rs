//! Private keys that stay in a cryptographic token, such as a smart card (PKCS #11).
//!
//! ```text
//! sign, import, card-reinstall ──▶ token()   ──▶ dyn Token   (implemented by the crate `token`)
//! TokenKey ── signs by the token ─────▲
//! ```
//! A key is named by its public key: certificates need no other reference to their private key.

use std::sync::{Arc, OnceLock};

use pkcs8::der::asn1::UintRef;
use pkcs8::der::{Decode as _, Encode as _};
use pkcs8::spki::SubjectPublicKeyInfoRef;
use rcgen::{PublicKeyData, SignatureAlgorithm, SigningKey};

use crate::algorithm::{Digest, KeySize};
use crate::scheme::{Hash, SignatureScheme};

/// Work that may wait for the token.
pub type TokenJob = Box<dyn FnOnce() + Send>;

/// Operations of a token. All but [`Token::spawn`] wait for the token, which may take seconds: the threads of packets
/// and of control must not call them. Public keys are SubjectPublicKeyInfo (RFC 5280, 4.1.2.7).
pub trait Token: Send + Sync {
    /// Signs a message by the private key of a public key. Curves return r followed by s.
    ///
    /// # Errors
    /// Why the token does not sign, in words: the token is absent, lacks the key, or gave no answer in time.
    fn sign(
        &self,
        public_key: &[u8],
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Vec<u8>, String>;

    /// Returns for each public key whether the token has its private key.
    ///
    /// # Errors
    /// The token is absent, or gives no answer.
    fn holds(&self, public_keys: &[Vec<u8>]) -> Result<Vec<bool>, String>;

    /// Generates a key pair whose private key never leaves the token, and returns the public key. `label` names it in
    /// the token.
    ///
    /// # Errors
    /// The token is absent, is full, or does not support keys of this size.
    fn generate(&self, size: KeySize, label: &str) -> Result<Vec<u8>, String>;

    /// Checks a PIN, by default the stored PIN, and returns the label of the token.
    ///
    /// # Errors
    /// The token is absent, or the PIN is wrong.
    fn verify(&self, pin: Option<&str>) -> Result<String, String>;

    /// Loads the module again, logs in with a PIN, by default the stored PIN, and stores the PIN. Returns the label of
    /// the token.
    ///
    /// # Errors
    /// The module cannot be loaded, the token is absent, or the PIN is wrong.
    fn reinstall(&self, pin: Option<&str>) -> Result<String, String>;

    /// Runs a job, which may use the token, on a thread made for it.
    ///
    /// # Errors
    /// Too many jobs wait.
    fn spawn(&self, job: TokenJob) -> Result<(), String>;
}

/// PKCS #11 initialises a module once for a process: the token belongs to the process.
static TOKEN: OnceLock<Arc<dyn Token>> = OnceLock::new();

/// Sets the token of this process; the first one stays.
pub fn set_token(token: Arc<dyn Token>) {
    let _ = TOKEN.set(token);
}

/// Returns the token of this process.
///
/// # Errors
/// The router was started without a token.
pub fn token() -> Result<&'static dyn Token, String> {
    let token = TOKEN.get().map(|token| &**token);
    token.ok_or_else(|| {
        String::from(
            "the router has no token: start it with --token-module and the path of a PKCS #11 module",
        )
    })
}

/// Private key in a token.
#[derive(Clone, Debug)]
pub struct TokenKey {
    public_key: Vec<u8>,
    /// Public key without its algorithm: PKCS #1 for RSA, the point for a curve.
    public_bits: Vec<u8>,
    algorithm: &'static SignatureAlgorithm,
    scheme: SignatureScheme,
}

impl TokenKey {
    /// Returns the private key of a public key. RSA keys sign certificates with this hash.
    ///
    /// # Errors
    /// The public key is malformed, or neither RSA nor of a supported curve.
    pub fn new(public_key: &[u8], digest: Digest) -> Result<Self, String> {
        let parsed = SubjectPublicKeyInfoRef::from_der(public_key);
        let parsed = parsed.map_err(|error| format!("the public key: {error}"))?;
        let (algorithm, scheme) = match Curve::of(&parsed) {
            Some(curve) => curve.signatures(),
            None if parsed.algorithm.oid.to_string() == RSA => {
                (digest.of_rsa(), SignatureScheme::RsaPkcs1(digest.hash()))
            }
            None => {
                return Err(String::from(
                    "the key is neither RSA nor of a curve that signs here",
                ));
            }
        };
        Ok(Self {
            public_key: public_key.to_vec(),
            public_bits: parsed.subject_public_key.raw_bytes().to_vec(),
            algorithm,
            scheme,
        })
    }

    /// True if keys of this kind support the scheme.
    pub fn can(&self, scheme: SignatureScheme) -> bool {
        match self.scheme {
            SignatureScheme::RsaPkcs1(_) => match scheme {
                SignatureScheme::RsaPss(hash) => hash != Hash::Sha1,
                scheme => matches!(
                    scheme,
                    SignatureScheme::RsaPkcs1(_) | SignatureScheme::RsaRaw
                ),
            },
            own => own == scheme,
        }
    }

    /// Signs a message; waits for the token. Curves return r followed by s.
    ///
    /// # Errors
    /// Why the token does not sign, in words.
    pub fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, String> {
        token()?.sign(&self.public_key, scheme, message)
    }

    /// Runs a job that may use the token, on the token's thread for such jobs.
    ///
    /// # Errors
    /// The router has no token, or too many jobs wait.
    pub fn spawn(&self, job: TokenJob) -> Result<(), String> {
        token()?.spawn(job)
    }

    /// SubjectPublicKeyInfo of the key.
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }
}

impl PublicKeyData for TokenKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public_bits
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

impl SigningKey for TokenKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let made =
            Self::sign(self, self.scheme, message).map_err(|_| rcgen::Error::RemoteKeyError)?;
        match self.scheme {
            SignatureScheme::P256 | SignatureScheme::P384 | SignatureScheme::P521 => {
                ecdsa_der(&made).ok_or(rcgen::Error::RemoteKeyError)
            }
            _ => Ok(made),
        }
    }
}

/// Encodes an ECDSA signature, r followed by s, in DER (RFC 3279, 2.2.3).
fn ecdsa_der(signature: &[u8]) -> Option<Vec<u8>> {
    let (r, s) = signature.split_at_checked(signature.len() / 2)?;
    let numbers = [UintRef::new(r).ok()?, UintRef::new(s).ok()?];
    numbers.to_vec().to_der().ok()
}

/// Object identifiers of public keys (RFC 8017, appendix C; RFC 5480, 2.1.1).
const RSA: &str = "1.2.840.113549.1.1.1";
const ELLIPTIC: &str = "1.2.840.10045.2.1";

/// Curve of a public key.
#[derive(Clone, Copy)]
enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    fn of(key: &SubjectPublicKeyInfoRef<'_>) -> Option<Self> {
        let parameters = key.algorithm.parameters?;
        if key.algorithm.oid.to_string() != ELLIPTIC {
            return None;
        }
        let curve: pkcs8::ObjectIdentifier = parameters.decode_as().ok()?;
        match curve.to_string().as_str() {
            "1.2.840.10045.3.1.7" => Some(Self::P256),
            "1.3.132.0.34" => Some(Self::P384),
            "1.3.132.0.35" => Some(Self::P521),
            _ => None,
        }
    }

    const fn signatures(self) -> (&'static SignatureAlgorithm, SignatureScheme) {
        match self {
            Self::P256 => (&rcgen::PKCS_ECDSA_P256_SHA256, SignatureScheme::P256),
            Self::P384 => (&rcgen::PKCS_ECDSA_P384_SHA384, SignatureScheme::P384),
            Self::P521 => (&rcgen::PKCS_ECDSA_P521_SHA512, SignatureScheme::P521),
        }
    }
}
