mod bridged;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use frame::{InterfaceId, Offload, Segmentation};
use machine::Rng;
use wire::Mac;

use super::arrive;
use super::{DontFragment, Peer, Vxlan};
use crate::encap::Encapsulation;
use crate::firewall::Firewall;
use crate::interface::{Details, Interface, Own4, Tag};
use crate::out::OutId;
use crate::table::{Adjacency, Kind};
use crate::testing::{
    ETHER1, ETHER2, GATEWAY, MAC, Rig, Udp4, Udp6, arp, ethernet, gateway, seal, sum,
};
use crate::{Command, DropReason};

const VXLAN: InterfaceId = InterfaceId(20);
const VNI: u32 = 0x0012_3456;
const PORT: u16 = 8472;
/// MAC address of the interface, and those of remote hosts.
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 20];
const STATION: [u8; 6] = [2, 0, 0, 0, 9, 1];
const OTHER: [u8; 6] = [2, 0, 0, 0, 9, 2];
/// This router's address, and remote ends behind the gateway.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: [Ipv4Addr; 2] = [Ipv4Addr::new(11, 0, 0, 9), Ipv4Addr::new(11, 0, 0, 10)];
const HERE6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 10, 0, 0, 0, 1);
const FAR6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 11, 0, 0, 0, 9);
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);

fn peers(addresses: &[IpAddr]) -> Arc<[Peer]> {
    let peer = |address: &IpAddr| Peer {
        address: *address,
        port: PORT,
    };
    addresses.iter().map(peer).collect()
}

fn network() -> Vxlan {
    Vxlan {
        id: VXLAN,
        vni: VNI,
        port: PORT,
        local: HERE.into(),
        ttl: None,
        checksum: false,
        dont_fragment: DontFragment::Never,
        learning: true,
        hosts_max: 100,
        fast: true,
        group: None,
        peers: peers(&[FAR[0].into()]),
    }
}

fn network6() -> Vxlan {
    Vxlan {
        local: HERE6.into(),
        peers: peers(&[FAR6.into()]),
        ..network()
    }
}

/// Adds or changes a network's interface.
fn set(rig: &Rig, network: Vxlan) {
    let interface = Interface {
        running: true,
        ethernet: true,
        ipv4: true,
        ipv6: true,
        mac: Mac(OWN),
        mtu: 1500,
        out: OutId::tunnel(VXLAN),
        under: VXLAN,
        ..Interface::default()
    };
    let tunnel = Encapsulation::from(network);
    rig.interfaces.peers().make_room(7).expect("address space");
    for ends in tunnel.ends() {
        rig.interfaces.set_tunnel(ends, Some(VXLAN));
    }
    let details = Details {
        name: "vxlan1".into(),
        tunnel: Some(tunnel),
        ..Details::default()
    };
    rig.interfaces.set(VXLAN, &interface);
    rig.interfaces.set_details(VXLAN, Arc::new(details));
}

fn rig(network: Vxlan) -> Rig {
    let rig = Rig::new();
    set(&rig, network);
    rig
}

/// Sends a frame by the interface. Returns the frames that `ether2` sent.
fn send(rig: &mut Rig, bytes: &[u8]) -> Vec<Vec<u8>> {
    send_unfinished(rig, bytes, Offload::FINISHED)
}

fn send_unfinished(rig: &mut Rig, bytes: &[u8], offload: Offload) -> Vec<Vec<u8>> {
    let mut frame = rig.pool.alloc_from(bytes).expect("room");
    (frame.egress, frame.l3, frame.offload) = (VXLAN, 14, offload);
    rig.command(Command::Transmit(frame));
    rig.settle();
    rig.sent(1)
}

/// Returns a frame from one host to another.
fn between(from: [u8; 6], to: [u8; 6]) -> Vec<u8> {
    let mut frame = ethernet(to, 0x0800, &Udp4::default().packet());
    frame[6..12].copy_from_slice(&from);
    frame
}

