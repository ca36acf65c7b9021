//! Tests of WireGuard between two routers, which have opposite directions of one session.

use core::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use frame::{InterfaceId, Offload, Segmentation};
use wireguard::session::{Receiving, Sending};

use super::{Allowed, Arriving, Peer, Wireguard};
use crate::DropReason;
use crate::encap::Encapsulation;
use crate::firewall::Firewall;
use crate::interface::{Details, Interface};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::snapshot::Prefix;
use crate::table::{Adjacency, Kind};
use crate::testing::{MAC, Rig, Udp4, ethernet};

/// Both routers' address on `ether1`, and the remote end behind the gateway.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
/// Hosts behind the sender's peer and the receiver's peer.
const HOST: u32 = 0x1400_0005;
const PORT: u16 = 13_231;
const WG: InterfaceId = InterfaceId(10);
const PEER: u32 = 77;
const SESSION: u32 = 0x0102_0304;

fn prefix(bits: u32, len: u8) -> Prefix {
    Prefix {
        ipv6: false,
        bits: bits.into(),
        len,
    }
}

/// Returns a router with a WireGuard interface whose only peer has these networks.
fn rig(networks: &[Prefix], guards: bool) -> (Rig, Arc<Peer>) {
    let mut rig = Rig::new();
    if guards {
        rig.snapshot.firewall = Arc::new(Firewall {
            tracks4: true,
            ..Firewall::default()
        });
    }
    let peer = Arc::new(Peer::new(PEER));
    peer.set_endpoint(Some(SocketAddr::from((FAR, PORT))));
    let interface = Interface {
        running: true,
        ipv4: true,
        ipv6: true,
        mtu: 1420,
        out: OutId::tunnel(WG),
        under: WG,
        ..Interface::default()
    };
    let networks = networks.iter().map(|network| (*network, Arc::clone(&peer)));
    let tunnel = Encapsulation::from(Wireguard {
        id: WG,
        port: PORT,
        allowed: Arc::new(Allowed::new(networks)),
    });
    for ends in tunnel.ends() {
        rig.interfaces.set_tunnel(ends, Some(WG));
    }
    let details = Details {
        name: "wireguard1".into(),
        tunnel: Some(tunnel),
        ..Details::default()
    };
    rig.interfaces.set(WG, &interface);
    rig.interfaces.set_details(WG, Arc::new(details));
    rig.details(crate::testing::ETHER2).address4 = Some(HERE);
    let hop = rig.add_hop(&Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        mtu: 1420,
        egress: WG,
        out: OutId::tunnel(WG),
        ..Adjacency::default()
    });
    rig.route4(0x1400_0000, 8, hop);
    rig.publish();
    (rig, peer)
}

fn sender(guards: bool) -> Rig {
    let (rig, peer) = rig(&[prefix(0x1400_0000, 8)], guards);
    peer.set_sending(Some(Arc::new(Sending::new(SESSION, &[7; 32]))));
    rig
}

/// Returns the receiver, whose peer is behind `ether1`.
fn receiver(networks: &[Prefix], guards: bool) -> (Rig, Arc<Peer>) {
    let (rig, peer) = rig(networks, guards);
    let arriving = Arriving {
        session: Receiving::new(&[7; 32]),
        peer: Arc::clone(&peer),
        interface: WG,
    };
    rig.interfaces.sessions().put(SESSION, Arc::new(arriving));
    (rig, peer)
}

fn all() -> [Prefix; 1] {
    [prefix(0, 0)]
}

fn to_host() -> Udp4 {
    Udp4 {
        destination: HOST,
        ..Udp4::default()
    }
}

/// Exchanges source and destination of an outer packet, for the other router.
fn turned(frame: &[u8]) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    packet[12..16].copy_from_slice(&FAR.octets());
    packet[16..20].copy_from_slice(&HERE.octets());
    crate::testing::seal(&mut packet);
    ethernet(MAC, 0x0800, &packet)
}

/// Adds a route to the inner destination on the receiver.
fn deliver(rig: &mut Rig) {
    let hop = rig.gateway;
    rig.route4(HOST, 32, hop);
    rig.publish();
}

#[test]
fn a_packet_goes_in_comes_out_and_is_the_same() {
    for guards in [false, true] {
        let mut from = sender(guards);
        let (mut to, peer) = receiver(&all(), guards);
        deliver(&mut to);
        for payload in [0, 5, 22, 1372] {
            let frame = Udp4 {
                payload,
                ..to_host()
            };
            let sealed = from.pass(frame.frame());
            let [one] = &sealed[..] else {
                panic!("{} packets left: {:?}", sealed.len(), from.drops());
            };
            assert_eq!((one[23], &one[26..30]), (17, &HERE.octets()[..]));
            assert_eq!(one[30..34], FAR.octets());
            assert_eq!(one[42..46], [4, 0, 0, 0]);
            assert_eq!((one.len() - 42) % 16, 0, "padded");
            let opened = to.pass(turned(one));
            let [inner] = &opened[..] else {
                panic!("{} packets came out: {:?}", opened.len(), to.drops());
            };
            // Both routers decrement the TTL; nothing else changes.
            let mut expected = frame.frame()[14..].to_vec();
            expected[8] -= 2;
            crate::testing::seal(&mut expected);
            assert_eq!(inner[14..], expected);
        }
        assert_eq!(peer.received.times().map(|time| time.is_some()), [true; 2]);
        assert!(peer.received.bytes() > 1400);
        assert_eq!(peer.take_moved(), None);
    }
}

