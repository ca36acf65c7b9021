//! ICMPv4, by the requirements of the RFCs.

use machine::Rng;
use wire::ipv4::Fragment;

use super::*;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

const UNREACHABLE: Error = Error::Unreachable(Unreachable::HOST);

fn packet(repr: Repr, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    repr.emit(options, payload.len(), &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn udp() -> Repr {
    Repr {
        tos: 0x28,
        ttl: 1,
        ..Repr::new(Protocol::UDP, HOST, FAR)
    }
}

fn to_one(packet: &[u8]) -> Offender<'_> {
    Offender {
        packet,
        sent_to: SentTo::One,
    }
}

fn icmp_packet(message: &Message<'_>, dst: Ipv4Addr) -> Vec<u8> {
    let mut payload = Vec::new();
    message.emit(&mut payload);
    packet(Repr::new(Protocol::ICMP, HOST, dst), &[], &payload)
}

fn echo(data: &[u8]) -> Message<'_> {
    Message::EchoRequest {
        id: 7,
        seq: 8,
        data,
    }
}

/// Parses a generated packet: its header, and its message.
fn read(bytes: &[u8]) -> (Repr, Message<'_>) {
    let ip = Packet::new_verified(bytes).unwrap();
    let icmp = icmpv4::Packet::new_verified(ip.payload()).unwrap();
    (Repr::parse(&ip), icmp.message())
}

#[test]
fn an_error_quotes_the_packet_as_it_arrived_and_goes_to_its_sender() {
    let offender = packet(udp(), &[], &[5; 100]);

    let bytes = error(&to_one(&offender), Error::TimeExceeded, OWN, 77).unwrap();

    let (header, message) = read(&bytes);
    assert_eq!((header.src, header.dst, header.id), (OWN, HOST, 77));
    let quoted = &offender[..];
    assert_eq!(message, Message::TimeExceeded { code: 0, quoted });
}

#[test]
fn an_error_has_at_most_576_bytes() {
    // RFC 1812, 4.3.2.3.
    let offender = packet(udp(), &[], &[5; 1_400]);

    let bytes = error(&to_one(&offender), UNREACHABLE, OWN, 0).unwrap();

    assert_eq!(bytes.len(), 576);
}

#[test]
fn padding_of_the_frame_is_not_quoted() {
    let mut offender = packet(udp(), &[], &[5; 2]);
    offender.resize(46, 0);

    let bytes = error(&to_one(&offender), UNREACHABLE, OWN, 0).unwrap();

    assert_eq!(bytes.len(), 20 + 8 + 22);
}

#[test]
fn an_error_has_the_precedence_of_internetwork_control() {
    // RFC 1812, 4.3.2.5.
    let bytes = error(&to_one(&packet(udp(), &[], &[0; 8])), UNREACHABLE, OWN, 0).unwrap();

    assert_eq!(read(&bytes).0.tos, 0xc8);
}

#[test]
fn fragmentation_needed_carries_the_mtu() {
    // RFC 1191, 4.
    let offender = packet(udp(), &[], &[0; 8]);
    let needed = Error::FragmentationNeeded { mtu: 1_400 };

    let bytes = error(&to_one(&offender), needed, OWN, 0).unwrap();

    let expected = Message::Unreachable {
        code: Unreachable::FRAGMENTATION_NEEDED,
        mtu: 1_400,
        quoted: &offender,
    };
    assert_eq!(read(&bytes).1, expected);
}

#[test]
fn a_parameter_problem_has_a_pointer() {
    let offender = packet(udp(), &[], &[0; 8]);
    let problem = Error::ParameterProblem { pointer: 21 };

    let bytes = error(&to_one(&offender), problem, OWN, 0).unwrap();

    assert!(matches!(
        read(&bytes).1,
        Message::ParameterProblem { pointer: 21, .. }
    ));
}

