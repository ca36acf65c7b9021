//! Questions for names by HTTPS (RFC 8484): a POST for each, over connections that stay open; and lists that are
//! fetched.
//!
//! A server is reached from the router's own addresses. Its name is asked of the router like any other; the forwarder
//! does not ask the server for its own name. Certificates are checked against the authorities of the machine, or those
//! in the file that `SSL_CERT_FILE` names.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream as StdStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, LOCATION};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use router::drive::names::{Secure, Told};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;

use crate::host::HostPlane;

/// Where the machine keeps the authorities that it trusts, and what says otherwise.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
const OTHER_AUTHORITIES: &str = "SSL_CERT_FILE";
/// The type of questions and answers (RFC 8484, 6).
const MESSAGE: &str = "application/dns-message";
/// The longest answer, in bytes.
const ANSWER_MAX: usize = 65_535;
/// Places that a page may have moved to, one after the other.
const REDIRECTIONS: usize = 5;
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
    checked: TlsConnector,
    unchecked: TlsConnector,
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
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = || {
            let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
            builder.with_safe_default_protocol_versions()
        };
        let failed = |error: rustls::Error| format!("TLS of DNS over HTTPS: {error}");
        let checked = config().map_err(failed)?;
        let checked = checked
            .with_root_certificates(authorities())
            .with_no_client_auth();
        let unchecked = config().map_err(failed)?.dangerous();
        let trusting = Arc::new(Trusting(Arc::clone(&provider)));
        let unchecked = unchecked
            .with_custom_certificate_verifier(trusting)
            .with_no_client_auth();
        Ok(Self {
            host,
            runtime,
            checked: TlsConnector::from(Arc::new(checked)),
            unchecked: TlsConnector::from(Arc::new(unchecked)),
            servers: Mutex::default(),
        })
    }

    /// Puts a question, and says later what came of it. `resolve` finds addresses of the server's name; it waits.
    pub(crate) fn put(
        self: &Arc<Self>,
        secure: &Secure,
        (message, patience): (Vec<u8>, Duration),
        resolve: impl Fn(&str) -> Vec<IpAddr> + Clone + Send + 'static,
        tell: impl FnOnce(Told) + Send + 'static,
    ) {
        let Some(server) = self.server(secure) else {
            return tell(Told::Refused);
        };
        let (own, verify) = (Arc::clone(self), secure.verify);
        self.runtime.spawn(async move {
            let asked = own.ask(&server, verify, message, resolve);
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
        resolve: impl Fn(&str) -> Vec<IpAddr> + Clone + Send + 'static,
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
        let mut sender = self.connect(server, verify, resolve).await?;
        let answer = server.exchange(&mut sender, message).await?;
        server.give_back(sender);
        Ok(answer)
    }

    async fn connect(
        &self,
        server: &Server,
        verify: bool,
        resolve: impl Fn(&str) -> Vec<IpAddr> + Send + 'static,
    ) -> Result<Sender, Failure> {
        let port = server.uri.port_u16().unwrap_or(443);
        let addresses = server.addresses(resolve).await?;
        let stream = self.dial(addresses, port).await?;
        let tls = if verify {
            &self.checked
        } else {
            &self.unchecked
        };
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

    /// Fetches a page, and gives its bytes as they come: `most` at most, within a time. Waits for it.
    ///
    /// # Errors
    /// It cannot be had.
    pub(crate) fn fetch(
        &self,
        (url, verify): (&str, bool),
        (most, patience): (u64, Duration),
        resolve: impl Fn(&str) -> Vec<IpAddr> + Clone + Send + 'static,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        let fetched = async {
            let mut url = url.to_owned();
            for _ in 0..REDIRECTIONS {
                match self
                    .page(&url, verify, most, resolve.clone(), &mut take)
                    .await?
                {
                    None => return Ok(()),
                    Some(other) => url = other,
                }
            }
            Err("it leads from one place to another".into())
        };
        let done = self
            .runtime
            .block_on(async { tokio::time::timeout(patience, fetched).await });
        match done {
            Ok(done) => done.map_err(|error: Failure| error.to_string()),
            Err(_) => Err("it takes too long".to_owned()),
        }
    }

    /// Fetches a page; gives another place, if it is there.
    async fn page(
        &self,
        url: &str,
        verify: bool,
        most: u64,
        resolve: impl Fn(&str) -> Vec<IpAddr> + Clone + Send + 'static,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<Option<String>, Failure> {
        let secure = Secure {
            url: url.into(),
            name: Box::default(),
            verify,
            connections: 1,
        };
        let server = server_of(&secure).ok_or("it is no address of a page")?;
        let mut sender = match server.uri.scheme_str() {
            Some("http") => {
                let addresses = server.addresses(resolve).await?;
                let port = server.uri.port_u16().unwrap_or(80);
                shake(self.dial(addresses, port).await?).await?
            }
            _ => self.connect(&server, verify, resolve).await?,
        };
        let path = server
            .uri
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let request = Request::get(path)
            .header(HOST, server.authority())
            .body(Full::new(Bytes::new()))?;
        let response = sender.send_request(request).await?;
        if response.status().is_redirection() {
            let other = response
                .headers()
                .get(LOCATION)
                .ok_or("it is elsewhere")?
                .to_str()?;
            return Ok(Some(match other.starts_with('/') {
                true => {
                    let scheme = server.uri.scheme_str().unwrap_or("https");
                    format!("{scheme}://{}{other}", server.authority())
                }
                false => other.to_owned(),
            }));
        }
        if !response.status().is_success() {
            return Err(format!("the server says {}", response.status()).into());
        }
        let (mut body, mut taken) = (response.into_body(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame?;
            let bytes = frame.data_ref().map_or(&[][..], |bytes| bytes);
            taken += bytes.len() as u64;
            if taken > most {
                return Err("it is too long".into());
            }
            take(bytes);
        }
        Ok(None)
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
    fn authority(&self) -> &str {
        self.uri
            .authority()
            .map_or("", |authority| authority.as_str())
    }

    async fn addresses(
        &self,
        resolve: impl Fn(&str) -> Vec<IpAddr> + Send + 'static,
    ) -> Result<Vec<IpAddr>, Failure> {
        match &self.name {
            ServerName::IpAddress(address) => Ok(vec![IpAddr::from(*address)]),
            name => {
                let name = name.to_str().into_owned();
                Ok(tokio::task::spawn_blocking(move || resolve(&name)).await?)
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

/// The authorities that are trusted.
fn authorities() -> RootCertStore {
    let file = std::env::var_os(OTHER_AUTHORITIES).unwrap_or_else(|| AUTHORITIES.into());
    let mut roots = RootCertStore::empty();
    if let Ok(all) = CertificateDer::pem_file_iter(file) {
        roots.add_parsable_certificates(all.flatten());
    }
    roots
}

/// Takes any certificate, as RouterOS does without `verify-doh-cert`.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
