//! Tests of marks and changes by mangle's prerouting on the short path.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::{MASQUERADE, answer, chains, client, filtered, hits, mangled, to_port, translated};
use crate::drop::DropReason;
use crate::firewall::{Firewall, filter, mangle, nat};
use crate::punt::PuntReason;
use crate::rule::{Action, AddressRange, Dscp, Match, Rule, Ttl};
use crate::table::Adjacency;
use crate::testing::{ETHER2, Rig, Udp4, gateway};
use crate::walk::tests::rig;

/// Hits of each rule, frames sent by `ether2`, and other exits.
#[derive(Debug, PartialEq)]
struct Ended {
    hits: Vec<u64>,
    left: Vec<Vec<u8>>,
    back: Vec<Vec<u8>>,
    punts: Vec<PuntReason>,
    drops: Vec<(DropReason, u64)>,
    marks: Vec<u32>,
}

/// Returns rules of prerouting.
fn early() -> Vec<Rule> {
    let listed = Match::ConnectionMark(7);
    vec![
        Rule::new(10, to_port(53), Action::MarkRouting(2)),
        Rule::new(11, to_port(54), Action::ChangeDscp(Dscp::Set(10))),
        Rule::new(12, to_port(55), Action::MarkConnection(7)),
        Rule::new(13, vec![listed.into()], Action::MarkPacket(8)),
        Rule::new(14, to_port(56), Action::ChangeTtl(Ttl::Set(1))),
        Rule::new(15, to_port(57), Action::MarkRouting(3)),
    ]
}

/// Returns a router with a routing table for each of two marks: one with another gateway, one
/// without a matching route.
fn router(whole: bool, masquerade: bool) -> Rig {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::new(10, 1, 0, 1));
    client(&mut rig);
    let mut other = gateway();
    other.header[..6].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
    let hop = rig.add_hop(&Adjacency {
        egress: ETHER2,
        ..other
    });
    rig.route4_in(2, 0x0b00_0000, 8, hop);
    rig.route4_in(3, 0x7f00_0000, 8, hop);
    if masquerade {
        translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    }
    let mut early = early();
    if whole {
        // The rule never matches but might route packets elsewhere, so packets are decided one by
        // one.
        let elsewhere = Match::Destination(AddressRange::prefix(0x7f00_0000, 8, 32));
        early.push(Rule::new(
            19,
            vec![elsewhere.into()],
            Action::Route(0x0a01_0002),
        ));
    }
    let count = |id, what: Match| Rule::new(id, vec![what.into()], Action::Passthrough);
    let mangle = vec![
        (mangle::PREROUTING, early),
        (
            mangle::FORWARD,
            vec![
                count(1, Match::RoutingMark(2)),
                count(2, Match::ConnectionMark(7)),
                count(3, Match::PacketMark(8)),
            ],
        ),
    ];
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![count(5, Match::PacketMark(8))],
    );
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = chains(mangle::CHAINS, mangle);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    rig
}

/// Sends vectors of packets to many ports, with answers in between.
fn talk(whole: bool, masquerade: bool) -> Ended {
    let mut rig = router(whole, masquerade);
    let (mut left, mut back, mut punts) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..4_u16 {
        for number in 0..30 {
            let packet = Udp4 {
                source_port: 1_000 + number,
                destination_port: 52 + number % 7,
                payload: 20 + usize::from(round),
                ..Udp4::default()
            };
            rig.arrive(packet.frame());
        }
        rig.settle();
        let sent = rig.sent(1);
        for frame in &sent {
            rig.arrive_unfinished(1, answer(frame), frame::Offload::FINISHED);
        }
        rig.settle();
        left.extend(sent);
        back.extend(rig.sent(0));
        punts.extend(rig.punts().into_iter().map(|(why, _)| why));
    }
    left.sort();
    back.sort();
    let mut marks: Vec<_> = rig.connections.rows(false).map(|row| row.mark).collect();
    marks.sort_unstable();
    let rules = [10, 11, 12, 13, 14, 15, 1, 2, 3, 5];
    Ended {
        hits: rules.map(|rule| hits(&rig, rule).0).to_vec(),
        left,
        back,
        punts,
        drops: rig.drops(),
        marks,
    }
}

#[test]
fn what_prerouting_marks_and_changes_is_so_on_the_short_way() {
    for masquerade in [false, true] {
        let short = talk(false, masquerade);
        assert_eq!(short, talk(true, masquerade), "masquerade {masquerade}");

        // Of seven ports one matches no rule, and one has its TTL changed.
        let to =
            |port: u64| (0..30_u64).filter(|number| 52 + number % 7 == port).count() as u64 * 4;
        let answers = if masquerade { to(55) } else { 0 };
        assert_eq!(short.hits[..3], [53, 54, 55].map(to));
        assert_eq!(
            short.hits[3],
            if masquerade { to(55) + answers } else { to(55) }
        );
        assert_eq!(short.hits[4..7], [to(56), to(57), to(53)]);
        assert_eq!(short.hits[7..], [short.hits[3]; 3]);
        let by_other = short.left.iter().filter(|frame| frame[..2] == [2, 9]);
        assert_eq!(by_other.count() as u64, to(53));
        assert_eq!(short.left.len() as u64, 120 - to(56));
        assert_eq!(short.punts, vec![PuntReason::TtlExceeded; to(56) as usize]);
        let marked = short.marks.iter().filter(|mark| **mark == 7).count() as u64;
        assert_eq!(marked, if masquerade { to(55) / 4 } else { 0 });
        let changed = short.left.iter().filter(|frame| frame[15] >> 2 == 10);
        assert_eq!(changed.count() as u64, to(54));
    }
}

#[test]
fn a_connection_has_its_mark_when_the_next_packet_of_a_vector_is_asked_about() {
    for chain in [mangle::PREROUTING, mangle::FORWARD] {
        let mut rig = router(false, true);
        let question = Udp4 {
            destination_port: 60,
            ..Udp4::default()
        };
        let sent = rig.pass(question.frame());
        rig.arrive_unfinished(1, answer(&sent[0]), frame::Offload::FINISHED);
        rig.settle();
        let marked = |mark| vec![Match::ConnectionMark(mark).into()];
        let rules = vec![
            Rule::new(16, marked(0), Action::MarkConnection(7)),
            Rule::new(17, marked(7), Action::Passthrough),
        ];
        mangled(&mut rig, chain, rules);
        for _ in 0..3 {
            rig.arrive(question.frame());
        }
        rig.settle();

        assert_eq!([16, 17].map(|rule| hits(&rig, rule).0), [1, 3], "{chain:?}");
    }
}
