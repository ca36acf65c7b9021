//! Tests of helpers on the walk: edits of parsed packets, and expected connections.

mod cut;
mod world;

use core::net::Ipv4Addr;

use super::firewall::{filtered, hits, translated};
use crate::connection::Helper;
use crate::drop::DropReason;
use crate::firewall::{filter, nat};
use crate::nat::{Action as NatAction, Addresses, Ports, Side, Target};
use crate::punt::PuntReason;
use crate::rule::Match;
use crate::table::Adjacency;
use crate::testing::{ETHER1, MAC, ethernet, gateway, seal};
use crate::trace::End;
use world::{
    ACK, ASTRAY, CLIENT, Ends, Left, OUTSIDE, SERVER, SYN, World, ends, gre, tcp, tuple, udp,
};

const PORT: &[u8] = b"PORT 10,0,0,2,19,137\r\n";
const TOLD: &[u8] = b"PORT 198,51,100,100,19,137\r\n";
const GROWTH: u32 = 6;

/// The client announces its port, and the server gets the translated message and answers.
fn port_is_told(world: &mut World) -> (Ends, Ends) {
    let (inside, outside) = world.connect(21);
    let said = tcp(inside, ACK, (100, 500), PORT);

    let left = world.out(&said).expect("it goes on");

    assert_eq!((&left.payload[..], left.numbers), (TOLD, (100, 500)));
    assert_eq!(left.ends, outside);
    (inside, outside)
}

#[test]
fn a_command_is_rewritten_and_both_sides_numbers_stay_right() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        let (inside, outside) = port_is_told(&mut world);
        let (said, told) = (PORT.len() as u32, TOLD.len() as u32);
        assert_eq!(told, said + GROWTH);

        // The segment is lost and retransmitted.
        let again = world.out(&tcp(inside, ACK, (100, 500), PORT)).expect("out");
        assert_eq!((&again.payload[..], again.numbers), (TOLD, (100, 500)));
        let answer = tcp(outside.back(), ACK, (500, 100 + told), b"200 Okay.\r\n");
        let heard = world.back(&answer).expect("inside the window");
        assert_eq!(heard.numbers, (500, 100 + said));
        assert_eq!(heard.ends, inside.back());

        let more = tcp(inside, ACK, (100 + said, 511), b"STOR a\r\n");
        let left = world.out(&more).expect("out");
        assert_eq!(left.numbers, (100 + told, 511));
        assert_eq!(left.payload, b"STOR a\r\n");
        let end = tcp(outside.back(), ACK, (511, 100 + told + 8), b"150 Go.\r\n");
        let heard = world.back(&end).expect("inside the window");
        assert_eq!(heard.numbers, (511, 100 + said + 8));
        // An acknowledgement of unsent data, in the receiver's numbers, is ignored.
        let forged = tcp(outside.back(), ACK, (520, 100 + told + 9), b"x");
        assert_eq!(world.back(&forged), None);
        assert_eq!(world.rig.drops(), ASTRAY);
    }
}

#[test]
fn the_data_connection_is_related_and_led_inside() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        port_is_told(&mut world);
        let data = ends((SERVER, 20), (OUTSIDE, 5001));

        let came = world.back(&tcp(data, SYN, (900, 0), b"")).expect("related");

        assert_eq!(came.ends, ends((SERVER, 20), (CLIENT, 5001)));
        let back = tcp(came.ends.back(), SYN | ACK, (1, 901), b"");
        assert_eq!(world.out(&back).expect("answered").ends, data.back());
        for turn in 0..3 {
            let more = tcp(data, ACK, (901 + turn, 2), b"x");
            assert_eq!(world.back(&more).expect("established").ends, came.ends);
        }
        let row = world.row(|row| row.expected);
        assert_eq!((row.helper, row.nat.0), (Helper::Ftp, 2));
        assert_eq!(row.directions[0].traffic.packets, 4);
        assert!(
            row.fasttrack,
            "it is fast, and the control connection is not"
        );
        let control = world.row(|row| !row.expected);
        assert_eq!((control.helper, control.fasttrack), (Helper::Ftp, false));
        // The first packet was related and of a helper's connection, and so was the last one.
        assert_eq!(hits(&world.rig, 1).0, 1);
        assert!(hits(&world.rig, 5).0 > 1);
        // Only one connection was expected.
        let other = ends((SERVER, 21), (OUTSIDE, 5001));
        assert_eq!(world.back(&tcp(other, SYN, (900, 0), b"")), None);
        assert_eq!(world.rig.drops(), ASTRAY);
    }
}

