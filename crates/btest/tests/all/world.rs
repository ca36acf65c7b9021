//! A client and a server with a simulated network between them, in virtual time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use btest::client::{self, Client, Status, Test};
use btest::server::{self, Authentication, Connection, Credential, Server, Settings};
use btest::wire::{Direction, Fill, Protocol};
use btest::{Flow, Reason, buffer};
use machine::{Duration, Instant, Machine, Rng};

/// Address of both ends.
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// First UDP port of the server.
pub(crate) const UDP_PORT: u16 = 2001;
/// Time step of the network.
const STEP: Duration = Duration::from_millis(10);
/// Bytes per step and direction of a connection.
const PIPE: usize = 20_000;

/// Creates a test with default names and sizes.
pub(crate) fn test(protocol: Protocol, direction: Direction, connections: u8) -> Test {
    Test {
        server: PEER,
        protocol,
        direction,
        fill: Fill::Random,
        local_size: 0,
        remote_size: 0,
        local_speed_bps: 0,
        remote_speed_bps: 0,
        connections,
        user: "admin".to_owned(),
        password: "secret".into(),
        duration: None,
    }
}

/// The simulated network with both ends.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) client: Client,
    pub(crate) server: Server,
    /// Password of `admin` on the server.
    pub(crate) password: &'static str,
    /// True if the server's host has a free UDP port.
    pub(crate) has_port: bool,
    /// Every n-th datagram is lost; 0 means none.
    pub(crate) lose: u64,
    pub(crate) closed: BTreeMap<u8, Reason>,
    pub(crate) ended: Option<(Status, Reason)>,
    pub(crate) dropped: [u64; 2],
    to_server: BTreeMap<u8, Vec<u8>>,
    to_client: BTreeMap<u8, Vec<u8>>,
    datagrams: u64,
    data: Vec<u8>,
    rng: Rng,
}

impl World {
    pub(crate) fn new(test: Test, authentication: Authentication, seed: u64) -> Self {
        let settings = Settings {
            authentication,
            max_sessions: 100,
        };
        let mut rng = Rng::seeded(seed);
        let mut secret = [0; 32];
        rng.fill(&mut secret);
        let data = buffer(test.fill, PIPE, seed);
        Self {
            now: Instant::from_secs(1_000),
            client: Client::new(test, secret),
            server: Server::new(settings, secret),
            password: "secret",
            has_port: true,
            lose: 0,
            closed: BTreeMap::new(),
            ended: None,
            dropped: [0; 2],
            to_server: BTreeMap::new(),
            to_client: BTreeMap::new(),
            datagrams: 0,
            data,
            rng,
        }
    }

    pub(crate) fn start(&mut self) {
        self.tell_client(client::Event::Start);
    }

