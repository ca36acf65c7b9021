//! TLS settings: trusted certificates, and the configuration of connections.
//!
//! All clients and servers use it: DNS over HTTPS, `/tool/fetch`, remote logs, RADIUS over TLS, tunnels. The router's
//! configuration decides about trust ([`certificate::Trust`]), read when a connection starts.

mod identity;

use std::sync::Arc;

use certificate::{Check, Facts, Trust};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{
    CertificateError, CipherSuite, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    ServerConfig, SignatureScheme, SupportedProtocolVersion,
};

pub use self::identity::{TlsIdentity, certified, identity, identity_of};
use crate::feature::stream::TlsLimits;

/// Returns the TLS configuration for a use in `trust-store`, such as `dns` or `fetch`.
///
/// # Errors
/// A certificate revocation list cannot be read.
pub fn client(trust: &Trust, wanted: &str, check: Check) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match check {
        Check::Nothing => Arc::new(AnyCertificate(Arc::clone(&provider))),
        _ => Arc::new(ConfiguredTrust::new(trust, wanted, check, &provider)?),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

/// Server that a client of this router's own network connects to, such as a RADIUS server.
pub struct PrivateServer<'a> {
    /// Use in `trust-store`: `/certificate` must have the server's certificate or an authority that signed it; public
    /// authorities vouch for no private server. `None` trusts any certificate.
    pub trusted_for: Option<&'a str>,
    /// The certificate must have the server's name. Servers that are configured by address rarely have that.
    pub by_name: bool,
    /// Limits of the session.
    pub limits: TlsLimits,
}

/// Returns the TLS configuration for a private server, with the certificate of this router.
///
/// # Errors
/// The certificate of this router does not fit its key, or a certificate revocation list cannot be read.
pub fn private(
    trust: &Trust,
    identity: Option<TlsIdentity>,
    server: &PrivateServer<'_>,
) -> Result<ClientConfig, String> {
    let provider = provider(server.limits);
    let verifier: Arc<dyn ServerCertVerifier> = match server.trusted_for {
        None => Arc::new(AnyCertificate(Arc::clone(&provider))),
        Some(wanted) => {
            let roots: Vec<_> = trust.own(wanted).cloned().collect();
            let chains = chains(roots.clone(), trust.lists(), Check::Full, &provider)?;
            Arc::new(PrivateTrust {
                trust: ConfiguredTrust {
                    chains,
                    own: roots,
                    provider: Arc::clone(&provider),
                },
                by_name: server.by_name,
            })
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(server.limits))
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match identity {
        Some(identity) => {
            let resolver = Arc::new(SingleCertAndKey::from(identity));
            Ok(builder.with_client_cert_resolver(resolver))
        }
        None => Ok(builder.with_no_client_auth()),
    }
}

/// Returns the TLS configuration of a server of this router. `clients` demands certificates of clients, from an
/// authority of `/certificate` that is trusted for this use.
///
/// # Errors
/// The certificate does not fit its key, or there is no authority for clients.
pub fn server(
    identity: TlsIdentity,
    clients: Option<(&Trust, &str)>,
    limits: TlsLimits,
) -> Result<ServerConfig, String> {
    let provider = provider(limits);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions(limits))
        .map_err(|error| error.to_string())?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some((trust, wanted)) => {
            let mut authorities = RootCertStore::empty();
            let _ = authorities.add_parsable_certificates(trust.own(wanted).cloned());
            if authorities.is_empty() {
                return Err(format!("no certificate is trusted for {wanted}"));
            }
            let lists = trust.lists().iter().cloned();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(authorities.into(), provider)
                    .with_crls(lists.map(CertificateRevocationListDer::from))
                    .allow_unknown_revocation_status()
                    .build();
            builder.with_client_cert_verifier(verifier.map_err(|error| error.to_string())?)
        }
    };
    Ok(builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity))))
}

/// Returns the suites of a session.
fn provider(limits: TlsLimits) -> Arc<CryptoProvider> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    if limits.only_aes256 {
        provider
            .cipher_suites
            .retain(|suite| is_aes256(suite.suite()));
    }
    Arc::new(provider)
}

/// Returns true for suites with AES-256-GCM.
pub const fn is_aes256(suite: CipherSuite) -> bool {
    matches!(
        suite,
        CipherSuite::TLS13_AES_256_GCM_SHA384
            | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
            | CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384
    )
}

/// Returns the versions of a session.
fn versions(limits: TlsLimits) -> &'static [&'static SupportedProtocolVersion] {
    static ONLY_TLS12: &[&SupportedProtocolVersion] = &[&rustls::version::TLS12];
    match limits.only_tls12 {
        true => ONLY_TLS12,
        false => rustls::ALL_VERSIONS,
    }
}

/// Certificate verifier of private servers.
#[derive(Debug)]
struct PrivateTrust {
    trust: ConfiguredTrust,
    by_name: bool,
}

impl ServerCertVerifier for PrivateTrust {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.trust.verify_server_cert(end, between, name, ocsp, now);
        match verified {
            // The chain is verified before the name.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.by_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trust
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trust
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trust.supported_verify_schemes()
    }
}