#[test]
fn a_trace_knows_what_is_expected_and_takes_nothing_of_it() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        let data = ends((SERVER, 20), (OUTSIDE, 5001));
        let packet = tcp(data, SYN, (900, 0), b"");
        assert!(world.rig.connections.awaited(&tuple(data)).is_none());
        port_is_told(&mut world);

        // The result is the same each time.
        for _ in 0..2 {
            let awaited = world
                .rig
                .connections
                .awaited(&tuple(data))
                .expect("expected");
            assert_eq!(awaited.expectation.helper, Helper::Ftp);
            assert_eq!(awaited.parent.row.original.destination_port, 21);
            let walked = world.traced(&packet, &awaited);
            let said: Vec<_> = walked.lines.iter().map(|line| &*line.decision).collect();
            assert!(said.contains(&"connection-state is related"), "{said:?}");
            let led = "becomes 11.0.0.2:20->10.0.0.2:5001";
            assert!(said.iter().any(|line| line.contains(led)), "{said:?}");
            assert_eq!(walked.end, End::Sent(ETHER1));
        }
        let other = ends((SERVER, 20), (OUTSIDE, 5002));
        assert!(world.rig.connections.awaited(&tuple(other)).is_none());

        let came = world.back(&packet).expect("related");
        assert_eq!(came.ends, ends((SERVER, 20), (CLIENT, 5001)));
        assert!(world.rig.connections.awaited(&tuple(data)).is_none());
    }
}

#[test]
fn nothing_is_related_without_a_helper() {
    let mut world = World::new(1);
    world.serve(|_| ());
    let (inside, _) = world.connect(21);

    let left = world.out(&tcp(inside, ACK, (100, 500), PORT)).expect("out");

    assert_eq!(left.payload, PORT);
    let data = ends((SERVER, 20), (OUTSIDE, 5001));
    assert_eq!(world.back(&tcp(data, SYN, (900, 0), b"")), None);
    assert_eq!(world.rig.drops(), ASTRAY);
}

#[test]
fn numbers_stay_shifted_when_the_helper_goes() {
    let mut world = World::new(1);
    let (inside, outside) = port_is_told(&mut world);
    let (said, told) = (PORT.len() as u32, TOLD.len() as u32);
    world.serve(|_| ());

    let left = world
        .out(&tcp(inside, ACK, (100 + said, 500), PORT))
        .expect("out");
    assert_eq!((&left.payload[..], left.numbers), (PORT, (100 + told, 500)));
    let answer = tcp(outside.back(), ACK, (500, 100 + told + said), b"");
    let heard = world.back(&answer).expect("inside the window");
    assert_eq!(heard.numbers, (500, 100 + said + said));
}

