//! Tests of bridges on VLAN interfaces, and of nested bridges.

use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::rig::{BRIDGE, Switch, frame, put_line};
use crate::bridge::{Bridge, BridgePort};
use crate::drop::DropReason;
use crate::interface::{Above, Details, Interface, Tag};
use crate::out::OutId;
use crate::testing::{ETHER1, VLAN10};
use crate::trace::{End, trace_packet};
use crate::walk::Exit;

const A: [u8; 6] = [2, 0xa, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0xb, 0, 0, 0, 1];
const ALL: [u8; 6] = [0xff; 6];
const PLAIN: [u8; 2] = [0x88, 0xb5];
const OTHER: InterfaceId = InterfaceId(60);

fn tagged(frame: &[u8], vid: u8) -> Vec<u8> {
    let mut tagged = frame.to_vec();
    tagged.splice(12..12, [0x81, 0, 0, vid]);
    tagged
}

fn port(interface: InterfaceId) -> BridgePort {
    BridgePort {
        interface,
        ..BridgePort::default()
    }
}

/// Creates a bridge of these ports.
fn make(switch: &mut Switch, id: InterfaceId, ports: &[InterfaceId]) {
    for port in ports {
        let line = switch.rig.interfaces.get(*port).expect("it is there");
        let above = Above::Bridge;
        switch.rig.interfaces.set_above(*port, id);
        switch
            .rig
            .interfaces
            .set(*port, &Interface { above, ..line });
    }
    let bridge = Bridge::new(id, ports.iter().map(|id| port(*id)));
    switch
        .rig
        .interfaces
        .bridges()
        .set(id, Some(Arc::new(bridge)));
}

/// Creates a VLAN interface on a bridge.
fn put_vlan(switch: &mut Switch, on: InterfaceId, id: InterfaceId, vid: u8) {
    let below = switch.rig.interfaces.get(on).expect("it is there");
    put_line(
        &switch.rig,
        id,
        Interface { under: on, ..below },
        &format!("vlan{vid}"),
    );
    let tag = Tag {
        ethertype: 0x8100,
        vlan_id: vid.into(),
    };
    let details = Details {
        name: format!("vlan{vid}").into(),
        tags: vec![tag],
        ..Details::default()
    };
    switch.rig.interfaces.set_details(id, Arc::new(details));
    switch.rig.interfaces.set_vlan(on, tag, Some(id));
}

/// Returns a switch whose `bridge1` has port 0 and VLAN 10 of `ether1`.
fn on_a_vlan() -> Switch {
    let mut switch = Switch::new(2);
    switch.rig.use_vlan10();
    switch.rig.interface(VLAN10).above = Above::Bridge;
    switch.rig.publish();
    make(&mut switch, BRIDGE, &[Switch::port(0), VLAN10]);
    switch
}

#[test]
fn a_vlan_is_a_port_whose_frames_come_and_leave_with_its_tag() {
    let mut switch = on_a_vlan();
    let question = frame(ALL, A, &PLAIN);
    switch.rig.arrive(tagged(&question, 10));
    switch.rig.arrive(tagged(&question, 10));
    switch.rig.settle();
    assert_eq!(switch.sent(), [(0, question.clone()), (0, question)]);
    let answer = frame(A, B, &PLAIN);
    switch.pass(0, &answer);
    assert_eq!(switch.rig.sent(0), [tagged(&answer, 10)]);
    let counts = [ETHER1, VLAN10, BRIDGE].map(|id| {
        let traffic = switch.rig.traffic(id);
        (traffic.rx.packets, traffic.tx.packets)
    });
    assert_eq!(counts, [(2, 1), (2, 1), (2, 0)]);
}

#[test]
fn frames_of_other_vlans_and_of_none_are_the_interface_s_own() {
    let mut switch = on_a_vlan();
    let udp = crate::testing::Udp4::default();
    switch.rig.arrive(udp.frame());
    switch.rig.arrive(tagged(&frame(B, A, &PLAIN), 10));
    switch.rig.arrive(tagged(&udp.frame(), 99));
    switch.rig.arrive(udp.frame());
    switch.rig.settle();
    let sent: Vec<_> = switch.sent().into_iter().map(|(port, _)| port).collect();
    assert_eq!(sent, [0, super::rig::WIRE, super::rig::WIRE]);
    assert_eq!(switch.rig.drops(), [(DropReason::VlanUnknown, 1)]);
    // The VLAN interface leaves the bridge, and receives its frames itself.
    let line = switch.rig.interfaces.get(VLAN10).expect("it is there");
    let above = Above::Nothing;
    switch
        .rig
        .interfaces
        .set(VLAN10, &Interface { above, ..line });
    assert!(
        switch
            .rig
            .interfaces
            .get(ETHER1)
            .is_some_and(|line| !line.slaves)
    );
    switch.rig.arrive(tagged(&udp.frame(), 10));
    switch.rig.settle();
    assert_eq!(switch.sent().len(), 1);
}

