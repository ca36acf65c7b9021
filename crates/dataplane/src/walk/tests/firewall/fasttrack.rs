//! Tests of FastTracked connections.

use core::net::Ipv4Addr;

use super::{MASQUERADE, answer, client, filtered, hits, segment, tracked, translated};
use crate::connection::TcpState;
use crate::drop::DropReason;
use crate::firewall::{filter, nat};
use crate::rule::{Action, Match, Rule, State};
use crate::testing::{ETHER1, ETHER2, Rig, Udp4};
use crate::walk::tests::{forwarded4, rig};

/// Returns a router with an answered UDP connection through masquerade that a rule FastTracks.
fn fasttracked() -> Rig {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let rules = vec![
        Rule::new(1, vec![established.into()], Action::Fasttrack),
        Rule::new(2, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let first = rig.pass(Udp4::default().frame());
    rig.arrive_unfinished(1, answer(&first[0]), frame::Offload::FINISHED);
    rig.settle();
    assert_eq!(rig.sent(0).len(), 1);
    rig.pass(Udp4::default().frame());
    rig
}

#[test]
fn fasttracked_packets_meet_no_rule_and_leave_as_slow_ones_do() {
    let mut rig = fasttracked();
    let before = (hits(&rig, 1).0, hits(&rig, 2).0);
    let expected = Udp4 {
        source: 0x0a01_0001,
        ..Udp4::default()
    };

    let fast = rig.pass(Udp4::default().frame());
    rig.arrive_unfinished(1, answer(&fast[0]), frame::Offload::FINISHED);
    rig.settle();

    assert_eq!(fast, [forwarded4(&expected.packet())]);
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), before);
    let counted = rig.counters[0].ipv4_fasttrack.get();
    let len = expected.packet().len() as u64;
    // The rule marked the answer; all later packets were FastTracked.
    assert_eq!((counted.packets, counted.bytes), (3, 3 * len));
    assert_eq!(rig.counters[0].ipv4_fast_path.get().packets, 0);
    let row = rig.connections.rows(false).next().expect("a connection");
    assert_eq!(row.directions[0].fasttrack.packets, 2);
    assert_eq!(row.directions[0].traffic.packets, 3);
}

#[test]
fn a_fasttracked_handshake_is_followed_to_its_end() {
    let mut rig = rig();
    client(&mut rig);
    tracked(&mut rig);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let rules = vec![
        Rule::new(1, vec![established.into()], Action::Fasttrack),
        Rule::new(2, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let there = Udp4::default();
    let back = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: there.destination,
        destination: there.source,
        source_port: there.destination_port,
        destination_port: there.source_port,
        ..there
    };

    rig.pass(segment(there, 0x02, 99, 0));
    rig.arrive_unfinished(1, segment(back, 0x12, 499, 100), frame::Offload::FINISHED);
    rig.settle();
    rig.pass(segment(there, 0x10, 100, 500));

    let row = rig.connections.rows(false).next().expect("a connection");
    assert_eq!(row.tcp_state, TcpState::Established);
    assert_eq!((row.fasttrack, hits(&rig, 2).0), (true, 3));
    rig.pass(segment(there, 0x10, 100, 500));
    assert_eq!(hits(&rig, 2).0, 3);
}

#[test]
fn one_packet_a_second_of_a_fasttracked_connection_meets_the_rules() {
    let mut rig = fasttracked();
    let before = hits(&rig, 2).0;

    for millis in [1_500, 1_600, 1_900, 2_100, 2_200] {
        rig.now = machine::Instant::from_millis(millis);
        assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    }

    assert_eq!(hits(&rig, 2).0 - before, 2);
}

#[test]
fn a_fasttracked_connection_follows_a_changed_route() {
    let mut rig = fasttracked();
    rig.pass(Udp4::default().frame());
    let hole = rig.hop(crate::table::Kind::Blackhole);
    rig.route4(Udp4::default().destination, 32, hole);
    rig.writer.prepare();

    assert_eq!(rig.pass(Udp4::default().frame()), Vec::<Vec<u8>>::new());
    assert_eq!(rig.drops(), [(DropReason::Blackhole, 1)]);
}

#[test]
fn a_translated_connection_goes_fast_back_where_it_came_from() {
    for send_redirects in [false, true] {
        let mut rig = rig();
        rig.lead_back();
        client(&mut rig);
        rig.snapshot.send_redirects = send_redirects;
        rig.details(ETHER1).address4 = Some(Ipv4Addr::from_bits(0x0a00_0001));
        translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
        let rules = vec![Rule::new(1, Vec::new(), Action::Fasttrack)];
        filtered(&mut rig, filter::FORWARD, rules);
        let there = Udp4::default();

        rig.arrive(there.frame());
        rig.settle();
        let mut answered = answer(&rig.sent(0)[0]);
        answered[..6].copy_from_slice(&there.to);
        rig.arrive(answered.clone());
        rig.settle();
        let slow = hits(&rig, 1).0;
        for frame in [there.frame(), answered] {
            rig.arrive(frame);
            rig.settle();
        }

        assert_eq!((rig.sent(0).len(), rig.punts()), (3, Vec::new()));
        assert_eq!(hits(&rig, 1).0, slow, "{send_redirects}");
    }
}

#[test]
fn a_fasttracked_connection_stays_so_when_its_rule_goes() {
    let mut rig = fasttracked();
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(3, Vec::new(), Action::Drop)],
    );

    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    assert_eq!(hits(&rig, 3).0, 0);
}
