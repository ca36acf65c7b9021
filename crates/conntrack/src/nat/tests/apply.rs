use etherparse::{Ipv4Slice, Ipv6Slice, TcpSlice, UdpSlice};
use packet::{Fragment, Tuple, protocol};
use proptest::prelude::*;

use super::{Built, Checksum, pair, pair_of, rewritten, shape};
use crate::nat::{Malformed, PacketLayout, Rewrite};

fn built() -> impl Strategy<Value = (Built, Tuple)> {
    built_from(pair())
}

fn built_from(
    pair: impl Strategy<Value = (Tuple, Tuple)>,
) -> impl Strategy<Value = (Built, Tuple)> {
    let checksum = prop::sample::select(vec![
        Checksum::Finished,
        Checksum::Finished,
        Checksum::Unfinished,
        Checksum::None,
    ]);
    let payload = proptest::collection::vec(any::<u8>(), 0..100);
    (pair, payload, any::<bool>(), checksum).prop_map(
        |((tuple, after), payload, options, checksum)| {
            let built = Built {
                tuple,
                payload,
                options,
                checksum,
            };
            (built, after)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_rewritten_packet_equals_a_fresh_packet_of_the_new_sender((built, after) in built()) {
        let packet = built.packet();
        let shape = built.shape(&packet);

        let packet = rewritten(packet, &built.tuple, &after, shape);

        prop_assert_eq!(packet, built.with(after).packet());
    }

    #[test]
    fn a_rewrite_and_its_inverse_cancel_out((built, after) in built()) {
        let packet = built.packet();
        let shape = built.shape(&packet);

        let there = rewritten(packet.clone(), &built.tuple, &after, shape);
        let back = rewritten(there, &after, &built.tuple, shape);

        prop_assert_eq!(back, packet);
    }

    #[test]
    fn checksums_are_correct_by_another_implementation((built, after) in built()) {
        let built = Built { checksum: Checksum::Finished, ..built };
        let packet = built.packet();
        let shape = built.shape(&packet);

        verify(&rewritten(packet, &built.tuple, &after, shape));
    }

    #[test]
    fn a_wrong_checksum_stays_wrong((built, after) in built(), flip in 1..=u8::MAX) {
        let built = Built { checksum: Checksum::Finished, ..built };
        prop_assume!(!built.payload.is_empty());
        let broken = |mut packet: Vec<u8>| {
            *packet.last_mut().unwrap() ^= flip;
            packet
        };
        let packet = broken(built.packet());
        let shape = built.shape(&packet);

        let packet = rewritten(packet, &built.tuple, &after, shape);

        prop_assert_eq!(packet, broken(built.with(after).packet()));
    }

    #[test]
    fn fragments_are_rewritten_like_their_datagram(
        // A fragment of SCTP with other ports is refused, as tested below.
        (built, after) in built_from(pair_of(vec![6, 17, 33, 47, 136, 1])),
    ) {
        let built = Built { options: built.options && !built.tuple.ipv6, ..built };
        let after = built.with(after);

        for (part, expected) in fragments(&built).into_iter().zip(fragments(&after)) {
            let unfinished = built.checksum == Checksum::Unfinished;
            let shape = PacketLayout { unfinished, ..shape(&part) };
            prop_assert_eq!(rewritten(part, &built.tuple, &after.tuple, shape), expected);
        }
    }

    #[test]
    fn a_truncated_packet_is_refused_unchanged((built, after) in built(), cut in any::<u16>()) {
        let whole = built.packet();
        let mut packet = whole[..usize::from(cut) % whole.len()].to_vec();
        let before = packet.clone();
        let shape = built.shape(&whole);

        let applied = match built.tuple.ipv6 {
            true => Rewrite::<16>::of(&built.tuple, &after).apply(&mut packet, shape),
            false => Rewrite::<4>::of(&built.tuple, &after).apply(&mut packet, shape),
        };

        if applied == Err(Malformed) {
            prop_assert_eq!(packet, before);
        }
    }

    #[test]
    fn forwarding_rewrites_and_decrements_the_ttl(
        (built, after) in built_from(pair_of(vec![6, 17])),
    ) {
        let built = Built { options: false, ..built };
        let mut packet = built.packet();
        let shape = built.shape(&packet);
        let mut expected = rewritten(packet.clone(), &built.tuple, &after, shape);

        let unfinished = shape.unfinished;
        if built.tuple.ipv6 {
            expected[7] -= 1;
            Rewrite::<16>::of(&built.tuple, &after).forward(&mut packet, unfinished).unwrap();
        } else {
            expected[8] -= 1;
            samples::seal(&mut expected[..20]);
            Rewrite::<4>::of(&built.tuple, &after).forward(&mut packet, unfinished).unwrap();
        }

        prop_assert_eq!(packet, expected);
    }

    #[test]
    fn a_rewrite_round_trips_through_words((before, after) in pair()) {
        let small = Rewrite::<4>::of(&before, &after);
        let large = Rewrite::<16>::of(&before, &after);

        prop_assert_eq!(Rewrite::<4>::from_words(small.to_words()), small);
        prop_assert_eq!(Rewrite::<16>::from_words(large.to_words()), large);
        prop_assert_eq!(small.is_identity() || before.ipv6, before == after || before.ipv6);
    }

    #[test]
    fn random_bytes_are_harmless(
        mut packet in proptest::collection::vec(any::<u8>(), 0..120),
        (before, after) in pair(),
        upper in any::<u16>(),
        len in 0..200_u32,
    ) {
        let read = shape(&packet);
        for shape in [read, PacketLayout { upper: upper % 150, len, ..read }] {
            let _ = Rewrite::<4>::of(&before, &after).apply(&mut packet, shape);
            let _ = Rewrite::<16>::of(&before, &after).apply(&mut packet, shape);
            let _ = Rewrite::<4>::of(&before, &after).apply_error(&mut packet, shape);
            let _ = Rewrite::<16>::of(&before, &after).apply_error(&mut packet, shape);
            let _ = Rewrite::<4>::of(&before, &after).forward(&mut packet, false);
            let _ = Rewrite::<16>::of(&before, &after).forward(&mut packet, false);
        }
    }
}

/// Splits a packet without extension headers into two fragments, the first with 24 bytes.
fn fragments(built: &Built) -> [Vec<u8>; 2] {
    let packet = built.packet();
    let ipv6 = built.tuple.ipv6;
    let header = if ipv6 {
        40
    } else {
        usize::from(packet[0] & 0xf) * 4
    };
    let (network, upper) = packet.split_at(header);
    let (first, later) = upper.split_at(upper.len().min(24));
    [(first, 0, true), (later, 3, false)].map(|(part, offset, more)| {
        let mut packet = network.to_vec();
        if ipv6 {
            let field = (offset << 3 | u16::from(more)).to_be_bytes();
            packet.extend([packet[6], 0, field[0], field[1], 0, 0, 0, 1]);
            packet[6] = 44;
            packet[4..6].copy_from_slice(&(8 + part.len() as u16).to_be_bytes());
        } else {
            let field = offset | u16::from(more) << 13;
            packet[6..8].copy_from_slice(&field.to_be_bytes());
            packet[2..4].copy_from_slice(&((header + part.len()) as u16).to_be_bytes());
            samples::seal(&mut packet);
        }
        packet.extend(part);
        packet
    })
}

/// Compares every checksum that etherparse can compute with the checksum in the packet.
fn verify(packet: &[u8]) {
    if packet[0] >> 4 == 4 {
        let ip = Ipv4Slice::from_slice(packet).expect("an IPv4 packet");
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        let payload = ip.payload().payload;
        match header.protocol.0 {
            protocol::TCP => {
                let tcp = TcpSlice::from_slice(payload).unwrap();
                let sum = tcp.calc_checksum_ipv4(header.source, header.destination);
                assert_eq!(tcp.checksum(), sum.unwrap());
            }
            protocol::UDP => {
                let udp = UdpSlice::from_slice(payload).unwrap();
                let sum = udp.to_header().calc_checksum_ipv4(&header, udp.payload());
                assert_eq!(udp.checksum(), sum.unwrap());
            }
            protocol::ICMP => {
                let icmp = etherparse::Icmpv4Slice::from_slice(payload).unwrap();
                let sum = icmp.icmp_type().calc_checksum(icmp.payload());
                assert_eq!(icmp.checksum(), sum);
            }
            _ => {}
        }
    } else {
        let ip = Ipv6Slice::from_slice(packet).expect("an IPv6 packet");
        let (source, destination) = (ip.header().source(), ip.header().destination());
        let payload = ip.payload().payload;
        match ip.payload().ip_number.0 {
            protocol::TCP => {
                let tcp = TcpSlice::from_slice(payload).unwrap();
                let sum = tcp.calc_checksum_ipv6(source, destination);
                assert_eq!(tcp.checksum(), sum.unwrap());
            }
            protocol::UDP => {
                let udp = UdpSlice::from_slice(payload).unwrap();
                let sum =
                    udp.to_header()
                        .calc_checksum_ipv6_raw(source, destination, udp.payload());
                assert_eq!(udp.checksum(), sum.unwrap());
            }
            protocol::ICMPV6 => {
                let icmp = etherparse::Icmpv6Slice::from_slice(payload).unwrap();
                assert!(icmp.is_checksum_valid(source, destination));
            }
            _ => {}
        }
    }
}

#[test]
fn a_zero_udp_checksum_is_sent_as_all_ones() {
    let echo = |id| Tuple {
        source: 1,
        destination: 2,
        source_port: id,
        destination_port: 0,
        protocol: protocol::ICMP,
        ipv6: false,
    };
    let built = Built {
        tuple: echo(7),
        payload: vec![],
        options: false,
        checksum: Checksum::Finished,
    };

    let packet = rewritten(built.packet(), &echo(7), &echo(0), shape(&built.packet()));

    assert_eq!(packet[20..], [0, 0, 0xff, 0xff, 0, 0, 0, 0]);
}

#[test]
fn a_fragment_of_sctp_cannot_be_translated() {
    let tuple = |source_port| Tuple {
        source_port,
        protocol: protocol::SCTP,
        ..Tuple::default()
    };
    let built = Built {
        tuple: tuple(1),
        payload: vec![0; 16],
        options: false,
        checksum: Checksum::Finished,
    };
    let mut packet = built.packet();
    let before = packet.clone();
    let first = PacketLayout {
        fragment: Fragment::First,
        ..shape(&packet)
    };

    let other = Rewrite::<4>::of(&tuple(1), &tuple(2)).apply(&mut packet, first);

    assert_eq!((other, packet), (Err(Malformed), before));
}

#[test]
fn pptp_tunnel_packets_get_the_receivers_call_id() {
    let before = Tuple {
        source: 0xc000_0209,
        destination: 0xc633_6401,
        destination_port: 77,
        protocol: protocol::GRE,
        ..Tuple::default()
    };
    let after = Tuple {
        destination: 0x0a00_0002,
        destination_port: 5,
        ..before
    };
    let built = |tuple: Tuple| {
        let [high, low] = tuple.destination_port.to_be_bytes();
        Built {
            tuple,
            payload: vec![0x30, 1, 0x88, 0x0b, 0, 2, high, low, 0, 0, 0, 1, 0xff, 3],
            options: false,
            checksum: Checksum::Finished,
        }
    };
    let packet = built(before).packet();
    let shape = shape(&packet);
    assert_eq!(packet::Fields::of(&packet).tuple, before);

    assert_eq!(
        rewritten(packet, &before, &after, shape),
        built(after).packet()
    );

    let words = Rewrite::<4>::of(&before, &after).to_words();
    assert_eq!(Rewrite::<4>::from_words(words).call(), Some(5));
    let same = Rewrite::<4>::of(
        &before,
        &Tuple {
            destination_port: 77,
            ..after
        },
    );
    assert_eq!(same.call(), None);
}
