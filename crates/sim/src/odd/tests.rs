//! Each case through the walk's decisions.

use std::collections::HashSet;
use std::sync::Arc;

use dataplane::snapshot::{FamilySettings, Interface, OwnAddresses, PortBinding, Walk};
use dataplane::table::{Adjacency, FibWriter, Kind, Network};
use dataplane::trace::End;
use dataplane::walk::Exit;
use dataplane::{Snapshot, Why, trace_packet};
use frame::InterfaceId;
use service::icmp::{Offender, SentTo, v4, v6};

use super::*;

const LAN: InterfaceId = InterfaceId(1);
const WAN: InterfaceId = InterfaceId(2);

fn hosts() -> Hosts {
    Hosts {
        client_mac: Mac([2, 0, 0, 0, 0, 0xc]),
        router_mac: Mac([2, 0, 0, 0, 0, 1]),
        client: Ipv4Addr::new(10, 0, 1, 2),
        router: Ipv4Addr::new(10, 0, 1, 1),
        server: Ipv4Addr::new(10, 0, 2, 2),
        server_broadcast: Ipv4Addr::new(10, 0, 2, 255),
        client6: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 2),
        router6: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1),
        server6: Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, 2),
        mtu: 1500,
    }
}

fn snapshot(hosts: &Hosts) -> Snapshot {
    let walk = Walk {
        enabled: true,
        ..Walk::default()
    };
    let interface = |name: &str, mac, port| Interface {
        name: Arc::from(name),
        running: true,
        mac,
        mtu: 1700,
        port,
        ethernet: true,
        ipv4: walk.clone(),
        ipv6: walk.clone(),
        ..Interface::default()
    };
    let settings = FamilySettings {
        forward: true,
        ..FamilySettings::default()
    };
    let binding = |interface| PortBinding {
        interface,
        ..PortBinding::default()
    };
    Snapshot {
        interfaces: vec![
            Interface::default(),
            interface("lan", hosts.router_mac, 0),
            interface("wan", Mac([2, 0, 0, 0, 0, 2]), 1),
        ],
        ports: vec![binding(LAN), binding(WAN)],
        own: OwnAddresses::new(vec![hosts.router.to_bits()], vec![hosts.router6.to_bits()]),
        ipv4: settings,
        ipv6: settings,
        ..Snapshot::default()
    }
}

fn fib(hosts: &Hosts) -> FibWriter {
    let mut writer = FibWriter::new();
    let mut hop = |kind, egress| {
        let mtu = hosts.mtu.into();
        let adjacency = Adjacency {
            kind,
            egress,
            mtu,
            header_len: 14,
            ..Adjacency::default()
        };
        writer.add_next_hop(&adjacency).expect("room")
    };
    let server = hop(Kind::Forward, WAN);
    let local = hop(Kind::Local, LAN);
    let broadcast = hop(Kind::Broadcast, WAN);
    let table = writer.table(0).expect("the main table");
    for (address, hop) in [
        (hosts.server, server),
        (hosts.router, local),
        (hosts.server_broadcast, broadcast),
    ] {
        table
            .ipv4
            .insert(Network::new(address.to_bits(), 32), hop)
            .expect("room");
    }
    // A default route: what is dropped is not dropped for want of one.
    table.ipv4.insert(Network::new(0, 0), server).expect("room");
    table.ipv6.insert(Network::new(0, 0), server).expect("room");
    table
        .ipv6
        .insert(Network::new(hosts.router6.to_bits(), 128), local)
        .expect("room");
    writer
}

/// What control would say about a packet that was handed to it.
fn told(why: Why, packet: &[u8], sent_to: SentTo) -> Option<Icmp> {
    let offender = Offender { packet, sent_to };
    let is_v6 = packet[0] >> 4 == 6;
    if why == Why::Local {
        return if is_v6 {
            let reply = v6::echo_reply(&offender, Ipv6Addr::LOCALHOST);
            reply.ok().map(|reply| Icmp::V6(reply[40], reply[41]))
        } else {
            v4::echo_reply(&offender, 0)
                .ok()
                .map(|reply| Icmp::V4(reply[20], reply[21]))
        };
    }
    if is_v6 {
        let error = match why {
            Why::TtlExceeded => v6::Error::TimeExceeded,
            Why::TooBig(mtu) => v6::Error::PacketTooBig { mtu },
            Why::BeyondScope => v6::Error::Unreachable(wire::icmpv6::Unreachable::BEYOND_SCOPE),
            other => panic!("{other:?} about an odd packet"),
        };
        let message = v6::error(&offender, error, Ipv6Addr::LOCALHOST).ok()?;
        return Some(Icmp::V6(message[40], message[41]));
    }
    let error = match why {
        Why::TtlExceeded => v4::Error::TimeExceeded,
        Why::TooBig(mtu) => v4::Error::FragmentationNeeded { mtu: mtu as u16 },
        Why::ParameterProblem(pointer) => v4::Error::ParameterProblem {
            pointer: pointer as u8,
        },
        other => panic!("{other:?} about an odd packet"),
    };
    let message = v4::error(&offender, error, Ipv4Addr::LOCALHOST, 0).ok()?;
    Some(Icmp::V4(message[20], message[21]))
}

/// The fate of a frame, by the walk's decision about it.
fn fate(end: &End, frame: &[u8], mtu: u16) -> Fate {
    let packet = &frame[14..];
    let sent_to = if frame[0] & 1 == 0 {
        SentTo::One
    } else {
        SentTo::Many
    };
    match *end {
        End::Sent(egress) => {
            assert_eq!(egress, WAN);
            let len = u16::from_be_bytes([packet[2], packet[3]]);
            if packet[0] >> 4 == 4 && len > mtu {
                Fate::Fragmented
            } else {
                Fate::Forwarded
            }
        }
        End::Exit(Exit::Drop(reason)) => Fate::Dropped(reason),
        End::Exit(Exit::Punt(why)) => match (why.discards(), told(why, packet, sent_to)) {
            (Some(reason), Some(icmp)) => Fate::Refused(reason, icmp),
            (Some(reason), None) => Fate::Dropped(reason),
            (None, Some(icmp)) => Fate::Answered(icmp),
            (None, None) => panic!("{why:?} leads nowhere"),
        },
        End::Exit(exit) => panic!("{exit:?} about an odd packet"),
    }
}

#[test]
fn every_odd_packet_meets_its_fate() {
    let hosts = hosts();
    let (snapshot, fib) = (snapshot(&hosts), fib(&hosts));
    for odd in cases() {
        let frames = (odd.frames)(&hosts);
        assert!(!frames.is_empty(), "{}", odd.name);
        for frame in frames {
            let walked = trace_packet(&snapshot, fib.fib(), &frame, LAN);

            assert_eq!(
                fate(&walked.end, &frame, hosts.mtu),
                odd.fate,
                "{}: {}",
                odd.name,
                odd.why
            );
        }
    }
}

#[test]
fn names_are_unique_and_every_reason_has_its_section() {
    let mut names = HashSet::new();
    for odd in cases() {
        assert!(names.insert(odd.name), "{} twice", odd.name);
        assert!(
            odd.why.contains("RFC") || odd.name.ends_with("plain"),
            "{}",
            odd.name
        );
    }
}
