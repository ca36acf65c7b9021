//! Tests of tunnels between two addresses: bytes that RouterOS was observed to send, and packets
//! that do not match.

use core::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::{Between, Carries, KeepaliveCounter};
use crate::encap::Encapsulation;
use crate::interface::{Details, Interface};
use crate::out::OutId;
use crate::testing::{ETHER2, MAC, Rig, Udp4, ethernet, seal};
use crate::{Command, DropReason};

const ID: InterfaceId = InterfaceId(20);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
/// EoIP header of RouterOS for a frame of 42 bytes in tunnel 100.
const EOIP_42: [u8; 8] = [0x20, 0x01, 0x64, 0x00, 0x00, 0x2a, 0x64, 0x00];
const ALIVE: [u8; 8] = [0x20, 0x01, 0x64, 0x00, 0x00, 0x00, 0x64, 0x00];

fn tunnel(carries: Carries) -> Between {
    Between {
        id: ID,
        carries,
        local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        remote: FAR.into(),
        ttl: 255,
        dscp: None,
        inherits_dont_fragment: false,
        fast: true,
        clamp: None,
        heard: KeepaliveCounter::default(),
    }
}

fn rig(tunnel: &Between) -> Rig {
    let mut rig = Rig::new();
    let ethernet = matches!(tunnel.carries, Carries::Frames(_));
    let interface = Interface {
        running: true,
        ethernet,
        ipv4: true,
        ipv6: true,
        mac: Mac([2, 0, 0, 0, 0, 20]),
        mtu: 1458,
        out: OutId::tunnel(ID),
        under: ID,
        ..Interface::default()
    };
    let details = Details {
        name: "tunnel".into(),
        tunnel: Some(tunnel.clone().into()),
        ..Details::default()
    };
    rig.interfaces.set(ID, &interface);
    for ends in Encapsulation::from(tunnel.clone()).ends() {
        rig.interfaces.set_tunnel(ends, Some(ID));
    }
    rig.interfaces.set_details(ID, Arc::new(details));
    // The source is the address of the egress interface.
    let own = crate::interface::Own4 {
        address: HERE,
        network: (HERE, HERE),
    };
    rig.details(ETHER2).addresses4 = vec![own];
    rig.publish();
    rig
}

/// Returns a packet from the remote end with these bytes behind its header.
fn from_far(protocol: u8, behind: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0, 0, 255, protocol, 0, 0];
    packet[2..4].copy_from_slice(&(20 + behind.len() as u16).to_be_bytes());
    packet.extend(FAR.octets());
    packet.extend(HERE.octets());
    seal(&mut packet);
    packet.extend(behind);
    ethernet(MAC, 0x0800, &packet)
}

fn arp() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([0xfe, 0x7d, 0x41, 0x89, 0xdf, 0x2a, 0x08, 0x06]);
    frame.resize(42, 1);
    frame
}

#[test]
fn a_frame_in_eoip_is_the_bytes_that_routeros_sends() {
    let tunnel = tunnel(Carries::Frames(100));
    let mut rig = rig(&tunnel);
    let mut frame = rig.pool.alloc_from(&arp()).expect("room");
    (frame.egress, frame.l3) = (ID, 14);
    rig.command(Command::Transmit(frame));
    rig.settle();
    let sent = rig.sent(1);
    let [one] = &sent[..] else {
        panic!("{} frames left: {:?}", sent.len(), rig.drops());
    };
    let packet = &one[14..];
    assert_eq!((packet[0], packet[1]), (0x45, 0));
    // No don't-fragment flag; TTL 255.
    assert_eq!(
        (&packet[6..8], packet[8], packet[9]),
        (&[0, 0][..], 255, 47)
    );
    assert_eq!(packet[12..20], [HERE.octets(), FAR.octets()].concat());
    assert_eq!(packet[20..28], EOIP_42);
    assert_eq!(packet[28..], arp());
    assert_eq!(crate::testing::sum(&packet[..20]), 0xffff);
}

#[test]
fn a_packet_without_a_frame_says_that_the_other_end_is_there() {
    let tunnel = tunnel(Carries::Frames(100));
    let mut rig = rig(&tunnel);
    assert!(rig.pass(from_far(47, &ALIVE)).is_empty());
    assert_eq!(tunnel.heard.count(), 1);
    // A keepalive with another id belongs to no tunnel.
    let mut other = ALIVE;
    other[6] = 0x65;
    rig.pass(from_far(47, &other));
    assert_eq!(tunnel.heard.count(), 1);
}

