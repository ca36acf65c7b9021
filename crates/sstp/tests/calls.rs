//! Two endpoints, and an endpoint with a hostile peer.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::VecDeque;
use std::sync::Arc;

use machine::{Duration, Instant, Machine as _, Rng};
use sstp::{
    Action, ConnectionId, Endpoint, Event, Fault, Message, Reason, Server, SessionKeys, data_header,
};

const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const T0: Instant = Instant::from_secs(1_000);
const ENABLED: Server = Server { is_enabled: true };
/// The first connection, at the client and at the server.
const DIALLED: ConnectionId = ConnectionId(1);
const ACCEPTED: ConnectionId = ConnectionId(ConnectionId::ACCEPTED + 1);

fn keys() -> SessionKeys {
    SessionKeys::new(&[3; 16], &[4; 16])
}

/// A client and a server, and their connections: a number at the server is that at the client above `ACCEPTED`.
struct World {
    client: Endpoint,
    server: Endpoint,
    now: Instant,
    /// Certificates that the server has and that the client sees.
    certificates: [Arc<[u8]>; 2],
    reports: Vec<(&'static str, Action)>,
}

impl World {
    fn new() -> Self {
        let certificate: Arc<[u8]> = Arc::from(&b"certificate"[..]);
        Self {
            client: Endpoint::new(Server::default(), Rng::seeded(1)),
            server: Endpoint::new(ENABLED, Rng::seeded(2)),
            now: T0,
            certificates: [Arc::clone(&certificate), certificate],
            reports: Vec::new(),
        }
    }

    fn client(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.client.handle(event, self.now, &mut out);
        self.carry_out(true, out);
    }

    fn server(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.server.handle(event, self.now, &mut out);
        self.carry_out(false, out);
    }

    fn tick(&mut self) {
        let mut out = Vec::new();
        self.client.tick(self.now, &mut out);
        self.carry_out(true, out);
        let mut out = Vec::new();
        self.server.tick(self.now, &mut out);
        self.carry_out(false, out);
    }

    /// Carries out the actions of an end, and those of the other end that follow.
    fn carry_out(&mut self, of_client: bool, actions: Vec<Action>) {
        let with_end = |end: bool| move |action| (end, action);
        let mut waiting: VecDeque<_> = actions.into_iter().map(with_end(of_client)).collect();
        while let Some((end, action)) = waiting.pop_front() {
            let mut out = Vec::new();
            let there = |id: ConnectionId| ConnectionId(id.0 ^ ConnectionId::ACCEPTED);
            let (this, other) = match end {
                true => (&mut self.client, &mut self.server),
                false => (&mut self.server, &mut self.client),
            };
            match action {
                Action::Connect(connection, _) => {
                    let [own, seen] = self.certificates.clone();
                    let accepted = Event::Accepted {
                        connection: there(connection),
                        remote: THERE,
                        certificate: own,
                    };
                    other.handle(accepted, self.now, &mut out);
                    waiting.extend(out.drain(..).map(with_end(!end)));
                    let connected = Event::Connected {
                        connection,
                        certificate: seen,
                    };
                    this.handle(connected, self.now, &mut out);
                    waiting.extend(out.into_iter().map(with_end(end)));
                }
                Action::Send(id, bytes) => {
                    for bytes in bytes.chunks(7) {
                        let connection = there(id);
                        other.handle(Event::Bytes { connection, bytes }, self.now, &mut out);
                    }
                    waiting.extend(out.into_iter().map(with_end(!end)));
                }
                Action::Disconnect(id) => {
                    other.handle(Event::Ended(there(id)), self.now, &mut out);
                    waiting.extend(out.into_iter().map(with_end(!end)));
                }
                report => self
                    .reports
                    .push((if end { "client" } else { "server" }, report)),
            }
        }
    }

    fn dial(&mut self) {
        self.client(Event::Dial {
            client: 7,
            remote: THERE,
            host: "vpn.example.com",
        });
    }

    fn take(&mut self) -> Vec<(&'static str, Action)> {
        core::mem::take(&mut self.reports)
    }

