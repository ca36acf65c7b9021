//! Fuzz targets of protocol state machines: bytes become a list of events, and each event is followed
//! by a check of invariants.
//!
//! ```text
//! script = { event }    event = | what | len | len bytes |    (the last may be truncated)
//! ```

mod dns;
mod l2tp;
mod ntp;
mod openvpn;
mod ppp;
mod pppoe;
mod pptp;
mod snmp;
mod sstp;

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::{Instant, Machine};
use wire::icmpv6::{Message, Type};
use wire::lacp::{Information, Pdu, State};
use wire::{Mac, Protocol, ipv4, ipv6};

use service::icmp::{Offender, SentTo, v4, v6};
use service::neighbour::{self, Arp, Discovery, DuplicateDetection, Family, Neighbours};
use service::{igmp as groups, lacp as aggregation, mld, ra, snooping, vrrp};

use super::Target;
use super::script::{events, quiet, span};

pub use self::ppp::ppp;
pub use self::sstp::sstp;
pub use dns::dns;
pub use l2tp::{l2tp, l2tp_ethernet};
pub use ntp::ntp;
pub use openvpn::openvpn;
pub use pppoe::pppoe;
pub use pptp::pptp;
pub use snmp::snmp;

/// Fuzz targets with their names, which are the names of their corpora.
pub const TARGETS: [(&str, Target); 20] = [
    ("machine-arp", arp),
    ("machine-dhcp-server", super::dhcp::server),
    ("machine-discovery", discovery),
    ("machine-dns", dns),
    ("machine-icmp", icmp),
    ("machine-igmp", igmp_host),
    ("machine-l2tp", l2tp),
    ("machine-l2tp-ethernet", l2tp_ethernet),
    ("machine-lacp", lacp),
    ("machine-mld", mld),
    ("machine-ntp", ntp),
    ("machine-openvpn", openvpn),
    ("machine-ppp", ppp),
    ("machine-pppoe", pppoe),
    ("machine-pptp", pptp),
    ("machine-ra", ra),
    ("machine-snmp", snmp),
    ("machine-snooping", snooping),
    ("machine-sstp", sstp),
    ("machine-vrrp", vrrp),
];

/// Runs the ARP neighbours of an interface.
pub fn arp(script: &[u8]) {
    neighbours::<Arp>(
        script,
        |n| Ipv4Addr::new(10, 0, 0, n),
        24,
        |data| data.to_vec(),
    );
}

/// Runs the IPv6 neighbours of an interface.
pub fn discovery(script: &[u8]) {
    let address = |n: u8| link_local(n.into());
    neighbours::<Discovery>(script, address, 64, discovery_packet);
}

/// Builds ICMP errors, replies and redirects about a packet.
pub fn icmp(packet: &[u8]) {
    for sent_to in [SentTo::One, SentTo::Many] {
        let offender = Offender { packet, sent_to };
        icmp_v4(&offender);
        icmp_v6(&offender);
    }
}

/// Runs the links of an LACP bond.
pub fn lacp(script: &[u8]) {
    let mut config = aggregation::Config::new(Mac([2, 0, 0, 0, 0, 1]));
    let mut bond = aggregation::Lacp::new(config);
    let mut now = Instant::from_secs(1);
    let (mut sent, mut heard) = (0, 0);
    for (what, data) in events(script) {
        let mut out = Vec::new();
        let first = data.first().copied().unwrap_or(0);
        let (port, rest) = (u16::from(first & 7), data.get(1..).unwrap_or_default());
        let pdu;
        let event = match what % 8 {
            0 => aggregation::Event::Port(port),
            1 => aggregation::Event::PortGone(port),
            2 => {
                let link = aggregation::Link {
                    up: first & 8 != 0,
                    megabits: u32::from(first >> 5) * 100,
                    full_duplex: first & 16 != 0,
                };
                aggregation::Event::Link(port, link)
            }
            3 => {
                config.active = first & 8 != 0;
                config.fast = first & 16 != 0;
                config.user_key = u16::from(first >> 5);
                aggregation::Event::Configure(config)
            }
            4 => aggregation::Event::Received(port, rest),
            _ => {
                pdu = lacpdu(&bond, port, rest);
                aggregation::Event::Received(port, &pdu)
            }
        };
        heard += usize::from(matches!(event, aggregation::Event::Received(..)));
        bond.handle(event, now, &mut out);
        now += span(data);
        bond.tick(now, &mut out);
        quiet(&bond, now);
        let sends =
            |action: &&aggregation::Action| matches!(action, aggregation::Action::Send { .. });
        sent += out.iter().filter(sends).count();
        assert_eq!(bond.unsettled(), 0, "the machines come to rest");
        assert!(
            sent <= 16 * (heard + 1) + script.len() * 16,
            "what is sent is bounded"
        );
        let carry: Vec<_> = (0..8).filter_map(|port| bond.port(port)).collect();
        let carry = { carry.iter() }.filter(|port| port.mux >= aggregation::Mux::Attached);
        let partners: std::collections::BTreeSet<_> = carry
            .map(|port| (port.partner.system, port.partner.key, port.actor.key))
            .collect();
        assert!(partners.len() <= 1, "ports that are one have one partner");
    }
}

