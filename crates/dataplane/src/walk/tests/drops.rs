//! Tests of drop reasons: each reason is counted by the frames that cause it.

use frame::PortCounters;
use machine::Duration;

use super::{changed, ip4, ip6, rig, udp4, udp6, with_options, with_options6};
use crate::drop::DropReason;
use crate::rings::Command;
use crate::snapshot::{RpFilter, SlowReason};
use crate::table::{Adjacency, Kind};
use crate::testing::{ETHER1, ETHER2, MAC, Rig, SIZES, Udp4, Udp6, arp, ethernet, gateway};

/// Returns frames with the drop reason that each causes.
pub(super) fn refused() -> Vec<(DropReason, Vec<u8>)> {
    let source = Udp4::default().source;
    let mut checksum = Udp4::default().frame();
    checksum[24] ^= 1;
    let source6 = Udp6::default().source;
    let target6 = Udp6::default().destination;
    let mut version6 = Udp6::default().frame();
    version6[14] = 0x40;
    let mut tagged = ethernet(MAC, 0x8100, &[0, 99, 0x08, 0x00]);
    tagged.extend(Udp4::default().packet());
    let other = Udp4 {
        to: [2, 9, 9, 9, 9, 9],
        ..Udp4::default()
    };
    let broadcast = Udp4 {
        to: [0xff; 6],
        ..Udp4::default()
    };
    let ttl = Udp4 {
        ttl: 1,
        ..Udp4::default()
    };
    let big = Udp4 {
        payload: 1500,
        fragment: 0x4000,
        ..Udp4::default()
    };
    let extension = Udp6 {
        destination: source6 - 1,
        next_header: 0,
        payload: 1,
        ..Udp6::default()
    };
    vec![
        (DropReason::EthernetLength, vec![0; 13]),
        (DropReason::EthernetOther, other.frame()),
        (DropReason::LinkBroadcast, broadcast.frame()),
        (DropReason::EthernetType, ethernet(MAC, 0x88cc, &[0; 46])),
        (DropReason::VlanUnknown, tagged),
        (DropReason::Ipv4Length, ip4(&Udp4::default().packet()[..19])),
        (DropReason::Ipv4Length, changed(|packet| packet[3] = 19)),
        (DropReason::Ipv4Length, changed(|packet| packet[3] = 255)),
        (DropReason::Ipv4Version, changed(|packet| packet[0] = 0x55)),
        (DropReason::Ipv4Length, changed(|packet| packet[0] = 0x44)),
        (DropReason::Ipv4Checksum, checksum),
        (
            DropReason::Ipv4MartianSource,
            udp4(0x7f00_0001, 0x0b00_0001),
        ),
        (
            DropReason::Ipv4MartianSource,
            udp4(0xe000_0001, 0x0b00_0001),
        ),
        (DropReason::Ipv4MartianSource, udp4(u32::MAX, 0x0b00_0001)),
        (DropReason::Ipv4MartianSource, udp4(1, 0x0b00_0001)),
        (
            DropReason::Ipv4MartianDestination,
            udp4(source, 0x7f00_0001),
        ),
        (
            DropReason::Ipv4MartianDestination,
            udp4(source, 0xf000_0001),
        ),
        (DropReason::Ipv4MartianDestination, udp4(source, 0)),
        (DropReason::Ipv4OwnSource, udp4(0x0a00_0001, 0x0b00_0001)),
        (DropReason::Ipv4Options, ip4(&with_options(&[7, 1, 0, 0]))),
        (
            DropReason::Ipv4SourceRoute,
            ip4(&with_options(&[131, 3, 4, 0])),
        ),
        (DropReason::MulticastNotMine, udp4(source, 0xef01_0101)),
        (DropReason::DirectedBroadcast, {
            let mut frame = udp4(source, 0x0dff_ffff);
            frame.truncate(60);
            frame
        }),
        (DropReason::TtlExceeded, ttl.frame()),
        (DropReason::NoRoute, udp4(source, 0x0101_0101)),
        (DropReason::Blackhole, udp4(source, 0x0c01_0001)),
        (DropReason::Unreachable, udp4(source, 0x0c02_0001)),
        (DropReason::Prohibit, udp4(source, 0x0c03_0001)),
        (DropReason::TooBig, big.frame()),
        (DropReason::Ipv6Length, ethernet(MAC, 0x86dd, &[0x60; 39])),
        (
            DropReason::Ipv6Length,
            Udp6::default().frame()[..70].to_vec(),
        ),
        (DropReason::Ipv6Version, version6),
        (DropReason::Ipv6MartianSource, udp6(1, target6)),
        (DropReason::Ipv6MartianSource, udp6(0xff02 << 112, target6)),
        (DropReason::Ipv6MartianSource, udp6(0, target6)),
        (DropReason::Ipv6MartianDestination, udp6(source6, 1)),
        (DropReason::Ipv6MartianDestination, udp6(source6, 0)),
        (DropReason::Ipv6OwnSource, udp6(source6 - 1, target6)),
        (
            DropReason::Ipv6BeyondScope,
            udp6(0xfe80 << 112 | 9, target6),
        ),
        (
            DropReason::Ipv6BeyondScope,
            udp6(source6, 0xfe80 << 112 | 9),
        ),
        // An address of this router on another link.
        (
            DropReason::Ipv6BeyondScope,
            udp6(source6, 0xfe80 << 112 | 1),
        ),
        (DropReason::Ipv6ExtensionHeader, extension.frame()),
        (
            DropReason::Ipv6Options,
            ip6(&with_options6(&[5, 1, 0, 1, 1, 0])),
        ),
        (
            DropReason::Ipv6UnknownOption,
            ip6(&with_options6(&[0x5e, 4, 0, 0, 0, 0])),
        ),
        (
            DropReason::Ipv6UnknownOption,
            ip6(&with_options6(&[0x9e, 4, 0, 0, 0, 0])),
        ),
    ]
}

