//! The server of tests (`/tool/bandwidth-server`), as a machine: all its connections and sessions.
//!
//! ```text
//! Accepted ─▶ hello ─▶ command ─▶ accepted ───────────────────────────────────▶ session
//!                        ├▶ challenge ─▶ answer ─▶ Ask, Credential ─▶ accepted
//!                        └▶ exchange ─▶ point ─▶ Ask, Credential ─▶ proofs ─▶ accepted
//!                      join ─▶ accepted ─▶ a further connection of a session
//! UDP: OpenUdp, UdpOpened ─▶ accepted, port
//! ```
//!
//! A session is named after its first connection. After [`Action::Begin`] the driver sends what
//! [`Server::flow`] allows, on all connections of the session alike, or to [`Server::destination`].

mod handshake;
mod session;

use std::collections::BTreeMap;
use std::net::IpAddr;

use machine::{Duration, Instant, Machine};

use crate::curve::Public;
use crate::flow::Flow;
use crate::inbox::Inbox;
use crate::md5;
use crate::password::Password;
use crate::reason::Reason;
use crate::srp::{Proofs, Verifier};
use crate::wire::{CHALLENGE_LEN, Command, HELLO};

use session::Session;
pub use session::View;

/// How long a client may take for each step of the handshake, and further connections to join.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most connections that have no test yet.
const HANDSHAKES: usize = 512;

/// A TCP connection to the server, as its driver numbers them. No number comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u64);

/// How users prove who they are. A client cannot choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// RouterOS: `authenticate=no`.
    None,
    /// As before RouterOS 6.43.
    Md5,
    /// As from RouterOS 6.43 on.
    EcSrp5,
}

/// The server's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How users prove who they are.
    pub authentication: Authentication,
    /// Most tests at a time. RouterOS: 1 to 1000, 100 where nobody says.
    pub max_sessions: usize,
}

/// What the driver knows of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// There is no such user, or he may not test.
    Unknown,
    /// His password. MD5 needs it.
    Password(Password),
    /// What proves his password by EC-SRP5.
    Verifier(Verifier),
}

/// What happens to a server.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A client has connected.
    Accepted {
        /// The connection.
        connection: Connection,
        /// The client.
        peer: IpAddr,
        /// Bytes that nobody can guess.
        random: Box<[u8; 64]>,
    },
    /// Bytes arrived on a connection.
    Received(Connection, &'a [u8]),
    /// The other end has closed a connection, or it is broken.
    Closed(Connection),
    /// What is known of the user that was asked for.
    Credential(Connection, Credential),
    /// The socket that was asked for is open at this port.
    UdpOpened(Connection, u16),
    /// No port is free.
    UdpFailed(Connection),
    /// A datagram came to a session's socket.
    Datagram {
        /// The session.
        session: Connection,
        /// The port that it came from. A driver drops what does not come from the session's peer.
        port: u16,
        /// Its payload.
        datagram: &'a [u8],
    },
    /// The operator ends a session.
    Stop(Connection),
}

/// What a server wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send on a connection, between data where they flow.
    Send(Connection, Vec<u8>),
    /// Say what is known of a user.
    Ask(Connection, String),
    /// Open a UDP socket for a session with this peer, at the first free port.
    OpenUdp(Connection, IpAddr),
    /// A session's data may flow; by TCP on these connections.
    Begin(Connection, Vec<Connection>),
    /// Close a connection when what was to be sent is sent.
    Close(Connection, Reason),
    /// A session is over: close its socket. Its connections are closed by actions of their own.
    Ended(Connection, Reason),
}

/// The timers of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A client takes too long.
    Handshake,
    /// A session's second ends.
    Second,
}

/// A server.
pub struct Server {
    settings: Settings,
    /// What makes verifiers for users that do not exist.
    secret: [u8; 32],
    cpu_percent: u8,
    links: BTreeMap<Connection, Link>,
    sessions: BTreeMap<Connection, Session>,
    /// How many links have no test yet.
    handshakes: usize,
}

