//! Sends log entries to servers, from sockets of the host plane: by UDP, or by TCP with or without TLS in a thread for
//! each server, which waits for the server so that nobody else does.

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

use crate::core::Shared;
use crate::host::HostPlane;
use crate::outgoing::Road;
use crate::trust;

/// The address that a socket sends from; none is the kernel's choice.
type From = IpAddr;

/// The sockets that were opened.
#[derive(Default)]
pub(crate) struct Syslog {
    sockets: BTreeMap<From, UdpSocket>,
    /// Servers that are told by TCP, with what waits for each.
    lines: BTreeMap<Server, SyncSender<Vec<u8>>>,
    /// What went wrong last, so that it is said once.
    trouble: Option<String>,
}

/// A server that is told by TCP, and how.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Server {
    to: SocketAddr,
    /// What its certificate is to say.
    name: Arc<str>,
    source: Option<IpAddr>,
    carrier: Carrier,
}

/// Most sockets that are kept.
const SOCKETS: usize = 16;
/// Entries that wait for a server; more are lost.
const WAITING: usize = 1_000;
/// How long a connection may take to begin, and an entry to go out.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server that cannot be reached is left alone, at first and at most.
const BACKOFF: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// A connection that nothing is said on for so long is closed.
const IDLE: Duration = Duration::from_secs(600);

impl Syslog {
    /// Sends these; what cannot be sent is lost. Nothing is waited for.
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
            if self.sockets.len() >= SOCKETS {
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
            // The address may be another interface's by the next time.
            self.sockets.remove(&from);
        }
        sent.map(drop)
    }

    /// Gives an entry to the thread of its server.
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
                Err(TrySendError::Full(_)) => return Err(io::Error::other("too many wait")),
                // Nothing was said for long: the thread has ended.
                Err(TrySendError::Disconnected(back)) => bytes = back,
            }
        }
        if self.lines.len() >= SOCKETS {
            self.lines.clear();
        }
        let (line, entries) = sync_channel(WAITING);
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

/// Who tells a server.
struct Teller {
    shared: Arc<Shared>,
    host: Arc<HostPlane>,
    server: Server,
    /// What went wrong last, so that it is said once.
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
            // An entry has no line breaks (`visible`), which would forge others.
            Self::Plain(stream) => stream.write_all(&[entry, b"\n"].concat()),
            Self::Secured(stream) => {
                stream.write_all(&[format!("{} ", entry.len()).as_bytes(), entry].concat())?;
                stream.flush()
            }
        }
    }
}

impl Teller {
    /// Tells the server what comes until nobody is there who would say something.
    fn tell(mut self, entries: &Receiver<Vec<u8>>) {
        let mut line: Option<Line> = None;
        let mut wait = BACKOFF[0];
        let mut kept = None;
        loop {
            let entry = match kept.take() {
                Some(entry) => entry,
                None => match entries.recv_timeout(IDLE) {
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

    /// Says what is wrong. Not in the log that is to be sent: it would be sent, too.
    fn complain(&mut self, why: String) {
        if self.trouble.as_ref() != Some(&why) {
            let Server { to, .. } = self.server;
            tracing::warn!("log entries do not reach {to}: {why}");
            self.trouble = Some(why);
        }
    }

    fn connect(&self) -> Result<Line, String> {
        let road = Road {
            host: Some(&*self.host),
            source: self.server.source,
            until: Instant::now() + PATIENCE,
            patience: PATIENCE,
            // Nobody stops it: it ends by itself.
            interrupt: &Interrupt::default(),
        };
        let stream = road.connect(self.server.to)?;
        let words = |error: io::Error| error.to_string();
        stream.set_write_timeout(Some(PATIENCE)).map_err(words)?;
        let Carrier::Tls { check } = self.server.carrier else {
            return Ok(Line::Plain(stream));
        };
        stream.set_read_timeout(Some(PATIENCE)).map_err(words)?;
        let check = match check {
            true => Check::Full,
            false => Check::Nothing,
        };
        let trust = self.shared.lock().trust();
        let config = Arc::new(trust::client(&trust, "logging", check)?);
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
