//! RADIUS over TLS (RFC 6614): one connection for each line of the RADIUS client.
//!
//! ```text
//! control ─▶ SecureOrder::Send ─▶ task of the line: connect, TLS, send ─▶ server
//! control ◀─ packet or state  ◀─ task of the line                     ◀─┘
//! ```
//! A connection that fails is reported and dropped; the next packet of its line opens another one. The client's timers
//! bound the attempts: it probes a silent server every ten seconds.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream as StdStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use netio::Waker;
use router::Instance;
use router::drive::radius::{SecureEvent, SecureOrder};
use router::drive::streams::TlsLimits;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use rustls::pki_types::ServerName;
use service::radius::{LineId, TlsServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::run::shared::Shared;
use router::tls::{self, PrivateServer};

/// Time to connect and to negotiate TLS, and to send a packet.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of packets that wait for a connection.
const MAX_WAITING: usize = 512;
/// Bounds of the length of a packet (RFC 2865, 3).
const PACKET_BYTES: std::ops::RangeInclusive<usize> = 20..=wire::radius::MOST;

/// Destination of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// Address and port.
    pub(crate) to: SocketAddr,
    /// Source address, if configured.
    pub(crate) source: Option<IpAddr>,
    /// Name and certificate.
    pub(crate) tls: Arc<TlsServer>,
}

/// Connection to a server.
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    /// Received bytes of incomplete packets.
    received: Vec<u8>,
}

impl Connection {
    /// Connects to a server, and negotiates TLS with the router's certificate.
    ///
    /// # Errors
    /// The failure in words: no connection, an untrusted server, or a missing certificate.
    pub(crate) async fn open(shared: &Arc<Shared>, to: &Destination) -> Result<Self, String> {
        match tokio::time::timeout(CONNECT_TIMEOUT, Self::negotiate(shared, to)).await {
            Ok(connection) => connection,
            Err(_) => Err(String::from("timeout")),
        }
    }

