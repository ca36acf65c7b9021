//! Tests of routing: groups of next hops, rules, tables, the reverse path.

use super::firewall::{client, translated};
use super::{rig, udp4};
use crate::drop::DropReason;
use crate::firewall::nat;
use crate::nat::{Action as Nat, Addresses, Side, Target};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::routing_rules::{RoutingRule, RuleAction};
use crate::snapshot::{Prefix, RpFilter, SlowReason};
use crate::table::{Adjacency, Kind};
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, gateway};

#[test]
fn flows_spread_over_the_members_of_a_group_and_stay() {
    let mut rig = rig();
    let second = Adjacency {
        header_len: 14,
        ..gateway()
    };
    let second = rig.add_hop(&second);
    let group = Adjacency::group(&[rig.gateway, second]);
    let group = rig.add_hop(&group);
    rig.route4(0x0e00_0000, 8, group);
    let mut first = 0;
    for destination in 0..400 {
        let frame = udp4(Udp4::default().source, 0x0e00_0000 + destination);
        let (one, two) = (rig.pass(frame.clone()), rig.pass(frame));
        assert_eq!(one, two);
        first += usize::from(one[0][12] == 0x08);
    }
    assert!((140..260).contains(&first), "{first} of 400");
}

fn rule(action: RuleAction, table: u16) -> RoutingRule {
    RoutingRule {
        source: Some(Prefix {
            ipv6: false,
            bits: 0x0a00_0000,
            len: 24,
        }),
        destination: None,
        interface: Some(ETHER1),
        mark: None,
        action,
        table,
        min_prefix: None,
    }
}

fn with_rules(rules: Vec<RoutingRule>) -> Rig {
    let mut rig = rig();
    let local = rig.hop(Kind::Blackhole);
    rig.route4_in(7, 0x0b01_0000, 16, local);
    rig.slow4(&[SlowReason::RoutingRules]);
    rig.snapshot.rules = rules.into_iter().collect();
    rig.publish();
    rig
}

#[test]
fn rules_choose_the_table() {
    let inside = || udp4(Udp4::default().source, 0x0b01_0001);
    let outside = || udp4(Udp4::default().source, 0x0b02_0001);
    let stranger = || udp4(0x0505_0505, 0x0b01_0001);

    let mut rig = with_rules(vec![rule(RuleAction::Lookup, 7)]);
    assert!(rig.pass(inside()).is_empty());
    assert_eq!(rig.drops(), [(DropReason::Blackhole, 1)]);
    assert_eq!(
        (rig.pass(outside()).len(), rig.pass(stranger()).len()),
        (1, 1)
    );

    let mut rig = with_rules(vec![rule(RuleAction::LookupOnly, 7)]);
    assert!(rig.pass(outside()).is_empty());
    assert_eq!(rig.drops(), [(DropReason::NoRoute, 1)]);

    let short = RoutingRule {
        min_prefix: Some(17),
        ..rule(RuleAction::Lookup, 7)
    };
    assert_eq!(with_rules(vec![short]).pass(inside()).len(), 1);

    let mut rig = with_rules(vec![rule(RuleAction::Unreachable, 0)]);
    rig.pass(inside());
    assert_eq!(rig.punts()[0].0, PuntReason::Unreachable);

    let mut rig = with_rules(vec![rule(RuleAction::Drop, 0)]);
    rig.pass(inside());
    assert_eq!(rig.drops(), [(DropReason::Blackhole, 1)]);
}

#[test]
fn no_rule_leads_away_what_is_for_this_router() {
    for action in [RuleAction::Drop, RuleAction::LookupOnly] {
        let everything = RoutingRule {
            source: None,
            ..rule(action, 7)
        };
        let mut rig = with_rules(vec![everything]);

        let local = udp4(Udp4::default().source, 0x0a00_0001);

        rig.pass(local.clone());

        assert_eq!(rig.punts(), [(PuntReason::Local, local)]);
    }
}

#[test]
fn a_route_may_lead_to_another_table_but_not_in_circles() {
    let mut rig = rig();
    let circle = Adjacency {
        kind: Kind::Table,
        egress: frame::InterfaceId(0),
        ..Adjacency::default()
    };
    let circle = rig.add_hop(&circle);
    rig.route4(0x0f00_0000, 8, circle);
    let other = Adjacency {
        kind: Kind::Table,
        egress: frame::InterfaceId(7),
        ..Adjacency::default()
    };
    let other = rig.add_hop(&other);
    rig.route4(0x1000_0000, 8, other);
    let gateway = rig.gateway;
    rig.route4_in(7, 0x1000_0000, 8, gateway);

    assert!(
        rig.pass(udp4(Udp4::default().source, 0x0f00_0001))
            .is_empty()
    );
    assert_eq!(rig.drops(), [(DropReason::NoRoute, 1)]);
    assert_eq!(rig.pass(udp4(Udp4::default().source, 0x1000_0001)).len(), 1);
}

