//! A client, a server, and the network between them, in virtual time.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use machine::{Duration, Instant, Machine as _, Rng};
use openvpn::{
    Action, Bits, Cipher, Client, ClientEvent, ClientSettings, DataKeys, Device, Digest, Fault,
    Grant, Login, Mismatch, Opened, Path, Protection, Push, Reason, Renegotiation, Server,
    ServerEvent, ServerSettings, SessionId, Topology, Traffic, Transport,
};

use crate::certificates::Certificates;

/// Time that a packet takes.
const DELAY: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What an end reported.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) logins: Vec<Login>,
    pub(crate) opened: Vec<Opened>,
    /// Keys by session and key id, and the key id that is used for sending.
    pub(crate) keys: BTreeMap<(SessionId, u8), DataKeys>,
    pub(crate) sending: BTreeMap<SessionId, u8>,
    pub(crate) pings: usize,
    pub(crate) exits: usize,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) closed: Vec<(SessionId, Reason)>,
    pub(crate) ignored: Vec<Fault>,
}

/// Misfortune of packets, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u8,
    pub(crate) repeated: u8,
    pub(crate) late: u8,
}

pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) client: Client,
    pub(crate) server: Server,
    pub(crate) of_client: Reports,
    pub(crate) of_server: Reports,
    /// Packets under way: arrival, order, receiver, path as the receiver sees it, bytes.
    pub(crate) flying: BTreeMap<(Instant, u64), (Side, Path, Vec<u8>)>,
    pub(crate) faults: Faults,
    /// The server's answer to logins.
    pub(crate) answer: Result<Grant, &'static str>,
    sent: u64,
    rng: Rng,
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

pub(crate) fn path() -> Path {
    Path {
        local: address("192.0.2.1:40000"),
        remote: address("198.51.100.1:1194"),
        transport: Transport::Udp,
    }
}

pub(crate) fn reversed(path: &Path) -> Path {
    Path {
        local: path.remote,
        remote: path.local,
        transport: path.transport,
    }
}

pub(crate) const HOURLY: Renegotiation = Renegotiation {
    after: Some(Duration::from_secs(3600)),
    bytes: None,
};

pub(crate) fn server_settings(certificates: &Certificates) -> ServerSettings {
    ServerSettings {
        tls: certificates.server_tls(false),
        device: Device::Tun,
        mtu: 1500,
        ciphers: [Bits::B256, Bits::B128].map(Cipher::AesGcm).to_vec(),
        digests: vec![Digest::Sha256, Digest::Sha1],
        renegotiation: HOURLY,
        max_sessions: 100,
    }
}

pub(crate) fn client_settings(certificates: &Certificates) -> ClientSettings {
    ClientSettings {
        tls: certificates.client_tls(rustls::ALL_VERSIONS, false),
        protection: Protection::None,
        device: Device::Tun,
        mtu: 1500,
        ciphers: [Bits::B128, Bits::B256].map(Cipher::AesGcm).to_vec(),
        digest: Digest::Sha1,
        credentials: Some(("user".into(), String::from("secret").into())),
        version: "1".into(),
        renegotiation: Renegotiation {
            after: None,
            bytes: None,
        },
    }
}

pub(crate) fn grant() -> Grant {
    Grant {
        push: Push {
            topology: Topology::Subnet,
            address: Some(([10, 8, 0, 2].into(), [255, 255, 255, 0].into())),
            gateway: Some([10, 8, 0, 1].into()),
            ping: Some(10),
            ping_restart: Some(120),
            ..Push::default()
        },
        ping: Some(Duration::from_secs(10)),
        timeout: Some(Duration::from_secs(120)),
    }
}

impl Network {
    pub(crate) fn with(seed: u64, server: ServerSettings) -> Self {
        let mut rng = Rng::seeded(seed);
        Self {
            now: Instant::from_secs(1000),
            client: Client::new(rng.split()),
            server: Server::new(server, rng.split()),
            of_client: Reports::default(),
            of_server: Reports::default(),
            flying: BTreeMap::new(),
            faults: Faults::default(),
            answer: Ok(grant()),
            sent: 0,
            rng,
        }
    }

    /// Connects the client.
    pub(crate) fn connect(&mut self, settings: ClientSettings) {
        self.at_client(ClientEvent::Connect {
            settings: Box::new(settings),
            path: path(),
            unix_time: 1_700_000_000,
        });
    }

    pub(crate) fn at_client(&mut self, event: ClientEvent<'_>) {
        let mut out = Vec::new();
        self.client.handle(event, self.now, &mut out);
        self.carry_out(Side::Client, out);
    }

    pub(crate) fn at_server(&mut self, event: ServerEvent<'_>) {
        let mut out = Vec::new();
        self.server.handle(event, self.now, &mut out);
        self.carry_out(Side::Server, out);
    }