#[test]
fn lengths_that_lie_are_counted_and_bytes_beyond_the_length_are_left() {
    let tunnel = tunnel(Carries::Frames(100));
    let mut rig = rig(&tunnel);
    for len in [1u16, 13, 43, u16::MAX] {
        let mut header = EOIP_42;
        header[4..6].copy_from_slice(&len.to_be_bytes());
        rig.pass(from_far(47, &[&header[..], &arp()].concat()));
    }
    assert!(rig.drops().contains(&(DropReason::TunnelMalformed, 4)));
    rig.pass(from_far(47, &[&EOIP_42[..], &arp(), &[0; 9]].concat()));
    let arrived = rig.traffic(ID).rx;
    assert_eq!((arrived.packets, arrived.bytes), (1, 42));
}

#[test]
fn packets_come_out_of_gre_and_go_on() {
    let tunnel = tunnel(Carries::Gre);
    let mut rig = rig(&tunnel);
    let inner = Udp4 {
        destination: 0x0b01_0005,
        ..Udp4::default()
    };
    let behind = [&[0, 0, 0x08, 0x00][..], &inner.packet()].concat();
    let sent = rig.pass(from_far(47, &behind));
    assert_eq!(sent.len(), 1, "{:?}", rig.drops());
    // GRE with a key or another version matches none of these tunnels.
    for flags in [[0x20, 0], [0, 1]] {
        let behind = [&flags[..], &[0x08, 0x00], &inner.packet()].concat();
        assert!(rig.pass(from_far(47, &behind)).is_empty());
    }
}

#[test]
fn who_asks_by_gre_is_sent_the_answer_that_came_with_it() {
    let tunnel = tunnel(Carries::Gre);
    let mut rig = rig(&tunnel);
    let mut answer = vec![0x45, 0, 0, 24, 0, 0, 0, 0, 255, 47, 0, 0];
    answer.extend(HERE.octets());
    answer.extend(FAR.octets());
    seal(&mut answer);
    answer.extend([0; 4]);
    let asked = from_far(47, &[&[0, 0, 0x08, 0x00][..], &answer].concat());
    let sent = rig.pass(asked);
    let [one] = &sent[..] else {
        panic!("{} frames left: {:?}", sent.len(), rig.drops());
    };
    assert_eq!(one[14..], answer);
    // The answer of the remote end is counted.
    rig.pass(from_far(47, &[0; 4]));
    assert_eq!(tunnel.heard.count(), 1);
}

/// Returns a bridged frame with these tags and an IPv4 packet that must not be fragmented.
fn unfragmentable(tags: &[u8], len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(tags);
    frame.extend([0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0]);
    frame.resize(len, 0);
    frame
}

#[test]
fn a_bridged_frame_says_whether_the_packet_around_it_may_be_fragmented() {
    let tunnel = Between {
        inherits_dont_fragment: true,
        ..tunnel(Carries::Frames(100))
    };
    let mut rig = rig(&tunnel);
    // A spanning tree frame has 0x42 behind its length, like an IPv4 header.
    let mut tree = vec![
        1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 38, 0x42, 0x42, 3,
    ];
    tree.resize(60, 0xff);
    for (frame, forbids) in [
        (unfragmentable(&[], 100), true),
        (unfragmentable(&[0x81, 0, 0, 5], 100), true),
        (
            unfragmentable(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], 100),
            true,
        ),
        (tree, false),
        (arp(), false),
    ] {
        let mut frame = rig.pool.alloc_from(&frame).expect("room");
        // `l3` of a bridged frame is not set.
        (frame.egress, frame.l3) = (ID, 0);
        rig.command(Command::Transmit(frame));
        rig.settle();
        let sent = rig.sent(1);
        let [one] = &sent[..] else {
            panic!("{} frames left: {:?}", sent.len(), rig.drops());
        };
        assert_eq!(one[14 + 6] & 0x40 != 0, forbids, "{one:02x?}");
    }
    // The outer packet exceeds the MTU and must not be fragmented.
    let long = unfragmentable(&[], 1514);
    let mut frame = rig.pool.alloc_from(&long).expect("room");
    (frame.egress, frame.l3) = (ID, 0);
    rig.command(Command::Transmit(frame));
    rig.settle();
    assert!(rig.sent(1).is_empty());
    let drops = rig.drops();
    assert!(
        drops
            .iter()
            .any(|(reason, _)| *reason == DropReason::TooBig),
        "{drops:?}"
    );
}
