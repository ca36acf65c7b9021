//! Server of bandwidth tests (`/tool/bandwidth-server`) as a state machine, with all connections and sessions.
//!
//! ```text
//! Accepted ─▶ hello ─▶ command ─▶ accepted ───────────────────────────────────▶ session
//!                        ├▶ challenge ─▶ answer ─▶ Ask, Credential ─▶ accepted
//!                        └▶ exchange ─▶ point ─▶ Ask, Credential ─▶ proofs ─▶ accepted
//!                      join ─▶ accepted ─▶ a further connection of a session
//! UDP: OpenUdp, UdpOpened ─▶ accepted, port
//! ```
//!
//! The first connection gives the session its number. After [`Action::Begin`] the driver sends what
//! [`Server::flow`] allows, evenly on all connections of the session, or to [`Server::destination`].

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

/// Time limit of each handshake step, and of further connections to join.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections without a test.
const MAX_HANDSHAKES: usize = 512;
/// Maximum number of connections without a test per source, besides those that its tests still expect.
const MAX_HANDSHAKES_PER_SOURCE: usize = 24;

/// Number of a TCP connection, assigned by the driver and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u64);

/// Authentication of users. The server chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// RouterOS: `authenticate=no`.
    None,
    /// MD5, as before RouterOS 6.43.
    Md5,
    /// EC-SRP5, as since RouterOS 6.43.
    EcSrp5,
}

/// Configuration of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Authentication of users.
    pub authentication: Authentication,
    /// Maximum number of concurrent tests. RouterOS: 1 to 1000, default 100.
    pub max_sessions: usize,
}

/// Credentials of a user, as the driver knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// Unknown user, or a user without the right to test.
    Unknown,
    /// Password; required for MD5.
    Password(Password),
    /// EC-SRP5 verifier of the password.
    Verifier(Verifier),
}

/// Input of a server.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A client connected.
    Accepted {
        /// The connection.
        connection: Connection,
        /// Address of the client.
        peer: IpAddr,
        /// Address or network for which limits are counted.
        source: IpAddr,
        /// Cryptographically secure random bytes.
        random: Box<[u8; 64]>,
    },
    /// Bytes arrived on a connection.
    Received(Connection, &'a [u8]),
    /// A connection was closed by the other end, or failed.
    Closed(Connection),
    /// Credentials of the requested user.
    Credential(Connection, Credential),
    /// The requested UDP socket is open at this port.
    UdpOpened(Connection, u16),
    /// No UDP port is free.
    UdpFailed(Connection),
    /// A datagram arrived at a session's socket.
    Datagram {
        /// The session.
        session: Connection,
        /// Source port. The driver drops datagrams from other hosts than the session's peer.
        port: u16,
        /// Payload.
        datagram: &'a [u8],
    },
    /// The operator stops a session.
    Stop(Connection),
}

/// Output of a server: work for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send on a connection, between data if the test runs.
    Send(Connection, Vec<u8>),
    /// Look up the credentials of a user.
    Ask(Connection, String),
    /// The client proved the password of its user, and its test begins.
    Proved(Connection),
    /// Open a UDP socket for a session with this peer, at the first free port.
    OpenUdp(Connection, IpAddr),
    /// Start sending a session's data; for TCP on these connections.
    Begin(Connection, Vec<Connection>),
    /// Close a connection after sending what is queued.
    Close(Connection, Reason),
    /// A session ended: close its UDP socket. Separate actions close its connections.
    Ended(Connection, Reason),
}

/// Timer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Time limit of a handshake step.
    Handshake,
    /// End of a measurement second.
    Second,
}

/// A server.
pub struct Server {
    settings: Settings,
    /// Key of verifiers for unknown users.
    secret: [u8; 32],
    cpu_percent: u8,
    links: BTreeMap<Connection, Link>,
    sessions: BTreeMap<Connection, Session>,
    /// Number of connections without a test.
    handshakes: usize,
}

/// A connection.
struct Link {
    peer: IpAddr,
    source: IpAddr,
    random: Box<[u8; 64]>,
    inbox: Inbox,
    stage: Stage,
    /// Time of the stage's start.
    since: Instant,
}

