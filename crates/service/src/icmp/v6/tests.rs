//! ICMPv6, by the requirements of the RFCs.

use machine::Rng;

use super::*;

const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2);
const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1);
const LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 9);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

const NO_ROUTE: Error = Error::Unreachable(Unreachable::NO_ROUTE);
const TOO_BIG: Error = Error::PacketTooBig { mtu: 1_280 };

fn packet(repr: Repr, payload: &[u8]) -> Vec<u8> {
    let mut bytes = repr.to_bytes(payload.len()).to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

fn udp() -> Repr {
    Repr::new(Protocol::UDP, HOST, FAR)
}

fn is_own(address: Ipv6Addr) -> bool {
    [OWN, LOCAL].contains(&address)
}

fn to_one(packet: &[u8]) -> Offender<'_> {
    Offender {
        packet,
        sent_to: SentTo::One,
    }
}

fn icmp_packet(message: &Message<'_>, src: Ipv6Addr, dst: Ipv6Addr) -> Vec<u8> {
    build(message, Repr::new(Protocol::ICMPV6, src, dst))
}

fn echo(data: &[u8]) -> Message<'_> {
    Message::EchoRequest {
        id: 7,
        seq: 8,
        data,
    }
}

/// Parses a generated packet: its header, and its message.
fn read(bytes: &[u8]) -> (Repr, icmpv6::Packet<'_>) {
    let ip = Packet::new_checked(bytes).unwrap();
    assert_eq!(usize::from(ip.payload_len()) + HEADER_LEN, bytes.len());
    let icmp = icmpv6::Packet::new_verified(ip.payload(), ip.src(), ip.dst()).unwrap();
    (Repr::parse(&ip), icmp)
}

#[test]
fn an_error_quotes_the_packet_as_it_arrived_and_goes_to_its_sender() {
    let offender = packet(udp(), &[5; 100]);

    let bytes = error(&to_one(&offender), NO_ROUTE, OWN).unwrap();

    let (header, icmp) = read(&bytes);
    assert_eq!((header.src, header.dst), (OWN, HOST));
    let expected = Message::Unreachable {
        code: Unreachable::NO_ROUTE,
        quoted: &offender,
    };
    assert_eq!(icmp.message(), expected);
}

#[test]
fn an_error_has_at_most_1280_bytes() {
    // RFC 4443, 2.4 (c).
    let offender = packet(udp(), &[5; 1_460]);

    let bytes = error(&to_one(&offender), TOO_BIG, OWN).unwrap();

    assert_eq!(bytes.len(), 1_280);
    assert!(matches!(
        read(&bytes).1.message(),
        Message::PacketTooBig { mtu: 1_280, .. }
    ));
}

#[test]
fn no_error_is_sent_about_errors_and_redirects() {
    // RFC 4443, 2.4 (e.1) and (e.2).
    let about = Message::TimeExceeded {
        code: 0,
        quoted: &[],
    };
    let redirect = Message::Other {
        kind: Type::REDIRECT,
        code: 0,
        rest: [0; 4],
        data: &[0; 32],
    };
    // A hop-by-hop header does not hide the error.
    let inner = icmp_packet(&about, HOST, FAR);
    let mut payload = vec![Protocol::ICMPV6.0, 0, 1, 4, 0, 0, 0, 0];
    payload.extend_from_slice(&inner[HEADER_LEN..]);
    let extended = packet(Repr::new(Protocol::HOP_BY_HOP, HOST, FAR), &payload);
    let later_piece = [Protocol::ICMPV6.0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0];
    let piece = packet(Repr::new(Protocol::FRAGMENT, HOST, FAR), &later_piece);

    for packet in [
        &inner,
        &icmp_packet(&redirect, HOST, FAR),
        &extended,
        &piece,
    ] {
        assert_eq!(owed(&to_one(packet), NO_ROUTE), Err(NotOwed::IsError));
    }
    let echo = icmp_packet(&echo(&[]), HOST, FAR);
    assert_eq!(owed(&to_one(&echo), NO_ROUTE), Ok(HOST));
}

