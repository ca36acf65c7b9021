//! TLS of connections: parameters from `/certificate`, handshakes and their limits, HTTP proxies.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use menu::Item;
use router::Instance;
use router::drive::streams::{ClientTls, ServerTls};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use router::tls::{self, PrivateServer};

/// Time of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of connections in their handshake, of all and of one address. The oldest one gives way.
const MAX_HANDSHAKES: usize = 1024;
const MAX_HANDSHAKES_OF_ADDRESS: usize = 128;
/// Maximum length of a proxy's answer in bytes.
const MAX_ANSWER: usize = 4096;
/// Word of `trust-store` for certificates of clients.
const CLIENTS: &str = "sstp";

/// TLS parameters of a listener, with the certificate that clients see.
#[derive(Clone)]
pub(super) struct Acceptor {
    acceptor: TlsAcceptor,
    certificate: Arc<[u8]>,
}

/// The part of the configuration that TLS parameters were made from.
pub(super) struct Basis {
    item: Option<Arc<Item>>,
    /// Revision of the store, if other items count too: authorities of clients.
    revision: Option<u64>,
    /// Number of certificates: new ones may extend the chain.
    certificates: usize,
}

impl Basis {
    /// Returns the basis of a listener's parameters.
    pub(super) fn of(instance: &Instance, of: &ServerTls) -> Self {
        let store = instance.store();
        Self {
            item: store.named("certificate", &of.certificate).cloned(),
            revision: of.verifies_client.then(|| store.revision()),
            certificates: store.count("/certificate"),
        }
    }

    /// Returns true if parameters from `other` would be the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_item = match (&self.item, &other.item) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_item && (self.revision, self.certificates) == (other.revision, other.certificates)
    }
}

impl Acceptor {
    /// Returns the parameters of a listener.
    ///
    /// # Errors
    /// The certificate does not exist, or has no private key.
    pub(super) fn new(instance: &Instance, of: &ServerTls) -> Result<Self, String> {
        let identity = tls::identity(instance.store(), &of.certificate)?;
        let certificate = der(identity.cert.first());
        let trust = instance.trust();
        let clients = of.verifies_client.then_some((&*trust, CLIENTS));
        let config = tls::server(identity, clients, of.limits)
            .map_err(|why| format!("certificate {}: {why}", of.certificate))?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate,
        })
    }

    /// Negotiates TLS with a client. Returns the session and this router's certificate. Ends early once `cancelled`
    /// reports that the connection gave way to others.
    ///
    /// # Errors
    /// The failure in words.
    pub(super) async fn accept(
        self,
        socket: TcpStream,
        cancelled: oneshot::Receiver<()>,
    ) -> Result<(server::TlsStream<TcpStream>, Arc<[u8]>), String> {
        let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.acceptor.accept(socket));
        tokio::select! {
            done = handshake => match done {
                Ok(Ok(session)) => Ok((session, self.certificate)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(String::from("timeout")),
            },
            _ = cancelled => Err(String::from("too many connections in their handshake")),
        }
    }
}

/// Connections in their handshake, the oldest first.
#[derive(Default)]
pub(super) struct Handshakes(VecDeque<(IpAddr, oneshot::Sender<()>)>);

impl Handshakes {
    /// Adds a connection. Returns the signal that it has to give way.
    pub(super) fn add(&mut self, remote: IpAddr) -> oneshot::Receiver<()> {
        self.0.retain(|(_, sender)| !sender.is_closed());
        let of_address = self.0.iter().filter(|(other, _)| *other == remote).count();
        let excess = match of_address >= MAX_HANDSHAKES_OF_ADDRESS {
            true => self.0.iter().position(|(other, _)| *other == remote),
            false => (self.0.len() >= MAX_HANDSHAKES).then_some(0),
        };
        if let Some(excess) = excess {
            self.0.remove(excess);
        }
        let (sender, receiver) = oneshot::channel();
        self.0.push_back((remote, sender));
        receiver
    }
}

/// TLS parameters of a connection that this router establishes.
pub(super) struct Connector {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl Connector {
    /// Returns the parameters of a connection.
    ///
    /// # Errors
    /// The name of the server is invalid, or the client's certificate does not exist or has no private key.
    pub(super) fn new(instance: &Instance, of: &ClientTls) -> Result<Self, String> {
        let name = ServerName::try_from(of.host.to_string());
        let name = name.map_err(|_| format!("{} is not a valid name", of.host))?;
        let identity = of.certificate.as_deref();
        let identity = identity.map(|name| tls::identity(instance.store(), name));
        let server = PrivateServer {
            trusted_for: of.verifies,
            by_name: of.verifies_host,
            limits: of.limits,
        };
        let mut config = tls::private(&instance.trust(), identity.transpose()?, &server)?;
        config.enable_sni = of.sends_name;
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name,
        })
    }

    /// Negotiates TLS with the server. Returns the session and the server's certificate.
    ///
    /// # Errors
    /// The failure in words.
    pub(super) async fn connect(
        self,
        socket: TcpStream,
    ) -> Result<(client::TlsStream<TcpStream>, Arc<[u8]>), String> {
        let session = self.connector.connect(self.name, socket).await;
        let session = session.map_err(|error| error.to_string())?;
        let certificates = session.get_ref().1.peer_certificates();
        let certificate = der(certificates.and_then(<[_]>::first));
        Ok((session, certificate))
    }
}

fn der(certificate: Option<&CertificateDer<'_>>) -> Arc<[u8]> {
    certificate.map_or_else(Arc::default, |certificate| Arc::from(certificate.as_ref()))
}

/// Has an HTTP proxy connect to a server.
///
/// # Errors
/// The connection failed, or the proxy refuses.
pub(super) async fn through_proxy(
    socket: &mut TcpStream,
    host: &str,
    to: SocketAddr,
) -> io::Result<()> {
    let server = match host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, to.port()).to_string(),
        Err(_) => format!("{host}:{}", to.port()),
    };
    socket
        .write_all(&sstp::http::proxy_request(&server))
        .await?;
    let mut answer = Vec::new();
    // Bytes behind the answer are those of the server.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= MAX_ANSWER {
            return Err(io::Error::other("the HTTP proxy sends no HTTP answer"));
        }
        answer.push(socket.read_u8().await?);
    }
    match sstp::http::status(&answer) {
        Some(200..=299) => Ok(()),
        Some(status) => Err(io::Error::other(format!(
            "the HTTP proxy refuses with status {status}"
        ))),
        None => Err(io::Error::other("the HTTP proxy sends no HTTP answer")),
    }
}
