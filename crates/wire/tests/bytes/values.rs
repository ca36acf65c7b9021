//! Bytes written by hand from the diagrams of the RFCs, and each fault by name.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ipv6::{IpOption, MalformedOption, Unknown};
use wire::ndp::{Message, NdpOption, Options, Preference};
use wire::{Protocol, arp, checksum, icmpv4, icmpv6, ipv6, ndp, tcp, udp};

use crate::seeds::{A6, ALL_NODES, B6, MAC_A, packet6, seeds, tcp4, udp4};

/// A packet of a corpus.
fn seed(target: &str, name: &str) -> Vec<u8> {
    let found = seeds()
        .into_iter()
        .find(|seed| (seed.target, seed.name) == (target, name));
    found.unwrap().bytes
}

#[test]
fn a_router_advertisement_is_encoded_as_in_rfc_4861() {
    let bytes = seed("ndp", "ra");

    // RFC 4861, 4.2: hop limit 64, M and high preference, 1800 s, 30 s, 1 s.
    let head = [
        134, 0, 64, 0x88, 0x07, 0x08, 0, 0, 0x75, 0x30, 0, 0, 0x03, 0xe8,
    ];
    assert_eq!(bytes[..2], head[..2]);
    assert_eq!(bytes[4..16], head[2..]);
    let mut options = bytes[16..].iter().copied();
    let mut take = |count| options.by_ref().take(count).collect::<Vec<u8>>();
    assert_eq!(take(8), [1, 1, 2, 0, 0, 0, 0, 0x0a]);
    assert_eq!(take(8), [5, 1, 0, 0, 0, 0, 0x05, 0xdc]);
    // RFC 4861, 4.6.2: /64, L and A, one day, four hours, reserved, the prefix.
    assert_eq!(
        take(16),
        [
            3, 4, 64, 0xc0, 0, 1, 0x51, 0x80, 0, 0, 0x38, 0x40, 0, 0, 0, 0
        ]
    );
    assert_eq!(
        take(16),
        [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    // RFC 4191, 2.3: /48 needs eight bytes of prefix; low preference.
    assert_eq!(take(8), [24, 2, 48, 0x18, 0, 0, 0x02, 0x58]);
    assert_eq!(take(8), [0x20, 1, 0x0d, 0xb8, 0, 7, 0, 0]);
    // RFC 8106, 5.1: two servers in five units.
    assert_eq!(take(8), [25, 5, 0, 0, 0, 0, 0x04, 0xb0]);
    assert_eq!(take(32), [A6.octets(), B6.octets()].concat());
    // RFC 8106, 5.2.
    assert_eq!(take(8), [31, 3, 0, 0, 0, 0, 0x04, 0xb0]);
    assert_eq!(take(16), b"\x04home\x04arpa\0\0\0\0\0\0");
    // RFC 8781, 4: 1800 s in units of 8, code 0 for /96.
    assert_eq!(
        take(16),
        [
            38, 2, 0x07, 0x08, 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0
        ]
    );
    assert_eq!(take(1), []);
}

#[test]
fn neighbour_messages_are_encoded_as_in_rfc_4861() {
    let solicitation = seed("ndp", "ns");
    let advertisement = seed("ndp", "na");
    let redirect = seed("ndp", "redirect");

    assert_eq!((solicitation[0], &solicitation[4..8]), (135, &[0; 4][..]));
    assert_eq!(solicitation[8..24], A6.octets());
    assert_eq!(solicitation[24..], [1, 1, 2, 0, 0, 0, 0, 0x0a]);
    assert_eq!(
        (advertisement[0], &advertisement[4..8]),
        (136, &[0xe0, 0, 0, 0][..])
    );
    assert_eq!(advertisement[24..], [2, 1, 2, 0, 0, 0, 0, 0x0a]);
    assert_eq!((redirect[0], redirect[1]), (137, 0));
    assert_eq!(redirect[8..24], A6.octets());
    assert_eq!(redirect[24..40], B6.octets());
    assert_eq!(
        redirect[40..56],
        [2, 1, 2, 0, 0, 0, 0, 0x0b, 4, 6, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn a_router_advertisement_is_decoded_with_all_options() {
    let bytes = seed("ndp", "ra");
    let packet = icmpv6::Packet::new_verified(&bytes, MAC_A.link_local(), ALL_NODES).unwrap();

    let Ok(Message::RouterAdvertisement { router, options }) = Message::parse(&packet) else {
        panic!("not an advertisement");
    };

    assert_eq!((router.managed, router.other), (true, false));
    assert_eq!(
        (router.preference, router.lifetime_s),
        (Preference::High, 1800)
    );
    assert_eq!((router.reachable_ms, router.retransmit_ms), (30_000, 1000));
    assert!(options.iter().eq(crate::seeds::router_options()));
    assert_eq!((options.source(), options.target()), (Some(MAC_A), None));
}

#[test]
fn each_neighbour_message_fault_has_its_name() {
    let parse = |bytes: &[u8]| {
        let packet = icmpv6::Packet::new_checked(bytes).unwrap();
        Message::parse(&packet).map(|_| ())
    };
    let with = |at: usize, value: u8| {
        let mut bytes = seed("ndp", "ns");
        bytes[at] = value;
        bytes
    };

    assert_eq!(parse(&with(0, 128)), Err(ndp::Malformed::NotDiscovery));
    assert_eq!(parse(&with(1, 1)), Err(ndp::Malformed::Code));
    assert_eq!(
        parse(&seed("ndp", "ns")[..23]),
        Err(ndp::Malformed::Truncated)
    );
    assert_eq!(parse(&with(8, 0xff)), Err(ndp::Malformed::MulticastTarget));
    assert_eq!(parse(&with(25, 0)), Err(ndp::Malformed::OptionLengthZero));
    assert_eq!(parse(&with(25, 2)), Err(ndp::Malformed::OptionTruncated));
    assert_eq!(
        parse(&seed("ndp", "ns")[..25]),
        Err(ndp::Malformed::OptionTruncated)
    );
    assert_eq!(parse(&seed("ndp", "ns")), Ok(()));
}

#[test]
fn an_option_of_unexpected_length_is_ignored() {
    // A source address of two units, a prefix of length 129, a route longer than its bytes.
    let mut prefix = vec![3, 4, 129, 0xc0];
    prefix.resize(32, 0);
    for bytes in [
        &[1, 2, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &prefix,
        &[24, 1, 1, 0, 0, 0, 0, 9],
    ] {
        let options = Options::new_checked(bytes).unwrap();

        assert_eq!(
            options.iter().collect::<Vec<_>>(),
            [NdpOption::Other(bytes)]
        );
    }
}

#[test]
fn each_arp_fault_has_its_name() {
    let with = |at: usize, value: u8| {
        let mut bytes = seed("arp", "request");
        bytes[at] = value;
        arp::Repr::parse(&bytes).map(|_| ())
    };

    assert_eq!(
        arp::Repr::parse(&seed("arp", "request")[..27]),
        Err(arp::Malformed::Truncated)
    );
    assert_eq!(with(1, 6), Err(arp::Malformed::Hardware));
    assert_eq!(with(4, 8), Err(arp::Malformed::HardwareLength));
    assert_eq!(with(3, 1), Err(arp::Malformed::Protocol));
    assert_eq!(with(5, 16), Err(arp::Malformed::ProtocolLength));
    assert_eq!(with(7, 9), Ok(()));
}

#[test]
fn each_ipv6_fault_has_its_name() {
    let good = seed("ipv6", "udp");
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        ipv6::Packet::new_checked(&bytes).map(|_| ())
    };
    let upper = |bytes: &[u8]| ipv6::Packet::new_checked(bytes).unwrap().upper().err();
    let late = packet6(
        Protocol::DESTINATION,
        &[0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0],
    );
    let cut = packet6(Protocol::DESTINATION, &[17, 1, 1, 4, 0, 0, 0, 0]);

    assert_eq!(
        ipv6::Packet::new_checked(&good[..39]).err(),
        Some(ipv6::Malformed::Truncated)
    );
    assert_eq!(with(0, 0x40), Err(ipv6::Malformed::Version));
    assert_eq!(with(5, 255), Err(ipv6::Malformed::PayloadLength));
    assert_eq!(upper(&late), Some(ipv6::Malformed::HopByHopNotFirst));
    assert_eq!(upper(&cut), Some(ipv6::Malformed::ExtensionTruncated));
    let endless = seed("ipv6", "too-many-extensions");
    assert_eq!(upper(&endless), Some(ipv6::Malformed::TooManyExtensions));
}

#[test]
fn a_chain_of_extension_headers_is_walked_to_its_end() {
    let bytes = seed("ipv6", "chain");
    let packet = ipv6::Packet::new_checked(&bytes).unwrap();

    let upper = packet.upper().unwrap();

    assert_eq!((upper.protocol, upper.at), (Protocol::UDP, 32));
    assert_eq!((upper.hop_by_hop, upper.routing), (true, Some(16)));
    assert!(
        upper
            .fragment
            .is_some_and(|fragment| fragment.is_atomic() && fragment.id == 9)
    );
    let kinds: Vec<_> = packet
        .extensions()
        .map(|extension| extension.unwrap().kind.0)
        .collect();
    assert_eq!(kinds, [0, 60, 43, 44]);
    let routing = packet
        .extensions()
        .flatten()
        .find_map(|extension| extension.routing());
    assert_eq!(routing, Some((0, 0)));
}

#[test]
fn the_header_chain_ends_at_a_non_first_fragment() {
    // The next header field names destination options, but the fragment contains data.
    let piece = ipv6::Fragment {
        next_header: Protocol::DESTINATION,
        offset: 8,
        more: false,
        id: 1,
    };
    let bytes = packet6(
        Protocol::FRAGMENT,
        &[&piece.to_bytes()[..], &[0xff; 8]].concat(),
    );

    let upper = ipv6::Packet::new_checked(&bytes).unwrap().upper().unwrap();

    assert!(upper.is_later_piece());
    assert_eq!(
        (upper.protocol, upper.payload),
        (Protocol::DESTINATION, &[0xff; 8][..])
    );
}

#[test]
fn an_authentication_header_counts_in_words_of_four_bytes() {
    // RFC 4302, 2.2: length 4 is 24 bytes, an integrity value of 96 bits.
    let mut header = vec![17, 4];
    header.resize(24, 0);
    let bytes = packet6(Protocol::AH, &[&header[..], &udp4(b"x")].concat());

    let upper = ipv6::Packet::new_checked(&bytes).unwrap().upper().unwrap();

    assert_eq!((upper.protocol, upper.at), (Protocol::UDP, 24));
}

#[test]
fn option_types_give_the_action_for_unknown_options() {
    let options = |body: [u8; 6]| {
        let bytes = packet6(Protocol::HOP_BY_HOP, &[&[59, 0][..], &body].concat());
        let packet = ipv6::Packet::new_checked(&bytes).unwrap();
        let extension = packet.extensions().next().unwrap().unwrap();
        let found: Vec<_> = extension
            .options()
            .map(|option| option.map(|option| (option.kind, option.at, option.unknown())))
            .collect();
        found
    };

    assert_eq!(
        options([0, 0x05, 2, 0, 0, 0]),
        [Ok((IpOption::ROUTER_ALERT, 3, Unknown::Skip))]
    );
    assert_eq!(
        options([0x40, 0, 0x80, 0, 0xc0, 0]),
        [
            Ok((0x40, 2, Unknown::Drop)),
            Ok((0x80, 4, Unknown::Problem)),
            Ok((0xc0, 6, Unknown::ProblemIfUnicast)),
        ]
    );
    assert_eq!(options([1, 2, 0, 0, 5, 1]), [Err(MalformedOption(6))]);
    assert_eq!(options([1, 3, 0, 0, 0, 5]), [Err(MalformedOption(7))]);
}

#[test]
fn option_padding_is_minimal_and_zero() {
    let options = |body: &[u8]| {
        let bytes = packet6(Protocol::HOP_BY_HOP, &[&[59, 1][..], body].concat());
        let packet = ipv6::Packet::new_checked(&bytes).unwrap();
        let extension = packet.extensions().next().unwrap().unwrap();
        extension
            .options()
            .map(|option| option.map(|option| option.at))
            .collect::<Vec<_>>()
    };

    let seven = [1, 5, 0, 0, 0, 0, 0];
    let fits = [&[1, 3, 0, 0, 0][..], &[5, 0], &seven].concat();
    assert_eq!(options(&fits), [Ok(7)]);
    let mixed = [&seven[..], &[0], &[5, 4, 0, 0, 0, 0]].concat();
    assert_eq!(options(&mixed), [Err(MalformedOption(9))]);
    let at_once = [&[1, 6, 0, 0, 0, 0, 0, 0][..], &[5, 4, 0, 0, 0, 0]].concat();
    assert_eq!(options(&at_once), [Err(MalformedOption(2))]);
    let singly = [&[0; 8][..], &[5, 4, 0, 0, 0, 0]].concat();
    assert_eq!(options(&singly), [Err(MalformedOption(9))]);
    let talks = [&[1, 2, 0, 7][..], &[5, 8, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(options(&talks), [Err(MalformedOption(2))]);
}

#[test]
fn the_solicited_node_group_takes_the_last_three_bytes() {
    let target: Ipv6Addr = "2001:db8::1:80ab:cdef".parse().unwrap();

    assert_eq!(
        ipv6::solicited_node(target),
        "ff02::1:ffab:cdef".parse::<Ipv6Addr>().unwrap()
    );
}

#[test]
fn each_udp_fault_has_its_name() {
    use udp::{Datagram, Malformed};
    let (src, dst) = (crate::seeds::A, crate::seeds::B);
    let good = udp4(b"query");
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let without = seed("udp", "without-checksum");
    let without = Datagram::new_checked(&without).unwrap();

    assert_eq!(
        Datagram::new_checked(&good[..7]).err(),
        Some(Malformed::Truncated)
    );
    assert_eq!(
        Datagram::new_checked(&with(5, 7)).err(),
        Some(Malformed::LengthTooSmall)
    );
    assert_eq!(
        Datagram::new_checked(&with(5, 14)).err(),
        Some(Malformed::LengthTooLarge)
    );
    let broken = with(12, 0);
    let broken = Datagram::new_checked(&broken).unwrap();
    assert_eq!(broken.verify_v4(src, dst), Err(Malformed::Checksum));
    assert_eq!(without.verify_v4(src, dst), Ok(()));
    assert_eq!(without.verify_v6(A6, B6), Err(Malformed::NoChecksum));
}

#[test]
fn a_zero_udp_checksum_is_sent_as_all_ones() {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let repr = udp::Repr {
        src_port: 0,
        dst_port: 0,
    };
    let [high, low] =
        (!checksum::combine(checksum::pseudo_v4(src, dst, Protocol::UDP, 10), 10)).to_be_bytes();

    let bytes = repr.to_bytes_v4(&[high, low], src, dst);

    assert_eq!(bytes[6..], [0xff, 0xff]);
}

#[test]
fn each_tcp_fault_has_its_name() {
    use tcp::{Malformed, Segment};
    let good = tcp4(tcp::Flags::ACK, &[], b"data");
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };

    assert_eq!(
        Segment::new_checked(&good[..19]).err(),
        Some(Malformed::Truncated)
    );
    assert_eq!(
        Segment::new_checked(&with(12, 0x40)).err(),
        Some(Malformed::DataOffset)
    );
    assert_eq!(
        Segment::new_checked(&with(12, 0x70)).err(),
        Some(Malformed::HeaderTruncated)
    );
    let broken = with(20, 0);
    let verdict = Segment::new_checked(&broken)
        .unwrap()
        .verify_v4(crate::seeds::A, crate::seeds::B);
    assert_eq!(verdict, Err(Malformed::Checksum));
}

#[test]
fn options_of_a_segment_are_read_up_to_the_first_flaw() {
    let read = |options: [u8; 8]| {
        let bytes = tcp4(tcp::Flags::SYN, &options, &[]);
        let segment = tcp::Segment::new_checked(&bytes).unwrap();
        let found: Vec<_> = segment
            .options_iter()
            .map(|option| option.map(|option| (option.kind, option.at)))
            .collect();
        (found, segment.mss())
    };

    assert_eq!(
        read([2, 4, 5, 0xb4, 0, 9, 9, 9]),
        (vec![Ok((2, 20))], Some((1460, 22)))
    );
    assert_eq!(read([1, 3, 3, 7, 2, 4, 5, 0xa0]).1, Some((1440, 26)));
    assert_eq!(
        read([1, 1, 1, 1, 1, 2, 4, 5]),
        (vec![Err(tcp::MalformedOption(25))], None)
    );
    assert_eq!(
        read([9, 1, 0, 0, 2, 4, 5, 0xb4]),
        (vec![Err(tcp::MalformedOption(20))], None)
    );
    assert_eq!(read([2, 3, 5, 0, 0, 0, 0, 0]), (vec![Ok((2, 20))], None));
}

#[test]
fn icmp_errors_are_encoded_as_in_their_rfcs() {
    // RFC 1191, 4; RFC 792; RFC 4443, 3.2 to 3.4.
    assert_eq!(seed("icmp", "v4-fragmentation-needed")[..2], [3, 4]);
    assert_eq!(
        seed("icmp", "v4-fragmentation-needed")[4..8],
        [0, 0, 0x05, 0x78]
    );
    assert_eq!(seed("icmp", "v4-redirect")[..2], [5, 1]);
    assert_eq!(seed("icmp", "v4-redirect")[4..8], [198, 51, 100, 2]);
    assert_eq!(seed("icmp", "v4-time-exceeded")[..2], [11, 0]);
    assert_eq!(seed("icmp", "v4-parameter-problem")[..2], [12, 0]);
    assert_eq!(seed("icmp", "v4-parameter-problem")[4..8], [20, 0, 0, 0]);
    assert_eq!(seed("icmp", "v6-too-big")[..2], [2, 0]);
    assert_eq!(seed("icmp", "v6-too-big")[4..8], [0, 0, 0x05, 0]);
    assert_eq!(seed("icmp", "v6-parameter-problem")[..2], [4, 1]);
    assert_eq!(seed("icmp", "v6-parameter-problem")[4..8], [0, 0, 0, 6]);
}

#[test]
fn a_broken_icmp_checksum_is_named() {
    let mut v4 = seed("icmp", "v4-echo");
    let mut v6 = seed("icmp", "v6-echo");
    v4[9] ^= 1;
    v6[9] ^= 1;

    assert_eq!(
        icmpv4::Packet::new_verified(&v4).err(),
        Some(icmpv4::Malformed::Checksum)
    );
    assert_eq!(
        icmpv6::Packet::new_verified(&v6, A6, B6).err(),
        Some(icmpv6::Malformed::Checksum)
    );
}