    async fn negotiate(shared: &Arc<Shared>, to: &Destination) -> Result<Self, String> {
        let (shared, destination) = (Arc::clone(shared), to.clone());
        let prepare = move || {
            let (trust, identity) = {
                let instance = shared.lock();
                let name = destination.tls.certificate.as_deref();
                let identity = name.map(|name| tls::identity(instance.store(), name));
                (instance.trust(), identity.transpose()?)
            };
            let by_name = destination.tls.host.parse::<IpAddr>().is_err();
            let server = PrivateServer {
                trusted_for: Some("radius"),
                by_name,
                limits: TlsLimits::default(),
            };
            let config = tls::private(&trust, identity, &server)?;
            let (to, source) = (destination.to, destination.source);
            let socket = shared.inside(move || open(to, source)).map_err(words)?;
            Ok::<_, String>((config, socket))
        };
        let prepared = spawn_blocking(prepare).await;
        let (config, socket) = prepared.map_err(|error| error.to_string())??;
        let name = ServerName::try_from(to.tls.host.clone());
        let name = name.map_err(|_| format!("{} is not a valid name", to.tls.host))?;
        let stream = socket.connect(to.to).await.map_err(words)?;
        stream.set_nodelay(true).map_err(words)?;
        let tls = TlsConnector::from(Arc::new(config));
        let stream = tls.connect(name, stream).await.map_err(words)?;
        Ok(Self {
            stream,
            received: Vec::new(),
        })
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// The connection failed, or accepts no bytes.
    pub(crate) async fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        let stream = &mut self.stream;
        let sent = async {
            stream.write_all(packet).await?;
            stream.flush().await
        };
        match tokio::time::timeout(CONNECT_TIMEOUT, sent).await {
            Ok(sent) => sent,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Receives a packet. A call that is dropped loses no bytes.
    ///
    /// # Errors
    /// The connection ended, or the server sent what is no packet.
    pub(crate) async fn receive(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(packet) = take_packet(&mut self.received)? {
                return Ok(packet);
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Removes and returns the first packet, if it is complete.
fn take_packet(received: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    let [_, _, high, low, ..] = received[..] else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if !PACKET_BYTES.contains(&length) {
        let fault = format!("a packet of {length} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, fault));
    }
    Ok((received.len() >= length).then(|| received.drain(..length).collect()))
}

/// Opens a socket.
fn open(to: SocketAddr, source: Option<IpAddr>) -> io::Result<TcpSocket> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(source) = source {
        bind(&socket, &SocketAddr::new(source, 0))?;
    }
    Ok(TcpSocket::from_std_stream(StdStream::from(socket)))
}

/// Connections of all lines.
pub(crate) struct RadSec {
    /// Created with the first connection.
    runtime: Option<Runtime>,
    lines: BTreeMap<LineId, mpsc::Sender<Vec<u8>>>,
    sender: Sender<SecureEvent>,
    events: Receiver<SecureEvent>,
    /// Wakes the control thread.
    wake: Waker,
}

impl RadSec {
    /// Creates the set of connections.
    pub(crate) fn new(wake: Waker) -> Self {
        let (sender, events) = channel();
        Self {
            runtime: None,
            lines: BTreeMap::new(),
            sender,
            events,
            wake,
        }
    }

    /// Reports events to control, and returns its orders.
    pub(crate) fn follow(&self, instance: &mut Instance) -> Vec<SecureOrder> {
        for event in self.events.try_iter() {
            instance.control().radius_event(event);
        }
        instance.control().take_radius_orders()
    }

    /// Carries out orders, without waiting for connections.
    pub(crate) fn put(&mut self, orders: Vec<SecureOrder>, shared: &Arc<Shared>) {
        for order in orders {
            match order {
                SecureOrder::Close(line) => _ = self.lines.remove(&line),
                SecureOrder::Send {
                    line,
                    to,
                    source,
                    tls,
                    bytes,
                } => {
                    let destination = Destination { to, source, tls };
                    self.send(line, destination, bytes, shared);
                }
            }
        }
    }

    /// Sends a packet on the connection of a line; opens one if there is none. A packet for which a full queue has no
    /// room is lost as in a network.
    fn send(
        &mut self,
        line: LineId,
        destination: Destination,
        bytes: Vec<u8>,
        shared: &Arc<Shared>,
    ) {
        let packets = self.lines.get(&line).filter(|packets| !packets.is_closed());
        if let Some(packets) = packets {
            let _ = packets.try_send(bytes);
            return;
        }
        let Some(runtime) = self.runtime() else {
            return;
        };
        let (packets, waiting) = mpsc::channel(MAX_WAITING);
        let _ = packets.try_send(bytes);
        let reporter = Reporter {
            line,
            server: destination.tls.id,
            from: destination.to,
            sender: self.sender.clone(),
            wake: self.wake.clone(),
        };
        runtime.spawn(run_line(Arc::clone(shared), destination, waiting, reporter));
        self.lines.insert(line, packets);
    }

    fn runtime(&mut self) -> Option<tokio::runtime::Handle> {
        if self.runtime.is_none() {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("radsec")
                .enable_all()
                .build();
            match runtime {
                Ok(runtime) => self.runtime = Some(runtime),
                Err(error) => tracing::error!("threads for RADIUS over TLS: {error}"),
            }
        }
        Some(self.runtime.as_ref()?.handle().clone())
    }
}

/// Reports the events of one connection.
struct Reporter {
    line: LineId,
    server: u64,
    from: SocketAddr,
    sender: Sender<SecureEvent>,
    wake: Waker,
}

impl Reporter {
    fn state(&self, text: String, is_failure: bool) {
        self.report(SecureEvent::State {
            server: self.server,
            text,
            is_failure,
        });
    }

    fn report(&self, event: SecureEvent) {
        // Fails only while the program ends.
        let _ = self.sender.send(event);
        self.wake.wake();
    }
}

/// Runs the connection of a line until it fails, or its sender is dropped.
async fn run_line(
    shared: Arc<Shared>,
    destination: Destination,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    reporter: Reporter,
) {
    reporter.state(String::from("connecting"), false);
    let mut connection = match Connection::open(&shared, &destination).await {
        Ok(connection) => connection,
        Err(error) => return reporter.state(error, true),
    };
    reporter.state(String::from("connected"), false);
    let error = loop {
        tokio::select! {
            packet = waiting.recv() => match packet {
                Some(packet) => {
                    if let Err(error) = connection.send(&packet).await {
                        break error;
                    }
                }
                None => return reporter.state(String::from("closed"), false),
            },
            received = connection.receive() => match received {
                Ok(bytes) => reporter.report(SecureEvent::Received {
                    line: reporter.line,
                    from: reporter.from,
                    bytes,
                }),
                Err(error) => break error,
            },
        }
    };
    reporter.state(format!("connection lost: {}", words(error)), true);
}

/// Returns the text of an error.
fn words(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => String::from("the server closed it"),
        io::ErrorKind::ConnectionRefused => String::from("connection refused"),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_cut_from_the_stream_by_their_length() {
        let packet = |length: u16, bytes: usize| {
            let mut packet = vec![2, 1];
            packet.extend(length.to_be_bytes());
            packet.resize(bytes, 0);
            packet
        };
        let mut received = packet(20, 20);
        received.extend(packet(30, 29));
        let taken = take_packet(&mut received).expect("a packet");
        assert_eq!(taken.map(|packet| packet.len()), Some(20));
        assert_eq!(take_packet(&mut received).expect("incomplete"), None);
        received.push(0);
        let taken = take_packet(&mut received).expect("a packet");
        assert_eq!(taken.map(|packet| packet.len()), Some(30));
        assert!(received.is_empty());
        for length in [0, 19, 4_097, 65_535] {
            assert!(take_packet(&mut packet(length, 40)).is_err(), "{length}");
        }
        assert_eq!(take_packet(&mut vec![2, 1, 0]).expect("incomplete"), None);
    }
}
