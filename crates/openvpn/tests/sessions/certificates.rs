//! Certificates and TLS configurations of the tests.

use std::sync::Arc;

use openvpn::TlsConfig;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};

/// A certificate with its key.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: KeyPair,
    pub(crate) pem: String,
}

/// An authority, a server and a client.
pub(crate) struct Certificates {
    pub(crate) authority: Identity,
    pub(crate) server: Identity,
    pub(crate) client: Identity,
}

impl Identity {
    fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }
}

impl Certificates {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let name = |params: &mut CertificateParams, name: &str| {
            params.distinguished_name = rcgen::DistinguishedName::new();
            params
                .distinguished_name
                .push(rcgen::DnType::CommonName, name);
        };
        name(&mut params, "authority");
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("a certificate");
        let signing = KeyPair::try_from(key.serialize_der().as_slice()).expect("a key");
        let issuer = Issuer::new(params, signing);
        let identity = |common: &str| {
            let mut params = CertificateParams::new(vec![common.to_owned()]).expect("parameters");
            name(&mut params, common);
            let key = KeyPair::generate().expect("a key");
            let signed = params.signed_by(&key, &issuer).expect("a certificate");
            Identity {
                certificate: signed.der().clone(),
                pem: signed.pem(),
                key,
            }
        };
        Self {
            server: identity("server"),
            client: identity("client"),
            authority: Identity {
                certificate: own.der().clone(),
                pem: own.pem(),
                key,
            },
        }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.authority.certificate.clone())
            .expect("a root");
        roots
    }

    /// Configuration of a server; `verifies`: it requires certificates of clients.
    pub(crate) fn server_tls(&self, verifies: bool) -> TlsConfig {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .expect("versions");
        let builder = match verifies {
            true => {
                let roots = Arc::new(self.roots());
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
            false => builder.with_no_client_auth(),
        };
        let chain = vec![self.server.certificate.clone()];
        let config = builder.with_single_cert(chain, self.server.private_key());
        TlsConfig::Server(Arc::new(config.expect("a configuration")))
    }

    /// Configuration of a client of these TLS versions, with or without a certificate.
    pub(crate) fn client_tls(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        has_certificate: bool,
    ) -> TlsConfig {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(versions).expect("versions");
        let builder = builder.with_root_certificates(self.roots());
        let mut config = match has_certificate {
            true => {
                let chain = vec![self.client.certificate.clone()];
                let config = builder.with_client_auth_cert(chain, self.client.private_key());
                config.expect("a configuration")
            }
            false => builder.with_no_client_auth(),
        };
        config.enable_sni = false;
        let name = ServerName::try_from("server").expect("a name");
        TlsConfig::Client(Arc::new(config), name)
    }
}
