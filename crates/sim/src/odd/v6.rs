//! Odd IPv6 packets.

use core::net::Ipv6Addr;

use dataplane::DropReason;
use wire::ipv6::{Fragment, Repr};
use wire::{EtherType, Mac, Protocol, icmpv6, udp};

use super::{Hosts, Icmp, Kernel, Odd, Outcome};

const BEYOND_SCOPE: Icmp = Icmp::V6(1, 2);
const PACKET_TOO_BIG: Icmp = Icmp::V6(2, 0);
const TIME_EXCEEDED: Icmp = Icmp::V6(3, 0);
const UNKNOWN_OPTION: Icmp = Icmp::V6(4, 2);
const ECHO_REPLY: Icmp = Icmp::V6(129, 0);

/// IPv6 cases, in the order of a router's checks.
pub(super) const CASES: &[Odd] = &[
    Odd {
        name: "v6-plain",
        why: "nothing is odd about it: it proves that the others could have passed",
        frames: |hosts| one(hosts, udp(hosts)),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-runt",
        why: "shorter than a header (RFC 8200, 3)",
        frames: |hosts| {
            let mut packet = udp(hosts);
            packet.truncate(39);
            one(hosts, packet)
        },
        outcome: Outcome::Dropped(DropReason::Ipv6Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-bad-version",
        why: "the version must be 6 (RFC 8200, 3)",
        frames: |hosts| {
            let mut packet = udp(hosts);
            packet[0] = 0x50;
            one(hosts, packet)
        },
        outcome: Outcome::Dropped(DropReason::Ipv6Version),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-payload-length-beyond-frame",
        why: "a packet that did not arrive whole is not passed on (RFC 8200, 3)",
        frames: |hosts| {
            let mut packet = udp(hosts);
            packet[5] = 0xff;
            one(hosts, packet)
        },
        outcome: Outcome::Dropped(DropReason::Ipv6Length),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-trailing-bytes",
        why: "what lies behind the payload length is the link's padding and stays there (RFC 2464, 3)",
        frames: |hosts| one(hosts, [udp(hosts), vec![0xaa; 20]].concat()),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-source-multicast",
        why: "a group is no source (RFC 4291, 2.7)",
        frames: |hosts| {
            one(
                hosts,
                from(hosts, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1)),
            )
        },
        outcome: Outcome::Dropped(DropReason::Ipv6MartianSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-source-loopback",
        why: "the loopback address never leaves a host (RFC 4291, 2.5.3)",
        frames: |hosts| one(hosts, from(hosts, Ipv6Addr::LOCALHOST)),
        outcome: Outcome::Dropped(DropReason::Ipv6MartianSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-source-unspecified",
        why: "a packet without a sender is not forwarded (RFC 4291, 2.5.2)",
        frames: |hosts| one(hosts, from(hosts, Ipv6Addr::UNSPECIFIED)),
        outcome: Outcome::Dropped(DropReason::Ipv6MartianSource),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-source-own",
        why: "nobody else sends from the router's address (RFC 2827: answers would come here)",
        frames: |hosts| one(hosts, from(hosts, hosts.router6)),
        outcome: Outcome::Dropped(DropReason::Ipv6OwnSource),
        kernel: Kernel::Differs(
            "the kernel forwards it, because it validates sources of IPv4 alone; the packet is \
             forged in either family",
        ),
    },
    Odd {
        name: "v6-source-link-local",
        why: "a link-local address stays on its link, and its user is told (RFC 4291, 2.5.6; RFC 4443, 3.1)",
        frames: |hosts| one(hosts, from(hosts, hosts.client_mac.link_local())),
        outcome: Outcome::Refused(DropReason::Ipv6BeyondScope, BEYOND_SCOPE),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-destination-link-local",
        why: "a link-local destination is reached on the link or not at all (RFC 4291, 2.5.6)",
        frames: |hosts| {
            one(
                hosts,
                to(hosts, Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xdead)),
            )
        },
        outcome: Outcome::Dropped(DropReason::Ipv6BeyondScope),
        kernel: Kernel::Differs(
            "the kernel looks for that neighbour on the link that the packet came from, and sends a \
             redirect; whoever sent it is on that link and needs no router",
        ),
    },
    Odd {
        name: "v6-destination-loopback",
        why: "the loopback address is never on a link (RFC 4291, 2.5.3)",
        frames: |hosts| one(hosts, to(hosts, Ipv6Addr::LOCALHOST)),
        outcome: Outcome::Dropped(DropReason::Ipv6MartianDestination),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-destination-group",
        why: "a group that the router neither joined nor forwards (RFC 4291, 2.7)",
        frames: |hosts| {
            let group = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 0xdead);
            vec![super::frame(
                hosts,
                Mac::of_ipv6_group(group),
                EtherType::IPV6,
                &to(hosts, group),
            )]
        },
        outcome: Outcome::Dropped(DropReason::MulticastNotMine),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-unicast-in-broadcast-frame",
        why: "a packet for one station in a frame for all is not forwarded (as RFC 1812, 5.3.4)",
        frames: |hosts| {
            vec![super::frame(
                hosts,
                Mac::BROADCAST,
                EtherType::IPV6,
                &udp(hosts),
            )]
        },
        outcome: Outcome::Dropped(DropReason::LinkBroadcast),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-limit-1",
        why: "a packet whose lifetime ends here is not forwarded (RFC 8200, 3; RFC 4443, 3.3)",
        frames: |hosts| {
            one(
                hosts,
                build(
                    &Repr {
                        hop_limit: 1,
                        ..repr(hosts)
                    },
                    &payload(hosts),
                ),
            )
        },
        outcome: Outcome::Refused(DropReason::TtlExceeded, TIME_EXCEEDED),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-limit-0",
        why: "a lifetime of zero should not have arrived, and ends here (RFC 8200, 3)",
        frames: |hosts| {
            one(
                hosts,
                build(
                    &Repr {
                        hop_limit: 0,
                        ..repr(hosts)
                    },
                    &payload(hosts),
                ),
            )
        },
        outcome: Outcome::Refused(DropReason::TtlExceeded, TIME_EXCEEDED),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-limit-1-for-the-router",
        why: "the lifetime of what has arrived is not looked at (RFC 8200, 3)",
        frames: |hosts| {
            let echo = Repr {
                hop_limit: 1,
                next_header: Protocol::ICMPV6,
                dst: hosts.router6,
                ..repr(hosts)
            };
            let mut message = Vec::new();
            icmpv6::Message::EchoRequest {
                id: 1,
                seq: 1,
                data: b"odd",
            }
            .emit(echo.src, echo.dst, &mut message);
            one(hosts, build(&echo, &message))
        },
        outcome: Outcome::Answered(ECHO_REPLY),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-limit-1-error",
        why: "no error is sent about an error (RFC 4443, 2.4 (e.1))",
        frames: |hosts| {
            let error = Repr {
                hop_limit: 1,
                next_header: Protocol::ICMPV6,
                ..repr(hosts)
            };
            let mut message = Vec::new();
            let quoted = &udp(hosts)[..];
            icmpv6::Message::TimeExceeded { code: 0, quoted }.emit(
                error.src,
                error.dst,
                &mut message,
            );
            one(hosts, build(&error, &message))
        },
        outcome: Outcome::Dropped(DropReason::TtlExceeded),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-router-alert",
        why: "a router that does not know what is alerted about forwards (RFC 2711, 2)",
        frames: |hosts| hop_by_hop(hosts, [5, 2, 0, 0, 1, 0]),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-by-hop-to-be-skipped",
        why: "an unknown option says by its two highest bits what is to be done (RFC 8200, 4.2): 00",
        frames: |hosts| hop_by_hop(hosts, [0x3e, 4, 0, 0, 0, 0]),
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-by-hop-to-be-discarded",
        why: "an unknown option says by its two highest bits what is to be done (RFC 8200, 4.2): 01",
        frames: |hosts| hop_by_hop(hosts, [0x5e, 4, 0, 0, 0, 0]),
        outcome: Outcome::Dropped(DropReason::Ipv6UnknownOption),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-by-hop-to-be-told",
        why: "an unknown option says by its two highest bits what is to be done (RFC 8200, 4.2): 10",
        frames: |hosts| hop_by_hop(hosts, [0x9e, 4, 0, 0, 0, 0]),
        outcome: Outcome::Refused(DropReason::Ipv6UnknownOption, UNKNOWN_OPTION),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-by-hop-error-to-be-told",
        why: "no error is sent about an error (RFC 4443, 2.4 (e.1))",
        frames: |hosts| {
            let mut message = Vec::new();
            let quoted = &udp(hosts)[..];
            let error = icmpv6::Message::TimeExceeded { code: 0, quoted };
            error.emit(hosts.client6, hosts.server6, &mut message);
            let options = header(Protocol::ICMPV6, [0x9e, 4, 0, 0, 0, 0]);
            let repr = Repr {
                next_header: Protocol::HOP_BY_HOP,
                ..repr(hosts)
            };
            one(hosts, build(&repr, &[options, message].concat()))
        },
        outcome: Outcome::Dropped(DropReason::Ipv6UnknownOption),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-by-hop-malformed",
        why: "an option does not lead out of its header (RFC 8200, 4.2)",
        frames: |hosts| hop_by_hop(hosts, [0x3e, 5, 0, 0, 0, 0]),
        outcome: Outcome::Dropped(DropReason::Ipv6Options),
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-hop-by-hop-jumbo",
        why: "no link here takes jumbograms, so their option is not known (RFC 2675, 1)",
        frames: |hosts| hop_by_hop(hosts, [0xc2, 4, 0, 1, 0, 0]),
        outcome: Outcome::Refused(DropReason::Ipv6UnknownOption, UNKNOWN_OPTION),
        kernel: Kernel::Differs(
            "the kernel knows the option, and says what is wrong with it (code 0); the packet is as lost",
        ),
    },
    Odd {
        name: "v6-hop-by-hop-not-first",
        why: "a router reads no extension header but the first (RFC 8200, 4)",
        frames: |hosts| {
            let chain = [
                header(Protocol::HOP_BY_HOP, [1, 4, 0, 0, 0, 0]),
                header(Protocol::UDP, [1, 4, 0, 0, 0, 0]),
            ];
            extended(hosts, Protocol::DESTINATION, &chain)
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-routing-header-0",
        why: "it ended with RFC 5095 for its receiver; a router on the way forwards (RFC 5095, 3)",
        frames: |hosts| {
            let mut routing = vec![Protocol::UDP.0, 2, 0, 1, 0, 0, 0, 0];
            routing.extend_from_slice(&hosts.client6.octets());
            extended(hosts, Protocol::ROUTING, &[routing])
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-long-chain",
        why: "the length of the chain is its receiver's business (RFC 8200, 4)",
        frames: |hosts| {
            let link = |next| header(next, [1, 4, 0, 0, 0, 0]);
            let mut chain = vec![link(Protocol::DESTINATION); 11];
            chain.push(link(Protocol::UDP));
            extended(hosts, Protocol::DESTINATION, &chain)
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-overlapping-fragments",
        why: "only who reassembles must drop them (RFC 5722, 4)",
        frames: |hosts| {
            let piece = |offset, more, len| {
                let next_header = Protocol::UDP;
                let header = Fragment {
                    next_header,
                    offset,
                    more,
                    id: 7,
                }
                .to_bytes();
                let repr = Repr {
                    next_header: Protocol::FRAGMENT,
                    ..repr(hosts)
                };
                frame(
                    hosts,
                    &build(&repr, &[&header[..], &vec![offset as u8; len]].concat()),
                )
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
        name: "v6-atomic-fragment",
        why: "a fragment header on a whole packet is no fragment (RFC 6946)",
        frames: |hosts| {
            let next_header = Protocol::UDP;
            let fragment = Fragment {
                next_header,
                offset: 0,
                more: false,
                id: 7,
            };
            extended(hosts, Protocol::FRAGMENT, &[fragment.to_bytes().to_vec()])
        },
        outcome: Outcome::Forwarded,
        kernel: Kernel::Same,
    },
    Odd {
        name: "v6-oversize",
        why: "routers do not fragment IPv6; the sender is told the link's MTU (RFC 8200, 5; RFC 4443, 3.2)",
        frames: |hosts| {
            one(
                hosts,
                build(&repr(hosts), &vec![7; usize::from(hosts.mtu) + 100]),
            )
        },
        outcome: Outcome::Refused(DropReason::TooBig, PACKET_TOO_BIG),
        kernel: Kernel::Same,
    },
];

fn repr(hosts: &Hosts) -> Repr {
    Repr::new(Protocol::UDP, hosts.client6, hosts.server6)
}

/// A UDP datagram that a host accepts.
fn payload(hosts: &Hosts) -> Vec<u8> {
    let data = *b"an odd packet";
    let header = udp::Repr {
        src_port: 4_000,
        dst_port: 4_001,
    };
    [
        &header.to_bytes_v6(&data, hosts.client6, hosts.server6)[..],
        &data,
    ]
    .concat()
}

fn build(repr: &Repr, payload: &[u8]) -> Vec<u8> {
    [&repr.to_bytes(payload.len())[..], payload].concat()
}

fn udp(hosts: &Hosts) -> Vec<u8> {
    build(&repr(hosts), &payload(hosts))
}

fn from(hosts: &Hosts, src: Ipv6Addr) -> Vec<u8> {
    build(&Repr { src, ..repr(hosts) }, &payload(hosts))
}

fn to(hosts: &Hosts, dst: Ipv6Addr) -> Vec<u8> {
    build(&Repr { dst, ..repr(hosts) }, &payload(hosts))
}

/// Builds an extension header of eight bytes.
fn header(next: Protocol, body: [u8; 6]) -> Vec<u8> {
    [&[next.0, 0][..], &body].concat()
}

/// Adds extension headers to the plain packet.
fn extended(hosts: &Hosts, first: Protocol, chain: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let body = [chain.concat(), payload(hosts)].concat();
    one(
        hosts,
        build(
            &Repr {
                next_header: first,
                ..repr(hosts)
            },
            &body,
        ),
    )
}

fn hop_by_hop(hosts: &Hosts, body: [u8; 6]) -> Vec<Vec<u8>> {
    extended(hosts, Protocol::HOP_BY_HOP, &[header(Protocol::UDP, body)])
}

fn frame(hosts: &Hosts, packet: &[u8]) -> Vec<u8> {
    super::frame(hosts, hosts.router_mac, EtherType::IPV6, packet)
}

fn one(hosts: &Hosts, packet: Vec<u8>) -> Vec<Vec<u8>> {
    vec![frame(hosts, &packet)]
}
