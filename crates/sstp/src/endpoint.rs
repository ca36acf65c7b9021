//! All SSTP connections of a router.
//!
//! Limits: accepted connections without a call, of one address and of all; connections.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{HalfOpen, Instant, Machine, Rng};

use crate::connection::{Connection, Outcome, State};
use crate::event::{Action, ConnectionId, Event, Opened, Reason, Server};
use crate::fault::Fault;
use crate::message::{Message, StatusInfo};
use crate::packet::Piece;

/// Maximum number of accepted connections without a call, of all and of one address. The oldest one gives way.
const MAX_HALF_OPEN: usize = 1024;
const MAX_HALF_OPEN_OF_ADDRESS: usize = 128;
/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 32_768;

/// Timer of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A timer of a connection.
    Connection,
}

/// All connections of a router.
#[derive(Debug)]
pub struct Endpoint {
    settings: Server,
    connections: BTreeMap<ConnectionId, Connection>,
    timers: BTreeSet<(Instant, ConnectionId)>,
    clients: BTreeMap<u64, ConnectionId>,
    /// Accepted connections without a call.
    half_open: HalfOpen<IpAddr, ConnectionId>,
    /// Number of the last connection of a client.
    last: u64,
    rng: Rng,
}

impl Endpoint {
    /// Returns an endpoint without connections. Nonces come from `rng`.
    pub fn new(settings: Server, rng: Rng) -> Self {
        Self {
            settings,
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            clients: BTreeMap::new(),
            half_open: HalfOpen::new(MAX_HALF_OPEN, MAX_HALF_OPEN_OF_ADDRESS),
            last: 0,
            rng,
        }
    }

    /// Number of connections.
    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Returns a new connection; `None` if there are too many.
    fn add(
        &mut self,
        id: ConnectionId,
        state: State,
        remote: IpAddr,
        client: Option<u64>,
        now: Instant,
    ) -> Option<&mut Connection> {
        if self.connections.len() >= MAX_CONNECTIONS {
            return None;
        }
        let mut random = [0; 32];
        for part in random.chunks_exact_mut(8) {
            part.copy_from_slice(&self.rng.next_u64().to_be_bytes());
        }
        let connection = Connection::new(state, remote, client, random, now);
        self.timers.insert((connection.due, id));
        Some(self.connections.entry(id).or_insert(connection))
    }

    fn accept(
        &mut self,
        id: ConnectionId,
        remote: IpAddr,
        certificate: Arc<[u8]>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        if !self.settings.is_enabled {
            return Err(Fault::Disabled);
        }
        if let Some(excess) = self.half_open.excess(remote) {
            out.push(Action::Ignored(Fault::Full));
            self.remove(excess);
            out.push(Action::Disconnect(excess));
        }
        let connection = self.add(id, State::AwaitsRequest, remote, None, now);
        connection.ok_or(Fault::Full)?.set_certificate(certificate);
        self.half_open.insert(remote, id);
        Ok(())
    }

    fn dial(
        &mut self,
        client: u64,
        remote: IpAddr,
        host: &str,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        self.hangup(client, now, out);
        self.last += 1;
        let id = ConnectionId(self.last);
        let state = State::Connecting(host.into());
        if self.add(id, state, remote, Some(client), now).is_none() {
            out.push(Action::Failed(client, Reason::Full));
            return;
        }
        self.clients.insert(client, id);
        out.push(Action::Connect(id, client));
    }

    fn hangup(&mut self, client: u64, now: Instant, out: &mut Vec<Action>) {
        if let Some(id) = self.clients.get(&client).copied() {
            self.part(id, None, now, out);
        }
    }

    /// Ends a connection by this end: sends a message and waits for the answer; the owner knows of it.
    fn part(
        &mut self,
        id: ConnectionId,
        info: Option<StatusInfo>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let remote = connection.remote;
        let (before, client) = (connection.due, connection.client.take());
        let message = connection.end(info, now);
        let due = connection.due;
        self.timers.remove(&(before, id));
        self.timers.insert((due, id));
        if let Some(client) = client {
            self.clients.remove(&client);
        }
        self.half_open.remove(remote, id);
        match message {
            Some(message) => out.push(Action::Send(id, message)),
            None => {
                self.remove(id);
                out.push(Action::Disconnect(id));
            }
        }
    }

