//! Certificates of this router with their private keys.

use certificate::{issued_by, of_text};
use menu::{Item, Store};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Maximum length of a certificate chain.
const MAX_CHAIN_LENGTH: usize = 8;

/// Certificate with its issuers, and its private key.
pub type TlsIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

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
    Ok((chain(item, store)?, private_key(item)?))
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