/// Returns a frame in a datagram to this router.
fn wrapped(from: IpAddr, to: IpAddr, (vni, port): (u32, u16), inner: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0xd0, 0x01];
    datagram.extend(port.to_be_bytes());
    datagram.extend((16 + inner.len() as u16).to_be_bytes());
    datagram.extend([0, 0, 8, 0, 0, 0]);
    datagram.extend(&vni.to_be_bytes()[1..]);
    datagram.push(0);
    datagram.extend(inner);
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = Udp4 {
                source: from.to_bits(),
                destination: to.to_bits(),
                ..Udp4::default()
            };
            let mut packet = header.packet()[..20].to_vec();
            packet.extend(datagram);
            let total = packet.len() as u16;
            packet[2..4].copy_from_slice(&total.to_be_bytes());
            seal(&mut packet);
            ethernet(MAC, 0x0800, &packet)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = Udp6 {
                source: from.to_bits(),
                destination: to.to_bits(),
                payload: datagram.len(),
                ..Udp6::default()
            };
            let mut packet = header.packet()[..40].to_vec();
            packet.extend(datagram);
            ethernet(MAC, 0x86dd, &packet)
        }
        _ => panic!("one family"),
    }
}

fn arriving(from: Ipv4Addr, inner: &[u8]) -> Vec<u8> {
    wrapped(from.into(), HERE.into(), (VNI, PORT), inner)
}