/// A connection.
struct Link {
    peer: IpAddr,
    random: Box<[u8; 64]>,
    inbox: Inbox,
    stage: Stage,
    /// When the stage began.
    since: Instant,
}

/// Where a connection is.
enum Stage {
    /// Waits for a command, or a request to join.
    Command,
    /// Waits for the answer to a challenge.
    Answer(Command),
    /// Waits for what is known of the user who answered.
    AskedPassword(Command, Box<md5::Answer>),
    /// Waits for a client's name and point.
    Exchange(Command),
    /// Waits for what is known of that user.
    AskedVerifier(Command, Box<(String, Public)>),
    /// Waits for the client's proof.
    Proof(Command, Box<(String, Proofs)>),
    /// Is the first one of a session.
    First,
    /// Belongs to a session.
    Further(Connection),
}

impl Stage {
    const fn has_test(&self) -> bool {
        matches!(self, Self::First | Self::Further(_))
    }
}

impl Link {
    fn enter(&mut self, stage: Stage, now: Instant) {
        self.stage = stage;
        self.since = now;
    }

    /// What makes a secret of the exchange.
    fn secret(&self) -> [u8; 32] {
        self.random_part(0)
    }

    /// The challenge of MD5.
    fn challenge(&self) -> [u8; CHALLENGE_LEN] {
        self.random_part(32)
    }

    /// What makes a token.
    fn token(&self) -> u16 {
        u16::from_be_bytes(self.random_part(48))
    }

    fn random_part<const N: usize>(&self, at: usize) -> [u8; N] {
        core::array::from_fn(|offset| self.random[at + offset])
    }
}

impl Server {
    /// A server without connections. `secret` are 32 random bytes that nobody can guess. They make
    /// the salts of users that are not known; if they change, who compares salts finds out who is.
    pub const fn new(settings: Settings, secret: [u8; 32]) -> Self {
        Self {
            settings,
            secret,
            cpu_percent: 0,
            links: BTreeMap::new(),
            sessions: BTreeMap::new(),
            handshakes: 0,
        }
    }

    /// Changes the configuration. Tests that run go on.
    pub const fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// The configuration.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets this end's load in percent, which clients are told.
    pub fn set_cpu_percent(&mut self, percent: u8) {
        self.cpu_percent = percent;
    }

    /// What a session may send; None where it sends nothing, or not now.
    pub fn flow(&mut self, session: Connection) -> Option<&mut Flow> {
        self.sessions.get_mut(&session)?.data.flow()
    }

    /// The peer's port that the next datagram of a session goes to: each of those that datagrams
    /// came from in turn.
    pub fn destination(&mut self, session: Connection) -> Option<u16> {
        self.sessions.get_mut(&session)?.destination()
    }

