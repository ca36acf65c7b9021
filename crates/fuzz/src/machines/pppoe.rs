//! PPPoE client and server.

use machine::{Duration, Instant, Machine as _, Rng};
use service::Frame;
use service::pppoe::client::{self, Client};
use service::pppoe::server::{self, Server, Service, SessionId};
use wire::Mac;
use wire::pppoe::{Discovery, Packet, code, tag};

use crate::script::{events, quiet, span};

const PEER: Mac = Mac([2, 0, 0, 0, 0, 9]);
const PORT: u64 = 1;

fn service(data: &[u8]) -> Service {
    let byte = |at: usize| data.get(at).copied().unwrap_or(0);
    Service {
        id: u64::from(byte(0) & 3),
        name: ["", "isp", "iptv", "voice"][usize::from(byte(0) >> 2 & 3)].into(),
        accepts_empty: byte(0) & 16 != 0,
        pado_delay: Duration::from_millis(u64::from(byte(1))),
        max_sessions: (byte(0) & 32 != 0).then_some(u32::from(byte(2))),
        one_session_per_host: byte(0) & 64 != 0,
        max_payload: (byte(0) & 128 != 0).then_some(1500),
    }
}

/// Checks a sent frame. Returns the cookie of an offer.
fn check(frame: &Frame) -> Option<Vec<u8>> {
    let packet = Packet::new_checked(&frame.payload).expect("machines send whole packets");
    let fields = Discovery::parse(&packet).expect("machines send whole tags");
    let cookie = fields.cookie.filter(|_| packet.code == code::PADO);
    cookie.map(<[u8]>::to_vec)
}

/// Adds a tag in front of those of a packet, as a peer does that knows its value.
fn with_tag(bytes: &[u8], kind: u16, value: &[u8]) -> Vec<u8> {
    let Ok(packet) = Packet::new_checked(bytes) else {
        return bytes.to_vec();
    };
    let built = wire::pppoe::Builder::new(packet.code, packet.session).tag(kind, value);
    let built = packet
        .tags()
        .flatten()
        .fold(built, |built, tag| built.tag(tag.kind, tag.value));
    built.finish()
}

/// Checks an action of the server. Notes the cookie of an offer, and the last session.
fn check_action(action: server::Action, cookie: &mut Vec<u8>, last: &mut Option<SessionId>) {
    match action {
        server::Action::Send(_, frame) => {
            assert_eq!(frame.dst, PEER);
            if let Some(sent) = check(&frame) {
                *cookie = sent;
            }
        }
        server::Action::Opened(opened) => *last = Some(opened.session),
        server::Action::Closed(SessionId { peer, .. }, _) => assert_eq!(peer, PEER),
        server::Action::Ignored(_) => {}
    }
}

/// Runs a client and a server that receive packets of foreign peers.
pub fn pppoe(script: &[u8]) {
    let mut now = Instant::from_secs(100);
    let config = client::Config {
        host_uniq: Some(b"fuzz".as_slice().into()),
        max_payload: Some(1500),
        ..client::Config::default()
    };
    let mut client = Client::new(config, 1);
    let mut server = Server::new(&mut Rng::seeded(2));
    let (mut cookie, mut last) = (Vec::new(), None);
    let mut ignored = Vec::new();
    client.handle(client::Event::Start, now, &mut ignored);
    for (what, data) in events(script) {
        let bytes = match what >> 4 & 3 {
            1 => with_tag(data, tag::AC_COOKIE, &cookie),
            2 => with_tag(data, tag::HOST_UNIQ, b"fuzz"),
            _ => data.to_vec(),
        };
        let mut out = Vec::new();
        let mut of_client = Vec::new();
        match (what & 7, Packet::new_checked(&bytes)) {
            (0, Ok(packet)) => {
                let from = PEER;
                client.handle(
                    client::Event::Received { from, packet },
                    now,
                    &mut of_client,
                );
            }
            (1, Ok(packet)) => {
                let (port, from) = (PORT, PEER);
                let event = server::Event::Received { port, from, packet };
                server.handle(event, now, &mut out);
            }
            (2, _) => {
                let services = data.chunks(3).map(service).collect();
                server.handle(server::Event::Configure(PORT, services), now, &mut out);
            }
            (3, _) => {
                if let Some(id) = last {
                    server.handle(server::Event::Close(id), now, &mut out);
                    assert!(!server.sessions().contains(id));
                }
            }
            (4, _) => {
                if let Some(id) = last {
                    server.handle(server::Event::Established(id), now, &mut out);
                }
            }
            (5, _) => client.handle(client::Event::Close, now, &mut of_client),
            (6, _) => client.handle(client::Event::Stop, now, &mut of_client),
            _ => client.handle(client::Event::Start, now, &mut of_client),
        }
        now += span(data) + Duration::from_millis(1);
        client.tick(now, &mut of_client);
        server.tick(now, &mut out);
        quiet(&client, now);
        quiet(&server, now);
        for action in of_client {
            if let client::Action::Send(frame) = action {
                check(&frame);
            }
        }
        for action in out {
            check_action(action, &mut cookie, &mut last);
        }
        let sessions = server.sessions();
        assert!(sessions.half_made() <= sessions.len());
    }
}
