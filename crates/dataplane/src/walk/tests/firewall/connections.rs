//! Tests of connection tracking and NAT.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::{MASQUERADE, answer, client, filtered, hits, to_port, tracked, translated};
use crate::firewall::{filter, nat};
use crate::interface::{Details, Own4, Own6};
use crate::punt::PuntReason;
use crate::rule::{Action, ConnectionLimit, Icmp, Match, Rule, State};
use crate::table::{Adjacency, Kind};
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, class_of, ethernet, seal};
use crate::walk::tests::{forwarded4, gateway4, rig};

#[test]
fn a_connection_is_new_until_it_is_answered_and_established_then() {
    let mut rig = rig();
    tracked(&mut rig);
    let state = |state| Match::ConnectionState([state].into_iter().collect()).into();
    let rules = vec![
        Rule::new(1, vec![state(State::New)], Action::Passthrough),
        Rule::new(2, vec![state(State::Established)], Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);

    let first = rig.pass(Udp4::default().frame());
    let second = rig.pass(Udp4::default().frame());
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (2, 0));

    client(&mut rig);
    rig.arrive_unfinished(1, answer(&first[0]), frame::Offload::FINISHED);
    rig.settle();
    rig.pass(Udp4::default().frame());

    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (2, 2));
    assert_eq!(rig.connections.totals(), (1, 0));
    assert_eq!(rig.drops(), []);
}

#[test]
fn packets_that_follow_the_first_in_one_vector_are_of_its_connection() {
    let mut rig = rig();
    tracked(&mut rig);
    for _ in 0..200 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();

    assert_eq!(rig.connections.totals(), (1, 0));
    let rows: Vec<_> = rig.connections.rows(false).collect();
    assert_eq!(rows[0].directions[0].traffic.packets, 200);
    assert_eq!(rig.sent(1).len(), 200);
}

#[test]
fn masquerade_gives_the_egress_address_and_answers_find_back() {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    let matchers = vec![Match::OutInterface(class_of(ETHER2)).into()];
    translated(&mut rig, nat::SRCNAT, matchers, MASQUERADE);

    let sent = rig.pass(Udp4::default().frame());

    let expected = Udp4 {
        source: 0x0a01_0001,
        ..Udp4::default()
    };
    assert_eq!(sent, [forwarded4(&expected.packet())]);
    assert_eq!(hits(&rig, 4).0, 1);

    client(&mut rig);
    rig.arrive_unfinished(1, answer(&sent[0]), frame::Offload::FINISHED);
    rig.settle();

    let back = rig.sent(0);
    assert_eq!(back.len(), 1);
    assert_eq!(back[0][30..34], 0x0a00_0002u32.to_be_bytes());
    assert_eq!(crate::testing::sum(&back[0][14..34]), 0xffff);
    assert_eq!(hits(&rig, 4).0, 1, "answers do not meet nat's rules");
    // Nor does a second packet of the connection.
    assert_eq!(
        rig.pass(Udp4::default().frame()),
        [forwarded4(&expected.packet())]
    );
    assert_eq!(hits(&rig, 4).0, 1);
}

#[test]
fn masquerade_takes_the_address_whose_network_the_next_hop_is_in() {
    let own = |address: u32| Own4 {
        address: Ipv4Addr::from_bits(address),
        network: (
            Ipv4Addr::from_bits(address & 0xffff_ff00),
            Ipv4Addr::from_bits(address | 0xff),
        ),
    };
    let (first, second) = (0x0a01_0001, 0xc000_0201);
    let to = Udp4::default().destination;
    let near = to & 0xffff_ff00 | 0xfe;
    for (gateway, addresses, expected) in [
        (Some(0xc000_0209), [first, second], second),
        (Some(0x0a01_0009), [first, second], first),
        // A neighbour outside all networks gets the first address, even if it is not the lowest.
        (Some(0x0808_0808), [second, first], second),
        // Without a gateway the destination is the neighbour.
        (None, [first, near], near),
        (None, [first, second], first),
    ] {
        let mut rig = rig();
        rig.details(ETHER2).addresses4 = addresses.map(own).to_vec();
        let gateway = gateway.map(Ipv4Addr::from_bits);
        rig.writer.set_gateway(rig.gateway, gateway);
        translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);

        let sent = rig.pass(Udp4::default().frame());

        let expected = Udp4 {
            source: expected,
            ..Udp4::default()
        };
        assert_eq!(sent, [forwarded4(&expected.packet())], "{gateway:?}");
    }
}