/// Certificate verifier with the trust of the configuration.
#[derive(Debug)]
struct ConfiguredTrust {
    /// Verifier of chains; `None` without trusted authorities.
    chains: Option<Arc<WebPkiServerVerifier>>,
    /// Directly trusted server certificates, which need no authority.
    own: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ConfiguredTrust {
    fn new(
        trust: &Trust,
        wanted: &str,
        check: Check,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let roots = trust.roots(wanted).cloned().collect();
        Ok(Self {
            chains: chains(roots, trust.lists(), check, provider)?,
            own: trust.own(wanted).cloned().collect(),
            provider: Arc::clone(provider),
        })
    }

    /// Accepts a directly trusted certificate for its names and validity.
    fn itself(
        &self,
        end: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let facts = Facts::read(end).map_err(|_| CertificateError::BadEncoding)?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now < facts.not_before {
            return Err(CertificateError::NotValidYet.into());
        }
        if now > facts.not_after {
            return Err(CertificateError::Expired.into());
        }
        rustls::client::verify_server_name(&ParsedCertificate::try_from(end)?, name)?;
        Ok(ServerCertVerified::assertion())
    }
}

/// Returns a verifier of chains to these authorities; `None` without any. Certificates that cannot be an authority are
/// skipped.
fn chains(
    roots: Vec<CertificateDer<'static>>,
    lists: &[Vec<u8>],
    check: Check,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<WebPkiServerVerifier>>, String> {
    let mut authorities = RootCertStore::empty();
    let _ = authorities.add_parsable_certificates(roots);
    if authorities.is_empty() {
        return Ok(None);
    }
    let (authorities, provider) = (Arc::new(authorities), Arc::clone(provider));
    let builder = WebPkiServerVerifier::builder_with_provider(authorities, provider);
    let lists: Vec<_> = match check {
        Check::Full => { lists.iter().cloned() }
            .map(CertificateRevocationListDer::from)
            .collect(),
        _ => Vec::new(),
    };
    let builder = builder.with_crls(lists).allow_unknown_revocation_status();
    builder.build().map(Some).map_err(|error| error.to_string())
}

impl ServerCertVerifier for ConfiguredTrust {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.own.iter().any(|own| own == end) {
            return self.itself(end, name, now);
        }
        match &self.chains {
            Some(chains) => chains.verify_server_cert(end, between, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        tls12(&self.provider, message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        tls13(&self.provider, message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        schemes(&self.provider)
    }
}

/// Verifier that accepts any certificate whose key the server has.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        tls12(&self.0, message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        tls13(&self.0, message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        schemes(&self.0)
    }
}

fn tls12(
    provider: &CryptoProvider,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let algorithms = &provider.signature_verification_algorithms;
    rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
}

fn tls13(
    provider: &CryptoProvider,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let algorithms = &provider.signature_verification_algorithms;
    rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
}

fn schemes(provider: &CryptoProvider) -> Vec<SignatureScheme> {
    provider
        .signature_verification_algorithms
        .supported_schemes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use certificate::{Authority, Digest, Key, KeySize, Subject, Template, self_signed, signed};

    use super::*;

    const NOW: i64 = 1_795_000_000;

    fn template(name: &str, usages: &[&str]) -> Template {
        Template {
            subject: Subject {
                common_name: name.to_owned(),
                ..Subject::default()
            },
            names: vec![format!("DNS:{name}")],
            usages: usages.iter().map(|usage| (*usage).to_owned()).collect(),
            not_before: NOW,
            days_valid: 1,
            ..Template::default()
        }
    }

    fn verdict(trust: &Trust, check: Check, shown: &[u8], name: &str, at: i64) -> bool {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let known = ConfiguredTrust::new(trust, "fetch", check, &provider).expect("no lists");
        let name = ServerName::try_from(name).expect("a name");
        let at = UnixTime::since_unix_epoch(Duration::from_secs(at as u64));
        let end = CertificateDer::from(shown);
        known.verify_server_cert(&end, &[], &name, &[], at).is_ok()
    }

    #[test]
    fn who_is_signed_by_a_trusted_authority_is_believed() {
        let key = Key::new(KeySize::P256).expect("a key");
        let ca = self_signed(&template("ca", &["key-cert-sign"]), &key).expect("a certificate");
        let authority =
            Authority::new(&ca, key.der().expect("its own"), Digest::Sha256).expect("its own");
        let server = template("host.example", &["digital-signature", "tls-server"]);
        let server = signed(&server, &key, authority).expect("a certificate");
        let mut trust = Trust::new("untrusted");

        let verdict = |trust: &Trust, name, at| verdict(trust, Check::Full, &server, name, at);

        assert!(!verdict(&trust, "host.example", NOW));
        trust.add(&ca, "dns");
        assert!(!verdict(&trust, "host.example", NOW), "for another use");
        trust.add(&ca, "dns,fetch");
        assert!(verdict(&trust, "host.example", NOW));
        assert!(!verdict(&trust, "other.example", NOW));
        assert!(!verdict(&trust, "host.example", NOW + 2 * 86_400));
    }

    #[test]
    fn a_certificate_that_is_itself_trusted_is_accepted() {
        let key = Key::new(KeySize::P256).expect("a key");
        let of = template("host.example", &["key-cert-sign", "tls-server"]);
        let own = self_signed(&of, &key).expect("a certificate");
        let mut trust = Trust::new("untrusted");
        trust.add(&own, "all");

        let verdict = |name, at| verdict(&trust, Check::WithoutLists, &own, name, at);

        assert!(verdict("host.example", NOW));
        assert!(!verdict("other.example", NOW));
        assert!(!verdict("host.example", NOW - 1));
        assert!(!verdict("host.example", NOW + 2 * 86_400));
    }
}