#[test]
fn a_server_behind_a_forwarded_port_is_reached_where_it_says() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        // The client is outside; the server is inside, at another port.
        let to_server = Target {
            side: Side::Destination,
            action: NatAction::Translate,
            addresses: Some(Addresses::one(CLIENT.into())),
            ports: Ports::new(21, 21),
            randomise: false,
        };
        let came = vec![
            Match::Destination(crate::rule::AddressRange::prefix(OUTSIDE.into(), 32, 32)).into(),
        ];
        translated(&mut world.rig, nat::DSTNAT, came, to_server);
        filtered(&mut world.rig, filter::FORWARD, Vec::new());
        let outside = ends((SERVER, 4000), (OUTSIDE, 2121));
        let inside = ends((SERVER, 4000), (CLIENT, 21));
        let came = world.back(&tcp(outside, SYN, (99, 0), b"")).expect("in");
        assert_eq!(came.ends, inside);
        world
            .out(&tcp(inside.back(), SYN | ACK, (499, 100), b""))
            .expect("out");
        let said = b"227 Entering Passive Mode (10,0,0,2,19,137).\r\n";

        let left = world
            .out(&tcp(inside.back(), ACK, (500, 100), said))
            .expect("out");

        let told = b"227 Entering Passive Mode (198,51,100,100,19,137).\r\n";
        assert_eq!(left.payload, told);
        // The expectation applies, not the nat rule, which would lead the packet to the control
        // port.
        let data = ends((SERVER, 4001), (OUTSIDE, 5001));
        let came = world.back(&tcp(data, SYN, (7, 0), b"")).expect("related");
        assert_eq!(came.ends, ends((SERVER, 4001), (CLIENT, 5001)));
    }
}

#[test]
fn a_first_datagram_is_read_and_answered_from_another_port() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        let asked = ends((CLIENT, 4000), (SERVER, 69));
        world.out(&udp(asked, b"\0\x01file\0octet\0")).expect("out");
        let data = ends((SERVER, 1069), (OUTSIDE, 4000));

        let came = world.back(&udp(data, b"\0\x03\0\x01x")).expect("related");

        assert_eq!(came.ends, ends((SERVER, 1069), (CLIENT, 4000)));
        let acknowledged = world.out(&udp(came.ends.back(), b"\0\x04\0\x01"));
        assert_eq!(acknowledged.expect("out").ends, data.back());
        assert_eq!(world.row(|row| row.expected).helper, Helper::Tftp);
        assert_eq!(world.rig.drops(), []);
    }
}

