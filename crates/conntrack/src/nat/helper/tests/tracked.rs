//! Tests of helpers with a tracker, which relates the expected connections.

use packet::Fields;

use super::*;
use crate::connection::{Settings, Setup, State, Table, Tick};

/// Returns an empty tracker.
fn tracker() -> Tracker {
    let settings = Settings::default();
    let setup = Setup {
        table: Table::new(1, settings.entries_max).expect("address space"),
        worker: 0,
        tuple_claims: None,
        settings: &settings,
    };
    Tracker::new(setup, &mut machine::Rng::seeded(5), Tick(80))
}

/// Returns a packet of the tuple without payload.
fn empty(tuple: Tuple) -> Vec<u8> {
    let checksum = Checksum::Finished;
    let built = Built {
        tuple,
        payload: vec![0; 8],
        options: false,
        checksum,
    };
    let mut packet = built.packet();
    if tuple.protocol == protocol::TCP {
        // The SYN flag.
        packet[33] = 2;
    }
    if tuple.protocol == protocol::GRE {
        let [high, low] = tuple.destination_port.to_be_bytes();
        packet[20..].copy_from_slice(&[0x30, 1, 0x88, 0x0b, 0, 0, high, low]);
    }
    packet
}

/// Processes and commits the first packet of a connection. Returns its state and the reply tuple.
fn enters(tracker: &mut Tracker, tuple: Tuple, leaves: impl Fn(Tuple) -> Tuple) -> (State, Tuple) {
    let packet = empty(tuple);
    let fields = Fields::of(&packet);
    assert_eq!(fields.tuple, tuple);
    let track = tracker.track(None, &fields, &packet, Tick(80));
    let mut draft = tracker.draft(&fields, &packet);
    draft.reply = match tracker.expected(&tuple) {
        Some(expected) => expected.reply(&expected.translated(&tuple)),
        None => leaves(tuple).reversed(),
    };
    let reply = draft.reply;
    assert!(tracker.confirm(&draft, Tick(80)).is_ok());
    (track.state, reply)
}

/// Checks that the connections announced by a message are related, in both directions.
fn expected_connections_come(view: &View, message: &[u8], come: &[(Tuple, Tuple)]) {
    let mut tracker = tracker();
    let (first, back) = match view.reply {
        true => (view.back, view.forth),
        false => (view.forth, view.back),
    };
    assert_eq!(
        enters(&mut tracker, first, |_| back.reversed()),
        (State::New, back)
    );
    let parent = tracker.lookup(&first).expect("entered");
    let id = tracker.id(parent);
    let findings = read(message, 0, &View { id, ..*view }, &tracker);
    // The message twice, as after a retransmission.
    for _ in 0..2 {
        assert_eq!(read(message, 0, &View { id, ..*view }, &tracker), findings);
        for expectation in findings.expectations() {
            assert!(tracker.expect(*expectation, Tick(80)));
        }
    }
    for (comes, answer) in come {
        let (state, reply) = enters(&mut tracker, *comes, |_| unreachable!("it is expected"));
        assert_eq!((state, reply), (State::Related, *answer));
        assert!(tracker.lookup(answer).is_some_and(|way| way.reply()));
    }
}

#[test]
fn expected_connections_are_related() {
    let (client, outside, server) = (0x0a00_0002, 0xc633_6401, 0xc000_0209);
    expected_connections_come(
        &view(Helper::Ftp, protocol::TCP, 21, false),
        b"PORT 10,0,0,2,19,137\r\n",
        &[(
            tcp(server, 20, outside, 5001),
            tcp(client, 5001, server, 20),
        )],
    );
    let udp = |tuple| Tuple {
        protocol: protocol::UDP,
        ..tuple
    };
    expected_connections_come(
        &view(Helper::Tftp, protocol::UDP, 69, false),
        b"\0\x01file\0octet\0",
        &[(
            udp(tcp(server, 1069, outside, 6000)),
            udp(tcp(client, 5000, server, 1069)),
        )],
    );
    expected_connections_come(
        &view(Helper::Sip, protocol::UDP, 5060, false),
        INVITE.as_bytes(),
        &[49_170, 49_171].map(|port| {
            let comes = udp(tcp(server, 7078, outside, port));
            (comes, udp(tcp(client, port, server, 7078)))
        }),
    );
    let offer = b"PRIVMSG friend :\x01DCC CHAT chat 167772162 5001\x01\r\n";
    expected_connections_come(
        &view(Helper::Irc, protocol::TCP, 6667, false),
        offer,
        &[(tcp(77, 4444, outside, 5001), tcp(client, 5001, 77, 4444))],
    );
}

#[test]
fn both_directions_of_a_pptp_tunnel_are_tracked() {
    let (client, outside, server) = (0x0a00_0002, 0xc633_6401, 0xc000_0209);
    let mut reply = vec![
        0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 8, 0, 0, 0x11, 0x22, 0x33, 0x44, 1,
    ];
    reply.resize(32, 0);
    let gre = |source, destination, call| Tuple {
        protocol: protocol::GRE,
        source_port: 0,
        ..tcp(source, 0, destination, call)
    };
    let view = view(Helper::Pptp, protocol::TCP, 1723, true);
    for first in [
        (gre(client, server, 0x1122), gre(server, outside, 0x3344)),
        (gre(server, outside, 0x3344), gre(client, server, 0x1122)),
    ] {
        expected_connections_come(&view, &reply, &[first]);
    }
}

#[test]
fn a_call_with_the_number_of_an_earlier_one_replaces_its_tunnel() {
    let (client, outside, server) = (0x0a00_0002, 0xc633_6401, 0xc000_0209);
    let reply = |client: u16| {
        let [high, low] = client.to_be_bytes();
        let mut reply = vec![
            0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 8, 0, 0, 0x11, 0x22, high, low, 1,
        ];
        reply.resize(32, 0);
        reply
    };
    let gre = |source, destination, call| Tuple {
        protocol: protocol::GRE,
        source_port: 0,
        ..tcp(source, 0, destination, call)
    };
    let view = view(Helper::Pptp, protocol::TCP, 1723, true);
    let mut tracker = tracker();
    enters(&mut tracker, view.back, |_| view.forth.reversed());
    let control = tracker.lookup(&view.back).expect("entered");
    let view = View {
        id: tracker.id(control),
        ..view
    };
    for call in [0x3344, 0x3345] {
        let findings = read(&reply(call), 0, &view, &tracker);
        let outlived: Vec<_> = findings.outlived().copied().collect();
        let expected = match call {
            0x3344 => vec![],
            _ => vec![gre(client, server, 0x1122)],
        };
        assert_eq!(outlived, expected);
        for tuple in outlived {
            let earlier = tracker.lookup(&tuple).expect("is tracked");
            tracker.forget(earlier);
        }
        for expectation in findings.expectations() {
            assert!(tracker.expect(*expectation, Tick(80)));
        }
        let first = gre(client, server, 0x1122);
        let (state, answer) = enters(&mut tracker, first, |_| unreachable!("it is expected"));
        assert_eq!(state, State::Related);
        assert_eq!(answer, gre(server, outside, call));
        // A retransmission leaves the tunnel alone.
        let again = read(&reply(call), 0, &view, &tracker);
        assert_eq!(again.outlived().count(), 0);
    }
}
