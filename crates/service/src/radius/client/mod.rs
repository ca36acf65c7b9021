//! Sends many requests to a list of servers.
//!
//! ```text
//!            ┌───── window of the server is full
//!            ▼                ┌── no answer in time, up to 3 times ┐
//! query ─▶ waiting ─▶ sent to server n ──────────────────────────┘── no more tries ─▶ server n+1 … nobody
//!                             └── an authenticated answer ─▶ done
//! ```
//! Retransmissions repeat the packet byte for byte (RFC 5080, 2.2.1), so that the server detects duplicates. Answers
//! without valid authentication are counted and ignored; the genuine answer may still come. Each server has a queue of
//! its own, in which no request waits longer than the tries of another take: a silent server delays no request to
//! others.

mod flow;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{Duration, Instant, Machine, Rng};
use wire::radius::Packet;

use self::flow::Flow;
use super::answer::{Answer, EncryptionInputs, Outcome};
use super::request::{Question, Request};
use super::{Count, SERVERS, Server, TlsServer, secret};

/// Maximum number of open requests; further ones fail as if no server had answered.
const MAX_OPEN: usize = 65_536;

/// Number of a line: a source port towards one port of one server. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineId(pub u32);

/// Request, and the server that it must go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Request.
    pub request: Request,
    /// Item id of the only server, such as the one that sent a challenge; `None` for all servers of the service.
    pub server: Option<u64>,
    /// Time of the reported event, from which Acct-Delay-Time counts; `None` is the time of the query.
    pub since: Option<Instant>,
    /// Time from the event to `since`; not zero for events before the last start of the router.
    pub age: Duration,
}

/// Events of the client. `K` identifies a request.
#[derive(Debug)]
pub enum Event<'a, K> {
    /// Replaces the list of servers, in configured order.
    Servers(Vec<Server>),
    /// Sends a request; replaces an open request with this key.
    Query(K, Box<Query>),
    /// Drops a request.
    Cancel(K),
    /// A datagram arrived on a line.
    Received {
        /// Line.
        line: LineId,
        /// Source.
        from: SocketAddr,
        /// Payload.
        bytes: &'a [u8],
    },
}

/// Actions that the owner of the client carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<K> {
    /// Send a datagram.
    Send {
        /// Line; its source port is the owner's choice, and unpredictable.
        line: LineId,
        /// Destination.
        to: SocketAddr,
        /// Source address, if configured.
        source: Option<IpAddr>,
        /// TLS settings of the line's connection; `None` sends a datagram.
        tls: Option<Arc<TlsServer>>,
        /// Payload.
        bytes: Vec<u8>,
    },
    /// Close a line: its server is gone, or its connection is silent.
    Close(LineId),
    /// Increase a counter of the server with this id.
    Count(u64, Count),
    /// A server answered after this time.
    Answered(u64, Duration),
    /// No server answered a report that must not be lost: the end of an accounted session. `Done` follows.
    Unanswered(K, Box<Query>),
    /// The request is finished.
    Done(K, Box<Answer>),
    /// A request was refused, because too many are open.
    Overflow,
}

/// Client of a list of servers.
pub struct Client<K> {
    peers: Vec<Peer<K>>,
    open: BTreeMap<K, OpenRequest>,
    timers: BTreeSet<(Instant, K)>,
    /// Server and port of each line.
    lines: BTreeMap<LineId, (u64, PortKind)>,
    next_line: u32,
    /// Number of the next waiting request.
    next_number: u64,
    rng: Rng,
}

/// Server with its requests.
struct Peer<K> {
    server: Server,
    access: Flow<K>,
    accounting: Flow<K>,
}

/// Port of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PortKind {
    Access,
    Accounting,
}

/// Request without an answer.
struct OpenRequest {
    query: Box<Query>,
    began: Instant,
    /// Item ids of servers that did not answer.
    tried: Vec<u64>,
    /// Time of the next retransmission, or of the next server.
    until: Instant,
    /// Item id of the current server.
    server: u64,
    stage: Stage,
}

/// Stage of a request at its current server.
enum Stage {
    /// Waits for room in the window, under this number.
    Waiting(u64),
    /// Waits for an answer.
    Sent(Box<SentRequest>),
}

