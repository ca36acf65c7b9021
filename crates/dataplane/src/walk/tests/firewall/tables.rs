//! Tests of the verdicts of tables for single packets, and of the order of tables.

use std::sync::Arc;

use super::{chains, filtered, hits, mangled, table, to_port, tracked};
use crate::drop::DropReason;
use crate::firewall::{Firewall, filter, mangle, raw};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::rings::Command;
use crate::routing_rules::{RoutingRule, RuleAction};
use crate::rule::{Action, AddressRange, Match, Priority, Reject, Rule, State, Ttl};
use crate::table::Adjacency;
use crate::testing::{ETHER1, ETHER2, MIRROR, Rig, Udp4, VLAN10, class_of, gateway, seal};
use crate::walk::Event;
use crate::walk::tests::{forwarded4, rig};

#[test]
fn vlan_tags_say_the_priority_that_packets_came_with_and_leave_with() {
    let mut rig = rig();
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let from_ingress = Action::SetPriority(Priority::FromIngress);
    firewall.ipv4.mangle = chains(
        mangle::CHAINS,
        vec![
            (
                mangle::PREROUTING,
                vec![Rule::new(
                    1,
                    vec![Match::IngressPriority(7).into()],
                    from_ingress,
                )],
            ),
            (
                mangle::FORWARD,
                vec![Rule::new(
                    2,
                    vec![Match::Priority(7).into()],
                    Action::Passthrough,
                )],
            ),
            (
                mangle::OUTPUT,
                vec![Rule::new(3, vec![], Action::SetPriority(Priority::Set(6)))],
            ),
        ],
    );
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(20));
    }
    rig.publish();

    // A tag with VLAN id 0 carries a priority only.
    let packet = Udp4::default().packet();
    for priority in [0xe0, 0x60] {
        let head = [
            &Udp4::default().frame()[..12],
            &[0x81, 0, priority, 0, 8, 0],
        ]
        .concat();
        rig.pass([head, packet.clone()].concat());
    }
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (1, 1));

    let own = Udp4 {
        destination: 0xe000_0005,
        ..Udp4::default()
    };
    let mut frame = rig.pool.alloc_from(&own.packet()).expect("a slot");
    frame.egress = VLAN10;
    rig.command(Command::Output(frame));
    rig.settle();
    assert_eq!(rig.sent(0)[0][12..18], [0x81, 0, 6 << 5, 10, 8, 0]);
}

#[test]
fn complete_frames_of_ipv6_meet_output_and_keep_their_link_header() {
    let mut rig = rig();
    let report = [
        &[0x60, 0, 0, 0, 0, 8, 58, 255][..],
        &[0xfe; 16],
        &[0xff; 16],
        &[143, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let frame = [&[0x33; 12][..], &[0x86, 0xdd], &report].concat();
    let states = Match::ConnectionState([State::Untracked].into_iter().collect());
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.tracks6 = true;
    firewall.ipv6.mangle = table(
        mangle::CHAINS,
        mangle::OUTPUT,
        vec![Rule::new(
            1,
            vec![states.into()],
            Action::ChangeTtl(Ttl::Set(7)),
        )],
    );
    rig.snapshot.firewall = Arc::new(firewall.clone());
    rig.publish();
    let send = |rig: &mut Rig| {
        let mut sent = rig.pool.alloc_from(&frame).expect("a slot");
        (sent.l3, sent.egress) = (14, ETHER2);
        rig.command(Command::OnLink(sent));
        rig.settle();
    };

    send(&mut rig);
    let mut expected = frame.clone();
    expected[14 + 7] = 7;
    assert_eq!(rig.sent(1), [expected]);

    firewall.ipv6.raw = table(
        raw::CHAINS,
        raw::OUTPUT,
        vec![Rule::new(2, vec![], Action::Drop)],
    );
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    send(&mut rig);
    assert!(rig.sent(1).is_empty());
    assert_eq!(rig.drops(), [(DropReason::FirewallRaw, 1)]);
}

#[test]
fn output_is_walked_once_by_what_waits_for_its_neighbour() {
    let mut rig = rig();
    let own = Udp4 {
        destination: 0x0a00_004d,
        ..Udp4::default()
    };
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let rules = vec![Rule::new(1, vec![], Action::Passthrough)];
    firewall.ipv4.raw = table(raw::CHAINS, raw::OUTPUT, rules);
    rig.snapshot.firewall = Arc::new(firewall);
    let rules = vec![
        Rule::new(2, vec![], Action::Passthrough),
        Rule::new(3, to_port(7), Action::Drop),
    ];
    filtered(&mut rig, filter::OUTPUT, rules);
    let send = |rig: &mut Rig, own: &Udp4| {
        let frame = rig.pool.alloc_from(&own.packet()).expect("a slot");
        rig.command(Command::Output(frame));
        rig.settle();
    };

    send(&mut rig, &own);

    let punt = rig.remotes[0].punts.pop().expect("it waits");
    assert!(
        matches!(punt.why, PuntReason::Unresolved(_)),
        "{:?}",
        punt.why
    );
    // The packet is resumed when its neighbour is resolved.
    assert!(punt.frame.walked);
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (1, 1));
    let refused = Udp4 {
        destination_port: 7,
        ..own
    };
    send(&mut rig, &refused);
    assert!(rig.remotes[0].punts.pop().is_err(), "nobody is asked for");
    assert_eq!(rig.drops(), [(DropReason::FirewallFilter, 1)]);
}

#[test]
fn what_the_router_says_of_a_discarded_packet_is_related_and_not_invalid() {
    let mut rig = rig();
    tracked(&mut rig);
    let state = |state| Match::ConnectionState([state].into_iter().collect()).into();
    let rules = vec![
        Rule::new(1, vec![state(State::Related)], Action::Passthrough),
        Rule::new(2, vec![state(State::Invalid)], Action::Drop),
    ];
    filtered(&mut rig, filter::OUTPUT, rules);
    let lost = Udp4::default();
    // The connection is in no table, because its first packet never left.
    let mut error = Udp4 {
        source: 0x0a00_0001,
        destination: lost.source,
        payload: 28,
        ..Udp4::default()
    }
    .packet();
    error[9] = 1;
    error[20..28].copy_from_slice(&[11, 0, 0, 0, 0, 0, 0, 0]);
    error[28..56].copy_from_slice(&lost.packet()[..28]);
    seal(&mut error);
    let mut reset = Udp4 {
        source: lost.destination,
        destination: lost.source,
        payload: 12,
        ..Udp4::default()
    }
    .packet();
    reset[9] = 6;
    reset[24..40].fill(0);
    reset[32] = 0x50;
    for (flags, counts) in [(0x14, (2, 0)), (0x11, (3, 1))] {
        reset[33] = flags;
        seal(&mut reset);
        for packet in [&error, &reset] {
            let frame = rig.pool.alloc_from(packet).expect("a slot");
            rig.command(Command::Output(frame));
            rig.settle();
        }
        assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), counts);
    }
    assert_eq!(rig.connections.totals(), (0, 0));
}

