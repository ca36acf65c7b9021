//! Private keys behind [`Signer`] as signing keys of rustls.

use std::sync::Arc;

use rustls::sign::SigningKey;
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

use crate::config::{NoSignature, Scheme, Signer};
use crate::curve::{half, to_der};
use crate::suite::Hash;

/// TLS signature schemes with their IKE equivalents, best first.
pub(crate) const SCHEMES: [(SignatureScheme, Scheme); 9] = [
    (SignatureScheme::ECDSA_NISTP256_SHA256, Scheme::EcdsaP256),
    (SignatureScheme::ECDSA_NISTP384_SHA384, Scheme::EcdsaP384),
    (SignatureScheme::ECDSA_NISTP521_SHA512, Scheme::EcdsaP521),
    (
        SignatureScheme::RSA_PSS_SHA256,
        Scheme::RsaPss(Hash::Sha256),
    ),
    (
        SignatureScheme::RSA_PSS_SHA384,
        Scheme::RsaPss(Hash::Sha384),
    ),
    (
        SignatureScheme::RSA_PSS_SHA512,
        Scheme::RsaPss(Hash::Sha512),
    ),
    (
        SignatureScheme::RSA_PKCS1_SHA256,
        Scheme::RsaPkcs1(Hash::Sha256),
    ),
    (
        SignatureScheme::RSA_PKCS1_SHA384,
        Scheme::RsaPkcs1(Hash::Sha384),
    ),
    (
        SignatureScheme::RSA_PKCS1_SHA512,
        Scheme::RsaPkcs1(Hash::Sha512),
    ),
];

/// Returns a signing key of rustls that signs by `signer`, which must not answer [`NoSignature::Pending`]. Returns
/// `None` for a key that supports no signature scheme of TLS.
pub fn tls_signing_key(signer: Arc<dyn Signer>) -> Option<Arc<dyn SigningKey>> {
    let algorithm = match is_elliptic(&*signer)? {
        true => SignatureAlgorithm::ECDSA,
        false => SignatureAlgorithm::RSA,
    };
    Some(Arc::new(TlsKey { signer, algorithm }))
}

/// Returns the scheme of IKE that equals a scheme of TLS.
pub(crate) fn scheme_of(scheme: SignatureScheme) -> Option<Scheme> {
    let known = SCHEMES.iter().find(|(tls, _)| *tls == scheme);
    known.map(|(_, scheme)| *scheme)
}

/// Returns whether a key is an elliptic curve key; `None` for a key that supports no signature scheme of TLS.
fn is_elliptic(signer: &dyn Signer) -> Option<bool> {
    let mut can = SCHEMES.iter().filter(|(_, scheme)| signer.can(*scheme));
    can.next().map(|(_, scheme)| half(*scheme).is_some())
}

/// Local private key as a rustls signing key.
struct TlsKey {
    signer: Arc<dyn Signer>,
    algorithm: SignatureAlgorithm,
}

impl std::fmt::Debug for TlsKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TlsKey({:?})", self.algorithm)
    }
}

impl SigningKey for TlsKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn rustls::sign::Signer>> {
        let known = SCHEMES.iter().filter(|(tls, _)| offered.contains(tls));
        let mut known = known.filter(|(_, scheme)| self.signer.can(*scheme));
        known.next().map(|(tls, scheme)| {
            let signer = Arc::clone(&self.signer);
            Box::new(Signing {
                signer,
                tls: *tls,
                scheme: *scheme,
            }) as _
        })
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }
}

/// Local private key with the negotiated scheme.
struct Signing {
    signer: Arc<dyn Signer>,
    tls: SignatureScheme,
    scheme: Scheme,
}

impl std::fmt::Debug for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signing({:?})", self.scheme)
    }
}

impl rustls::sign::Signer for Signing {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let made = match self.signer.sign(self.scheme, message) {
            Ok(made) => made,
            Err(NoSignature::Failed(why)) => return Err(Error::General(why)),
            Err(NoSignature::Pending) => {
                return Err(Error::General(
                    "the private key is in a token, which does not sign for EAP-TLS".into(),
                ));
            }
        };
        match half(self.scheme) {
            Some(half) => to_der(&made, half)
                .ok_or_else(|| Error::General("the private key signs wrongly".into())),
            None => Ok(made),
        }
    }

    fn scheme(&self) -> SignatureScheme {
        self.tls
    }
}