/// Transmitted packet.
struct SentRequest {
    line: LineId,
    id: u8,
    bytes: Vec<u8>,
    authenticator: [u8; 16],
    since: Instant,
    tries: u32,
}

impl<K> core::fmt::Debug for Client<K> {
    /// Omits secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Client")
            .field("open", &self.open.len())
            .finish_non_exhaustive()
    }
}

impl<K> Peer<K> {
    const fn flow(&self, port: PortKind) -> &Flow<K> {
        match port {
            PortKind::Access => &self.access,
            PortKind::Accounting => &self.accounting,
        }
    }

    const fn flow_mut(&mut self, port: PortKind) -> &mut Flow<K> {
        match port {
            PortKind::Access => &mut self.access,
            PortKind::Accounting => &mut self.accounting,
        }
    }
}

impl OpenRequest {
    const fn port(&self) -> PortKind {
        match self.query.request.is_accounting() {
            true => PortKind::Accounting,
            false => PortKind::Access,
        }
    }

    /// True if a server may receive the request.
    fn fits(&self, server: &Server) -> bool {
        let request = &self.query.request;
        let is_called = server.called.is_empty() || server.called == request.called;
        let is_for = matches!(request.question, Question::Router(_))
            || is_called && server.services.contains(&request.service);
        is_for
            && !self.tried.contains(&server.id)
            && self.query.server.is_none_or(|only| only == server.id)
    }
}

impl<K: Copy + Ord> Client<K> {
    /// Creates a client without servers. `rng` supplies authenticators and must be unpredictable (RFC 2865, 3).
    pub const fn new(rng: Rng) -> Self {
        Self {
            peers: Vec::new(),
            open: BTreeMap::new(),
            timers: BTreeSet::new(),
            lines: BTreeMap::new(),
            next_line: 0,
            next_number: 0,
            rng,
        }
    }

    /// Returns the address of the server with this id.
    pub fn address(&self, id: u64) -> Option<IpAddr> {
        let peer = self.peers.iter().find(|peer| peer.server.id == id);
        peer.map(|peer| peer.server.address)
    }

