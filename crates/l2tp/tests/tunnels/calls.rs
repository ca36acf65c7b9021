//! Calls: they open, carry packets, and end.

use l2tp::{
    Builder, CallIds, Control, Event, Fault, Header, Message, Reason, Version, attribute,
    data_header, kind, result,
};
use machine::Duration;

use crate::network::{Network, Side, address, path, reversed, settings};

#[test]
fn a_call_opens_with_the_numbers_of_both_ends_and_carries_packets() {
    let mut network = Network::new(1);
    network.dial();
    let (client, server) = network.pair();
    assert_eq!(client.session, server.remote);
    assert_eq!(client.remote, server.session);
    assert_eq!((client.client, server.client), (Some(1), None));
    assert_eq!((&*client.host_name, &*server.host_name), ("lns", "lac"));
    for ns in [None, Some(3)] {
        let datagram = [data_header(client.remote, ns), vec![0xc0, 0x21, 1]].concat();
        let event = Event::Received {
            path: reversed(&path()),
            datagram: &datagram,
        };
        network.handle(Side::Server, event);
        let packet = network.of_server.packets.pop();
        assert_eq!(packet, Some((server.session, vec![0xc0, 0x21, 1])));
    }
    assert_eq!(network.of_server.ignored, [], "nothing was lost");
}

#[test]
fn either_end_closes_the_call_and_the_tunnel_goes_with_it() {
    for side in [Side::Client, Side::Server] {
        let mut network = Network::new(2);
        network.dial();
        let (client, server) = network.pair();
        let (own, other) = match side {
            Side::Client => (client.session, &server),
            Side::Server => (server.session, &client),
        };
        network.handle(side, Event::Close(own));
        network.run(Duration::from_secs(2));
        let reports = match side {
            Side::Client => &network.of_server,
            Side::Server => &network.of_client,
        };
        let [(session, Reason::Peer(result))] = &reports.closed[..] else {
            panic!("{reports:?}");
        };
        assert_eq!(
            (*session, result.code),
            (other.session, result::ADMINISTRATIVE)
        );
        network.run(Duration::from_secs(40));
        assert_eq!(network.client.tunnel_count(), 0);
        assert_eq!(network.server.tunnel_count(), 0);
        assert_eq!(network.server.session_count(), 0);
    }
}

#[test]
fn a_client_learns_that_the_server_was_replaced_and_dials_anew() {
    let mut network = Network::new(3);
    network.dial();
    let (client, _) = network.pair();
    network.server = l2tp::Endpoint::new(settings("lns"), machine::Rng::seeded(9));
    network.of_server = Default::default();
    // The new server ignores the tunnel's HELLO, which is the first message after a minute of silence.
    network.run(Duration::from_secs(93));
    assert_eq!(
        network.of_client.closed,
        [(client.session, Reason::Timeout)]
    );
    assert!(network.of_server.ignored.contains(&Fault::Tunnel));
    network.dial();
    network.pair();
}

#[test]
fn a_quiet_tunnel_lives_by_its_hellos() {
    let mut network = Network::new(4);
    network.dial();
    network.run(Duration::from_secs(3600));
    network.pair();
    assert_eq!(network.client.tunnel_count(), 1);
}

#[test]
fn a_client_fails_without_a_server_and_says_why() {
    let mut network = Network::with(5, settings("lac"), settings("off"));
    network.dial();
    network.run(Duration::from_secs(31));
    assert_eq!(network.of_client.failed, [(1, Reason::Timeout)]);
    assert_eq!(network.of_server.ignored, [Fault::Disabled; 6]);
    assert_eq!(network.client.tunnel_count(), 0);
    assert!(!network.client.is_dialling(1));
}

#[test]
fn the_limit_of_sessions_refuses_a_call() {
    let mut server = settings("lns");
    server.max_sessions = Some(1);
    let mut network = Network::with(6, settings("lac"), server);
    network.dial();
    let second = Event::Dial {
        client: 2,
        path: path(),
        pseudowire: None,
    };
    network.handle(Side::Client, second);
    network.run(Duration::from_secs(1));
    let [(2, Reason::Peer(refusal))] = &network.of_client.failed[..] else {
        panic!("{:?}", network.of_client);
    };
    assert_eq!(refusal.code, result::NO_FACILITIES);
    network.pair();
}

#[test]
fn one_session_per_host_replaces_the_older_one() {
    let mut server = settings("lns");
    server.one_session_per_host = true;
    let mut network = Network::with(7, settings("lac"), server);
    network.dial();
    let (_, first) = network.pair();
    let second = Event::Dial {
        client: 2,
        path: path(),
        pseudowire: None,
    };
    network.handle(Side::Client, second);
    network.run(Duration::from_secs(1));
    assert_eq!(
        network.of_server.closed,
        [(first.session, Reason::Replaced)]
    );
    let (client, _) = network.pair();
    assert_eq!(client.client, Some(2));
}

#[test]
fn a_disabled_server_ends_its_sessions() {
    let mut network = Network::new(8);
    network.dial();
    let (_, server) = network.pair();
    network.handle(Side::Server, Event::Configure(settings("off")));
    network.run(Duration::from_secs(1));
    assert_eq!(
        network.of_server.closed,
        [(server.session, Reason::Disabled)]
    );
    let [(_, Reason::Peer(end))] = &network.of_client.closed[..] else {
        panic!("{:?}", network.of_client);
    };
    assert_eq!(end.code, result::SHUTTING_DOWN);
}

