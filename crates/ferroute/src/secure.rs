//! Questions for names by HTTPS (RFC 8484): a POST for each, over connections that stay open.
//!
//! A server is reached from the router's own addresses. Its name is asked of the router like any other; the forwarder
//! does not ask the server for its own name.

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
use router::drive::names::{Secure, Told};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use crate::core::Shared;
use crate::host::HostPlane;
use crate::resolve::addresses_of;
use crate::trust;

/// The type of questions and answers (RFC 8484, 6).
const MESSAGE: &str = "application/dns-message";
/// The longest answer, in bytes.
const ANSWER_MAX: usize = 65_535;
/// Servers whose connections are kept.
const SERVERS: usize = 64;

type Sender = SendRequest<Full<Bytes>>;
/// A server's address, and whether its certificate is checked.
type Key = (Arc<str>, bool);
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// See the module.
pub(crate) struct Doh {
    host: Option<Arc<HostPlane>>,
    runtime: Runtime,
    servers: Mutex<HashMap<Key, Arc<Server>>>,
}

/// A server, and its connections.
struct Server {
    uri: Uri,
    name: ServerName<'static>,
    idle: Mutex<Vec<Sender>>,
    room: Semaphore,
}

impl Doh {
    /// Asks from the host plane, or where there is none from the machine.
    ///
    /// # Errors
    /// There can be no threads for it.
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

    /// Puts a question, and says later what came of it.
    pub(crate) fn put(
        self: &Arc<Self>,
        secure: &Secure,
        (message, patience): (Vec<u8>, Duration),
        shared: Arc<Shared>,
        tell: impl FnOnce(Told) + Send + 'static,
    ) {
        let Some(server) = self.server(secure) else {
            return tell(Told::Refused);
        };
        let (own, verify) = (Arc::clone(self), secure.verify);
        self.runtime.spawn(async move {
            let asked = own.ask(&server, verify, message, &shared);
            let told = match tokio::time::timeout(patience, asked).await {
                Ok(Ok(answer)) => Told::Message(answer),
                Ok(Err(error)) => {
                    tracing::warn!("dns,warning DoH server {}: {error}", server.uri);
                    Told::Refused
                }
                Err(_) => Told::Silent,
            };
            tell(told);
        });
    }

    fn server(&self, secure: &Secure) -> Option<Arc<Server>> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(&secure.url), secure.verify);
        if let Some(server) = servers.get(&key) {
            return Some(Arc::clone(server));
        }
        let server = Arc::new(server_of(secure)?);
        if servers.len() >= SERVERS {
            servers.clear();
        }
        servers.insert(key, Arc::clone(&server));
        Some(server)
    }

    /// Asks on a connection that is there, or on a new one.
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
            // The server may have closed it meanwhile: then another.
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
        let config = trust::client(&shared.lock().trust(), "dns", check)?;
        let tls = TlsConnector::from(Arc::new(config));
        let stream = tls.connect(server.name.clone(), stream).await?;
        shake(stream).await
    }

    /// Connects to the first of some addresses that can be reached.
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

    /// A socket where the router's own are.
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

/// A server by its address; none of what is no address.
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

/// Begins to speak HTTP.
async fn shake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> Result<Sender, Failure> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // It ends when one of both ends does.
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
            .header(CONTENT_TYPE, MESSAGE)
            .header(ACCEPT, MESSAGE)
            .body(Full::new(message))?;
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("it says {}", response.status()).into());
        }
        let body = Limited::new(response.into_body(), ANSWER_MAX);
        Ok(body.collect().await?.to_bytes().to_vec())
    }
}