/// Returns a switch whose `bridge2` has port 2 and VLAN 30 of `bridge1`, which has ports 0 and 1.
fn two() -> Switch {
    let mut switch = Switch::new(3);
    make(&mut switch, BRIDGE, &[Switch::port(0), Switch::port(1)]);
    let line = Interface {
        out: OutId::bridge(OTHER),
        under: OTHER,
        mac: Mac([2, 0, 0, 0, 0xb, 0xc]),
        ..switch.rig.interfaces.get(BRIDGE).expect("it is there")
    };
    put_line(&switch.rig, OTHER, line, "bridge2");
    let vlan = InterfaceId(61);
    put_vlan(&mut switch, BRIDGE, vlan, 30);
    make(&mut switch, OTHER, &[Switch::port(2), vlan]);
    switch
}

#[test]
fn a_bridge_is_reached_through_a_vlan_of_another() {
    let mut switch = two();
    let question = frame(ALL, A, &PLAIN);
    let out = switch.pass(0, &tagged(&question, 30));
    assert_eq!(out, [(1, tagged(&question, 30)), (2, question)]);
    let answer = frame(A, B, &PLAIN);
    assert_eq!(switch.pass(2, &answer), [(0, tagged(&answer, 30))]);
    let next = frame(B, A, &PLAIN);
    // `bridge1` does not learn B from frames that come down from the router.
    let out = switch.pass(0, &tagged(&next, 30));
    assert_eq!(out, [(1, tagged(&next, 30))]);
    assert_eq!(switch.drops(), []);
}

#[test]
fn bridges_in_a_circle_end_frames_by_their_depth() {
    let mut switch = two();
    let back = InterfaceId(62);
    put_vlan(&mut switch, OTHER, back, 40);
    make(
        &mut switch,
        BRIDGE,
        &[Switch::port(0), Switch::port(1), back],
    );
    let out = switch.pass(0, &frame(ALL, A, &PLAIN));
    assert!((2..200).contains(&out.len()), "{}", out.len());
    let drops = switch.drops();
    assert!(drops.contains(&(DropReason::BridgeDepth, 1)), "{drops:?}");
}

#[test]
fn a_trace_tells_what_the_bridge_decides() {
    let mut switch = two();
    let said = |switch: &Switch, bytes: &[u8], port| {
        let walked = trace_packet(switch.rig.tables(), bytes, port);
        let lines = walked.lines.into_iter().map(|line| line.decision);
        (lines.collect::<Vec<_>>(), walked.end)
    };
    let (lines, end) = said(&switch, &frame(B, A, &PLAIN), Switch::port(0));
    assert_eq!(
        lines,
        ["comes into bridge1 by port0", "copies leave by port1"]
    );
    assert_eq!(end, End::Exit(Exit::Flood));
    switch.pass(1, &frame(ALL, B, &PLAIN));
    let (lines, end) = said(&switch, &frame(B, A, &PLAIN), Switch::port(0));
    assert_eq!(lines[1..], ["leaves by port1"]);
    assert_eq!(end, End::Sent(Switch::port(1)));
    let (lines, end) = said(&switch, &frame(A, B, &PLAIN), Switch::port(2));
    assert_eq!(
        lines,
        ["comes into bridge2 by port2", "copies leave by vlan30"]
    );
    assert_eq!(end, End::Exit(Exit::Flood));
    let (lines, _) = said(&switch, &switch.to_gateway(), Switch::port(0));
    assert_eq!(lines[1..3], ["goes up to the router", "arrived on bridge1"]);
    let (_, end) = said(&switch, &frame(A, ALL, &PLAIN), Switch::port(0));
    assert_eq!(end, End::Exit(Exit::Drop(DropReason::BridgeSource)));
    let question = tagged(&frame(ALL, A, &PLAIN), 30);
    let (lines, _) = said(&switch, &question, Switch::port(0));
    let through = [
        "comes into bridge2 by vlan30",
        "copies leave by port2",
        "goes up to the router",
    ];
    assert_eq!(lines[3..6], through);
    switch.lead_through_the_bridge();
    let wire = crate::testing::Udp4::default().frame();
    let (lines, end) = said(&switch, &wire, ETHER1);
    assert_eq!(
        lines.last().map(String::as_str),
        Some("copies leave by port0, port1")
    );
    assert_eq!(end, End::Sent(BRIDGE));
}
