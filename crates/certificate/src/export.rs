//! Exports certificates and keys to files: PEM (RFC 7468) and PKCS#12 (RFC 7292).

use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain};
use pem::{EncodeConfig, LineEnding, Pem};
use pkcs8::PrivateKeyInfoRef;
use pkcs8::pkcs5::pbes2;

use crate::{Digest, Key};

/// Key derivation rounds (SHA-256), which make guessing a passphrase expensive.
const ROUNDS: u32 = 100_000;

/// Random bytes for one file.
pub type Random = [u8; 32];

/// Encodes DER as PEM with a label such as `CERTIFICATE`.
pub fn to_pem(label: &str, der: &[u8]) -> String {
    let config = EncodeConfig::new().set_line_ending(LineEnding::LF);
    pem::encode_config(&Pem::new(label, der), config)
}

/// DER of the PEM section with this label, or the file itself if it is not PEM.
pub fn of_pem(label: &str, file: &[u8]) -> Option<Vec<u8>> {
    match pem::parse_many(file) {
        Ok(sections) if !sections.is_empty() => {
            let mut sections = sections.into_iter();
            sections
                .find(|of| of.tag() == label)
                .map(Pem::into_contents)
        }
        _ => Some(file.to_vec()),
    }
}

/// Encrypted private key as PEM. Takes long on purpose.
///
/// # Errors
/// Returns the library's error.
pub fn key_to_pem(key: &[u8], passphrase: &str, random: &Random) -> Result<String, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the key: {error}");
    let pkcs8 = to_pkcs8(key)?;
    let (salt, rest) = random.split_at(16);
    let iv = rest
        .try_into()
        .map_err(|_| String::from("the key: no random numbers"))?;
    let parameters = pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(ROUNDS, salt, iv);
    let parameters = parameters.map_err(|error| failed(&error))?;
    let key = PrivateKeyInfoRef::try_from(pkcs8.as_slice()).map_err(|error| failed(&error))?;
    let sealed = key.encrypt_with_params(parameters, passphrase);
    let sealed = sealed.map_err(|error| failed(&error))?;
    Ok(to_pem("ENCRYPTED PRIVATE KEY", sealed.as_bytes()))
}

/// PKCS#12 file with a certificate, optionally its key, and its chain. Takes long on purpose.
///
/// # Errors
/// Returns the library's error.
pub fn to_pkcs12(
    name: &str,
    chain: &[&[u8]],
    key: Option<&[u8]>,
    passphrase: &str,
) -> Result<Vec<u8>, String> {
    let failed = |error: p12_keystore::error::Error| format!("PKCS#12: {error}");
    let certificates = chain.iter().map(|der| Certificate::from_der(der));
    let certificates = certificates
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let mut store = KeyStore::new();
    match key {
        Some(key) => {
            let key = PrivateKey::from_der(&to_pkcs8(key)?).map_err(failed)?;
            let chain = PrivateKeyChain::new(name, key, certificates);
            store.add_entry(name, KeyStoreEntry::PrivateKeyChain(chain));
        }
        None => {
            for (place, certificate) in certificates.into_iter().enumerate() {
                let alias = if place == 0 {
                    name.to_owned()
                } else {
                    format!("{name}_{place}")
                };
                store.add_entry(&alias, KeyStoreEntry::Certificate(certificate));
            }
        }
    }
    let writer = store
        .writer(passphrase)
        .encryption_iterations(ROUNDS)
        .mac_iterations(ROUNDS);
    writer.write().map_err(failed)
}

/// Converts a key to PKCS#8, whatever its format.
///
/// # Errors
/// Fails if the key is invalid.
pub fn to_pkcs8(key: &[u8]) -> Result<Vec<u8>, String> {
    if PrivateKeyInfoRef::try_from(key).is_ok() {
        return Ok(key.to_vec());
    }
    // PKCS#8 wraps PKCS#1 and SEC 1 (RFC 5958, 2).
    Key::read(key, Digest::default())?.wrapped()
}
