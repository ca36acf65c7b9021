//! Tests of bridges in routers of one or several workers.

mod chip;
mod layers;
mod model;
pub(super) mod rig;
mod rules;
mod snoop;
mod vlans;
mod workers;

use frame::Offload;

use self::rig::{BRIDGE, OWN, Switch, frame, from_router};
use super::{Bridge, BridgePort};
use crate::drop::DropReason;
use crate::punt::PuntReason;
use crate::testing::{ARP, arp};
use wire::Mac;

const A: [u8; 6] = [2, 0xa, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0xb, 0, 0, 0, 1];
const ALL: [u8; 6] = [0xff; 6];

#[test]
fn a_frame_floods_until_its_station_was_heard_then_takes_one_port() {
    let mut switch = Switch::new(3);
    let question = frame(B, A, &[0x08, 0]);
    assert_eq!(
        switch.pass(0, &question),
        [(1, question.clone()), (2, question)]
    );
    let answer = frame(A, B, &[0x08, 0]);
    assert_eq!(switch.pass(2, &answer), [(0, answer)]);
    let next = frame(B, A, &[0x08, 0]);
    assert_eq!(switch.pass(0, &next), [(2, next)]);
    assert_eq!(switch.rig.drops(), []);
    let fast = &switch.rig.counters[0];
    assert_eq!(fast.bridge_fast_path.get().packets, 4);
}

#[test]
fn what_is_for_a_station_behind_the_same_port_stays_there() {
    let mut switch = Switch::new(2);
    switch.pass(0, &frame(ALL, A, &[0x08, 0]));
    assert_eq!(switch.pass(0, &frame(A, B, &[0x08, 0])), []);
    assert_eq!(switch.drops(), [(DropReason::BridgeSamePort, 1)]);
}

#[test]
fn a_station_that_moves_is_found_at_its_new_port() {
    let mut switch = Switch::new(3);
    switch.pass(0, &frame(ALL, A, &[0x08, 0]));
    switch.pass(1, &frame(ALL, A, &[0x08, 0]));
    let to = frame(A, B, &[0x08, 0]);
    assert_eq!(switch.pass(2, &to), [(1, to)]);
}

#[test]
fn what_is_for_all_leaves_by_all_ports_and_is_heard_by_the_router() {
    let mut switch = Switch::new(3);
    let question = arp();
    assert_eq!(
        switch.pass(1, &question),
        [(0, question.clone()), (2, question)]
    );
    let heard: Vec<_> = switch.rig.punts().into_iter().map(|(why, _)| why).collect();
    assert_eq!(heard, [ARP]);
    assert_eq!(switch.rig.traffic(BRIDGE).rx.packets, 1);
}

#[test]
fn the_router_sends_to_a_known_station_by_its_port_and_floods_else() {
    let mut switch = Switch::new(3);
    let to = from_router(A);
    switch.send(&to);
    assert_eq!(
        switch.sent(),
        [(0, to.clone()), (1, to.clone()), (2, to.clone())]
    );
    switch.pass(1, &frame(ALL, A, &[0x08, 0]));
    switch.rig.punts();
    switch.send(&to);
    assert_eq!(switch.sent(), [(1, to)]);
    let port = switch.rig.traffic(Switch::port(1));
    assert_eq!((port.tx.packets, port.rx.packets), (2, 1));
}

#[test]
fn packets_for_the_router_are_routed_and_leave_by_a_bridge_as_a_vector() {
    let mut switch = Switch::new(2);
    let packet = switch.to_gateway();
    let out = switch.pass(0, &packet);
    assert_eq!(out.len(), 1, "{:?}", switch.rig.drops());
    let (port, forwarded) = &out[0];
    assert_eq!(*port, rig::WIRE);
    assert_eq!(forwarded.len(), packet.len());
    // The opposite direction: the gateway is behind the bridge.
    switch.lead_through_the_bridge();
    switch.pass(
        1,
        &frame(
            ALL,
            crate::testing::GATEWAY[..6].try_into().expect("six"),
            &[8, 0],
        ),
    );
    switch.rig.punts();
    for _ in 0..40 {
        switch.arrive_on_wire();
    }
    switch.rig.settle();
    let out = switch.sent();
    assert_eq!(out.len(), 40, "{:?}", switch.rig.drops());
    assert!(out.iter().all(|(port, _)| *port == 1));
}