    /// Returns the number of open requests.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    fn peer(&mut self, server: u64) -> Option<&mut Peer<K>> {
        self.peers.iter_mut().find(|peer| peer.server.id == server)
    }

    /// Replaces the servers. Requests to removed or changed servers begin again with the others.
    fn set_servers(&mut self, servers: Vec<Server>, now: Instant, out: &mut Vec<Action<K>>) {
        let mut before = core::mem::take(&mut self.peers);
        for server in servers {
            let same = before.iter().position(|peer| peer.server.is_same(&server));
            let peer = same.map(|at| Peer {
                server: server.clone(),
                ..before.swap_remove(at)
            });
            self.peers.push(peer.unwrap_or_else(|| Peer {
                server,
                access: Flow::new(),
                accounting: Flow::new(),
            }));
        }
        for mut gone in before {
            let flows = [&mut gone.access, &mut gone.accounting];
            let mut orphans = Vec::new();
            for flow in flows {
                for line in flow.lines() {
                    self.lines.remove(&line);
                    out.push(Action::Close(line));
                }
                orphans.extend(flow.requests());
                orphans.extend(flow.drain());
            }
            orphans
                .into_iter()
                .for_each(|key| self.choose(key, now, out));
        }
    }

    fn query(&mut self, key: K, query: Box<Query>, now: Instant, out: &mut Vec<Action<K>>) {
        self.cancel(key, out);
        let began = query.since.unwrap_or(now);
        if self.open.len() >= MAX_OPEN {
            out.push(Action::Overflow);
            out.extend(unanswered(key, query, began));
            return out.push(done(key, Outcome::Nobody, None));
        }
        let open = OpenRequest {
            query,
            began,
            tried: Vec::new(),
            until: now,
            server: 0,
            stage: Stage::Waiting(0),
        };
        self.open.insert(key, open);
        self.timers.insert((now, key));
        self.choose(key, now, out);
    }

    /// Sets the time of the next step of a request.
    fn set_timer(&mut self, key: K, until: Instant) {
        if let Some(open) = self.open.get_mut(&key) {
            self.timers.remove(&(open.until, key));
            open.until = until;
            self.timers.insert((until, key));
        }
    }

    /// Queues a request at the next server: servers that answer precede silent ones, and backups come last.
    fn choose(&mut self, key: K, now: Instant, out: &mut Vec<Action<K>>) {
        let Some(open) = self.open.get(&key) else {
            return;
        };
        let port = open.port();
        let candidates = self.peers.iter_mut();
        let candidates = candidates.filter(|peer| open.fits(&peer.server));
        let best = candidates.min_by_key(|peer| {
            let is_silent = peer.flow(port).is_silent(now);
            (is_silent, peer.server.is_backup)
        });
        let is_over = open.tried.len() >= SERVERS;
        let Some(peer) = best.filter(|_| !is_over) else {
            return self.finish(key, Outcome::Nobody, None, out);
        };
        let (server, until) = (
            peer.server.id,
            now + peer.server.timeout * peer.server.tries(),
        );
        self.next_number += 1;
        peer.flow_mut(port).probe(now);
        peer.flow_mut(port).enqueue(self.next_number, key);
        self.set_timer(key, until);
        if let Some(open) = self.open.get_mut(&key) {
            open.server = server;
            open.stage = Stage::Waiting(self.next_number);
        }
        self.send_waiting(server, port, now, out);
    }

    /// Sends waiting requests while the window of a server has room.
    fn send_waiting(
        &mut self,
        server: u64,
        port: PortKind,
        now: Instant,
        out: &mut Vec<Action<K>>,
    ) {
        while let Some(key) = self
            .peer(server)
            .and_then(|peer| peer.flow_mut(port).dequeue())
        {
            if !self.send(key, now, out)
                && let Some(open) = self.open.get_mut(&key)
            {
                // The request does not fit into a packet for this server.
                open.tried.push(server);
                self.choose(key, now, out);
            }
        }
    }

    /// Builds the packet of a request for its current server and sends it. Returns false if it does not fit.
    fn send(&mut self, key: K, now: Instant, out: &mut Vec<Action<K>>) -> bool {
        let Some(open) = self.open.get_mut(&key) else {
            return true;
        };
        let (server, port) = (open.server, open.port());
        let mut random = [0; 16];
        self.rng.fill(&mut random);
        let Some(peer) = { self.peers.iter_mut() }.find(|peer| peer.server.id == server) else {
            return false;
        };
        let next_line = &mut self.next_line;
        let (line, id) = peer.flow_mut(port).assign(key, || {
            *next_line += 1;
            LineId(*next_line)
        });
        self.lines.insert(line, (server, port));
        let delay = now.saturating_since(open.began) + open.query.age;
        let delay = u32::try_from(delay.as_secs()).unwrap_or(u32::MAX);
        let request = &open.query.request;
        let Some(bytes) = request.packet(&peer.server, id, random, delay) else {
            peer.flow_mut(port).release(line, id);
            return false;
        };
        let authenticator = Packet::new_checked(&bytes).map_or(random, |of| of.authenticator());
        open.stage = Stage::Sent(Box::new(SentRequest {
            line,
            id,
            bytes,
            authenticator,
            since: now,
            tries: 0,
        }));
        out.push(Action::Count(server, Count::Request));
        self.transmit(key, now, out);
        true
    }

    /// Transmits the packet of a request, and sets the time of the next try.
    fn transmit(&mut self, key: K, now: Instant, out: &mut Vec<Action<K>>) {
        let Some(open) = self.open.get_mut(&key) else {
            return;
        };
        let port = open.port();
        let (server, Stage::Sent(sent)) = (open.server, &mut open.stage) else {
            return;
        };
        sent.tries += 1;
        let (line, bytes) = (sent.line, sent.bytes.clone());
        let Some(peer) = self.peer(server) else {
            return;
        };
        let port = match port {
            PortKind::Access => peer.server.authentication,
            PortKind::Accounting => peer.server.accounting,
        };
        let until = now + peer.server.timeout;
        out.push(Action::Send {
            line,
            to: SocketAddr::new(peer.server.address, port),
            source: peer.server.source,
            tls: peer.server.tls.clone(),
            bytes,
        });
        self.set_timer(key, until);
    }

    /// Takes a request from its server: from the queue, or from the requests in flight.
    fn withdraw(&mut self, key: K) {
        let Some(open) = self.open.get(&key) else {
            return;
        };
        let port = open.port();
        let Some(peer) = { self.peers.iter_mut() }.find(|peer| peer.server.id == open.server)
        else {
            return;
        };
        match &open.stage {
            Stage::Waiting(number) => peer.flow_mut(port).withdraw(*number),
            Stage::Sent(sent) => peer.flow_mut(port).release(sent.line, sent.id),
        }
    }

    fn cancel(&mut self, key: K, out: &mut Vec<Action<K>>) {
        self.withdraw(key);
        if let Some(open) = self.open.remove(&key) {
            self.timers.remove(&(open.until, key));
            if matches!(open.stage, Stage::Sent(_)) {
                out.push(Action::Count(open.server, Count::Cancelled));
            }
        }
    }

    fn finish(&mut self, key: K, outcome: Outcome, server: Option<u64>, out: &mut Vec<Action<K>>) {
        if let Some(open) = self.open.remove(&key) {
            self.timers.remove(&(open.until, key));
            if outcome == Outcome::Nobody {
                out.extend(unanswered(key, open.query, open.began));
            }
            out.push(done(key, outcome, server));
        }
    }

    fn receive(
        &mut self,
        line: LineId,
        from: SocketAddr,
        bytes: &[u8],
        now: Instant,
        out: &mut Vec<Action<K>>,
    ) {
        let Some((server, port)) = self.lines.get(&line).copied() else {
            return;
        };
        let (key, outcome, since) = match self.answer(line, from, bytes) {
            Ok(answer) => answer,
            Err(count) => return out.push(Action::Count(server, count)),
        };
        if let Some(peer) = self.peer(server) {
            peer.flow_mut(port).answered(now);
        }
        self.withdraw(key);
        out.push(Action::Answered(server, now.saturating_since(since)));
        let count = match &outcome {
            Outcome::Reject(_) => Count::Reject,
            Outcome::Challenge { .. } => Count::Challenge,
            Outcome::Noted => Count::Noted,
            Outcome::Accept(_) | Outcome::Nobody => Count::Accept,
        };
        out.push(Action::Count(server, count));
        self.finish(key, outcome, Some(server), out);
        self.send_waiting(server, port, now, out);
    }

    /// Reads a datagram. Returns the answered request, the outcome and the time of the first transmission.
    ///
    /// # Errors
    /// The count of a datagram that is no authenticated answer to an open request of its line.
    fn answer(
        &self,
        line: LineId,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(K, Outcome, Instant), Count> {
        let peer_of = |line| {
            let (server, port) = self.lines.get(&line)?;
            let peer = self.peers.iter().find(|peer| peer.server.id == *server)?;
            Some((peer, *port))
        };
        let (peer, port) = peer_of(line).ok_or(Count::Late)?;
        let packet = Packet::new_checked(bytes).map_err(|_| Count::Bad)?;
        if from.ip().to_canonical() != peer.server.address {
            return Err(Count::Bad);
        }
        let key = peer
            .flow(port)
            .request(line, packet.id())
            .ok_or(Count::Late)?;
        let open = self.open.get(&key).ok_or(Count::Late)?;
        let Stage::Sent(sent) = &open.stage else {
            return Err(Count::Late);
        };
        let question = &open.query.request.question;
        // EAP always requires it (RFC 3579, 3.2).
        let needs_message_authenticator = match question {
            Question::Accounting(_) | Question::Router(_) => false,
            Question::Eap { .. } => true,
            _ => peer.server.needs_message_authenticator,
        };
        let inputs = EncryptionInputs {
            secret: &peer.server.secret,
            authenticator: &sent.authenticator,
        };
        let is_proved = |needs_message_authenticator| {
            let (asked, secret) = (&sent.authenticator, &peer.server.secret);
            secret::is_proved(&packet, asked, secret, needs_message_authenticator)
        };
        let is_signed = is_proved(needs_message_authenticator);
        if !is_signed && is_proved(false) {
            return Err(Count::Unsigned);
        }
        let outcome = is_signed.then(|| Outcome::read(&packet, question, inputs));
        let outcome = outcome.flatten().ok_or(Count::Bad)?;
        Ok((key, outcome, sent.since))
    }

    /// Retransmits a request whose time is over, or sends it to the next server.
    fn expire(&mut self, key: K, now: Instant, out: &mut Vec<Action<K>>) {
        let Some(open) = self.open.get(&key) else {
            return;
        };
        let (server, port) = (open.server, open.port());
        let (tries, since) = match &open.stage {
            Stage::Waiting(_) => (u32::MAX, None),
            Stage::Sent(sent) => (sent.tries, Some(sent.since)),
        };
        let Some(peer) = self.peer(server) else {
            return;
        };
        let most = peer.server.tries();
        let timeout = peer.server.timeout;
        if since.is_some() {
            peer.flow_mut(port).missed(timeout, now);
        }
        if tries < most {
            out.push(Action::Count(server, Count::Resend));
            return self.transmit(key, now, out);
        }
        let mut has_fallen_silent = false;
        if let Some(since) = since {
            // A connection without answers may be dead: the next request opens another one.
            if peer.server.tls.is_some() && !peer.flow(port).has_answered_since(since) {
                out.extend(peer.flow(port).lines().map(Action::Close));
            }
            has_fallen_silent = peer.flow_mut(port).expired(since, now);
            out.push(Action::Count(server, Count::Timeout));
        }
        self.withdraw(key);
        if let Some(open) = self.open.get_mut(&key) {
            open.tried.push(server);
        }
        self.choose(key, now, out);
        if has_fallen_silent {
            self.leave_silent(server, port, now, out);
        }
        self.send_waiting(server, port, now, out);
    }

    /// Moves the requests that wait for a silent server to others.
    fn leave_silent(
        &mut self,
        server: u64,
        port: PortKind,
        now: Instant,
        out: &mut Vec<Action<K>>,
    ) {
        let waiting = self.peer(server).map(|peer| peer.flow_mut(port).drain());
        for key in waiting.into_iter().flatten() {
            let until = self.open.get(&key).map(|open| open.until);
            self.choose(key, now, out);
            // A request that found no other server waits no longer than before.
            let open = self.open.get(&key);
            let stays = open.is_some_and(|open| {
                open.server == server && matches!(open.stage, Stage::Waiting(_))
            });
            if let Some(until) = until.filter(|_| stays) {
                self.set_timer(key, until);
            }
        }
    }
}

