use core::net::Ipv4Addr;
use std::sync::Arc;

use frame::InterfaceId;

use super::Encapsulation;
use super::between::{Between, Carries, KeepaliveCounter};
use crate::firewall::Firewall;
use crate::interface::{Details, Interface};
use crate::out::OutId;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::testing::{ETHER1, ETHER2, GATEWAY, MAC, Rig, Udp4, Udp6, ethernet};
use crate::trace::{End, trace_packet};
use crate::{DropReason, PuntReason};

/// This router's address, the local end of all tunnels.
const HERE: u32 = 0x0a00_0001;
/// The remote ends, outermost last; only the last is behind the gateway.
const FAR: [u32; 3] = [0x1e00_0001, 0x1f00_0001, 0x0b00_0009];
/// A destination behind the innermost tunnel.
const INSIDE: u32 = 0x1400_0000;

fn id(number: usize) -> InterfaceId {
    InterfaceId(10 + number as u32)
}

/// Adds a tunnel interface with this remote end.
pub(crate) fn add_tunnel(rig: &mut Rig, id: InterfaceId, remote: u32) -> NextHopId {
    let between = Between {
        id,
        carries: Carries::Packets,
        local: Ipv4Addr::from_bits(HERE).into(),
        remote: Ipv4Addr::from_bits(remote).into(),
        ttl: 64,
        dscp: None,
        inherits_dont_fragment: false,
        fast: true,
        clamp: None,
        heard: KeepaliveCounter::default(),
    };
    add(rig, id, between)
}

/// Adds an interface with this encapsulation.
pub(super) fn add(rig: &mut Rig, id: InterfaceId, tunnel: impl Into<Encapsulation>) -> NextHopId {
    let tunnel = tunnel.into();
    let interface = Interface {
        running: true,
        ethernet: true,
        ipv4: true,
        ipv6: true,
        mtu: 1480,
        out: OutId::tunnel(id),
        under: id,
        ..Interface::default()
    };
    for ends in tunnel.ends() {
        rig.interfaces.set_tunnel(ends, Some(id));
    }
    let details = Details {
        name: format!("tunnel{}", id.0).into(),
        tunnel: Some(tunnel),
        ..Details::default()
    };
    rig.interfaces.set(id, &interface);
    rig.interfaces.set_details(id, Arc::new(details));
    rig.add_hop(&Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        mtu: 1480,
        egress: id,
        out: OutId::tunnel(id),
        ..Adjacency::default()
    })
}

/// Returns a router with three tunnels, each sent through the next.
fn nested() -> Rig {
    let mut rig = Rig::new();
    let hops: Vec<_> = { FAR.iter().enumerate() }
        .map(|(number, remote)| add_tunnel(&mut rig, id(number), *remote))
        .collect();
    rig.route4(INSIDE, 8, hops[0]);
    rig.route4(FAR[0], 32, hops[1]);
    rig.route4(FAR[1], 32, hops[2]);
    rig
}

fn towards(destination: u32) -> Udp4 {
    Udp4 {
        destination,
        ..Udp4::default()
    }
}

/// Returns a packet with an outer header.
pub(crate) fn wrapped((source, destination): (u32, u32), ttl: u8, inner: &[u8]) -> Vec<u8> {
    let protocol = if inner[0] >> 4 == 6 { 41 } else { 4 };
    let outer = Udp4 {
        source,
        destination,
        protocol,
        ttl,
        ..Udp4::default()
    };
    let mut packet = outer.packet()[..20].to_vec();
    packet.extend(inner);
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    crate::testing::seal(&mut packet);
    packet
}

/// Returns the nested packets of a frame, outermost first.
fn peel(mut packet: &[u8]) -> Vec<&[u8]> {
    let mut all = vec![packet];
    while packet[0] >> 4 == 4 && matches!(packet[9], 4 | 41) {
        packet = &packet[20..];
        all.push(packet);
    }
    all
}

#[test]
fn a_packet_leaves_through_three_tunnels() {
    let mut rig = nested();

    let sent = rig.pass(towards(INSIDE | 7).frame());

    let [frame] = &sent[..] else {
        panic!("{} frames, {:?}", sent.len(), rig.drops());
    };
    assert_eq!(frame[..12], GATEWAY);
    let packets = peel(&frame[14..]);
    let ends = |packet: &[u8]| -> (u32, u32) {
        let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four"));
        (word(12), word(16))
    };
    let outer: Vec<_> = packets[..3].iter().map(|packet| ends(packet)).collect();
    assert_eq!(outer, [(HERE, FAR[2]), (HERE, FAR[1]), (HERE, FAR[0])]);
    for packet in &packets {
        assert_eq!(wire::checksum::sum(&packet[..20]), 0xffff, "intact");
        let total = u16::from_be_bytes([packet[2], packet[3]]);
        assert_eq!(usize::from(total), packet.len());
    }
    let inner = Udp4 {
        ttl: Udp4::default().ttl - 1,
        ..towards(INSIDE | 7)
    };
    assert_eq!(packets[3], inner.packet());
    assert_eq!(rig.traffic(id(0)).tx.packets, 1);
    assert_eq!(rig.traffic(id(2)).tx.packets, 1);
    assert_eq!(rig.traffic(ETHER2).tx.packets, 1);
    assert_eq!(rig.drops(), []);
}