#[test]
fn masquerade_of_ipv6_takes_the_own_address_that_suits_the_destination() {
    let own = |(address, len): (&str, u8)| Own6 {
        address: address.parse().expect("an address"),
        len,
    };
    let global = [
        ("2001:db8:1::1", 64),
        ("2001:db8:2::1", 64),
        ("fd00:1::1", 64),
    ];
    let link_local = ("fe80::1", 64);
    for (addresses, to, expected) in [
        (&global[..], "2001:db8:2::9", "2001:db8:2::1"),
        (&global, "2001:db8:1::9", "2001:db8:1::1"),
        (&global, "fd00:9::9", "fd00:1::1"),
        // The common prefix is at most as long as the address's own prefix.
        (
            &[("2001:db8:2::", 32), ("2001:db8:1::5", 48)],
            "2001:db8:2::9",
            "2001:db8:1::5",
        ),
        (
            &[("2001:db8:1::1", 32), ("2001:db8:2::1", 32)],
            "2001:db8:2::9",
            "2001:db8:1::1",
        ),
        // A link-local address is no source for global destinations, and preferred for those on the
        // link.
        (&[link_local, global[0]], "2001:db8:9::9", "2001:db8:1::1"),
        (&[global[0], link_local], "fe80::9", "fe80::1"),
        (&[global[0], link_local], "ff02::fb", "fe80::1"),
        (&[global[0], link_local], "ff05::fb", "2001:db8:1::1"),
    ] {
        let details = Details {
            addresses6: addresses.iter().copied().map(own).collect(),
            ..Details::default()
        };

        let to = to.parse().expect("an address");
        let chosen = details.source6_towards(to).expect("it has one");

        assert_eq!(chosen.to_string(), expected, "{to}");
    }
}

#[test]
fn answers_to_translated_connections_find_their_worker() {
    let mut rig = Rig::with_workers(3);
    gateway4(&mut rig);
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    client(&mut rig);
    let matchers = vec![Match::OutInterface(class_of(ETHER2)).into()];
    translated(&mut rig, nat::SRCNAT, matchers, MASQUERADE);
    let mut sent = Vec::new();
    for port in 0..60 {
        let udp = Udp4 {
            source_port: 4000 + port,
            ..Udp4::default()
        };
        sent.extend(rig.pass(udp.frame()));
    }
    assert_eq!(sent.len(), 60);

    for frame in &sent {
        rig.arrive_unfinished(1, answer(frame), frame::Offload::FINISHED);
    }
    rig.settle();

    let back = rig.sent(0);
    assert_eq!(back.len(), 60);
    assert!(
        back.iter()
            .all(|frame| frame[30..34] == 0x0a00_0002u32.to_be_bytes())
    );
    assert_eq!(rig.connections.totals(), (60, 0));
    assert_eq!(rig.traffic(ETHER2).rx.packets, 60, "each is counted once");
    assert_eq!(rig.drops(), []);
}

#[test]
fn no_redirect_is_owed_for_what_is_translated() {
    let mut rig = rig();
    rig.lead_back();
    rig.snapshot.send_redirects = true;
    rig.details(ETHER1).address4 = Some(Ipv4Addr::from_bits(0x0a00_0001));
    translated(&mut rig, nat::SRCNAT, to_port(7000), MASQUERADE);
    for port in [7000, 9000] {
        rig.arrive(
            Udp4 {
                destination_port: port,
                ..Udp4::default()
            }
            .frame(),
        );
        rig.settle();
    }

    assert_eq!(rig.sent(0).len(), 2);
    let told: Vec<_> = rig.punts().into_iter().map(|(_, bytes)| bytes).collect();
    let port_of = |bytes: &[u8]| u16::from_be_bytes([bytes[36], bytes[37]]);
    let ports: Vec<_> = told.iter().map(|bytes| port_of(bytes)).collect();
    assert_eq!(ports, [9000], "the translated one is not told of");

    let unknown = Adjacency {
        kind: Kind::Incomplete,
        egress: ETHER1,
        ..Adjacency::default()
    };
    rig.writer.set_next_hop(rig.gateway, &unknown);
    for port in [7000, 9000] {
        rig.arrive(
            Udp4 {
                source_port: 77,
                destination_port: port,
                ..Udp4::default()
            }
            .frame(),
        );
        rig.settle();
    }
    let (back, waits) = (
        PuntReason::Redirect(rig.gateway),
        PuntReason::Unresolved(rig.gateway),
    );
    let told: Vec<_> = rig.punts().into_iter().map(|(why, _)| why).collect();
    assert_eq!(
        told,
        [waits, back, waits],
        "nor while its neighbour is not known"
    );
}

