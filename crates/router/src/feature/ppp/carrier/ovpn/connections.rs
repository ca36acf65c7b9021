//! TCP connections of OpenVPN. The program owns the sockets; control packets pass here, and data packets between the
//! program and the workers once the session has a link.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;

use dataplane::DropReason;
use dataplane::stream::ChannelId;
use machine::{Duration, HalfOpen, Instant};
use openvpn::stream::{Deframer, frame};
use openvpn::{ClientEvent, MAX_CONTROL_BYTES, Path, ServerEvent, Transport, is_data};

use super::{CarrierOutput, Ovpn, SERVICE, TimerId};
use crate::feature::stream::{StreamEvent, StreamId, StreamRequest};
use crate::feature::{Effect, Effects};
use crate::intent::ItemId;

/// Connections to servers without a session, of all addresses and of one. The oldest one gives way.
const MAX_HALF_OPEN: usize = 1024;
const MAX_HALF_OPEN_OF_ADDRESS: usize = 64;
/// Time until a connection has a session.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for the last messages of a session.
const LINGER: Duration = Duration::from_secs(2);

/// The item that a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Server(ItemId),
    Client(ItemId),
}

/// A connection.
struct Connection {
    owner: Owner,
    path: Path,
    deframer: Deframer,
    has_session: bool,
}

/// All connections by number, and by path.
pub(super) struct Connections {
    /// Number of the last connection that this router established.
    last: u64,
    all: BTreeMap<u64, Connection>,
    by_path: BTreeMap<Path, u64>,
    half_open: HalfOpen<IpAddr, u64>,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            last: 0,
            all: BTreeMap::new(),
            by_path: BTreeMap::new(),
            half_open: HalfOpen::new(MAX_HALF_OPEN, MAX_HALF_OPEN_OF_ADDRESS),
        }
    }
}

impl Connections {
    /// Adds a connection that this router establishes.
    pub(super) fn open(&mut self, owner: Owner, to: SocketAddr) -> StreamId {
        self.last += 1;
        let unknown = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        self.add(self.last, owner, path(unknown, to));
        stream(self.last)
    }

    fn add(&mut self, number: u64, owner: Owner, path: Path) {
        let limit = match owner {
            Owner::Server(_) => MAX_CONTROL_BYTES,
            // A server may send data packets before the session has a link.
            Owner::Client(_) => usize::from(u16::MAX),
        };
        let connection = Connection {
            owner,
            path,
            deframer: Deframer::new(limit),
            has_session: false,
        };
        self.all.insert(number, connection);
        self.by_path.insert(path, number);
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        let gone = self.all.remove(&number)?;
        self.half_open.remove(gone.path.remote.ip(), number);
        if self.by_path.get(&gone.path) == Some(&number) {
            self.by_path.remove(&gone.path);
        }
        Some(gone)
    }

    /// Sets the local end of a connection that was established.
    fn set_local(&mut self, number: u64, local: SocketAddr) -> Option<(Owner, Path)> {
        let connection = self.all.get_mut(&number)?;
        self.by_path.remove(&connection.path);
        connection.path.local = local;
        self.by_path.insert(connection.path, number);
        Some((connection.owner, connection.path))
    }

    /// Sends a packet by the connection of a path. Does nothing if the connection has ended.
    pub(super) fn send(&self, path: &Path, packet: &[u8], out: &mut Effects) {
        let mut bytes = Vec::with_capacity(packet.len() + 2);
        if let Some(number) = self.by_path.get(path)
            && frame(packet, &mut bytes)
        {
            let stream = stream(*number);
            out.push(Effect::Stream(StreamRequest::Send { stream, bytes }));
        }
    }

    /// Has the session's worker send a signal of the data channel.
    pub(super) fn signal(&self, path: &Path, payload: &[u8], out: &mut Effects) {
        if let Some(number) = self.by_path.get(path) {
            out.push(Effect::Stream(StreamRequest::Pass {
                stream: stream(*number),
                packet: payload.to_vec(),
            }));
        }
    }

    /// Lets the data packets of a session pass between its connection and the workers.
    pub(super) fn attach(&mut self, path: &Path, channel: ChannelId, out: &mut Effects) {
        let Some(number) = self.by_path.get(path) else {
            return;
        };
        if let Some(connection) = self.all.get_mut(number) {
            connection.has_session = true;
            self.half_open.remove(path.remote.ip(), *number);
        }
        let stream = stream(*number);
        out.push(Effect::Stream(StreamRequest::Attach { stream, channel }));
    }
}

impl Ovpn {
    /// Handles an event of a connection.
    pub(super) fn follow_connection(
        &mut self,
        event: &StreamEvent,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let number = event.stream().number;
        match event {
            StreamEvent::Accepted { local, remote, .. } => {
                self.accepted(number, path(*local, *remote), now, out);
            }
            StreamEvent::Connected { local, .. } => {
                let connected = self.connections.set_local(number, canonical(*local));
                if let Some((Owner::Client(item), path)) = connected {
                    self.connect(item, path, now, out);
                }
            }
            StreamEvent::Received { bytes, .. } => self.received(number, bytes, now, out),
            StreamEvent::Ended { why, .. } => {
                if let Some(why) = why {
                    let message = format!("connection: {why}");
                    out.effects.log("ovpn,error", message);
                }
                self.ended(number, now, out);
            }
            StreamEvent::Closed { why, .. } => {
                let message = format!("a server does not run: {why}");
                out.effects.log("ovpn,error", message);
            }
            // Connections are accepted without TLS of their own.
            StreamEvent::Rejected { .. } => {}
        }
    }

