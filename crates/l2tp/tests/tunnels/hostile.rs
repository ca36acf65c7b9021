//! Floods, forged messages and malformed attributes.

use l2tp::{
    Builder, CallIds, Control, Event, Fault, Header, Message, Path, Reason, Version, attribute,
    kind,
};
use machine::Duration;

use crate::network::{Network, Side, address, path, reversed, secrets, settings};

/// Passes a control message to the server.
fn send(network: &mut Network, from: &Path, ids: CallIds, numbers: (u16, u16), body: &[u8]) {
    let control = Control {
        version: Version::Two,
        tunnel: ids.tunnel,
        session: ids.session,
        ns: numbers.0,
        nr: numbers.1,
        body,
    };
    let datagram = control.encode();
    let event = Event::Received {
        path: *from,
        datagram: &datagram,
    };
    network.handle(Side::Server, event);
}

const NONE: CallIds = CallIds {
    tunnel: 0,
    session: 0,
};

fn request(number: u16) -> Box<[u8]> {
    Builder::new(kind::SCCRQ)
        .mandatory(attribute::PROTOCOL_VERSION, &[1, 0])
        .mandatory(attribute::HOST_NAME, b"flood")
        .mandatory(attribute::ASSIGNED_TUNNEL, &number.max(1).to_be_bytes())
        .finish()
}

#[test]
fn a_flood_of_requests_opens_no_tunnel_and_honest_clients_get_through() {
    let mut network = Network::new(1);
    for number in 0..100_000u32 {
        let source = core::net::Ipv4Addr::from_bits(0x0a00_0000 | number);
        let from = Path {
            local: path().remote,
            remote: (source, 1701).into(),
            is_protected: false,
        };
        send(&mut network, &from, NONE, (0, 0), &request(number as u16));
        if number % 1000 == 0 {
            network.flying.clear();
        }
    }
    network.flying.clear();
    assert_eq!(network.server.tunnel_count(), 0);
    assert_eq!(network.of_server.ignored, []);
    network.dial();
    network.pair();
    network.run(Duration::from_secs(20));
    assert_eq!(network.server.tunnel_count(), 1);
}

#[test]
fn a_repeated_request_gets_the_same_reply_and_no_second_entry() {
    let mut network = Network::new(2);
    let from = reversed(&path());
    let mut replies = Vec::new();
    for _ in 0..3 {
        send(&mut network, &from, NONE, (0, 0), &request(7));
        let sent = core::mem::take(&mut network.flying).into_values();
        replies.extend(sent.map(|(_, _, bytes)| bytes));
    }
    assert_eq!(replies.len(), 3);
    assert!(replies.iter().all(|reply| *reply == replies[0]));
    assert_eq!(network.of_server.ignored, [Fault::Duplicate; 2]);
}

#[test]
fn forged_control_messages_end_nothing() {
    let mut network = Network::new(3);
    network.dial();
    let (_, server) = network.pair();
    let ids = CallIds {
        session: 0,
        ..server.session
    };
    let stop = Builder::new(kind::STOP_CCN)
        .mandatory(attribute::ASSIGNED_TUNNEL, &[0, 1])
        .mandatory(attribute::RESULT_CODE, &[0, 1])
        .finish();
    let own = reversed(&path());
    let foreign = Path {
        remote: address("192.0.2.66:1701"),
        ..own
    };
    send(&mut network, &foreign, ids, (4, 2), &stop);
    // Numbers of the past, of the future, and acknowledgements of messages that were never sent.
    for numbers in [(0, 2), (3, 2), (5, 2), (900, 2), (4, 99)] {
        send(&mut network, &own, ids, numbers, &stop);
    }
    let unknown = CallIds {
        tunnel: ids.tunnel ^ 1,
        ..ids
    };
    send(&mut network, &own, unknown, (4, 2), &stop);
    let expected = [
        Fault::Address,
        Fault::Duplicate,
        Fault::Duplicate,
        Fault::Sequence,
        Fault::Sequence,
        Fault::Sequence,
        Fault::Tunnel,
    ];
    assert_eq!(network.of_server.ignored, expected);
    network.run(Duration::from_secs(1));
    network.pair();
}

#[test]
fn an_unknown_mandatory_attribute_ends_the_tunnel_or_the_session_it_concerns() {
    for ends_session in [true, false] {
        let mut network = Network::new(4);
        network.dial();
        let (_, server) = network.pair();
        let mut body = Builder::new(kind::SLI).finish().to_vec();
        body.extend([0x80, 6, 0, 9, 0, 1]);
        let ids = CallIds {
            session: if ends_session {
                server.session.session
            } else {
                0
            },
            ..server.session
        };
        send(&mut network, &reversed(&path()), ids, (4, 2), &body);
        assert_eq!(network.of_server.ignored, [Fault::UnknownAvp]);
        let reason = Reason::Protocol(Fault::UnknownAvp);
        assert_eq!(network.of_server.closed, [(server.session, reason)]);
        let sent = core::mem::take(&mut network.flying).into_values();
        let kinds: Vec<_> = sent.map(|(_, _, bytes)| bytes[12 + 7]).collect();
        let kind = if ends_session {
            kind::CDN
        } else {
            kind::STOP_CCN
        };
        assert_eq!(kinds, [kind as u8]);
    }
}

#[test]
fn other_versions_of_the_protocol_are_refused_with_the_version_of_this_end() {
    let mut network = Network::new(5);
    let body = Builder::new(kind::SCCRQ)
        .mandatory(attribute::PROTOCOL_VERSION, &[2, 0])
        .mandatory(attribute::HOST_NAME, b"new")
        .mandatory(attribute::ASSIGNED_TUNNEL, &[0, 9])
        .finish();
    send(&mut network, &reversed(&path()), NONE, (0, 0), &body);
    assert_eq!(network.of_server.ignored, [Fault::Version]);
    let sent = core::mem::take(&mut network.flying).into_values();
    let sent: Vec<_> = sent.map(|(_, _, bytes)| bytes).collect();
    assert_eq!(sent[0][sent[0].len() - 4..], [0, 5, 1, 0]);
}

#[test]
fn a_wrong_challenge_response_opens_no_tunnel_and_is_counted() {
    let mut server = settings("lns");
    server.secrets = secrets("secret");
    let mut network = Network::with(6, settings("lac"), server);
    let from = reversed(&path());
    send(&mut network, &from, NONE, (0, 0), &request(7));
    let sent = core::mem::take(&mut network.flying).into_values();
    let sent: Vec<_> = sent.map(|(_, _, bytes)| bytes).collect();
    let Ok(Header::Control(reply)) = Header::parse(&sent[0]) else {
        panic!("{sent:?}");
    };
    let reply = Message::parse(Version::Two, reply.body, None).expect("a reply");
    assert_eq!(reply.challenge.map(|challenge| challenge.len()), Some(16));
    let ids = CallIds {
        tunnel: reply.assigned_tunnel.expect("a number"),
        session: 0,
    };
    let connected = Builder::new(kind::SCCCN).mandatory(attribute::CHALLENGE_RESPONSE, &[7; 16]);
    send(&mut network, &from, ids, (1, 1), &connected.finish());
    assert_eq!(network.of_server.ignored, [Fault::Authentication]);
    assert_eq!(network.server.tunnel_count(), 0);
}