#[test]
fn forward_drops_what_its_rules_say_and_passes_the_rest() {
    let mut rig = rig();
    let port = Udp4::default().destination_port;
    let rules = vec![
        Rule::new(1, to_port(port), Action::Drop),
        Rule::new(2, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let other = Udp4 {
        destination_port: port + 1,
        ..Udp4::default()
    };

    assert_eq!(rig.pass(Udp4::default().frame()), Vec::<Vec<u8>>::new());
    assert_eq!(rig.pass(other.frame()), [forwarded4(&other.packet())]);

    assert_eq!(rig.drops(), [(DropReason::FirewallFilter, 1)]);
    let len = other.packet().len() as u64;
    assert_eq!((hits(&rig, 1), hits(&rig, 2)), ((1, len), (1, len)));
    assert_eq!(rig.traffic(ETHER1).fp_rx.packets, 0);
    assert_eq!(rig.traffic(ETHER2).tx.packets, 1);
}

#[test]
fn forward_knows_both_interfaces_and_input_knows_one() {
    let mut rig = rig();
    let both = vec![
        Match::InInterface(class_of(ETHER1)).into(),
        Match::OutInterface(class_of(ETHER2)).into(),
    ];
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, both, Action::Drop)],
    );

    rig.pass(Udp4::default().frame());

    assert_eq!(rig.drops(), [(DropReason::FirewallFilter, 1)]);
}

#[test]
fn input_guards_this_router_and_forward_does_not() {
    let mut rig = rig();
    let local = Udp4 {
        destination: 0x0a00_0001,
        ..Udp4::default()
    };
    filtered(
        &mut rig,
        filter::INPUT,
        vec![Rule::new(1, Vec::new(), Action::Drop)],
    );

    rig.pass(local.frame());
    let sent = rig.pass(Udp4::default().frame());

    assert_eq!(sent.len(), 1);
    assert_eq!(rig.drops(), [(DropReason::FirewallFilter, 1)]);
    assert_eq!(rig.sent(MIRROR), Vec::<Vec<u8>>::new());
}

#[test]
fn what_a_rule_rejects_is_told_to_control_as_it_arrived() {
    let mut rig = rig();
    let reject = Action::Reject(Reject::Icmp(13));
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, Vec::new(), reject)],
    );

    rig.pass(Udp4::default().frame());

    let punts = rig.punts();
    assert_eq!(
        punts,
        [(
            PuntReason::Rejected(Reject::Icmp(13)),
            Udp4::default().frame()
        )]
    );
    assert_eq!(rig.drops(), [(DropReason::FirewallReject, 1)]);
}

