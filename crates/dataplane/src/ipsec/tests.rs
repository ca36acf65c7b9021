//! Tests of IPsec between two routers, which have opposite directions of one association.

mod trace;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use frame::{Offload, Segmentation};

use super::{Action, Arriving, Ipsec, Leaving, Mode, Policies, Policy, Protocol, Selector};
use crate::DropReason;
use crate::firewall::Firewall;
use crate::punt::PuntReason;
use crate::snapshot::{Prefix, SlowReason};
use crate::testing::{MAC, Rig, Udp4, ethernet};

/// Both routers' address on `ether1`, and the remote end behind the gateway.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
/// A host behind the remote end.
const HOST: u32 = 0x0b01_0005;
const SLOT: u32 = 3;
const SPI: u32 = 0x1234_5678;

/// The protection in a test.
#[derive(Clone, Copy)]
struct Way {
    protocol: Protocol,
    mode: Mode,
    in_udp: bool,
    guards: bool,
}

const TUNNEL: Way = Way {
    protocol: Protocol::Esp,
    mode: Mode::Tunnel,
    in_udp: false,
    guards: false,
};

fn prefix(bits: u32, len: u8) -> Prefix {
    Prefix {
        ipv6: false,
        bits: bits.into(),
        len,
    }
}

fn selector(source: Prefix, destination: Prefix) -> Selector {
    Selector {
        source,
        destination,
        protocol: 0,
        source_port: 0,
        destination_port: 0,
    }
}

fn end(address: Ipv4Addr) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(address), 4500)
}

fn suite(protocol: Protocol) -> (esp::Suite, esp::Keys) {
    let (encryption, key): (_, &[u8]) = match protocol {
        Protocol::Esp => (esp::Encryption::AesCbc(esp::Bits::B128), &[7; 16]),
        Protocol::Ah => (esp::Encryption::Null, &[]),
    };
    let suite = esp::Suite {
        encryption,
        authentication: esp::Authentication::Sha1,
    };
    (suite, esp::Keys::new(key, &[8; 20]))
}

pub(crate) fn outbound(protocol: Protocol) -> esp::Outbound {
    let (suite, keys) = suite(protocol);
    let sa = esp::Outbound::new(SPI, suite, &keys, esp::Numbering::Short, &[9; 16]);
    sa.expect("keys of the right length")
}

fn inbound(protocol: Protocol) -> esp::Inbound {
    let (suite, keys) = suite(protocol);
    let sa = esp::Inbound::new(SPI, suite, &keys, esp::Numbering::Short, 64);
    sa.expect("keys of the right length")
}

fn rig(way: Way, policies: Vec<Policy>) -> Rig {
    let mut rig = Rig::new();
    rig.snapshot.ipsec = Ipsec {
        policies: Arc::new(Policies::new(policies)),
        associations: Arc::default(),
    };
    rig.slow4(&[SlowReason::IpsecPolicies]);
    if way.guards {
        rig.snapshot.firewall = Arc::new(Firewall {
            tracks4: true,
            ..Firewall::default()
        });
    }
    rig
}

fn protects(source: Prefix, destination: Prefix) -> Policy {
    Policy {
        selector: selector(source, destination),
        action: Action::Protect {
            slot: SLOT,
            required: true,
        },
    }
}

/// Returns the router that protects packets of its network.
fn sender(way: Way) -> Rig {
    let mut rig = rig(
        way,
        vec![protects(prefix(0x0a00_0000, 24), prefix(0x0b01_0000, 16))],
    );
    let leaving = Leaving {
        protocol: way.protocol,
        sa: Arc::new(outbound(way.protocol)),
        mode: way.mode,
        local: end(HERE),
        remote: end(FAR),
        in_udp: way.in_udp,
        peer_port: None,
    };
    let before = rig
        .snapshot
        .ipsec
        .associations
        .set_leaving(SLOT, Some(Arc::new(leaving)));
    assert!(before.is_none());
    rig.publish();
    rig
}

