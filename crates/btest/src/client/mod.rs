//! Client of a bandwidth test (`/tool/bandwidth-test`) as a state machine.
//!
//! ```text
//! Start ─▶ Connect ─▶ hello ─▶ command ─▶ accepted ──────────────▶ data
//!                                 ├▶ challenge ─▶ answer ─▶ accepted
//!                                 └▶ exchange ─▶ proofs ─▶ accepted
//! UDP: accepted ─▶ port ─▶ OpenUdp ─▶ data        more TCP: accepted with token ─▶ Connect ─▶ data
//! ```
//!
//! After [`Action::Begin`] the driver sends what [`Client::flow`] allows, evenly on all connections or sockets.
//! It passes in received bytes unchanged: TCP in slices of any size, datagrams one at a time.

mod handshake;
mod test;

use machine::{Duration, Instant, Machine};

use crate::data::{Data, End, Message};
use crate::figures::Figures;
use crate::flow::Flow;
use crate::inbox::Inbox;
use crate::reason::Reason;
use crate::srp::{ClientKey, Proofs};
use crate::wire::{Command, HELLO, Protocol, Token, Word};

pub use test::{Status, Test};

/// Time limit of each handshake step.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Input of a client. Connections and sockets are numbered from 0; 0 is the first one.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Starts the test.
    Start,
    /// A requested connection is established. Optional: the server speaks first.
    Connected(u8),
    /// A requested connection failed, or the other end closed it.
    Closed(u8),
    /// Bytes arrived on a connection.
    Received(u8, &'a [u8]),
    /// A requested UDP socket is open.
    UdpOpened(u8),
    /// A requested UDP socket cannot be opened.
    UdpFailed(u8),
    /// A datagram arrived on a socket.
    Datagram(u8, &'a [u8]),
    /// The operator stops the test.
    Stop,
}

/// Output of a client: work for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection to the server's port [`crate::wire::PORT`].
    Connect(u8),
    /// Send on a connection, between data if the test runs.
    Send(u8, Vec<u8>),
    /// Open a UDP socket.
    OpenUdp {
        /// Number of the socket.
        socket: u8,
        /// Local port.
        local_port: u16,
        /// Remote port.
        remote_port: u16,
    },
    /// Send an empty datagram, so that firewalls and the server learn the socket's port.
    Probe(u8),
    /// Start sending data; for TCP on these connections.
    Begin(Vec<u8>),
    /// Close a connection; the test continues.
    Close(u8),
    /// Close everything.
    Ended(Status, Reason),
}

/// Timer of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Time limit of a handshake step.
    Handshake,
    /// End of a measurement second.
    Second,
    /// End of the test.
    Duration,
}

/// Client of one test.
pub struct Client {
    test: Test,
    command: Command,
    secret: [u8; 32],
    state: State,
    inbox: Inbox,
    joins: Vec<Join>,
    data: Option<Data>,
    /// Time of the state's start.
    since: Instant,
    messages: Vec<Message>,
    ended: Option<(Status, Reason)>,
}

/// Progress of the first connection.
enum State {
    Idle,
    /// Expects the hello.
    Hello,
    /// Expects the reply to the command.
    Answer,
    /// Expects the MD5 challenge.
    Challenge,
    /// Expects the server's public point.
    Exchange(Box<ClientKey>),
    /// Expects the server's proof.
    Proof(Box<Proofs>),
    /// Expects the reply to the authentication.
    Accept,
    /// Expects the server's UDP port.
    Port,
    /// Waits for this number of sockets.
    Sockets(u8),
    /// Waits for further connections.
    Joining(Token),
    /// Data transfer.
    Running,
    Ended,
}

/// A further connection that has not joined yet.
struct Join {
    connection: u8,
    inbox: Inbox,
    /// True after the request to join.
    asked: bool,
}

impl Client {
    /// Creates a client for a test. `secret` are 32 random bytes.
    pub fn new(test: Test, secret: [u8; 32]) -> Self {
        Self {
            command: test.command(),
            test,
            secret,
            state: State::Idle,
            inbox: Inbox::default(),
            joins: Vec::new(),
            data: None,
            since: Instant::ZERO,
            messages: Vec::new(),
            ended: None,
        }
    }