/// Returns the destinations of datagrams over IPv4.
fn destinations(frames: &[Vec<u8>]) -> Vec<Ipv4Addr> {
    let to = |frame: &Vec<u8>| Ipv4Addr::from(*frame[30..].first_chunk::<4>().expect("a packet"));
    let mut all: Vec<_> = frames.iter().map(to).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_frame_leaves_in_the_bytes_of_the_standard() {
    let mut rig = rig(network());
    let inner = arp();

    let sent = send(&mut rig, &inner);

    let [frame] = &sent[..] else {
        panic!("{} frames, {:?}", sent.len(), rig.drops());
    };
    let (head, carried) = frame.split_at(50);
    assert_eq!(head[..12], GATEWAY);
    let total = 36 + inner.len() as u16;
    assert_eq!(head[14..16], [0x45, 0]);
    assert_eq!(head[16..18], total.to_be_bytes());
    assert_eq!(head[20..24], [0, 0, 64, 17], "may be fragmented");
    assert_eq!(sum(&head[14..34]), 0xffff);
    assert_eq!(head[26..30], HERE.octets());
    assert_eq!(head[30..34], FAR[0].octets());
    assert!(head[34] >= 0xc0, "a port that is nobody's");
    assert_eq!(head[36..38], PORT.to_be_bytes());
    assert_eq!(head[38..40], (total - 20).to_be_bytes());
    assert_eq!(head[40..], [0, 0, 8, 0, 0, 0, 0x12, 0x34, 0x56, 0]);
    assert_eq!(carried, inner);
    assert_eq!(rig.traffic(VXLAN).tx.packets, 1);
    assert_eq!(rig.traffic(ETHER2).tx.bytes, frame.len() as u64);
}

#[test]
fn over_ipv6_and_where_it_is_asked_for_datagrams_have_a_checksum() {
    let sums = Vxlan {
        checksum: true,
        ..network()
    };
    for (network, ip) in [(sums, 20), (network6(), 40)] {
        let mut rig = rig(network);
        for payload in [18, 19] {
            let inner = Udp4 {
                payload,
                ..Udp4::default()
            };
            let sent = send(&mut rig, &inner.frame());
            let packet = &sent[0][14..];
            let addresses = &packet[ip - if ip == 20 { 8 } else { 32 }..ip];
            let datagram = &packet[ip..];
            assert_ne!(datagram[6..8], [0, 0]);
            let len = (datagram.len() as u16).to_be_bytes();
            let pseudo = [addresses, &[0, 17], &len].concat();
            assert_eq!(sum(&[&pseudo[..], datagram].concat()), 0xffff);
            assert_eq!(datagram[16..], inner.frame());
        }
    }
}

#[test]
fn what_was_wrapped_comes_out_as_it_went_in() {
    let mut rng = Rng::seeded(5);
    let with_sums = Vxlan {
        checksum: true,
        dont_fragment: DontFragment::Inherit,
        ..network()
    };
    for network in [network(), with_sums, network6()] {
        let mut rig = rig(network.clone());
        let mut tagged = gateway();
        tagged.header_len = 18;
        tagged.mtu = 9000;
        for round in 0..400 {
            if round == 200 {
                rig.writer.set_next_hop(rig.gateway, &tagged);
            }
            let len = 14 + rng.next_u32() as usize % 1400;
            let mut inner = vec![0; len];
            rng.fill(&mut inner);
            if rng.next_u32().is_multiple_of(2) {
                inner[..6].copy_from_slice(&STATION);
                inner[12..14].copy_from_slice(&[0x08, 0x00]);
            }
            let sent = send(&mut rig, &inner);
            let [bytes] = &sent[..] else {
                panic!("{} frames, {:?}", sent.len(), rig.drops());
            };
            let mut frame = rig.pool.alloc_from(bytes).expect("room");
            frame.l3 = if round < 200 { 14 } else { 18 };
            let from = arrive::strip_outer(&mut frame).expect("a frame is in it");
            assert_eq!(from, network.local);
            assert_eq!(frame.bytes(), inner);
            rig.pool.free(frame);
        }
        assert_eq!(rig.drops(), []);
    }
}

#[test]
fn flows_have_ports_of_their_own_and_each_keeps_its_own() {
    let mut rig = rig(network());
    let mut ports = std::collections::BTreeSet::new();
    for port in 0..200 {
        let inner = Udp4 {
            source_port: port,
            ..Udp4::default()
        };
        let of = |sent: &[Vec<u8>]| [sent[0][34], sent[0][35]];
        let first = of(&send(&mut rig, &inner.frame()));
        assert_eq!(of(&send(&mut rig, &inner.frame())), first);
        ports.insert(first);
    }
    assert!(ports.len() > 150, "{}", ports.len());
}

#[test]
fn what_is_for_all_goes_to_all_and_what_is_for_one_to_where_that_was_heard() {
    let three = [
        FAR[0].into(),
        FAR[1].into(),
        Ipv4Addr::new(11, 0, 0, 11).into(),
    ];
    let mut rig = rig(Vxlan {
        peers: peers(&three),
        ..network()
    });
    let to_station = between(OWN, STATION);
    assert_eq!(send(&mut rig, &to_station).len(), 3, "nobody has heard it");
    assert_eq!(send(&mut rig, &arp()).len(), 3);

    rig.arrive(arriving(FAR[1], &between(STATION, OWN)));
    rig.settle();
    rig.sent(1);

    assert_eq!(destinations(&send(&mut rig, &to_station)), [FAR[1]]);
    assert_eq!(send(&mut rig, &between(OWN, OTHER)).len(), 3);
    // The host moves to a remote end without configuration.
    let stranger = Ipv4Addr::new(11, 0, 0, 77);
    rig.arrive(arriving(stranger, &between(STATION, OWN)));
    rig.settle();
    rig.sent(1);
    assert_eq!(destinations(&send(&mut rig, &to_station)), [stranger]);

    set(
        &rig,
        Vxlan {
            learning: false,
            peers: peers(&three),
            ..network()
        },
    );
    rig.arrive(arriving(FAR[0], &between(OTHER, OWN)));
    rig.settle();
    rig.sent(1);
    assert_eq!(send(&mut rig, &between(OWN, OTHER)).len(), 3);
    assert_eq!(rig.drops(), []);
}

#[test]
fn a_frame_comes_out_and_its_packet_is_routed() {
    for (network, from, to) in [
        (network(), FAR[0].into(), HERE.into()),
        (network6(), IpAddr::from(FAR6), IpAddr::from(HERE6)),
    ] {
        let mut rig = rig(network);
        let inner = between(STATION, OWN);
        // Padding behind the inner frame, and behind the datagram.
        let mut outer = wrapped(from, to, (VNI, PORT), &inner);
        outer.extend([0; 7]);

        let sent = rig.pass(outer);

        assert_eq!(sent.len(), 1, "{:?}", rig.drops());
        let mut expected = Udp4::default().packet();
        expected[8] -= 1;
        seal(&mut expected);
        assert_eq!(sent[0][14..], expected);
        let traffic = rig.traffic(VXLAN);
        assert_eq!(traffic.rx.packets, 1);
        assert_eq!(traffic.rx.bytes, inner.len() as u64);
        assert_eq!(rig.traffic(ETHER1).rx.packets, 1);
    }
}

#[test]
fn a_packet_is_routed_into_a_network_and_frames_of_a_vlan_on_it_come_out() {
    let mut rig = rig(network());
    let mut adjacency = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        mtu: 1450,
        egress: VXLAN,
        out: OutId::tunnel(VXLAN),
        ..Adjacency::default()
    };
    adjacency.header[..14].copy_from_slice(&[2, 0, 0, 0, 9, 1, 2, 0, 0, 0, 0, 20, 8, 0]);
    let hop = rig.add_hop(&adjacency);
    rig.route4(0x1400_0000, 8, hop);
    let towards = Udp4 {
        destination: 0x1400_0007,
        ..Udp4::default()
    };
    for _ in 0..300 {
        rig.arrive(towards.frame());
    }
    rig.settle();
    let sent = rig.sent(1);
    assert_eq!(sent.len(), 300, "{:?}", rig.drops());
    assert!(sent.iter().all(|frame| frame[50..56] == STATION));

    let vlan = InterfaceId(21);
    let tag = Tag {
        ethertype: 0x8100,
        vlan_id: 5,
    };
    let line = rig.interfaces.get(VXLAN).expect("it is there");
    rig.interfaces.set(vlan, &line);
    rig.interfaces.set_vlan(VXLAN, tag, Some(vlan));
    let mut inner = between(STATION, OWN);
    inner.splice(12..12, [0x81, 0x00, 0, 5]);
    assert_eq!(
        rig.pass(arriving(FAR[0], &inner)).len(),
        1,
        "{:?}",
        rig.drops()
    );
    assert_eq!(rig.traffic(vlan).rx.packets, 1);
}

