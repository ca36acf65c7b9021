//! Imports certificates and private keys from a file: PEM (RFC 7468), DER, PKCS#12 (RFC 7292).
//!
//! Files are not trusted: all sizes are bounded, and parts that cannot be parsed or decrypted are counted.

use std::collections::BTreeSet;

use p12_keystore::Pkcs12Archive;
use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::{self, Kdf};

use crate::facts::parse;
use crate::pbes1::Sealed;
use crate::{Digest, Facts, Key};

/// Maximum file size.
pub const FILE_BYTES: usize = 4 << 20;
/// Maximum number of certificates and keys in a file.
const PIECES: usize = 1_000;
/// Maximum number of key derivation rounds.
const ROUNDS: u32 = 5_000_000;

/// Reasons why a part is not decrypted.
const WRONG: &str = "the passphrase is wrong";
const OLD_PEM: &str =
    "a key is encrypted by the old headers of PEM (DEK-Info): convert it by openssl pkcs8 -topk8";

/// Contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedFile {
    /// Certificates in DER, each with its private key in DER if the file has it.
    pub certificates: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Keys without a certificate in the file, in DER.
    pub keys: Vec<Vec<u8>>,
    /// Number of parts that were not decrypted.
    pub not_opened: usize,
    /// Why the first of them was not decrypted.
    pub why: Option<String>,
    /// Places in `certificates` of those whose key is in the token; set by the caller.
    pub in_token: BTreeSet<usize>,
}

/// Parses a file.
///
/// # Errors
/// Fails if the file is too large or contains neither certificate nor private key.
pub fn read(file: &[u8], passphrase: &str) -> Result<ImportedFile, String> {
    if file.len() > FILE_BYTES {
        return Err(format!("the file has more than {} MiB", FILE_BYTES >> 20));
    }
    let mut pieces = Pieces::default();
    if file.windows(10).any(|part| part == b"-----BEGIN") {
        pieces.read_pem(file, passphrase)?;
    } else if parse(file).is_ok() {
        pieces.certificates.push(file.to_vec());
    } else if Key::read(file, Digest::default()).is_ok() {
        pieces.keys.push(file.to_vec());
    } else {
        pieces.read_pkcs12(file, passphrase)?;
    }
    pieces.matched()
}

#[derive(Default)]
struct Pieces {
    certificates: Vec<Vec<u8>>,
    keys: Vec<Vec<u8>>,
    not_opened: usize,
    why: Option<String>,
}

impl Pieces {
    /// Counts a part that is not decrypted.
    fn fail(&mut self, why: impl Into<String>) {
        self.not_opened += 1;
        self.why.get_or_insert(why.into());
    }

    fn read_pem(&mut self, file: &[u8], passphrase: &str) -> Result<(), String> {
        let sections =
            pem::parse_many(file).map_err(|error| format!("the PEM is damaged: {error}"))?;
        if sections.len() > PIECES {
            return Err(too_many());
        }
        for section in sections {
            match section.tag() {
                "CERTIFICATE" => self.certificates.push(section.into_contents()),
                "ENCRYPTED PRIVATE KEY" => match opened(section.contents(), passphrase) {
                    Ok(key) => self.keys.push(key),
                    Err(why) => self.fail(why),
                },
                // Keys encrypted in the old format have PEM headers and contents that are not DER.
                "RSA PRIVATE KEY" | "EC PRIVATE KEY" | "PRIVATE KEY" => {
                    match Key::read(section.contents(), Digest::default()) {
                        Ok(_) => self.keys.push(section.into_contents()),
                        Err(_) => self.fail(OLD_PEM),
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_pkcs12(&mut self, file: &[u8], passphrase: &str) -> Result<(), String> {
        let archive = match Pkcs12Archive::from_pkcs12(file, passphrase) {
            Ok(archive) => archive,
            Err(p12_keystore::error::Error::MacError(_)) => {
                self.fail(WRONG);
                return Ok(());
            }
            // Recognizes PKCS#12 (RFC 7292, 4: version 3) for a better message.
            Err(error)
                if file
                    .get(..16)
                    .is_some_and(|head| head.windows(3).any(|of| of == [2, 1, 3])) =>
            {
                return Err(format!("the PKCS#12 is not read: {error}"));
            }
            Err(_) => {
                return Err(String::from(
                    "there is neither a certificate nor a private key in it",
                ));
            }
        };
        if archive.certs.len() + archive.keys.len() > PIECES {
            return Err(too_many());
        }
        let certificates = archive.certs.iter().map(|of| of.cert.as_der().to_vec());
        self.certificates.extend(certificates);
        let keys = archive.keys.iter().map(|of| of.key.as_der().to_vec());
        self.keys.extend(keys);
        Ok(())
    }

    /// Matches each key to the certificate with its public key.
    fn matched(self) -> Result<ImportedFile, String> {
        let mut found = ImportedFile {
            not_opened: self.not_opened,
            why: self.why,
            ..ImportedFile::default()
        };
        for der in self.certificates {
            if found.certificates.iter().all(|(known, _)| *known != der) {
                found.certificates.push((der, None));
            }
        }
        let public = |der: &[u8]| Facts::read(der).map(|facts| facts.public_key);
        let publics = found.certificates.iter().map(|(der, _)| public(der));
        let publics = publics.collect::<Result<Vec<_>, _>>()?;
        for key in self.keys {
            let own = Key::read(&key, Digest::default())?.public_key();
            match publics.iter().position(|public| *public == own) {
                Some(place) => found.certificates[place].1 = Some(key),
                None => found.keys.push(key),
            }
        }
        match found.certificates.is_empty() && found.keys.is_empty() && found.not_opened == 0 {
            true => Err(String::from(
                "there is neither a certificate nor a private key in it",
            )),
            false => Ok(found),
        }
    }
}

fn too_many() -> String {
    format!("the file has more than {PIECES} certificates and keys")
}

/// Decrypts a private key with a passphrase (RFC 5958, 3).
///
/// # Errors
/// Returns why the key was not decrypted.
fn opened(der: &[u8], passphrase: &str) -> Result<Vec<u8>, String> {
    if let Some(sealed) = Sealed::read(der) {
        if sealed.rounds > ROUNDS {
            return Err(too_dear());
        }
        return sealed.open(passphrase).ok_or_else(|| WRONG.to_owned());
    }
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(der);
    let encrypted =
        encrypted.map_err(|error| format!("the key's encryption is unknown: {error}"))?;
    let EncryptionScheme::Pbes2(parameters) = &encrypted.encryption_algorithm else {
        return Err("the key's encryption is neither PBES2 nor PBES1 with DES".to_owned());
    };
    if !is_cheap(parameters) {
        return Err(too_dear());
    }
    let key = encrypted
        .decrypt(passphrase)
        .map_err(|_| WRONG.to_owned())?;
    Ok(key.as_bytes().to_vec())
}

fn too_dear() -> String {
    format!("to open the key takes more than {ROUNDS} rounds")
}

/// True if decryption stays below the cost limit; a file may ask for any number of rounds.
fn is_cheap(parameters: &pbes2::Parameters) -> bool {
    match &parameters.kdf {
        Kdf::Pbkdf2(pbkdf2) => pbkdf2.iteration_count <= ROUNDS,
        // 64 MiB (RFC 7914, 2: 128 * N * r bytes).
        Kdf::Scrypt(scrypt) => {
            let (cost, block) = (scrypt.cost_parameter, u64::from(scrypt.block_size));
            cost.saturating_mul(block) <= 1 << 19 && scrypt.parallelization <= 4
        }
        _ => false,
    }
}