#[test]
fn what_is_wrong_with_a_packet_is_counted_under_its_name() {
    for (reason, frame) in refused() {
        let mut rig = rig();
        let other = Adjacency {
            kind: Kind::Broadcast,
            egress: ETHER2,
            ..gateway()
        };
        let hop = rig.add_hop(&other);
        rig.route4(0x0dff_ffff, 32, hop);

        let sent = rig.pass(frame.clone());

        assert_eq!(sent, [[]; 0] as [[u8; 0]; 0], "{}", reason.name());
        assert_eq!(rig.drops(), [(reason, 1)], "{frame:x?}");
        assert_eq!(rig.traffic(ETHER1).rx_drop, 1, "{}", reason.name());
    }
}

#[test]
fn the_state_of_interfaces_and_settings_has_its_own_names() {
    type Change = fn(&mut Rig);
    let cases: [(DropReason, Change); 6] = [
        (DropReason::InterfaceDown, |rig| {
            rig.interface(ETHER1).running = false
        }),
        (DropReason::InterfaceDown, |rig| {
            rig.interface(ETHER1).ipv4 = false
        }),
        (DropReason::InterfaceDown, |rig| rig.snapshot.ports.clear()),
        (DropReason::ForwardingOff, |rig| {
            rig.snapshot.ipv4.forward = false
        }),
        (DropReason::ReversePath, |rig| {
            rig.slow4(&[SlowReason::ReversePathFilter]);
            rig.snapshot.ipv4.rp_filter = RpFilter::Strict;
            let hop = rig.gateway;
            rig.route4(0x0a00_0002, 32, hop);
        }),
        (DropReason::EgressDown, |rig| {
            rig.snapshot.ports[1].workers.clear();
            rig.command(Command::Detach { number: 1 });
        }),
    ];
    for (reason, change) in cases {
        let mut rig = rig();
        rig.settle();
        change(&mut rig);
        rig.publish();

        assert!(rig.pass(Udp4::default().frame()).is_empty());
        assert_eq!(rig.drops(), [(reason, 1)]);
    }
}

#[test]
fn overflows_have_their_own_names() {
    let mut rig = rig();
    rig.ports[1].line().room = Some(1);
    for _ in 0..3 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();
    assert_eq!(rig.drops(), [(DropReason::PortFull, 2)]);
    assert_eq!(rig.traffic(ETHER2).tx_drop, 2);

    for _ in 0..2000 {
        rig.arrive(arp());
        rig.settle();
    }
    assert!(rig.drops().contains(&(DropReason::PuntFull, 2000 - 1024)));
}