#[test]
fn what_is_none_of_a_network_is_dropped_by_name() {
    let mut rig = rig(network());
    let inner = between(STATION, OWN);
    let of = |vni, port| wrapped(FAR[0].into(), HERE.into(), (vni, port), &inner);
    rig.arrive(of(VNI + 1, PORT));
    let mut no_network = of(VNI, PORT);
    no_network[42] = 0;
    rig.arrive(no_network);
    rig.arrive(arriving(FAR[0], &inner[..13]));
    let mut long = arriving(FAR[0], &inner);
    long[38] = 0xff;
    rig.arrive(long);
    rig.arrive(arriving(FAR[0], &between(OWN, STATION)));
    rig.settle();
    assert_eq!(
        rig.drops(),
        [
            (DropReason::TunnelMalformed, 3),
            (DropReason::VxlanUnknown, 1),
            (DropReason::VxlanEcho, 1),
        ]
    );
    // A datagram to another port matches no network.
    rig.arrive(of(VNI, PORT + 1));
    rig.settle();
    assert_eq!(rig.punts().len(), 1);
}

#[test]
fn what_cannot_leave_is_dropped_by_name() {
    let none = Vxlan {
        peers: peers(&[]),
        ..network()
    };
    let unspecified = Vxlan {
        local: Ipv4Addr::UNSPECIFIED.into(),
        ..network()
    };
    let nowhere = Vxlan {
        peers: peers(&[Ipv4Addr::new(77, 0, 0, 1).into()]),
        ..network()
    };
    let refused = Vxlan {
        peers: peers(&[Ipv4Addr::new(12, 1, 0, 1).into()]),
        ..network()
    };
    for (network, reason) in [
        (none, DropReason::VxlanNoPeer),
        (unspecified.clone(), DropReason::VxlanNoSource),
        (nowhere, DropReason::NoRoute),
        (refused, DropReason::Blackhole),
    ] {
        let mut rig = rig(network);
        assert!(send(&mut rig, &arp()).is_empty());
        assert_eq!(rig.drops(), [(reason, 1)]);
        assert_eq!(rig.traffic(VXLAN).tx_drop, 1);
    }
    // The source is the address of the egress interface.
    let mut rig = rig(unspecified);
    let own = Ipv4Addr::new(192, 0, 2, 1);
    rig.details(ETHER2).addresses4 = vec![Own4 {
        address: own,
        network: (own, own),
    }];
    rig.publish();
    assert_eq!(send(&mut rig, &arp())[0][26..30], own.octets());
}