/// Builds a partner's PDU for a port: state bits, system, key, and the partner's view of this bond, which is
/// mostly right.
fn lacpdu(bond: &aggregation::Lacp, port: u16, data: &[u8]) -> Vec<u8> {
    let (&[state, system, key, odd], rest) = data.split_first_chunk().unwrap_or((&[0; 4], &[]));
    let own = bond.port(port).map(|view| view.actor).unwrap_or_default();
    let actor = Information {
        system: Mac([2, 0, 0, 0, 0, system]),
        key: key.into(),
        port: port + 100,
        state: State(state),
        ..own
    };
    let partner = match odd {
        0 => own,
        _ => Information {
            port: odd.into(),
            ..own
        },
    };
    let pdu = Pdu::Lacp {
        actor,
        partner,
        collector_delay: 0,
    };
    [&pdu.to_bytes(), rest].concat()
}

/// Runs the MLD listener of an interface.
pub fn mld(script: &[u8]) {
    let mut listener = mld::Listener::new(1);
    let mut now = Instant::from_secs(1);
    for (what, data) in events(script) {
        let mut out = Vec::new();
        let first = data.first().copied().unwrap_or(0);
        let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, first.into());
        let packet;
        let event = match what % 8 {
            0 => mld::Event::LinkUp,
            1 => mld::Event::LinkDown,
            2 => mld::Event::Join { group },
            3 => mld::Event::Leave { group },
            4 => mld::Event::Source {
                address: (first & 1 == 0).then(|| link_local(1)),
            },
            5 => mld::Event::Received { packet: data },
            _ => {
                packet = query(data);
                mld::Event::Received { packet: &packet }
            }
        };
        listener.handle(event, now, &mut out);
        assert!(out.is_empty(), "reports are made by the clock");
        now += span(data);
        listener.tick(now, &mut out);
        quiet(&listener, now);
        assert!(listener.groups().count() <= 256);
    }
}

/// Runs IGMP and MLD snooping of a bridge.
pub fn snooping(script: &[u8]) {
    let members_max = 64;
    let mut bridge = snooping::Snooping::default();
    let mut now = Instant::from_secs(1);
    for (what, data) in events(script) {
        let mut out = Vec::new();
        let [first, second, ..] = [data, &[0; 2]].concat()[..] else {
            continue;
        };
        let port = u32::from(first & 3);
        let packet;
        let event = match what % 8 {
            0 => snooping::Event::Configure(snooping::Config {
                querier: first & 1 != 0,
                igmp_v3: first & 2 != 0,
                mld_v2: first & 4 != 0,
                source4: Ipv4Addr::new(10, 0, 0, first),
                source6: (first & 8 != 0).then(|| link_local(first.into())),
                vlans: (0..u16::from(second & 3)).collect(),
                last_member_query_count: u32::from(second >> 4),
                members_max,
                ..snooping::Config::default()
            }),
            1 => {
                let config = snooping::PortConfig {
                    fast_leave: second & 1 != 0,
                    learns_routers: second & 2 != 0,
                };
                snooping::Event::Port(port, config)
            }
            2 => snooping::Event::PortGone(port),
            3 => snooping::Event::TopologyChanged,
            _ => {
                packet = match what % 8 {
                    4 => query(data),
                    5 => igmp(data),
                    _ => data.to_vec(),
                };
                snooping::Event::Received {
                    port,
                    vlan: u16::from(second & 3),
                    packet: &packet,
                }
            }
        };
        bridge.handle(event, now, &mut out);
        now += span(data);
        bridge.tick(now, &mut out);
        quiet(&bridge, now);
        let known = bridge.members().count() + bridge.routers().count();
        // A full table still holds the queriers of the bridge's own VLANs.
        assert!(known <= members_max.max(16_384));
    }
}