#[test]
fn what_a_port_loses_has_a_name_and_is_counted_once() {
    let mut rig = rig();
    rig.ports[0].line().counters = PortCounters {
        receive_dropped: 5,
        receive_errors: 2,
        transmit_errors: 1,
    };

    for _ in 0..3 {
        rig.now += Duration::from_millis(20);
        rig.settle();
    }

    assert_eq!(
        rig.drops(),
        [(DropReason::PortOverrun, 5), (DropReason::PortDamaged, 2)]
    );
    assert_eq!(rig.traffic(ETHER1).rx_drop, 7);
}

#[test]
fn cut_and_flipped_packets_never_stop_a_worker() {
    let mut rig = rig();
    rig.use_vlan10();
    rig.publish();
    let mut tagged = ethernet(MAC, 0x8100, &[0, 10, 0x08, 0x00]);
    tagged.extend(with_options(&[148, 4, 0, 0, 7, 7, 4, 0, 0, 0, 0, 0]));
    let extended = Udp6 {
        destination: Udp6::default().source - 1,
        next_header: 60,
        ..Udp6::default()
    };
    for frame in [tagged, extended.frame(), Udp4::default().frame()] {
        for len in 0..frame.len() {
            rig.pass(frame[..len].to_vec());
        }
        for bit in 0..frame.len() * 8 {
            let mut frame = frame.clone();
            frame[bit / 8] ^= 1 << (bit % 8);
            rig.pass(frame);
        }
        rig.punts();
    }

    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    let pool = rig.workers[0].pool();
    pool.collect();
    let free = pool.available(frame::Class::Small);
    assert_eq!(free, SIZES.small as usize, "a slot was lost");
}

#[test]
fn every_reason_is_reached_here_or_belongs_to_control() {
    let elsewhere_here = [
        DropReason::InterfaceDown,
        DropReason::Ipv6Zone,
        DropReason::ForwardingOff,
        DropReason::ReversePath,
        DropReason::EgressDown,
        DropReason::PortFull,
        DropReason::PortOverrun,
        DropReason::PortDamaged,
        DropReason::PuntFull,
        DropReason::ServiceLimit,
        DropReason::ServiceInterface,
        DropReason::HandoverFull,
        DropReason::NoBuffer,
        DropReason::PoolReserve,
        DropReason::OffloadMalformed,
    ];
    let of_control = [
        DropReason::NeighbourUnreachable,
        DropReason::NeighbourQueueFull,
        DropReason::NotForUs,
        DropReason::FeatureSends,
        DropReason::ArpMalformed,
        DropReason::IcmpMalformed,
    ];
    // Covered by the tests of connections, NAT and rules.
    let of_firewall = [
        DropReason::NatAddress,
        DropReason::NatEgress,
        DropReason::NatPorts,
        DropReason::NatMalformed,
        DropReason::ConnectionsFull,
        DropReason::ConnectionTaken,
        DropReason::FirewallRaw,
        DropReason::FirewallMangle,
        DropReason::FirewallFilter,
        DropReason::FirewallReject,
        DropReason::FirewallTarpit,
        DropReason::FirewallTruncated,
        DropReason::HelperFull,
        DropReason::HelperRoom,
    ];
    // Covered by the tests of connection tracking, and of control.
    let of_fragments = [
        DropReason::FragmentMalformed,
        DropReason::FragmentDuplicate,
        DropReason::FragmentOverlap,
        DropReason::FragmentEcn,
        DropReason::FragmentTimeout,
        DropReason::FragmentsFull,
    ];
    let reached: Vec<_> = refused().iter().map(|(reason, _)| *reason).collect();
    let mut unknown = DropReason::ALL.iter().filter(|reason| {
        let known = [
            &reached[..],
            &elsewhere_here,
            &of_control,
            &of_firewall,
            &of_fragments,
        ];
        !known.concat().contains(reason) && !ELSEWHERE.concat().contains(reason)
    });
    assert_eq!(unknown.next(), None);
}

/// Reasons that tests elsewhere cover.
const ELSEWHERE: [&[DropReason]; 18] = [
    &OF_L2TP,
    &OF_PPTP,
    &OF_STREAMS,
    &OF_MPPE,
    &OF_SESSIONS,
    &OF_PPP,
    &OF_RADIUS,
    &OF_TUNNELS,
    &OF_OVPN,
    &OF_IPSEC,
    &OF_VRRP,
    &OF_NTP,
    &OF_DHCP,
    &OF_MANAGEMENT,
    &OF_NEIGHBOURS,
    &OF_BRIDGES,
    &OF_BONDS,
    &OF_QUEUES,
];