/// Sends a control message of a foreign LAC to the server. Returns the messages that answer it.
fn exchange(
    network: &mut Network,
    ids: CallIds,
    numbers: (u16, u16),
    body: &[u8],
) -> Vec<(u32, u16, Box<[u8]>)> {
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
        path: reversed(&path()),
        datagram: &datagram,
    };
    network.handle(Side::Server, event);
    let answers = core::mem::take(&mut network.flying).into_values();
    let parse = |bytes: &[u8]| match Header::parse(bytes) {
        Ok(Header::Control(of)) => (of.session, of.nr, of.body.into()),
        other => panic!("{other:?}"),
    };
    answers.map(|(_, _, bytes)| parse(&bytes)).collect()
}

#[test]
fn a_tunnel_of_a_foreign_lac_has_many_sessions_and_some_are_numbered() {
    let mut network = Network::new(9);
    let request = Builder::new(kind::SCCRQ)
        .mandatory(attribute::PROTOCOL_VERSION, &[1, 0])
        .mandatory(attribute::HOST_NAME, b"lac")
        .mandatory(attribute::ASSIGNED_TUNNEL, &[0, 77])
        .mandatory(attribute::RECEIVE_WINDOW, &[0, 100]);
    let none = CallIds {
        tunnel: 0,
        session: 0,
    };
    let answers = exchange(&mut network, none, (0, 0), &request.finish());
    let reply = Message::parse(Version::Two, &answers[0].2, None).expect("a reply");
    assert_eq!(reply.kind, kind::SCCRP);
    let mut ids = none;
    ids.tunnel = reply.assigned_tunnel.expect("a number");
    let connected = Builder::new(kind::SCCCN).finish();
    exchange(&mut network, ids, (1, 1), &connected);
    let (mut ns, mut nr) = (2, 1);
    for number in 1..=50u16 {
        let request = Builder::new(kind::ICRQ)
            .mandatory(attribute::ASSIGNED_SESSION, &number.to_be_bytes())
            .mandatory(attribute::CALL_SERIAL, &[0, 0, 0, 1])
            .optional(attribute::CALLING_NUMBER, b"+43 1");
        let answers = exchange(&mut network, ids, (ns, nr), &request.finish());
        (ns, nr) = (ns + 1, nr + 1);
        assert_eq!(answers[0].0, u32::from(number));
        let reply = Message::parse(Version::Two, &answers[0].2, None).expect("a reply");
        let session = reply.assigned_session.expect("a number");
        let mut connected = Builder::new(kind::ICCN)
            .mandatory(attribute::CONNECT_SPEED, &[0; 4])
            .mandatory(attribute::FRAMING_TYPE, &[0, 0, 0, 1]);
        if number == 3 {
            connected = connected.mandatory(attribute::SEQUENCING_REQUIRED, &[]);
        }
        let ids = CallIds { session, ..ids };
        exchange(&mut network, ids, (ns, nr), &connected.finish());
        ns += 1;
    }
    let open = network.of_server.open.values();
    let numbered = open.filter(|opened| opened.requires_sequence);
    let numbered: Vec<_> = numbered.map(|opened| opened.remote.session).collect();
    assert_eq!((network.of_server.open.len(), numbered), (50, vec![3]));
    let callers = network.of_server.open.values();
    assert!({ callers }.all(|opened| opened.calling_number.as_deref() == Some("+43 1")));
    // An outgoing call is refused, and the tunnel stays.
    let outgoing = Builder::new(kind::OCRQ).mandatory(attribute::ASSIGNED_SESSION, &[0, 99]);
    let answers = exchange(&mut network, ids, (ns, nr), &outgoing.finish());
    let refusal = Message::parse(Version::Two, &answers[0].2, None).expect("a refusal");
    assert_eq!((answers[0].0, refusal.kind), (99, kind::CDN));
    assert_eq!(network.of_server.open.len(), 50);
}

#[test]
fn sessions_follow_the_port_of_the_other_end_and_no_other_address() {
    let mut network = Network::new(10);
    network.dial();
    let (client, server) = network.pair();
    let datagram = [data_header(client.remote, None), vec![0xc0, 0x21, 9]].concat();
    let mut from = reversed(&path());
    from.remote = address("192.0.2.1:40000");
    let datagram = &datagram;
    let event = Event::Received {
        path: from,
        datagram,
    };
    network.handle(Side::Server, event);
    assert_eq!(network.of_server.moved, [(vec![server.session], from)]);
    let foreign = l2tp::Path {
        remote: address("192.0.2.66:1701"),
        ..from
    };
    let event = Event::Received {
        path: foreign,
        datagram,
    };
    network.handle(Side::Server, event);
    assert_eq!(network.of_server.ignored, [Fault::Address]);
    assert_eq!(network.of_server.packets.len(), 1);
    // Another client behind the same NAT has an association of its own.
    let neighbour = l2tp::Path {
        remote: address("192.0.2.1:7"),
        is_protected: true,
        ..from
    };
    let event = Event::Received {
        path: neighbour,
        datagram,
    };
    network.handle(Side::Server, event);
    assert_eq!(network.of_server.ignored[1..], [Fault::Association]);
    assert_eq!(network.of_server.packets.len(), 1);
    assert_eq!(network.of_server.moved.len(), 1);
}