/// Returns the router that receives the protected packets.
fn receiver(way: Way) -> Rig {
    let policy = protects(prefix(0x0b01_0000, 16), prefix(0x0a00_0000, 24));
    let mut rig = rig(way, vec![policy]);
    let arriving = Arriving {
        protocol: way.protocol,
        sa: inbound(way.protocol),
        mode: way.mode,
        slot: SLOT,
        remote: FAR.into(),
        in_udp: way.in_udp,
        peer_port: None,
    };
    rig.snapshot
        .ipsec
        .associations
        .put_arriving(Arc::new(arriving));
    rig.publish();
    rig
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
    ethernet(MAC, 0x0800, &summed(packet))
}

fn packet_of(frame: &[u8]) -> &[u8] {
    &frame[14..]
}

/// Returns the packet of a frame with the TTL decremented `hops` times.
fn aged(frame: &[u8], hops: u8) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    packet[8] -= hops;
    summed(packet)
}

#[test]
fn a_packet_goes_in_comes_out_and_is_the_same() {
    for guards in [false, true] {
        for in_udp in [false, true] {
            let way = Way {
                in_udp,
                guards,
                ..TUNNEL
            };
            let (mut from, mut to) = (sender(way), receiver(way));
            let frame = to_host().frame();
            let sealed = from.pass(frame.clone());
            let [one] = &sealed[..] else {
                panic!("{} packets left", sealed.len());
            };
            assert_eq!(one[14 + 9], if in_udp { 17 } else { 50 });
            assert_eq!(one[26..34], [HERE.octets(), FAR.octets()].concat());
            let opened = to.pass(turned(one));
            let [inner] = &opened[..] else {
                panic!("{} packets came out: {:?}", opened.len(), to.drops());
            };
            assert_eq!(packet_of(inner), aged(&frame, 2));
        }
    }
}

/// Returns frames for every decision of the policies of [`mixed_policies`], several times over.
fn mixed_frames() -> Vec<Vec<u8>> {
    let udp = |destination: u32, payload: usize, ttl: u8| {
        let frame = Udp4 {
            destination,
            payload,
            ttl,
            ..Udp4::default()
        };
        frame.frame()
    };
    let kinds = [
        udp(HOST, 100, 64),
        udp(HOST, 1400, 64),
        udp(HOST, 1472, 64),
        udp(HOST, 100, 1),
        udp(0x0b02_0001, 100, 64),
        udp(0x0b03_0001, 100, 64),
        udp(0x0b04_0001, 100, 64),
        Udp4::default().frame(),
    ];
    (0..100).map(|at| kinds[at * 7 % 11 % 8].clone()).collect()
}

/// Returns policies that protect, discard, pass, and protect without an association.
fn mixed_policies(destination_port: u16) -> Vec<Policy> {
    let from = prefix(0x0a00_0000, 24);
    let policy = |network: u32, action: Action| Policy {
        selector: Selector {
            destination_port,
            ..selector(from, prefix(network, 16))
        },
        action,
    };
    let without_keys = Action::Protect {
        slot: SLOT + 1,
        required: true,
    };
    vec![
        protects(from, prefix(0x0b01_0000, 16)),
        policy(0x0b02_0000, Action::Discard),
        policy(0x0b03_0000, Action::Pass),
        policy(0x0b04_0000, without_keys),
    ]
}

#[test]
fn policies_decide_about_vectors_as_about_single_packets() {
    for destination_port in [0, 1] {
        let mut results = Vec::new();
        for reasons in [
            &[SlowReason::IpsecPolicies][..],
            &[SlowReason::IpsecPolicies, SlowReason::NotAllowed],
        ] {
            let mut rig = sender(TUNNEL);
            rig.slow4(reasons);
            rig.snapshot.ipsec.policies = Arc::new(Policies::new(mixed_policies(destination_port)));
            rig.publish();
            mixed_frames()
                .into_iter()
                .for_each(|frame| rig.arrive(frame));
            rig.settle();
            // The identification of outer packets is random, and its checksum with it.
            let sent = rig.sent(1).into_iter().map(|mut frame| {
                frame[18..20].fill(0);
                frame[24..26].fill(0);
                frame
            });
            let sent: Vec<Vec<u8>> = sent.collect();
            assert!(sent.len() > 40, "{}", sent.len());
            results.push((sent, rig.punts(), rig.drops()));
        }
        assert_eq!(results[0], results[1]);
    }
}