    /// The sessions, in the order of their connections' numbers.
    pub fn sessions(&self, now: Instant) -> impl Iterator<Item = View<'_>> {
        let sessions = self.sessions.iter();
        sessions.map(move |(connection, session)| session.view(*connection, now))
    }

    fn accepted(
        &mut self,
        connection: Connection,
        peer: IpAddr,
        random: Box<[u8; 64]>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if self.links.contains_key(&connection) {
            return;
        }
        if self.handshakes >= HANDSHAKES {
            out.push(Action::Close(connection, Reason::Connections));
            return;
        }
        let link = Link {
            peer,
            random,
            inbox: Inbox::default(),
            stage: Stage::Command,
            since: now,
        };
        self.links.insert(connection, link);
        self.handshakes += 1;
        out.push(Action::Send(connection, HELLO.to_vec()));
    }

    fn received(
        &mut self,
        connection: Connection,
        mut bytes: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        loop {
            let Some(link) = self.links.get(&connection) else {
                return;
            };
            let session = match link.stage {
                Stage::First => connection,
                Stage::Further(session) => session,
                _ => match self.step(connection, &mut bytes, now, out) {
                    Ok(true) => continue,
                    Ok(false) => return,
                    Err(reason) => return self.close(connection, reason, out),
                },
            };
            return self.data_received(session, connection, bytes, out);
        }
    }

    fn data_received(
        &mut self,
        session: Connection,
        connection: Connection,
        bytes: &[u8],
        out: &mut Vec<Action>,
    ) {
        let Some(running) = self.sessions.get_mut(&session) else {
            return;
        };
        if let Err(reason) = running.data.receive(connection.0, bytes) {
            self.end(session, reason, out);
        }
    }

    /// Forgets a connection, and has the driver close it.
    fn close(&mut self, connection: Connection, reason: Reason, out: &mut Vec<Action>) {
        if self.sessions.contains_key(&connection) {
            return self.end(connection, reason, out);
        }
        if self.forget(connection) {
            out.push(Action::Close(connection, reason));
        }
    }

    /// Ends a session and closes its connections.
    fn end(&mut self, session: Connection, reason: Reason, out: &mut Vec<Action>) {
        let Some(ended) = self.sessions.remove(&session) else {
            return;
        };
        for line in ended.data.lines().map(Connection) {
            let why = if line == session {
                reason
            } else {
                Reason::TestEnded
            };
            if self.forget(line) {
                out.push(Action::Close(line, why));
            }
        }
        out.push(Action::Ended(session, reason));
    }

    /// The driver says that a connection is closed.
    fn closed(&mut self, connection: Connection, out: &mut Vec<Action>) {
        let Some(link) = self.links.get(&connection) else {
            return;
        };
        if let Stage::Further(session) = link.stage
            && let Some(session) = self.sessions.get_mut(&session)
        {
            session.data.remove(connection.0);
        }
        self.forget(connection);
        self.end(connection, Reason::Closed, out);
    }

    /// Forgets a connection. Whether it was known.
    fn forget(&mut self, connection: Connection) -> bool {
        let Some(link) = self.links.remove(&connection) else {
            return false;
        };
        if !link.stage.has_test() {
            self.handshakes -= 1;
        }
        true
    }
}

impl Machine for Server {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Accepted {
                connection,
                peer,
                random,
            } => self.accepted(connection, peer, random, now, out),
            Event::Received(connection, bytes) => self.received(connection, bytes, now, out),
            Event::Closed(connection) => self.closed(connection, out),
            Event::Credential(connection, credential) => {
                if let Err(reason) = self.credential(connection, credential, now, out) {
                    self.close(connection, reason, out);
                }
            }
            Event::UdpOpened(session, port) => self.udp_opened(session, port, now, out),
            Event::UdpFailed(session) => self.udp_failed(session, out),
            Event::Datagram {
                session,
                port,
                datagram,
            } => {
                if let Some(session) = self.sessions.get_mut(&session) {
                    session.data.receive_datagram(port, datagram);
                }
            }
            Event::Stop(session) => self.end(session, Reason::Stopped, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        let late = self.links.iter().filter(|(_, link)| {
            let waits = !link.stage.has_test();
            waits && link.since + PATIENCE <= now
        });
        let late: Vec<_> = late.map(|(connection, _)| *connection).collect();
        for connection in late {
            self.close(connection, Reason::Timeout, out);
        }
        let mut messages = Vec::new();
        for (connection, session) in &mut self.sessions {
            session.data.set_cpu_percent(self.cpu_percent);
            session.data.tick(now, &mut messages);
            if session.is_late(now) {
                session.begin(*connection, now, out);
            }
        }
        let send = |(line, message): (u64, [u8; _])| Action::Send(Connection(line), message.into());
        out.extend(messages.into_iter().map(send));
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let links = self.links.values().filter(|link| !link.stage.has_test());
        let links = links.map(|link| (link.since + PATIENCE, Timer::Handshake));
        let sessions = self.sessions.values().filter_map(Session::deadline);
        links.chain(sessions).min_by_key(|(at, _)| *at)
    }
}