#[test]
fn no_error_is_sent_about_errors() {
    // RFC 1812, 4.3.2.7.
    let quoted = packet(udp(), &[], &[0; 8]);
    let bytes = error(&to_one(&quoted), UNREACHABLE, HOST, 0).unwrap();
    let mut about_error = bytes;
    about_error[12..16].copy_from_slice(&HOST.octets());
    let truncated = packet(Repr::new(Protocol::ICMP, HOST, FAR), &[], &[8, 0]);

    assert_eq!(owed(&to_one(&about_error)), Err(NotOwed::IsError));
    assert_eq!(owed(&to_one(&truncated)), Err(NotOwed::IsError));
    assert_eq!(owed(&to_one(&icmp_packet(&echo(&[]), FAR))), Ok(HOST));
}

#[test]
fn errors_are_sent_about_first_fragments_only() {
    let piece = |offset| Repr {
        fragment: Fragment::piece(offset, true),
        ..udp()
    };

    assert_eq!(owed(&to_one(&packet(piece(0), &[], &[0; 8]))), Ok(HOST));
    let later = packet(piece(8), &[], &[0; 8]);
    assert_eq!(owed(&to_one(&later)), Err(NotOwed::Fragment));
}

#[test]
fn no_error_is_sent_about_broadcast_and_multicast() {
    let unicast = packet(udp(), &[], &[0; 8]);
    let in_broadcast_frame = Offender {
        packet: &unicast,
        sent_to: SentTo::Many,
    };
    assert_eq!(owed(&in_broadcast_frame), Err(NotOwed::SentToMany));

    for dst in [Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 5)] {
        let offender = packet(Repr { dst, ..udp() }, &[], &[0; 8]);
        assert_eq!(owed(&to_one(&offender)), Err(NotOwed::SentToMany));
    }
}

#[test]
fn no_error_is_sent_to_non_unicast_sources() {
    for src in [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
    ] {
        let src = src.parse().unwrap();
        let offender = packet(Repr { src, ..udp() }, &[], &[0; 8]);

        assert_eq!(owed(&to_one(&offender)), Err(NotOwed::Source), "{src}");
    }
}

#[test]
fn an_echo_reply_has_the_requests_data_and_destination_as_source() {
    // RFC 1122, 3.2.2.6.
    let data: Vec<u8> = (0..=255).collect();
    let mut request = icmp_packet(&echo(&data), OWN);
    wire::ipv4::HeaderMut::new_checked(&mut request)
        .unwrap()
        .set_tos(0x10);

    let bytes = echo_reply(&to_one(&request), 99).unwrap();

    let (header, message) = read(&bytes);
    let reply = Message::EchoReply {
        id: 7,
        seq: 8,
        data: &data,
    };
    assert_eq!(message, reply);
    assert_eq!((header.src, header.dst, header.tos), (OWN, HOST, 0x10));
    assert_eq!((header.ttl, header.id), (64, 99));
}

#[test]
fn truncated_damaged_and_broadcast_echo_requests_get_no_reply() {
    let good = icmp_packet(&echo(&[1, 2]), OWN);
    let mut corrupt = good.clone();
    *corrupt.last_mut().unwrap() ^= 1;
    let reply = Message::EchoReply {
        id: 1,
        seq: 1,
        data: &[],
    };
    let broadcast = icmp_packet(&echo(&[]), Ipv4Addr::BROADCAST);
    let piece = Repr {
        fragment: Fragment::piece(0, true),
        ..Repr::new(Protocol::ICMP, HOST, OWN)
    };
    let many = Offender {
        packet: &good,
        sent_to: SentTo::Many,
    };
    let refused = |packet: &[u8]| echo_reply(&to_one(packet), 0).unwrap_err();

    assert_eq!(refused(&corrupt), NotOwed::Malformed);
    assert_eq!(refused(&good[..good.len() - 1]), NotOwed::Malformed);
    assert_eq!(refused(&icmp_packet(&reply, OWN)), NotOwed::NoEcho);
    assert_eq!(refused(&packet(udp(), &[], &[0; 8])), NotOwed::NoEcho);
    assert_eq!(refused(&broadcast), NotOwed::SentToMany);
    assert_eq!(
        refused(&packet(piece, &[], &[8, 0, 0xf7, 0xff])),
        NotOwed::Fragment
    );
    assert_eq!(echo_reply(&many, 0), Err(NotOwed::SentToMany));
}

