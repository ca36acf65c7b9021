//! Comparison with another implementation (etherparse): each parses what the other builds, and both reject the same
//! input.

use etherparse::{
    ArpPacketSlice, Icmpv4Header, Icmpv4Slice, Icmpv4Type, Icmpv6Header, Icmpv6Slice, Icmpv6Type,
    Ipv4Header, Ipv4HeaderSlice, Ipv6Header, Ipv6HeaderSlice, PacketBuilder, TcpHeaderSlice,
    TcpSlice, UdpSlice,
};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::ipv4::Fragment;
use wire::{Mac, Protocol, arp, checksum, icmpv4, icmpv6, ipv4, ipv6, tcp, udp};

fn ipv4_repr() -> impl Strategy<Value = ipv4::Repr> {
    let numbers = any::<(u8, u16, u16, u8, u8)>();
    (numbers, any::<[u8; 4]>(), any::<[u8; 4]>()).prop_map(|(numbers, src, dst)| {
        let (tos, id, fragment, ttl, protocol) = numbers;
        ipv4::Repr {
            tos,
            id,
            // The reference lacks the reserved bit.
            fragment: Fragment(fragment & 0x7fff),
            ttl,
            protocol: Protocol(protocol),
            src: src.into(),
            dst: dst.into(),
        }
    })
}

