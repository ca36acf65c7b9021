//! Tests of snooping and guards: multicast reaches its members only, and server messages are
//! accepted from trusted ports only.

use std::net::IpAddr;
use std::sync::Arc;

use wire::{Protocol, dhcp, ipv4};

use super::rig::{BRIDGE, Switch, frame};
use crate::bridge::{Asking, Bridge, BridgePort, Groups, Guards, SNOOPED, Trust};
use crate::drop::DropReason;
use crate::punt::PuntReason;
use crate::service::Service;
use crate::testing::{RATE, Udp4, ethernet};

const GROUP: [u8; 4] = [239, 1, 1, 1];
const OTHER: [u8; 4] = [239, 1, 1, 2];

/// Returns a packet to a multicast group.
fn to(group: [u8; 4]) -> Vec<u8> {
    let [_, b, c, d] = group;
    let packet = Udp4 {
        to: [1, 0, 0x5e, b & 0x7f, c, d],
        destination: u32::from_be_bytes(group),
        ..Udp4::default()
    };
    packet.frame()
}

/// Returns an IGMP message.
fn igmp(kind: u8, group: [u8; 4]) -> Vec<u8> {
    let [_, b, c, d] = group;
    let packet = Udp4 {
        to: [1, 0, 0x5e, b & 0x7f, c, d],
        destination: u32::from_be_bytes(group),
        protocol: 2,
        source_port: u16::from(kind) << 8,
        ..Udp4::default()
    };
    packet.frame()
}

/// Returns a snooping bridge of four ports, and its groups.
fn snooping() -> (Switch, Arc<Groups>) {
    let mut switch = Switch::new(4);
    let groups = Arc::new(Groups::new(5));
    let its = Arc::clone(&groups);
    switch.change(|bridge| bridge.groups = Some(its));
    switch.serve(Service::new(SNOOPED, [], RATE));
    (switch, groups)
}

/// Adds a querier behind the last port.
fn asked(groups: &Groups) {
    let router = (0, false, Switch::port(3));
    groups.set_asking(Asking::new([(0, false)], [router], []));
}

fn ports(sent: &[(u16, Vec<u8>)]) -> Vec<u16> {
    sent.iter().map(|(port, _)| *port).collect()
}

#[test]
fn multicast_goes_to_those_who_listen_once_somebody_asks() {
    let (mut switch, groups) = snooping();
    groups.set(0, IpAddr::from(GROUP), &[Switch::port(1)]);
    assert_eq!(ports(&switch.pass(0, &to(GROUP))), [1, 2, 3]);

    asked(&groups);

    assert_eq!(ports(&switch.pass(0, &to(GROUP))), [1, 3]);
    assert_eq!(ports(&switch.pass(0, &to(OTHER))), [3]);
    assert_eq!(ports(&switch.pass(3, &to(OTHER))), []);
    assert_eq!(ports(&switch.pass(0, &to([224, 0, 0, 251]))), [1, 2, 3]);
    let own = frame([1, 0, 0x5e, 1, 1, 1], [2, 9, 9, 9, 9, 9], &[0x88, 0xb5]);
    assert_eq!(ports(&switch.pass(0, &own)), [1, 2, 3], "it is not IP");
    // Frames from the router are treated alike.
    switch.send(&to(GROUP));
    assert_eq!(ports(&switch.sent()), [1, 3]);
}

#[test]
fn a_port_without_flooding_gets_what_it_listens_to_alone() {
    let (mut switch, groups) = snooping();
    switch.set_ports(|place, port| port.unknown_multicast_flood = place != 1);
    assert_eq!(ports(&switch.pass(0, &to(GROUP))), [2, 3]);
    groups.set(0, IpAddr::from(GROUP), &[Switch::port(1)]);
    assert_eq!(ports(&switch.pass(0, &to(GROUP))), [1, 2, 3]);
    assert_eq!(ports(&switch.pass(0, &to([224, 0, 0, 251]))), [2, 3]);
}