#[test]
fn a_packet_comes_out_of_three_tunnels_and_is_forwarded() {
    for ipv6 in [false, true] {
        let mut rig = nested();
        let inner = match ipv6 {
            false => towards(0x0b00_0002).packet(),
            true => Udp6::default().packet(),
        };
        let mut packet = inner.clone();
        for remote in FAR {
            packet = wrapped((remote, HERE), 9, &packet);
        }

        let sent = rig.pass(ethernet(MAC, 0x0800, &packet));

        assert_eq!(sent.len(), 1, "{:?}", rig.drops());
        let ttl = if ipv6 { 7 } else { 8 };
        assert_eq!(sent[0][14 + ttl], inner[ttl] - 1);
        assert_eq!(sent[0].len(), 14 + inner.len());
        for number in 0..3 {
            assert_eq!(rig.traffic(id(number)).rx.packets, 1);
        }
    }
}

#[test]
fn tunnels_that_lead_to_each_other_end_under_a_name() {
    let mut rig = Rig::new();
    let hops =
        [(0, FAR[0]), (1, FAR[1])].map(|(number, remote)| add_tunnel(&mut rig, id(number), remote));
    rig.route4(INSIDE, 8, hops[0]);
    rig.route4(FAR[0], 32, hops[1]);
    rig.route4(FAR[1], 32, hops[0]);

    for _ in 0..300 {
        rig.arrive(towards(INSIDE | 7).frame());
    }
    rig.settle();

    assert_eq!(rig.sent(1), Vec::<Vec<u8>>::new());
    assert_eq!(rig.drops(), [(DropReason::TunnelDepth, 300)]);
}

#[test]
fn what_does_not_fit_leaves_in_fragments_and_what_is_damaged_by_name() {
    let mut rig = nested();
    rig.route4(INSIDE, 8, rig.gateway);
    let hop = add_tunnel(&mut rig, id(3), FAR[2]);
    rig.route4(INSIDE, 8, hop);
    let long = Udp4 {
        payload: 1480 - 28,
        ..towards(INSIDE | 7)
    };
    assert_eq!(rig.pass(long.frame()).len(), 1, "20 bytes more fit");
    let mut narrow = crate::testing::gateway();
    narrow.mtu = 1400;
    rig.writer.set_next_hop(rig.gateway, &narrow);
    assert_eq!(rig.pass(long.frame()).len(), 2);
    assert_eq!(rig.drops(), []);

    let cut = wrapped((FAR[2], HERE), 9, &[0x45; 1]);
    let stranger = wrapped((FAR[2] + 5, HERE), 9, &towards(0x0b00_0002).packet());
    let mut odd = wrapped((FAR[2], HERE), 9, &[0x95; 40]);
    odd[9] = 4;
    crate::testing::seal(&mut odd);
    for packet in [&cut, &odd] {
        assert!(rig.pass(ethernet(MAC, 0x0800, packet)).len() < 2);
    }
    assert!(rig.pass(ethernet(MAC, 0x0800, &stranger)).is_empty());
    assert_eq!(
        rig.punts().last().map(|(why, _)| *why),
        Some(PuntReason::Local)
    );
    assert!(
        rig.drops().contains(&(DropReason::TunnelMalformed, 1)),
        "{:?}",
        rig.drops()
    );
}

#[test]
fn the_firewall_sees_the_packets_of_tunnels_and_those_in_them() {
    let mut rig = nested();
    let firewall = Firewall {
        tracks4: true,
        ..Firewall::default()
    };
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();

    let sent = rig.pass(towards(INSIDE | 7).frame());

    assert_eq!(peel(&sent[0][14..]).len(), 4);
    assert_eq!(rig.connections.rows(false).count(), 4);
    let mut packet = towards(0x0b00_0002).packet();
    for remote in FAR {
        packet = wrapped((remote, HERE), 9, &packet);
    }
    assert_eq!(rig.pass(ethernet(MAC, 0x0800, &packet)).len(), 1);
}

#[test]
fn flows_of_a_tunnel_spread_over_workers() {
    let mut homes = [0; 2];
    for port in 0..200 {
        let inner = Udp4 {
            source_port: port,
            ..towards(0x0b00_0002)
        };
        let packet = wrapped((FAR[2], HERE), 9, &inner.packet());
        let home = crate::handover::home(&packet, false, 2).expect("an IP packet");
        homes[usize::from(home)] += 1;
        let bare = crate::handover::home(&inner.packet(), false, 2);
        assert_eq!(bare, Some(home), "the worker of its own flow");
    }
    assert!(homes.iter().all(|count| *count > 50), "{homes:?}");
}

