//! The client of a test (`/tool/bandwidth-test`), as a machine.
//!
//! ```text
//! Start ─▶ Connect ─▶ hello ─▶ command ─▶ accepted ──────────────▶ data
//!                                 ├▶ challenge ─▶ answer ─▶ accepted
//!                                 └▶ exchange ─▶ proofs ─▶ accepted
//! UDP: accepted ─▶ port ─▶ OpenUdp ─▶ data        more TCP: accepted with token ─▶ Connect ─▶ data
//! ```
//!
//! After [`Action::Begin`] the driver sends what [`Client::flow`] allows, on all connections or
//! sockets alike. It gives what arrives to the machine as it is: TCP as slices of any size, and
//! datagrams one by one.

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

/// How long a server may take for each step of the handshake.
const PATIENCE: Duration = Duration::from_secs(10);
/// What happens to a client. Connections and sockets are numbered from 0; 0 is the first one.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Begin.
    Start,
    /// A connection that was asked for is there. A driver need not tell: the server speaks first.
    Connected(u8),
    /// A connection that was asked for did not come about, or the other end closed it.
    Closed(u8),
    /// Bytes arrived on a connection.
    Received(u8, &'a [u8]),
    /// A socket that was asked for is open.
    UdpOpened(u8),
    /// A socket that was asked for cannot be opened.
    UdpFailed(u8),
    /// A datagram arrived on a socket.
    Datagram(u8, &'a [u8]),
    /// The operator has had enough.
    Stop,
}

/// What a client wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection to the server's port [`crate::wire::PORT`].
    Connect(u8),
    /// Send on a connection, between data where they flow.
    Send(u8, Vec<u8>),
    /// Open a UDP socket.
    OpenUdp {
        /// Its number.
        socket: u8,
        /// Its own port.
        local_port: u16,
        /// The server's port.
        remote_port: u16,
    },
    /// Send an empty datagram, so that firewalls and the server know the socket's port.
    Probe(u8),
    /// Data may flow; by TCP on these connections.
    Begin(Vec<u8>),
    /// Close a connection; the test goes on.
    Close(u8),
    /// Close everything.
    Ended(Status, Reason),
}

/// The timers of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The server takes too long.
    Handshake,
    /// A second ends.
    Second,
    /// The test's time is over.
    Duration,
}

/// A client, for one test.
pub struct Client {
    test: Test,
    command: Command,
    secret: [u8; 32],
    state: State,
    inbox: Inbox,
    joins: Vec<Join>,
    data: Option<Data>,
    /// When the state began.
    since: Instant,
    messages: Vec<Message>,
    ended: Option<(Status, Reason)>,
}

/// Where the first connection is.
enum State {
    Idle,
    /// Waits for the hello.
    Hello,
    /// Waits for the answer to the command.
    Answer,
    /// Waits for the challenge of MD5.
    Challenge,
    /// Waits for the server's point.
    Exchange(Box<ClientKey>),
    /// Waits for the server's proof.
    Proof(Box<Proofs>),
    /// Waits for the word after the user has proved who he is.
    Accept,
    /// Waits for the server's UDP port.
    Port,
    /// Waits for so many sockets.
    Sockets(u8),
    /// Waits for further connections.
    Joining(Token),
    /// Data flow.
    Running,
    Ended,
}

/// A further connection that has not joined yet.
struct Join {
    connection: u8,
    inbox: Inbox,
    /// Whether it has asked to join.
    asked: bool,
}

impl Client {
    /// A client for a test, with 32 random bytes that nobody can guess.
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

    /// How the test goes.
    pub fn status(&self) -> Status {
        match (&self.ended, &self.state) {
            (Some((status, _)), _) => *status,
            (None, State::Running) => Status::Running,
            (None, _) => Status::Connecting,
        }
    }

    /// Why the test ended.
    pub fn reason(&self) -> Option<Reason> {
        self.ended.map(|(_, reason)| reason)
    }

    /// What is tested.
    pub const fn test(&self) -> &Test {
        &self.test
    }

    /// What may be sent; None where this end sends nothing, or not now.
    pub fn flow(&mut self) -> Option<&mut Flow> {
        match self.state {
            State::Running => self.data.as_mut()?.flow(),
            _ => None,
        }
    }

    /// What has been measured. It stays when the test has ended.
    pub fn figures(&self, now: Instant) -> Figures {
        let data = self.data.as_ref();
        data.map_or_else(Figures::default, |data| data.figures(now))
    }

    /// Sets this end's load in percent.
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

    /// Takes bytes of a further connection.
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

    /// A further connection has joined, or will not.
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
            // Some servers hang up instead of a refusal.
            Reason::Closed if matches!(self.state, State::Proof(_) | State::Accept) => {
                Status::AuthenticationFailed
            }
            Reason::Timeout if matches!(self.state, State::Hello) => Status::CanNotConnect,
            // What a busy RouterOS says is not known; before any proof it cannot mean the user.
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
        match self.deadline() {
            Some((at, Timer::Handshake)) if at <= now => {
                // Those that have joined are enough.
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
            _ => return Some((self.since + PATIENCE, Timer::Handshake)),
        }
        let data = self.data.as_ref()?;
        let second = data.deadline().map(|at| (at, Timer::Second));
        let end = data.began().zip(self.test.duration);
        let end = end.map(|(began, duration)| (began + duration, Timer::Duration));
        // Where both are due the last second counts.
        second.into_iter().chain(end).min_by_key(|(at, _)| *at)
    }
}

/// Whether a further connection has joined.
enum Joined {
    Waits,
    Yes,
    No,
}

impl Join {
    /// Takes words of the server.
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