/// Returns a SIP invitation, with or without a body of this much more data.
fn invite(more: usize) -> Vec<u8> {
    let body = format!(
        "v=0\r\no=a 1 1 IN IP4 10.0.0.2\r\ns=-\r\nc=IN IP4 10.0.0.2\r\nt=0 0\r\n\
         m=audio 7000 RTP/AVP 0\r\na={}\r\n",
        "x".repeat(more)
    );
    let head = format!(
        "INVITE sip:b@11.0.0.2 SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.2:5060\r\n\
         Contact: <sip:a@10.0.0.2:5060>\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

#[test]
fn streams_of_a_call_find_each_other_whoever_speaks_first() {
    for (first, workers) in [("inside", 1), ("outside", 1), ("inside", 3), ("outside", 3)] {
        let mut world = World::new(workers);
        let signals = ends((CLIENT, 5060), (SERVER, 5060));
        let left = world.out(&udp(signals, &invite(0))).expect("out");
        let told = String::from_utf8(left.payload).expect("text");
        assert!(told.contains("c=IN IP4 198.51.100.100\r\n"), "{told}");
        let answer = b"SIP/2.0 200 OK\r\nContent-Length: 58\r\n\r\n\
            v=0\r\no=b 1 1 IN IP4 11.0.0.2\r\nc=IN IP4 11.0.0.2\r\n\
            m=audio 8000 RTP/AVP 0\r\n";
        let back = ends((SERVER, 5060), (OUTSIDE, 5060));
        assert_eq!(world.back(&udp(back, answer)).expect("in").payload, answer);
        let inside = ends((CLIENT, 7000), (SERVER, 8000));
        let outside = ends((OUTSIDE, 7000), (SERVER, 8000));

        for turn in 0..2 {
            if turn == 1 || first == "inside" {
                let left = world.out(&udp(inside, b"stream"));
                assert_eq!(left.expect("out").ends, outside);
            }
            let came = world.back(&udp(outside.back(), b"stream"));
            assert_eq!(came.expect("in").ends, inside.back(), "{first} {workers}");
        }

        let row = world.row(|row| row.expected);
        assert_eq!(row.helper, Helper::Sip);
        let signalling = world.row(|row| !row.expected);
        assert_eq!(signalling.timeout_secs, 3600);
        assert_eq!(world.rig.drops(), []);
    }
}

#[test]
fn a_call_over_tcp_is_read_and_both_sides_numbers_stay_right() {
    let mut world = World::new(1);
    let (inside, outside) = world.connect(5060);
    let said = invite(0);

    let left = world.out(&tcp(inside, ACK, (100, 500), &said));

    let left = left.expect("out");
    assert_eq!((left.ends, left.numbers), (outside, (100, 500)));
    let told = String::from_utf8(left.payload).expect("text");
    assert!(told.contains("c=IN IP4 198.51.100.100\r\n"), "{told}");
    let answer = b"SIP/2.0 100 Trying\r\nContent-Length: 0\r\n\r\n";
    let acknowledged = 100 + told.len() as u32;
    let heard = world.back(&tcp(outside.back(), ACK, (500, acknowledged), answer));
    assert_eq!(heard.expect("in").numbers, (500, 100 + said.len() as u32));
    let stream = ends((SERVER, 8000), (OUTSIDE, 7000));
    let came = world.back(&udp(stream, b"stream"));
    assert_eq!(came.expect("in").ends.destination, (CLIENT, 7000));
    // TCP has its own timeout.
    let signalling = world.row(|row| !row.expected);
    assert_ne!(signalling.timeout_secs, 3600);
    assert_eq!(world.rig.drops(), []);
}

#[test]
fn a_stream_leaves_by_the_port_that_its_answers_are_told() {
    let mut world = World::new(1);
    for client in [CLIENT, CLIENT + 1] {
        let text = String::from_utf8(invite(0)).expect("text");
        let own = Ipv4Addr::from_bits(client).to_string();
        let text = text.replace("10.0.0.2", &own);
        let signals = ends((client, 5060), (SERVER, 5060));
        world.out(&udp(signals, text.as_bytes())).expect("out");
    }
    let mut rows = world.rig.connections.rows(false);
    let second = rows.find(|row| row.original.source == u128::from(CLIENT + 1));
    let second = second.expect("entered");
    let tracker = world.rig.workers[0].tracker();
    let told = tracker
        .expectations_of(second.id)
        .find(|one| one.destination.is_some_and(|(_, port)| port == 7000));
    let told = told.expect("its stream").tuple.destination_port;
    assert_ne!(told, 7000);
    drop(rows);
    let answer = b"SIP/2.0 200 OK\r\nContent-Length: 54\r\n\r\n\
        v=0\r\no=b 1 1 IN IP4 11.0.0.2\r\nc=IN IP4 11.0.0.2\r\n\
        m=audio 8000 RTP/AVP 0\r\n";
    let to = (OUTSIDE, second.reply.destination_port);
    world
        .back(&udp(ends((SERVER, 5060), to), answer))
        .expect("in");

    let left = world.out(&udp(ends((CLIENT + 1, 7000), (SERVER, 8000)), b"stream"));

    let outside = ends((OUTSIDE, told), (SERVER, 8000));
    assert_eq!(left.expect("out").ends, outside);
    let came = world.back(&udp(outside.back(), b"stream"));
    assert_eq!(came.expect("in").ends.destination, (CLIENT + 1, 7000));
}

#[test]
fn what_grows_beyond_its_link_is_sent_in_parts_or_its_sender_is_told() {
    let mut world = World::new(1);
    let signals = ends((CLIENT, 5060), (SERVER, 5060));
    let room = 1500 - 28 - (invite(1200).len() - 1200);
    let mut packet = udp(signals, &invite(room));
    assert_eq!(packet.len(), 1500);
    packet[6] = 0x40;
    seal(&mut packet[..20]);

    assert_eq!(world.out(&packet), None);
    let punts = world.rig.punts();
    let [(PuntReason::TooBig(mtu), told)] = &punts[..] else {
        panic!("{punts:?}")
    };
    // Four addresses in text form.
    assert_eq!((*mtu, &told[14..]), (1500 - 4 * 6, &packet[..]));

    packet[6] = 0;
    seal(&mut packet[..20]);
    world.rig.arrive(ethernet(MAC, 0x0800, &packet));
    world.rig.settle();
    let sent = world.rig.sent(1);
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|frame| frame.len() <= 1514));
}