#[test]
fn what_does_not_fit_is_fragmented_unless_that_is_forbidden() {
    let long = Udp4 {
        payload: 1472,
        ..Udp4::default()
    };
    let mut forbids = long.packet();
    forbids[6] = 0x40;
    seal(&mut forbids);
    let forbids = ethernet(STATION, 0x0800, &forbids);
    for (dont_fragment, pieces) in [
        (DontFragment::Never, [2, 2]),
        (DontFragment::Inherit, [2, 0]),
        (DontFragment::Always, [0, 0]),
    ] {
        let mut rig = rig(Vxlan {
            dont_fragment,
            ..network()
        });
        let sent = [&long.frame(), &forbids].map(|frame| send(&mut rig, frame).len());
        assert_eq!(sent, pieces);
        let lost = pieces.iter().filter(|pieces| **pieces == 0).count() as u64;
        let expected: &[_] = match lost {
            0 => &[],
            lost => &[(DropReason::TooBig, lost)],
        };
        assert_eq!(rig.drops(), expected);
    }
    // A packet with don't-fragment that fits.
    let mut rig = rig(Vxlan {
        dont_fragment: DontFragment::Always,
        ..network()
    });
    let sent = send(&mut rig, &arp());
    assert_eq!(sent[0][20], 0x40);
    assert_eq!(sum(&sent[0][14..34]), 0xffff);
}

#[test]
fn a_frame_that_comes_in_fragments_is_put_together() {
    for from in [FAR[0], FAR[1]] {
        let mut rig = rig(network());
        let inner = between(STATION, OWN);
        let whole = arriving(from, &inner);
        let (header, data) = whole[14..].split_at(20);
        let pieces = [(0x2000, &data[..40]), (5, &data[40..])];
        for (fragment, data) in pieces {
            let mut packet = [header, data].concat();
            let total = packet.len() as u16;
            packet[2..4].copy_from_slice(&total.to_be_bytes());
            packet[6..8].copy_from_slice(&u16::to_be_bytes(fragment));
            seal(&mut packet);
            rig.arrive(ethernet(MAC, 0x0800, &packet));
        }
        rig.settle();
        assert_eq!(rig.sent(1).len(), 1, "{:?}", rig.drops());
    }
}

#[test]
fn a_group_is_sent_to_and_heard() {
    let by_group = Vxlan {
        group: Some((GROUP.into(), ETHER2)),
        peers: peers(&[FAR[0].into()]),
        ..network()
    };
    let mut rig = rig(by_group);
    let sent = send(&mut rig, &arp());
    assert_eq!(destinations(&sent), [FAR[0], GROUP]);
    let group = sent.iter().find(|frame| frame[30..34] == GROUP.octets());
    let group = group.expect("one of them");
    assert_eq!(group[..6], [1, 0, 0x5e, 1, 2, 3]);
    assert_eq!(group[22], 1, "it stays on its link");

    let mut to_group = wrapped(
        FAR[0].into(),
        GROUP.into(),
        (VNI, PORT),
        &between(STATION, OWN),
    );
    to_group[..6].copy_from_slice(&[1, 0, 0x5e, 1, 2, 3]);
    assert!(rig.pass(to_group.clone()).is_empty(), "nobody has joined");
    assert_eq!(rig.drops(), [(DropReason::MulticastNotMine, 1)]);
    rig.details(ETHER1).groups4 = vec![GROUP.to_bits()];
    rig.publish();
    assert_eq!(rig.pass(to_group).len(), 1);
    let to_station = between(OWN, STATION);
    assert_eq!(destinations(&send(&mut rig, &to_station)), [FAR[0]]);
}

#[test]
fn where_something_looks_datagrams_are_this_router_s_own() {
    let mut rig = rig(network());
    let firewall = Firewall {
        tracks4: true,
        ..Firewall::default()
    };
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();

    let sent = send(&mut rig, &arp());
    assert_eq!(sent.len(), 1, "{:?}", rig.drops());
    assert_eq!(rig.connections.rows(false).count(), 1);
    assert_eq!(rig.pass(arriving(FAR[0], &between(STATION, OWN))).len(), 1);
    assert_eq!(rig.connections.rows(false).count(), 3);
}