    /// Opens a call.
    fn open(&mut self) {
        self.dial();
        let opened = |report: &(&str, Action)| matches!(report.1, Action::Opened(_));
        let reports = self.take();
        assert_eq!(
            reports.iter().filter(|report| opened(report)).count(),
            2,
            "{reports:?}"
        );
        assert_eq!(reports.len(), 2, "{reports:?}");
    }
}

#[test]
fn a_call_opens_is_bound_in_either_order_and_ends() {
    for server_first in [false, true] {
        let mut world = World::new();
        world.open();
        if server_first {
            world.server(Event::Authenticated(ACCEPTED, keys()));
            assert_eq!(world.take(), []);
        }
        world.client(Event::Authenticated(DIALLED, keys()));
        if !server_first {
            assert_eq!(world.take(), [("client", Action::Bound(DIALLED))]);
            world.server(Event::Authenticated(ACCEPTED, keys()));
        }
        assert!(world.take().contains(&("server", Action::Bound(ACCEPTED))));
        let header = data_header(4).expect("a short packet");
        let packet = [&header[..], b"\xc0\x21\x09\x01"].concat();
        world.server(Event::Bytes {
            connection: ACCEPTED,
            bytes: &packet,
        });
        let expected = Action::Packet(ACCEPTED, b"\xc0\x21\x09\x01".to_vec());
        assert_eq!(world.take(), [("server", expected)]);
        match server_first {
            true => world.client(Event::Close(DIALLED)),
            false => world.client(Event::Hangup(7)),
        }
        assert_eq!(
            world.take(),
            [("server", Action::Closed(ACCEPTED, Reason::Peer))]
        );
        assert_eq!(
            world.client.connection_count() + world.server.connection_count(),
            0
        );
    }
}

#[test]
fn a_man_in_the_middle_is_refused_by_its_certificate() {
    let mut world = World::new();
    world.certificates[1] = Arc::from(&b"another"[..]);
    world.open();
    world.server(Event::Authenticated(ACCEPTED, keys()));
    world.client(Event::Authenticated(DIALLED, keys()));
    let reports = world.take();
    assert!(
        reports.contains(&("server", Action::Closed(ACCEPTED, Reason::Binding))),
        "{reports:?}"
    );
    assert!(
        reports.contains(&("server", Action::Ignored(Fault::Binding))),
        "{reports:?}"
    );
    let refused = |report: &(&str, Action)| matches!(report, ("client", Action::Closed(DIALLED, Reason::Refused(info))) if info.attribute == 3);
    assert!(reports.iter().any(refused), "{reports:?}");
}

#[test]
fn other_keys_are_refused_and_none_are_those_of_pap() {
    for (of_client, is_bound) in [(SessionKeys::NONE, true), (keys(), false)] {
        let mut world = World::new();
        world.open();
        world.client(Event::Authenticated(DIALLED, of_client));
        world.server(Event::Authenticated(ACCEPTED, SessionKeys::NONE));
        assert_eq!(
            world.take().contains(&("server", Action::Bound(ACCEPTED))),
            is_bound
        );
    }
}

#[test]
fn a_call_without_its_binding_ends_after_the_negotiation_time() {
    let mut world = World::new();
    world.open();
    world.server(Event::Authenticated(ACCEPTED, keys()));
    world.now = T0 + Duration::from_secs(59);
    world.tick();
    assert_eq!(world.take(), []);
    world.now = T0 + Duration::from_secs(60);
    let mut out = Vec::new();
    world.server.tick(world.now, &mut out);
    assert!(
        out.contains(&Action::Closed(ACCEPTED, Reason::Timeout)),
        "{out:?}"
    );
}

#[test]
fn silence_is_probed_and_ends_the_call_of_a_dead_peer() {
    let mut world = World::new();
    world.open();
    world.client(Event::Authenticated(DIALLED, keys()));
    world.server(Event::Authenticated(ACCEPTED, keys()));
    world.take();
    for _ in 0..5 {
        world.now += Duration::from_secs(60);
        world.tick();
        assert_eq!(world.take(), []);
    }
    let mut out = Vec::new();
    world
        .server
        .tick(world.now + Duration::from_secs(60), &mut out);
    assert_eq!(out, [Action::Send(ACCEPTED, Message::EchoRequest.build())]);
    out.clear();
    world
        .server
        .tick(world.now + Duration::from_secs(120), &mut out);
    assert_eq!(
        out.first(),
        Some(&Action::Closed(ACCEPTED, Reason::Timeout))
    );
    out.clear();
    world
        .server
        .tick(world.now + Duration::from_secs(123), &mut out);
    assert_eq!(out, [Action::Disconnect(ACCEPTED)]);
    assert_eq!(world.server.connection_count(), 0);
}

#[test]
fn another_request_is_answered_in_http_and_another_response_is_reported() {
    let mut world = World::new();
    let mut out = Vec::new();
    let accepted = Event::Accepted {
        connection: ACCEPTED,
        remote: THERE,
        certificate: Arc::default(),
    };
    world.server.handle(accepted, T0, &mut out);
    let bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let connection = ACCEPTED;
    world
        .server
        .handle(Event::Bytes { connection, bytes }, T0, &mut out);
    let [
        Action::Send(_, response),
        Action::Ignored(Fault::Http),
        Action::Disconnect(_),
    ] = &out[..]
    else {
        panic!("{out:?}");
    };
    assert!(response.starts_with(b"HTTP/1.1 404 "));

    let mut client = Endpoint::new(Server::default(), Rng::seeded(3));
    let dial = Event::Dial {
        client: 7,
        remote: THERE,
        host: "a",
    };
    client.handle(dial, T0, &mut Vec::new());
    let connected = Event::Connected {
        connection: DIALLED,
        certificate: Arc::default(),
    };
    client.handle(connected, T0, &mut Vec::new());
    let mut out = Vec::new();
    let event = Event::Bytes {
        connection: DIALLED,
        bytes: response,
    };
    client.handle(event, T0, &mut out);
    assert!(
        out.contains(&Action::Failed(7, Reason::Http(404))),
        "{out:?}"
    );
}

#[test]
fn half_open_connections_are_bounded_and_the_oldest_gives_way() {
    let mut server = Endpoint::new(ENABLED, Rng::seeded(4));
    let mut out = Vec::new();
    for number in 0..5_000_u64 {
        let remote = IpAddr::V4(Ipv4Addr::from_bits((number % 100) as u32));
        let accepted = Event::Accepted {
            connection: ConnectionId(ConnectionId::ACCEPTED + number),
            remote,
            certificate: Arc::default(),
        };
        server.handle(accepted, T0, &mut out);
    }
    assert_eq!(server.connection_count(), 1_024);
    let is_last = |action: &Action| {
        *action == Action::Disconnect(ConnectionId(ConnectionId::ACCEPTED + 4_999))
    };
    assert!(!out.iter().any(is_last));
}

#[test]
fn a_protocol_other_than_ppp_is_refused_and_aborted_after_three() {
    let mut world = World::new();
    let accepted = Event::Accepted {
        connection: ACCEPTED,
        remote: THERE,
        certificate: Arc::default(),
    };
    let mut out = Vec::new();
    world.server.handle(accepted, T0, &mut out);
    let connection = ACCEPTED;
    let request = sstp::http::request("a", 1);
    let bytes = &request[..];
    world
        .server
        .handle(Event::Bytes { connection, bytes }, T0, &mut out);
    out.clear();
    let request = Message::ConnectRequest(9).build();
    let bytes = &[&request[..], &request, &request].concat()[..];
    world
        .server
        .handle(Event::Bytes { connection, bytes }, T0, &mut out);
    let sent: Vec<_> = out
        .iter()
        .filter_map(|action| match action {
            Action::Send(_, bytes) => Message::parse(bytes).ok(),
            _ => None,
        })
        .collect();
    assert!(
        matches!(
            sent[..],
            [
                Message::ConnectNak(_),
                Message::ConnectNak(_),
                Message::Abort(Some(_))
            ]
        ),
        "{sent:?}"
    );
}

#[test]
fn a_disabled_server_ends_its_calls_and_accepts_none() {
    let mut world = World::new();
    world.open();
    world.server(Event::Configure(Server::default()));
    let reports = world.take();
    assert!(
        reports.contains(&("server", Action::Closed(ACCEPTED, Reason::Disabled))),
        "{reports:?}"
    );
    assert!(
        reports.contains(&("client", Action::Closed(DIALLED, Reason::Peer))),
        "{reports:?}"
    );
    world.dial();
    let reports = world.take();
    assert!(
        reports.contains(&("client", Action::Failed(7, Reason::Connection))),
        "{reports:?}"
    );
}