#[test]
fn vectors_of_protected_packets_come_out_in_order() {
    for guards in [false, true] {
        let way = Way { guards, ..TUNNEL };
        let (mut from, mut to) = (sender(way), receiver(way));
        let frames: Vec<Vec<u8>> = (0..200)
            .map(|at| {
                let frame = Udp4 {
                    payload: 20 + at,
                    ..to_host()
                };
                frame.frame()
            })
            .collect();
        frames.iter().for_each(|frame| from.arrive(frame.clone()));
        from.settle();
        let mut sealed: Vec<Vec<u8>> = from.sent(1).iter().map(|frame| turned(frame)).collect();
        assert_eq!(sealed.len(), frames.len());
        // Altered, repeated and unknown packets among the others are dropped by name.
        sealed[70][60] ^= 1;
        sealed[90] = sealed[10].clone();
        sealed[130][34] ^= 1;
        sealed.into_iter().for_each(|frame| to.arrive(frame));
        to.settle();
        let opened = to.sent(1);
        let kept = frames.iter().enumerate();
        let kept = kept.filter(|(at, _)| ![70, 90, 130].contains(at));
        let wanted: Vec<Vec<u8>> = kept.map(|(_, frame)| aged(frame, 2)).collect();
        let opened: Vec<Vec<u8>> = opened
            .iter()
            .map(|frame| packet_of(frame).to_vec())
            .collect();
        assert_eq!(opened, wanted, "{guards}");
        for reason in [
            DropReason::IpsecIntegrity,
            DropReason::IpsecReplayed,
            DropReason::IpsecUnknown,
        ] {
            assert!(to.drops().contains(&(reason, 1)), "{:?}", to.drops());
        }
    }
}

#[test]
fn what_a_policy_protects_does_not_come_in_clear() {
    for guards in [false, true] {
        let mut to = receiver(Way { guards, ..TUNNEL });
        assert!(to.pass(to_host().frame()).is_empty());
        assert!(to.drops().contains(&(DropReason::IpsecClear, 1)));
        // Other packets pass.
        assert_eq!(to.pass(Udp4::default().frame()).len(), 1);
    }
}

#[test]
fn without_keys_control_is_asked_for_some_and_nothing_leaves_clear() {
    for guards in [false, true] {
        let mut from = sender(Way { guards, ..TUNNEL });
        from.snapshot.ipsec.associations.set_leaving(SLOT, None);
        assert!(from.pass(to_host().frame()).is_empty());
        let punts = from.punts();
        let whys: Vec<_> = punts.iter().map(|(why, _)| *why).collect();
        assert_eq!(whys, [PuntReason::Unprotected(SLOT)]);
    }
}

#[test]
fn copies_alterations_and_strangers_are_refused_by_name() {
    let (mut from, mut to) = (sender(TUNNEL), receiver(TUNNEL));
    let sealed = turned(&from.pass(to_host().frame())[0]);
    assert_eq!(to.pass(sealed.clone()).len(), 1);
    assert!(to.pass(sealed).is_empty());
    assert!(to.drops().contains(&(DropReason::IpsecReplayed, 1)));
    let again = turned(&from.pass(to_host().frame())[0]);
    for at in 14 + 20 + 8..again.len() {
        let mut altered = again.clone();
        altered[at] ^= 1;
        assert!(to.pass(altered).is_empty());
    }
    let altered = (again.len() - 14 - 28) as u64;
    assert!(to.drops().contains(&(DropReason::IpsecIntegrity, altered)));
    let mut stranger = again.clone();
    stranger[14 + 20] ^= 1;
    assert!(to.pass(stranger).is_empty());
    assert!(to.drops().contains(&(DropReason::IpsecUnknown, 1)));
    // None of these affects the genuine packet.
    assert_eq!(to.pass(again).len(), 1);
}

