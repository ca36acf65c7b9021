//! Name resolution of scripts, and DNS queries to one server by UDP or TCP.
//!
//! `:resolve` asks the router's own resolver, which caches answers and knows the servers (`feature/dns/` of the
//! router), or the server that it names.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use menu::Reason;
use router::drive::names::{Ask, NetworkStack, QueryResult, Server, Transport, is_about};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use script::{Interrupt, NameQuery};
use wire::dns::{Code, Kind, MESSAGE_LEN_MAX, Name, Question};

use crate::host::HostPlane;
use crate::run::shared::Shared;

/// Interval of checks for an interrupt during a wait.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Timeout of a script's query, and number of attempts.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 4;

/// Advertised UDP payload size is below this (RFC 6891, 6.2.5).
const DATAGRAM_BYTES: usize = 4096;

/// Resolves a name for a script, by the router or by the server that the script names.
///
/// # Errors
/// The name does not exist, no server answers, or the script was interrupted.
pub(crate) fn resolve(
    shared: &Shared,
    host: Option<&HostPlane>,
    asked: &NameQuery<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<IpAddr>, Reason> {
    let name = Name::new(asked.name).ok_or_else(no_name)?;
    for v4 in asked.families {
        let question = Question {
            id: random(),
            name,
            kind: if *v4 { Kind::A } else { Kind::Aaaa },
        };
        let mut bytes = [0; MESSAGE_LEN_MAX];
        let message = question.emit(&mut bytes);
        let answer = match asked.server {
            Some(server) => ask_server(host, server, message, interrupt),
            None => ask_router(shared, message, interrupt),
        }?;
        let read = question.answer(&answer).map_err(|_| no_server())?;
        let found: Vec<_> = read.addresses.map(|found| found.address).collect();
        match read.code {
            Code::NoError if found.is_empty() => {}
            Code::NoError => return Ok(found),
            Code::NoName => return Err(no_name()),
            Code::Other(_) => return Err(no_server()),
        }
    }
    Err(no_name())
}

fn no_name() -> Reason {
    Reason::failure("dns name does not exist")
}

fn no_server() -> Reason {
    Reason::failure("dns server failure")
}

/// Wakes a thread that waits for an answer.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Sends a query to the router's resolver.
fn ask_router(shared: &Shared, message: &[u8], interrupt: &Interrupt) -> Result<Vec<u8>, Reason> {
    let waker = Waker::from(Arc::new(Waiting(thread::current())));
    let ticket = shared.ask_name(message, &waker).ok_or_else(no_server)?;
    loop {
        if let Some(answer) = shared.lock().control().take_answer(ticket, &waker) {
            return Ok(answer);
        }
        if interrupt.is_on() {
            shared.lock().control().forget_answer(ticket);
            return Err(Reason::Interrupted);
        }
        thread::park_timeout(CHECK_INTERVAL);
    }
}

/// Returns the addresses of a name from the router's resolver.
pub(crate) fn addresses_of(shared: &Shared, name: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for kind in [Kind::A, Kind::Aaaa] {
        let Some(name) = Name::new(name) else {
            break;
        };
        let id = random();
        let question = Question { id, name, kind };
        let mut bytes = [0; MESSAGE_LEN_MAX];
        let answer = ask_router(shared, question.emit(&mut bytes), &Interrupt::default());
        if let Ok(answer) = answer
            && let Ok(answer) = question.answer(&answer)
        {
            found.extend(answer.addresses.map(|found| found.address));
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// Queries a server until it answers.
fn ask_server(
    host: Option<&HostPlane>,
    server: SocketAddr,
    message: &[u8],
    interrupt: &Interrupt,
) -> Result<Vec<u8>, Reason> {
    for _ in 0..ATTEMPTS {
        let line = Line {
            host,
            server,
            until: Instant::now() + ANSWER_TIMEOUT,
            interrupt,
        };
        let told = line.ask(message);
        if interrupt.is_on() {
            return Err(Reason::Interrupted);
        }
        if let QueryResult::Message(answer) = told {
            return Ok(answer);
        }
    }
    Err(no_server())
}

/// Sends a query of the router, and waits for the result.
pub(crate) fn exchange(host: Option<&HostPlane>, ask: &Ask) -> QueryResult {
    let line = |server: Server, interrupt| Line {
        host: host.filter(|_| server.place == NetworkStack::Router),
        server: server.address,
        until: Instant::now() + ask.patience,
        interrupt,
    };
    // Nothing interrupts it: it has a time limit.
    let interrupt = Interrupt::default();
    let told = match &ask.way {
        Transport::Datagram(server) => line(*server, &interrupt).ask_by_udp(&ask.message),
        Transport::Stream(server) => line(*server, &interrupt).ask_by_tcp(&ask.message).map(Some),
        Transport::Secure(_) => return QueryResult::Refused,
    };
    match told {
        Ok(Some(answer)) => QueryResult::Message(answer),
        Ok(None) => QueryResult::Silent,
        Err(error) if is_quiet(&error) => QueryResult::Silent,
        Err(_) => QueryResult::Refused,
    }
}

/// Transport of one query to a server.
struct Line<'a> {
    /// Host plane of the sockets; `None` uses the machine's namespace.
    host: Option<&'a HostPlane>,
    /// Address of the server.
    server: SocketAddr,
    /// Deadline; a truncated answer extends it once by the same time for TCP.
    until: Instant,
    /// Interrupt of the wait.
    interrupt: &'a Interrupt,
}

impl Line<'_> {
    /// Sends a query, and waits for the result.
    fn ask(&self, message: &[u8]) -> QueryResult {
        match self.ask_by_udp(message) {
            // TC flag (RFC 1035, 4.1.1).
            Ok(Some(answer)) if answer[2] & 2 == 0 => QueryResult::Message(answer),
            // A truncated answer is better than none.
            Ok(Some(cut)) => QueryResult::Message(self.ask_by_tcp(message).unwrap_or(cut)),
            Ok(None) => QueryResult::Silent,
            Err(_) => QueryResult::Refused,
        }
    }

    /// Queries by UDP; `None` on timeout.
    fn ask_by_udp(&self, message: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let server = self.server;
        // The kernel selects a random port (RFC 5452, 9.2); the connected socket receives from the server only.
        let socket = self.open(move || {
            let socket = UdpSocket::bind((any(server), 0))?;
            socket.connect(server)?;
            Ok(socket)
        })?;
        socket.set_read_timeout(Some(CHECK_INTERVAL))?;
        socket.send(message)?;
        let mut bytes = [0; DATAGRAM_BYTES];
        while Instant::now() < self.until && !self.interrupt.is_on() {
            let count = match socket.recv(&mut bytes) {
                Ok(count) => count,
                Err(error) if is_quiet(&error) => continue,
                // No listener on that port.
                Err(error) => return Err(error),
            };
            // An answer to another query may be forged: wait for the right one.
            if is_about(message, &bytes[..count]) {
                return Ok(Some(bytes[..count].to_vec()));
            }
        }
        Ok(None)
    }

    /// Queries by TCP: a message has a two-byte length prefix (RFC 1035, 4.2.2).
    fn ask_by_tcp(&self, message: &[u8]) -> io::Result<Vec<u8>> {
        let server = self.server;
        let family = match server {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let socket = self.open(move || {
            let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
            Ok(socket_with(family, kind, flags, None)?)
        })?;
        set_socket_timeout(&socket, Timeout::Send, Some(ANSWER_TIMEOUT))?;
        connect(&socket, &server)?;
        let mut stream = TcpStream::from(socket);
        let length = u16::try_from(message.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes()[..], message].concat())?;
        let until = Instant::now() + ANSWER_TIMEOUT;
        let mut length = [0; 2];
        self.read(&mut stream, &mut length, until)?;
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        self.read(&mut stream, &mut answer, until)?;
        match is_about(message, &answer) {
            true => Ok(answer),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Fills a buffer before the deadline.
    fn read(&self, stream: &mut TcpStream, bytes: &mut [u8], until: Instant) -> io::Result<()> {
        stream.set_read_timeout(Some(CHECK_INTERVAL))?;
        let mut filled = 0;
        while filled < bytes.len() {
            if Instant::now() >= until || self.interrupt.is_on() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match stream.read(&mut bytes[filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if is_quiet(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn open<T: Send + 'static>(
        &self,
        open: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match self.host {
            Some(host) => host.inside(open),
            None => open(),
        }
    }
}

fn any(server: SocketAddr) -> IpAddr {
    match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn random() -> u16 {
    use std::hash::{BuildHasher as _, RandomState};
    // The standard library seeds this from the system each time.
    RandomState::new().hash_one(0) as u16
}

fn is_quiet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Builds an answer with this number of addresses; `cut` sets the TC flag.
    fn answer(question: &[u8], addresses: u8, cut: bool) -> Vec<u8> {
        let mut answer = question.to_vec();
        answer[2..4].copy_from_slice(if cut { &[0x83, 0x80] } else { &[0x81, 0x80] });
        answer[7] = addresses;
        for last in 0..addresses {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last]);
        }
        answer
    }

    #[test]
    fn forged_answers_are_ignored_and_truncated_ones_repeated_by_tcp() {
        let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let server = datagrams.local_addr().expect("its address");
        let streams = TcpListener::bind(server).expect("the same port");
        let served = thread::spawn(move || {
            let mut bytes = [0; 512];
            let (count, from) = datagrams.recv_from(&mut bytes).expect("a question");
            let question = &bytes[..count];
            let mut forged = answer(question, 9, false);
            forged[1] ^= 1;
            for sent in [&forged, &answer(question, 2, true)] {
                datagrams.send_to(sent, from).expect("it is sent");
            }
            let (mut stream, _) = streams.accept().expect("a connection");
            let count = stream.read(&mut bytes).expect("a question");
            let whole = answer(&bytes[2..count], 200, false);
            let length = (whole.len() as u16).to_be_bytes();
            for part in [&length[..1], &length[1..], &whole[..700], &whole[700..]] {
                stream.write_all(part).expect("it is sent");
            }
        });
        let line = Line {
            host: None,
            server,
            until: Instant::now() + Duration::from_secs(20),
            interrupt: &Interrupt::default(),
        };

        let question = Question {
            id: 7,
            name: Name::new("a.example").expect("a name"),
            kind: Kind::A,
        };
        let told = line.ask(question.emit(&mut [0; MESSAGE_LEN_MAX]));

        served.join().expect("the server had its questions");
        let QueryResult::Message(answer) = told else {
            panic!("{told:?}")
        };
        let answer = question.answer(&answer).expect("an answer");
        let found: Vec<_> = answer.addresses.collect();
        assert_eq!((found.len(), found[0].ttl), (200, 60));
    }
}