/// Builds an IGMP packet from its type and the bytes after its checksum.
fn igmp(data: &[u8]) -> Vec<u8> {
    let (kind, rest) = data.split_first().unwrap_or((&0x16, &[]));
    let mut message = vec![*kind, 0, 0, 0];
    message.extend(rest.iter().take(1_400));
    let sum = wire::checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let to = Ipv4Addr::new(224, 0, 0, 22);
    let header = ipv4::Repr::new(Protocol::IGMP, Ipv4Addr::new(10, 0, 0, 9), to);
    let mut packet = header.to_bytes(message.len()).to_vec();
    packet.extend(message);
    packet
}

/// Runs the host side of IGMP.
pub fn igmp_host(script: &[u8]) {
    let mut host = groups::Host::new(7);
    let mut now = Instant::from_secs(1);
    for (what, data) in events(script) {
        let mut out = Vec::new();
        let group = Ipv4Addr::new(239, 0, 0, data.first().copied().unwrap_or(1));
        let own = Ipv4Addr::new(10, 0, 0, 1);
        let packet = match what % 8 {
            6 => data.to_vec(),
            _ => igmp(data),
        };
        let event = match what % 8 {
            0 => groups::Event::Join { group },
            1 => groups::Event::Leave { group },
            2 => groups::Event::Source { address: Some(own) },
            3 => groups::Event::Source { address: None },
            4 => groups::Event::LinkUp,
            5 => groups::Event::LinkDown,
            _ => groups::Event::Received { packet: &packet },
        };
        host.handle(event, now, &mut out);
        now += span(data);
        host.tick(now, &mut out);
        quiet(&host, now);
        for groups::Action::Send(frame) in out {
            assert!(ipv4::Packet::new_verified(&frame.payload).is_ok());
        }
    }
}

/// Runs virtual routers of each version and family.
pub fn vrrp(script: &[u8]) {
    for (version, ipv6) in [
        (vrrp::Version::V2, false),
        (vrrp::Version::V3, false),
        (vrrp::Version::V3, true),
    ] {
        let mut router = vrrp::VirtualRouter::new(virtual_router(version, ipv6, &[]));
        let mut now = Instant::from_secs(1);
        for (what, data) in events(script) {
            let mut out = Vec::new();
            let heard = vrrp::parse(data);
            let event = match what % 6 {
                0 => vrrp::Event::Up,
                1 => vrrp::Event::Down,
                2 => vrrp::Event::Configure(virtual_router(version, ipv6, data)),
                3 => vrrp::Event::Follow(match data.first() {
                    Some(0) => Some(vrrp::State::Backup),
                    Some(1) => Some(vrrp::State::Master),
                    _ => None,
                }),
                _ => match &heard {
                    Ok(heard) => vrrp::Event::Received(heard),
                    Err(_) => continue,
                },
            };
            router.handle(event, now, &mut out);
            now += span(data);
            router.tick(now, &mut out);
            quiet(&router, now);
            assert!(out.len() <= 8, "an event is answered by a few actions");
            for action in out {
                if let vrrp::Action::Send(packet) = action {
                    assert!(vrrp::parse(&packet).is_ok(), "what is sent can be read");
                }
            }
        }
    }
}

fn virtual_router(version: vrrp::Version, ipv6: bool, data: &[u8]) -> vrrp::Config {
    let byte = |at: usize, usual: u8| data.get(at).copied().unwrap_or(usual);
    let authentication = match byte(1, 0) % 3 {
        1 => vrrp::Authentication::simple("secret"),
        2 => vrrp::Authentication::header("secret"),
        _ => vrrp::Authentication::None,
    };
    let source = match ipv6 {
        true => link_local(1).into(),
        false => Ipv4Addr::new(10, 0, 0, 1).into(),
    };
    vrrp::Config {
        version,
        priority: byte(0, 100).max(1),
        authentication,
        preempt: byte(2, 0) & 1 == 0,
        sums_as_v2: byte(2, 0) & 2 != 0,
        source: Some(source).filter(|_| byte(2, 0) & 4 == 0),
        ..vrrp::Config::new(7, ipv6)
    }
}

