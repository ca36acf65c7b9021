//! Tests of instruments with captured frames.

use core::net::{IpAddr, Ipv4Addr};

use frame::InterfaceId;
use ipnet::IpNet;
use machine::Instant;
use wire::tcp::Flags;
use wire::{EtherType, Mac, Protocol, ethernet, ipv4, tcp, udp};

use crate::{
    Columns, Connections, Filter, Head, Hosts, List, Memory, ObservedFrame, Path, Protocols, Torch,
    pcapng,
};

const HERE: Mac = Mac([2, 0, 0, 0, 0, 1]);
const THERE: Mac = Mac([2, 0, 0, 0, 0, 2]);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 80);

/// Builds a frame with this packet, with a VLAN tag if given.
fn frame(vlan: Option<u16>, protocol: Protocol, ends: [Ipv4Addr; 2], upper: &[u8]) -> Vec<u8> {
    let ip = ipv4::Repr::new(protocol, ends[0], ends[1]);
    let tag = vlan.map(|vlan| {
        let mut tag = vec![0x81, 0x00];
        tag.extend(vlan.to_be_bytes());
        tag
    });
    let ethernet = ethernet::Repr {
        src: THERE,
        dst: HERE,
        ethertype: EtherType::IPV4,
    };
    let ethernet = ethernet.to_bytes();
    let tag = tag.unwrap_or_default();
    [
        &ethernet[..12],
        &tag,
        &ethernet[12..],
        &ip.to_bytes(upper.len()),
        upper,
    ]
    .concat()
}

fn datagram(ports: [u16; 2], payload: &[u8], ends: [Ipv4Addr; 2]) -> Vec<u8> {
    let header = udp::Repr {
        src_port: ports[0],
        dst_port: ports[1],
    };
    let header = header.to_bytes_v4(payload, ends[0], ends[1]);
    [&header[..], payload].concat()
}

