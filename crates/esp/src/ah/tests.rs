//! Packets protected by scapy, and the fields that routers may and may not change.

use super::*;
use crate::{Authentication, Keys, Numbering};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .collect();
    let digit = |digit: char| digit.to_digit(16).expect("a digit") as u8;
    digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn suite(authentication: Authentication) -> Suite {
    Suite {
        encryption: Encryption::Null,
        authentication,
    }
}

fn keys(authentication: Authentication) -> Keys {
    let key: Vec<u8> = (0..authentication.key_len() as u8).collect();
    Keys::new(&[], &key)
}

fn inbound(authentication: Authentication, numbering: Numbering) -> Inbound {
    let (suite, keys) = (suite(authentication), keys(authentication));
    Inbound::new(0x1122, suite, &keys, numbering, 64).expect("it is valid")
}

fn outbound(authentication: Authentication, numbering: Numbering) -> Outbound {
    let (suite, keys) = (suite(authentication), keys(authentication));
    Outbound::new(0x1122, suite, &keys, numbering, &[0; 16]).expect("it is valid")
}

fn verified(sa: &Inbound, packet: &[u8]) -> Result<Verified, Fault> {
    let mut packet = packet.to_vec();
    let whole = packet.clone();
    let mut batch = [Verifying::new(sa, &mut packet)];
    verify(&mut batch);
    let [Verifying { outcome, .. }] = batch;
    if outcome.is_ok() {
        assert_eq!(packet, whole, "a packet that is proved is left as it was");
    }
    outcome
}

/// IPv4 with record route and router alert, HMAC-SHA1.
const V4: &str = "49880052 12344000 3f3323dd c0000201 c6336402 070b080a 00000100 00000094 04000000
    11040000 00001122 00000007 691f2a0b150d159a49f6291f 03e807d000165f1a6d757461626c65206f72206e6f74";
/// IPv6 with hop-by-hop options, one of them mutable, HMAC-SHA-256.
const V6: &str =
    "62812345 0046003d 20010db8000000000000000000000001 20010db8000000000000000000000002
    33010502 00003e04 01020304 01020000 11060000 00001122 00000007
    c5fc3fbd3f0327127fba43d64cc798b2 00000000 03e807d00016efdc6d757461626c65206f72206e6f74";

#[test]
fn packets_that_another_program_protected_are_verified() {
    for (packet, authentication, header) in [
        (V4, Authentication::Sha1, 36..60),
        (V6, Authentication::Sha256, 56..88),
    ] {
        let sa = inbound(authentication, Numbering::Short);
        let expected = Verified {
            header,
            next_header: 17,
            number: 7,
        };
        assert_eq!(verified(&sa, &hex(packet)), Ok(expected));
        assert_eq!(verified(&sa, &hex(packet)), Err(Fault::Replayed));
        assert_eq!(sa.counters().replayed, 1);
    }
}

#[test]
fn packets_are_protected_as_by_another_program() {
    for (packet, authentication, header) in [
        (V4, Authentication::Sha1, 36..60),
        (V6, Authentication::Sha256, 56..88),
    ] {
        let wanted = hex(packet);
        let mut sa = outbound(authentication, Numbering::Short);
        sa.set_number(6);
        let is_ipv6 = packet.starts_with('6');
        assert_eq!(room(sa.suite(), is_ipv6), header.len());
        let mut own = wanted.clone();
        own[header].fill(0xee);

        let mut batch = [Protecting::new(&sa, &mut own, 17)];
        protect(&mut batch);

        assert_eq!(batch[0].outcome, Ok(7));
        assert_eq!(own, wanted);
    }
}

#[test]
fn mutable_header_fields_may_change_and_no_others() {
    // Type of service, flags, TTL, checksum, and the recorded route.
    let v4: &[Range<usize>] = &[1..2, 6..9, 10..12, 20..31];
    // Traffic class and flow label, hop limit, data of the mutable option.
    let v6: &[Range<usize>] = &[1..4, 7..8, 48..52];
    for (packet, authentication, mutable) in [
        (V4, Authentication::Sha1, v4),
        (V6, Authentication::Sha256, v6),
    ] {
        let packet = hex(packet);
        for at in 0..packet.len() {
            for bit in 0..8 {
                let sa = inbound(authentication, Numbering::Short);
                let mut flipped = packet.clone();
                flipped[at] ^= 1 << bit;

                let result = verified(&sa, &flipped);

                let may_change = mutable.iter().any(|range| range.contains(&at));
                match (packet[0] >> 4, at, bit) {
                    // A fragment is no whole packet.
                    (4, 6, 0..6) | (4, 7, _) => assert_eq!(result, Err(Fault::Malformed)),
                    // A changed option length changes the parsing of the options.
                    (4, 20 | 21, _) => {}
                    // The upper half of the traffic class shares a byte with the version.
                    (6, 0, 0..4) => assert!(result.is_ok(), "bit {bit}"),
                    _ => assert_eq!(result.is_ok(), may_change, "byte {at}, bit {bit}"),
                }
            }
        }
    }
}