#[test]
fn the_way_back_may_be_strict_or_loose() {
    for (filter, passes) in [(RpFilter::Strict, [1, 0, 0]), (RpFilter::Loose, [1, 1, 0])] {
        let mut rig = rig();
        rig.snapshot.ipv4.rp_filter = filter;
        rig.slow4(&[SlowReason::ReversePathFilter]);
        rig.publish();

        let sources = [0x0a00_0002, 0x0b00_0009, 0x0909_0909];
        let sent = sources.map(|source| rig.pass(udp4(source, 0x0b00_0002)).len());

        assert_eq!(sent, passes, "{filter:?}");
    }
}

/// Returns an IPv4 prefix.
fn prefix(bits: u128, len: u8) -> Option<Prefix> {
    Some(Prefix {
        ipv6: false,
        bits,
        len,
    })
}

/// Returns a router with a network that has no route in table `main`, and one by `ether1` in table
/// 7, which this rule selects.
fn with_way_back(rule: RoutingRule) -> Rig {
    let mut rig = rig();
    client(&mut rig);
    let back = rig.add_hop(&Adjacency {
        egress: ETHER1,
        out: OutId::port(0),
        ..gateway()
    });
    rig.route4_in(7, 0x0909_0000, 16, back);
    rig.snapshot.ipv4.rp_filter = RpFilter::Strict;
    rig.slow4(&[SlowReason::ReversePathFilter, SlowReason::RoutingRules]);
    rig.snapshot.rules = [rule].into_iter().collect();
    rig.publish();
    rig
}

#[test]
fn the_way_back_is_the_one_that_rules_give_the_answer() {
    let answered = RoutingRule {
        source: prefix(0x0b01_0000, 16),
        interface: None,
        ..rule(RuleAction::Lookup, 7)
    };
    let from = |interface| RoutingRule {
        source: None,
        interface: Some(interface),
        ..answered
    };
    for (rule, passes) in [
        (answered, [1, 0]),
        // The answer's ingress interface is the packet's egress interface.
        (from(ETHER2), [1, 1]),
        (from(ETHER1), [0, 0]),
        (
            RoutingRule {
                action: RuleAction::Drop,
                ..answered
            },
            [0, 0],
        ),
    ] {
        let mut rig = with_way_back(rule);

        let sent = [0x0b01_0001, 0x0b02_0001].map(|to| rig.pass(udp4(0x0909_0909, to)).len());

        assert_eq!(sent, passes, "{rule:?}");
        let lost = 2 - passes.iter().sum::<usize>() as u64;
        let lost: Vec<_> = (lost > 0)
            .then_some((DropReason::ReversePath, lost))
            .into_iter()
            .collect();
        assert_eq!(rig.drops(), lost);
        // A source with a reverse path in table `main` needs no rule, unless a rule overrides it.
        let near = udp4(Udp4::default().source, 0x0b02_0001);
        assert_eq!(rig.pass(near).len(), 1, "{rule:?}");
    }
}

#[test]
fn the_answer_is_of_whom_a_packet_was_translated_to() {
    let answered = RoutingRule {
        source: prefix(0x0b01_0000, 16),
        interface: None,
        ..rule(RuleAction::Lookup, 7)
    };
    for (server, passes) in [(0x0b01_0001, 1), (0x0b02_0001, 0)] {
        let mut rig = with_way_back(answered);
        let target = Target {
            side: Side::Destination,
            action: Nat::Translate,
            addresses: Some(Addresses::one(server)),
            ports: None,
            randomise: false,
        };
        translated(&mut rig, nat::DSTNAT, Vec::new(), target);

        let sent = rig.pass(udp4(0x0909_0909, 0x0b02_0009)).len();

        assert_eq!(sent, passes);
    }
}

#[test]
fn a_packet_that_ends_here_waits_for_no_neighbour() {
    let frame = |ttl| {
        let udp = Udp4 {
            destination: 0x0c00_0001,
            ttl,
            ..Udp4::default()
        };
        udp.frame()
    };
    let mut rig = rig();
    let glean = rig.hop(Kind::Glean);
    rig.route4(0x0c00_0000, 8, glean);

    for ttl in [2, 1] {
        assert!(rig.pass(frame(ttl)).is_empty());
    }
    let punts: Vec<_> = rig.punts().into_iter().map(|punt| punt.0).collect();
    assert_eq!(
        punts,
        [PuntReason::Unresolved(glean), PuntReason::TtlExceeded]
    );

    rig.snapshot.ipv4.forward = false;
    rig.publish();
    assert!(rig.pass(frame(2)).is_empty());
    assert!(rig.drops().contains(&(DropReason::ForwardingOff, 1)));
    assert!(rig.punts().is_empty());
}