/// Covered by the tests of L2TP: of data in its encapsulation, of control in its machine and its feature.
const OF_L2TP: [DropReason; 12] = [
    DropReason::L2tpMalformed,
    DropReason::L2tpAttribute,
    DropReason::L2tpUnknown,
    DropReason::L2tpPeer,
    DropReason::L2tpAssociation,
    DropReason::L2tpCookie,
    DropReason::L2tpSequence,
    DropReason::L2tpState,
    DropReason::L2tpDisabled,
    DropReason::L2tpAuthentication,
    DropReason::L2tpUnprotected,
    DropReason::L2tpFull,
];

/// Covered by the tests of PPTP: of packets in its encapsulation, of messages in its machine.
const OF_PPTP: [DropReason; 8] = [
    DropReason::PptpMalformed,
    DropReason::PptpUnknown,
    DropReason::PptpCall,
    DropReason::PptpPeer,
    DropReason::PptpSequence,
    DropReason::PptpState,
    DropReason::PptpDisabled,
    DropReason::PptpFull,
];

/// Covered by the tests of SSTP and of byte streams: of packets in their encapsulation, of messages in the machine.
const OF_STREAMS: [DropReason; 12] = [
    DropReason::SstpTls,
    DropReason::SstpRequest,
    DropReason::SstpMalformed,
    DropReason::SstpUnknown,
    DropReason::SstpState,
    DropReason::SstpProtocol,
    DropReason::SstpBinding,
    DropReason::SstpUnbound,
    DropReason::SstpDisabled,
    DropReason::SstpFull,
    DropReason::StreamFull,
    DropReason::StreamUnknown,
];

/// Covered by the tests of PPPoE: of sessions here, of discovery in its machines.
const OF_SESSIONS: [DropReason; 12] = [
    DropReason::PppoeMalformed,
    DropReason::PppoeLength,
    DropReason::PppoeSession,
    DropReason::PppoeProtocol,
    DropReason::PppProtocol,
    DropReason::PppGuesses,
    DropReason::PppoeTag,
    DropReason::PppoeService,
    DropReason::PppoeCookie,
    DropReason::PppoeRate,
    DropReason::PppoeFull,
    DropReason::PppoeUnexpected,
];

/// Encrypted packets of PPP, covered by the tests of its sessions and of its ciphers.
const OF_MPPE: [DropReason; 8] = [
    DropReason::MppeMalformed,
    DropReason::MppeLate,
    DropReason::MppeLost,
    DropReason::MppeReset,
    DropReason::MppeKey,
    DropReason::MppeGap,
    DropReason::MppePlain,
    DropReason::MppeBusy,
];

/// Control packets of PPP, covered by the tests of its feature.
const OF_PPP: [DropReason; 9] = [
    DropReason::PppBridged,
    DropReason::PppRate,
    DropReason::PppDemand,
    DropReason::PppLink,
    DropReason::PppMalformed,
    DropReason::PppUnknown,
    DropReason::PppUnexpected,
    DropReason::PppFragment,
    DropReason::PppEarly,
];

/// Datagrams of RADIUS, covered by the tests of its client and its feature.
const OF_RADIUS: [DropReason; 7] = [
    DropReason::RadiusAccounting,
    DropReason::DhcpNoGrant,
    DropReason::RadiusRequests,
    DropReason::RadiusMalformed,
    DropReason::RadiusUnknown,
    DropReason::RadiusUnauthenticated,
    DropReason::RadiusStale,
];

/// Covered by the tests of queues and of their disciplines.
const OF_QUEUES: [DropReason; 3] = [
    DropReason::QueueFull,
    DropReason::QueueEarly,
    DropReason::QueueNeedless,
];

/// Covered by the tests of bridging.
const OF_BRIDGES: [DropReason; 18] = [
    DropReason::SwitchRule,
    DropReason::SwitchVlan,
    DropReason::BridgeFilter,
    DropReason::BridgeNat,
    DropReason::BridgeSource,
    DropReason::BridgeReserved,
    DropReason::BridgePortState,
    DropReason::BridgeFrameTypes,
    DropReason::BridgeIngressVlan,
    DropReason::BridgeEgressVlan,
    DropReason::BridgeSamePort,
    DropReason::BridgeApart,
    DropReason::BridgeNowhere,
    DropReason::BridgeDhcpServer,
    DropReason::BridgeDhcpOption,
    DropReason::BridgeAdvertisement,
    DropReason::BridgeTooBig,
    DropReason::BridgeDepth,
];