#[test]
fn control_is_told_of_frames_with_an_address_of_the_bridge_as_their_source() {
    let mut switch = Switch::new(3);
    let port = [2, 0, 0, 0, 0xc, 1];
    switch.change(|bridge| bridge.set_addresses([Mac(port)]));
    for own in [OWN, port] {
        let looped = frame(B, own, &[0x08, 0]);
        assert_eq!(switch.pass(0, &looped).len(), 2, "it is bridged on");
        let punts = switch.rig.punts();
        let [(PuntReason::OwnSource, copy)] = &punts[..] else {
            panic!("nothing was rule_events of {own:?}");
        };
        assert_eq!(copy[..], looped[..12]);
    }
    assert_eq!(switch.rig.interfaces.bridges().hosts().learned(BRIDGE), 0);
    assert_eq!(switch.rig.drops(), []);
}

#[test]
fn a_bridge_that_is_not_there_takes_nothing() {
    let mut switch = Switch::new(2);
    switch.rig.interfaces.bridges().set(BRIDGE, None);
    assert_eq!(switch.pass(0, &frame(B, A, &[8, 0])), []);
    switch.send(&from_router(A));
    assert_eq!(switch.sent(), []);
    let expected = [(DropReason::InterfaceDown, 1), (DropReason::EgressDown, 1)];
    assert_eq!(switch.rig.drops(), expected);
}

#[test]
fn an_unfinished_frame_leaves_finished() {
    let mut switch = Switch::new(2);
    let mut packet = crate::testing::Udp4 {
        payload: 100,
        ..Default::default()
    }
    .frame();
    packet[..6].copy_from_slice(&B);
    let offload = Offload {
        needs_checksum: true,
        checksum_start: 34,
        checksum_offset: 6,
        ..Offload::FINISHED
    };
    let mut expected = packet.clone();
    frame::finish_checksum(&mut expected, &offload).expect("it has a place");
    switch.arrive_unfinished(0, packet, offload);
    switch.rig.settle();
    assert_eq!(switch.sent(), [(1, expected)]);
}

#[test]
fn a_frame_that_is_too_long_for_its_port_is_dropped() {
    let mut switch = Switch::new(2);
    let fits = [&frame(B, A, &[8, 0])[..], &[0; 1504 - 46]].concat();
    assert_eq!(switch.pass(0, &fits), [(1, fits.clone())]);
    assert_eq!(switch.pass(0, &[&fits[..], &[0]].concat()), []);
    assert_eq!(switch.rig.drops(), [(DropReason::BridgeTooBig, 1)]);
}

#[test]
fn ports_obey_their_settings() {
    let apart = |port: BridgePort| BridgePort {
        horizon: Some(7),
        ..port
    };
    let isolated = |port: BridgePort| BridgePort {
        isolated: true,
        ..port
    };
    let blocked = |port: BridgePort| BridgePort {
        forwarding: 0,
        learning: 0,
        ..port
    };
    let quiet = |port: BridgePort| BridgePort {
        unknown_unicast_flood: false,
        broadcast_flood: false,
        unknown_multicast_flood: false,
        ..port
    };
    let only_2 = |port: BridgePort| BridgePort {
        only_to: Some([2].into_iter().collect()),
        ..port
    };
    let as_is = |port: BridgePort| port;
    type Set = fn(BridgePort) -> BridgePort;
    let cases: [([Set; 3], &[u16], &[DropReason]); 6] = [
        ([apart, apart, as_is], &[2], &[DropReason::BridgeApart]),
        (
            [isolated, isolated, as_is],
            &[2],
            &[DropReason::BridgeApart],
        ),
        (
            [as_is, blocked, as_is],
            &[2],
            &[DropReason::BridgePortState],
        ),
        ([as_is, quiet, as_is], &[2], &[]),
        ([only_2, as_is, as_is], &[2], &[DropReason::BridgeApart]),
        (
            [blocked, as_is, as_is],
            &[],
            &[DropReason::BridgePortState; 3],
        ),
    ];
    for (case, (set, floods_to, then)) in cases.into_iter().enumerate() {
        let mut switch = Switch::new(3);
        switch.set(|bridge| {
            let ports = bridge.ports().iter().cloned().zip(set);
            Bridge::new(BRIDGE, ports.map(|(port, set)| set(port)))
        });
        for to in [ALL, B] {
            let question = frame(to, A, &[0x08, 0]);
            let out: Vec<_> = switch
                .pass(0, &question)
                .iter()
                .map(|(port, _)| *port)
                .collect();
            assert_eq!(out, floods_to, "case {case} to {to:?}");
        }
        switch.knows(B, 1);
        let sent = switch.pass(0, &frame(B, A, &[0x08, 0]));
        let expected = then.first().map(|reason| (*reason, then.len() as u64));
        assert_eq!(switch.drops().first().copied(), expected, "case {case}");
        assert_eq!(sent.is_empty(), !then.is_empty(), "case {case}");
    }
}