proptest! {
    #[test]
    fn an_ipv4_header_parses_as_in_the_oracle(
        repr in ipv4_repr(),
        options in vec(any::<u8>(), 0..=40),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = Vec::new();
        repr.emit(&options, payload.len(), &mut bytes);
        bytes.extend_from_slice(&payload);

        let (theirs, _) = Ipv4Header::from_slice(&bytes).unwrap();
        let ours = ipv4::Packet::new_verified(&bytes).unwrap();

        prop_assert_eq!(theirs.calc_header_checksum(), theirs.header_checksum);
        prop_assert_eq!(theirs.header_checksum, ours.checksum());
        prop_assert_eq!(theirs.total_len, ours.total_len());
        prop_assert_eq!(theirs.source, ours.src().octets());
        prop_assert_eq!(theirs.destination, ours.dst().octets());
        prop_assert_eq!(theirs.identification, ours.id());
        prop_assert_eq!(theirs.dont_fragment, ours.fragment().dont());
        prop_assert_eq!(theirs.more_fragments, ours.fragment().more());
        prop_assert_eq!(theirs.fragment_offset.value() * 8, ours.fragment().offset());
        prop_assert_eq!((theirs.time_to_live, theirs.protocol.0), (ours.ttl(), ours.protocol().0));
        prop_assert_eq!((theirs.dscp.value(), theirs.ecn.value()), (ours.dscp(), ours.ecn()));
        prop_assert_eq!(theirs.options.as_slice(), ours.options());
        prop_assert_eq!(ours.payload(), payload);
        prop_assert_eq!(ipv4::Repr::parse(&ours), repr);
    }

    #[test]
    fn invalid_ipv4_headers_are_refused_as_by_the_oracle(mut bytes in vec(any::<u8>(), 0..70), version in 3..6u8) {
        if let Some(first) = bytes.first_mut() {
            *first = version << 4 | *first & 0xf;
        }

        let theirs = Ipv4HeaderSlice::from_slice(&bytes).is_ok();
        let ours = ipv4::Packet::new_checked(&bytes);

        // The reference does not check the total length.
        let lengths = [ipv4::Malformed::TotalLengthTooSmall, ipv4::Malformed::TotalLengthTooLarge];
        let header_ok = ours.map_or_else(|error| lengths.contains(&error), |_| true);
        prop_assert_eq!(theirs, header_ok);
    }

    #[test]
    fn an_ipv6_header_parses_as_in_the_oracle(
        bytes in any::<[u8; 40]>(),
        payload in vec(any::<u8>(), 0..100),
    ) {
        let mut bytes = bytes.to_vec();
        bytes[0] = 0x60 | bytes[0] & 0xf;
        bytes[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&payload);

        let theirs = Ipv6HeaderSlice::from_slice(&bytes).unwrap();
        let ours = ipv6::Packet::new_checked(&bytes).unwrap();

        prop_assert_eq!(theirs.source(), ours.src().octets());
        prop_assert_eq!(theirs.destination(), ours.dst().octets());
        prop_assert_eq!(theirs.traffic_class(), ours.traffic_class());
        prop_assert_eq!(theirs.flow_label().value(), ours.flow_label());
        prop_assert_eq!((theirs.next_header().0, theirs.hop_limit()), (ours.next_header().0, ours.hop_limit()));
        prop_assert_eq!(&ipv6::Repr::parse(&ours).to_bytes(payload.len())[..], theirs.slice());
    }

    #[test]
    fn extension_headers_end_where_the_oracle_says(
        kinds in vec(0..4usize, 0..6),
        payload in vec(any::<u8>(), 8..60),
    ) {
        // The reference requires each extension header once and in the order of RFC 8200, 4.1.
        let mut kinds: Vec<_> = kinds;
        kinds.sort_unstable();
        kinds.dedup();
        let numbers = [Protocol::HOP_BY_HOP, Protocol::DESTINATION, Protocol::ROUTING, Protocol::FRAGMENT];
        let mut chain = Vec::new();
        for (at, &kind) in kinds.iter().enumerate() {
            let next = kinds.get(at + 1).map_or(Protocol::UDP, |&next| numbers[next]);
            let body = if kind == 0 || kind == 1 { [1, 4, 0, 0, 0, 0] } else { [0; 6] };
            chain.extend_from_slice(&[next.0, 0]);
            chain.extend_from_slice(&body);
        }
        let first = kinds.first().map_or(Protocol::UDP, |&first| numbers[first]);
        let header = ipv6::Repr::new(first, crate::seeds::A6, crate::seeds::B6);
        let body = [&chain[..], &payload].concat();
        let bytes = [&header.to_bytes(body.len())[..], &body].concat();

        let theirs = etherparse::Ipv6Slice::from_slice(&bytes).unwrap();
        let ours = ipv6::Packet::new_checked(&bytes).unwrap().upper().unwrap();

        prop_assert_eq!(theirs.payload().payload, ours.payload);
        prop_assert_eq!(theirs.payload().ip_number.0, ours.protocol.0);
        prop_assert_eq!(ours.payload, payload);
    }

    #[test]
    fn a_built_udp_datagram_is_valid_for_the_oracle(
        ports in any::<(u16, u16)>(),
        addresses in any::<([u8; 4], [u8; 4])>(),
        addresses6 in any::<([u8; 16], [u8; 16])>(),
        payload in vec(any::<u8>(), 0..200),
    ) {
        let repr = udp::Repr { src_port: ports.0, dst_port: ports.1 };
        let (src, dst) = addresses;
        let (src6, dst6) = addresses6;

        let v4 = repr.to_bytes_v4(&payload, src.into(), dst.into());
        let v6 = repr.to_bytes_v6(&payload, src6.into(), dst6.into());

        let (v4, v6) = ([&v4[..], &payload].concat(), [&v6[..], &payload].concat());
        let theirs = UdpSlice::from_slice(&v4).unwrap().to_header();
        prop_assert_eq!(theirs.calc_checksum_ipv4_raw(src, dst, &payload).unwrap(), theirs.checksum);
        prop_assert_eq!(usize::from(theirs.length), v4.len());
        let theirs = UdpSlice::from_slice(&v6).unwrap().to_header();
        prop_assert_eq!(theirs.calc_checksum_ipv6_raw(src6, dst6, &payload).unwrap(), theirs.checksum);
        let ours = udp::Datagram::new_checked(&v4).unwrap();
        prop_assert_eq!(ours.verify_v4(src.into(), dst.into()), Ok(()));
        prop_assert_eq!(udp::Repr::parse(&ours), repr);
    }

    #[test]
    fn a_built_tcp_segment_is_valid_for_the_oracle(
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32, u16, u16)>(),
        flags in any::<u8>(),
        addresses in any::<([u8; 4], [u8; 4])>(),
        payload in vec(any::<u8>(), 0..200),
        with_options in any::<bool>(),
    ) {
        let options: &[u8] = if with_options { &crate::seeds::SYN_OPTIONS } else { &[] };
        let (src, dst) = addresses;
        let (seq, ack, window, urgent) = numbers;
        let flags = tcp::Flags(flags);
        let repr = tcp::Repr { src_port: ports.0, dst_port: ports.1, seq, ack, flags, window, urgent };
        let len = tcp::Repr::len(options, &payload) as u16;
        let pseudo = checksum::pseudo_v4(src.into(), dst.into(), Protocol::TCP, len);

        let mut bytes = Vec::new();
        repr.emit(options, &payload, pseudo, &mut bytes);

        let header = TcpHeaderSlice::from_slice(&bytes).unwrap();
        let theirs = TcpSlice::from_slice(&bytes).unwrap();
        prop_assert_eq!(theirs.calc_checksum_ipv4(src, dst).unwrap(), theirs.checksum());
        prop_assert_eq!((header.sequence_number(), header.acknowledgment_number()), (seq, ack));
        prop_assert_eq!((header.syn(), header.fin(), header.cwr()), (
            flags.contains(tcp::Flags::SYN),
            flags.contains(tcp::Flags::FIN),
            flags.contains(tcp::Flags::CWR),
        ));
        prop_assert_eq!((header.window_size(), header.urgent_pointer()), (window, urgent));
        prop_assert_eq!(header.options(), options);
        let ours = tcp::Segment::new_checked(&bytes).unwrap();
        prop_assert_eq!(ours.verify_v4(src.into(), dst.into()), Ok(()));
        prop_assert_eq!(ours.mss().map(|(mss, _)| mss), with_options.then_some(1460));
    }

    #[test]
    fn an_echo_request_of_the_oracle_is_valid(
        id in any::<u16>(),
        seq in any::<u16>(),
        data in vec(any::<u8>(), 0..100),
    ) {
        let (src, dst) = (crate::seeds::A6, crate::seeds::B6);
        let mut v4 = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        builder.icmpv4_echo_request(id, seq).write(&mut v4, &data).unwrap();
        let mut v6 = Vec::new();
        let builder = PacketBuilder::ipv6(src.octets(), dst.octets(), 64);
        builder.icmpv6_echo_request(id, seq).write(&mut v6, &data).unwrap();

        let v4 = ipv4::Packet::new_verified(&v4).unwrap();
        let v6 = ipv6::Packet::new_checked(&v6).unwrap();

        let echo4 = icmpv4::Packet::new_verified(v4.payload()).unwrap();
        prop_assert_eq!(echo4.message(), icmpv4::Message::EchoRequest { id, seq, data: &data });
        let echo6 = icmpv6::Packet::new_verified(v6.payload(), src, dst).unwrap();
        prop_assert_eq!(echo6.message(), icmpv6::Message::EchoRequest { id, seq, data: &data });
    }

    #[test]
    fn a_built_icmp_error_is_valid_for_the_oracle(
        code in 0..6u8,
        mtu in any::<u16>(),
        quoted in vec(any::<u8>(), 0..100),
    ) {
        let (src, dst) = (crate::seeds::A6, crate::seeds::B6);
        let code = icmpv4::Unreachable(code);
        // The reference knows the field for this code only.
        let mtu = if code == icmpv4::Unreachable::FRAGMENTATION_NEEDED { mtu } else { 0 };
        let (mut v4, mut v6) = (Vec::new(), Vec::new());

        icmpv4::Message::Unreachable { code, mtu, quoted: &quoted }.emit(&mut v4);
        icmpv6::Message::PacketTooBig { mtu: mtu.into(), quoted: &quoted }.emit(src, dst, &mut v6);

        let theirs = Icmpv4Slice::from_slice(&v4).unwrap();
        let header = Icmpv4Header::with_checksum(theirs.icmp_type(), theirs.payload());
        prop_assert_eq!(theirs.checksum(), header.checksum);
        let is_unreachable = matches!(theirs.icmp_type(), Icmpv4Type::DestinationUnreachable(_));
        prop_assert!(is_unreachable);
        let theirs = Icmpv6Slice::from_slice(&v6).unwrap();
        let header =
            Icmpv6Header::with_checksum(theirs.icmp_type(), src.octets(), dst.octets(), theirs.payload());
        prop_assert_eq!(theirs.checksum(), header.unwrap().checksum);
        prop_assert_eq!(theirs.icmp_type(), Icmpv6Type::PacketTooBig { mtu: mtu.into() });
    }

    #[test]
    fn an_arp_packet_parses_as_in_the_oracle(
        operation in any::<u16>(),
        macs in any::<([u8; 6], [u8; 6])>(),
        addresses in any::<([u8; 4], [u8; 4])>(),
    ) {
        let repr = arp::Repr {
            operation: arp::Operation(operation),
            sender_mac: Mac(macs.0),
            sender: addresses.0.into(),
            target_mac: Mac(macs.1),
            target: addresses.1.into(),
        };

        let bytes = repr.to_bytes();

        let theirs = ArpPacketSlice::from_slice(&bytes).unwrap();
        prop_assert_eq!(theirs.operation().0, operation);
        prop_assert_eq!((theirs.sender_hw_addr(), theirs.target_hw_addr()), (&macs.0[..], &macs.1[..]));
        prop_assert_eq!(theirs.sender_protocol_addr(), &addresses.0[..]);
        prop_assert_eq!(theirs.target_protocol_addr(), &addresses.1[..]);
        prop_assert_eq!(arp::Repr::parse(&bytes), Ok(repr));
    }

    #[test]
    fn an_ipv6_header_of_the_oracle_is_valid(
        class in any::<u8>(),
        label in 0..1u32 << 20,
        payload_length in 0..64u16,
    ) {
        let theirs = Ipv6Header {
            traffic_class: class,
            flow_label: label.try_into().unwrap(),
            payload_length,
            ..Ipv6Header::default()
        };
        let mut bytes = theirs.to_bytes().to_vec();
        bytes.resize(40 + 64, 0);

        let ours = ipv6::Packet::new_checked(&bytes).unwrap();

        prop_assert_eq!((ours.traffic_class(), ours.flow_label()), (class, label));
        prop_assert_eq!(ours.payload().len(), usize::from(payload_length));
    }
}