#[test]
fn a_connection_limit_counts_connections_until_they_end() {
    let mut rig = rig();
    tracked(&mut rig);
    let limit = ConnectionLimit::new(2, 32).expect("address space");
    let rule = Rule::new(
        1,
        vec![Match::ConnectionLimit(Arc::new(limit)).into()],
        Action::Drop,
    );
    filtered(&mut rig, filter::FORWARD, vec![rule]);
    let from = |port| Udp4 {
        source_port: port,
        ..Udp4::default()
    };

    let first: usize = (1..=5).map(|port| rig.pass(from(port).frame()).len()).sum();
    assert_eq!((first, rig.connections.totals().0), (2, 2));
    // Existing connections continue; unanswered UDP connections expire after 30 seconds.
    assert_eq!(rig.pass(from(1).frame()).len(), 1);
    for second in 0..40 {
        rig.now = machine::Instant::from_secs(second);
        rig.settle();
    }
    assert_eq!(rig.connections.totals(), (0, 0));

    let second: usize = (1..=5).map(|port| rig.pass(from(port).frame()).len()).sum();
    assert_eq!(second, 2);
}

/// Returns an ICMP error about a packet that the router sent, from the packet's destination.
fn error(sent: &[u8], kind: u8, code: u8) -> Vec<u8> {
    let quoted = &sent[14..42];
    let mut message = [&[kind, code, 0, 0, 0, 0, 0, 0], quoted].concat();
    let checksum = wire::checksum::checksum(&message);
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut packet = vec![
        0x45,
        0,
        0,
        20 + message.len() as u8,
        0,
        0,
        0,
        0,
        64,
        1,
        0,
        0,
    ];
    packet.extend([&quoted[16..20], &quoted[12..16]].concat());
    packet.extend(message);
    seal(&mut packet);
    ethernet([2, 0, 0, 0, 0, 2], 0x0800, &packet)
}

#[test]
fn rules_see_the_type_of_an_error_about_what_is_translated() {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    let is = |kind, code| {
        Match::Icmp(Icmp {
            kind,
            first: code,
            last: code,
        })
    };
    let rules = vec![
        Rule::new(1, vec![is(3, 3).into()], Action::Passthrough),
        Rule::new(2, vec![Match::Protocol(1).into()], Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let sent = rig.pass(Udp4::default().frame());

    rig.arrive_unfinished(1, error(&sent[0], 3, 3), frame::Offload::FINISHED);
    rig.settle();

    assert_eq!(rig.sent(0).len(), 1);
    assert_eq!([1, 2].map(|rule| hits(&rig, rule).0), [1, 1]);
}

#[test]
fn answers_that_a_device_spreads_by_a_hash_of_its_own_find_their_worker() {
    let mut rig = Rig::with_workers(3);
    gateway4(&mut rig);
    client(&mut rig);
    tracked(&mut rig);
    // Worker 0 keeps the frames of the second port.
    rig.snapshot.ports[1].steer = false;
    rig.snapshot.spread_by_devices = true;
    rig.publish();
    let mut sent = Vec::new();
    for port in 0..60 {
        let udp = Udp4 {
            source_port: 4000 + port,
            ..Udp4::default()
        };
        sent.extend(rig.pass(udp.frame()));
    }
    assert_eq!(sent.len(), 60);

    for frame in &sent {
        rig.arrive_unfinished(1, answer(frame), frame::Offload::FINISHED);
    }
    rig.settle();

    assert_eq!(rig.sent(0).len(), 60);
    assert_eq!(rig.connections.totals(), (60, 0));
}