/// Returns a PPTP control message with call ids.
fn message(kind: u8, first: u16, second: u16) -> Vec<u8> {
    let mut bytes = vec![0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, kind, 0, 0];
    bytes.extend(first.to_be_bytes());
    bytes.extend(second.to_be_bytes());
    bytes.extend([1, 0]);
    bytes.resize(32, 0);
    bytes
}

fn number(left: &Left, at: usize) -> u16 {
    u16::from_be_bytes([left.payload[at], left.payload[at + 1]])
}

#[test]
fn two_clients_with_one_call_number_have_a_tunnel_each() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        let mut calls = Vec::new();
        for client in [CLIENT, CLIENT + 1] {
            let inside = ends((client, 5000), (SERVER, 1723));
            let first = world.out(&tcp(inside, SYN, (99, 0), b"")).expect("out");
            let outside = first.ends;
            world
                .back(&tcp(outside.back(), SYN | ACK, (499, 100), b""))
                .expect("back");
            // Outgoing-Call-Request, sent twice with the same call id.
            let request = tcp(inside, ACK, (100, 500), &message(7, 9, 1));
            let told = number(&world.out(&request).expect("out"), 12);
            assert_eq!(number(&world.out(&request).expect("out"), 12), told);
            // Outgoing-Call-Reply.
            let own = 70 + (client - CLIENT) as u16;
            let reply = message(8, own, told);
            let heard = world
                .back(&tcp(outside.back(), ACK, (500, 132), &reply))
                .expect("back");
            assert_eq!((number(&heard, 12), number(&heard, 14)), (own, 9));
            calls.push((client, told, own, inside));
        }
        assert_eq!(calls[0].1, 9);
        assert_ne!(calls[1].1, 9);

        // The first tunnel begins inside, the second one outside.
        for turn in 0..4 {
            for (at, (client, told, own, _)) in calls.iter().copied().enumerate() {
                if turn > 0 || at == 0 {
                    world
                        .rig
                        .arrive(ethernet(MAC, 0x0800, &gre(client, SERVER, own)));
                    world.rig.settle();
                    let left = world.rig.sent(1).pop().expect("out");
                    let mut wanted = gre(OUTSIDE, SERVER, own);
                    wanted[8] = 63;
                    seal(&mut wanted[..20]);
                    assert_eq!(left[14..], wanted);
                }
                let came = world.raw_back(&gre(SERVER, OUTSIDE, told)).expect("in");
                let mut wanted = gre(SERVER, client, 9);
                wanted[8] = 63;
                seal(&mut wanted[..20]);
                assert_eq!(came[14..], wanted);
            }
        }
        let tunnels = world.rig.connections.rows(false).filter(|row| row.expected);
        assert_eq!(tunnels.count(), 2);
        assert_eq!(world.back(&gre(SERVER, OUTSIDE, 10)), None);

        // Call-Clear-Request, and WAN-Error-Notify before it.
        let (client, told, _, inside) = calls[1];
        let control = world.row(|row| row.original.source == u128::from(client) && !row.expected);
        let to = (OUTSIDE, control.reply.destination_port);
        let notify = tcp(
            ends((SERVER, 1723), to),
            ACK,
            (532, 132),
            &message(14, told, 0),
        );
        assert_eq!(number(&world.back(&notify).expect("in"), 12), 9);
        let clear = tcp(inside, ACK, (132, 564), &message(12, 9, 0));
        assert_eq!(number(&world.out(&clear).expect("out"), 12), told);
        assert_eq!(world.rig.drops(), ASTRAY);
    }
}