    fn carry_out(&mut self, side: Side, actions: Vec<Action>) {
        for action in actions {
            let reports = match side {
                Side::Client => &mut self.of_client,
                Side::Server => &mut self.of_server,
            };
            match action {
                Action::Send(path, packet) => self.send(side, &path, &packet),
                Action::Authenticate(login) => {
                    let session = login.session;
                    reports.logins.push(*login);
                    let answer = self.answer.clone();
                    self.at_server(match answer {
                        Ok(grant) => ServerEvent::Accept(session, Box::new(grant)),
                        Err(reason) => ServerEvent::Refuse(session, reason),
                    });
                }
                Action::Opened(opened) => reports.opened.push(*opened),
                Action::Keys(keys) => {
                    let before = reports.keys.insert((keys.session, keys.key_id), *keys);
                    assert_eq!(before, None, "a key comes once");
                }
                Action::UseKey(session, key) => {
                    assert!(reports.keys.contains_key(&(session, key)));
                    reports.sending.insert(session, key);
                }
                Action::RetireKey(session, key) => {
                    assert_ne!(reports.sending.get(&session), Some(&key));
                    assert!(reports.keys.remove(&(session, key)).is_some());
                }
                Action::Ping(session) => {
                    reports.pings += 1;
                    let (now, key_bytes) = (self.now, 0);
                    let received = |received| Traffic {
                        received,
                        key_bytes,
                        ..Traffic::default()
                    };
                    match side {
                        Side::Client => {
                            let id = self
                                .of_server
                                .opened
                                .last()
                                .map_or(0, |opened| opened.session);
                            self.at_server(ServerEvent::Traffic(id, received(Some(now))));
                        }
                        Side::Server => {
                            let _ = session;
                            self.at_client(ClientEvent::Traffic(received(Some(now))));
                        }
                    }
                }
                Action::NotifyExit(_) => reports.exits += 1,
                Action::Mismatch(_, mismatch) => reports.mismatches.push(mismatch),
                Action::Closed(session, reason) => reports.closed.push((session, reason)),
                Action::Ignored(fault) => reports.ignored.push(fault),
            }
        }
    }

    fn send(&mut self, from: Side, path: &Path, packet: &[u8]) {
        assert!(packet.len() <= 1280, "{} bytes", packet.len());
        let to = match from {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let copies = 1 + u8::from(self.rng.percent(self.faults.repeated));
        for _ in 0..copies {
            if self.rng.percent(self.faults.lost) {
                continue;
            }
            let late = self.rng.percent(self.faults.late);
            let delay = DELAY * (1 + 40 * u32::from(late));
            self.sent += 1;
            let key = (self.now + delay, self.sent);
            self.flying
                .insert(key, (to, reversed(path), packet.to_vec()));
        }
    }

    /// Delivers the next packet, or runs the next timer, until `until`. Returns false if nothing happens until then.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let arrival = self.flying.keys().next().copied();
        let deadlines = [self.client.deadline(), self.server.deadline()];
        let [client, server] =
            deadlines.map(|deadline| deadline.map_or(Instant::FAR_FUTURE, |(at, _)| at));
        match arrival {
            Some(key) if key.0 <= client.min(server) && key.0 <= until => {
                self.now = self.now.max(key.0);
                if let Some((to, path, packet)) = self.flying.remove(&key) {
                    let packet = &packet;
                    match to {
                        Side::Client => self.at_client(ClientEvent::Received { path, packet }),
                        Side::Server => self.at_server(ServerEvent::Received { path, packet }),
                    }
                }
                true
            }
            _ if client.min(server) <= until => {
                self.now = self.now.max(client.min(server));
                let mut out = Vec::new();
                if client <= server {
                    self.client.tick(self.now, &mut out);
                    self.carry_out(Side::Client, out);
                } else {
                    self.server.tick(self.now, &mut out);
                    self.carry_out(Side::Server, out);
                }
                true
            }
            _ => false,
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, span: Duration) {
        let until = self.now + span;
        let mut steps = 0;
        while self.step(until) {
            steps += 1;
            assert!(steps < 1_000_000, "an end never rests");
        }
        self.now = until;
    }

    /// Returns the parameters of the last open session at both ends.
    pub(crate) fn pair(&self) -> (&Opened, &Opened) {
        let last = |reports: &Reports| format!("{reports:?}");
        let (client, server) = (self.of_client.opened.last(), self.of_server.opened.last());
        match (client, server) {
            (Some(client), Some(server)) => (client, server),
            _ => panic!("{}\n{}", last(&self.of_client), last(&self.of_server)),
        }
    }

    /// Checks that both ends have the same key, and send with it.
    pub(crate) fn assert_keyed(&self, key_id: u8) {
        let (_, server) = self.pair();
        let id = server.session;
        let [ours, theirs] = [
            self.of_client.keys.get(&(0, key_id)),
            self.of_server.keys.get(&(id, key_id)),
        ]
        .map(|keys| keys.expect("the key was installed"));
        assert_eq!(ours.keys.send.cipher, theirs.keys.receive.cipher);
        assert_eq!(ours.keys.send.hmac, theirs.keys.receive.hmac);
        assert_eq!(ours.keys.receive.cipher, theirs.keys.send.cipher);
        assert_eq!(ours.keys.receive.hmac, theirs.keys.send.hmac);
        assert_ne!(ours.keys.send.cipher, ours.keys.receive.cipher);
        assert_eq!(self.of_client.sending.get(&0), Some(&key_id));
        assert_eq!(self.of_server.sending.get(&id), Some(&key_id));
    }
}