    fn accepted(&mut self, number: u64, path: Path, now: Instant, out: &mut CarrierOutput<'_>) {
        let server = self.listening.get(&(Transport::Tcp, path.local.port()));
        let Some(server) = server.copied() else {
            return close(number, out);
        };
        let remote = path.remote.ip();
        if let Some(excess) = self.connections.half_open.excess(remote) {
            out.effects.push(Effect::Lost(DropReason::OvpnFull, 1));
            self.close_connection(excess, now, out);
        }
        self.connections.add(number, Owner::Server(server), path);
        self.connections.half_open.insert(remote, number);
        let at = now + OPEN_TIMEOUT;
        self.timers.set(TimerId::Connection(number), Some(at));
    }

    fn received(&mut self, number: u64, bytes: &[u8], now: Instant, out: &mut CarrierOutput<'_>) {
        if let Some(connection) = self.connections.all.get_mut(&number) {
            connection.deframer.push(bytes);
        }
        while let Some(connection) = self.connections.all.get_mut(&number) {
            let (owner, path) = (connection.owner, connection.path);
            let packet = match connection.deframer.next_packet() {
                Ok(Some(packet)) => packet.to_vec(),
                Ok(None) => return,
                Err(_) => {
                    out.effects.push(Effect::Lost(DropReason::OvpnMalformed, 1));
                    return self.close_connection(number, now, out);
                }
            };
            let packet = &packet[..];
            if is_data(packet) {
                // The session has no link yet.
                out.effects.push(Effect::Lost(DropReason::OvpnKey, 1));
                continue;
            }
            let dropped = match owner {
                Owner::Server(item) => {
                    self.feed_server(item, ServerEvent::Received { path, packet }, now, out)
                }
                Owner::Client(item) => {
                    self.feed_client(item, ClientEvent::Received { path, packet }, now, out)
                }
            };
            if let Some(reason) = dropped {
                out.effects.push(Effect::Lost(reason, 1));
            }
        }
    }

    /// Notes the end of a connection: its session ends.
    fn ended(&mut self, number: u64, now: Instant, out: &mut CarrierOutput<'_>) {
        self.timers.set(TimerId::Connection(number), None);
        let Some(gone) = self.connections.remove(number) else {
            return;
        };
        match gone.owner {
            Owner::Server(item) => {
                let event = ServerEvent::Disconnected(gone.path);
                self.feed_server(item, event, now, out);
            }
            Owner::Client(item) => self.client_disconnected(item, number, now, out),
        }
    }

    /// Closes a connection, and ends its session.
    fn close_connection(&mut self, number: u64, now: Instant, out: &mut CarrierOutput<'_>) {
        close(number, out);
        self.ended(number, now, out);
    }

    /// Ends a connection that has no session at its time.
    pub(super) fn connection_due(
        &mut self,
        number: u64,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let connection = self.connections.all.get(&number);
        if connection.is_some_and(|connection| !connection.has_session) {
            self.close_connection(number, now, out);
        }
    }

    /// Lets the connection of a path end soon: its session has ended.
    pub(super) fn release_connection(&mut self, path: &Path, now: Instant) {
        let number = self.connections.by_path.get(path).copied();
        if let Some(number) = number {
            self.release(number, now + LINGER);
        }
    }

    /// Lets the connection of a client end after its last messages.
    pub(super) fn end_connection_of(&mut self, client: ItemId, now: Instant) {
        let attempt = self.attempts.get(&client);
        if let Some(number) = attempt.and_then(|attempt| attempt.connection) {
            self.release(number, now);
        }
    }

    /// Lets the connections of a server end.
    pub(super) fn end_connections_of(&mut self, server: ItemId, now: Instant) {
        let all = self.connections.all.iter();
        let its = all.filter(|(_, connection)| connection.owner == Owner::Server(server));
        for number in its.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.release(number, now);
        }
    }

    fn release(&mut self, number: u64, at: Instant) {
        if let Some(connection) = self.connections.all.get_mut(&number) {
            connection.has_session = false;
            self.timers.set(TimerId::Connection(number), Some(at));
        }
    }

    /// Reports to a client that its connection has ended, or could not be established.
    fn client_disconnected(
        &mut self,
        item: ItemId,
        number: u64,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let attempt = self.attempts.get(&item);
        if attempt.is_none_or(|attempt| attempt.connection != Some(number)) {
            return;
        }
        let has_session = attempt.is_some_and(|attempt| attempt.machine.has_session());
        match has_session {
            true => _ = self.feed_client(item, ClientEvent::Disconnected, now, out),
            false => self.client_closed(item, &openvpn::Reason::Disconnected, now, out),
        }
    }
}

const fn path(local: SocketAddr, remote: SocketAddr) -> Path {
    Path {
        local: canonical(local),
        remote: canonical(remote),
        transport: Transport::Tcp,
    }
}

/// Returns an address that IPv6 maps as the IPv4 address.
const fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

const fn stream(number: u64) -> StreamId {
    StreamId {
        service: SERVICE,
        number,
    }
}

fn close(number: u64, out: &mut CarrierOutput<'_>) {
    let request = StreamRequest::Close(stream(number));
    out.effects.push(Effect::Stream(request));
}
