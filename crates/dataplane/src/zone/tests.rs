use frame::{Offload, Pool};
use wire::{ipv6, udp};

use super::*;
use crate::testing::SIZES;

const TUNNEL: InterfaceId = InterfaceId::new(5, 3);
const OWN: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xa);
const PEER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xb);
const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The peer's address in the host plane: slot 5, generation 3.
const PEER_THERE: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0x30, 5, 0, 0, 0, 0xb);

#[test]
fn the_host_plane_sees_the_interface_in_the_peers_address_and_the_link_does_not() {
    for unfinished in [false, true] {
        let mut frame = datagram((PEER, OWN), unfinished);
        let before = frame.bytes().to_vec();

        assert!(enter(&mut frame, TUNNEL, Some(OWN)));
        assert_eq!(addresses(frame.bytes()), Some([PEER_THERE, HOST]));
        assert!(is_intact(&frame), "{unfinished}");

        let named = leave(&mut frame, |id| (id == TUNNEL).then_some(OWN));
        assert_eq!(named, TUNNEL);
        assert_eq!(frame.bytes(), before);
    }
}

#[test]
fn a_further_link_local_address_of_the_interface_keeps_its_own() {
    let second = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xc);
    let mut frame = datagram((PEER, second), false);

    assert!(enter(&mut frame, TUNNEL, Some(OWN)));

    let there = [PEER_THERE, embed(second, TUNNEL)];
    assert_eq!(addresses(frame.bytes()), Some(there));
    assert_eq!(leave(&mut frame, |_| Some(OWN)), TUNNEL);
    assert_eq!(addresses(frame.bytes()), Some([PEER, second]));
}

#[test]
fn a_link_local_address_that_names_an_interface_on_the_wire_does_not_enter() {
    let mut frame = datagram((PEER_THERE, OWN), false);
    let before = frame.bytes().to_vec();

    assert!(!enter(&mut frame, InterfaceId(7), Some(OWN)));
    assert_eq!(frame.bytes(), before);
}

#[test]
fn addresses_beyond_the_link_stay_and_name_no_interface() {
    let mut frame = datagram((FAR, FAR), false);
    let before = frame.bytes().to_vec();

    assert!(enter(&mut frame, TUNNEL, Some(OWN)));
    assert_eq!(leave(&mut frame, |_| None), InterfaceId::NONE);
    assert_eq!(frame.bytes(), before);
}

#[test]
fn a_group_of_the_link_may_name_the_interface_that_it_is_sent_by() {
    let group = Ipv6Addr::new(0xff02, 0, 0x30, 5, 0, 0, 0, 5);
    let mut frame = datagram((HOST, group), false);

    assert_eq!(leave(&mut frame, |_| Some(OWN)), TUNNEL);
    let plain = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 5);
    assert_eq!(addresses(frame.bytes()), Some([OWN, plain]));
    assert!(is_intact(&frame));
}

#[test]
fn an_error_quotes_the_addresses_of_its_side() {
    let quoted = datagram((OWN, PEER), false);
    let mut message = [&[1, 4, 0, 0, 0, 0, 0, 0][..], quoted.bytes()].concat();
    let len = message.len() as u32;
    let pseudo = checksum::pseudo_v6(PEER, OWN, Protocol::ICMPV6, len);
    let sum = !checksum::combine(checksum::sum(&message), pseudo);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut frame = packet(Protocol::ICMPV6, (PEER, OWN), &message);
    let before = frame.bytes().to_vec();

    assert!(enter(&mut frame, TUNNEL, Some(OWN)));
    assert!(is_intact(&frame));
    let inside = addresses(&frame.bytes()[HEADER + QUOTING..]);
    assert_eq!(inside, Some([HOST, PEER_THERE]));

    assert_eq!(leave(&mut frame, |_| Some(OWN)), TUNNEL);
    assert_eq!(frame.bytes(), before);
}

/// Returns a datagram between two addresses, optionally with a pending checksum.
fn datagram((from, to): (Ipv6Addr, Ipv6Addr), unfinished: bool) -> Frame {
    let ports = udp::Repr {
        src_port: 1000,
        dst_port: 53,
    };
    let mut upper = [&ports.to_bytes_v6(b"hello", from, to)[..], b"hello"].concat();
    if unfinished {
        let pseudo = checksum::pseudo_v6(from, to, Protocol::UDP, upper.len() as u32);
        upper[6..8].copy_from_slice(&pseudo.to_be_bytes());
    }
    let mut frame = packet(Protocol::UDP, (from, to), &upper);
    if unfinished {
        frame.offload = Offload {
            needs_checksum: true,
            checksum_start: HEADER as u16,
            checksum_offset: 6,
            ..Offload::FINISHED
        };
    }
    frame
}

fn packet(protocol: Protocol, (from, to): (Ipv6Addr, Ipv6Addr), upper: &[u8]) -> Frame {
    let header = ipv6::Repr::new(protocol, from, to);
    let bytes = [&header.to_bytes(upper.len())[..], upper].concat();
    let mut pool = Pool::new(SIZES).expect("memory");
    pool.alloc_from(&bytes).expect("room")
}

/// Completes a pending checksum as the port does. Returns true if the upper-layer checksum is
/// right.
fn is_intact(frame: &Frame) -> bool {
    let mut bytes = frame.bytes().to_vec();
    frame::finish_checksum(&mut bytes, &frame.offload).expect("the place is inside");
    let Some([from, to]) = addresses(&bytes) else {
        return false;
    };
    let upper = &bytes[HEADER..];
    let pseudo = checksum::pseudo_v6(from, to, Protocol(bytes[6]), upper.len() as u32);
    checksum::combine(checksum::sum(upper), pseudo) == checksum::INTACT
}
