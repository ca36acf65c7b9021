//! TLS of the services, with a generated certificate by default.
//!
//! RouterOS without a certificate uses anonymous Diffie-Hellman, which authenticates nobody and does not exist
//! in TLS 1.3. This router always has a certificate, by which clients recognise it. A certificate that
//! `/ip/service` names replaces it from the next connection on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::Arc;

use menu::{Item, Store};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use router::drive::streams::TlsLimits;
use router::store::StateFolder;
use router::tls::{self, TlsIdentity};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::config::Service;
use super::stored_secret;

/// File within the state folder with certificate and key.
const FILE: &str = "tls/certificate";

/// The router's own certificate, and TLS parameters of other certificates.
pub(crate) struct Tls {
    any: TlsAcceptor,
    only_tls12: TlsAcceptor,
    made: BTreeMap<String, Made>,
}

/// TLS parameters of an item in `/certificate`.
struct Made {
    of: Arc<Item>,
    /// Number of certificates at that time: new ones may extend the chain.
    among: usize,
    only_tls12: bool,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// Loads the certificate of the state folder, or generates one; without a folder it changes at each start.
    pub(crate) fn new(state: Option<&StateFolder>) -> Result<Self, String> {
        let failed =
            |error: io::Error| format!("the certificate of the router's services: {error}");
        let (certificate, key) = load(state)
            .map_err(|error| format!("the certificate of the router's services: {error}"))?;
        let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
        let chain = chain
            .collect::<Result<Vec<_>, _>>()
            .map_err(invalid)
            .map_err(failed)?;
        let acceptor = |only_tls12| {
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(invalid)?;
            acceptor((chain.clone(), key), only_tls12)
        };
        Ok(Self {
            any: acceptor(false).map_err(failed)?,
            only_tls12: acceptor(true).map_err(failed)?,
            made: BTreeMap::new(),
        })
    }

    /// Returns the TLS parameters of a service; if its certificate is unusable, the router's own and the
    /// reason.
    pub(crate) fn of(&mut self, service: &Service, store: &Store) -> (TlsAcceptor, Option<String>) {
        let own = match service.only_tls12 {
            true => &self.only_tls12,
            false => &self.any,
        };
        let own = own.clone();
        let name = service.certificate.as_str();
        if name.is_empty() {
            self.made.remove(&service.name);
            return (own, None);
        }
        match self.with(service, store) {
            Ok(acceptor) => (acceptor, None),
            Err(why) => {
                self.made.remove(&service.name);
                (
                    own,
                    Some(format!(
                        "certificate {name}: {why}: the router's own certificate is used"
                    )),
                )
            }
        }
    }

    fn with(&mut self, service: &Service, store: &Store) -> Result<TlsAcceptor, String> {
        let item = store.named("certificate", &service.certificate);
        let item = item.ok_or("it does not exist")?;
        let (among, only_tls12) = (store.count(item.menu.path), service.only_tls12);
        if let Some(made) = self.made.get(&service.name)
            && Arc::ptr_eq(&made.of, item)
            && (made.among, made.only_tls12) == (among, only_tls12)
        {
            return Ok(made.acceptor.clone());
        }
        let acceptor = acceptor(tls::identity_of(item, store)?, only_tls12);
        let acceptor = acceptor.map_err(|error| error.to_string())?;
        let made = Made {
            of: Arc::clone(item),
            among,
            only_tls12,
            acceptor: acceptor.clone(),
        };
        self.made.insert(service.name.clone(), made);
        Ok(acceptor)
    }
}

fn acceptor(identity: TlsIdentity, only_tls12: bool) -> io::Result<TlsAcceptor> {
    let limits = TlsLimits {
        only_tls12,
        only_aes256: false,
    };
    let config = tls::server(identity, None, limits);
    let config = config.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Loads certificate and key as PEM from their file.
fn load(state: Option<&StateFolder>) -> Result<(String, String), String> {
    if let Some(state) = state {
        take_over(state).map_err(|error| format!("{}: {error}", state.path.display()))?;
    }
    let both = stored_secret::secret(
        state,
        FILE,
        |both| split(both).is_some(),
        || {
            let (certificate, key) = make().map_err(|error| error.to_string())?;
            Ok((certificate + &key).into_bytes())
        },
    )?;
    split(&both).ok_or_else(|| String::from("there is no key in it"))
}

/// Splits a file into certificate and key.
fn split(both: &[u8]) -> Option<(String, String)> {
    let both = std::str::from_utf8(both).ok()?;
    let at = both.find("-----BEGIN PRIVATE KEY-----")?;
    let (certificate, key) = both.split_at(at);
    let is_whole = CertificateDer::from_pem_slice(certificate.as_bytes()).is_ok()
        && PrivateKeyDer::from_pem_slice(key.as_bytes()).is_ok();
    is_whole.then(|| (certificate.to_owned(), key.to_owned()))
}

/// Migrates the files of earlier versions, which stored the key unencrypted.
fn take_over(state: &StateFolder) -> io::Result<()> {
    let folder = state.path.join("tls");
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
    let (Ok(first), Ok(second)) = (fs::read(&certificate), fs::read(&key)) else {
        return Ok(());
    };
    state.write_secret(FILE, &[first, second].concat())?;
    fs::remove_file(&key)?;
    fs::remove_file(&certificate)
}

/// Generates a certificate and its key as PEM.
fn make() -> io::Result<(String, String)> {
    let key = KeyPair::generate().map_err(invalid)?;
    let mut wanted = CertificateParams::new(vec![String::from("ferroute")]).map_err(invalid)?;
    wanted.distinguished_name = rcgen::DistinguishedName::new();
    wanted
        .distinguished_name
        .push(DnType::CommonName, "ferroute");
    wanted.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // The router's clock may be wrong: the validity must not depend on it.
    wanted.not_before = rcgen::date_time_ymd(2020, 1, 1);
    wanted.not_after = rcgen::date_time_ymd(2049, 12, 31);
    let certificate = wanted.self_signed(&key).map_err(invalid)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use router::store::Key;

    use super::*;

    #[test]
    fn a_router_keeps_its_certificate_and_seals_its_key() {
        let name = format!("ferroute-tls-{}", std::process::id());
        let state = StateFolder {
            path: std::env::temp_dir().join(name),
            key: Key::new([7; 32], "a test"),
        };
        // As earlier versions left it.
        let (certificate, key) = make().expect("a certificate is made");
        let folder = state.path.join("tls");
        fs::create_dir_all(&folder).expect("a new folder");
        fs::write(folder.join("certificate.pem"), &certificate).expect("our file");
        fs::write(folder.join("key.pem"), &key).expect("our file");

        Tls::new(Some(&state)).expect("it is taken over");
        let first = load(Some(&state)).expect("it is kept");
        let second = load(Some(&state)).expect("it is still there");

        let files: Vec<_> = fs::read_dir(&folder)
            .expect("our folder")
            .flatten()
            .collect();
        let clear = files.iter().any(|file| {
            let bytes = fs::read(file.path()).expect("our file");
            bytes.windows(11).any(|bytes| bytes == b"PRIVATE KEY")
        });
        fs::remove_dir_all(&state.path).expect("it was made above");
        assert!(!clear, "{files:?}");
        assert_eq!(first, (certificate, key));
        assert_eq!(first, second);
    }
}