    /// Returns the status of the test.
    pub fn status(&self) -> Status {
        match (&self.ended, &self.state) {
            (Some((status, _)), _) => *status,
            (None, State::Running) => Status::Running,
            (None, _) => Status::Connecting,
        }
    }

    /// Returns the reason for the end of the test.
    pub fn reason(&self) -> Option<Reason> {
        self.ended.map(|(_, reason)| reason)
    }

    /// Returns the parameters of the test.
    pub const fn test(&self) -> &Test {
        &self.test
    }

    /// Returns the flow control; `None` while this end may not send.
    pub fn flow(&mut self) -> Option<&mut Flow> {
        match self.state {
            State::Running => self.data.as_mut()?.flow(),
            _ => None,
        }
    }

    /// Returns the measurements, also after the end of the test.
    pub fn figures(&self, now: Instant) -> Figures {
        let data = self.data.as_ref();
        data.map_or_else(Figures::default, |data| data.figures(now))
    }

    /// Sets the local CPU load in percent.
    pub fn set_cpu_percent(&mut self, percent: u8) {
        if let Some(data) = &mut self.data {
            data.set_cpu_percent(percent);
        }
    }

    fn enter(&mut self, state: State, now: Instant) {
        self.state = state;
        self.since = now;
    }

    fn udp_opened(&mut self, now: Instant, out: &mut Vec<Action>) {
        let State::Sockets(missing) = &mut self.state else {
            return;
        };
        *missing = missing.saturating_sub(1);
        if *missing > 0 {
            return;
        }
        self.prepare(now);
        if self.command.direction.server_sends() {
            out.extend((0..self.command.connections()).map(Action::Probe));
        }
        self.begin(now, out);
    }

    /// Processes bytes of a further connection.
    fn receive_further(
        &mut self,
        connection: u8,
        mut bytes: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if let State::Joining(token) = self.state {
            let mut joins = self.joins.iter_mut();
            if let Some(join) = joins.find(|join| join.connection == connection) {
                match join.step(token, &mut bytes, out) {
                    Joined::Waits => return,
                    Joined::Yes => self.joined(connection, true, now, out),
                    Joined::No => {
                        out.push(Action::Close(connection));
                        self.joined(connection, false, now, out);
                        return;
                    }
                }
            }
        }
        if let Some(data) = &mut self.data
            && let Err(reason) = data.receive(u64::from(connection), bytes)
        {
            self.end(reason, out);
        }
    }

    /// Handles a further connection that joined or failed.
    fn joined(&mut self, connection: u8, has: bool, now: Instant, out: &mut Vec<Action>) {
        self.joins.retain(|join| join.connection != connection);
        if has && let Some(data) = &mut self.data {
            data.add(u64::from(connection));
        }
        if self.joins.is_empty() && matches!(self.state, State::Joining(_)) {
            self.begin(now, out);
        }
    }

    fn closed(&mut self, connection: u8, now: Instant, out: &mut Vec<Action>) {
        if connection == 0 {
            let reason = match self.state {
                State::Hello => Reason::NotConnected,
                _ => Reason::Closed,
            };
            return self.end(reason, out);
        }
        if let Some(data) = &mut self.data {
            data.remove(u64::from(connection));
        }
        self.joined(connection, false, now, out);
    }

    fn prepare(&mut self, now: Instant) {
        let limit_bps = self.test.local_speed_bps;
        let peer = self.test.server;
        let data = Data::new(End::Client, &self.command, limit_bps, peer, 0, now);
        self.data = Some(data);
    }

    fn begin(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(data) = &mut self.data else {
            return;
        };
        data.open(now);
        let lines = match self.command.protocol {
            Protocol::Tcp => data.lines().map(|line| line as u8).collect(),
            Protocol::Udp => Vec::new(),
        };
        out.push(Action::Begin(lines));
        self.enter(State::Running, now);
    }

    fn end(&mut self, reason: Reason, out: &mut Vec<Action>) {
        if self.ended.is_some() {
            return;
        }
        let status = self.status_of(reason);
        self.state = State::Ended;
        self.joins.clear();
        self.ended = Some((status, reason));
        out.push(Action::Ended(status, reason));
    }

