//! TLS of OpenVPN's control channel, with certificates of `/certificate`. Names in certificates are not compared: an
//! OpenVPN server is trusted by its authority alone.

use std::sync::Arc;

use certificate::{Trust, issued_by, of_text};
use menu::{Item, Store};
use openvpn::TlsConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

/// Menu of certificates.
pub(super) const CERTIFICATE: &str = "/certificate";
/// Use for which an authority must be trusted.
const USE: &str = "ovpn";
/// Longest chain of certificates that is sent.
const MAX_CHAIN: usize = 8;
/// Name of a server: it is neither sent nor compared.
const SERVER_NAME: &str = "openvpn";

/// Returns the TLS configuration of a server.
///
/// # Errors
/// The certificate is missing, not signed, or has no private key, or no authority is trusted.
pub(super) fn server(
    store: &Store,
    certificate: &str,
    requires_client: bool,
    only_tls12: bool,
) -> Result<TlsConfig, String> {
    let (chain, key) = identity(store, certificate)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions(only_tls12))
        .map_err(text)?;
    let builder = match requires_client {
        true => {
            let roots = Arc::new(roots(store)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build().map_err(|error| error.to_string())?)
        }
        false => builder.with_no_client_auth(),
    };
    let config = builder.with_single_cert(chain, key).map_err(text)?;
    Ok(TlsConfig::Server(Arc::new(config)))
}

/// Returns the TLS configuration of a client. `certificate` is its own; empty without one.
///
/// # Errors
/// The certificate is missing, not signed, or has no private key, or no authority is trusted.
pub(super) fn client(
    store: &Store,
    certificate: &str,
    verifies: bool,
    only_tls12: bool,
) -> Result<TlsConfig, String> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(Verifier {
        provider: Arc::clone(&provider),
        roots: verifies.then(|| roots(store)).transpose()?,
    });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(only_tls12))
        .map_err(text)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match certificate {
        "" => builder.with_no_client_auth(),
        name => {
            let (chain, key) = identity(store, name)?;
            builder.with_client_auth_cert(chain, key).map_err(text)?
        }
    };
    config.enable_sni = false;
    let name = ServerName::try_from(SERVER_NAME).map_err(|error| error.to_string())?;
    Ok(TlsConfig::Client(Arc::new(config), name))
}

/// The versions of `tls-version=only-1.2`.
static ONLY_TLS12: [&SupportedProtocolVersion; 1] = [&rustls::version::TLS12];

fn versions(only_tls12: bool) -> &'static [&'static SupportedProtocolVersion] {
    match only_tls12 {
        true => &ONLY_TLS12,
        false => rustls::ALL_VERSIONS,
    }
}

fn text(error: Error) -> String {
    error.to_string()
}

/// Returns the authorities that are trusted for OpenVPN (`trusted`, `trust-store`).
fn roots(store: &Store) -> Result<RootCertStore, String> {
    let mut trust = Trust::new("untrusted");
    for item in store.items(CERTIFICATE).filter(|item| item.is("trusted")) {
        let uses = item.get("trust-store").map(ToString::to_string);
        if let Some(der) = der(item) {
            trust.add(&der, &uses.unwrap_or_default());
        }
    }
    let mut roots = RootCertStore::empty();
    for authority in trust.own(USE) {
        // A certificate that cannot be an authority is left out.
        let _ = roots.add(authority.clone());
    }
    match roots.is_empty() {
        true => Err("no certificate is trusted for OpenVPN".to_owned()),
        false => Ok(roots),
    }
}

fn der(item: &Item) -> Option<Vec<u8>> {
    of_text(item.text("der")).filter(|der| !der.is_empty())
}

/// A chain of certificates, and the private key of the first.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Returns the certificate of this name with its issuers, and its private key.
fn identity(store: &Store, name: &str) -> Result<Identity, String> {
    let item = store.named("certificate", name);
    let item = item.ok_or_else(|| format!("certificate {name} does not exist"))?;
    let first = der(item).ok_or_else(|| format!("certificate {name} is not signed"))?;
    let key = of_text(item.text("key")).filter(|key| !key.is_empty());
    let key = key.ok_or_else(|| format!("certificate {name} has no private key"))?;
    let key = PrivateKeyDer::try_from(key).map_err(str::to_owned)?;
    let all: Vec<Vec<u8>> = { store.items(CERTIFICATE) }
        .filter_map(|item| der(item))
        .collect();
    let mut chain = vec![first];
    while let Some(last) = chain.last()
        && chain.len() < MAX_CHAIN
    {
        let issuer = all.iter().find(|der| issued_by(last, der));
        match issuer.filter(|issuer| !issued_by(issuer, issuer)) {
            Some(issuer) => chain.push(issuer.clone()),
            None => break,
        }
    }
    Ok((chain.into_iter().map(CertificateDer::from).collect(), key))
}

/// Verifies a server's certificate by its authority; without authorities accepts any certificate, whose key must still
/// sign the handshake (RouterOS: `verify-server-certificate=no`).
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let end = ParsedCertificate::try_from(end)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&end, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