/// Returns an IPv4 packet with its header checksum recomputed.
fn summed(mut packet: Vec<u8>) -> Vec<u8> {
    packet[10..12].fill(0);
    let sum = !wire::checksum::sum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn cut_packets_of_any_length_are_counted() {
    let in_esp = turned(&sender(TUNNEL).pass(to_host().frame())[0]);
    let behind_ah = signed(&to_host().frame()[14..], 4);
    for (protocol, whole) in [(Protocol::Esp, in_esp), (Protocol::Ah, behind_ah)] {
        let mut to = receiver(Way { protocol, ..TUNNEL });
        for len in 20..whole.len() - 14 {
            let mut packet = whole[14..14 + len].to_vec();
            packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            assert!(to.pass(ethernet(MAC, 0x0800, &summed(packet))).is_empty());
        }
        let dropped: u64 = to.drops().iter().map(|(_, count)| count).sum();
        assert_eq!(dropped, (whole.len() - 14 - 20) as u64);
    }
}

#[test]
fn what_comes_out_must_be_what_its_policy_lets_in() {
    let (mut from, mut to) = (sender(TUNNEL), receiver(TUNNEL));
    let policy = protects(prefix(0x0b02_0000, 16), prefix(0x0a00_0000, 24));
    to.snapshot.ipsec.policies = Arc::new(Policies::new(vec![policy]));
    to.publish();
    let sealed = turned(&from.pass(to_host().frame())[0]);
    assert!(to.pass(sealed).is_empty());
    assert!(to.drops().contains(&(DropReason::IpsecMismatch, 1)));
}

#[test]
fn a_packet_too_long_for_its_way_has_its_sender_told_or_leaves_in_fragments() {
    for guards in [false, true] {
        let way = Way { guards, ..TUNNEL };
        let mut from = sender(way);
        let long = Udp4 {
            payload: 1472,
            ..to_host()
        };
        let kept = Udp4 {
            fragment: 0x4000,
            ..long
        };
        assert!(from.pass(kept.frame()).is_empty());
        let whys: Vec<_> = from.punts().iter().map(|(why, _)| *why).collect();
        // 1500 - 20 - 8 - 16 - 12, in whole blocks, without the trailer.
        assert_eq!(whys, [PuntReason::TooBig(1438)]);
        assert_eq!(from.pass(long.frame()).len(), 2);
        let fits = Udp4 {
            payload: 1438 - 28,
            ..kept
        };
        let sealed = from.pass(fits.frame());
        assert_eq!(sealed.len(), 1);
        assert!(sealed[0].len() <= 1514);
        assert_eq!(receiver(way).pass(turned(&sealed[0])).len(), 1);
    }
}

#[test]
fn merged_segments_are_protected_one_by_one() {
    let (mut from, mut to) = (sender(TUNNEL), receiver(TUNNEL));
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

#[test]
fn behind_its_own_header_only_what_follows_is_protected() {
    for in_udp in [false, true] {
        let way = Way {
            mode: Mode::Transport,
            in_udp,
            ..TUNNEL
        };
        let mut from = sender(way);
        let frame = to_host().frame();
        let sealed = from.pass(frame.clone());
        let [one] = &sealed[..] else {
            panic!("{} packets left: {:?}", sealed.len(), from.drops());
        };
        // Both addresses are those of the inner packet.
        assert_eq!(one[26..34], frame[26..34]);
        assert_eq!(one[14 + 9], if in_udp { 17 } else { 50 });
    }
}

/// Verifies a packet by AH. Returns the protocol and bytes behind AH.
fn verified(frame: &[u8]) -> Result<(u8, Vec<u8>), esp::Fault> {
    let sa = inbound(Protocol::Ah);
    let mut packet = packet_of(frame).to_vec();
    let mut batch = [esp::ah::Verifying::new(&sa, &mut packet)];
    esp::ah::verify(&mut batch);
    let [one] = batch;
    let verified = one.outcome?;
    Ok((verified.next_header, packet[verified.header.end..].to_vec()))
}

/// Returns a packet from the remote end with AH in front of `carried`.
fn signed(carried: &[u8], next_header: u8) -> Vec<u8> {
    let room = esp::ah::room(suite(Protocol::Ah).0, false);
    let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 51, 0, 0];
    packet.extend([FAR.octets(), HERE.octets()].concat());
    packet.resize(20 + room, 0);
    packet.extend(carried);
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = !wire::checksum::sum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let sa = outbound(Protocol::Ah);
    let mut batch = [esp::ah::Protecting::new(&sa, &mut packet, next_header)];
    esp::ah::protect(&mut batch);
    assert_eq!(batch[0].outcome, Ok(1));
    ethernet(MAC, 0x0800, &packet)
}

#[test]
fn a_signed_packet_leaves_as_it_is_behind_ah() {
    for guards in [false, true] {
        for mode in [Mode::Tunnel, Mode::Transport] {
            let protocol = Protocol::Ah;
            let mut from = sender(Way {
                protocol,
                mode,
                guards,
                ..TUNNEL
            });
            let frame = to_host().frame();
            let sent = from.pass(frame.clone());
            let [one] = &sent[..] else {
                panic!("{} packets left: {:?}", sent.len(), from.drops());
            };
            let (ends, carried) = match mode {
                Mode::Tunnel => ([HERE.octets(), FAR.octets()].concat(), (4, aged(&frame, 1))),
                Mode::Transport => (frame[26..34].to_vec(), (17, frame[34..].to_vec())),
            };
            assert_eq!((one[14 + 9], &one[26..34]), (51, &*ends));
            assert_eq!(verified(one), Ok(carried));
        }
    }
}

#[test]
fn a_signed_packet_comes_in_and_an_altered_one_does_not() {
    for guards in [false, true] {
        let protocol = Protocol::Ah;
        let mut to = receiver(Way {
            protocol,
            guards,
            ..TUNNEL
        });
        let frame = to_host().frame();
        let good = signed(&frame[14..], 4);
        let altered = |at: usize| {
            let mut packet = packet_of(&good).to_vec();
            packet[at] ^= 1;
            ethernet(MAC, 0x0800, &summed(packet))
        };
        // Identification, source address, authentication data, payload.
        let places = [4, 12, 40, 60];
        for at in places {
            assert!(to.pass(altered(at)).is_empty(), "{at}");
        }
        let refused = (DropReason::IpsecIntegrity, places.len() as u64);
        assert!(to.drops().contains(&refused), "{:?}", to.drops());
        // The TTL may differ.
        let good = altered(8);
        let opened = to.pass(good.clone());
        let [inner] = &opened[..] else {
            panic!("{} packets came out: {:?}", opened.len(), to.drops());
        };
        assert_eq!(packet_of(inner), aged(&frame, 1));
        assert!(to.pass(good).is_empty());
        assert!(to.drops().contains(&(DropReason::IpsecReplayed, 1)));
    }
}

#[test]
fn the_number_of_one_protocol_names_nothing_of_the_other() {
    let mut to = receiver(TUNNEL);
    assert!(to.pass(signed(&to_host().frame()[14..], 4)).is_empty());
    assert_eq!(to.drops(), [(DropReason::IpsecUnknown, 1)]);
}

#[test]
fn what_is_signed_to_a_group_is_not_for_ipsec() {
    let protocol = Protocol::Ah;
    let mut to = receiver(Way { protocol, ..TUNNEL });
    let mut packet = packet_of(&signed(&to_host().frame()[14..], 112)).to_vec();
    packet[16..20].copy_from_slice(&[224, 0, 0, 18]);
    let to_group = [0x01, 0x00, 0x5e, 0, 0, 18];
    assert!(
        to.pass(ethernet(to_group, 0x0800, &summed(packet)))
            .is_empty()
    );
    assert_eq!(to.drops(), [(DropReason::MulticastNotMine, 1)]);
}

#[test]
fn a_fragment_is_not_protected_behind_its_own_header() {
    for protocol in [Protocol::Esp, Protocol::Ah] {
        let mode = Mode::Transport;
        let mut from = sender(Way {
            protocol,
            mode,
            ..TUNNEL
        });
        let fragment = Udp4 {
            fragment: 0x2000,
            ..to_host()
        };
        assert!(from.pass(fragment.frame()).is_empty());
        assert!(from.drops().contains(&(DropReason::IpsecHeaders, 1)));
    }
}
