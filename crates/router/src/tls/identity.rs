//! Certificates of this router with their private keys.

use std::sync::Arc;

use certificate::{issued_by, of_text};
use menu::{Item, Store};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::signer::{WaitingSigner, token_key};

/// Maximum length of a certificate chain.
const MAX_CHAIN_LENGTH: usize = 8;

/// Certificate with its issuers, and its private key, which may be in a token.
pub type TlsIdentity = Arc<CertifiedKey>;

/// Joins a chain of certificates and the private key of the first.
///
/// # Errors
/// The key cannot sign, or does not fit the certificate.
pub fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<TlsIdentity, String> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let certified = CertifiedKey::from_der(chain, key, &provider);
    certified.map(Arc::new).map_err(|error| error.to_string())
}

/// Returns the certificate with this name, its issuers, and its private key.
///
/// # Errors
/// The certificate does not exist, is not signed, or has no private key.
pub fn identity(store: &Store, name: &str) -> Result<TlsIdentity, String> {
    let item = store.named("certificate", name);
    let identity = match item {
        Some(item) => identity_of(item, store),
        None => Err(String::from("it does not exist")),
    };
    identity.map_err(|why| format!("certificate {name}: {why}"))
}

/// Returns the certificate of an item of `/certificate`, its issuers, and its private key.
///
/// # Errors
/// The certificate is not signed, or has no private key.
pub fn identity_of(item: &Item, store: &Store) -> Result<TlsIdentity, String> {
    let chain = chain(item, store)?;
    match token_key(item) {
        None => certified(chain, private_key(item)?),
        Some(key) => {
            let key = ike::tls_signing_key(Arc::new(WaitingSigner(key?)));
            let key = key.ok_or("its private key cannot sign for TLS")?;
            Ok(Arc::new(CertifiedKey::new(chain, key)))
        }
    }
}

fn private_key(item: &Item) -> Result<PrivateKeyDer<'static>, String> {
    let key = of_text(item.text("key")).filter(|key| !key.is_empty());
    let key = key.ok_or("its private key is missing")?;
    PrivateKeyDer::try_from(key).map_err(str::to_owned)
}

/// Returns a certificate with its issuers, without a self-signed root, which clients have.
fn chain(item: &Item, store: &Store) -> Result<Vec<CertificateDer<'static>>, String> {
    let first = of_text(item.text("der")).filter(|der| !der.is_empty());
    let first = first.ok_or("it is not signed")?;
    let others = store
        .items(item.menu.path)
        .filter_map(|item| of_text(item.text("der")));
    let others: Vec<_> = others.filter(|der| !der.is_empty()).collect();
    let mut chain = vec![first];
    while let Some(last) = chain.last().filter(|_| chain.len() < MAX_CHAIN_LENGTH) {
        let above = others.iter().find(|der| issued_by(last, der));
        match above.filter(|above| !issued_by(above, above)) {
            Some(above) => chain.push(above.clone()),
            None => break,
        }
    }
    Ok(chain.into_iter().map(CertificateDer::from).collect())
}
