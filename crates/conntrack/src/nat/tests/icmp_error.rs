use packet::{Tuple, protocol};
use proptest::prelude::*;

use super::{Built, Checksum, pair_of, shape};
use crate::nat::{Malformed, Rewrite};

/// Returns an ICMP error from `from` to `to` that quotes the start of a packet.
fn error(from: u128, to: u128, quoted: &[u8], ipv6: bool) -> Vec<u8> {
    let built = Built {
        tuple: Tuple {
            source: from,
            destination: to,
            source_port: 0,
            // Time exceeded.
            destination_port: if ipv6 { 0x0300 } else { 0x0b00 },
            protocol: if ipv6 {
                protocol::ICMPV6
            } else {
                protocol::ICMP
            },
            ipv6,
        },
        payload: quoted.to_vec(),
        options: false,
        checksum: Checksum::Finished,
    };
    built.packet()
}

fn apply_error(packet: &mut [u8], before: &Tuple, after: &Tuple) -> Result<(), Malformed> {
    let shape = shape(packet);
    match before.ipv6 {
        true => Rewrite::<16>::of(before, after).apply_error(packet, shape),
        false => Rewrite::<4>::of(before, after).apply_error(packet, shape),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The two directions of a connection and of an error are such pairs.
    #[test]
    fn translated_errors_quote_the_packet_as_the_receiver_sent_it(
        // The CRC of a quoted SCTP packet is not updated, so SCTP is not tested.
        (before, after) in pair_of(vec![6, 6, 17, 17, 33, 47, 136, 1, 1]),
        payload in proptest::collection::vec(any::<u8>(), 0..60),
        options in any::<bool>(),
        // The length must not cut a checksum field of TCP.
        quoted in (16..=80_usize).prop_filter("whole fields", |len| ![17, 25].contains(len)),
        from_end in any::<bool>(),
        router in any::<u32>(),
    ) {
        // The quoted packet travels in the opposite direction. Errors quote at least eight bytes of the upper
        // layer (RFC 792), which identify the connection.
        let quote = |tuple: &Tuple| {
            let checksum = Checksum::Finished;
            let built = Built { tuple: tuple.reversed(), payload: payload.clone(), options, checksum };
            let packet = built.packet();
            packet[..(if tuple.ipv6 { 40 } else { 20 } + quoted).min(packet.len())].to_vec()
        };
        let router = u128::from(router);
        let from = if from_end { before.source } else { router };
        let seen_from = if before.source == after.source { from } else { after.source };
        let mut packet = error(from, before.destination, &quote(&before), before.ipv6);

        prop_assert_eq!(apply_error(&mut packet, &before, &after), Ok(()));

        let expected = error(seen_from, after.destination, &quote(&after), before.ipv6);
        prop_assert_eq!(packet, expected);
    }
}

#[test]
fn errors_of_inner_routers_hide_addresses_behind_nat() {
    // 203.0.113.7 connects to 198.51.100.1, which is translated to 10.0.0.5. The router 10.0.0.254 before
    // that host sends the error.
    let ends = |source, destination| Tuple {
        source,
        destination,
        source_port: 443,
        destination_port: 50_000,
        protocol: protocol::TCP,
        ipv6: false,
    };
    let reply = ends(0x0a00_0005, 0xcb00_7107);
    let leaves = ends(0xc633_6401, 0xcb00_7107);
    let built = |tuple: &Tuple| Built {
        tuple: tuple.reversed(),
        payload: vec![],
        options: false,
        checksum: Checksum::Finished,
    };
    let mut packet = error(0x0a00_00fe, 0xcb00_7107, &built(&reply).packet(), false);

    apply_error(&mut packet, &reply, &leaves).unwrap();

    let seen = error(0xc633_6401, 0xcb00_7107, &built(&leaves).packet(), false);
    assert_eq!(packet, seen);
}

#[test]
fn an_error_that_quotes_another_packet_is_refused_unchanged() {
    let (before, after) = (
        Tuple {
            source: 1,
            ..Tuple::default()
        },
        Tuple::default(),
    );
    for quoted in [&[][..], &[0x45; 19], &[0x60; 40], &[0; 60]] {
        let mut packet = error(1, 2, quoted, false);
        let whole = packet.clone();

        assert_eq!(apply_error(&mut packet, &before, &after), Err(Malformed));
        assert_eq!(packet, whole);
    }
}