#[test]
fn networks_in_each_other_end_under_a_name() {
    // Packets to the remote end are routed into the network itself.
    let mut rig = rig(network());
    let adjacency = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        mtu: 9000,
        egress: VXLAN,
        out: OutId::tunnel(VXLAN),
        ..Adjacency::default()
    };
    let hop = rig.add_hop(&adjacency);
    rig.route4(FAR[0].to_bits(), 32, hop);
    assert!(send(&mut rig, &arp()).is_empty());
    let drops = rig.drops();
    let ends = [DropReason::TunnelDepth, DropReason::NoBuffer];
    assert!(
        matches!(drops[..], [(reason, 1)] if ends.contains(&reason)),
        "{drops:?}"
    );
}

#[test]
fn what_is_unfinished_is_finished_before_it_is_wrapped() {
    let mut rig = rig(network());
    let frame = Udp4::default().frame();
    let offload = Offload {
        needs_checksum: true,
        checksum_start: 34,
        checksum_offset: 6,
        ..Offload::FINISHED
    };
    let sent = send_unfinished(&mut rig, &frame, offload);
    assert_eq!(sent[0].len(), 50 + frame.len());
    let inner = &sent[0][50..];
    assert_ne!(inner[40..42], [0, 0]);
    assert_eq!(sum(&inner[34..]), 0xffff, "as it was asked for");
}

#[test]
fn what_is_unfinished_in_a_frame_stays_so_when_it_comes_out() {
    let rig = &mut rig(network());
    let inner = between(STATION, OWN);
    let outer = arriving(FAR[0], &inner);
    for (start, left) in [(34, Offload::FINISHED), (84, offload(34))] {
        let mut frame = rig.pool.alloc_from(&outer).expect("room");
        (frame.l3, frame.offload) = (14, offload(start));
        assert_eq!(arrive::strip_outer(&mut frame), Some(FAR[0].into()));
        assert_eq!(frame.offload, left);
        rig.pool.free(frame);
    }

    // Merged datagrams, as a device delivers them.
    let mut row = outer.clone();
    row.extend(&outer[42..]);
    let total = (row.len() - 14) as u16;
    row[16..18].copy_from_slice(&total.to_be_bytes());
    row[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    seal(&mut row[14..]);
    let merged = Offload {
        segmentation: Segmentation::Udp,
        segment_bytes: (outer.len() - 42) as u16,
        ..offload(34)
    };
    rig.arrive_unfinished(0, row, merged);
    rig.settle();
    assert_eq!(rig.sent(1).len(), 2, "{:?}", rig.drops());
}

fn offload(start: u16) -> Offload {
    Offload {
        needs_checksum: true,
        checksum_start: start,
        checksum_offset: 6,
        ..Offload::FINISHED
    }
}

#[test]
fn a_network_with_an_address_takes_what_is_for_that() {
    let mut rig = rig(Vxlan {
        local: Ipv4Addr::UNSPECIFIED.into(),
        ..network()
    });
    // Any local address matches.
    assert_eq!(rig.pass(arriving(FAR[0], &between(STATION, OWN))).len(), 1);
    let ends = Encapsulation::from(Vxlan {
        local: Ipv4Addr::UNSPECIFIED.into(),
        ..network()
    });
    for ends in ends.ends() {
        rig.interfaces.set_tunnel(ends, None);
    }
    assert!(
        rig.pass(arriving(FAR[0], &between(STATION, OWN)))
            .is_empty()
    );
    assert_eq!(rig.punts().len(), 1, "no network has the port any more");
}

#[test]
fn a_network_that_is_held_down_discards_its_packets_and_no_others() {
    let mut rig = rig(network());
    let line = rig.interfaces.get(VXLAN).expect("an interface");
    let held = Interface {
        running: false,
        ..line
    };
    rig.interfaces.set(VXLAN, &held);
    // Both arrive in one vector.
    rig.arrive(arriving(FAR[0], &between(STATION, OWN)));
    rig.arrive(Udp4::default().frame());
    rig.settle();
    assert_eq!(rig.sent(1).len(), 1, "{:?}", rig.drops());
    assert_eq!(rig.drops(), [(DropReason::InterfaceDown, 1)]);
}