#[test]
fn multicast_packets_cause_only_size_and_option_errors() {
    // RFC 4443, 2.4 (e.3).
    let dst = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 9);
    let offender = packet(Repr { dst, ..udp() }, &[0; 8]);
    let problem = |code| Error::ParameterProblem { code, pointer: 40 };
    let answer = |error| owed(&to_one(&offender), error);

    assert_eq!(answer(NO_ROUTE), Err(NotOwed::SentToMany));
    assert_eq!(answer(Error::TimeExceeded), Err(NotOwed::SentToMany));
    assert_eq!(answer(problem(Parameter::Field)), Err(NotOwed::SentToMany));
    assert_eq!(answer(problem(Parameter::Option)), Ok(HOST));
    assert_eq!(answer(TOO_BIG), Ok(HOST));

    let unicast = packet(udp(), &[0; 8]);
    let in_group_frame = Offender {
        packet: &unicast,
        sent_to: SentTo::Many,
    };
    assert_eq!(owed(&in_group_frame, NO_ROUTE), Err(NotOwed::SentToMany));
}

#[test]
fn no_error_is_sent_to_non_unicast_sources() {
    // RFC 4443, 2.4 (e.6).
    for src in [Ipv6Addr::UNSPECIFIED, ALL_NODES, Ipv6Addr::LOCALHOST] {
        let offender = packet(Repr { src, ..udp() }, &[0; 8]);

        assert_eq!(
            owed(&to_one(&offender), TOO_BIG),
            Err(NotOwed::Source),
            "{src}"
        );
    }
}

#[test]
fn an_echo_reply_has_the_requests_destination_as_source() {
    // RFC 4443, 4.2.
    let data = [9; 33];
    let mut request = icmp_packet(&echo(&data), HOST, OWN);
    wire::ipv6::HeaderMut::new_checked(&mut request)
        .unwrap()
        .set_traffic_class(0x20);

    let bytes = echo_reply(&to_one(&request), LOCAL, is_own).unwrap();

    let (header, icmp) = read(&bytes);
    assert_eq!((header.src, header.dst), (OWN, HOST));
    assert_eq!((header.traffic_class, header.hop_limit), (0x20, 64));
    let reply = Message::EchoReply {
        id: 7,
        seq: 8,
        data: &data,
    };
    assert_eq!(icmp.message(), reply);
}

#[test]
fn a_multicast_echo_is_answered_from_the_local_address() {
    // Multicast, and the subnet-router anycast address (RFC 4443, 2.2).
    let routers = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0);
    for to in [ALL_NODES, routers] {
        let request = icmp_packet(&echo(&[]), HOST, to);

        let bytes = echo_reply(&to_one(&request), LOCAL, is_own).unwrap();

        assert_eq!(read(&bytes).0.src, LOCAL);
    }
}

#[test]
fn truncated_and_damaged_echo_requests_get_no_reply() {
    let mut corrupt = icmp_packet(&echo(&[1, 2]), HOST, OWN);
    *corrupt.last_mut().unwrap() ^= 1;
    let reply = Message::EchoReply {
        id: 1,
        seq: 1,
        data: &[],
    };
    let first_piece = [
        Protocol::ICMPV6.0,
        0,
        0,
        1,
        0,
        0,
        0,
        1,
        128,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    let piece = packet(Repr::new(Protocol::FRAGMENT, HOST, OWN), &first_piece);
    let nobody = icmp_packet(&echo(&[]), Ipv6Addr::UNSPECIFIED, OWN);
    let refused = |packet: &[u8]| echo_reply(&to_one(packet), OWN, is_own).unwrap_err();

    assert_eq!(refused(&corrupt), NotOwed::Malformed);
    assert_eq!(refused(&icmp_packet(&reply, HOST, OWN)), NotOwed::NoEcho);
    assert_eq!(refused(&packet(udp(), &[0; 8])), NotOwed::NoEcho);
    assert_eq!(refused(&piece), NotOwed::Fragment);
    assert_eq!(refused(&nobody), NotOwed::Source);
}

fn better_hop() -> BetterHop {
    BetterHop {
        target: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9),
        mac: Some(Mac([2, 0, 0, 0, 0, 9])),
        sender_is_neighbour: true,
    }
}

