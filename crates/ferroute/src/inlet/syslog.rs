//! Remote logging from the host plane: by UDP, or by TCP with or without TLS, which has one thread per server,
//! so that a slow server delays no other.

use std::collections::BTreeMap;
use std::io;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use certificate::Check;
use router::drive::log::{Carrier, Datagram};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use script::Interrupt;

use crate::host::HostPlane;
use crate::inlet::outgoing::ConnectionParameters;
use crate::run::shared::Shared;
use router::tls;

/// Source address of a socket; `None` lets the kernel select.
type From = IpAddr;

/// Open sockets.
#[derive(Default)]
pub(crate) struct Syslog {
    sockets: BTreeMap<From, UdpSocket>,
    /// TCP servers with their queues.
    lines: BTreeMap<Server, SyncSender<Vec<u8>>>,
    /// Last error, which is printed once.
    trouble: Option<String>,
}

/// A TCP server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Server {
    to: SocketAddr,
    /// Name in its certificate.
    name: Arc<str>,
    source: Option<IpAddr>,
    carrier: Carrier,
}

/// Maximum number of open UDP sockets.
const MAX_SOCKETS: usize = 16;
/// Maximum queue of a server; further entries are lost.
const MAX_QUEUED_ENTRIES: usize = 1_000;
/// Timeout of a connection attempt, and of sending an entry.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay after a failed connection: initial and maximum.
const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// Idle time after which a connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

impl Syslog {
    /// Sends log entries without blocking; entries that cannot be sent are lost.
    pub(crate) fn send(
        &mut self,
        shared: &Arc<Shared>,
        host: Option<&Arc<HostPlane>>,
        datagrams: &[Datagram],
    ) {
        for datagram in datagrams {
            let sent = match datagram.carrier {
                Carrier::Udp => self.send_one(host.map(|host| &**host), datagram),
                Carrier::Tcp | Carrier::Tls { .. } => self.send_line(shared, host, datagram),
            };
            let trouble = sent.err().map(|error| {
                let Datagram { to, port, .. } = datagram;
                format!("log entries do not reach {to} port {port}: {error}")
            });
            if let Some(text) = trouble.as_ref().filter(|_| trouble != self.trouble) {
                tracing::warn!("{text}");
            }
            self.trouble = trouble;
        }
    }

    fn send_one(&mut self, host: Option<&HostPlane>, datagram: &Datagram) -> io::Result<()> {
        let any = match datagram.to {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let from = datagram.source.unwrap_or(any);
        if !self.sockets.contains_key(&from) {
            let host = host.ok_or_else(|| io::Error::other("there is no host plane"))?;
            if self.sockets.len() >= MAX_SOCKETS {
                self.sockets.clear();
            }
            let socket = host.inside(move || {
                let socket = UdpSocket::bind((from, 0))?;
                socket.set_nonblocking(true)?;
                Ok(socket)
            })?;
            self.sockets.insert(from, socket);
        }
        let sent = self.sockets[&from].send_to(&datagram.bytes, (datagram.to, datagram.port));
        if sent.is_err() {
            // The address may belong to another interface next time.
            self.sockets.remove(&from);
        }
        sent.map(drop)
    }

    /// Queues an entry for the thread of its server.
    fn send_line(
        &mut self,
        shared: &Arc<Shared>,
        host: Option<&Arc<HostPlane>>,
        datagram: &Datagram,
    ) -> io::Result<()> {
        let host = host.ok_or_else(|| io::Error::other("there is no host plane"))?;
        let server = Server {
            to: SocketAddr::new(datagram.to, datagram.port),
            name: Arc::clone(&datagram.name),
            source: datagram.source,
            carrier: datagram.carrier,
        };
        let mut bytes = datagram.bytes.clone();
        if let Some(line) = self.lines.get(&server) {
            match line.try_send(bytes) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(_)) => return Err(io::Error::other("too many are waiting")),
                // The thread has ended after idle time.
                Err(TrySendError::Disconnected(back)) => bytes = back,
            }
        }
        if self.lines.len() >= MAX_SOCKETS {
            self.lines.clear();
        }
        let (line, entries) = sync_channel(MAX_QUEUED_ENTRIES);
        let _ = line.try_send(bytes);
        let teller = Teller {
            shared: Arc::clone(shared),
            host: Arc::clone(host),
            server: server.clone(),
            trouble: None,
        };
        thread::Builder::new()
            .name("syslog".to_owned())
            .spawn(move || teller.tell(&entries))?;
        self.lines.insert(server, line);
        Ok(())
    }
}

