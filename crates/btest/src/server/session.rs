//! State of a test on its server.

use std::net::IpAddr;

use machine::Instant;

use super::{Action, Connection, HANDSHAKE_TIMEOUT, Server, Timer};
use crate::data::{Data, End};
use crate::figures::Figures;
use crate::reason::Reason;
use crate::wire::{CLIENT_PORT_OFFSET, Command, Protocol, Token, Word};

/// Row of `/tool/bandwidth-server/session`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// First connection.
    pub session: Connection,
    /// Address of the client.
    pub peer: IpAddr,
    /// User name; empty without authentication.
    pub user: String,
    /// Command of the client.
    pub command: Command,
    /// Number of TCP connections that carry data.
    pub connections: usize,
    /// Measurements; `tx` is the server's direction.
    pub figures: Figures,
}

/// Client of a session.
#[derive(Clone, Copy)]
pub(super) struct Client {
    pub(super) peer: IpAddr,
    pub(super) source: IpAddr,
}

/// A session.
pub(super) struct Session {
    peer: IpAddr,
    /// Address or network for which limits are counted.
    pub(super) source: IpAddr,
    user: String,
    command: Command,
    pub(super) token: Option<Token>,
    pub(super) data: Data,
    /// Time of acceptance.
    since: Instant,
    is_begun: bool,
    /// UDP port of the server.
    port: u16,
    /// Index of the peer's port for the next datagram.
    turn: usize,
}

impl Session {
    pub(super) fn new(
        first: Connection,
        client: Client,
        user: &str,
        command: Command,
        token: Option<Token>,
        now: Instant,
    ) -> Self {
        let limit_bps = u64::from(command.server_speed_bps);
        Self {
            peer: client.peer,
            source: client.source,
            user: user.to_owned(),
            command,
            token,
            data: Data::new(End::Server, &command, limit_bps, client.peer, first.0, now),
            since: now,
            is_begun: false,
            port: 0,
            turn: 0,
        }
    }

    /// Returns true if a further connection of this peer may join with this token.
    pub(super) fn takes(&self, token: Token, peer: IpAddr) -> bool {
        self.token == Some(token) && self.peer == peer && !self.is_complete() && !self.is_begun
    }

    /// Returns the number of connections that have not joined yet.
    pub(super) fn missing(&self) -> usize {
        let expected = match self.command.protocol {
            Protocol::Tcp => self.command.connections(),
            Protocol::Udp => 1,
        };
        match self.is_begun {
            true => 0,
            false => usize::from(expected).saturating_sub(self.data.lines().len()),
        }
    }

    /// Returns true if all connections have joined.
    pub(super) fn is_complete(&self) -> bool {
        self.missing() == 0
    }

    /// Returns true if the test has to start without the missing connections.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        self.token.is_some() && !self.is_begun && self.since + HANDSHAKE_TIMEOUT <= now
    }

    pub(super) fn begin(&mut self, first: Connection, now: Instant, out: &mut Vec<Action>) {
        self.is_begun = true;
        self.data.open(now);
        let lines = match self.command.protocol {
            Protocol::Tcp => self.data.lines().map(Connection).collect(),
            Protocol::Udp => Vec::new(),
        };
        out.push(Action::Begin(first, lines));
    }

    pub(super) fn deadline(&self) -> Option<(Instant, Timer)> {
        if self.token.is_some() && !self.is_begun {
            return Some((self.since + HANDSHAKE_TIMEOUT, Timer::Handshake));
        }
        self.data.deadline().map(|at| (at, Timer::Second))
    }

    pub(super) fn destination(&mut self) -> Option<u16> {
        let ports = self.data.losses().ports();
        let count = ports.len();
        if count == 0 {
            return self.port.checked_add(CLIENT_PORT_OFFSET);
        }
        self.turn = (self.turn + 1) % count;
        self.data.losses().ports().nth(self.turn)
    }

    pub(super) fn view(&self, session: Connection, now: Instant) -> View {
        View {
            session,
            peer: self.peer,
            user: self.user.clone(),
            command: self.command,
            connections: self.data.lines().len(),
            figures: self.data.figures(now),
        }
    }
}

impl Server {
    /// Starts the test on the opened UDP socket.
    pub(super) fn udp_opened(
        &mut self,
        first: Connection,
        port: u16,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let session = self.sessions.get_mut(&first);
        let waits =
            |session: &&mut Session| session.command.protocol == Protocol::Udp && !session.is_begun;
        let Some(session) = session.filter(waits) else {
            return;
        };
        session.port = port;
        let word = Word::Accepted(None).to_bytes();
        let message = [&word[..], &port.to_be_bytes()].concat();
        out.push(Action::Send(first, message));
        session.begin(first, now, out);
    }

    /// Ends a session whose UDP socket cannot be opened.
    pub(super) fn udp_failed(&mut self, first: Connection, out: &mut Vec<Action>) {
        let waits = self.sessions.get(&first).is_some_and(|own| !own.is_begun);
        if waits {
            // The client would take a refusal for one of the user.
            self.end(first, Reason::NoPort, out);
        }
    }
}
