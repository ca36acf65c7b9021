//! Tests of taps.

use core::net::Ipv4Addr;

use frame::{Class, InterfaceId};

use super::{forwarded4, rig};
use crate::firewall::filter;
use crate::interface::Tag;
use crate::rule::{Action, Rule, Sniff};
use crate::snapshot::SlowReason;
use crate::tap::{Direction, TapOrigin, Tapped};
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, VLAN10};
use crate::walk::Stage;
use crate::walk::bypass::{WalkReason, keep_from_fasttrack, keep_from_shortcuts};

const IN: Direction = Direction::Received;
const OUT: Direction = Direction::Transmitted;

/// Returns the copies since the last call: interface, direction and bytes.
fn copies(rig: &mut Rig) -> Vec<(InterfaceId, Direction, Vec<u8>)> {
    let mut copies = Vec::new();
    while let Ok(Tapped { frame, by, .. }) = rig.remotes[0].taps.pop() {
        let TapOrigin::Interface {
            id,
            direction,
            stage,
        } = by
        else {
            panic!("no rule copies: {by:?}");
        };
        let at = match direction {
            Direction::Received => Stage::Ingress,
            Direction::Transmitted => Stage::Egress,
        };
        assert_eq!(stage, at);
        copies.push((id, direction, frame.bytes().to_vec()));
        rig.pool.free(frame);
    }
    copies
}

#[test]
fn a_tapped_interface_shows_what_it_receives_and_transmits() {
    for slow in [&[][..], &[SlowReason::NotAllowed]] {
        let mut rig = rig();
        rig.slow4(slow);
        rig.publish();
        let udp = Udp4::default();
        rig.pass(udp.frame());
        assert_eq!(copies(&mut rig), []);

        rig.interfaces.set_tap(ETHER1, true);
        rig.pass(udp.frame());
        assert_eq!(copies(&mut rig), [(ETHER1, IN, udp.frame())]);
        rig.interfaces.set_tap(ETHER2, true);
        rig.interfaces.set_tap(ETHER1, false);
        let left = rig.pass(udp.frame());
        assert_eq!(left, [forwarded4(&udp.packet())]);
        assert_eq!(copies(&mut rig), [(ETHER2, OUT, left[0].clone())]);

        rig.interfaces.set_tap(ETHER2, false);
        rig.pass(udp.frame());
        assert_eq!(copies(&mut rig), []);
        assert_eq!(rig.counters[0].taps.get(), 2);
    }
}

#[test]
fn a_frame_that_is_dropped_was_seen_and_one_of_a_vlan_at_both_interfaces() {
    let mut rig = rig();
    rig.use_vlan10();
    rig.interfaces.set_tap(ETHER1, true);
    rig.interfaces.set_tap(VLAN10, true);
    let foreign = Udp4 {
        to: [2, 0, 0, 0, 9, 9],
        ..Udp4::default()
    };
    let mut tagged = Udp4::default().frame();
    let Tag { ethertype, vlan_id } = Tag {
        ethertype: 0x8100,
        vlan_id: 10,
    };
    tagged.splice(
        12..12,
        [ethertype.to_be_bytes(), vlan_id.to_be_bytes()].concat(),
    );

    rig.pass(foreign.frame());
    rig.pass(tagged.clone());

    let expected = [
        (ETHER1, IN, foreign.frame()),
        (ETHER1, IN, tagged),
        (VLAN10, IN, Udp4::default().frame()),
    ];
    assert_eq!(copies(&mut rig), expected);
}

#[test]
fn copies_are_cut_and_bounded_and_what_finds_no_room_is_counted() {
    let mut rig = rig();
    rig.interfaces.set_tap(ETHER1, true);
    rig.interfaces.set_snap(40);
    rig.arrive(Udp4::default().frame());
    rig.settle();
    let tapped = rig.remotes[0].taps.pop().expect("a copy");
    assert_eq!(tapped.len, Udp4::default().frame().len());
    assert_eq!(tapped.frame.bytes(), &Udp4::default().frame()[..40]);
    rig.pool.free(tapped.frame);

    for _ in 0..2000 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();

    assert_eq!(rig.sent(1).len(), 2001, "forwarding goes on");
    let (taken, lost) = (
        rig.counters[0].taps.get() - 1,
        rig.counters[0].taps_lost.get(),
    );
    assert_eq!(taken + lost, 2000);
    assert_eq!(rig.workers[0].pool().held(Class::Small).0 as u64, taken);
    assert_eq!(copies(&mut rig).len() as u64, taken);
    assert_eq!(rig.workers[0].pool().held(Class::Small).0, 0);
    assert_eq!(rig.drops(), []);
}

#[test]
fn a_rule_that_sends_copies_away_takes_the_same_ring() {
    let mut rig = rig();
    let how = Sniff {
        target: Ipv4Addr::new(10, 0, 0, 9).to_bits().into(),
        ipv6: false,
        port: 37_008,
        id: None,
    };
    let rules = vec![Rule::new(1, Vec::new(), Action::Sniff(how))];
    super::firewall::filtered(&mut rig, filter::FORWARD, rules);

    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);

    let tapped = rig.remotes[0].taps.pop().expect("a copy");
    assert_eq!(tapped.by, TapOrigin::Rule(how));
    assert_eq!(tapped.frame.bytes(), Udp4::default().frame());
    rig.pool.free(tapped.frame);
    assert_eq!(rig.punts(), []);
}

#[test]
fn ports_learn_nothing_about_flows_that_somebody_looks_at() {
    for tapped in [ETHER1, ETHER2] {
        let mut rig = rig();
        for (port, device) in [(0, 31), (1, 32)] {
            rig.ports[port].line().device = Some(device);
        }
        let reasons = |rig: &Rig| {
            let interfaces = [ETHER1, ETHER2];
            let reasons = keep_from_shortcuts(&rig.snapshot, &rig.interfaces, false, &interfaces);
            reasons.collect::<Vec<_>>()
        };
        rig.interfaces.set_tap(tapped, true);
        rig.pass(Udp4::default().frame());
        assert_eq!(rig.ports[0].line().learned, []);
        assert_eq!(reasons(&rig), [WalkReason::Tapped]);

        rig.interfaces.set_tap(tapped, false);
        rig.pass(Udp4::default().frame());
        assert_eq!(rig.ports[0].line().learned.len(), 1);
        assert_eq!(reasons(&rig), []);
    }
}

#[test]
fn rules_and_settings_name_why_packets_take_the_walk() {
    let mut rig = rig();
    let rules = vec![Rule::new(1, Vec::new(), Action::MarkConnection(1))];
    super::firewall::filtered(&mut rig, filter::FORWARD, rules);
    rig.snapshot.ipv4.allow_fast_path = false;

    let reasons =
        |ipv6| keep_from_shortcuts(&rig.snapshot, &rig.interfaces, ipv6, &[ETHER1]).collect();
    let (shortcuts, shortcuts6): (Vec<_>, Vec<_>) = (reasons(false), reasons(true));
    let fasttrack: Vec<_> = keep_from_fasttrack(&rig.snapshot, false).collect();

    assert_eq!(shortcuts, [WalkReason::RulesFollow]);
    assert_eq!(fasttrack, [WalkReason::NotAllowed]);
    assert_eq!(shortcuts6, []);
    assert_eq!(keep_from_fasttrack(&rig.snapshot, true).next(), None);
}