    /// Reports the end of a connection to the owner.
    fn report(&self, id: ConnectionId, reason: Reason, out: &mut Vec<Action>) {
        let Some(connection) = self.connections.get(&id) else {
            return;
        };
        match (connection.has_call(), connection.client) {
            (true, _) => out.push(Action::Closed(id, reason)),
            (false, Some(client)) => out.push(Action::Failed(client, reason)),
            (false, None) => {}
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        self.timers.remove(&(connection.due, id));
        self.half_open.remove(connection.remote, id);
        if let Some(client) = connection.client {
            self.clients.remove(&client);
        }
    }

    /// Runs a step of a connection, and carries out what it leads to.
    fn step(
        &mut self,
        id: ConnectionId,
        now: Instant,
        out: &mut Vec<Action>,
        step: impl FnOnce(&mut Connection) -> Outcome,
    ) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let before = connection.due;
        let outcome = step(connection);
        if connection.due != before {
            self.timers.remove(&(before, id));
            self.timers.insert((connection.due, id));
        }
        let (remote, client) = (connection.remote, connection.client);
        let mut send = |bytes: Vec<u8>| out.push(Action::Send(id, bytes));
        match outcome {
            Outcome::Nothing => {}
            Outcome::Send(bytes) => send(bytes),
            Outcome::Refused(fault, bytes) => {
                send(bytes);
                out.push(Action::Ignored(fault));
            }
            Outcome::Ignored(fault) => out.push(Action::Ignored(fault)),
            Outcome::Opened(bytes) => {
                bytes.into_iter().for_each(send);
                self.half_open.remove(remote, id);
                out.push(Action::Opened(Opened {
                    connection: id,
                    remote,
                    client,
                }));
            }
            Outcome::Bound(bytes) => {
                bytes.into_iter().for_each(send);
                out.push(Action::Bound(id));
            }
            Outcome::Abort(reason, info) => {
                out.extend(fault_of(reason).map(Action::Ignored));
                self.report(id, reason, out);
                self.part(id, Some(info), now, out);
            }
            Outcome::End(reason, bytes) => {
                bytes.into_iter().for_each(send);
                out.extend(fault_of(reason).map(Action::Ignored));
                self.report(id, reason, out);
                self.remove(id);
                out.push(Action::Disconnect(id));
            }
        }
    }

    fn receive(&mut self, id: ConnectionId, mut bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        // Bytes may be under way when a connection ends.
        while let Some(connection) = self.connections.get_mut(&id) {
            let mut cutter = core::mem::take(&mut connection.cutter);
            match cutter.next(&mut bytes) {
                Ok(Some(Piece::Head(head))) => {
                    self.step(id, now, out, |connection| connection.head(head));
                }
                Ok(Some(Piece::Control(packet))) => match Message::parse(packet) {
                    Ok(message) => {
                        self.step(id, now, out, |connection| connection.receive(message, now));
                    }
                    // The length is known: later packets can be understood.
                    Err(fault) => out.push(Action::Ignored(fault)),
                },
                Ok(Some(Piece::Data(packet))) => {
                    let packet = packet.to_vec();
                    self.step(id, now, out, |connection| match connection.data(now) {
                        true => Outcome::Nothing,
                        false => Outcome::Ignored(Fault::State),
                    });
                    let connection = self.connections.get(&id);
                    if connection.is_some_and(Connection::has_call) {
                        out.push(Action::Packet(id, packet));
                    }
                }
                Ok(None) => bytes = &[],
                Err(fault) => {
                    return self.step(id, now, out, |_| {
                        Outcome::End(Reason::Protocol(fault), None)
                    });
                }
            }
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.cutter = cutter;
            }
            if bytes.is_empty() {
                return;
            }
        }
    }

    fn configure(&mut self, settings: Server, now: Instant, out: &mut Vec<Action>) {
        self.settings = settings;
        if settings.is_enabled {
            return;
        }
        let accepted = self
            .connections
            .range(ConnectionId(ConnectionId::ACCEPTED)..);
        let accepted: Vec<_> = accepted.map(|(id, _)| *id).collect();
        for id in accepted {
            self.report(id, Reason::Disabled, out);
            self.part(id, None, now, out);
        }
    }
}

/// Returns the fault that a reason counts under.
const fn fault_of(reason: Reason) -> Option<Fault> {
    match reason {
        Reason::Protocol(fault) => Some(fault),
        Reason::Binding => Some(Fault::Binding),
        _ => None,
    }
}

impl Machine for Endpoint {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(settings) => self.configure(settings, now, out),
            Event::Accepted {
                connection,
                remote,
                certificate,
            } => {
                if let Err(fault) = self.accept(connection, remote, certificate, now, out) {
                    out.push(Action::Ignored(fault));
                    out.push(Action::Disconnect(connection));
                }
            }
            Event::Connected {
                connection,
                certificate,
            } => self.step(connection, now, out, |of| of.connected(certificate)),
            Event::Bytes { connection, bytes } => self.receive(connection, bytes, now, out),
            Event::Ended(connection) => {
                self.report(connection, Reason::Connection, out);
                self.remove(connection);
            }
            Event::Dial {
                client,
                remote,
                host,
            } => self.dial(client, remote, host, now, out),
            Event::Hangup(client) => self.hangup(client, now, out),
            Event::Authenticated(call, keys) => {
                self.step(call, now, out, |of| of.authenticated(keys, now));
            }
            Event::Close(call) => self.part(call, None, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((due, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.step(id, now, out, |connection| connection.expire(now));
            // Each step moves the timer or removes the connection.
            debug_assert!(!self.timers.contains(&(due, id)), "a timer that stays due");
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let (due, _) = self.timers.first()?;
        Some((*due, Timer::Connection))
    }
}