/// Covered by the tests of tunnels.
const OF_TUNNELS: [DropReason; 21] = [
    DropReason::TunnelNoSource,
    DropReason::TunnelCongested,
    DropReason::TunnelDepth,
    DropReason::TunnelMalformed,
    DropReason::AgendaFull,
    DropReason::VxlanUnknown,
    DropReason::VxlanNoPeer,
    DropReason::VxlanNoSource,
    DropReason::VxlanEcho,
    DropReason::WireguardReplayedHandshake,
    DropReason::WireguardPreshared,
    DropReason::WireguardStranger,
    DropReason::WireguardFlood,
    DropReason::WireguardNoPeer,
    DropReason::WireguardNoSession,
    DropReason::WireguardUnknown,
    DropReason::WireguardMalformed,
    DropReason::WireguardReplayed,
    DropReason::WireguardIntegrity,
    DropReason::WireguardSource,
    DropReason::WireguardExhausted,
];

/// Covered by the tests of OpenVPN sessions.
const OF_OVPN: [DropReason; 10] = [
    DropReason::OvpnMalformed,
    DropReason::OvpnUnknown,
    DropReason::OvpnKey,
    DropReason::OvpnReplayed,
    DropReason::OvpnIntegrity,
    DropReason::OvpnCompressed,
    DropReason::OvpnExhausted,
    DropReason::OvpnState,
    DropReason::OvpnCookie,
    DropReason::OvpnFull,
];

/// Covered by the tests of VRRP.
const OF_VRRP: [DropReason; 7] = [
    DropReason::VrrpMalformed,
    DropReason::VrrpTtl,
    DropReason::VrrpChecksum,
    DropReason::VrrpAuthentication,
    DropReason::VrrpInterval,
    DropReason::VrrpVersion,
    DropReason::VrrpOther,
];

/// Covered by the tests of NTP.
const OF_NTP: [DropReason; 3] = [
    DropReason::NtpMalformed,
    DropReason::NtpUnasked,
    DropReason::NtpLimit,
];

/// Covered by the tests of DHCP clients.
const OF_DHCP: [DropReason; 12] = [
    DropReason::DhcpClientMalformed,
    DropReason::DhcpClientOther,
    DropReason::DhcpClientUnexpected,
    DropReason::DhcpClientUnusable,
    DropReason::DhcpMalformed,
    DropReason::DhcpType,
    DropReason::DhcpOtherServer,
    DropReason::DhcpEarly,
    DropReason::DhcpBlocked,
    DropReason::DhcpUnknown,
    DropReason::DhcpNoAddress,
    DropReason::DhcpMacLimit,
];

/// Covered by the tests of IPsec policies, associations and key exchange.
const OF_IPSEC: [DropReason; 17] = [
    DropReason::ServiceSender,
    DropReason::ServiceStranger,
    DropReason::IkeUnknown,
    DropReason::IpsecDiscard,
    DropReason::IpsecDiscardOut,
    DropReason::IpsecClear,
    DropReason::IpsecNoKeys,
    DropReason::IpsecUnknown,
    DropReason::IpsecMalformed,
    DropReason::IpsecReplayed,
    DropReason::IpsecIntegrity,
    DropReason::IpsecMismatch,
    DropReason::IpsecDummy,
    DropReason::IpsecKeepalive,
    DropReason::IpsecExhausted,
    DropReason::IkeMalformed,
    DropReason::IpsecHeaders,
];

/// Covered by the tests of DHCP relays, DNS and SNMP.
const OF_MANAGEMENT: [DropReason; 8] = [
    DropReason::DhcpRelayOther,
    DropReason::DhcpRelayLooped,
    DropReason::DhcpRelayEarly,
    DropReason::DhcpRelayForged,
    DropReason::DhcpRelayNoAddress,
    DropReason::DnsMalformed,
    DropReason::SnmpMalformed,
    DropReason::SnmpRefused,
];

/// Covered by the tests of neighbour discovery.
const OF_NEIGHBOURS: [DropReason; 4] = [
    DropReason::MacPingMalformed,
    DropReason::NeighbourMalformed,
    DropReason::NeighbourChecksum,
    DropReason::NeighbourFull,
];

/// Covered by the tests of bonds.
const OF_BONDS: [DropReason; 2] = [DropReason::BondInactive, DropReason::BondDown];