    fn status_of(&self, reason: Reason) -> Status {
        match reason {
            Reason::Stopped | Reason::Duration => Status::Done,
            Reason::NotConnected => Status::CanNotConnect,
            // Some servers close the connection in place of a refusal.
            Reason::Closed if matches!(self.state, State::Proof(_) | State::Accept) => {
                Status::AuthenticationFailed
            }
            Reason::Timeout if matches!(self.state, State::Hello) => Status::CanNotConnect,
            // The reply of a busy RouterOS is unknown; before authentication a refusal cannot concern the user.
            Reason::RefusedCommand => Status::RemoteBusy,
            Reason::RefusedUser | Reason::BadProof | Reason::BadPoint | Reason::BadUser => {
                Status::AuthenticationFailed
            }
            Reason::BadHello | Reason::BadWord | Reason::BadExchange | Reason::NoToken => {
                Status::Unsupported
            }
            Reason::NoPort => Status::CanNotStart,
            _ => Status::Disconnected,
        }
    }
}

impl Machine for Client {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match (event, &self.state) {
            (Event::Start, State::Idle) => {
                out.push(Action::Connect(0));
                self.enter(State::Hello, now);
            }
            (_, State::Idle | State::Ended) => {}
            (Event::Received(0, bytes), _) => self.receive(bytes, now, out),
            (Event::Received(further, bytes), _) => self.receive_further(further, bytes, now, out),
            (Event::Closed(connection), _) => self.closed(connection, now, out),
            (Event::UdpOpened(_), _) => self.udp_opened(now, out),
            (Event::UdpFailed(_), State::Sockets(_)) => self.end(Reason::NoPort, out),
            (Event::Datagram(socket, datagram), State::Running) => {
                if let Some(data) = &mut self.data {
                    data.receive_datagram(u16::from(socket), datagram);
                }
            }
            (Event::Stop, _) => self.end(Reason::Stopped, out),
            (Event::Start | Event::Connected(_) | Event::UdpFailed(_) | Event::Datagram(..), _) => {
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let Some(data) = &mut self.data {
            data.tick(now, &mut self.messages);
        }
        let messages = self.messages.drain(..);
        out.extend(messages.map(|(line, message)| Action::Send(line as u8, message.to_vec())));
        if self.data.as_ref().is_some_and(|data| data.is_silent(now)) {
            self.end(Reason::Timeout, out);
        }
        match self.deadline() {
            Some((at, Timer::Handshake)) if at <= now => {
                // The test starts with the connections that have joined.
                if let State::Joining(_) = self.state {
                    let late = self.joins.drain(..);
                    out.extend(late.map(|join| Action::Close(join.connection)));
                    self.begin(now, out);
                } else {
                    self.end(Reason::Timeout, out);
                }
            }
            Some((at, Timer::Duration)) if at <= now => self.end(Reason::Duration, out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        match self.state {
            State::Idle | State::Ended => return None,
            State::Running => {}
            _ => return Some((self.since + HANDSHAKE_TIMEOUT, Timer::Handshake)),
        }
        let data = self.data.as_ref()?;
        let second = data.deadline().map(|at| (at, Timer::Second));
        let end = data.began().zip(self.test.duration);
        let end = end.map(|(began, duration)| (began + duration, Timer::Duration));
        // If both are due, the last second is measured first.
        second.into_iter().chain(end).min_by_key(|(at, _)| *at)
    }
}

/// State of a further connection.
enum Joined {
    Waits,
    Yes,
    No,
}

impl Join {
    /// Processes replies of the server.
    fn step(&mut self, token: Token, bytes: &mut &[u8], out: &mut Vec<Action>) -> Joined {
        while let Some(word) = self.inbox.take(bytes) {
            match (self.asked, Word::parse(word)) {
                (false, _) if word == HELLO => {
                    out.push(Action::Send(self.connection, token.join().to_vec()));
                    self.asked = true;
                }
                (true, Some(Word::Accepted(_))) => return Joined::Yes,
                _ => return Joined::No,
            }
        }
        Joined::Waits
    }
}