#[test]
fn truncated_packets_are_malformed() {
    for (packet, authentication) in [(V4, Authentication::Sha1), (V6, Authentication::Sha256)] {
        let packet = hex(packet);
        for len in 0..packet.len() {
            let sa = inbound(authentication, Numbering::Short);
            let mut cut = packet[..len].to_vec();
            assert_eq!(verified(&sa, &cut), Err(Fault::Malformed), "{len}");
            // As long as the header says, but without room for AH.
            let long = len.saturating_sub(if packet[0] >> 4 == 4 { 0 } else { 40 }) as u16;
            let at = if packet[0] >> 4 == 4 { 2 } else { 4 };
            if let Some(place) = cut.get_mut(at..at + 2) {
                place.copy_from_slice(&long.to_be_bytes());
            }
            assert!(verified(&sa, &cut).is_err(), "{len}");
        }
    }
}

#[test]
fn every_algorithm_and_family_protects_and_verifies_with_either_numbering() {
    for authentication in Authentication::all().skip(1) {
        for numbering in [Numbering::Short, Numbering::Extended] {
            let out = outbound(authentication, numbering);
            let into = inbound(authentication, numbering);
            for (is_ipv6, headers) in [(false, 20), (true, 40)] {
                let room = room(out.suite(), is_ipv6);
                let mut packets: Vec<Vec<u8>> = (0..21)
                    .map(|len| {
                        let mut packet = vec![0x33; headers + room + len];
                        let total = packet.len() as u16;
                        if is_ipv6 {
                            packet[0] = 0x60;
                            packet[4..6].copy_from_slice(&(total - 40).to_be_bytes());
                            packet[6] = 51;
                        } else {
                            packet[0] = 0x45;
                            packet[2..4].copy_from_slice(&total.to_be_bytes());
                            packet[6..8].fill(0);
                            packet[9] = 51;
                        }
                        packet
                    })
                    .collect();
                let batch = packets.iter_mut();
                let mut batch: Vec<_> = batch
                    .map(|packet| Protecting::new(&out, packet, 6))
                    .collect();
                protect(&mut batch);
                assert!(batch.iter().all(|packet| packet.outcome.is_ok()));

                let batch = packets.iter_mut();
                let mut batch: Vec<_> = batch.map(|packet| Verifying::new(&into, packet)).collect();
                verify(&mut batch);

                for packet in &batch {
                    let verified = packet.outcome.as_ref().expect("nothing was changed");
                    assert_eq!(verified.header, headers..headers + room);
                    assert_eq!(verified.next_header, 6);
                }
            }
            assert_eq!((into.number(), into.counters().packets), (42, 42));
        }
    }
}

#[test]
fn unknown_algorithms_are_refused_by_name() {
    let sa = inbound(Authentication::Sha1, Numbering::Short);
    // A source route in place of the recorded one.
    let mut routed = hex(V4);
    routed[20] = 131;
    assert_eq!(verified(&sa, &routed), Err(Fault::Unhandled));
    assert_eq!(sa.counters().unhandled, 1);
    // A routing header with a segment left.
    let sa = inbound(Authentication::Sha256, Numbering::Short);
    let mut routed = hex(V6);
    routed[6] = 43;
    routed[43] = 1;
    assert_eq!(verified(&sa, &routed), Err(Fault::Unhandled));
    // An association with encryption.
    let keys = Keys::new(&[0; 16], &[0; 20]);
    let suite = Suite {
        encryption: Encryption::AesCbc(crate::Bits::B128),
        authentication: Authentication::Sha1,
    };
    let sa = Inbound::new(0x1122, suite, &keys, Numbering::Short, 64).expect("it is valid");
    assert_eq!(check(suite), Err(Refused::NotForAh));
    assert_eq!(verified(&sa, &hex(V4)), Err(Fault::Unhandled));
}
