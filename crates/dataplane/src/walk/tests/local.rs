//! Tests of packets for the router, and of packets that it sends.

use core::net::Ipv6Addr;

use frame::Offload;

use super::{rig, udp4};
use crate::drop::DropReason;
use crate::interface::Own6;
use crate::punt::PuntReason;
use crate::rings::Command;
use crate::snapshot::Role;
use crate::table::NextHopId;
use crate::testing::{ARP, ETHER1, ETHER2, ICMP, MIRROR, Udp4, Udp6, VLAN10, arp, gateway};

#[test]
fn a_flood_of_unresolved_packets_leaves_room_for_arp() {
    let mut rig = rig();
    for _ in 0..2000 {
        rig.arrive(udp4(Udp4::default().source, 0x0c04_0001));
        if rig.ports[0].line().arriving.len() == 100 {
            rig.settle();
        }
    }
    rig.arrive(arp());
    rig.settle();

    let punts = rig.punts();
    assert_eq!(punts.last().map(|(why, _)| *why), Some(ARP));
    assert_eq!(punts.len(), 768 + 1);
}

#[test]
fn what_is_for_the_router_goes_to_control_or_to_the_mirror() {
    let mut rig = rig();
    let udp = Udp4 {
        destination: 0x0a00_0001,
        ..Udp4::default()
    };
    let icmp = Udp4 { protocol: 1, ..udp };

    rig.pass(udp.frame());
    assert_eq!(rig.punts(), [(PuntReason::Local, udp.frame())]);

    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.publish();
    rig.pass(udp.frame());
    rig.pass(icmp.frame());

    assert_eq!(rig.sent(MIRROR), [udp.packet()]);
    assert_eq!(rig.punts(), [(ICMP, icmp.frame())]);
}

#[test]
fn groups_and_broadcasts_of_the_link_are_taken() {
    let mut rig = rig();
    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.details(ETHER1).groups4 = vec![0xef01_0101];
    rig.publish();
    let dhcp = Udp4 {
        to: [0xff; 6],
        source: 0,
        destination: u32::MAX,
        ..Udp4::default()
    };
    let destinations = [0xe000_0005, 0xef01_0101, 0x0a00_00ff];
    let groups = destinations.map(|destination| Udp4 {
        to: [0xff; 6],
        destination,
        ..Udp4::default()
    });

    rig.arrive(dhcp.frame());
    for group in groups {
        rig.arrive(group.frame());
    }
    let solicited = Udp6 {
        destination: 0xff02 << 112 | 0x1_ff00_0001,
        next_header: 58,
        source: 0,
        ..Udp6::default()
    };
    let mut solicited = solicited.frame();
    solicited[0] = 0x33;
    rig.arrive(solicited.clone());
    rig.settle();

    let expected: Vec<_> = [dhcp].iter().chain(&groups).map(Udp4::packet).collect();
    assert_eq!(rig.sent(MIRROR), expected);
    assert_eq!(rig.punts(), [(ICMP, solicited)]);
    assert_eq!(rig.drops(), []);
}

#[test]
fn a_resolved_packet_is_walked_again_and_its_own_packets_are_routed() {
    let mut rig = rig();
    let frame = udp4(Udp4::default().source, 0x0c04_0001);
    rig.arrive(frame);
    rig.settle();
    let punt = rig.remotes[0].punts.pop().expect("an unresolved packet");
    let PuntReason::Unresolved(hop) = punt.why else {
        panic!("{:?}", punt.why);
    };
    let mut resolved = gateway();
    resolved.header[12..14].copy_from_slice(&[0x08, 0x00]);
    rig.writer.set_next_hop(hop, &resolved);

    rig.command(Command::Resume(punt.frame, NextHopId::NO_ROUTE));
    let own = Udp4::default().packet();
    let frame = rig.pool.alloc_from(&own).expect("a slot");
    rig.command(Command::Output(frame));
    rig.settle();

    let sent = rig.sent(1);
    assert_eq!(sent[0][14 + 8], 63);
    assert_eq!(sent[1][14..], own[..]);
}

#[test]
fn own_packets_to_groups_leave_by_the_interface_that_is_named() {
    let mut rig = rig();
    let own = Udp4 {
        destination: 0xe000_0005,
        ..Udp4::default()
    };
    let mut frame = rig.pool.alloc_from(&own.packet()).expect("a slot");
    frame.egress = VLAN10;
    rig.command(Command::Output(frame));
    rig.settle();

    let sent = rig.sent(0);
    let header = [1, 0, 0x5e, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 10, 8, 0];
    assert_eq!(sent[0][..18], header);
    assert_eq!(sent[0][18..], own.packet());
}

#[test]
fn what_the_mirror_sends_is_routed_with_its_own_lifetime() {
    let mut rig = rig();
    let own = Udp4::default().packet();
    rig.arrive_unfinished(MIRROR, own.clone(), Offload::FINISHED);
    rig.settle();

    assert_eq!(rig.sent(1)[0][14..], own[..]);
}

#[test]
fn the_shared_mirror_names_the_interface_of_link_local_peers() {
    let mut rig = rig();
    let (own, peer): (u128, u128) = (0xfe80 << 112 | 1, 0xfe80 << 112 | 9);
    rig.snapshot.ports[usize::from(MIRROR)].role = Role::Shared;
    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.interface(ETHER2).ethernet = false;
    for id in [ETHER1, ETHER2] {
        rig.details(id).addresses6 = vec![Own6 {
            address: Ipv6Addr::from_bits(own),
            len: 64,
        }];
    }
    rig.publish();
    let asked = Udp6 {
        source: peer,
        destination: own,
        ..Udp6::default()
    };
    let addresses = |packet: &[u8]| packet[8..40].to_vec();

    rig.pass(asked.frame());
    let there = Udp6 {
        source: peer | 1 << 64,
        ..asked
    };
    let sent = rig.sent(MIRROR);
    assert_eq!(sent.len(), 1);
    assert_eq!(addresses(&sent[0]), addresses(&there.packet()));
    // On the wire such an address would name the peer of another interface.
    rig.pass(there.frame());
    assert!(rig.sent(MIRROR).is_empty());
    assert_eq!(rig.drops(), [(DropReason::Ipv6Zone, 1)]);

    // This address exists on the other interface as well, which has no MAC addresses.
    let answer = Udp6 {
        source: own,
        destination: peer | 2 << 64,
        ..Udp6::default()
    };
    rig.arrive_unfinished(MIRROR, answer.packet(), Offload::FINISHED);
    rig.settle();
    let plain = Udp6 {
        destination: peer,
        ..answer
    };
    let sent = rig.sent(1);
    assert_eq!(sent.len(), 1);
    assert_eq!(addresses(&sent[0]), addresses(&plain.packet()));
}