/// Progress of a connection.
enum Stage {
    /// Expects a command, or a request to join.
    Command,
    /// Expects the answer to an MD5 challenge.
    Answer(Command),
    /// Waits for the credentials of the user in the answer.
    AskedPassword(Command, Box<md5::Answer>),
    /// Expects the client's name and public point.
    Exchange(Command),
    /// Waits for the credentials of that user.
    AskedVerifier(Command, Box<(String, Public)>),
    /// Expects the client's proof.
    Proof(Command, Box<(String, Proofs)>),
    /// First connection of a session.
    First,
    /// Further connection of a session.
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

    /// Returns the seed of the key exchange.
    fn secret(&self) -> [u8; 32] {
        self.random_part(0)
    }

    /// Returns the MD5 challenge.
    fn challenge(&self) -> [u8; CHALLENGE_LEN] {
        self.random_part(32)
    }

    /// Returns the seed of the token.
    fn token(&self) -> u16 {
        u16::from_be_bytes(self.random_part(48))
    }

    fn random_part<const N: usize>(&self, at: usize) -> [u8; N] {
        core::array::from_fn(|offset| self.random[at + offset])
    }
}

impl Server {
    /// Creates a server without connections. `secret` are 32 random bytes, from which the salts of unknown
    /// users are derived; a changed secret lets clients distinguish unknown users by their salts.
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

    /// Changes the configuration. Running tests continue.
    pub const fn configure(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Returns the configuration.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets the local CPU load in percent, for status messages.
    pub fn set_cpu_percent(&mut self, percent: u8) {
        self.cpu_percent = percent;
    }

    /// Returns the flow control of a session; `None` while it may not send.
    pub fn flow(&mut self, session: Connection) -> Option<&mut Flow> {
        self.sessions.get_mut(&session)?.data.flow()
    }

    /// Returns the destination port of a session's next datagram: the peer's ports in turn.
    pub fn destination(&mut self, session: Connection) -> Option<u16> {
        self.sessions.get_mut(&session)?.destination()
    }

    /// Iterates over the sessions, ordered by number.
    pub fn sessions(&self, now: Instant) -> impl Iterator<Item = View> {
        let sessions = self.sessions.iter();
        sessions.map(move |(connection, session)| session.view(*connection, now))
    }

    fn accepted(&mut self, connection: Connection, link: Link, out: &mut Vec<Action>) {
        if self.links.contains_key(&connection) {
            return;
        }
        if self.handshakes >= MAX_HANDSHAKES || !self.admits(link.source) {
            out.push(Action::Close(connection, Reason::Connections));
            return;
        }
        self.links.insert(connection, link);
        self.handshakes += 1;
        out.push(Action::Send(connection, HELLO.to_vec()));
    }

    /// Returns true if a source may have another connection without a test.
    fn admits(&self, source: IpAddr) -> bool {
        let links = self.links.values();
        let pending = links.filter(|link| link.source == source && !link.stage.has_test());
        let sessions = self.sessions.values();
        let expected = sessions.filter(|session| session.source == source);
        let expected: usize = expected.map(Session::missing).sum();
        pending.count() < MAX_HANDSHAKES_PER_SOURCE + expected
    }

    /// Returns true if a source may have another test: at most half of all tests, so that others find room.
    fn has_room(&self, source: IpAddr) -> bool {
        let all = self.settings.max_sessions;
        let sessions = self.sessions.values();
        let of_source = sessions.filter(|session| session.source == source);
        self.sessions.len() < all && of_source.count() < all.div_ceil(2)
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

    /// Drops a connection and tells the driver to close it.
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

    /// Handles a connection that the driver reports as closed.
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

    /// Drops a connection. Returns true if it was known.
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
                source,
                random,
            } => {
                let link = Link {
                    peer,
                    source,
                    random,
                    inbox: Inbox::default(),
                    stage: Stage::Command,
                    since: now,
                };
                self.accepted(connection, link, out);
            }
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
            waits && link.since + HANDSHAKE_TIMEOUT <= now
        });
        let late: Vec<_> = late.map(|(connection, _)| *connection).collect();
        for connection in late {
            self.close(connection, Reason::Timeout, out);
        }
        let sessions = self.sessions.iter();
        let silent = sessions.filter(|(_, session)| session.data.is_silent(now));
        let silent: Vec<_> = silent.map(|(connection, _)| *connection).collect();
        for session in silent {
            self.end(session, Reason::Timeout, out);
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
        let links = links.map(|link| (link.since + HANDSHAKE_TIMEOUT, Timer::Handshake));
        let sessions = self.sessions.values().filter_map(Session::deadline);
        links.chain(sessions).min_by_key(|(at, _)| *at)
    }
}