#[test]
fn a_redirect_names_the_better_hop_and_quotes_within_1280_bytes() {
    // RFC 4861, 8.2.
    for len in [8, 61, 1_400] {
        let offender = packet(udp(), &vec![5; len]);

        let bytes = redirect(&to_one(&offender), &better_hop(), LOCAL).unwrap();

        assert!(bytes.len() <= 1_280, "{len}");
        let (header, icmp) = read(&bytes);
        assert_eq!(
            (header.src, header.dst, header.hop_limit),
            (LOCAL, HOST, 255)
        );
        let message = ndp::Message::parse(&icmp).unwrap();
        let ndp::Message::Redirect {
            target,
            destination,
            options,
        } = message
        else {
            panic!("{message:?}");
        };
        assert_eq!((target, destination), (better_hop().target, FAR));
        assert_eq!(options.target(), better_hop().mac);
        let quoted = options.iter().find_map(|option| match option {
            NdpOption::Redirected(quoted) => Some(quoted),
            _ => None,
        });
        let quoted = quoted.unwrap();
        let shared = quoted.len().min(offender.len());
        assert_eq!(quoted[..shared], offender[..shared]);
    }
}

#[test]
fn redirects_are_sent_only_where_they_help() {
    let plain = packet(udp(), &[0; 8]);
    let routing = [Protocol::UDP.0, 0, 0, 0, 0, 0, 0, 0];
    let routed = packet(Repr::new(Protocol::ROUTING, HOST, FAR), &routing);
    let refused = |packet: &[u8], hop: BetterHop, source| {
        redirect(&to_one(packet), &hop, source).unwrap_err()
    };
    let stranger = BetterHop {
        sender_is_neighbour: false,
        ..better_hop()
    };
    let global_router = BetterHop {
        target: OWN,
        ..better_hop()
    };
    let on_link = BetterHop {
        target: FAR,
        ..better_hop()
    };

    assert_eq!(refused(&plain, stranger, LOCAL), NotOwed::NoBetterWay);
    assert_eq!(refused(&plain, global_router, LOCAL), NotOwed::NoBetterWay);
    assert_eq!(refused(&plain, better_hop(), OWN), NotOwed::NoBetterWay);
    assert_eq!(refused(&routed, better_hop(), LOCAL), NotOwed::NoBetterWay);
    assert!(redirect(&to_one(&plain), &on_link, LOCAL).is_ok());
}

#[test]
fn the_source_is_the_destination_or_the_best_by_scope_and_prefix() {
    let other = Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 1);
    let own = [LOCAL, other, OWN];
    let local_host = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77);

    assert_eq!(source(Some(other), own, HOST), Some(other));
    assert_eq!(source(None, own, HOST), Some(OWN));
    assert_eq!(source(None, own, local_host), Some(LOCAL));
    assert_eq!(source(None, [LOCAL], HOST), Some(LOCAL));
    assert_eq!(source(None, [], HOST), None);
}

#[test]
fn random_packets_never_panic_and_output_is_well_formed() {
    let mut extended = vec![Protocol::ICMPV6.0, 0, 1, 4, 0, 0, 0, 0];
    extended.extend_from_slice(&icmp_packet(&echo(&[3; 30]), HOST, OWN)[HEADER_LEN..]);
    let seeds = [
        packet(udp(), &[0; 40]),
        icmp_packet(&echo(&[3; 30]), HOST, OWN),
        packet(Repr::new(Protocol::HOP_BY_HOP, HOST, OWN), &extended),
    ];
    for seed in 0..20_000 {
        let mut rng = Rng::seeded(seed);
        let mut bytes = seeds[rng.below(3) as usize].clone();
        for _ in 0..rng.below(5) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.next_u32() as u8;
        }
        bytes.truncate(rng.below(2 * bytes.len() as u64) as usize);
        let offender = to_one(&bytes);

        let built = [
            error(&offender, TOO_BIG, OWN),
            echo_reply(&offender, OWN, is_own),
            redirect(&offender, &better_hop(), LOCAL),
        ];

        for bytes in built.iter().flatten() {
            read(bytes);
        }
    }
}
