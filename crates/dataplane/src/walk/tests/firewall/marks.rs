//! Tests of packet marks after the walk: frames carry the marks of rules on every path.

use std::sync::Arc;

use super::{answer, chains, client, filtered, hits, to_port, tracked};
use crate::firewall::{Firewall, filter, mangle};
use crate::flow;
use crate::punt::PuntReason;
use crate::rings::Command;
use crate::rule::{Action, AddressRange, Compare, Match, Rule, State};
use crate::table::{Adjacency, Kind};
use crate::testing::{ETHER1, Rig, Udp4, gateway};
use crate::walk::tests::{gateway4, rig};

fn udp(destination_port: u16) -> Udp4 {
    Udp4 {
        destination_port,
        ..Udp4::default()
    }
}

/// Sets the packet mark of received frames.
fn arrive_with(rig: &Rig, mark: u32) {
    rig.ports[0].line().mark = mark;
}

/// Returns the marks of the frames that `ether2` has sent since the last call.
fn marks(rig: &mut Rig) -> Vec<u32> {
    rig.sent(1);
    let known = core::mem::take(&mut rig.ports[1].line().known);
    known.into_iter().map(|(mark, ..)| mark).collect()
}

/// Returns a router with rules that mark packets by port in all chains of `mangle`.
fn marking(whole: bool, told: bool) -> Rig {
    let mut rig = rig();
    client(&mut rig);
    let mark = |id, port, mark| Rule::new(id, to_port(port), Action::MarkPacket(mark));
    let lives = || Match::Ttl(Compare::Greater(0)).into();
    let asked = [to_port(57), vec![lives()]].concat();
    let mut early = vec![
        mark(1, 53, 1),
        mark(2, 54, 2),
        mark(3, 56, 3),
        Rule::new(4, asked, Action::MarkPacket(4)),
    ];
    // The rule keeps packets off the short path.
    let elsewhere = Match::Destination(AddressRange::prefix(0x7f00_0000, 8, 32));
    let alone = Rule::new(5, vec![elsewhere.into()], Action::Route(0x0a01_0002));
    early.extend(whole.then_some(alone));
    let ending = Rule {
        passthrough: false,
        ..mark(7, 55, 6)
    };
    let forward = vec![mark(6, 54, 5), ending, mark(8, 55, 7)];
    let mut late = vec![
        mark(9, 53, 8),
        Rule::new(10, to_port(53), Action::Passthrough),
    ];
    let read = Match::PacketMark(6).into();
    late.extend(told.then(|| Rule::new(11, vec![read], Action::Passthrough)));
    let filter = [to_port(56), vec![lives()]].concat();
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(12, filter, Action::Passthrough)],
    );
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = chains(
        mangle::CHAINS,
        vec![
            (mangle::PREROUTING, early),
            (mangle::FORWARD, forward),
            (mangle::POSTROUTING, late),
        ],
    );
    (firewall.tracks4, firewall.keeps_marks) = (true, true);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    rig
}

#[test]
fn packets_leave_with_the_mark_of_the_last_rule_whichever_way_they_take() {
    for (whole, told) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut rig = marking(whole, told);
        let ports = || (0..36).map(|number| 52 + number % 6);
        let expected: Vec<u32> = ports()
            .map(|port| [0, 8, 5, 6, 3, 4][usize::from(port) - 52])
            .collect();
        for _ in 0..3 {
            ports().for_each(|port| rig.arrive(udp(port).frame()));
            rig.settle();
            assert_eq!(marks(&mut rig), expected, "whole {whole}, told {told}");
        }
        assert_eq!(hits(&rig, 12).0, 18);
    }
}

#[test]
fn a_packet_keeps_the_mark_that_it_came_with_where_no_rule_gives_it_another() {
    for whole in [false, true] {
        let mut rig = marking(whole, true);
        arrive_with(&rig, 6);

        for port in [52, 53, 52] {
            rig.arrive(udp(port).frame());
        }
        rig.settle();

        assert_eq!(marks(&mut rig), [6, 8, 6]);
        assert_eq!(hits(&rig, 11).0, 2, "rules see it");
    }
    let mut rig = rig();
    arrive_with(&rig, 6);
    rig.pass(udp(53).frame());
    assert_eq!(marks(&mut rig), [6], "without a firewall");
}

#[test]
fn a_fasttracked_packet_has_no_mark_but_the_one_that_it_came_with() {
    let mut rig = rig();
    client(&mut rig);
    tracked(&mut rig);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, vec![established.into()], Action::Fasttrack)],
    );
    let first = rig.pass(udp(53).frame());
    rig.arrive_unfinished(1, answer(&first[0]), frame::Offload::FINISHED);
    rig.settle();
    rig.pass(udp(53).frame());
    marks(&mut rig);

    rig.pass(udp(53).frame());
    assert_eq!(marks(&mut rig), [0]);
    let fast = rig.counters[0].ipv4_fasttrack.get().packets;
    assert!(fast > 0);
    arrive_with(&rig, 6);
    rig.pass(udp(53).frame());
    assert_eq!(marks(&mut rig), [6]);
}

#[test]
fn a_packet_that_waits_for_its_neighbour_keeps_its_mark() {
    let mut rig = marking(false, false);
    let hop = rig.add_hop(&Adjacency {
        kind: Kind::Incomplete,
        ..gateway()
    });
    rig.route4(0x0b00_0000, 8, hop);
    rig.arrive(udp(54).frame());
    rig.settle();
    let punt = rig.remotes[0].punts.pop().expect("it waits");
    assert!(matches!(punt.why, PuntReason::Unresolved(_)));

    let mut resolved = gateway();
    resolved.header[12..14].copy_from_slice(&[0x08, 0x00]);
    rig.writer.set_next_hop(hop, &resolved);
    rig.command(Command::Resume(punt.frame, hop));
    rig.settle();

    assert_eq!(marks(&mut rig), [5]);
}

#[test]
fn a_frame_that_is_handed_over_keeps_its_mark_and_knows_its_flow() {
    let mut rig = Rig::with_workers(3);
    gateway4(&mut rig);
    arrive_with(&rig, 7);
    let packets: Vec<_> = (53..60).map(udp).collect();

    for packet in &packets {
        rig.arrive(packet.frame());
    }
    rig.settle();

    let mut known = rig.ports[1].line().known.clone();
    let mut expected: Vec<_> = packets
        .iter()
        .map(|packet| {
            (
                7,
                flow::symmetric(&packet.packet()).expect("IP"),
                frame::InterfaceId::NONE,
            )
        })
        .collect();
    known.sort();
    expected.sort();
    assert_eq!(known, expected);
}

#[test]
fn a_frame_of_a_vlan_knows_the_interface_below() {
    let mut rig = rig();
    rig.use_vlan10();
    rig.interface(ETHER1).vlans = true;
    rig.publish();
    let mut tagged = udp(53).frame();
    tagged.splice(12..12, [0x81, 0x00, 0, 10]);

    rig.arrive(tagged);
    rig.arrive(udp(53).frame());
    rig.settle();

    let below: Vec<_> = rig.ports[1]
        .line()
        .known
        .iter()
        .map(|known| known.2)
        .collect();
    assert_eq!(below, [ETHER1, frame::InterfaceId::NONE]);
}
