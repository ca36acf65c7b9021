//! The addresses of names, for scripts; and questions to one server, by UDP or TCP, with sockets.
//!
//! `:resolve` asks this router itself, which keeps answers and knows whom to ask (`feature/dns/` of the router), or
//! the server that it names.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use menu::Reason;
use router::drive::names::{Ask, Place, Server, Told, Way, is_about};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use script::{Asked, Interrupt};
use wire::dns::{Code, Kind, MESSAGE_LEN_MAX, Name, Question};

use crate::core::Shared;
use crate::host::HostPlane;

/// How often somebody who waits for an answer looks whether he is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a server has for an answer to a script, and how often it is asked.
const PATIENCE: Duration = Duration::from_secs(2);
const TRIES: usize = 4;

/// The longest datagram that a server is told to send (RFC 6891, 6.2.5), and more than that.
const DATAGRAM: usize = 4096;

/// Finds addresses of a name for a script: this router knows them, or the server that the script names.
///
/// # Errors
/// There is no such name, nobody answers, or the script is to stop.
pub(crate) fn resolve(
    shared: &Shared,
    host: Option<&HostPlane>,
    asked: &Asked<'_>,
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

/// Asks this router.
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
        thread::park_timeout(LOOK);
    }
}

/// The addresses that this router knows of a name.
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

/// Asks a server until there is an answer.
fn ask_server(
    host: Option<&HostPlane>,
    server: SocketAddr,
    message: &[u8],
    interrupt: &Interrupt,
) -> Result<Vec<u8>, Reason> {
    for _ in 0..TRIES {
        let line = Line {
            host,
            server,
            until: Instant::now() + PATIENCE,
            interrupt,
        };
        let told = line.ask(message);
        if interrupt.is_on() {
            return Err(Reason::Interrupted);
        }
        if let Told::Message(answer) = told {
            return Ok(answer);
        }
    }
    Err(no_server())
}

/// Puts a question of the router, and waits for what comes of it.
pub(crate) fn exchange(host: Option<&HostPlane>, ask: &Ask) -> Told {
    let line = |server: Server, interrupt| Line {
        host: host.filter(|_| server.place == Place::Router),
        server: server.address,
        until: Instant::now() + ask.patience,
        interrupt,
    };
    // Nobody stops it: it ends by itself.
    let interrupt = Interrupt::default();
    let told = match &ask.way {
        Way::Datagram(server) => line(*server, &interrupt).ask_by_udp(&ask.message),
        Way::Stream(server) => line(*server, &interrupt).ask_by_tcp(&ask.message).map(Some),
        Way::Secure(_) => return Told::Refused,
    };
    match told {
        Ok(Some(answer)) => Told::Message(answer),
        Ok(None) => Told::Silent,
        Err(error) if is_quiet(&error) => Told::Silent,
        Err(_) => Told::Refused,
    }
}

/// The way to a server, for one question.
struct Line<'a> {
    /// Where the sockets are; without one they are the machine's.
    host: Option<&'a HostPlane>,
    /// Who is asked.
    server: SocketAddr,
    /// How long he has; he may have once as long again where his answer is long.
    until: Instant,
    /// Who stops the waiting.
    interrupt: &'a Interrupt,
}

impl Line<'_> {
    /// Puts a question, and waits for what comes of it.
    fn ask(&self, message: &[u8]) -> Told {
        match self.ask_by_udp(message) {
            // The flag of an answer that was cut (RFC 1035, 4.1.1).
            Ok(Some(answer)) if answer[2] & 2 == 0 => Told::Message(answer),
            // What fits a datagram is better than nothing.
            Ok(Some(cut)) => Told::Message(self.ask_by_tcp(message).unwrap_or(cut)),
            Ok(None) => Told::Silent,
            Err(_) => Told::Refused,
        }
    }

    /// What the server says; nothing if it says nothing.
    fn ask_by_udp(&self, message: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let server = self.server;
        // The port is the kernel's choice, at random (RFC 5452, 9.2); others than the server are not heard.
        let socket = self.open(move || {
            let socket = UdpSocket::bind((any(server), 0))?;
            socket.connect(server)?;
            Ok(socket)
        })?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.send(message)?;
        let mut bytes = [0; DATAGRAM];
        while Instant::now() < self.until && !self.interrupt.is_on() {
            let count = match socket.recv(&mut bytes) {
                Ok(count) => count,
                Err(error) if is_quiet(&error) => continue,
                // Nobody listens there.
                Err(error) => return Err(error),
            };
            // What answers something else may be forged: the right one may still come.
            if is_about(message, &bytes[..count]) {
                return Ok(Some(bytes[..count].to_vec()));
            }
        }
        Ok(None)
    }

    /// The whole answer (RFC 1035, 4.2.2): its length in two bytes, then itself.
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
        set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
        connect(&socket, &server)?;
        let mut stream = TcpStream::from(socket);
        let length = u16::try_from(message.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes()[..], message].concat())?;
        let until = Instant::now() + PATIENCE;
        let mut length = [0; 2];
        self.read(&mut stream, &mut length, until)?;
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        self.read(&mut stream, &mut answer, until)?;
        match is_about(message, &answer) {
            true => Ok(answer),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Fills a buffer, unless that takes too long.
    fn read(&self, stream: &mut TcpStream, bytes: &mut [u8], until: Instant) -> io::Result<()> {
        stream.set_read_timeout(Some(LOOK))?;
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
    // The standard library seeds this from the system, each time anew.
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

    /// An answer to a question: how many addresses, and whether it was cut.
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
    fn what_is_forged_is_passed_over_and_what_was_cut_is_asked_for_by_tcp() {
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
        let Told::Message(answer) = told else {
            panic!("{told:?}")
        };
        let answer = question.answer(&answer).expect("an answer");
        let found: Vec<_> = answer.addresses.collect();
        assert_eq!((found.len(), found[0].ttl), (200, 60));
    }
}