#[test]
fn a_rule_that_logs_tells_control_and_the_packet_goes_on() {
    let mut rig = rig();
    let mut rule = Rule::new(1, Vec::new(), Action::Accept);
    rule.log = Some("seen".into());
    filtered(&mut rig, filter::FORWARD, vec![rule]);

    let sent = rig.pass(Udp4::default().frame());

    assert_eq!(sent.len(), 1);
    let punts = rig.punts();
    let [(PuntReason::RuleEvent(Event::Log(logged)), copy)] = &punts[..] else {
        panic!("{punts:?}");
    };
    assert_eq!((logged.rule, logged.egress), (1, ETHER2));
    assert_eq!(copy[..], Udp4::default().frame()[..copy.len()]);
}

#[test]
fn rules_that_log_are_told_in_their_order() {
    let mut rig = rig();
    let log = |number| {
        let mut rule = Rule::new(number, Vec::new(), Action::Passthrough);
        rule.log = Some("seen".into());
        rule
    };
    filtered(&mut rig, filter::FORWARD, vec![log(2), log(3)]);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, vec![log(1)]);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();

    rig.pass(Udp4::default().frame());

    let rules = rig.punts().into_iter().filter_map(|(why, _)| match why {
        PuntReason::RuleEvent(Event::Log(logged)) => Some(logged.rule),
        _ => None,
    });
    assert_eq!(rules.collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn raw_comes_before_everything() {
    let mut rig = rig();
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, Vec::new(), Action::Passthrough)],
    );
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let source = AddressRange::prefix(Udp4::default().source.into(), 24, 32);
    let rule = Rule::new(2, vec![Match::Source(source).into()], Action::Drop);
    firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, vec![rule]);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();

    rig.pass(Udp4::default().frame());

    assert_eq!(rig.drops(), [(DropReason::FirewallRaw, 1)]);
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (0, 1));
}

#[test]
fn a_lifetime_that_mangle_sets_is_lowered_by_forward_afterwards() {
    let set = |to| Rule::new(3, Vec::new(), Action::ChangeTtl(Ttl::Set(to)));
    let mut rig = rig();
    mangled(&mut rig, mangle::PREROUTING, vec![set(10)]);
    let before = rig.pass(Udp4::default().frame());
    mangled(&mut rig, mangle::POSTROUTING, vec![set(10)]);
    let after = rig.pass(Udp4::default().frame());

    assert_eq!((before[0][14 + 8], after[0][14 + 8]), (9, 10));
    for frame in before.iter().chain(&after) {
        assert_eq!(crate::testing::sum(&frame[14..34]), 0xffff);
    }
}

#[test]
fn a_routing_mark_leads_to_its_table() {
    let mut rig = rig();
    let hole = rig.hop(crate::table::Kind::Blackhole);
    rig.route4_in(7, 0, 0, hole);
    let port = Udp4::default().destination_port;
    let mark = Rule::new(3, to_port(port), Action::MarkRouting(7));
    mangled(&mut rig, mangle::PREROUTING, vec![mark]);
    let other = Udp4 {
        destination_port: port + 1,
        ..Udp4::default()
    };

    rig.pass(Udp4::default().frame());
    let sent = rig.pass(other.frame());

    assert_eq!(rig.drops(), [(DropReason::Blackhole, 1)]);
    assert_eq!(sent.len(), 1);

    let gateway = rig.gateway;
    rig.route4_in(7, 0x0b00_0000, 8, gateway);
    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
}

#[test]
fn what_waited_for_a_marks_gateway_leaves_by_it() {
    let mut rig = rig();
    let waits = rig.hop(crate::table::Kind::Incomplete);
    rig.route4_in(7, 0, 0, waits);
    let mark = Rule::new(3, Vec::new(), Action::MarkRouting(7));
    mangled(&mut rig, mangle::PREROUTING, vec![mark]);

    assert!(rig.pass(Udp4::default().frame()).is_empty());
    let punt = rig.remotes[0].punts.pop().expect("it waits");
    assert_eq!(punt.why, PuntReason::Unresolved(waits));

    // By `ether1`, where the main table says `ether2`.
    let back = Adjacency {
        egress: ETHER1,
        out: OutId::port(0),
        ..gateway()
    };
    rig.writer.set_next_hop(waits, &back);
    rig.command(Command::Resume(punt.frame, waits));
    rig.settle();
    assert_eq!((rig.sent(0).len(), rig.sent(1).len()), (1, 0));
}

#[test]
fn a_routing_rule_asks_for_a_mark_where_the_marks_own_table_has_no_route() {
    let mut rig = rig();
    let port = Udp4::default().destination_port;
    let mark = Rule::new(3, to_port(port), Action::MarkRouting(7));
    mangled(&mut rig, mangle::PREROUTING, vec![mark]);
    rig.snapshot.rules = [RoutingRule {
        source: None,
        destination: None,
        interface: None,
        mark: Some(7),
        action: RuleAction::Drop,
        table: 0,
        min_prefix: None,
    }]
    .into_iter()
    .collect();
    rig.publish();
    let other = Udp4 {
        destination_port: port + 1,
        ..Udp4::default()
    };

    rig.pass(Udp4::default().frame());
    let sent = rig.pass(other.frame());

    assert_eq!(rig.drops(), [(DropReason::Blackhole, 1)]);
    assert_eq!(sent.len(), 1);
}
