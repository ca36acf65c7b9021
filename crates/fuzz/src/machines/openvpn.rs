//! OpenVPN server and client, which a network connects that loses, repeats and forges packets; and the texts of the
//! control channel.

use std::sync::{Arc, OnceLock};

use machine::{Duration, Instant, Machine as _, Rng};
use openvpn::{
    Action, Bits, Cipher, Client, ClientEvent, ClientSettings, Device, Digest, Grant, Path,
    PeerInfo, Protection, Push, RemoteOptions, Renegotiation, Server, ServerEvent, ServerSettings,
    StaticKey, TlsConfig, Traffic, Transport,
};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::script::{events, quiet, span};

/// Packets that wait for their delivery, at most.
const MAX_WAITING: usize = 64;

/// TLS of both ends. The client trusts the server's certificate.
fn tls() -> &'static [TlsConfig; 2] {
    static TLS: OnceLock<[TlsConfig; 2]> = OnceLock::new();
    TLS.get_or_init(|| {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let own = rcgen::generate_simple_self_signed(vec!["server".to_owned()]);
        let own = own.expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let chain = vec![own.cert.der().clone()];
        let mut roots = RootCertStore::empty();
        roots.add(own.cert.der().clone()).expect("a root");
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key.into())
            .expect("a configuration");
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("server").expect("a name");
        [
            TlsConfig::Server(Arc::new(server)),
            TlsConfig::Client(Arc::new(client), name),
        ]
    })
}

fn path(port: u8) -> Path {
    Path {
        local: ([192, 0, 2, 1], 1194).into(),
        remote: ([198, 51, 100, 1], 5000 + u16::from(port)).into(),
        transport: Transport::Udp,
    }
}

fn renegotiation(bits: u8) -> Renegotiation {
    Renegotiation {
        after: (bits & 1 != 0).then_some(Duration::from_secs(30)),
        bytes: (bits & 2 != 0).then_some(1000),
    }
}

fn server_settings(bits: u8) -> Box<ServerSettings> {
    Box::new(ServerSettings {
        tls: tls()[0].clone(),
        device: Device::Tun,
        mtu: 1500,
        ciphers: vec![Cipher::AesGcm(Bits::B128), Cipher::AesCbc(Bits::B256)],
        digests: vec![Digest::Sha1],
        renegotiation: renegotiation(bits),
        max_sessions: 4,
    })
}

fn client_settings(bits: u8) -> Box<ClientSettings> {
    Box::new(ClientSettings {
        tls: tls()[1].clone(),
        protection: Protection::None,
        device: Device::Tun,
        mtu: 1500,
        ciphers: match bits & 4 {
            0 => vec![Cipher::AesGcm(Bits::B128)],
            _ => vec![Cipher::AesCbc(Bits::B256)],
        },
        digest: Digest::Sha1,
        credentials: (bits & 8 == 0).then(|| ("user".into(), String::from("secret").into())),
        version: "1".into(),
        renegotiation: renegotiation(bits >> 4),
    })
}

/// Both ends, and what is under way.
struct Pair {
    server: Server,
    client: Client,
    now: Instant,
    to_server: Vec<Vec<u8>>,
    to_client: Vec<Vec<u8>>,
    /// Sessions that wait for an answer.
    logins: Vec<u32>,
    open: Vec<u32>,
}

impl Pair {
    fn at_server(&mut self, event: ServerEvent<'_>) {
        let mut out = Vec::new();
        self.server.handle(event, self.now, &mut out);
        self.carry_out(out, true);
    }

    fn at_client(&mut self, event: ClientEvent<'_>) {
        let mut out = Vec::new();
        self.client.handle(event, self.now, &mut out);
        self.carry_out(out, false);
    }

    fn carry_out(&mut self, out: Vec<Action>, is_server: bool) {
        for action in out {
            match action {
                Action::Send(_, packet) => {
                    assert!(packet.len() <= 1280);
                    let waiting = match is_server {
                        true => &mut self.to_client,
                        false => &mut self.to_server,
                    };
                    if waiting.len() < MAX_WAITING {
                        waiting.push(packet);
                    }
                }
                Action::Authenticate(login) => self.logins.push(login.session),
                Action::Opened(opened) if is_server => self.open.push(opened.session),
                Action::Closed(session, _) if is_server => {
                    self.open.retain(|open| *open != session);
                    self.logins.retain(|login| *login != session);
                }
                Action::UseKey(_, key) | Action::RetireKey(_, key) => assert!(key < 8),
                _ => {}
            }
        }
    }

