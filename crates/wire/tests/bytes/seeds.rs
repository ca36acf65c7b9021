//! Seed packets of the fuzz corpora: one per case that a parser distinguishes.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::ipv4::{self, Fragment, IpOption};
use wire::ndp::{self, NdpOption, Options};
use wire::{
    EtherType, Mac, Protocol, arp, checksum, ethernet, icmpv4, icmpv6, ipv6, lacp, ntp, pppoe,
    radius, tcp, udp, vlan, vrrp, vxlan,
};

pub(crate) const A: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const B: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
pub(crate) const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1);
pub(crate) const B6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, 2);
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const MAC_A: Mac = Mac([0x02, 0, 0, 0, 0, 0x0a]);
pub(crate) const MAC_B: Mac = Mac([0x02, 0, 0, 0, 0, 0x0b]);

/// A seed packet: fuzz target, file name, bytes.
pub(crate) struct Seed {
    pub(crate) target: &'static str,
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// All packets of all corpora.
pub(crate) fn seeds() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |target, packets: Vec<(&'static str, Vec<u8>)>| {
        seeds.extend(packets.into_iter().map(|(name, bytes)| Seed {
            target,
            name,
            bytes,
        }));
    };
    add("arp", arps());
    add("frame", frames());
    add("icmp", icmps());
    add("ipv4", ipv4s());
    add("ipv6", ipv6s());
    add("lacp", lacps());
    add("ndp", ndps());
    add("ntp", ntps());
    add("pppoe-discovery", pppoes());
    add("radius", radiuses());
    add("tcp", tcps());
    add("udp", udps());
    add("vrrp", vrrps());
    add("vxlan", vxlans());
    seeds
}

fn lacps() -> Vec<(&'static str, Vec<u8>)> {
    let actor = lacp::Information {
        system_priority: 0xffff,
        system: MAC_A,
        key: 9,
        port_priority: 255,
        port: 1,
        state: lacp::State(0x3d),
    };
    let partner = lacp::Information {
        system: MAC_B,
        ..actor
    };
    let speaks = lacp::Pdu::Lacp {
        actor,
        partner,
        collector_delay: 0,
    };
    let marker = lacp::Pdu::Marker {
        response: false,
        marker: lacp::Marker {
            port: 1,
            system: MAC_A,
            transaction: 7,
        },
    };
    vec![
        ("lacpdu", speaks.to_bytes().to_vec()),
        ("marker", marker.to_bytes().to_vec()),
    ]
}

fn vxlans() -> Vec<(&'static str, Vec<u8>)> {
    let frame = ethernet::Repr {
        dst: Mac([0xff; 6]),
        src: MAC_A,
        ethertype: EtherType::ARP,
    };
    let with = |header: [u8; 8]| [&header[..], &frame.to_bytes(), &[0; 46]].concat();
    vec![
        ("frame", with(vxlan::to_bytes(5001))),
        ("no-network", with([0; 8])),
    ]
}

fn pppoes() -> Vec<(&'static str, Vec<u8>)> {
    use pppoe::{Builder, code, tag};
    let uniq = |packet: Builder| packet.tag(tag::HOST_UNIQ, &[7; 8]);
    let padi = uniq(Builder::new(code::PADI, 0).tag(tag::SERVICE_NAME, b""));
    let padi = padi.tag(tag::MAX_PAYLOAD, &1_500u16.to_be_bytes());
    let pado = Builder::new(code::PADO, 0)
        .tag(tag::SERVICE_NAME, b"isp")
        .tag(tag::AC_NAME, b"bras")
        .tag(tag::AC_COOKIE, &[5; 32]);
    let padr = Builder::new(code::PADR, 0)
        .tag(tag::SERVICE_NAME, b"isp")
        .tag(tag::AC_COOKIE, &[5; 32])
        .tag(tag::RELAY_SESSION, &[6; 12])
        .line(Some(b"slot 1/2:100"), Some(b"anna"));
    let refusal = Builder::new(code::PADS, 0).tag(tag::SERVICE_NAME_ERROR, b"no such service");
    let padt = Builder::new(code::PADT, 7).tag(tag::GENERIC_ERROR, b"bye");
    vec![
        ("padi", padi.tag(tag::END, b"").finish()),
        ("pado", uniq(pado).finish()),
        ("padr", uniq(padr).finish()),
        ("pads", uniq(Builder::new(code::PADS, 7)).finish()),
        ("refusal", uniq(refusal).finish()),
        ("padt", padt.finish()),
    ]
}

