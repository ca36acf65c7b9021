//! Odd IPv4 packets.

use core::net::Ipv4Addr;

use dataplane::DropReason;
use wire::ipv4::{Fragment, HeaderMut, IpOption, Repr};
use wire::{EtherType, Mac, Protocol, icmpv4, udp};

use super::{Hosts, Icmp, Kernel, Odd, Outcome};

const TIME_EXCEEDED: Icmp = Icmp::V4(11, 0);
const PARAMETER_PROBLEM: Icmp = Icmp::V4(12, 0);
const FRAGMENTATION_NEEDED: Icmp = Icmp::V4(3, 4);
const ECHO_REPLY: Icmp = Icmp::V4(0, 0);

const CLASS_E: Kernel = Kernel::Differs(
    "the kernel forwards class E; nobody may use it, and RFC 1812, 5.3.7 calls it invalid",
);
const THIS_NETWORK: Kernel = Kernel::Differs(
    "the kernel takes all of 0/8 but 0.0.0.0 for unicast addresses; RFC 1122, 3.2.1.3 does not",
);
const POINTS: Kernel = Kernel::Differs(
    "the kernel points at the option's first byte; ours at its length, where the error is (RFC 792: \
     the pointer may be in the middle of an option)",
);
/// IPv4 cases, in the order of a router's checks.
pub(super) const CASES: &[Odd] = &[
    Odd {
        name: "plain",
        why: "nothing is odd about it: it proves that the others could have passed",
        frames: |hosts| one(hosts, udp(hosts)),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "runt",
        why: "shorter than a header (RFC 1812, 5.2.2 (1))",
        frames: |hosts| {
            let mut packet = udp(hosts);
            packet.truncate(19);
            one(hosts, packet)
        },
        outcome: Outcome::Dropped(DropReason::Ipv4Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "bad-checksum",
        why: "the header checksum must be correct (RFC 1812, 5.2.2 (2))",
        frames: |hosts| {
            let mut packet = udp(hosts);
            packet[10] ^= 0x40;
            one(hosts, packet)
        },
        outcome: Outcome::Dropped(DropReason::Ipv4Checksum),
        kernel: Kernel::Same,
    },
    Odd {
        name: "bad-version",
        why: "the version must be 4 (RFC 1812, 5.2.2 (3))",
        frames: |hosts| one(hosts, with_byte(hosts, 0, 0x55)),
        outcome: Outcome::Dropped(DropReason::Ipv4Version),
        kernel: Kernel::Same,
    },
    Odd {
        name: "header-length-below-5",
        why: "a header has at least five words (RFC 1812, 5.2.2 (4))",
        frames: |hosts| one(hosts, with_byte(hosts, 0, 0x44)),
        outcome: Outcome::Dropped(DropReason::Ipv4Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "header-length-beyond-packet",
        why: "the header must have arrived whole (RFC 1812, 5.2.2 (1) and (5))",
        frames: |hosts| one(hosts, with_byte(hosts, 0, 0x4f)),
        outcome: Outcome::Dropped(DropReason::Ipv4Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "total-length-below-header",
        why: "the total length must hold the header (RFC 1812, 5.2.2 (5))",
        frames: |hosts| one(hosts, with_byte(hosts, 3, 19)),
        outcome: Outcome::Dropped(DropReason::Ipv4Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "total-length-beyond-frame",
        why: "a packet that did not arrive whole is not passed on (RFC 1812, 5.2.2)",
        frames: |hosts| one(hosts, with_byte(hosts, 3, 0xff)),
        outcome: Outcome::Dropped(DropReason::Ipv4Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "trailing-bytes",
        why: "what lies behind the total length is the link's padding and stays there (RFC 894)",
        frames: |hosts| one(hosts, [udp(hosts), vec![0xaa; 20]].concat()),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "source-this-network",
        why: "0/8 is no source (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, from(hosts, Ipv4Addr::new(0, 1, 2, 3))),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianSource),
        kernel: THIS_NETWORK,
    },
    Odd {
        name: "source-loopback",
        why: "127/8 never leaves a host (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, from(hosts, Ipv4Addr::LOCALHOST)),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "source-multicast",
        why: "a group is no source (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, from(hosts, Ipv4Addr::new(224, 0, 0, 1))),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "source-class-e",
        why: "class E is no unicast address (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, from(hosts, Ipv4Addr::new(240, 0, 0, 1))),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianSource),
        kernel: CLASS_E,
    },
    Odd {
        name: "source-broadcast",
        why: "everybody is no source (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, from(hosts, Ipv4Addr::BROADCAST)),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "source-own",
        why: "nobody else sends from the router's address (RFC 1812, 5.3.8: validation of sources)",
        frames: |hosts| one(hosts, from(hosts, hosts.router)),
        outcome: Outcome::Dropped(DropReason::Ipv4OwnSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "destination-this-network",
        why: "0/8 is no destination (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, to(hosts, Ipv4Addr::new(0, 1, 2, 3))),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianDestination),
        kernel: THIS_NETWORK,
    },
    Odd {
        name: "destination-loopback",
        why: "127/8 is never on a link (RFC 1812, 4.2.2.11 and 5.3.7)",
        frames: |hosts| one(hosts, to(hosts, Ipv4Addr::LOCALHOST)),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianDestination),
        kernel: Kernel::Same,
    },
    Odd {
        name: "destination-class-e",
        why: "class E is no destination but for broadcast (RFC 1812, 5.3.7)",
        frames: |hosts| one(hosts, to(hosts, Ipv4Addr::new(240, 0, 0, 1))),
        outcome: Outcome::Dropped(DropReason::Ipv4MartianDestination),
        kernel: CLASS_E,
    },
    Odd {
        name: "destination-group",
        why: "a group that the router neither joined nor forwards (RFC 1812, 5.2.1.3)",
        frames: |hosts| {
            let group = Ipv4Addr::new(239, 1, 1, 1);
            vec![super::frame(
                hosts,
                Mac::of_ipv4_group(group),
                EtherType::IPV4,
                &to(hosts, group),
            )]
        },
        outcome: Outcome::Dropped(DropReason::MulticastNotMine),
        kernel: Kernel::Same,
    },
    Odd {
        name: "directed-broadcast",
        why: "a broadcast into another network is not forwarded (RFC 2644, 2)",
        frames: |hosts| one(hosts, to(hosts, hosts.server_broadcast)),
        outcome: Outcome::Dropped(DropReason::DirectedBroadcast),
        kernel: Kernel::Same,
    },
    Odd {
        name: "unicast-in-broadcast-frame",
        why: "a packet for one station in a frame for all is not forwarded (RFC 1812, 5.3.4)",
        frames: |hosts| {
            vec![super::frame(
                hosts,
                Mac::BROADCAST,
                EtherType::IPV4,
                &udp(hosts),
            )]
        },
        outcome: Outcome::Dropped(DropReason::LinkBroadcast),
        kernel: Kernel::Same,
    },
    Odd {
        name: "frame-for-another-station",
        why: "the frame is not for this router (RFC 1812, 5.2.1.1 begins with what the link takes)",
        frames: |hosts| {
            let other = Mac([0x02, 0xff, 0, 0, 0, 0x99]);
            vec![super::frame(hosts, other, EtherType::IPV4, &udp(hosts))]
        },
        outcome: Outcome::Dropped(DropReason::EthernetOther),
        kernel: Kernel::Same,
    },
    Odd {
        name: "record-route",
        why: "a router writes what the option asks for and passes the packet on (RFC 1812, 5.2.4)",
        frames: |hosts| {
            one(
                hosts,
                with_options(hosts, &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0]),
            )
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "timestamp",
        why: "a router writes what the option asks for and passes the packet on (RFC 1812, 5.2.4)",
        frames: |hosts| one(hosts, with_options(hosts, &[68, 8, 5, 0, 0, 0, 0, 0])),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "router-alert",
        why: "a router that does not know what is alerted about forwards (RFC 2113, 2.1)",
        frames: |hosts| {
            one(
                hosts,
                with_options(hosts, &[IpOption::ROUTER_ALERT, 4, 0, 0]),
            )
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "loose-source-route",
        why: "the sender does not choose the way: such packets are dropped (RFC 7126, 4.3)",
        frames: |hosts| source_route(hosts, IpOption::LOOSE_SOURCE_ROUTE),
        outcome: Outcome::Dropped(DropReason::Ipv4SourceRoute),
        kernel: Kernel::Same,
    },
    Odd {
        name: "strict-source-route",
        why: "the sender does not choose the way: such packets are dropped (RFC 7126, 4.4)",
        frames: |hosts| source_route(hosts, IpOption::STRICT_SOURCE_ROUTE),
        outcome: Outcome::Dropped(DropReason::Ipv4SourceRoute),
        kernel: Kernel::Same,
    },
    Odd {
        name: "option-length-zero",
        why: "the sender is told which byte is wrong (RFC 1812, 5.2.4 and 4.3.3.5)",
        frames: |hosts| one(hosts, with_options(hosts, &[7, 0, 4, 0])),
        outcome: Outcome::Refused(DropReason::Ipv4Options, PARAMETER_PROBLEM),
        kernel: POINTS,
    },
    Odd {
        name: "option-beyond-header",
        why: "the sender is told which byte is wrong (RFC 1812, 5.2.4 and 4.3.3.5)",
        frames: |hosts| one(hosts, with_options(hosts, &[7, 40, 4, 0])),
        outcome: Outcome::Refused(DropReason::Ipv4Options, PARAMETER_PROBLEM),
        kernel: POINTS,
    },
    Odd {
        name: "ttl-1",
        why: "a packet whose lifetime ends here is not forwarded (RFC 1812, 5.3.1)",
        frames: |hosts| {
            one(
                hosts,
                build(
                    &Repr {
                        ttl: 1,
                        ..repr(hosts)
                    },
                    &[],
                    &payload(hosts),
                ),
            )
        },
        outcome: Outcome::Refused(DropReason::TtlExceeded, TIME_EXCEEDED),
        kernel: Kernel::Same,
    },
    Odd {
        name: "ttl-0",
        why: "a lifetime of zero should not have arrived, and ends here (RFC 1812, 5.3.1)",
        frames: |hosts| {
            one(
                hosts,
                build(
                    &Repr {
                        ttl: 0,
                        ..repr(hosts)
                    },
                    &[],
                    &payload(hosts),
                ),
            )
        },
        outcome: Outcome::Refused(DropReason::TtlExceeded, TIME_EXCEEDED),
        kernel: Kernel::Same,
    },
    Odd {
        name: "ttl-1-for-the-router",
        why: "the lifetime of what has arrived is not looked at (RFC 1812, 5.3.1)",
        frames: |hosts| {
            let echo = Repr {
                ttl: 1,
                protocol: Protocol::ICMP,
                dst: hosts.router,
                ..repr(hosts)
            };
            one(hosts, build(&echo, &[], &echo_request()))
        },
        outcome: Outcome::Answered(ECHO_REPLY),
        kernel: Kernel::Same,
    },
    Odd {
        name: "ttl-1-error",
        why: "no error is sent about an error (RFC 1812, 4.3.2.7)",
        frames: |hosts| {
            let error = Repr {
                ttl: 1,
                protocol: Protocol::ICMP,
                ..repr(hosts)
            };
            let mut message = Vec::new();
            let quoted = &udp(hosts)[..28];
            icmpv4::Message::TimeExceeded { code: 0, quoted }.emit(&mut message);
            one(hosts, build(&error, &[], &message))
        },
        outcome: Outcome::Dropped(DropReason::TtlExceeded),
        kernel: Kernel::Same,
    },
    Odd {
        name: "ttl-1-later-fragment",
        why: "no error is sent about any fragment but the first (RFC 1812, 4.3.2.7)",
        frames: |hosts| {
            let piece = Repr {
                ttl: 1,
                fragment: Fragment::piece(64, false),
                ..repr(hosts)
            };
            one(hosts, build(&piece, &[], &[0; 32]))
        },
        outcome: Outcome::Dropped(DropReason::TtlExceeded),
        kernel: Kernel::Same,
    },
    Odd {
        name: "bad-upper-checksum",
        why: "what it carries is between the hosts (RFC 1812, 1.1.3: the end-to-end principle)",
        frames: |hosts| {
            let mut packet = udp(hosts);
            packet[26] ^= 1;
            one(hosts, packet)
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "overlapping-fragments",
        why: "a router does not put together what it forwards (RFC 1812, 5.2.6)",
        frames: |hosts| {
            let piece = |offset, more, len| {
                let repr = Repr {
                    id: 7,
                    fragment: Fragment::piece(offset, more),
                    ..repr(hosts)
                };
                frame(hosts, &build(&repr, &[], &vec![offset as u8; len]))
            };
            vec![
                piece(0, true, 64),
                piece(32, true, 64),
                piece(64, false, 40),
            ]
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "tiny-first-fragment",
        why: "who filters ports must mind it (RFC 1858); a router without a filter does not",
        frames: |hosts| {
            let repr = Repr {
                fragment: Fragment::piece(0, true),
                ..repr(hosts)
            };
            one(hosts, build(&repr, &[], &payload(hosts)[..8]))
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "fragment-beyond-65535",
        why: "only who reassembles can fall over it (RFC 1812, 5.2.6)",
        frames: |hosts| {
            let repr = Repr {
                fragment: Fragment::piece(65_528, false),
                ..repr(hosts)
            };
            one(hosts, build(&repr, &[], &[0; 100]))
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "oversize",
        why: "what may be fragmented is (RFC 1812, 5.2.6)",
        frames: |hosts| one(hosts, oversize(hosts, Fragment::WHOLE)),
        outcome: Outcome::Fragmented,
        kernel: Kernel::Same,
    },
    Odd {
        name: "oversize-dont-fragment",
        why: "the sender is told the link's MTU (RFC 1191, 4)",
        frames: |hosts| one(hosts, oversize(hosts, Fragment::DONT)),
        outcome: Outcome::Refused(DropReason::TooBig, FRAGMENTATION_NEEDED),
        kernel: Kernel::Same,
    },
];

fn repr(hosts: &Hosts) -> Repr {
    Repr {
        id: 0x0dd,
        ..Repr::new(Protocol::UDP, hosts.client, hosts.server)
    }
}

/// A UDP datagram that a host accepts.
fn payload(hosts: &Hosts) -> Vec<u8> {
    let data = *b"an odd packet";
    let header = udp::Repr {
        src_port: 4_000,
        dst_port: 4_001,
    };
    [
        &header.to_bytes_v4(&data, hosts.client, hosts.server)[..],
        &data,
    ]
    .concat()
}

fn echo_request() -> Vec<u8> {
    let mut message = Vec::new();
    icmpv4::Message::EchoRequest {
        id: 1,
        seq: 1,
        data: b"odd",
    }
    .emit(&mut message);
    message
}

fn build(repr: &Repr, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    repr.emit(options, payload.len(), &mut packet);
    packet.extend_from_slice(payload);
    packet
}

fn udp(hosts: &Hosts) -> Vec<u8> {
    build(&repr(hosts), &[], &payload(hosts))
}

/// Changes one header byte of the plain packet and corrects the checksum.
fn with_byte(hosts: &Hosts, at: usize, byte: u8) -> Vec<u8> {
    let mut packet = udp(hosts);
    packet[at] = byte;
    if let Ok(mut header) = HeaderMut::new_checked(&mut packet) {
        header.fill_checksum(&[]);
    }
    packet
}

fn with_options(hosts: &Hosts, options: &[u8]) -> Vec<u8> {
    build(&repr(hosts), options, &payload(hosts))
}

fn from(hosts: &Hosts, src: Ipv4Addr) -> Vec<u8> {
    build(&Repr { src, ..repr(hosts) }, &[], &payload(hosts))
}

fn to(hosts: &Hosts, dst: Ipv4Addr) -> Vec<u8> {
    build(&Repr { dst, ..repr(hosts) }, &[], &payload(hosts))
}

fn source_route(hosts: &Hosts, kind: u8) -> Vec<Vec<u8>> {
    let [a, b, c, d] = hosts.server.octets();
    one(hosts, with_options(hosts, &[kind, 7, 4, a, b, c, d]))
}

fn oversize(hosts: &Hosts, fragment: Fragment) -> Vec<u8> {
    let repr = Repr {
        fragment,
        ..repr(hosts)
    };
    build(&repr, &[], &vec![7; usize::from(hosts.mtu) + 100])
}

fn frame(hosts: &Hosts, packet: &[u8]) -> Vec<u8> {
    super::frame(hosts, hosts.router_mac, EtherType::IPV4, packet)
}

fn one(hosts: &Hosts, packet: Vec<u8>) -> Vec<Vec<u8>> {
    vec![frame(hosts, &packet)]
}
