//! Tests of switch chips: VLANs by `vlan-mode`, forwarding overrides, mirrors.

use std::sync::Arc;

use super::rig::{OWN, Switch, frame, from_router};
use crate::bridge::{Member, VlanMode, VlanTable};
use crate::drop::DropReason;
use crate::tap::Direction;

const A: [u8; 6] = [2, 0xa, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0xb, 0, 0, 0, 1];
const ALL: [u8; 6] = [0xff; 6];
const PLAIN: [u8; 2] = [0x88, 0xb5];

/// A trunk (port 0) and an access port of VLAN 10 (port 1) and of VLAN 20 (port 2); the router is in VLAN 10 only.
fn switch(mode: VlanMode) -> Switch {
    let mut switch = Switch::new(3);
    let mut vlans = VlanTable::new(3);
    for number in 0..4 {
        let member = if matches!(number, 1 | 2) {
            Member::Untagged
        } else {
            Member::AsTheyCame
        };
        vlans.set(0, number, member);
    }
    for (vid, port, member) in [
        (10, 0, Member::Tagged),
        (10, 1, Member::Untagged),
        (10, 3, Member::Tagged),
        (20, 0, Member::Tagged),
        (20, 2, Member::Untagged),
    ] {
        vlans.set(vid, port, member);
    }
    switch.change(|bridge| {
        bridge.vlans = Some(Arc::new(vlans));
        (bridge.pvid, bridge.vlan_mode) = (0, Some(mode));
        for (number, own) in [0, 10, 20].into_iter().enumerate() {
            let mut port = bridge.ports()[number].clone();
            (port.pvid, port.vlan_mode) = (own, Some(mode));
            bridge.set_port(number, port);
        }
    });
    switch
}

fn tagged(frame: &[u8], vid: u16) -> Vec<u8> {
    let [high, low] = vid.to_be_bytes();
    let mut tagged = frame.to_vec();
    tagged.splice(12..12, [0x81, 0, high, low]);
    tagged
}

fn drops(switch: &Switch) -> Vec<(DropReason, u64)> {
    let mut drops = switch.rig.drops();
    drops.retain(|(reason, _)| *reason == DropReason::SwitchVlan);
    drops
}

#[test]
fn access_ports_of_a_chip_are_kept_in_their_vlans() {
    let mut switch = switch(VlanMode::Secure);
    let question = frame(ALL, A, &PLAIN);
    assert_eq!(switch.pass(1, &question), [(0, tagged(&question, 10))]);
    assert_eq!(switch.pass(2, &question), [(0, tagged(&question, 20))]);
    let trunk = switch.pass(0, &tagged(&question, 20));
    assert_eq!(trunk, [(2, question.clone())]);
    assert_eq!(drops(&switch), []);

    // The access port is no member of VLAN 20. VLAN 30, and no VLAN at all, have no members.
    for (port, vid) in [(1, Some(20)), (0, Some(30)), (0, None)] {
        let frame = vid.map_or(question.clone(), |vid| tagged(&question, vid));
        assert_eq!(switch.pass(port, &frame), [], "{port} {vid:?}");
    }
    assert_eq!(drops(&switch), [(DropReason::SwitchVlan, 3)]);
}

#[test]
fn modes_differ_in_what_they_let_in() {
    let question = frame(ALL, B, &PLAIN);
    for (mode, foreign, unknown) in [
        // Tags are ignored: the frame is flooded, and access ports pop its tag.
        (VlanMode::Disabled, 2, 2),
        (VlanMode::Fallback, 2, 2),
        (VlanMode::Check, 2, 0),
        (VlanMode::Secure, 0, 0),
    ] {
        let mut switch = switch(mode);
        // VLAN 20 is known, but port 1 is no member.
        let out = switch.pass(1, &tagged(&question, 20));
        assert_eq!(out.len(), foreign, "{mode:?}: {out:?}");
        let out = switch.pass(1, &tagged(&question, 30));
        assert_eq!(out.len(), unknown, "{mode:?}: {out:?}");
        let dropped: u64 = drops(&switch).iter().map(|(_, count)| count).sum();
        let lost = [foreign, unknown].map(|sent| u64::from(sent == 0));
        assert_eq!(dropped, lost.iter().sum::<u64>(), "{mode:?}");
    }
}

#[test]
fn a_port_talks_to_those_of_its_override_alone() {
    let mut switch = Switch::new(3);
    switch.change(|bridge| {
        let mut port = bridge.ports()[1].clone();
        (port.only_to, port.kept_down) = (Some([0].into_iter().collect()), true);
        bridge.set_port(1, port);
        bridge.only_to = Some([0, 2].into_iter().collect());
    });
    let question = frame(ALL, A, &PLAIN);
    assert_eq!(switch.pass(1, &question), [(0, question.clone())]);
    assert_eq!(switch.pass(0, &question).len(), 2);
    // The port does not reach the router, nor the router the port.
    assert_eq!(switch.pass(1, &frame(OWN, A, &PLAIN)), []);
    let apart = (DropReason::BridgeApart, 1);
    assert!(switch.drops().contains(&apart), "{:?}", switch.drops());
    switch.knows(A, 1);
    switch.send(&from_router(A));
    assert_eq!(switch.sent(), []);
    switch.knows(B, 2);
    switch.send(&from_router(B));
    assert_eq!(switch.sent(), [(2, from_router(B))]);
}

#[test]
fn a_mirror_gets_what_a_port_receives_and_transmits() {
    let mut switch = Switch::new(3);
    switch.change(|bridge| {
        // A flooded frame would reach the mirror's target anyway.
        let mut port = bridge.ports()[2].clone();
        (port.broadcast_flood, port.unknown_unicast_flood) = (false, false);
        bridge.set_port(2, port);
    });
    let (source, target) = (Switch::port(1), Switch::port(2));
    let both = [Direction::Received, Direction::Transmitted].map(|at| (source, at, target));
    switch.rig.interfaces.set_mirrors(&both);
    let question = frame(ALL, A, &PLAIN);
    let answer = frame(A, B, &PLAIN);
    assert_eq!(
        switch.pass(1, &question),
        [(0, question.clone()), (2, question.clone())]
    );
    assert_eq!(
        switch.pass(0, &answer),
        [(1, answer.clone()), (2, answer.clone())]
    );
    // Only received frames are mirrored now.
    switch.rig.interfaces.set_mirrors(&both[..1]);
    assert_eq!(switch.pass(0, &answer), [(1, answer.clone())]);
    switch.rig.interfaces.set_mirrors(&[]);
    assert_eq!(switch.pass(1, &question), [(0, question)]);
}