#[test]
fn reports_go_to_routers_and_control_hears_them() {
    let (mut switch, groups) = snooping();
    asked(&groups);

    let report = igmp(0x16, GROUP);
    assert_eq!(ports(&switch.pass(1, &report)), [3]);
    let heard = switch.rig.punts();
    let is_snooped =
        |why: &PuntReason| matches!(why, PuntReason::Service { id, .. } if id.index() == 9);
    let heard: Vec<_> = heard
        .into_iter()
        .filter(|(why, _)| is_snooped(why))
        .collect();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].1, report);

    let query = igmp(0x11, [224, 0, 0, 1]);
    assert_eq!(ports(&switch.pass(3, &query)), [0, 1, 2]);
    assert_eq!(
        switch
            .rig
            .punts()
            .iter()
            .filter(|(why, _)| is_snooped(why))
            .count(),
        1
    );
    // Without snooping control receives no copy.
    switch.change(|bridge| bridge.groups = None);
    assert_eq!(ports(&switch.pass(1, &report)), [0, 2, 3]);
    assert_eq!(
        switch
            .rig
            .punts()
            .iter()
            .filter(|(why, _)| is_snooped(why))
            .count(),
        0
    );
}

/// Returns a DHCP message of a client (1) or a server (2).
fn message(op: u8) -> Vec<u8> {
    let mut message = vec![0; dhcp::HEADER_LEN];
    message[0] = op;
    message[236..].copy_from_slice(&[99, 130, 83, 99]);
    message.extend([53, 1, op, 255]);
    let (from, to): (u16, u16) = if op == 1 { (68, 67) } else { (67, 68) };
    let len = 8 + message.len() as u16;
    let head = [
        from.to_be_bytes(),
        to.to_be_bytes(),
        len.to_be_bytes(),
        [0, 0],
    ];
    let datagram = [head.as_flattened(), &message].concat();
    let header = ipv4::Repr::new(Protocol::UDP, [10, 0, 0, 1].into(), [255; 4].into());
    let packet = [&header.to_bytes(datagram.len())[..], &datagram].concat();
    ethernet([0xff; 6], 0x0800, &packet)
}

/// Returns a bridge of three ports, the last of them trusted.
fn guarded() -> Switch {
    let mut switch = Switch::new(3);
    switch.set_ports(|place, port| {
        port.trust = Trust {
            dhcp: place == 2,
            dhcp6: place == 2,
            advertisements: place == 2,
            agent: dhcp::agent_information(b"port", b"me").map(Into::into),
        };
    });
    switch.change(|bridge| {
        bridge.guards = Guards {
            dhcp: true,
            dhcp6: true,
            advertisements: true,
        };
    });
    switch
}

#[test]
fn a_rogue_dhcp_server_is_heard_by_nobody() {
    let mut switch = guarded();
    assert_eq!(ports(&switch.pass(0, &message(2))), []);
    assert_eq!(switch.rig.punts(), []);
    assert_eq!(switch.drops(), [(DropReason::BridgeDhcpServer, 1)]);
    // A unicast answer is dropped, too.
    switch.knows([2, 0xa, 0, 0, 0, 1], 1);
    let mut offer = message(2);
    offer[..6].copy_from_slice(&[2, 0xa, 0, 0, 0, 1]);
    assert_eq!(ports(&switch.pass(0, &offer)), []);

    assert_eq!(ports(&switch.pass(2, &offer)), [1]);
    assert_eq!(ports(&switch.pass(2, &message(2))), [0, 1]);
}

#[test]
fn what_a_client_asks_goes_to_trusted_ports_and_says_where_it_is() {
    let mut switch = guarded();
    let sent = switch.pass(0, &message(1));

    assert_eq!(ports(&sent), [2]);
    let option = b"\x52\x0a\x01\x04port\x02\x02me\xff";
    assert!(sent[0].1.ends_with(option), "{:x?}", sent[0].1);
    assert_eq!(switch.drops(), []);
}

#[test]
fn advertisements_come_by_trusted_ports_alone() {
    let mut switch = guarded();
    let mut packet = vec![0x60, 0, 0, 0, 0, 4, 58, 255];
    packet.extend([0xfe; 16]);
    packet.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    packet.extend([134, 0, 0, 0]);
    let told = ethernet([0x33, 0x33, 0, 0, 0, 1], 0x86dd, &packet);

    assert_eq!(ports(&switch.pass(0, &told)), []);
    assert_eq!(switch.drops(), [(DropReason::BridgeAdvertisement, 1)]);
    assert_eq!(ports(&switch.pass(2, &told)), [0, 1]);
}

impl Switch {
    /// Changes the ports of the bridge.
    fn set_ports(&mut self, change: impl Fn(u16, &mut BridgePort)) {
        self.set(|before| {
            let ports = before.ports().iter().cloned().zip(0..);
            let changed = ports.map(|(mut port, place)| {
                change(place, &mut port);
                port
            });
            let mut bridge = Bridge::new(BRIDGE, changed);
            bridge.groups.clone_from(&before.groups);
            bridge
        });
    }
}
