//! Sends log entries to servers, from sockets of the host plane: by UDP, or by TCP in a thread for each server, which
//! waits for the server so that nobody else does.

use std::collections::BTreeMap;
use std::io;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use router::drive::log::{Carrier, Datagram};
use script::Interrupt;

use crate::host::HostPlane;
use crate::outgoing::Road;

/// The address that a socket sends from; none is the kernel's choice.
type From = IpAddr;

/// The sockets that were opened.
#[derive(Default)]
pub(crate) struct Syslog {
    sockets: BTreeMap<From, UdpSocket>,
    /// Servers that are told by TCP, with what waits for each.
    lines: BTreeMap<(SocketAddr, Option<IpAddr>), SyncSender<Vec<u8>>>,
    /// What went wrong last, so that it is said once.
    trouble: Option<String>,
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
    pub(crate) fn send(&mut self, host: Option<&Arc<HostPlane>>, datagrams: &[Datagram]) {
        for datagram in datagrams {
            let sent = match datagram.carrier {
                Carrier::Udp => self.send_one(host.map(|host| &**host), datagram),
                Carrier::Tcp => self.send_line(host, datagram),
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
    fn send_line(&mut self, host: Option<&Arc<HostPlane>>, datagram: &Datagram) -> io::Result<()> {
        let host = host.ok_or_else(|| io::Error::other("there is no host plane"))?;
        let to = SocketAddr::new(datagram.to, datagram.port);
        let key = (to, datagram.source);
        let mut bytes = datagram.bytes.clone();
        if let Some(line) = self.lines.get(&key) {
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
        let (host, source) = (Arc::clone(host), datagram.source);
        thread::Builder::new()
            .name("syslog".to_owned())
            .spawn(move || tell(&host, (to, source), &entries))?;
        self.lines.insert(key, line);
        Ok(())
    }
}

/// Tells a server what comes, one entry a line, until nobody is there who would say something.
fn tell(host: &HostPlane, (to, source): (SocketAddr, Option<IpAddr>), entries: &Receiver<Vec<u8>>) {
    let mut stream: Option<TcpStream> = None;
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
        // An entry has no line breaks (`visible`), which would forge others.
        let line = [&entry[..], b"\n"].concat();
        let sent = match &mut stream {
            Some(stream) => stream.write_all(&line).map_err(|error| error.to_string()),
            None => Err(String::new()),
        };
        if sent.is_ok() {
            wait = BACKOFF[0];
            continue;
        }
        kept = Some(entry);
        let road = Road {
            host: Some(host),
            source,
            until: Instant::now() + PATIENCE,
            patience: PATIENCE,
            // Nobody stops it: it ends by itself.
            interrupt: &Interrupt::default(),
        };
        stream = road.connect(to).ok();
        if let Some(stream) = &stream {
            let _ = stream.set_write_timeout(Some(PATIENCE));
        } else {
            thread::sleep(wait);
            wait = (wait * 2).min(BACKOFF[1]);
        }
    }
}