/// Runs the router advertiser of an interface.
pub fn ra(script: &[u8]) {
    let mut advertiser = ra::Advertiser::new(ra_config(&[]), 1);
    let mut now = Instant::from_secs(1);
    let source = link_local(1);
    for (what, data) in events(script) {
        let mut out = Vec::new();
        let from = Mac([2, 0, 0, 0, 0, 9]);
        let packet;
        let event = match what % 8 {
            0 => ra::Event::Start { source },
            1 => ra::Event::Stop,
            2 => ra::Event::LinkDown,
            3 => ra::Event::Configure(ra_config(data)),
            4 => ra::Event::Received { packet: data, from },
            5 => ra::Event::Withdraw { source },
            6 => ra::Event::Recall(ra_config(data).prefixes),
            _ => {
                packet = discovery_packet(data);
                let packet = &packet;
                ra::Event::Received { packet, from }
            }
        };
        advertiser.handle(event, now, &mut out);
        now += span(data);
        advertiser.tick(now, &mut out);
        quiet(&advertiser, now);
        let too_long = |ra::Action::Send(frame): &_| frame.payload.len() > 1_280;
        assert!(
            !out.iter().any(too_long),
            "an advertisement fits every link"
        );
    }
}

/// Runs a neighbour table; its packets are numbers, and each must come back once.
fn neighbours<F: Family>(
    script: &[u8],
    address: impl Fn(u8) -> F::Address,
    prefix_len: u8,
    packet: impl Fn(&[u8]) -> Vec<u8>,
) {
    let mut machine = Neighbours::<F, u16>::new(neighbour_config(0), 1);
    let mut now = Instant::from_secs(1);
    let mut given = 0u16;
    let mut back = Vec::new();
    for (what, data) in events(script).take(usize::from(u16::MAX)) {
        let first = data.first().copied().unwrap_or(0);
        let address = address(first & 31);
        let bytes = packet(data);
        let mut out = Vec::new();
        let event = match what % 16 {
            0 => neighbour::Event::LinkUp,
            1 => neighbour::Event::LinkDown,
            2 | 3 => {
                given += 1;
                let packet = Some(given - 1);
                neighbour::Event::Resolve { address, packet }
            }
            4 => neighbour::Event::Used { address },
            5 => neighbour::Event::Confirmed { address },
            6 => neighbour::Event::Probe { address },
            7 => neighbour::Event::AddressAdded {
                address,
                prefix_len,
                detect: match first & 32 {
                    0 => DuplicateDetection::Run,
                    _ => DuplicateDetection::Skip,
                },
            },
            8 => neighbour::Event::AddressRemoved { address },
            9 => neighbour::Event::StaticAdded {
                address,
                mac: (first & 64 == 0).then_some(Mac([2, 0, 0, 0, 1, first])),
                published: first & 128 == 0,
            },
            10 => neighbour::Event::StaticRemoved { address },
            11 => neighbour::Event::Forget { address },
            12 => neighbour::Event::Configure(neighbour_config(first)),
            _ => neighbour::Event::Received {
                packet: &bytes,
                from: Mac([2, 0, 0, 0, 0, first & 7]),
            },
        };
        machine.handle(event, now, &mut out);
        now += span(data);
        machine.tick(now, &mut out);
        quiet(&machine, now);
        back.extend(out.into_iter().filter_map(returned));
        let learnt = machine.rows(None).filter(|row| row.dynamic).count();
        assert!(
            learnt <= machine.config().entries_max,
            "the table is bounded"
        );
        assert!(machine.waiting() <= machine.config().queue_total_max.max(4));
    }
    let mut out = Vec::new();
    machine.handle(neighbour::Event::LinkDown, now, &mut out);
    back.extend(out.into_iter().filter_map(returned));
    back.sort_unstable();
    assert!(back.into_iter().eq(0..given), "each packet comes back once");
}

fn returned<A>(action: neighbour::Action<A, u16>) -> Option<u16> {
    match action {
        neighbour::Action::Release { packet, .. }
        | neighbour::Action::Unreachable { packet, .. }
        | neighbour::Action::Dropped { packet, .. } => Some(packet),
        _ => None,
    }
}

fn neighbour_config(choice: u8) -> neighbour::Config {
    use neighbour::Mode::{Disabled, Enabled, LocalProxyArp, ProxyArp, ReplyOnly};
    let modes = [
        Enabled,
        Enabled,
        ProxyArp,
        LocalProxyArp,
        ReplyOnly,
        Disabled,
    ];
    neighbour::Config {
        mode: modes[usize::from(choice) % modes.len()],
        entries_max: 4 + usize::from(choice >> 5),
        queue_max: 2,
        queue_total_max: 4,
        ..neighbour::Config::new(Mac([2, 0, 0, 0, 0, choice & 1]))
    }
}