#[test]
fn what_bridges_keep_for_themselves_is_heard_by_a_service_of_the_port_or_ends() {
    let bpdu = [
        &[1, 0x80, 0xc2, 0, 0, 0][..],
        &A,
        &[0, 38, 0x42, 0x42, 3],
        &[0; 43],
    ]
    .concat();
    for forwarding in [0, u32::MAX] {
        let mut switch = Switch::new(2);
        switch.set(|bridge| {
            let ports = bridge.ports().iter().cloned();
            Bridge::new(
                BRIDGE,
                ports.map(|port| BridgePort {
                    forwarding,
                    learning: forwarding,
                    ..port
                }),
            )
        });
        assert_eq!(switch.pass(0, &bpdu), []);
        assert_eq!(switch.drops(), [(DropReason::BridgeReserved, 1)]);
        let id = switch.hear_llc(0x42);
        assert_eq!(switch.pass(0, &bpdu), []);
        let heard = switch.rig.punts();
        let expected = PuntReason::Service {
            id,
            meets_rules: false,
        };
        assert_eq!(heard, [(expected, bpdu.clone())]);
        assert_eq!(switch.drops(), [(DropReason::BridgeReserved, 1)]);
    }
}

#[test]
fn reserved_addresses_are_forwarded_where_that_is_said_but_for_flow_control() {
    let mut switch = Switch::new(2);
    switch.change(|bridge| bridge.forward_reserved = true);
    let to = |last| frame([1, 0x80, 0xc2, 0, 0, last], A, &[0x88, 0xcc]);
    assert_eq!(switch.pass(0, &to(0xe)), [(1, to(0xe))]);
    assert_eq!(switch.pass(0, &to(1)), []);
    assert_eq!(switch.drops(), [(DropReason::BridgeReserved, 1)]);
}

#[test]
fn a_group_sends_nothing_and_what_no_port_takes_is_dropped() {
    let mut switch = Switch::new(1);
    assert_eq!(switch.pass(0, &frame(B, ALL, &[8, 0])), []);
    assert_eq!(switch.pass(0, &frame(B, [0; 6], &[8, 0])), []);
    assert_eq!(switch.pass(0, &frame(B, A, &[8, 0])), []);
    let expected = [
        (DropReason::BridgeSource, 2),
        (DropReason::BridgeNowhere, 1),
    ];
    assert_eq!(switch.drops(), expected);
}

#[test]
fn fast_forward_looks_nothing_up_and_leaves_the_router_what_is_its_own() {
    let mut switch = Switch::new(2);
    switch.change(|bridge| bridge.fast_forward = true);
    let there = frame(B, A, &[8, 0]);
    assert_eq!(switch.pass(0, &there), [(1, there.clone())]);
    assert_eq!(switch.pass(1, &there), [(0, there)]);
    assert_eq!(switch.rig.interfaces.bridges().hosts().learned(BRIDGE), 0);
    let packet = switch.to_gateway();
    assert_eq!(switch.pass(0, &packet)[0].0, rig::WIRE);
    let forwarded = &switch.rig.counters[0].bridge_fast_forward;
    assert_eq!(forwarded.get().packets, 2);
}