    /// Delivers the packets under way.
    fn deliver(&mut self) {
        for packet in core::mem::take(&mut self.to_server) {
            let (path, packet) = (path(0), &packet);
            self.at_server(ServerEvent::Received { path, packet });
        }
        for packet in core::mem::take(&mut self.to_client) {
            let (path, packet) = (path(0), &packet);
            self.at_client(ClientEvent::Received { path, packet });
        }
    }

    /// Passes an event of the owners.
    fn decide(&mut self, what: u8, data: &[u8]) {
        let bits = data.first().copied().unwrap_or(0);
        let traffic = Traffic {
            sent: Some(self.now),
            received: (bits & 1 != 0).then_some(self.now),
            key_bytes: u64::from(bits) * 10,
            is_exhausted: bits & 2 != 0,
        };
        let open = self.open.last().copied().unwrap_or(0);
        match what >> 3 & 7 {
            0 => self.at_client(ClientEvent::Connect {
                settings: client_settings(bits),
                path: path(0),
                unix_time: 7,
            }),
            1 => {
                let grant = Grant {
                    push: Push::default(),
                    ping: Some(Duration::from_secs(10)),
                    timeout: Some(Duration::from_secs(60)),
                };
                let login = self.logins.pop().unwrap_or(0);
                self.at_server(ServerEvent::Accept(login, Box::new(grant)));
            }
            2 => {
                let login = self.logins.pop().unwrap_or(0);
                self.at_server(ServerEvent::Refuse(login, "no"));
            }
            3 => self.at_server(ServerEvent::Traffic(open, traffic)),
            4 => self.at_client(ClientEvent::Traffic(traffic)),
            5 => self.at_client(ClientEvent::Close),
            6 => self.at_server(ServerEvent::Close(open)),
            _ => self.at_server(ServerEvent::Configure(server_settings(bits))),
        }
    }
}

/// Runs a server and a client.
pub fn openvpn(script: &[u8]) {
    let mut rng = Rng::seeded(1);
    let mut pair = Pair {
        server: Server::new(*server_settings(0), rng.split()),
        client: Client::new(rng.split()),
        now: Instant::from_secs(100),
        to_server: Vec::new(),
        to_client: Vec::new(),
        logins: Vec::new(),
        open: Vec::new(),
    };
    for (what, data) in events(script) {
        let from = path(what >> 6);
        match what & 7 {
            0 => pair.at_server(ServerEvent::Received {
                path: from,
                packet: data,
            }),
            1 => pair.at_client(ClientEvent::Received {
                path: from,
                packet: data,
            }),
            2 => pair.deliver(),
            // A packet under way is changed, lost or repeated.
            3 | 4 => {
                let waiting = match what & 7 {
                    3 => &mut pair.to_server,
                    _ => &mut pair.to_client,
                };
                if let (Some(mut packet), Some(at)) = (waiting.pop(), data.first()) {
                    if what & 8 != 0 {
                        waiting.push(packet.clone());
                    }
                    for (byte, other) in packet.iter_mut().skip(usize::from(*at)).zip(&data[1..]) {
                        *byte ^= other;
                    }
                    waiting.push(packet);
                }
            }
            5 => texts(data),
            _ => pair.decide(what, data),
        }
        pair.now += span(data) + Duration::from_millis(1);
        let (now, mut out) = (pair.now, Vec::new());
        pair.server.tick(now, &mut out);
        pair.carry_out(core::mem::take(&mut out), true);
        pair.client.tick(now, &mut out);
        pair.carry_out(out, false);
        quiet(&pair.server, now);
        quiet(&pair.client, now);
        assert!(pair.server.session_count() <= 4);
    }
}

/// Reads options strings, facts of a peer, pushed options, static keys and streams.
fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    RemoteOptions::parse(&text);
    PeerInfo::parse(&text);
    let _ = StaticKey::parse(&text);
    let mut push = Push::default();
    push.read(&text);
    push.unknown.clear();
    let mut again = Push::default();
    for message in push.encode() {
        assert!(message.len() <= 1023);
        again.read(message.strip_prefix("PUSH_REPLY").unwrap_or_default());
    }
    assert_eq!(again.routes.len(), push.routes.len());
    assert_eq!(again.peer_id, push.peer_id);
    let mut deframer = openvpn::stream::Deframer::new(usize::from(u16::MAX));
    deframer.push(bytes);
    while let Ok(Some(packet)) = deframer.next_packet() {
        assert!(!packet.is_empty());
    }
}
