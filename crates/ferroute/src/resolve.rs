//! The addresses of names: a script asks a server, from the router's own sockets, or the resolver of
//! the machine that the router runs on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use menu::Reason;
use script::{Asked, Interrupt};
use wire::dns::{Code, Kind, MESSAGE_LEN_MAX, Name, Question};

use crate::host::HostPlane;

/// How often a script that waits for an answer looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a server has for an answer before it is asked again, and how often it is asked.
const PATIENCE: Duration = Duration::from_secs(2);
const TRIES: usize = 4;

/// Finds addresses of a name.
///
/// # Errors
/// There is no such name, nobody answers, or the script is to stop.
pub(crate) fn resolve(
    host: Option<&HostPlane>,
    asked: &Asked<'_>,
    interrupt: &Interrupt,
) -> Result<Vec<IpAddr>, Reason> {
    let Some(server) = asked.server else {
        return ask_system(asked.name, interrupt);
    };
    let name = Name::new(asked.name).ok_or_else(no_name)?;
    // Without a host plane the machine's sockets are the router's.
    let socket = match host {
        Some(host) => host.inside(move || connected(server)),
        None => connected(server),
    };
    let socket = socket.map_err(|error| {
        let text = format!("dns server {} cannot be asked: {error}", server.ip());
        Reason::failure(text)
    })?;
    for v4 in asked.families {
        let question = Question {
            id: random(),
            name,
            kind: if *v4 { Kind::A } else { Kind::Aaaa },
        };
        let found = ask(&socket, &question, interrupt)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(no_name())
}

fn no_name() -> Reason {
    Reason::failure("dns name does not exist")
}

fn no_answer() -> Reason {
    Reason::failure("dns server failure")
}

/// A socket that hears that server alone. The port is the kernel's choice, at random (RFC 5452, 9.2).
fn connected(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

fn random() -> u16 {
    use std::hash::{BuildHasher as _, RandomState};
    // The standard library seeds this from the system, each time anew.
    RandomState::new().hash_one(0) as u16
}

/// Asks until there is an answer; no address if the name has none of the kind.
fn ask(
    socket: &UdpSocket,
    question: &Question,
    interrupt: &Interrupt,
) -> Result<Vec<IpAddr>, Reason> {
    let mut bytes = [0; MESSAGE_LEN_MAX];
    let message = question.emit(&mut bytes);
    for _ in 0..TRIES {
        let until = Instant::now() + PATIENCE;
        socket.send(message).map_err(|_| no_answer())?;
        if let Some(found) = hear(socket, question, until, interrupt)? {
            return Ok(found);
        }
    }
    Err(no_answer())
}

/// Waits for the answer; none if there is none until then.
fn hear(
    socket: &UdpSocket,
    question: &Question,
    until: Instant,
    interrupt: &Interrupt,
) -> Result<Option<Vec<IpAddr>>, Reason> {
    let mut bytes = [0; MESSAGE_LEN_MAX];
    while Instant::now() < until {
        if interrupt.is_on() {
            return Err(Reason::Interrupted);
        }
        let count = match socket.recv(&mut bytes) {
            Ok(count) => count,
            Err(error) if is_quiet(&error) => continue,
            // Nobody listens there.
            Err(_) => return Err(no_answer()),
        };
        // What answers something else may be forged: the right one may still come.
        let Ok(answer) = question.answer(&bytes[..count]) else {
            continue;
        };
        return match answer.code {
            Code::NoError => Ok(Some(answer.addresses.collect())),
            Code::NoName => Err(no_name()),
            Code::Other(_) => Err(no_answer()),
        };
    }
    Ok(None)
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
            Ok(Err(_)) => return Err(Reason::failure("dns name does not exist")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Err(Reason::Interrupted)
}
