//! Tests of VLAN filtering.

use std::sync::Arc;

use super::rig::{BRIDGE, Switch, frame};
use crate::bridge::{Bridge, BridgePort, FrameTypes, Member, VlanTable};
use crate::drop::DropReason;
use crate::punt::PuntReason;
use wire::Mac;

const A: [u8; 6] = [2, 0xa, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0xb, 0, 0, 0, 1];
const ALL: [u8; 6] = [0xff; 6];
const PLAIN: [u8; 2] = [0x88, 0xb5];

/// Returns a bridge with VLAN 10 untagged on ports 0 and 1, VLANs 10 and 20 tagged on port 2, and
/// VLAN 20 tagged on the bridge itself.
fn switch(set: impl Fn(usize, BridgePort) -> BridgePort) -> Switch {
    let mut switch = Switch::new(3);
    let mut vlans = VlanTable::new(3);
    for (vid, port, member) in [
        (10, 0, Member::Untagged),
        (10, 1, Member::Untagged),
        (10, 2, Member::Tagged),
        (20, 2, Member::Tagged),
        (20, 3, Member::Tagged),
    ] {
        vlans.set(vid, port, member);
    }
    switch.set(|bridge| {
        let ports = bridge.ports().iter().cloned().enumerate();
        let ports = ports.map(|(number, port)| {
            let pvid = if number < 2 { 10 } else { 1 };
            set(number, BridgePort { pvid, ..port })
        });
        let mut made = Bridge::new(BRIDGE, ports);
        made.vlans = Some(Arc::new(vlans));
        made
    });
    switch
}

fn as_they_are(_: usize, port: BridgePort) -> BridgePort {
    port
}

fn tagged(frame: &[u8], vid: u16) -> Vec<u8> {
    let [high, low] = vid.to_be_bytes();
    let mut tagged = frame.to_vec();
    tagged.splice(12..12, [0x81, 0, high, low]);
    tagged
}

#[test]
fn tags_come_and_go_as_the_membership_of_the_egress_port_asks() {
    let mut switch = switch(as_they_are);
    let question = frame(ALL, A, &PLAIN);
    let out = switch.pass(0, &question);
    assert_eq!(out, [(1, question.clone()), (2, tagged(&question, 10))]);
    let answer = frame(A, B, &PLAIN);
    assert_eq!(switch.pass(2, &tagged(&answer, 10)), [(0, answer)]);
    let next = frame(B, A, &PLAIN);
    assert_eq!(switch.pass(0, &next), [(2, tagged(&next, 10))]);
    // The router is no member of VLAN 10.
    assert_eq!(switch.rig.traffic(BRIDGE).rx.packets, 0);
    assert_eq!(switch.drops(), []);
}

#[test]
fn a_priority_alone_gets_the_vlan_of_the_port_and_keeps_the_priority() {
    let mut switch = switch(as_they_are);
    let plain = frame(ALL, A, &PLAIN);
    let out = switch.pass(0, &tagged(&plain, 5 << 13));
    assert_eq!(out, [(1, plain.clone()), (2, tagged(&plain, 5 << 13 | 10))]);
}

#[test]
fn the_address_of_a_port_is_learned_in_no_vlan_and_control_is_told_of_it() {
    let mut switch = switch(as_they_are);
    let own = [2, 0, 0, 0, 0xc, 1];
    switch.change(|bridge| bridge.set_addresses([Mac(own)]));
    let looped = frame(ALL, own, &PLAIN);

    for _ in 0..20 {
        assert_eq!(switch.pass(0, &looped).len(), 2, "it is bridged on");
    }

    let told: Vec<_> = switch.rig.punts();
    let told = told.iter().filter(|(why, _)| *why == PuntReason::OwnSource);
    let sources: Vec<_> = told.map(|(_, bytes)| bytes[6..12].to_vec()).collect();
    assert_eq!(sources, vec![own.to_vec(); 10], "ten in five seconds");
    let hosts = switch.rig.interfaces.bridges().hosts();
    assert_eq!(hosts.learned(BRIDGE), 0);
}

