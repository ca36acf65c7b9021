//! TLS of a negotiation: rustls with buffers in memory.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use zeroize::Zeroizing;

use crate::suite::MATERIAL_BYTES;

/// Label of the exporter of data keys (OpenVPN `ssl.c`: `EXPORT_KEY_DATA_LABEL`).
const EXPORTER_LABEL: &[u8] = b"EXPORTER-OpenVPN-datakeys";
/// Bytes of plaintext that TLS stores for the peer, at most.
const MAX_PLAINTEXT_BYTES: usize = 64 * 1024;

/// Configuration of TLS for one role.
#[derive(Clone, Debug)]
pub enum TlsConfig {
    /// Client: it sends the name only if its configuration enables SNI.
    Client(Arc<ClientConfig>, ServerName<'static>),
    /// Server.
    Server(Arc<ServerConfig>),
<<<<<<< Updated upstream
=======
    /// A role whose private key takes its time: handshakes run elsewhere.
    Elsewhere(Box<Self>, Runner),
>>>>>>> Stashed changes
}

/// A TLS connection.
pub(crate) struct Tls(Connection);

impl Tls {
    /// Begins a connection.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub(crate) fn new(config: &TlsConfig) -> Result<Self, rustls::Error> {
        let mut connection: Connection = match config {
            TlsConfig::Client(config, name) => {
                ClientConnection::new(Arc::clone(config), name.clone())?.into()
            }
            TlsConfig::Server(config) => ServerConnection::new(Arc::clone(config))?.into(),
        };
        connection.set_buffer_limit(Some(MAX_PLAINTEXT_BYTES));
        Ok(Self(connection))
    }

    /// Handles bytes of the peer.
    ///
    /// # Errors
    /// The bytes violate the protocol, or the peer's certificate is not trusted. An alert waits to be sent.
    pub(crate) fn receive(&mut self, mut bytes: &[u8]) -> Result<(), rustls::Error> {
        while !bytes.is_empty() {
            let read = self.0.read_tls(&mut bytes);
            self.0.process_new_packets()?;
            if !read.is_ok_and(|count| count > 0) {
                return Err(rustls::Error::General("received bytes are not read".into()));
            }
        }
        Ok(())
    }

    /// Returns the bytes for the peer, empty if none wait.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.0.wants_write() && self.0.write_tls(&mut bytes).is_ok_and(|count| count > 0) {}
        bytes
    }

    /// Returns true once the handshake is complete.
    pub(crate) fn is_established(&self) -> bool {
        !self.0.is_handshaking()
    }

    /// Returns the plaintext of the next record of the peer.
    pub(crate) fn next_plaintext(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        let mut reader = self.0.reader();
        let bytes = Zeroizing::new(reader.fill_buf().ok()?.to_vec());
        reader.consume(bytes.len());
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Encrypts a message. Returns false if too many bytes wait.
    pub(crate) fn send(&mut self, plaintext: &[u8]) -> bool {
        self.0.writer().write_all(plaintext).is_ok()
    }

    /// Returns key material of the exporter (RFC 5705); `None` before the handshake ends.
    pub(crate) fn export(&self) -> Option<Zeroizing<[u8; MATERIAL_BYTES]>> {
        let material = Zeroizing::new([0; MATERIAL_BYTES]);
        let mut material = material;
        let exported = self
            .0
            .export_keying_material(&mut *material, EXPORTER_LABEL, None);
        exported.is_ok().then_some(material)
    }

    /// Returns the certificate of the peer in DER.
    pub(crate) fn peer_certificate(&self) -> Option<Vec<u8>> {
        let first = self.0.peer_certificates()?.first()?;
        Some(first.as_ref().to_vec())
    }

    /// Returns the version and the cipher suite, such as `TLSv1.3 TLS13_AES_256_GCM_SHA384`.
    pub(crate) fn description(&self) -> String {
        let version = self
            .0
            .protocol_version()
            .and_then(|version| version.as_str());
        let suite = self.0.negotiated_cipher_suite().map(|suite| suite.suite());
        let suite = suite.and_then(|suite| suite.as_str());
        format!("{} {}", version.unwrap_or("?"), suite.unwrap_or("?"))
    }
}
