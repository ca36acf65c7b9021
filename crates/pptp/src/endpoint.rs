//! All control connections of a router.
//!
//! Limits: accepted connections without a call, of one address and of all; connections; numbers of calls.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{HalfOpen, Instant, Machine, Rng};

use crate::connection::{Connection, Outcome, State};
use crate::event::{Action, CallId, ConnectionId, Event, Fault, Opened, Reason, Server};
use crate::message::Message;

/// Maximum number of accepted connections without a call, of all and of one address. The oldest one gives way.
const MAX_HALF_OPEN: usize = 1024;
const MAX_HALF_OPEN_OF_ADDRESS: usize = 128;
/// Maximum number of connections: half of the numbers of calls, so that a free one is found soon.
const MAX_CONNECTIONS: usize = 32_768;

/// Timer of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A timer of a connection.
    Connection,
}

/// All control connections of a router.
#[derive(Debug)]
pub struct Endpoint {
    settings: Server,
    connections: BTreeMap<ConnectionId, Connection>,
    timers: BTreeSet<(Instant, ConnectionId)>,
    clients: BTreeMap<u64, ConnectionId>,
    calls: BTreeMap<CallId, ConnectionId>,
    /// Accepted connections without a call.
    half_open: HalfOpen<Ipv4Addr, ConnectionId>,
    /// Number of the last connection of a client.
    last: u64,
    rng: Rng,
}

impl Endpoint {
    /// Returns an endpoint without connections. Numbers of calls come from `rng`.
    pub fn new(settings: Server, rng: Rng) -> Self {
        Self {
            settings,
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            clients: BTreeMap::new(),
            calls: BTreeMap::new(),
            half_open: HalfOpen::new(MAX_HALF_OPEN, MAX_HALF_OPEN_OF_ADDRESS),
            last: 0,
            rng,
        }
    }

    /// Number of connections.
    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Returns a free number for a call.
    fn free_call(&mut self) -> Option<CallId> {
        let first = self.rng.next_u64() as u16;
        let mut all = (0..=u16::MAX).map(|more| first.wrapping_add(more));
        all.find(|call| *call != 0 && !self.calls.contains_key(call))
    }

    fn add(
        &mut self,
        id: ConnectionId,
        state: State,
        ends: [Ipv4Addr; 2],
        client: Option<u64>,
        now: Instant,
    ) -> bool {
        let is_full = self.connections.len() >= MAX_CONNECTIONS;
        let Some(call) = self.free_call().filter(|_| !is_full) else {
            return false;
        };
        let connection = Connection::new(state, ends, client, call, now);
        self.timers.insert((connection.due, id));
        self.calls.insert(call, id);
        self.connections.insert(id, connection);
        true
    }

    fn accept(
        &mut self,
        id: ConnectionId,
        ends: [Ipv4Addr; 2],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let [_, remote] = ends;
        if !self.settings.is_enabled {
            return Err(Fault::Disabled);
        }
        if let Some(excess) = self.half_open.excess(remote) {
            out.push(Action::Ignored(Fault::Full));
            self.remove(excess);
            out.push(Action::Disconnect(excess));
        }
        if !self.add(id, State::AwaitsStart, ends, None, now) {
            return Err(Fault::Full);
        }
        self.half_open.insert(remote, id);
        Ok(())
    }

    fn dial(&mut self, client: u64, remote: Ipv4Addr, now: Instant, out: &mut Vec<Action>) {
        self.hangup(client, out);
        self.last += 1;
        let id = ConnectionId(self.last);
        let ends = [Ipv4Addr::UNSPECIFIED, remote];
        if !self.add(id, State::Connecting, ends, Some(client), now) {
            out.push(Action::Failed(client, Reason::Full));
            return;
        }
        self.clients.insert(client, id);
        out.push(Action::Connect(id, remote));
    }

    fn hangup(&mut self, client: u64, out: &mut Vec<Action>) {
        if let Some(id) = self.clients.get(&client).copied() {
            self.part(id, out);
        }
    }

    /// Ends a connection with the messages for that; the owner knows of it.
    fn part(&mut self, id: ConnectionId, out: &mut Vec<Action>) {
        if let Some(connection) = self.remove(id) {
            for message in connection.farewell() {
                out.push(Action::Send(id, message.build(&self.settings.host_name)));
            }
            out.push(Action::Disconnect(id));
        }
    }