fn ra_config(data: &[u8]) -> ra::Config {
    let prefix = |&n: &u8| {
        let network = Ipv6Addr::new(0x2001, 0xdb8, n.into(), 0, 0, 0, 0, 0);
        ra::Prefix::of_address(network, n)
    };
    ra::Config {
        prefixes: data.iter().map(prefix).collect(),
        dns: data.iter().map(|&n| link_local(n.into())).collect(),
        lifetime_s: data.len() as u16,
        ..ra::Config::new(Mac([2, 0, 0, 0, 0, 1]))
    }
}

fn icmp_v4(offender: &Offender<'_>) {
    let own = Ipv4Addr::new(10, 0, 0, 1);
    let built = [
        v4::error(offender, v4::Error::TimeExceeded, own, 0),
        v4::redirect(offender, own, [(own, 8)], own, 0),
    ];
    for packet in built.iter().flatten() {
        assert!(packet.len() <= 576 && ipv4::Packet::new_verified(packet).is_ok());
        let about = Offender {
            packet,
            sent_to: SentTo::One,
        };
        assert!(v4::owed(&about).is_err(), "no error about an error");
    }
    if let Ok(reply) = v4::echo_reply(offender, 0) {
        assert!(ipv4::Packet::new_verified(&reply).is_ok());
    }
}

fn icmp_v6(offender: &Offender<'_>) {
    let own = link_local(1);
    let hop = v6::BetterHop {
        target: link_local(2),
        mac: None,
        sender_is_neighbour: true,
    };
    let too_big = v6::Error::PacketTooBig { mtu: 1_280 };
    let built = [
        v6::error(offender, too_big, own),
        v6::redirect(offender, &hop, own),
    ];
    for packet in built.iter().flatten() {
        assert!(packet.len() <= 1_280 && ipv6::Packet::new_checked(packet).is_ok());
        let about = Offender {
            packet,
            sent_to: SentTo::One,
        };
        assert!(
            v6::owed(&about, too_big).is_err(),
            "no error about an error"
        );
    }
    if let Ok(reply) = v6::echo_reply(offender, own, |to| !to.is_multicast()) {
        assert!(ipv6::Packet::new_checked(&reply).is_ok());
    }
}

/// Builds a neighbour discovery packet with a valid checksum, which a fuzzer would not find: addresses, type,
/// and the bytes after the checksum.
fn discovery_packet(data: &[u8]) -> Vec<u8> {
    let Some((&[_, ends, kind, a, b, c, d], rest)) = data.split_first_chunk() else {
        return data.to_vec();
    };
    let address = |choice| match choice {
        0 => Ipv6Addr::UNSPECIFIED,
        1 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
        2 => ipv6::solicited_node(link_local(1)),
        n => link_local(u16::from(n) - 3),
    };
    let message = Message::Other {
        kind: Type(133 + kind % 5),
        code: 0,
        rest: [a, b, c, d],
        data: rest,
    };
    let (src, dst) = (address(ends & 15), address(ends >> 4));
    ipv6_packet(src, dst, 255, &[], &message)
}

/// Builds an MLD query, like [`discovery_packet`].
fn query(data: &[u8]) -> Vec<u8> {
    let (&[_, a, b], rest) = data.split_first_chunk().unwrap_or((&[0; 3], &[]));
    let mut body = [0; 20];
    let len = if rest.len() & 1 == 0 { 16 } else { 20 };
    for (slot, byte) in body.iter_mut().zip(rest) {
        *slot = *byte;
    }
    let message = Message::Other {
        kind: Type::LISTENER_QUERY,
        code: 0,
        rest: [a, b, 0, 0],
        data: body.get(..len).unwrap_or_default(),
    };
    let dst = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let alert = [Protocol::ICMPV6.0, 0, 5, 2, 0, 0, 1, 0];
    ipv6_packet(link_local(2), dst, 1, &alert, &message)
}

/// Builds an IPv6 packet with hop-by-hop options, which may be empty.
fn ipv6_packet(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    hop_limit: u8,
    options: &[u8],
    message: &Message<'_>,
) -> Vec<u8> {
    let mut upper = options.to_vec();
    message.emit(src, dst, &mut upper);
    let next_header = match options {
        [] => Protocol::ICMPV6,
        _ => Protocol::HOP_BY_HOP,
    };
    let header = ipv6::Repr {
        hop_limit,
        ..ipv6::Repr::new(next_header, src, dst)
    };
    [&header.to_bytes(upper.len()), &upper[..]].concat()
}

fn link_local(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n)
}