#[test]
fn a_connection_expects_its_newest_and_takes_them_along_when_it_ends() {
    let mut world = World::new(1);
    let (inside, _) = world.connect(21);
    let mut number = 100;
    for port in 0..100_u32 {
        let said = format!("PORT 10,0,0,2,20,{port}\r\n");
        let segment = tcp(inside, ACK, (number, 500), said.as_bytes());
        assert!(world.out(&segment).is_some());
        number += said.len() as u32;
    }
    let control = world.row(|_| true);
    let tracker = world.rig.workers[0].tracker();
    // The newest expectations are kept.
    let ports = tracker.expectations_of(control.id);
    let ports: Vec<_> = ports.map(|one| one.tuple.destination_port).collect();
    assert_eq!(ports.len(), 32);
    assert!(ports.contains(&(20 * 256 + 99)));

    world.rig.command(crate::rings::Command::Forget(control.id));
    world.rig.settle();

    let tracker = world.rig.workers[0].tracker();
    assert_eq!(tracker.expectations_of(control.id).count(), 0);
    assert_eq!(tracker.altered(control.id.slot), Default::default());
    let data = tuple(ends((SERVER, 20), (OUTSIDE, 20 * 256 + 99)));
    assert_eq!(tracker.expected(&data), None);
}

#[test]
fn a_helper_that_is_disabled_expects_nothing_any_more() {
    let mut world = World::new(1);
    let (inside, _) = world.connect(21);
    let segment = tcp(inside, ACK, (100, 500), b"PORT 10,0,0,2,20,9\r\n");
    assert!(world.out(&segment).is_some());
    let control = world.row(|_| true);
    let expects = |world: &World| {
        let tracker = world.rig.workers[0].tracker();
        tracker.expectations_of(control.id).count()
    };
    assert_eq!(expects(&world), 1);

    world.serve(|services| services.enable(Helper::Ftp, &[2121]));
    world.rig.settle();
    assert_eq!(expects(&world), 1);
    world.serve(|services| services.enable(Helper::Sip, &[5060]));
    world.rig.settle();
    assert_eq!(expects(&world), 0);
}

#[test]
fn what_would_be_too_much_to_expect_is_dropped_by_name() {
    let mut world = World::new(1);
    let mut left = 0;
    for own in 0..129_u16 {
        let (inside, _) = world.connect_from(6000 + own, 21);
        let mut number = 100;
        for at in 0..32_u16 {
            let port = 10_000 + own * 32 + at;
            let said = format!("PORT 10,0,0,2,{},{}\r\n", port >> 8, port & 255);
            let segment = tcp(inside, ACK, (number, 500), said.as_bytes());
            left += u32::from(world.out(&segment).is_some());
            number += said.len() as u32;
        }
    }
    assert_eq!(left, 4096);
    assert_eq!(world.rig.drops(), [(DropReason::HelperFull, 32)]);
}

#[test]
fn what_does_not_fit_its_slot_any_more_is_dropped_by_name() {
    let mut world = World::new(1);
    let wide = Adjacency {
        mtu: 9000,
        ..gateway()
    };
    world.rig.writer.set_next_hop(world.rig.gateway, &wide);
    let signals = ends((CLIENT, 5060), (SERVER, 5060));

    for more in (1000..1900).step_by(10) {
        let left = world.out(&udp(signals, &invite(more)));
        let told = left.map(|left| String::from_utf8(left.payload).expect("text"));
        assert!(told.is_none_or(|told| told.contains("c=IN IP4 198.51.100.100\r\n")));
    }

    // Two or three of them fill the smallest slot completely.
    let drops = world.rig.drops();
    assert!(
        matches!(drops[..], [(DropReason::HelperRoom, 1..=4)]),
        "{drops:?}"
    );
}
