//! DNS over HTTPS client (RFC 8484): one POST per query, over persistent connections.
//!
//! Connections start from the router's addresses. The router's resolver resolves the server's name; the
//! forwarder does not ask the server for its own name.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream as StdStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use certificate::Check;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use router::drive::names::{QueryResult, Secure};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use crate::host::HostPlane;
use crate::inlet::resolve::addresses_of;
use crate::run::shared::Shared;
use router::tls;

/// Media type of queries and answers (RFC 8484, 6).
const MESSAGE_TYPE: &str = "application/dns-message";
/// Maximum length of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 65_535;
/// Maximum number of servers with open connections.
const MAX_SERVERS: usize = 64;

type Sender = SendRequest<Full<Bytes>>;
/// URL of a server, and whether its certificate is verified.
type Key = (Arc<str>, bool);
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// DNS over HTTPS client of all servers.
pub(crate) struct Doh {
    host: Option<Arc<HostPlane>>,
    runtime: Runtime,
    servers: Mutex<HashMap<Key, Arc<Server>>>,
}

/// A server with its connections.
struct Server {
    uri: Uri,
    name: ServerName<'static>,
    idle: Mutex<Vec<Sender>>,
    room: Semaphore,
}

impl Doh {
    /// Creates a client, which uses the host plane, or without one the machine's namespace.
    ///
    /// # Errors
    /// Its threads cannot be started.
    pub(crate) fn new(host: Option<Arc<HostPlane>>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("doh")
            .enable_all()
            .build()
            .map_err(|error| format!("threads for DNS over HTTPS: {error}"))?;
        Ok(Self {
            host,
            runtime,
            servers: Mutex::default(),
        })
    }

    /// Sends a query, and reports the result later.
    pub(crate) fn put(
        self: &Arc<Self>,
        secure: &Secure,
        message: Vec<u8>,
        patience: Duration,
        shared: Arc<Shared>,
        report: impl FnOnce(QueryResult) + Send + 'static,
    ) {
        let Some(server) = self.server(secure) else {
            return report(QueryResult::Refused);
        };
        let (own, verify) = (Arc::clone(self), secure.verify);
        self.runtime.spawn(async move {
            let asked = own.ask(&server, verify, message, &shared);
            let answer = match tokio::time::timeout(patience, asked).await {
                Ok(Ok(answer)) => QueryResult::Message(answer),
                Ok(Err(error)) => {
                    tracing::warn!("dns,warning DoH server {}: {error}", server.uri);
                    QueryResult::Refused
                }
                Err(_) => QueryResult::Silent,
            };
            report(answer);
        });
    }

    fn server(&self, secure: &Secure) -> Option<Arc<Server>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(&secure.url), secure.verify);
        if let Some(server) = servers.get(&key) {
            return Some(Arc::clone(server));
        }
        let server = Arc::new(server_of(secure)?);
        if servers.len() >= MAX_SERVERS {
            servers.clear();
        }
        servers.insert(key, Arc::clone(&server));
        Some(server)
    }

    /// Sends a query on an idle connection, or on a new one.
    async fn ask(
        &self,
        server: &Server,
        verify: bool,
        message: Vec<u8>,
        shared: &Arc<Shared>,
    ) -> Result<Vec<u8>, Failure> {
        let _place = server.room.acquire().await?;
        let message = Bytes::from(message);
        while let Some(mut sender) = server.take_idle() {
            // The server may have closed it meanwhile: use another.
            if let Ok(answer) = server.exchange(&mut sender, message.clone()).await {
                server.give_back(sender);
                return Ok(answer);
            }
        }
        let mut sender = self.connect(server, verify, shared).await?;
        let answer = server.exchange(&mut sender, message).await?;
        server.give_back(sender);
        Ok(answer)
    }

    async fn connect(
        &self,
        server: &Server,
        verify: bool,
        shared: &Arc<Shared>,
    ) -> Result<Sender, Failure> {
        let port = server.uri.port_u16().unwrap_or(443);
        let addresses = server.addresses(shared).await?;
        let stream = self.dial(addresses, port).await?;
        let check = if verify { Check::Full } else { Check::Nothing };
        let config = tls::client(&shared.lock().trust(), "dns", check)?;
        let tls = TlsConnector::from(Arc::new(config));
        let stream = tls.connect(server.name.clone(), stream).await?;
        shake(stream).await
    }

    /// Connects to the first reachable address.
    async fn dial(&self, addresses: Vec<IpAddr>, port: u16) -> Result<TcpStream, Failure> {
        let mut last: Failure = "its name has no address".into();
        for address in addresses {
            let stream = match self
                .open(address)?
                .connect(SocketAddr::new(address, port))
                .await
            {
                Ok(stream) => stream,
                Err(error) => {
                    last = error.into();
                    continue;
                }
            };
            stream.set_nodelay(true)?;
            return Ok(stream);
        }
        Err(last)
    }

    /// Opens a socket in the host plane.
    fn open(&self, to: IpAddr) -> io::Result<TcpSocket> {
        let family = match to {
            IpAddr::V4(_) => AddressFamily::INET,
            IpAddr::V6(_) => AddressFamily::INET6,
        };
        let open = move || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            Ok(socket_with(family, SocketType::STREAM, flags, None)?)
        };
        let socket = match &self.host {
            Some(host) => host.inside(open)?,
            None => open()?,
        };
        Ok(TcpSocket::from_std_stream(StdStream::from(socket)))
    }
}

/// Parses the URL of a server; `None` if invalid.
fn server_of(secure: &Secure) -> Option<Server> {
    let uri: Uri = secure.url.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    Some(Server {
        name: ServerName::try_from(host).ok()?,
        uri,
        idle: Mutex::default(),
        room: Semaphore::new(secure.connections.clamp(1, 64)),
    })
}

/// Starts HTTP on a connection.
async fn shake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Sender, Failure> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // Ends when either side closes the connection.
        let _ = connection.await;
    });
    Ok(sender)
}

impl Server {
    async fn addresses(&self, shared: &Arc<Shared>) -> Result<Vec<IpAddr>, Failure> {
        match &self.name {
            ServerName::IpAddress(address) => Ok(vec![IpAddr::from(*address)]),
            name => {
                let name = name.to_str().into_owned();
                let shared = Arc::clone(shared);
                Ok(tokio::task::spawn_blocking(move || addresses_of(&shared, &name)).await?)
            }
        }
    }

    fn take_idle(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(sender) = idle.pop() {
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }

    fn give_back(&self, sender: Sender) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(sender);
    }

    async fn exchange(&self, sender: &mut Sender, message: Bytes) -> Result<Vec<u8>, Failure> {
        sender.ready().await?;
        let path = self
            .uri
            .path_and_query()
            .map_or("/dns-query", |path| match path.as_str() {
                "/" => "/dns-query",
                path => path,
            });
        let host = self
            .uri
            .authority()
            .map_or("", |authority| authority.as_str());
        let request = Request::post(path)
            .header(HOST, host)
            .header(CONTENT_TYPE, MESSAGE_TYPE)
            .header(ACCEPT, MESSAGE_TYPE)
            .body(Full::new(message))?;
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("it says {}", response.status()).into());
        }
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES);
        Ok(body.collect().await?.to_bytes().to_vec())
    }
}
