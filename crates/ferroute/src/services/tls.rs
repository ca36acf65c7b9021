//! TLS of the services: a certificate that the router makes for itself and keeps.
//!
//! RouterOS without a certificate speaks anonymous Diffie-Hellman, in which nobody knows whom they
//! talk to and which TLS 1.3 does not have. Here there is always a certificate: whoever has seen it
//! once can see that it is still the same router.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use router::private::close_to_others;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The folder within the state folder.
const FOLDER: &str = "tls";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

/// The certificate and how it is used.
pub(crate) struct Tls {
    any: TlsAcceptor,
    only_tls12: TlsAcceptor,
}

impl Tls {
    /// The certificate of the state folder, made when it is not there; without a folder it is new
    /// at each start.
    pub(crate) fn new(state: Option<&Path>) -> Result<Self, String> {
        let failed =
            |error: io::Error| format!("the certificate of the router's services: {error}");
        let (certificate, key) = match state.map(|state| state.join(FOLDER)) {
            None => make().map_err(failed)?,
            Some(folder) => match read(&folder) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let made = make().map_err(failed)?;
                    keep(&folder, &made).map_err(failed)?;
                    made
                }
                Err(error) => return Err(failed(error)),
            },
        };
        let acceptor = |versions: &[&'static rustls::SupportedProtocolVersion]| {
            acceptor(&certificate, &key, versions).map_err(failed)
        };
        Ok(Self {
            any: acceptor(rustls::ALL_VERSIONS)?,
            only_tls12: acceptor(&[&rustls::version::TLS12])?,
        })
    }

    /// What answers handshakes.
    pub(crate) fn acceptor(&self, only_tls12: bool) -> TlsAcceptor {
        match only_tls12 {
            true => self.only_tls12.clone(),
            false => self.any.clone(),
        }
    }
}

fn acceptor(
    certificate: &str,
    key: &str,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> io::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(invalid)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(invalid)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(invalid)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(invalid)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn read(folder: &Path) -> io::Result<(String, String)> {
    close_to_others(&folder.join(KEY)).map_err(io::Error::other)?;
    let file = |name| fs::read_to_string(folder.join(name));
    Ok((file(CERTIFICATE)?, file(KEY)?))
}

/// A new certificate and its key, as PEM.
fn make() -> io::Result<(String, String)> {
    let key = KeyPair::generate().map_err(invalid)?;
    let mut wanted = CertificateParams::new(vec![String::from("ferroute")]).map_err(invalid)?;
    wanted.distinguished_name = rcgen::DistinguishedName::new();
    wanted
        .distinguished_name
        .push(DnType::CommonName, "ferroute");
    wanted.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // A router's clock may be far off: what the certificate says of time is not to depend on it.
    wanted.not_before = rcgen::date_time_ymd(2020, 1, 1);
    wanted.not_after = rcgen::date_time_ymd(2049, 12, 31);
    let certificate = wanted.self_signed(&key).map_err(invalid)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// Keeps both; the key is for the router's user alone.
fn keep(folder: &Path, (certificate, key): &(String, String)) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in [(KEY, key), (CERTIFICATE, certificate)] {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(folder.join(name))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_router_keeps_its_certificate() {
        let state = std::env::temp_dir().join(format!("ferroute-tls-{}", std::process::id()));

        Tls::new(Some(&state)).expect("a certificate is made");
        let first = read(&state.join(FOLDER)).expect("it is kept");
        let key = state.join(FOLDER).join(KEY);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("our file");
        Tls::new(Some(&state)).expect("it is read");
        let second = read(&state.join(FOLDER)).expect("it is still there");

        let mode = fs::metadata(&key)
            .expect("it is there")
            .permissions()
            .mode();
        fs::remove_dir_all(&state).expect("it was made above");
        assert_eq!(mode & 0o777, 0o600, "it was read by others");
        assert_eq!(first, second);
    }
}