    /// Ends a connection that the other end, an error or a timer ends.
    fn end(&mut self, id: ConnectionId, reason: Reason, out: &mut Vec<Action>) {
        let Some(connection) = self.remove(id) else {
            return;
        };
        match (connection.is_open(), connection.client) {
            (true, _) => out.push(Action::Closed(connection.call, reason)),
            (false, Some(client)) => out.push(Action::Failed(client, reason)),
            (false, None) => {}
        }
    }

    fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        let connection = self.connections.remove(&id)?;
        self.timers.remove(&(connection.due, id));
        self.calls.remove(&connection.call);
        self.half_open.remove(connection.remote, id);
        if let Some(client) = connection.client {
            self.clients.remove(&client);
        }
        Some(connection)
    }

    /// Runs a step of a connection, and carries out what it leads to.
    fn step(
        &mut self,
        id: ConnectionId,
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
        let name = &self.settings.host_name;
        let mut send = |message: Message| out.push(Action::Send(id, message.build(name)));
        match outcome {
            Outcome::Nothing => {}
            Outcome::Send(message) => send(message),
            Outcome::Refused(fault, message) => {
                send(message);
                out.push(Action::Ignored(fault));
            }
            Outcome::Ignored(fault) => out.push(Action::Ignored(fault)),
            Outcome::Opened(remote_call, message) => {
                message.into_iter().for_each(send);
                let opened = Opened {
                    call: connection.call,
                    remote_call,
                    local: connection.local,
                    remote: connection.remote,
                    client: connection.client,
                };
                self.half_open.remove(opened.remote, id);
                out.push(Action::Opened(opened));
            }
            Outcome::End(reason, message) => {
                message.into_iter().for_each(send);
                if let Reason::Protocol(fault) = reason {
                    out.push(Action::Ignored(fault));
                }
                out.push(Action::Disconnect(id));
                self.end(id, reason, out);
            }
        }
    }

    fn receive(&mut self, id: ConnectionId, mut bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        // Bytes may be under way when a connection ends.
        while let Some(connection) = self.connections.get_mut(&id) {
            let message = match connection.stream.next(&mut bytes) {
                Ok(Some(message)) => message,
                Ok(None) => return,
                Err(fault) => {
                    self.step(id, out, |_| Outcome::End(Reason::Protocol(fault), None));
                    return;
                }
            };
            match Message::parse(&message) {
                Ok(message) => {
                    self.step(id, out, |connection| connection.receive(message, now));
                }
                // The length is known: later messages can be understood.
                Err(fault) => out.push(Action::Ignored(fault)),
            }
        }
    }

    fn configure(&mut self, settings: Server, out: &mut Vec<Action>) {
        let is_disabled = !settings.is_enabled;
        self.settings = settings;
        let accepted = self
            .connections
            .range(ConnectionId(ConnectionId::ACCEPTED)..);
        let accepted: Vec<_> = accepted.map(|(id, _)| *id).collect();
        for id in accepted.into_iter().filter(|_| is_disabled) {
            let connection = self.connections.get(&id);
            let open = connection.filter(|connection| connection.is_open());
            let call = open.map(|connection| connection.call);
            self.part(id, out);
            out.extend(call.map(|call| Action::Closed(call, Reason::Disabled)));
        }
    }
}

impl Machine for Endpoint {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(settings) => self.configure(settings, out),
            Event::Accepted {
                connection,
                local,
                remote,
            } => {
                if let Err(fault) = self.accept(connection, [local, remote], now, out) {
                    out.push(Action::Ignored(fault));
                    out.push(Action::Disconnect(connection));
                }
            }
            Event::Connected { connection, local } => {
                self.step(connection, out, |of| match of.state {
                    State::Connecting => Outcome::Send(of.connected(local)),
                    _ => Outcome::Nothing,
                });
            }
            Event::Bytes { connection, bytes } => self.receive(connection, bytes, now, out),
            Event::Ended(connection) => self.end(connection, Reason::Connection, out),
            Event::Dial { client, remote } => self.dial(client, remote, now, out),
            Event::Hangup(client) => self.hangup(client, out),
            Event::Close(call) => {
                if let Some(id) = self.calls.get(&call).copied() {
                    self.part(id, out);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((due, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.step(id, out, |connection| connection.expire(now));
            // Each step moves the timer or removes the connection.
            debug_assert!(!self.timers.contains(&(due, id)), "a timer that stays due");
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let (due, _) = self.timers.first()?;
        Some((*due, Timer::Connection))
    }
}