#[test]
fn a_record_route_reply_contains_the_local_address() {
    // RFC 1122, 3.2.2.6: "this option SHOULD be updated to include the current host".
    let mut payload = Vec::new();
    echo(&[]).emit(&mut payload);
    let header = Repr::new(Protocol::ICMP, HOST, OWN);
    let recorded = |pointer: u8| {
        let option = [7, 11, pointer, 1, 1, 1, 1, 0, 0, 0, 0];
        let request = packet(header, &option, &payload);
        let bytes = echo_reply(&to_one(&request), 0).unwrap();
        let ip = Packet::new_verified(&bytes).unwrap();
        let option = ip.options_iter().next().unwrap().unwrap();
        option.data.to_vec()
    };

    assert_eq!(recorded(8), [12, 1, 1, 1, 1, 10, 0, 0, 1]);
    assert_eq!(recorded(12), [12, 1, 1, 1, 1, 0, 0, 0, 0], "full");
    assert_eq!(recorded(0), [0, 1, 1, 1, 1, 0, 0, 0, 0], "nonsense stays");
}

#[test]
fn a_redirect_names_the_gateway_for_the_host() {
    // RFC 1812, 5.2.7.2.
    let offender = packet(udp(), &[], &[0; 8]);
    let gateway = Ipv4Addr::new(10, 0, 0, 254);

    let bytes = redirect(&to_one(&offender), gateway, [(OWN, 24)], OWN, 0).unwrap();

    let quoted = &offender[..];
    let expected = Message::Redirect {
        code: 1,
        gateway,
        quoted,
    };
    assert_eq!(read(&bytes).1, expected);
}

#[test]
fn redirects_are_sent_only_where_they_help() {
    let plain = packet(udp(), &[], &[0; 8]);
    let routed = packet(udp(), &[131, 7, 4, 0, 0, 0, 0], &[0; 8]);
    let gateway = Ipv4Addr::new(10, 0, 0, 254);
    let refused = |packet: &[u8], gateway, network| {
        redirect(&to_one(packet), gateway, [network], OWN, 0).unwrap_err()
    };

    let no = NotOwed::NoBetterWay;
    assert_eq!(
        refused(&plain, gateway, (FAR, 24)),
        no,
        "the sender is not on the link"
    );
    assert_eq!(
        refused(&plain, FAR, (OWN, 24)),
        no,
        "the gateway is not on the link"
    );
    assert_eq!(
        refused(&plain, HOST, (OWN, 24)),
        no,
        "the sender is the gateway"
    );
    assert_eq!(refused(&routed, gateway, (OWN, 24)), no, "a source route");
}

#[test]
fn the_source_address_follows_destination_policy_and_availability() {
    // RFC 1812, 4.3.2.4.
    let [a, b, c, d] = [1, 2, 3, 4].map(|n| Some(Ipv4Addr::new(10, 0, 0, n)));
    let all = Sources {
        destination: a,
        inbound: b,
        outbound: c,
        router: d,
    };
    let transit = Sources {
        destination: None,
        ..all
    };
    let unnumbered = Sources {
        outbound: None,
        ..transit
    };
    use SourcePolicy::{Inbound, Outbound};

    assert_eq!(source(&all, Inbound), a);
    assert_eq!(source(&transit, Outbound), c);
    assert_eq!(source(&transit, Inbound), b);
    assert_eq!(source(&unnumbered, Outbound), d);
    assert_eq!(source(&Sources::default(), Outbound), None);
}

#[test]
fn random_packets_never_panic_and_output_is_well_formed() {
    let seeds = [
        packet(udp(), &[131, 7, 4, 0, 0, 0, 0], &[0; 40]),
        icmp_packet(&echo(&[3; 30]), OWN),
        packet(
            Repr::new(Protocol::ICMP, HOST, OWN),
            &[7, 7, 4, 0, 0, 0, 0],
            &[8, 0, 0xf7, 0xff],
        ),
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
            error(&offender, UNREACHABLE, OWN, 0),
            echo_reply(&offender, 0),
            redirect(&offender, OWN, [(OWN, 24)], OWN, 0),
        ];

        for bytes in built.iter().flatten() {
            read(bytes);
            assert!(bytes.len() <= 576, "seed {seed}");
        }
    }
}