/// Returns the action that saves the report of a session's end, with the time of the event.
fn unanswered<K>(key: K, mut query: Box<Query>, began: Instant) -> Option<Action<K>> {
    query.since = Some(began);
    query
        .request
        .is_stop()
        .then_some(Action::Unanswered(key, query))
}

fn done<K>(key: K, outcome: Outcome, server: Option<u64>) -> Action<K> {
    Action::Done(key, Box::new(Answer { outcome, server }))
}

impl<K: Copy + Ord + core::fmt::Debug> Machine for Client<K> {
    type Event<'a> = Event<'a, K>;
    type Action = Action<K>;
    type Timer = &'static str;

    fn handle(&mut self, event: Event<'_, K>, now: Instant, out: &mut Vec<Action<K>>) {
        match event {
            Event::Servers(servers) => self.set_servers(servers, now, out),
            Event::Query(key, query) => self.query(key, query, now, out),
            Event::Cancel(key) => self.cancel(key, out),
            Event::Received { line, from, bytes } => self.receive(line, from, bytes, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action<K>>) {
        while let Some((until, key)) = self.timers.first().copied()
            && until <= now
        {
            self.expire(key, now, out);
            // A request always moves on; this bounds the loop if its server is unknown.
            if self.timers.remove(&(until, key)) {
                self.finish(key, Outcome::Nobody, None, out);
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, &'static str)> {
        self.timers.first().map(|(until, _)| (*until, "answer"))
    }
}
