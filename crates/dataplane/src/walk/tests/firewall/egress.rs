//! Tests of connections whose egress interface changes.

use core::net::Ipv4Addr;

use machine::Rng;

use super::{MASQUERADE, answer, client, filtered, hits, mangled, translated};
use crate::drop::DropReason;
use crate::firewall::{filter, mangle, nat};
use crate::nat::{Action as nat_action, Addresses, Target};
use crate::out::OutId;
use crate::rule::{Action, Compare, Match, Rule, State};
use crate::table::Adjacency;
use crate::testing::{ETHER2, Rig, Udp4, VLAN10, gateway};
use crate::walk::tests::rig;

/// The router's addresses at its two providers: on `ether2`, and on `vlan10`, whose frames leave by
/// port 0.
const FIRST: u32 = 0x0a01_0001;
const SECOND: u32 = 0xc000_0201;

/// The path that packets are forced to take: slow path, short path, or FastTrack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speed {
    FastTrack,
    Short,
    Whole,
}

const SPEEDS: [Speed; 3] = [Speed::FastTrack, Speed::Short, Speed::Whole];

/// Returns a router with two providers, the default route to the first, and this source NAT.
fn providers(speed: Speed, target: Target) -> Rig {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(FIRST));
    rig.details(VLAN10).address4 = Some(Ipv4Addr::from_bits(SECOND));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), target);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let action = match speed {
        Speed::FastTrack => Action::Fasttrack,
        _ => Action::Passthrough,
    };
    let rules = vec![Rule::new(1, vec![established.into()], action)];
    filtered(&mut rig, filter::FORWARD, rules);
    if speed == Speed::Whole {
        let lives = Match::Ttl(Compare::Greater(0));
        let leads = Rule::new(
            7,
            vec![Match::Ttl(Compare::Equal(1)).into()],
            Action::Route(9),
        );
        let rules = vec![Rule::new(6, vec![lives.into()], Action::Passthrough), leads];
        mangled(&mut rig, mangle::PREROUTING, rules);
    }
    rig
}

/// Moves the default route to the second provider.
fn fail_over(rig: &mut Rig) {
    let mut second = Adjacency {
        egress: VLAN10,
        out: OutId::port(0),
        header_len: 18,
        ..gateway()
    };
    second.header[12..18].copy_from_slice(&[0x81, 0, 0, 10, 8, 0]);
    let hop = rig.add_hop(&second);
    rig.route4(0x0b00_0000, 8, hop);
    rig.writer.prepare();
}

/// Sends a packet and its answer, so that both ends confirm the connection.
fn converse(rig: &mut Rig, question: Udp4) {
    for _ in 0..3 {
        let sent = rig.pass(question.frame());
        let answer = answer(sent.first().expect("a question that leaves"));
        rig.arrive_unfinished(1, answer, frame::Offload::FINISHED);
        rig.settle();
        assert_eq!(rig.sent(0).len(), 1, "its answer");
    }
}

/// Returns the source address of a frame with a VLAN tag.
fn source(frame: &[u8]) -> u32 {
    u32::from_be_bytes(*frame[30..].first_chunk().expect("a header"))
}

#[test]
fn a_masqueraded_connection_that_leaves_elsewhere_begins_anew_with_the_new_address() {
    for speed in SPEEDS {
        let mut rig = providers(speed, MASQUERADE);
        let question = Udp4::default();
        converse(&mut rig, question);
        fail_over(&mut rig);

        rig.arrive(question.frame());
        rig.settle();
        assert_eq!(rig.drops(), [(DropReason::NatEgress, 1)], "{speed:?}");
        assert_eq!(rig.connections.totals(), (0, 0), "{speed:?}");

        rig.arrive(question.frame());
        rig.settle();
        let sent = rig.sent(0);
        assert_eq!(
            sent.iter().map(|frame| source(frame)).collect::<Vec<_>>(),
            [SECOND]
        );
        assert_eq!(rig.connections.totals(), (1, 0), "{speed:?}");
        assert_eq!(rig.sent(1), Vec::<Vec<u8>>::new(), "{speed:?}");

        let first = rig.gateway;
        rig.route4(0x0b00_0000, 8, first);
        rig.writer.prepare();
        rig.pass(question.frame());
        let back = rig.pass(question.frame());
        assert_eq!(back.len(), 1, "{speed:?}");
        assert_eq!(back[0][26..30], FIRST.to_be_bytes(), "{speed:?}");
    }
}

#[test]
fn a_connection_of_src_nat_keeps_its_address_wherever_it_leaves() {
    let target = Target {
        action: nat_action::Translate,
        addresses: Some(Addresses::one(FIRST.into())),
        ..MASQUERADE
    };
    for speed in SPEEDS {
        let mut rig = providers(speed, target);
        let question = Udp4::default();
        converse(&mut rig, question);
        fail_over(&mut rig);

        for _ in 0..2 {
            rig.arrive(question.frame());
            rig.settle();
        }

        let sources: Vec<_> = rig.sent(0).iter().map(|frame| source(frame)).collect();
        assert_eq!(
            (sources, rig.drops()),
            (vec![FIRST; 2], Vec::new()),
            "{speed:?}"
        );
    }
}

#[test]
fn a_masqueraded_connection_stays_where_another_next_hop_leads_out_by_its_interface() {
    for speed in SPEEDS {
        let mut rig = providers(speed, MASQUERADE);
        let question = Udp4::default();
        converse(&mut rig, question);
        let other = rig.add_hop(&gateway());
        rig.route4(0x0b00_0000, 8, other);
        rig.writer.prepare();

        let sent = [(); 3].map(|()| rig.pass(question.frame()).len());

        assert_eq!((sent, rig.drops()), ([1; 3], Vec::new()), "{speed:?}");
        let row = rig.connections.rows(false).next().expect("a connection");
        // Three earlier packets, all of one connection.
        assert_eq!(row.directions[0].traffic.packets, 6, "{speed:?}");
    }
}

/// Frames sent by each port, drops, and rule hits, for connections that fail over and back, in
/// vectors or each packet `alone`.
type Ended = ([Vec<Vec<u8>>; 2], Vec<(DropReason, u64)>, [(u64, u64); 3]);

fn moves(seed: u64, speed: Speed, alone: bool) -> Ended {
    let mut rng = Rng::seeded(seed);
    let mut rig = providers(speed, MASQUERADE);
    let question = |port: u64| Udp4 {
        source_port: 1000 + port as u16,
        ..Udp4::default()
    };
    (0..8).for_each(|port| converse(&mut rig, question(port)));
    for round in 0..4 {
        match round % 2 {
            0 => fail_over(&mut rig),
            _ => {
                let first = rig.gateway;
                rig.route4(0x0b00_0000, 8, first);
                rig.writer.prepare();
            }
        }
        for _ in 0..rng.below(120) {
            rig.arrive(question(rng.below(10)).frame());
            if alone {
                rig.settle();
            }
        }
        rig.settle();
    }
    let sent = [rig.sent(0), rig.sent(1)];
    (sent, rig.drops(), [1, 4, 6].map(|rule| hits(&rig, rule)))
}

#[test]
fn connections_that_move_end_in_vectors_as_they_do_one_by_one() {
    for speed in SPEEDS {
        for seed in 0..20 {
            let together = moves(seed, speed, false);
            assert_eq!(together, moves(seed, speed, true), "{speed:?}, seed {seed}");
            let dropped = together
                .1
                .iter()
                .all(|(reason, _)| *reason == DropReason::NatEgress);
            assert!(dropped && !together.1.is_empty(), "{:?}", together.1);
        }
    }
}
