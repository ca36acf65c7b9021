//! Certificates and private keys out of a file: PEM (RFC 7468), DER, PKCS#12 (RFC 7292).
//!
//! Files are whoever's: everything in them is bounded, and what cannot be read or opened is counted.

use p12_keystore::Pkcs12Archive;
use pkcs8::EncryptedPrivateKeyInfoRef;
use pkcs8::pkcs5::EncryptionScheme;
use pkcs8::pkcs5::pbes2::{self, Kdf};

use crate::facts::parse;
use crate::pbes1::Sealed;
use crate::{Digest, Facts, Key};

/// The largest file.
pub const FILE_BYTES: usize = 4 << 20;
/// Certificates and keys that one file may have.
const PIECES: usize = 1_000;
/// Rounds that guessing a passphrase may cost us.
const ROUNDS: u32 = 5_000_000;

/// Why a piece is not opened.
const WRONG: &str = "the passphrase is wrong";
const OLD_PEM: &str =
    "a key is encrypted by the old headers of PEM (DEK-Info): convert it by openssl pkcs8 -topk8";

/// What was in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Certificates in DER, each with its private key in DER if that was there, too.
    pub certificates: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Keys of no certificate of the file, in DER.
    pub keys: Vec<Vec<u8>>,
    /// What the passphrase does not open.
    pub not_opened: usize,
    /// Why the first of them was not opened.
    pub why: Option<String>,
}

/// Reads a file.
///
/// # Errors
/// It is too large, or nothing of it is a certificate or a private key.
pub fn read(file: &[u8], passphrase: &str) -> Result<Found, String> {
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
    /// Counts a piece that is not opened.
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
                // What is encrypted in the old way has headers, and no DER behind them.
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
            // What begins as PKCS#12 does (RFC 7292, 4: version 3) is named as such.
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

    /// Gives each key to the certificate whose public key it has.
    fn matched(self) -> Result<Found, String> {
        let mut found = Found {
            not_opened: self.not_opened,
            why: self.why,
            ..Found::default()
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

/// The key that is encrypted by a passphrase (RFC 5958, 3).
///
/// # Errors
/// Why it is not opened.
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

/// Whether opening it costs no more than we are ready to spend: a file may ask for any number of rounds.
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
