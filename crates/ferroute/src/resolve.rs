//! The addresses of names: a question to one server, by UDP and, where its answer does not fit, by TCP;
//! and what `:resolve` makes of it. Without servers of its own, a router asks the resolver of the machine
//! that it runs on.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use menu::Reason;
use router::drive::names::Heard;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use script::{Asked, Interrupt};
use wire::dns::{Answer, Code, Kind, MESSAGE_LEN_MAX, Name, Question};

use crate::host::HostPlane;

/// How often somebody who waits for an answer looks whether he is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a server has for an answer to a script, and how often servers are asked.
const PATIENCE: Duration = Duration::from_secs(2);
const TRIES: usize = 4;

/// Finds addresses of a name for a script; `servers` are asked in turn where it says none.
///
/// # Errors
/// There is no such name, nobody answers, or the script is to stop.
pub(crate) fn resolve(
    host: Option<&HostPlane>,
    servers: &[SocketAddr],
    asked: &Asked<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<IpAddr>, Reason> {
    let said = asked.server.as_slice();
    let servers = if said.is_empty() { servers } else { said };
    if servers.is_empty() {
        return ask_system(asked.name, interrupt);
    }
    let name = Name::new(asked.name).ok_or_else(no_name)?;
    for v4 in asked.families {
        let kind = if *v4 { Kind::A } else { Kind::Aaaa };
        let found = ask(host, servers, (name, kind), interrupt)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(no_name())
}

fn no_name() -> Reason {
    Reason::failure("dns name does not exist")
}

/// Asks until there is an answer; no address if the name has none of the kind.
fn ask(
    host: Option<&HostPlane>,
    servers: &[SocketAddr],
    (name, kind): (Name, Kind),
    interrupt: &Interrupt,
) -> Result<Vec<IpAddr>, Reason> {
    for server in servers.iter().cycle().take(TRIES.max(servers.len())) {
        let line = Line {
            host,
            server: *server,
            until: Instant::now() + PATIENCE,
            interrupt,
        };
        let heard = line.ask(name, kind);
        if interrupt.is_on() {
            return Err(Reason::Interrupted);
        }
        match heard {
            Heard::Addresses(found) => {
                return Ok(found.into_iter().map(|found| found.address).collect());
            }
            Heard::NoName => return Err(no_name()),
            // Another may know it.
            Heard::Refused | Heard::Silent => {}
        }
    }
    Err(Reason::failure("dns server failure"))
}

/// The way to a server, for one question.
pub(crate) struct Line<'a> {
    /// Where the sockets are; without one they are the machine's.
    pub(crate) host: Option<&'a HostPlane>,
    /// Who is asked.
    pub(crate) server: SocketAddr,
    /// How long he has; he may have once as long again where his answer is long.
    pub(crate) until: Instant,
    /// Who stops the waiting.
    pub(crate) interrupt: &'a Interrupt,
}

impl Line<'_> {
    /// Puts a question, and waits for what comes of it.
    pub(crate) fn ask(&self, name: Name, kind: Kind) -> Heard {
        let id = random();
        let question = Question { id, name, kind };
        match self.ask_by_udp(&question) {
            Ok(Some((heard, false))) => heard,
            // What fits a datagram is better than nothing.
            Ok(Some((heard, true))) => match self.ask_by_tcp(&question) {
                Ok(heard) => heard,
                Err(_) => heard,
            },
            Ok(None) => Heard::Silent,
            Err(_) => Heard::Refused,
        }
    }

    /// What the server says, and whether there is more of it; nothing if it says nothing.
    fn ask_by_udp(&self, question: &Question) -> io::Result<Option<(Heard, bool)>> {
        let server = self.server;
        // The port is the kernel's choice, at random (RFC 5452, 9.2); others than the server are not heard.
        let socket = self.open(move || {
            let socket = UdpSocket::bind((any(server), 0))?;
            socket.connect(server)?;
            Ok(socket)
        })?;
        socket.set_read_timeout(Some(LOOK))?;
        let mut bytes = [0; MESSAGE_LEN_MAX];
        socket.send(question.emit(&mut bytes))?;
        while Instant::now() < self.until && !self.interrupt.is_on() {
            let count = match socket.recv(&mut bytes) {
                Ok(count) => count,
                Err(error) if is_quiet(&error) => continue,
                // Nobody listens there.
                Err(error) => return Err(error),
            };
            // What answers something else may be forged: the right one may still come.
            if let Ok(answer) = question.answer(&bytes[..count]) {
                let more = answer.truncated;
                return Ok(Some((heard(answer), more)));
            }
        }
        Ok(None)
    }

    /// The whole answer (RFC 1035, 4.2.2): its length in two bytes, then itself.
    fn ask_by_tcp(&self, question: &Question) -> io::Result<Heard> {
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
        let mut bytes = [0; MESSAGE_LEN_MAX];
        let message = question.emit(&mut bytes);
        let length = (message.len() as u16).to_be_bytes();
        stream.write_all(&[&length, message].concat())?;
        let until = Instant::now() + PATIENCE;
        let mut length = [0; 2];
        self.read(&mut stream, &mut length, until)?;
        let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
        self.read(&mut stream, &mut answer, until)?;
        let answer = question.answer(&answer);
        let answer = answer.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(heard(answer))
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

fn heard(answer: Answer<'_>) -> Heard {
    match answer.code {
        Code::NoError => Heard::Addresses(answer.addresses.collect()),
        Code::NoName => Heard::NoName,
        Code::Other(_) => Heard::Refused,
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

/// Asks the host's resolver. It cannot be interrupted: who is stopped leaves it behind.
fn ask_system(name: &str, interrupt: &Interrupt) -> Result<Vec<IpAddr>, Reason> {
    let (tell, told) = channel();
    let name = name.to_owned();
    let thread = thread::Builder::new().name("resolver".to_owned());
    let asked = thread.spawn(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        let found = found.map(|all| all.map(|address| address.ip()).collect());
        let _ = tell.send(found);
    });
    asked.map_err(|error| Reason::failure(format!("nobody can ask: {error}")))?;
    while !interrupt.is_on() {
        match told.recv_timeout(LOOK) {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(_)) => return Err(no_name()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Err(Reason::Interrupted)
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

        let heard = line.ask(Name::new("a.example").expect("a name"), Kind::A);

        served.join().expect("the server had its questions");
        let Heard::Addresses(found) = heard else {
            panic!("{heard:?}")
        };
        assert_eq!((found.len(), found[0].ttl), (200, 60));
    }
}