#[test]
fn without_a_session_control_is_asked_for_one_and_nothing_leaves() {
    let (mut from, peer) = rig(&all(), false);
    assert!(from.pass(to_host().frame()).is_empty());
    let punts = from.punts();
    let whys: Vec<_> = punts.iter().map(|(why, _)| *why).collect();
    assert_eq!(whys, [PuntReason::Keyless(PEER)]);
    // A peer without an endpoint gets no packet either.
    peer.set_sending(Some(Arc::new(Sending::new(SESSION, &[7; 32]))));
    peer.set_endpoint(None);
    assert!(from.pass(to_host().frame()).is_empty());
    assert_eq!(from.punts().len(), 1);
}

#[test]
fn a_destination_behind_nobody_is_a_named_loss() {
    let (mut from, _) = rig(&[prefix(0x1500_0000, 8)], false);
    assert!(from.pass(to_host().frame()).is_empty());
    assert_eq!(from.drops(), [(DropReason::WireguardNoPeer, 1)]);
}

#[test]
fn copies_alterations_and_strangers_are_refused_by_name() {
    let mut from = sender(false);
    let (mut to, _) = receiver(&all(), false);
    deliver(&mut to);
    let sealed = turned(&from.pass(to_host().frame())[0]);
    assert_eq!(to.pass(sealed.clone()).len(), 1);
    assert!(to.pass(sealed).is_empty());
    assert!(to.drops().contains(&(DropReason::WireguardReplayed, 1)));
    let again = turned(&from.pass(to_host().frame())[0]);
    for at in 42 + 16..again.len() {
        let mut altered = again.clone();
        altered[at] ^= 1;
        assert!(to.pass(altered).is_empty());
    }
    let altered = (again.len() - 58) as u64;
    let refused = (DropReason::WireguardIntegrity, altered);
    assert!(to.drops().contains(&refused));
    for (at, reason) in [
        (46, DropReason::WireguardUnknown),
        (42, DropReason::WireguardMalformed),
    ] {
        let mut stranger = again.clone();
        stranger[at] ^= 0x40;
        assert!(to.pass(stranger).is_empty());
        assert!(to.drops().contains(&(reason, 1)), "{reason:?}");
    }
    // None of these affects the genuine message.
    assert_eq!(to.pass(again).len(), 1);
}

#[test]
fn cut_datagrams_of_any_length_are_counted() {
    let mut from = sender(false);
    let (mut to, _) = receiver(&all(), false);
    let sealed = turned(&from.pass(to_host().frame())[0]);
    for len in 28..sealed.len() - 14 {
        let mut packet = sealed[14..14 + len].to_vec();
        packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        packet[24..26].copy_from_slice(&(len as u16 - 20).to_be_bytes());
        crate::testing::seal(&mut packet);
        assert!(to.pass(ethernet(MAC, 0x0800, &packet)).is_empty());
    }
    let dropped: u64 = to.drops().iter().map(|(_, count)| count).sum();
    assert_eq!(dropped, (sealed.len() - 14 - 28) as u64);
}

#[test]
fn a_peer_sends_from_its_own_addresses_alone_and_may_move() {
    let mut from = sender(false);
    let (mut to, peer) = receiver(&[prefix(0x1500_0000, 8)], false);
    let sealed = turned(&from.pass(to_host().frame())[0]);
    assert!(to.pass(sealed).is_empty());
    assert_eq!(to.drops(), [(DropReason::WireguardSource, 1)]);
    // The message is authentic, so its new source address becomes the peer's endpoint.
    let mut moved = turned(&from.pass(to_host().frame())[0]);
    moved[35] ^= 1;
    to.pass(moved);
    let seen = peer.take_moved().expect("another port");
    assert_eq!((seen.ip(), seen.port()), (FAR.into(), PORT ^ 1));
}

#[test]
fn a_message_without_a_packet_says_that_the_peer_is_there() {
    let (mut to, peer) = receiver(&all(), false);
    let mut message = vec![0; 32];
    let sending = Sending::new(SESSION, &[7; 32]);
    sending.seal(&mut message).expect("room");
    let packet = Udp4 {
        source: FAR.to_bits(),
        destination: HERE.to_bits(),
        source_port: PORT,
        destination_port: PORT,
        payload: message.len(),
        ..Udp4::default()
    };
    let mut packet = packet.packet();
    packet[28..].copy_from_slice(&message);
    assert!(to.pass(ethernet(MAC, 0x0800, &packet)).is_empty());
    assert_eq!(to.drops(), []);
    let [any, data] = peer.received.times();
    assert!(any.is_some() && data.is_none());
}

#[test]
fn merged_segments_are_sealed_one_by_one() {
    let mut from = sender(false);
    let (mut to, _) = receiver(&all(), false);
    deliver(&mut to);
    let frame = Udp4 {
        payload: 4000,
        ..to_host()
    };
    let offload = Offload {
        needs_checksum: true,
        segmentation: Segmentation::Udp,
        segment_bytes: 1000,
        checksum_start: 34,
        checksum_offset: 6,
        ecn: false,
    };
    from.arrive_unfinished(0, frame.frame(), offload);
    from.settle();
    let sealed = from.sent(1);
    assert_eq!(sealed.len(), 4);
    let opened: usize = { sealed.iter() }
        .map(|one| to.pass(turned(one)).len())
        .sum();
    assert_eq!(opened, 4);
}