#[test]
fn stations_are_told_apart_by_their_vlans() {
    let mut switch = switch(as_they_are);
    switch.pass(2, &tagged(&frame(ALL, A, &PLAIN), 20));
    let to = frame(A, B, &PLAIN);
    let flooded = [(1, to.clone()), (2, tagged(&to, 10))];
    assert_eq!(switch.pass(0, &to), flooded, "A is known in VLAN 20 alone");
}

#[test]
fn the_router_is_a_member_as_ports_are() {
    let mut switch = switch(as_they_are);
    let question = tagged(&frame(ALL, A, &PLAIN), 20);
    assert_eq!(switch.pass(2, &question), []);
    assert_eq!(switch.rig.traffic(BRIDGE).rx.packets, 1);
    assert_eq!(switch.rig.traffic(BRIDGE).rx.bytes, 64, "with its tag");
    let own = frame(super::rig::OWN, A, &PLAIN);
    assert_eq!(switch.pass(0, &own), []);
    assert_eq!(switch.drops(), [(DropReason::BridgeEgressVlan, 1)]);
    // From the router: VLAN 20 is known, VLAN 30 has no members.
    let answer = tagged(&frame(A, super::rig::OWN, &PLAIN), 20);
    switch.send(&answer);
    assert_eq!(switch.sent(), [(2, answer)]);
    switch.send(&tagged(&frame(A, super::rig::OWN, &PLAIN), 30));
    let expected = [
        (DropReason::BridgeIngressVlan, 1),
        (DropReason::BridgeEgressVlan, 1),
    ];
    assert_eq!(switch.drops(), expected);
}

#[test]
fn ports_admit_what_they_are_to() {
    let types = |number, port| BridgePort {
        frame_types: match number {
            0 => FrameTypes::UntaggedAndPriority,
            2 => FrameTypes::Tagged,
            _ => FrameTypes::All,
        },
        ..port
    };
    let mut switch = switch(types);
    let plain = frame(ALL, A, &PLAIN);
    assert_eq!(switch.pass(0, &tagged(&plain, 10)), []);
    assert_eq!(switch.pass(2, &plain), []);
    assert_eq!(switch.pass(2, &tagged(&plain, 7 << 13)), []);
    assert_eq!(switch.drops(), [(DropReason::BridgeFrameTypes, 3)]);
    assert_eq!(switch.pass(1, &tagged(&plain, 20)), []);
    assert_eq!(switch.drops()[1], (DropReason::BridgeIngressVlan, 1));
    assert_eq!(switch.pass(0, &plain).len(), 2);
}

#[test]
fn without_ingress_filtering_a_frame_comes_in_and_leaves_by_members() {
    let mut switch = switch(|_, port| BridgePort {
        ingress_filtering: false,
        ..port
    });
    let question = tagged(&frame(ALL, A, &PLAIN), 20);
    assert_eq!(switch.pass(1, &question), [(2, question)]);
}

#[test]
fn with_tag_stacking_a_tag_is_payload() {
    let mut switch = switch(|_, port| BridgePort {
        tag_stacking: true,
        ..port
    });
    let inner = tagged(&frame(ALL, A, &PLAIN), 99);
    let out = switch.pass(0, &inner);
    assert_eq!(out, [(1, inner.clone()), (2, tagged(&inner, 10))]);
}

#[test]
fn a_vlan_follows_its_spanning_tree() {
    let mut switch = switch(|number, port| BridgePort {
        forwarding: if number == 1 { !(1 << 3) } else { u32::MAX },
        ..port
    });
    let question = frame(ALL, A, &PLAIN);
    assert_eq!(switch.pass(0, &question).len(), 2);
    switch.change(|bridge| {
        let vlans = bridge.vlans.as_mut().expect("it filters");
        Arc::make_mut(vlans).set_instance(10, 3);
    });
    assert_eq!(switch.pass(0, &question), [(2, tagged(&question, 10))]);
}