/// Frames of the second port stay on worker 0, as with a device that spreads by its own hash.
#[test]
fn answers_out_of_a_tunnel_find_the_worker_of_their_connection() {
    let mut rig = Rig::with_workers(2);
    let hop = add_tunnel(&mut rig, id(0), FAR[2]);
    rig.route4(INSIDE, 8, hop);
    let firewall = Firewall {
        tracks4: true,
        ..Firewall::default()
    };
    rig.snapshot.firewall = Arc::new(firewall);
    rig.snapshot.ports[1].steer = false;
    rig.publish();
    let flow = |port| Udp4 {
        source: 0x0b00_0002,
        source_port: port,
        ..towards(INSIDE | 7)
    };
    let sent: usize = (0..60).map(|port| rig.pass(flow(port).frame()).len()).sum();
    assert_eq!(sent, 60, "{:?}", rig.drops());
    let before = rig.connections.rows(false).count();

    for port in 0..60 {
        let there = flow(port);
        let back = Udp4 {
            source: there.destination,
            destination: there.source,
            source_port: there.destination_port,
            destination_port: there.source_port,
            ..there
        };
        let packet = wrapped((FAR[2], HERE), 9, &back.packet());
        let frame = ethernet([2, 0, 0, 0, 0, 2], 0x0800, &packet);
        rig.arrive_unfinished(1, frame, frame::Offload::FINISHED);
    }
    rig.settle();

    assert_eq!(rig.sent(1).len(), 60, "{:?}", rig.drops());
    assert_eq!(rig.connections.rows(false).count(), before, "no new one");
}

#[test]
fn a_trace_says_that_a_packet_is_the_tunnel_s() {
    let rig = nested();
    let packet = wrapped((FAR[0], HERE), 9, &towards(0x0b00_0002).packet());
    let frame = ethernet(MAC, 0x0800, &packet);

    let walked = trace_packet(rig.tables(), &frame, ETHER1);

    let expected = crate::walk::Exit::Decapsulate(id(0));
    assert_eq!(walked.end, End::Exit(expected));
    let there = trace_packet(rig.tables(), &towards(INSIDE | 7).frame(), ETHER1);
    assert_eq!(there.end, End::Sent(id(0)));
    // The frame leaves in two more outer packets, by the link.
    assert_eq!(there.egress.below, [id(1), id(2), ETHER2]);
}

#[test]
fn a_trace_ends_where_the_outer_packet_does() {
    let mut rig = nested();
    let nowhere = rig.add_hop(&Adjacency {
        kind: Kind::Blackhole,
        ..Adjacency::default()
    });
    rig.route4(FAR[1], 32, nowhere);
    let frame = towards(INSIDE | 7).frame();

    let walked = trace_packet(rig.tables(), &frame, ETHER1);

    let dropped = crate::walk::Exit::Drop(DropReason::Blackhole);
    assert_eq!(walked.end, End::Exit(dropped), "{walked:#?}");
    assert!(rig.pass(frame).is_empty());
    assert_eq!(rig.drops(), [(DropReason::Blackhole, 1)]);
}

#[test]
fn what_finds_no_room_to_wait_in_is_dropped_by_name() {
    let mut rig = nested();
    let adjacency = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        mtu: 200,
        egress: id(0),
        out: OutId::tunnel(id(0)),
        ..Adjacency::default()
    };
    let narrow = rig.add_hop(&adjacency);
    rig.route4(INSIDE, 8, narrow);
    let long = Udp4 {
        payload: 1400,
        ..towards(INSIDE | 7)
    };
    for _ in 0..frame::VECTOR_FRAMES {
        rig.arrive(long.frame());
    }
    rig.settle();

    let pieces = rig.sent(1).len() as u64;
    let drops = rig.drops();
    let [(DropReason::AgendaFull, lost)] = drops[..] else {
        panic!("{drops:?}");
    };
    assert_eq!(pieces + lost, frame::VECTOR_FRAMES as u64 * 8);
    assert!(pieces >= 1024);
}

#[test]
fn packets_of_a_tunnel_come_out_together_and_in_order() {
    let mut rig = nested();
    let packet = |number: u16| {
        let inner = Udp4 {
            source_port: number,
            ..towards(0x0b00_0002)
        };
        wrapped((FAR[0], HERE), 9, &inner.packet())
    };
    let damaged = wrapped((FAR[0], HERE), 9, &[0x95; 40]);
    for number in 0..300 {
        rig.arrive(ethernet(MAC, 0x0800, &packet(number)));
        if number % 100 == 7 {
            rig.arrive(ethernet(MAC, 0x0800, &damaged));
            rig.arrive(towards(0x0b00_0002).frame());
        }
    }
    rig.settle();

    let sent = rig.sent(1);
    let port = |frame: &Vec<u8>| u16::from_be_bytes([frame[34], frame[35]]);
    let own = Udp4::default().source_port;
    let came: Vec<_> = sent.iter().map(port).filter(|port| *port != own).collect();
    let expected: Vec<_> = (0..300).filter(|port| *port != own).collect();
    assert_eq!(came, expected);
    assert_eq!(rig.drops(), [(DropReason::TunnelMalformed, 3)]);
    assert_eq!(rig.traffic(id(0)).rx.packets, 300);
}
