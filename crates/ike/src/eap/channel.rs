//! TLS client over a message transport: rustls does the handshake, [`crate::Signer`] signs, [`Verifier`] checks the
//! server.

use std::io::{Cursor, Read as _};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    ProtocolVersion, SignatureScheme,
};

use crate::config::{Certified, Secret, Verifier};
use crate::curve::{half, of_der};
use crate::tls_key::{SCHEMES, scheme_of, tls_signing_key};

/// Bytes that TLS exports, and leading bytes of them that become the session key (RFC 5216, 2.3).
const EXPORTED_BYTES: usize = 128;
const SESSION_KEY_BYTES: usize = 64;
/// Exporter labels: up to TLS 1.2 (RFC 5216, 2.3), and for TLS 1.3 (RFC 9190, 2.3) with the EAP type as
/// context.
const LABEL: &[u8] = b"client EAP encryption";
const LABEL_1_3: &[u8] = b"EXPORTER_EAP_TLS_Key_Material";
const CONTEXT_1_3: &[u8] = &[13];

/// Protected success indication of a TLS 1.3 server (RFC 9190, 2.5).
const SUCCESS_INDICATION: &[u8] = &[0];
/// Maximum application data to read per message of the server.
const MAX_APPLICATION_BYTES: u64 = 64;

/// TLS connection of an EAP-TLS client.
pub(super) struct Channel {
    connection: ClientConnection,
    judge: Arc<Judge>,
    /// Application data of the server; only the success indication is valid.
    said: Vec<u8>,
}

impl Channel {
    /// Creates a client with a certificate.
    ///
    /// # Errors
    /// Certificate or key cannot be used for TLS.
    pub(super) fn new(certified: &Certified) -> Result<Self, String> {
        let own = Arc::new(
            ClientCertificate::new(certified).ok_or("the certificate cannot be used for TLS")?,
        );
        let judge = Arc::new(Judge {
            verifier: Arc::clone(&certified.verifier),
            chain: Mutex::default(),
            refusal: Mutex::default(),
        });
        let verifier: Arc<dyn ServerCertVerifier> = Arc::clone(&judge) as _;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(own);
        // The server has no name here, and each login runs a full handshake.
        config.enable_sni = false;
        config.resumption = rustls::client::Resumption::disabled();
        let name = ServerName::try_from("eap").map_err(|error| error.to_string())?;
        let connection = ClientConnection::new(Arc::new(config), name);
        let connection = connection.map_err(|error| error.to_string())?;
        Ok(Self {
            connection,
            judge,
            said: Vec::new(),
        })
    }

    /// Processes TLS records of the server and returns the records to send.
    ///
    /// # Errors
    /// The server's certificate is rejected, or its records are malformed.
    pub(super) fn exchange(&mut self, mut records: &[u8]) -> Result<Vec<u8>, String> {
        while !records.is_empty() {
            let read = self.connection.read_tls(&mut records);
            if read.map_err(|error| error.to_string())? == 0 {
                break;
            }
            if let Err(error) = self.connection.process_new_packets() {
                return Err(self.judge.take_refusal().unwrap_or_else(|| explain(&error)));
            }
            let mut said = self.connection.reader().take(MAX_APPLICATION_BYTES);
            // The reader reports the end of the available data as an error.
            let _ = said.read_to_end(&mut self.said);
        }
        let mut out = Cursor::new(Vec::new());
        while self.connection.wants_write() {
            let written = self.connection.write_tls(&mut out);
            written.map_err(|error| error.to_string())?;
        }
        Ok(out.into_inner())
    }

    /// Returns the session key (MSK, 64 bytes); `None` before the end of the handshake and, with TLS 1.3, before the
    /// protected success indication of the server (RFC 9190, 2.5).
    pub(super) fn key(&self) -> Option<Secret> {
        if self.connection.is_handshaking() {
            return None;
        }
        let (label, context) = match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_3 if self.said != SUCCESS_INDICATION => return None,
            ProtocolVersion::TLSv1_3 => (LABEL_1_3, Some(CONTEXT_1_3)),
            _ => (LABEL, None),
        };
        let exported = self
            .connection
            .export_keying_material([0; EXPORTED_BYTES], label, context);
        Some(Secret::new(&exported.ok()?[..SESSION_KEY_BYTES]))
    }
}

/// Translates a TLS error for the administrator.
fn explain(error: &Error) -> String {
    match error {
        Error::AlertReceived(AlertDescription::UnknownCA) => {
            "the server does not know the authority of this router's certificate".into()
        }
        Error::AlertReceived(alert) => format!("the server refused the login ({alert:?})"),
        other => other.to_string(),
    }
}

/// Local certificate and key.
#[derive(Debug)]
struct ClientCertificate(Arc<CertifiedKey>);

impl ClientCertificate {
    fn new(certified: &Certified) -> Option<Self> {
        let chain = certified.chain.iter().cloned().map(CertificateDer::from);
        let key = tls_signing_key(Arc::clone(&certified.signer))?;
        Some(Self(Arc::new(CertifiedKey::new(chain.collect(), key))))
    }
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// Verifies the server's certificate. [`Verifier`] needs chain and signature together: the chain waits for the
/// signature.
struct Judge {
    verifier: Arc<dyn Verifier>,
    chain: Mutex<Vec<Vec<u8>>>,
    /// Reason for rejecting the server.
    refusal: Mutex<Option<String>>,
}

impl Judge {
    fn take_refusal(&self) -> Option<String> {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.take()
    }

    fn judge(
        &self,
        message: &[u8],
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let scheme = scheme_of(signed.scheme).ok_or("the signature scheme is not supported");
        let chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        let judged = scheme.map_err(str::to_owned).and_then(|scheme| {
            let signature = match half(scheme) {
                Some(half) => of_der(signed.signature(), half).ok_or("a signature is malformed")?,
                None => signed.signature().to_vec(),
            };
            (self.verifier).verify(&chain, None, scheme, message, &signature)
        });
        match judged {
            Ok(()) => Ok(HandshakeSignatureValid::assertion()),
            Err(reason) => {
                let reason = format!("the EAP server's certificate is refused: {reason}");
                *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
                Err(Error::InvalidCertificate(
                    rustls::CertificateError::ApplicationVerificationFailure,
                ))
            }
        }
    }
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Judge")
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = std::iter::once(own).chain(others);
        let mut kept = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = chain.map(|certificate| certificate.to_vec()).collect();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.judge(message, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        _: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.judge(message, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SCHEMES.iter().map(|(scheme, _)| *scheme).collect()
    }
}
