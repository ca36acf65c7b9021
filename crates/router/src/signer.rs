//! Private keys of `/certificate` as signers of IKE and TLS.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use certificate::{Digest, Facts, Hash, SignatureScheme, Signing, TokenKey, of_text};
use ike::{NoSignature, Scheme, Signer};
use menu::Item;

/// Maximum number of signatures that a key in a token makes at once.
const MAX_SIGNATURES: usize = 256;

/// Maps a signature scheme of IKE to one of the certificate library.
pub(crate) fn certificate_scheme(scheme: Scheme) -> Option<SignatureScheme> {
    let hash = |hash| {
        Some(match hash {
            ike::Hash::Md5 => return None,
            ike::Hash::Sha1 => Hash::Sha1,
            ike::Hash::Sha256 => Hash::Sha256,
            ike::Hash::Sha384 => Hash::Sha384,
            ike::Hash::Sha512 => Hash::Sha512,
        })
    };
    Some(match scheme {
        Scheme::RsaPkcs1(of) => SignatureScheme::RsaPkcs1(hash(of)?),
        Scheme::RsaPss(of) => SignatureScheme::RsaPss(hash(of)?),
        Scheme::RsaRaw => SignatureScheme::RsaRaw,
        Scheme::EcdsaP256 => SignatureScheme::P256,
        Scheme::EcdsaP384 => SignatureScheme::P384,
        Scheme::EcdsaP521 => SignatureScheme::P521,
    })
}

/// Returns the key in the token of an item of `/certificate`; `None` if the item's key is not there.
pub(crate) fn token_key(item: &Item) -> Option<Result<TokenKey, String>> {
    if !item.is("card-key") {
        return None;
    }
    let certificate = of_text(item.text("der")).unwrap_or_default();
    let facts = Facts::read(&certificate);
    Some(facts.and_then(|facts| TokenKey::new(&facts.public_key, Digest::default())))
}

/// Returns a signer for the control thread, which never waits: a key in a token answers [`NoSignature::Pending`] first.
///
/// # Errors
/// The item has no private key, or the key cannot sign.
pub(crate) fn signer(item: &Item) -> Result<Arc<dyn Signer>, String> {
    if let Some(key) = token_key(item) {
        return Ok(Arc::new(QueuedSigner::new(key?)));
    }
    let key = of_text(item.text("key")).filter(|key| !key.is_empty());
    let key = key.ok_or("its private key is missing")?;
    Ok(Arc::new(StoredKey(Signing::read(&key)?)))
}

/// A private key of the store.
struct StoredKey(Signing);

impl Signer for StoredKey {
    fn can(&self, scheme: Scheme) -> bool {
        certificate_scheme(scheme).is_some_and(|scheme| self.0.can(scheme))
    }

    fn sign(&self, scheme: Scheme, message: &[u8]) -> Result<Vec<u8>, NoSignature> {
        let made = certificate_scheme(scheme).and_then(|scheme| self.0.sign(scheme, message));
        made.ok_or_else(unsupported)
    }
}

fn unsupported() -> NoSignature {
    NoSignature::Failed(String::from("the private key does not support the scheme"))
}

/// A private key in a token, for threads that may wait.
pub(crate) struct WaitingSigner(pub(crate) TokenKey);

impl Signer for WaitingSigner {
    fn can(&self, scheme: Scheme) -> bool {
        certificate_scheme(scheme).is_some_and(|scheme| self.0.can(scheme))
    }

    fn sign(&self, scheme: Scheme, message: &[u8]) -> Result<Vec<u8>, NoSignature> {
        let scheme = certificate_scheme(scheme).ok_or_else(unsupported)?;
        self.0.sign(scheme, message).map_err(NoSignature::Failed)
    }
}

/// Signatures by hash of scheme and message; `None` while the token signs.
type Signatures = BTreeMap<Vec<u8>, Option<Result<Vec<u8>, String>>>;

/// A private key in a token, for the control thread: the token signs on its own thread.
struct QueuedSigner {
    key: TokenKey,
    signatures: Arc<Mutex<Signatures>>,
}

impl QueuedSigner {
    fn new(key: TokenKey) -> Self {
        Self {
            key,
            signatures: Arc::default(),
        }
    }

    fn begin(
        &self,
        scheme: SignatureScheme,
        message: &[u8],
        number: Vec<u8>,
    ) -> Result<(), String> {
        let (key, message) = (self.key.clone(), message.to_vec());
        let signatures = Arc::clone(&self.signatures);
        self.key.spawn(Box::new(move || {
            let made = key.sign(scheme, &message);
            let mut signatures = signatures.lock().unwrap_or_else(PoisonError::into_inner);
            signatures.insert(number, Some(made));
        }))
    }
}

impl Signer for QueuedSigner {
    fn can(&self, scheme: Scheme) -> bool {
        certificate_scheme(scheme).is_some_and(|scheme| self.key.can(scheme))
    }

    fn sign(&self, scheme: Scheme, message: &[u8]) -> Result<Vec<u8>, NoSignature> {
        let named = certificate_scheme(scheme).ok_or_else(unsupported)?;
        let number = Hash::Sha256.digest(&[format!("{scheme:?}").as_bytes(), message].concat());
        let mut signatures = self
            .signatures
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match signatures.get(&number) {
            Some(None) => return Err(NoSignature::Pending),
            Some(Some(_)) => {
                let made = signatures
                    .remove(&number)
                    .flatten()
                    .ok_or(NoSignature::Pending)?;
                return made.map_err(NoSignature::Failed);
            }
            None => {}
        }
        if signatures.len() >= MAX_SIGNATURES {
            // Made for SAs that ended before.
            signatures.retain(|_, made| made.is_none());
        }
        if signatures.len() >= MAX_SIGNATURES {
            let why = format!("{MAX_SIGNATURES} signatures wait for the token");
            return Err(NoSignature::Failed(why));
        }
        self.begin(named, message, number.clone())
            .map_err(NoSignature::Failed)?;
        signatures.insert(number, None);
        Err(NoSignature::Pending)
    }
}