/// Builds a TCP segment with `len` bytes of payload from this sequence number on.
fn segment(ports: [u16; 2], flags: Flags, seq: u32, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for port in ports {
        bytes.extend(port.to_be_bytes());
    }
    bytes.extend(seq.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend([(tcp::HEADER_LEN as u8 / 4) << 4, flags.0, 0, 0, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + len, b'x');
    bytes
}

fn seen(bytes: &[u8], millis: u64, sent: bool) -> ObservedFrame {
    ObservedFrame {
        at: Instant::from_millis(millis),
        interface: InterfaceId(1),
        sent,
        path: if sent { Path::Forward } else { Path::Ingress },
        cpu: 0,
        len: bytes.len(),
        head: Head::of(bytes),
    }
}

fn request() -> Vec<u8> {
    let ends = [CLIENT, SERVER];
    frame(
        Some(10),
        Protocol::UDP,
        ends,
        &datagram([40_000, 53], b"who", ends),
    )
}

fn answer() -> Vec<u8> {
    let ends = [SERVER, CLIENT];
    frame(
        None,
        Protocol::UDP,
        ends,
        &datagram([53, 40_000], &[0; 100], ends),
    )
}

#[test]
fn headers_are_parsed_after_tags_and_truncated_ones_are_omitted() {
    let request = request();
    let head = Head::of(&request);
    let ip = head.ip.expect("a packet");
    assert_eq!((head.vlan, head.kinds), (Some(10), [0x8100, 0x0800, 0]));
    assert_eq!((ip.src, ip.dst), (CLIENT.into(), SERVER.into()));
    assert_eq!((ip.protocol, ip.ports), (17, Some((40_000, 53))));
    assert_eq!(head.headers, request.len() - "who".len());
    for len in 0..request.len() {
        let head = Head::of(&request[..len]);
        assert!(head.headers <= len, "{len} bytes");
        assert_eq!(head.ip.is_some(), len >= 18 + 20, "{len} bytes");
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut state = 1_u64;
    for len in (0..200).chain(0..200) {
        let bytes: Vec<u8> = (0..len)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let mut like = bytes.clone();
        if let Some(place) = like.get_mut(12..15) {
            place.copy_from_slice(if len % 2 == 0 {
                &[8, 0, 0x45]
            } else {
                &[0x86, 0xdd, 0x60]
            });
        }
        for bytes in [bytes, like] {
            assert!(Head::of(&bytes).headers <= bytes.len());
        }
    }
}

#[test]
fn filter_lists_match_any_or_all_and_can_be_negated() {
    let request = request();
    let seen = seen(&request, 0, false);
    let net = |text: &str| text.parse::<IpNet>().expect("a prefix");
    let pair = |not| {
        List(vec![
            (false, net("10.0.0.0/24")),
            (not, net("192.0.2.80/32")),
        ])
    };
    let passes = |filter: Filter| filter.passes(&seen);
    let of = |addresses, all| Filter {
        addresses,
        all,
        ..Filter::default()
    };
    assert!(passes(of(pair(false), true)), "between the two");
    assert!(!passes(of(pair(true), true)), "not with the second");
    assert!(passes(of(pair(true), false)), "the first is enough");
    let port = |port| Filter {
        ports: List(vec![(false, port)]),
        ..Filter::default()
    };
    assert!(passes(port(53)) && passes(port(40_000)) && !passes(port(54)));
    let kind = |kind| Filter {
        kinds: List(vec![(false, kind..=kind)]),
        ..Filter::default()
    };
    assert!(passes(kind(0x8100)) && passes(kind(0x0800)) && !passes(kind(0x0806)));
    let none = Filter {
        sent: Some(true),
        ..Filter::default()
    };
    assert!(!passes(none));
}

#[test]
fn torch_joins_both_directions_of_a_flow_and_expires_it() {
    let columns = Columns {
        src4: true,
        dst4: true,
        ports: true,
        ..Columns::default()
    };
    let (mut torch, request, answer) = (Torch::new(columns), request(), answer());
    torch.see(&seen(&request, 0, false));
    torch.see(&seen(&answer, 1, true).turned());
    let (flows, rest, total) = torch.take(Instant::from_millis(1_000), 10);
    assert_eq!((flows.len(), rest), (1, None));
    let key = flows[0].key;
    assert_eq!(
        (key.src, key.dst),
        (Some(CLIENT.into()), Some(SERVER.into()))
    );
    assert_eq!((key.src_port, key.dst_port), (Some(40_000), Some(53)));
    assert_eq!(
        (total.rx, total.tx),
        (request.len() as u64, answer.len() as u64)
    );

    let (flows, ..) = torch.take(Instant::from_millis(2_000), 10);
    assert_eq!(
        (flows.len(), flows[0].traffic.rx),
        (1, 0),
        "it stays for a while"
    );
    let (flows, ..) = torch.take(Instant::from_millis(3_100), 10);
    assert!(flows.is_empty());
}

#[test]
fn flows_beyond_the_limit_are_counted_together() {
    let columns = Columns {
        src4: true,
        ..Columns::default()
    };
    let mut torch = Torch::new(columns);
    let bytes = request();
    for number in 0..20_000_u32 {
        let mut seen = seen(&bytes, 0, false);
        let ip = seen.head.ip.as_mut().expect("a packet");
        ip.src = IpAddr::from(Ipv4Addr::from(number));
        torch.see(&seen);
    }
    let (flows, rest, total) = torch.take(Instant::from_millis(1), 100);
    let shown: u64 = flows.iter().map(|flow| flow.traffic.rx_packets).sum();
    assert_eq!(flows.len(), 100);
    assert_eq!(shown + rest.expect("others").rx_packets, 20_000);
    assert_eq!(total.rx_packets, 20_000);
}

#[test]
fn the_capture_memory_keeps_new_or_old_packets() {
    let bytes = request();
    for (scrolls, first, last) in [(true, 90, 99), (false, 0, 9)] {
        let room = 10 * (size_of::<crate::CapturedPacket>() + bytes.len());
        let mut memory = Memory::new(room, scrolls);
        for millis in 0..100 {
            memory.see(&seen(&bytes, millis, false), &bytes);
        }
        let numbers: Vec<_> = memory.packets().map(|kept| kept.number).collect();
        assert_eq!((numbers[0], numbers[9], numbers.len()), (first, last, 10));
        assert_eq!((memory.take().1, memory.seen()), (90, 100));
    }
    let mut none = Memory::new(10, true);
    none.see(&seen(&bytes, 0, false), &bytes);
    assert_eq!(none.packets().count(), 0);
}

#[test]
fn hosts_have_rates_of_whole_seconds_and_peaks() {
    let (mut hosts, request) = (Hosts::default(), request());
    for millis in [0, 500, 1_000] {
        hosts.see(&seen(&request, millis, false));
    }
    let bits = 8 * request.len() as u64;
    let of = |now| {
        let rows = hosts.rows(Instant::from_millis(now));
        rows.into_iter()
            .find(|(address, _)| *address == IpAddr::V4(CLIENT))
            .expect("it")
            .1
    };
    assert_eq!(
        (of(1_900).rate, of(1_900).peak),
        ([2 * bits, 0], [2 * bits, 0])
    );
    assert_eq!((of(2_000).rate, of(3_000).rate), ([bits, 0], [0, 0]));
    assert_eq!(of(3_000).total, [3 * request.len() as u64, 0]);
}

#[test]
fn connections_count_data_without_retransmissions() {
    let mut connections = Connections::default();
    let mut see = |from: bool, flags, seq, len| {
        let (ends, ports) = match from {
            true => ([CLIENT, SERVER], [40_000, 80]),
            false => ([SERVER, CLIENT], [80, 40_000]),
        };
        let bytes = frame(None, Protocol::TCP, ends, &segment(ports, flags, seq, len));
        connections.see(&seen(&bytes, 0, false));
        connections.rows()
    };
    // The first observed segment is a SYN-ACK: the receiver is the initiator.
    see(false, Flags::SYN | Flags::ACK, 100, 0);
    see(true, Flags::ACK, 1, 500);
    see(true, Flags::ACK, 501, 500);
    see(true, Flags::ACK, 501, 500);
    let rows = see(false, Flags::ACK, 101, 10);
    let ((from, _), connection) = rows[0];
    assert_eq!((rows.len(), from), (1, (CLIENT, 40_000).into()));
    assert_eq!(
        [connection.sides[0].bytes, connection.sides[0].resends],
        [1_500, 1]
    );
    assert_eq!(
        [connection.sides[1].bytes, connection.sides[1].resends],
        [10, 0]
    );
    assert!(connection.active && !see(true, Flags::FIN, 1_001, 0)[0].1.active);

    // The copies of the frame at the bridge and at the egress are not counted again.
    let ends = [CLIENT, SERVER];
    let bytes = segment([40_000, 80], Flags::ACK, 501, 500);
    let bytes = frame(None, Protocol::TCP, ends, &bytes);
    let mut above = seen(&bytes, 0, false);
    above.interface = InterfaceId(2);
    connections.see(&above);
    connections.see(&seen(&bytes, 0, true));
    assert_eq!(connections.rows()[0].1.sides, connection.sides);
}

#[test]
fn protocols_have_shares_of_all_traffic() {
    let (mut protocols, request, answer) = (Protocols::default(), request(), answer());
    protocols.see(&seen(&request, 0, false));
    protocols.see(&seen(&answer, 0, true));
    let rows: Vec<_> = protocols.rows().collect();
    let sorts: Vec<_> = rows
        .iter()
        .map(|(kind, ip, port, _)| (*kind, *ip, *port))
        .collect();
    let ip = 0x0800;
    assert_eq!(
        sorts,
        [
            (ip, None, None),
            (ip, Some(17), None),
            (ip, Some(17), Some(53))
        ]
    );
    assert!(rows.iter().all(|(.., share)| *share == protocols.all()));
}

#[test]
fn pcapng_blocks_have_their_length_at_both_ends() {
    let (mut file, bytes) = (pcapng::File::new("x"), request());
    file.add(
        &seen(&bytes, 0, true),
        &bytes[..21],
        "ether1",
        1_700_000_000_123_456_789,
    );
    let whole = file.waiting();
    file.add(&seen(&bytes, 1, true), &bytes, "ether1", 0);
    file.cut(whole);
    let file = file.take();
    let (mut rest, mut kinds) = (&file[..], Vec::new());
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("4 bytes"));
        let len = word(4) as usize;
        assert_eq!((len % 4, word(len - 4) as usize), (0, len));
        kinds.push(word(0));
        rest = &rest[len..];
    }
    assert_eq!(kinds, [0x0a0d_0d0a, 1, 6]);
}