fn radiuses() -> Vec<(&'static str, Vec<u8>)> {
    let question = radius::Builder::new(radius::code::ACCESS_REQUEST, 7, [9; 16])
        .with(radius::kind::MESSAGE_AUTHENTICATOR, &[5; 16])
        .with(radius::kind::USER_NAME, b"anna")
        .with(radius::kind::USER_PASSWORD, &[6; 16]);
    let answer = radius::Builder::new(radius::code::ACCESS_ACCEPT, 7, [8; 16])
        .with_vendor(
            radius::vendor::MIKROTIK,
            radius::vendor::MIKROTIK_GROUP,
            b"full",
        )
        .with_number(radius::kind::SESSION_TIMEOUT, 3_600);
    let finish = |built: radius::Builder| built.finish().expect("it fits");
    vec![("question", finish(question)), ("answer", finish(answer))]
}

fn ntps() -> Vec<(&'static str, Vec<u8>)> {
    let question = ntp::Repr::question(0x1122_3344_5566_7788).to_bytes();
    let answer = ntp::Repr {
        mode: ntp::Mode::SERVER,
        stratum: 2,
        poll: 6,
        precision: -20,
        root_delay: ntp::Short(0x100),
        root_dispersion: ntp::Short(0x200),
        reference_id: A.octets(),
        origin: ntp::Timestamp(0x1122_3344_5566_7788),
        receive: ntp::Timestamp(0xec00_0000_8000_0000),
        transmit: ntp::Timestamp(0xec00_0000_8000_1000),
        ..ntp::Repr::question(0)
    };
    let signed = [&question[..], &[0, 0, 0, 9], &[5; 16]].concat();
    vec![
        ("question", question.to_vec()),
        ("answer", answer.to_bytes().to_vec()),
        ("signed", signed),
    ]
}

fn vrrps() -> Vec<(&'static str, Vec<u8>)> {
    let repr = |version, address| vrrp::Repr {
        vrid: 7,
        priority: 100,
        version,
        addresses: vec![address],
    };
    let v2 = vrrp::Version::V2 {
        kind: 1,
        data: *b"secret\0\0",
        seconds: 1,
    };
    let v3 = vrrp::Version::V3 { centiseconds: 100 };
    let four = Some((A.into(), vrrp::GROUP4.into()));
    let six = Some((A6.into(), vrrp::GROUP6.into()));
    vec![
        ("v2", repr(v2, A.into()).to_bytes(None)),
        ("v3", repr(v3, A.into()).to_bytes(four)),
        ("v3-of-ipv6", repr(v3, A6.into()).to_bytes(six)),
    ]
}

fn arps() -> Vec<(&'static str, Vec<u8>)> {
    let request = arp::Repr {
        operation: arp::Operation::REQUEST,
        sender_mac: MAC_A,
        sender: A,
        target_mac: Mac::ZERO,
        target: B,
    };
    let reply = arp::Repr {
        operation: arp::Operation::REPLY,
        sender_mac: MAC_B,
        sender: B,
        target_mac: MAC_A,
        target: A,
    };
    let probe = arp::Repr {
        sender: Ipv4Addr::UNSPECIFIED,
        ..request
    };
    let padded = [&request.to_bytes()[..], &[0; 18]].concat();
    vec![
        ("request", request.to_bytes().to_vec()),
        ("reply", reply.to_bytes().to_vec()),
        ("probe", probe.to_bytes().to_vec()),
        ("padded", padded),
    ]
}

fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let header = |ethertype| {
        ethernet::Repr {
            dst: MAC_B,
            src: MAC_A,
            ethertype,
        }
        .to_bytes()
    };
    let tag = |vid, ethertype| {
        vlan::Repr {
            tci: vlan::Tci::new(3, false, vid),
            ethertype,
        }
        .to_bytes()
        .to_vec()
    };
    let ip = ipv4s().swap_remove(0).1;
    let ip6 = ipv6s().swap_remove(0).1;
    vec![
        ("ipv4", [&header(EtherType::IPV4)[..], &ip].concat()),
        ("ipv6", [&header(EtherType::IPV6)[..], &ip6].concat()),
        (
            "vlan",
            [&header(EtherType::VLAN)[..], &tag(10, EtherType::IPV4), &ip].concat(),
        ),
        (
            "qinq",
            [
                &header(EtherType::QINQ)[..],
                &tag(100, EtherType::VLAN),
                &tag(4094, EtherType::IPV6),
                &ip6,
            ]
            .concat(),
        ),
        (
            "llc",
            [&header(EtherType(38))[..], &[0x42, 0x42, 3], &[0; 35]].concat(),
        ),
    ]
}

/// An IPv4 packet.
pub(crate) fn packet4(repr: ipv4::Repr, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    repr.emit(options, payload.len(), &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv6 packet.
pub(crate) fn packet6(next_header: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Repr::new(next_header, A6, B6).to_bytes(payload.len());
    [&header[..], payload].concat()
}

/// A UDP datagram in IPv4.
pub(crate) fn udp4(payload: &[u8]) -> Vec<u8> {
    let repr = udp::Repr {
        src_port: 4000,
        dst_port: 53,
    };
    [&repr.to_bytes_v4(payload, A, B)[..], payload].concat()
}

/// A UDP datagram in IPv6.
pub(crate) fn udp6(payload: &[u8]) -> Vec<u8> {
    let repr = udp::Repr {
        src_port: 4000,
        dst_port: 53,
    };
    [&repr.to_bytes_v6(payload, A6, B6)[..], payload].concat()
}

/// A TCP segment in IPv4.
pub(crate) fn tcp4(flags: tcp::Flags, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let repr = tcp::Repr {
        src_port: 40_000,
        dst_port: 443,
        seq: 0x0102_0304,
        ack: 0x0506_0708,
        flags,
        window: 0xfaf0,
        urgent: 0,
    };
    let len = u16::try_from(tcp::Repr::len(options, payload)).unwrap();
    let mut bytes = Vec::new();
    repr.emit(
        options,
        payload,
        checksum::pseudo_v4(A, B, Protocol::TCP, len),
        &mut bytes,
    );
    bytes
}

fn ipv4s() -> Vec<(&'static str, Vec<u8>)> {
    let of = |protocol| ipv4::Repr::new(protocol, A, B);
    let udp = udp4(b"query");
    let echo = echo4();
    let record_route = [IpOption::RECORD_ROUTE, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0];
    let timestamp = [IpOption::TIMESTAMP, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let source_route = [1, IpOption::LOOSE_SOURCE_ROUTE, 7, 4, 203, 0, 113, 1];
    let router_alert = [IpOption::ROUTER_ALERT, 4, 0, 0];
    let piece = |offset, more| ipv4::Repr {
        id: 77,
        fragment: Fragment::piece(offset, more),
        ..of(Protocol::UDP)
    };
    vec![
        ("udp", packet4(of(Protocol::UDP), &[], &udp)),
        (
            "tcp-syn",
            packet4(
                of(Protocol::TCP),
                &[],
                &tcp4(tcp::Flags::SYN, &SYN_OPTIONS, &[]),
            ),
        ),
        ("echo", packet4(of(Protocol::ICMP), &[], &echo)),
        (
            "record-route",
            packet4(of(Protocol::ICMP), &record_route, &echo),
        ),
        ("timestamp", packet4(of(Protocol::ICMP), &timestamp, &echo)),
        (
            "source-route",
            packet4(of(Protocol::UDP), &source_route, &udp),
        ),
        (
            "router-alert",
            packet4(
                of(Protocol::IGMP),
                &router_alert,
                &[0x11, 0, 0xee, 0xff, 0, 0, 0, 0],
            ),
        ),
        ("first-piece", packet4(piece(0, true), &[], &udp4(&[7; 24]))),
        ("later-piece", packet4(piece(32, false), &[], &[7; 9])),
        (
            "padded",
            [packet4(of(Protocol::UDP), &[], &udp), vec![0; 13]].concat(),
        ),
    ]
}

fn ipv6s() -> Vec<(&'static str, Vec<u8>)> {
    let udp = udp6(b"query");
    let hop_by_hop = |next: Protocol| [next.0, 0, 5, 2, 0, 0, 1, 0];
    let routing = |next: Protocol| [next.0, 0, 0, 0, 0, 0, 0, 0];
    let destination = |next: Protocol| [next.0, 0, 1, 4, 0, 0, 0, 0];
    let piece = |offset, more| {
        ipv6::Fragment {
            next_header: Protocol::UDP,
            offset,
            more,
            id: 9,
        }
        .to_bytes()
    };
    let chain = [
        &hop_by_hop(Protocol::DESTINATION)[..],
        &destination(Protocol::ROUTING),
        &routing(Protocol::FRAGMENT),
        &piece(0, false),
        &udp,
    ]
    .concat();
    let too_long: Vec<u8> = (0..9)
        .flat_map(|_| destination(Protocol::DESTINATION))
        .collect();
    vec![
        ("udp", packet6(Protocol::UDP, &udp)),
        ("echo", packet6(Protocol::ICMPV6, &echo6())),
        (
            "router-alert",
            packet6(
                Protocol::HOP_BY_HOP,
                &[&hop_by_hop(Protocol::UDP)[..], &udp].concat(),
            ),
        ),
        (
            "first-piece",
            packet6(
                Protocol::FRAGMENT,
                &[&piece(0, true)[..], &udp6(&[7; 24])].concat(),
            ),
        ),
        (
            "later-piece",
            packet6(
                Protocol::FRAGMENT,
                &[&piece(32, false)[..], &[7; 9]].concat(),
            ),
        ),
        ("chain", packet6(Protocol::HOP_BY_HOP, &chain)),
        (
            "too-many-extensions",
            packet6(Protocol::DESTINATION, &too_long),
        ),
        ("no-next-header", packet6(Protocol::NO_NEXT, &[])),
    ]
}

fn echo4() -> Vec<u8> {
    let mut bytes = Vec::new();
    icmpv4::Message::EchoRequest {
        id: 7,
        seq: 1,
        data: b"0123456789",
    }
    .emit(&mut bytes);
    bytes
}

fn echo6() -> Vec<u8> {
    let mut bytes = Vec::new();
    icmpv6::Message::EchoRequest {
        id: 7,
        seq: 1,
        data: b"0123456789",
    }
    .emit(A6, B6, &mut bytes);
    bytes
}

fn icmps() -> Vec<(&'static str, Vec<u8>)> {
    use icmpv4::Message as V4;
    use icmpv6::Message as V6;
    let quoted = &ipv4s().swap_remove(0).1[..28];
    let quoted6 = &ipv6s().swap_remove(0).1[..];
    let v4 = |message: V4<'_>| {
        let mut bytes = Vec::new();
        message.emit(&mut bytes);
        bytes
    };
    let v6 = |message: V6<'_>| {
        let mut bytes = Vec::new();
        message.emit(A6, B6, &mut bytes);
        bytes
    };
    let needed = icmpv4::Unreachable::FRAGMENTATION_NEEDED;
    let no_route = icmpv6::Unreachable::NO_ROUTE;
    vec![
        ("v4-echo", echo4()),
        (
            "v4-fragmentation-needed",
            v4(V4::Unreachable {
                code: needed,
                mtu: 1400,
                quoted,
            }),
        ),
        (
            "v4-redirect",
            v4(V4::Redirect {
                code: 1,
                gateway: B,
                quoted,
            }),
        ),
        ("v4-time-exceeded", v4(V4::TimeExceeded { code: 0, quoted })),
        (
            "v4-parameter-problem",
            v4(V4::ParameterProblem {
                code: 0,
                pointer: 20,
                quoted,
            }),
        ),
        ("v6-echo", echo6()),
        (
            "v6-unreachable",
            v6(V6::Unreachable {
                code: no_route,
                quoted: quoted6,
            }),
        ),
        (
            "v6-too-big",
            v6(V6::PacketTooBig {
                mtu: 1280,
                quoted: quoted6,
            }),
        ),
        (
            "v6-time-exceeded",
            v6(V6::TimeExceeded {
                code: 0,
                quoted: quoted6,
            }),
        ),
        (
            "v6-parameter-problem",
            v6(V6::ParameterProblem {
                code: 1,
                pointer: 6,
                quoted: quoted6,
            }),
        ),
    ]
}

fn ndps() -> Vec<(&'static str, Vec<u8>)> {
    let options = |list: &[NdpOption<'_>]| {
        let mut bytes = Vec::new();
        for option in list {
            option.emit(&mut bytes);
        }
        bytes
    };
    let source = options(&[NdpOption::Source(MAC_A)]);
    let target_mac = options(&[NdpOption::Target(MAC_A)]);
    let redirected = options(&[NdpOption::Target(MAC_B), NdpOption::Redirected(&[0x60; 40])]);
    let all = options(&router_options());
    let view = |bytes| Options::new_checked(bytes).unwrap();
    let flags = ndp::NeighbourFlags {
        router: true,
        solicited: true,
        overrides: true,
    };
    let (target, destination) = (A6, B6);
    let router = ndp::Router {
        hop_limit: 64,
        managed: true,
        other: false,
        preference: ndp::Preference::High,
        lifetime_s: 1800,
        reachable_ms: 30_000,
        retransmit_ms: 1000,
    };
    let messages = [
        (
            "rs",
            ndp::Message::RouterSolicitation {
                options: view(&source),
            },
        ),
        (
            "ra",
            ndp::Message::RouterAdvertisement {
                router,
                options: view(&all),
            },
        ),
        (
            "ns",
            ndp::Message::NeighbourSolicitation {
                target,
                options: view(&source),
            },
        ),
        (
            "na",
            ndp::Message::NeighbourAdvertisement {
                flags,
                target,
                options: view(&target_mac),
            },
        ),
        (
            "na-bare",
            ndp::Message::NeighbourAdvertisement {
                flags,
                target,
                options: Options::NONE,
            },
        ),
        (
            "redirect",
            ndp::Message::Redirect {
                target,
                destination,
                options: view(&redirected),
            },
        ),
    ];
    messages
        .map(|(name, message)| {
            let mut bytes = Vec::new();
            message.emit(MAC_A.link_local(), ALL_NODES, &mut bytes);
            (name, bytes)
        })
        .to_vec()
}

/// One option of each kind in a router advertisement.
pub(crate) fn router_options() -> [NdpOption<'static>; 7] {
    [
        NdpOption::Source(MAC_A),
        NdpOption::Mtu(1500),
        NdpOption::Prefix(ndp::Prefix {
            len: 64,
            on_link: true,
            autonomous: true,
            valid_s: 86_400,
            preferred_s: 14_400,
            prefix: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 0),
        }),
        NdpOption::Route(ndp::Route {
            len: 48,
            preference: ndp::Preference::Low,
            lifetime_s: 600,
            prefix: Ipv6Addr::new(0x2001, 0xdb8, 7, 0, 0, 0, 0, 0),
        }),
        NdpOption::Rdnss(ndp::Rdnss {
            lifetime_s: 1200,
            servers: &SERVERS,
        }),
        NdpOption::Dnssl(ndp::Dnssl {
            lifetime_s: 1200,
            names: b"\x04home\x04arpa\0\0\0\0\0\0",
        }),
        NdpOption::Pref64(ndp::Pref64 {
            lifetime_8s: 225,
            code: 0,
            prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0],
        }),
    ]
}

fn tcps() -> Vec<(&'static str, Vec<u8>)> {
    use tcp::Flags;
    let timestamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    vec![
        ("syn", tcp4(Flags::SYN, &SYN_OPTIONS, &[])),
        (
            "data",
            tcp4(
                Flags::ACK | Flags::PSH,
                &timestamps,
                b"GET / HTTP/1.1\r\n\r\n",
            ),
        ),
        ("fin", tcp4(Flags::FIN | Flags::ACK, &[], &[])),
        ("reset", tcp4(Flags::RST, &[], &[])),
    ]
}

fn udps() -> Vec<(&'static str, Vec<u8>)> {
    let mut without_checksum = udp4(b"x");
    without_checksum[6..8].fill(0);
    vec![
        ("query", udp4(b"query")),
        ("empty", udp4(&[])),
        ("without-checksum", without_checksum),
        ("padded", [udp6(b"query"), vec![0; 5]].concat()),
    ]
}

/// MSS, selective acknowledgements, timestamps and window scale, as Linux sends them.
pub(crate) const SYN_OPTIONS: [u8; 20] = [
    2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7,
];

const SERVERS: [[u8; 16]; 2] = [A6.octets(), B6.octets()];