/// Thread of a TCP server.
struct Teller {
    shared: Arc<Shared>,
    host: Arc<HostPlane>,
    server: Server,
    /// Last error, which is printed once.
    trouble: Option<String>,
}

/// A connection to a server.
enum Line {
    Plain(TcpStream),
    Secured(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Line {
    fn say(&mut self, entry: &[u8]) -> io::Result<()> {
        match self {
            // Entries have no line breaks (`visible`), which would forge further entries.
            Self::Plain(stream) => stream.write_all(&[entry, b"\n"].concat()),
            Self::Secured(stream) => {
                stream.write_all(&[format!("{} ", entry.len()).as_bytes(), entry].concat())?;
                stream.flush()
            }
        }
    }
}

impl Teller {
    /// Sends entries until the queue is closed.
    fn tell(mut self, entries: &Receiver<Vec<u8>>) {
        let mut line: Option<Line> = None;
        let mut wait = BACKOFF[0];
        let mut kept = None;
        loop {
            let entry = match kept.take() {
                Some(entry) => entry,
                None => match entries.recv_timeout(IDLE_TIMEOUT) {
                    Ok(entry) => entry,
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
                },
            };
            if line.as_mut().is_some_and(|line| line.say(&entry).is_ok()) {
                wait = BACKOFF[0];
                continue;
            }
            kept = Some(entry);
            line = match self.connect() {
                Ok(line) => {
                    self.trouble = None;
                    Some(line)
                }
                Err(why) => {
                    self.complain(why);
                    thread::sleep(wait);
                    wait = (wait * 2).min(BACKOFF[1]);
                    None
                }
            };
        }
    }

    /// Prints an error, but not to the remote log, which would send it in turn.
    fn complain(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            let Server { to, .. } = self.server;
            tracing::warn!("log entries do not reach {to}: {why}");
            self.trouble = Some(why);
        }
    }

    fn connect(&self) -> Result<Line, String> {
        let parameters = ConnectionParameters {
            host: Some(&*self.host),
            source: self.server.source,
            until: Instant::now() + SEND_TIMEOUT,
            patience: SEND_TIMEOUT,
            // Nothing interrupts it: it has a time limit.
            interrupt: &Interrupt::default(),
        };
        let stream = parameters.connect(self.server.to)?;
        let words = |error: io::Error| error.to_string();
        stream
            .set_write_timeout(Some(SEND_TIMEOUT))
            .map_err(words)?;
        let Carrier::Tls { check } = self.server.carrier else {
            return Ok(Line::Plain(stream));
        };
        stream.set_read_timeout(Some(SEND_TIMEOUT)).map_err(words)?;
        let check = match check {
            true => Check::Full,
            false => Check::Nothing,
        };
        let trust = self.shared.lock().trust();
        let config = Arc::new(tls::client(&trust, "logging", check)?);
        let name = ServerName::try_from(self.server.name.to_string());
        let name = name.map_err(|error| error.to_string())?;
        let client = ClientConnection::new(config, name).map_err(|error| error.to_string())?;
        let mut secured = StreamOwned::new(client, stream);
        while secured.conn.is_handshaking() {
            secured.conn.complete_io(&mut secured.sock).map_err(words)?;
        }
        Ok(Line::Secured(Box::new(secured)))
    }
}
