//! TLS of a negotiation: rustls with buffers in memory.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

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
    /// A role whose private key takes its time: handshakes run elsewhere.
    Elsewhere(Box<Self>, Runner),
}

impl TlsConfig {
    /// Returns true for the role of a client.
    pub(crate) fn is_client(&self) -> bool {
        match self {
            Self::Client(..) => true,
            Self::Server(_) => false,
            Self::Elsewhere(config, _) => config.is_client(),
        }
    }
}

/// Part of a handshake that may wait for a private key.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs parts of handshakes on other threads.
#[derive(Clone)]
pub struct Runner(Arc<dyn Fn(Job) -> Result<(), String> + Send + Sync>);

impl Runner {
    /// Returns a runner. `run` never waits; it fails if too many jobs wait.
    pub fn new(run: impl Fn(Job) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(run))
    }
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Runner")
    }
}

/// A connection that comes back from another thread, and what its bytes led to.
type Returned = (Connection, Result<(), rustls::Error>);

/// A TLS connection.
pub(crate) struct Tls {
    /// `None` while another thread has the connection.
    connection: Option<Connection>,
    runner: Option<Runner>,
    returned: Option<Receiver<Returned>>,
}

impl Tls {
    /// Begins a connection.
    ///
    /// # Errors
    /// The configuration cannot be used.
    pub(crate) fn new(config: &TlsConfig) -> Result<Self, rustls::Error> {
        let (config, runner) = match config {
            TlsConfig::Elsewhere(config, runner) => (&**config, Some(runner.clone())),
            config => (config, None),
        };
        let mut connection: Connection = match config {
            TlsConfig::Client(config, name) => {
                ClientConnection::new(Arc::clone(config), name.clone())?.into()
            }
            TlsConfig::Server(config) => ServerConnection::new(Arc::clone(config))?.into(),
            TlsConfig::Elsewhere(..) => {
                return Err(rustls::Error::General("a runner within a runner".into()));
            }
        };
        connection.set_buffer_limit(Some(MAX_PLAINTEXT_BYTES));
        Ok(Self {
            connection: Some(connection),
            runner,
            returned: None,
        })
    }

    /// Handles bytes of the peer, or lets another thread handle them: see [`Tls::is_away`].
    ///
    /// # Errors
    /// The bytes violate the protocol, or the peer's certificate is not trusted. An alert waits to be sent.
    pub(crate) fn receive(&mut self, bytes: Vec<u8>) -> Result<(), rustls::Error> {
        let Some(connection) = &mut self.connection else {
            return Err(rustls::Error::General("the connection is elsewhere".into()));
        };
        let Some(runner) = self.runner.as_ref().filter(|_| connection.is_handshaking()) else {
            return process(connection, &bytes);
        };
        let Some(mut connection) = self.connection.take() else {
            return Ok(());
        };
        let (sender, receiver) = sync_channel(1);
        let job = Box::new(move || {
            let outcome = process(&mut connection, &bytes);
            // The session may have ended meanwhile.
            let _ = sender.send((connection, outcome));
        });
        self.returned = Some(receiver);
        (runner.0)(job).map_err(rustls::Error::General)
    }

    /// Returns true while another thread has the connection.
    pub(crate) const fn is_away(&self) -> bool {
        self.connection.is_none()
    }

    /// Takes the connection back once the other thread is done with it.
    ///
    /// # Errors
    /// As for [`Tls::receive`].
    pub(crate) fn take_back(&mut self) -> Result<(), rustls::Error> {
        match self.returned.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => Ok(()),
            Some(Err(TryRecvError::Disconnected)) => Err(rustls::Error::General(
                "the thread of handshakes has ended".into(),
            )),
            Some(Ok((connection, outcome))) => {
                self.connection = Some(connection);
                self.returned = None;
                outcome
            }
        }
    }

    /// Returns the bytes for the peer, empty if none wait.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Some(connection) = &mut self.connection else {
            return bytes;
        };
        while connection.wants_write()
            && connection
                .write_tls(&mut bytes)
                .is_ok_and(|count| count > 0)
        {}
        bytes
    }

    /// Returns true once the handshake is complete.
    pub(crate) fn is_established(&self) -> bool {
        self.connection
            .as_ref()
            .is_some_and(|connection| !connection.is_handshaking())
    }

    /// Returns the plaintext of the next record of the peer.
    pub(crate) fn next_plaintext(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        let mut reader = self.connection.as_mut()?.reader();
        let bytes = Zeroizing::new(reader.fill_buf().ok()?.to_vec());
        reader.consume(bytes.len());
        (!bytes.is_empty()).then_some(bytes)
    }

    /// Encrypts a message. Returns false if too many bytes wait.
    pub(crate) fn send(&mut self, plaintext: &[u8]) -> bool {
        let connection = self.connection.as_mut();
        connection.is_some_and(|connection| connection.writer().write_all(plaintext).is_ok())
    }

    /// Returns key material of the exporter (RFC 5705); `None` before the handshake ends.
    pub(crate) fn export(&self) -> Option<Zeroizing<[u8; MATERIAL_BYTES]>> {
        let material = Zeroizing::new([0; MATERIAL_BYTES]);
        let mut material = material;
        let connection = self.connection.as_ref()?;
        let exported = connection.export_keying_material(&mut *material, EXPORTER_LABEL, None);
        exported.is_ok().then_some(material)
    }

    /// Returns the certificate of the peer in DER.
    pub(crate) fn peer_certificate(&self) -> Option<Vec<u8>> {
        let first = self.connection.as_ref()?.peer_certificates()?.first()?;
        Some(first.as_ref().to_vec())
    }

    /// Returns the version and the cipher suite, such as `TLSv1.3 TLS13_AES_256_GCM_SHA384`.
    pub(crate) fn description(&self) -> String {
        let connection = self.connection.as_ref();
        let version = connection.and_then(|connection| connection.protocol_version());
        let version = version.and_then(|version| version.as_str());
        let suite = connection
            .and_then(|connection| connection.negotiated_cipher_suite())
            .map(|suite| suite.suite());
        let suite = suite.and_then(|suite| suite.as_str());
        format!("{} {}", version.unwrap_or("?"), suite.unwrap_or("?"))
    }
}

fn process(connection: &mut Connection, mut bytes: &[u8]) -> Result<(), rustls::Error> {
    while !bytes.is_empty() {
        let read = connection.read_tls(&mut bytes);
        connection.process_new_packets()?;
        if !read.is_ok_and(|count| count > 0) {
            return Err(rustls::Error::General("received bytes are not read".into()));
        }
    }
    Ok(())
}