    /// Advances time step by step.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now += STEP;
            let mut out = Vec::new();
            self.client.tick(self.now, &mut out);
            self.act_client(out);
            let mut out = Vec::new();
            self.server.tick(self.now, &mut out);
            self.act_server(out);
            self.pump();
            self.deliver();
        }
    }

    pub(crate) fn tell_client(&mut self, event: client::Event<'_>) {
        let mut out = Vec::new();
        self.client.handle(event, self.now, &mut out);
        self.act_client(out);
    }

    pub(crate) fn tell_server(&mut self, event: server::Event<'_>) {
        let mut out = Vec::new();
        self.server.handle(event, self.now, &mut out);
        self.act_server(out);
    }

    fn act_client(&mut self, actions: Vec<client::Action>) {
        for action in actions {
            match action {
                client::Action::Connect(number) => self.connect(number),
                client::Action::Send(number, bytes) => {
                    if let Some(pipe) = self.to_server.get_mut(&number) {
                        pipe.extend(bytes);
                    }
                }
                client::Action::OpenUdp {
                    socket,
                    local_port,
                    remote_port,
                } => {
                    assert_eq!(remote_port, UDP_PORT);
                    assert_eq!(local_port, UDP_PORT + 256 + u16::from(socket));
                    self.tell_client(client::Event::UdpOpened(socket));
                }
                client::Action::Probe(socket) => self.datagram_to_server(socket, &[]),
                client::Action::Begin(_) => {}
                client::Action::Close(number) => self.hang_up(number),
                client::Action::Ended(status, reason) => {
                    assert_eq!(self.ended.replace((status, reason)), None, "it ends once");
                    let numbers: Vec<_> = self.to_server.keys().copied().collect();
                    numbers.into_iter().for_each(|number| self.hang_up(number));
                }
            }
        }
    }

    fn act_server(&mut self, actions: Vec<server::Action>) {
        for action in actions {
            match action {
                server::Action::Send(Connection(number), bytes) => {
                    if let Some(pipe) = self.to_client.get_mut(&(number as u8)) {
                        pipe.extend(bytes);
                    }
                }
                server::Action::Ask(connection, user) => {
                    let known = Credential::Password(self.password.into());
                    let known = if user == "admin" {
                        known
                    } else {
                        Credential::Unknown
                    };
                    self.tell_server(server::Event::Credential(connection, known));
                }
                server::Action::OpenUdp(session, peer) => {
                    assert_eq!(peer, PEER);
                    self.tell_server(if self.has_port {
                        server::Event::UdpOpened(session, UDP_PORT)
                    } else {
                        server::Event::UdpFailed(session)
                    });
                }
                server::Action::Begin(..)
                | server::Action::Ended(..)
                | server::Action::Proved(_) => {}
                server::Action::Close(Connection(number), reason) => {
                    self.closed.insert(number as u8, reason);
                    self.to_server.remove(&(number as u8));
                }
            }
        }
    }

    fn connect(&mut self, number: u8) {
        self.to_server.insert(number, Vec::new());
        self.to_client.insert(number, Vec::new());
        let mut random = Box::new([0; 64]);
        self.rng.fill(&mut *random);
        self.tell_server(server::Event::Accepted {
            connection: Connection(u64::from(number)),
            peer: PEER,
            source: PEER,
            random,
        });
    }

    /// Closes a connection from the client's side.
    fn hang_up(&mut self, number: u8) {
        self.to_server.remove(&number);
        self.to_client.remove(&number);
        self.tell_server(server::Event::Closed(Connection(u64::from(number))));
    }

    /// Lets both ends send what flow control and network allow.
    fn pump(&mut self) {
        let now = self.now;
        let numbers: Vec<_> = self.to_client.keys().copied().collect();
        for number in &numbers {
            let server = self.server.flow(Connection(0));
            if let Some(flow) = server.filter(|flow| flow.protocol() == Protocol::Tcp) {
                let bytes = take_bytes(flow, now);
                self.to_client
                    .entry(*number)
                    .or_default()
                    .extend(&self.data[..bytes]);
            }
            let client = self.client.flow();
            if let Some(flow) = client.filter(|flow| flow.protocol() == Protocol::Tcp)
                && let Some(pipe) = self.to_server.get_mut(number)
            {
                let bytes = take_bytes(flow, now);
                pipe.extend(&self.data[..bytes]);
            }
        }
        self.pump_datagrams();
    }

    fn pump_datagrams(&mut self) {
        let now = self.now;
        let count = usize::from(self.client.test().connections);
        for turn in 0..PIPE / 1500 {
            if let Some(datagram) = take_datagram(self.client.flow(), now) {
                self.datagram_to_server((turn % count) as u8, &datagram);
            }
            let Some(datagram) = take_datagram(self.server.flow(Connection(0)), now) else {
                continue;
            };
            let port = self
                .server
                .destination(Connection(0))
                .expect("the session is there");
            let socket = port - UDP_PORT - 256;
            assert!(usize::from(socket) < count, "{port}");
            if self.survives(1) {
                self.tell_client(client::Event::Datagram(socket as u8, &datagram));
            }
        }
    }

    fn datagram_to_server(&mut self, socket: u8, datagram: &[u8]) {
        if datagram.is_empty() || self.survives(0) {
            self.tell_server(server::Event::Datagram {
                session: Connection(0),
                port: UDP_PORT + 256 + u16::from(socket),
                datagram,
            });
        }
    }

    /// Decides whether a datagram survives; the first ones always do.
    fn survives(&mut self, direction: usize) -> bool {
        self.datagrams += 1;
        let lost =
            self.lose > 0 && self.datagrams > 100 && self.datagrams.is_multiple_of(self.lose);
        self.dropped[direction] += u64::from(lost);
        !lost
    }

    /// Delivers queued bytes to both ends, in pieces of random size.
    fn deliver(&mut self) {
        let numbers: Vec<_> = self.to_client.keys().copied().collect();
        for number in numbers {
            let mut bytes = self
                .to_server
                .get_mut(&number)
                .map(core::mem::take)
                .unwrap_or_default();
            while !bytes.is_empty() {
                let rest = bytes.split_off(self.piece(bytes.len()));
                self.tell_server(server::Event::Received(
                    Connection(u64::from(number)),
                    &bytes,
                ));
                bytes = rest;
            }
            let mut bytes = self
                .to_client
                .get_mut(&number)
                .map(core::mem::take)
                .unwrap_or_default();
            while !bytes.is_empty() {
                let rest = bytes.split_off(self.piece(bytes.len()));
                self.tell_client(client::Event::Received(number, &bytes));
                bytes = rest;
            }
            if self.closed.contains_key(&number) && self.to_client.remove(&number).is_some() {
                self.tell_client(client::Event::Closed(number));
            }
        }
    }

    fn piece(&mut self, most: usize) -> usize {
        let bound = [1, 20, 5_000][self.rng.below(3) as usize];
        (self.rng.below(bound) as usize + 1).min(most)
    }
}

fn take_bytes(flow: &mut Flow, now: Instant) -> usize {
    let bytes = (flow.allowance(now).units * flow.unit()).min(PIPE);
    flow.sent_bytes(bytes, now);
    bytes
}

fn take_datagram(flow: Option<&mut Flow>, now: Instant) -> Option<Vec<u8>> {
    let flow = flow.filter(|flow| flow.protocol() == Protocol::Udp)?;
    if flow.allowance(now).units == 0 {
        return None;
    }
    let mut datagram = buffer(flow.fill(), flow.unit(), 1);
    flow.number(0, &mut datagram);
    flow.sent_datagrams(1, now);
    Some(datagram)
}
