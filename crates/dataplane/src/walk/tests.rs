//! Packets through a whole worker: what comes out, what is counted, what is handed to control.

mod endpoint;
mod firewall;
mod fragments;
mod helper;
mod options;

use frame::{Offload, PortCounters, Segmentation};
use machine::{Duration, Instant};

use crate::drop::Drop;
use crate::punt::Why;
use crate::rings::Command;
use crate::snapshot::{Prefix, RoutingRule, RpFilter, RuleAction, SlowReason, Vlan};
use crate::table::{Adjacency, Kind};
use crate::testing::{
    ETHER1, ETHER2, GATEWAY, MAC, MIRROR, Rig, SIZES, Udp4, Udp6, VLAN10, arp, ethernet, gateway,
    seal, sum,
};
use crate::trace::{End, trace_packet};
use crate::walk::Exit;

/// What the router makes of a packet that it forwards: link header, lifetime and checksum differ.
fn forwarded4(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    seal(&mut packet);
    let mut frame = GATEWAY.to_vec();
    frame.extend([0x08, 0x00]);
    frame.extend(packet);
    frame
}

fn gateway4(rig: &mut Rig) {
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
}

fn rig() -> Rig {
    let mut rig = Rig::new();
    gateway4(&mut rig);
    rig
}

#[test]
fn a_forwarded_packet_differs_in_link_header_ttl_and_checksum_only() {
    let mut rig = rig();
    for ttl in 2..=255 {
        for destination in [0x0b00_0000, 0x0bff_fffe, 0x0b12_3456] {
            let udp = Udp4 {
                ttl,
                destination,
                source: 0x0100_0000 | u32::from(ttl) << 8 | destination & 0xff,
                ..Udp4::default()
            };

            assert_eq!(rig.pass(udp.frame()), [forwarded4(&udp.packet())]);
        }
    }
    assert_eq!(rig.drops(), []);
}

#[test]
fn padding_of_the_last_link_is_not_passed_on() {
    let mut rig = rig();
    let udp = Udp4 {
        payload: 1,
        ..Udp4::default()
    };
    let mut frame = udp.frame();
    frame.resize(60, 0xaa);

    assert_eq!(rig.pass(frame), [forwarded4(&udp.packet())]);
}

#[test]
fn ipv6_is_forwarded_with_one_hop_less() {
    let mut rig = Rig::new();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
    let udp = Udp6::default();

    let sent = rig.pass(udp.frame());

    let mut expected = udp.frame();
    expected[..12].copy_from_slice(&GATEWAY);
    expected[14 + 7] -= 1;
    assert_eq!(sent, [expected]);
    assert_eq!(rig.counters[0].ipv6_fast_path.get().packets, 1);
}

#[test]
fn counters_say_what_went_through() {
    let mut rig = rig();
    for _ in 0..300 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();

    let (ether1, ether2) = (rig.traffic(ETHER1), rig.traffic(ETHER2));
    assert_eq!((ether1.rx.packets, ether1.rx.bytes), (300, 300 * 60));
    assert_eq!((ether2.tx.packets, ether2.tx.bytes), (300, 300 * 60));
    assert_eq!(ether1.fp_rx, ether1.rx);
    assert_eq!(ether2.fp_tx, ether2.tx);
    let fast = rig.counters[0].ipv4_fast_path.get();
    assert_eq!((fast.packets, fast.bytes), (300, 300 * 46));
}

#[test]
fn a_slow_interface_counts_nothing_as_fast_and_forwards_alike() {
    let mut rig = rig();
    rig.interface(ETHER1).ipv4.slow = vec![SlowReason::NotAllowed];
    rig.publish();

    assert_eq!(
        rig.pass(Udp4::default().frame()),
        [forwarded4(&Udp4::default().packet())]
    );
    assert_eq!(rig.counters[0].ipv4_fast_path.get().packets, 0);
    assert_eq!(rig.traffic(ETHER1).fp_rx.packets, 0);
    assert_eq!(rig.traffic(ETHER2).tx.packets, 1);
}

/// A packet with these bytes of options.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut packet = Udp4::default().packet();
    packet.splice(20..20, options.iter().copied());
    packet[0] = 0x40 | (5 + options.len() / 4) as u8;
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    seal(&mut packet);
    packet
}

fn ip4(packet: &[u8]) -> Vec<u8> {
    ethernet(MAC, 0x0800, packet)
}

/// Changes bytes of the default packet's header; the checksum is made right again.
fn changed(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut packet = Udp4::default().packet();
    change(&mut packet);
    seal(&mut packet);
    ip4(&packet)
}

fn udp4(source: u32, destination: u32) -> Vec<u8> {
    let udp = Udp4 {
        source,
        destination,
        ..Udp4::default()
    };
    udp.frame()
}

fn udp6(source: u128, destination: u128) -> Vec<u8> {
    let udp = Udp6 {
        source,
        destination,
        ..Udp6::default()
    };
    udp.frame()
}

/// Frames that each come to one counted reason.
fn refused() -> Vec<(Drop, Vec<u8>)> {
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
        (Drop::EthernetLength, vec![0; 13]),
        (Drop::EthernetOther, other.frame()),
        (Drop::LinkBroadcast, broadcast.frame()),
        (Drop::EthernetType, ethernet(MAC, 0x88cc, &[0; 46])),
        (Drop::VlanUnknown, tagged),
        (Drop::Ipv4Length, ip4(&Udp4::default().packet()[..19])),
        (Drop::Ipv4Length, changed(|packet| packet[3] = 19)),
        (Drop::Ipv4Length, changed(|packet| packet[3] = 255)),
        (Drop::Ipv4Version, changed(|packet| packet[0] = 0x55)),
        (Drop::Ipv4Length, changed(|packet| packet[0] = 0x44)),
        (Drop::Ipv4Checksum, checksum),
        (Drop::Ipv4MartianSource, udp4(0x7f00_0001, 0x0b00_0001)),
        (Drop::Ipv4MartianSource, udp4(0xe000_0001, 0x0b00_0001)),
        (Drop::Ipv4MartianSource, udp4(u32::MAX, 0x0b00_0001)),
        (Drop::Ipv4MartianSource, udp4(1, 0x0b00_0001)),
        (Drop::Ipv4MartianDestination, udp4(source, 0x7f00_0001)),
        (Drop::Ipv4MartianDestination, udp4(source, 0xf000_0001)),
        (Drop::Ipv4MartianDestination, udp4(source, 0)),
        (Drop::Ipv4OwnSource, udp4(0x0a00_0001, 0x0b00_0001)),
        (Drop::Ipv4Options, ip4(&with_options(&[7, 1, 0, 0]))),
        (Drop::Ipv4SourceRoute, ip4(&with_options(&[131, 3, 4, 0]))),
        (Drop::MulticastNotMine, udp4(source, 0xef01_0101)),
        (Drop::DirectedBroadcast, {
            let mut frame = udp4(source, 0x0dff_ffff);
            frame.truncate(60);
            frame
        }),
        (Drop::TtlExceeded, ttl.frame()),
        (Drop::NoRoute, udp4(source, 0x0101_0101)),
        (Drop::Blackhole, udp4(source, 0x0c01_0001)),
        (Drop::Unreachable, udp4(source, 0x0c02_0001)),
        (Drop::Prohibit, udp4(source, 0x0c03_0001)),
        (Drop::TooBig, big.frame()),
        (Drop::Ipv6Length, ethernet(MAC, 0x86dd, &[0x60; 39])),
        (Drop::Ipv6Length, Udp6::default().frame()[..70].to_vec()),
        (Drop::Ipv6Version, version6),
        (Drop::Ipv6MartianSource, udp6(1, target6)),
        (Drop::Ipv6MartianSource, udp6(0xff02 << 112, target6)),
        (Drop::Ipv6MartianSource, udp6(0, target6)),
        (Drop::Ipv6MartianDestination, udp6(source6, 1)),
        (Drop::Ipv6MartianDestination, udp6(source6, 0)),
        (Drop::Ipv6OwnSource, udp6(source6 - 1, target6)),
        (Drop::Ipv6BeyondScope, udp6(0xfe80 << 112 | 9, target6)),
        (Drop::Ipv6BeyondScope, udp6(source6, 0xfe80 << 112 | 9)),
        (Drop::Ipv6ExtensionHeader, extension.frame()),
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
    let cases: [(Drop, Change); 6] = [
        (Drop::InterfaceDown, |rig| {
            rig.interface(ETHER1).running = false
        }),
        (Drop::InterfaceDown, |rig| {
            rig.interface(ETHER1).ipv4.enabled = false
        }),
        (Drop::InterfaceDown, |rig| rig.snapshot.ports.clear()),
        (Drop::ForwardingOff, |rig| rig.snapshot.ipv4.forward = false),
        (Drop::ReversePath, |rig| {
            let walk = &mut rig.interface(ETHER1).ipv4;
            walk.reverse_path = true;
            walk.slow = vec![SlowReason::ReversePathFilter];
            rig.interface(ETHER1).rp_filter = RpFilter::Strict;
            let hop = rig.gateway;
            rig.route4(0x0a00_0002, 32, hop);
        }),
        (Drop::EgressDown, |rig| {
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
    assert_eq!(rig.drops(), [(Drop::PortFull, 2)]);
    assert_eq!(rig.traffic(ETHER2).tx_drop, 2);

    for _ in 0..2000 {
        rig.arrive(arp());
        rig.settle();
    }
    assert!(rig.drops().contains(&(Drop::PuntFull, 2000 - 1024)));
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
        [(Drop::PortOverrun, 5), (Drop::PortDamaged, 2)]
    );
    assert_eq!(rig.traffic(ETHER1).rx_drop, 7);
}

#[test]
fn a_flood_of_unresolved_packets_leaves_room_for_arp() {
    let mut rig = rig();
    for _ in 0..2000 {
        rig.arrive(udp4(Udp4::default().source, 0x0c04_0001));
        if rig.ports[0].line().arriving.len() == 100 {
            rig.settle();
        }
    }
    rig.arrive(arp());
    rig.settle();

    let punts = rig.punts();
    assert_eq!(punts.last().map(|(why, _)| *why), Some(Why::Arp));
    assert_eq!(punts.len(), 768 + 1);
}

#[test]
fn what_is_for_the_router_goes_to_control_or_to_the_mirror() {
    let mut rig = rig();
    let udp = Udp4 {
        destination: 0x0a00_0001,
        ..Udp4::default()
    };
    let icmp = Udp4 { protocol: 1, ..udp };

    rig.pass(udp.frame());
    assert_eq!(rig.punts(), [(Why::Local, udp.frame())]);

    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.publish();
    rig.pass(udp.frame());
    rig.pass(icmp.frame());

    assert_eq!(rig.sent(MIRROR), [udp.packet()]);
    assert_eq!(rig.punts(), [(Why::Local, icmp.frame())]);
}

#[test]
fn groups_and_broadcasts_of_the_link_are_taken() {
    let mut rig = rig();
    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.interface(ETHER1).groups4 = vec![0xef01_0101];
    rig.publish();
    let dhcp = Udp4 {
        to: [0xff; 6],
        source: 0,
        destination: u32::MAX,
        ..Udp4::default()
    };
    let destinations = [0xe000_0005, 0xef01_0101, 0x0a00_00ff];
    let groups = destinations.map(|destination| Udp4 {
        to: [0xff; 6],
        destination,
        ..Udp4::default()
    });

    rig.arrive(dhcp.frame());
    for group in groups {
        rig.arrive(group.frame());
    }
    let solicited = Udp6 {
        destination: 0xff02 << 112 | 0x1_ff00_0001,
        next_header: 58,
        source: 0,
        ..Udp6::default()
    };
    let mut solicited = solicited.frame();
    solicited[0] = 0x33;
    rig.arrive(solicited.clone());
    rig.settle();

    let expected: Vec<_> = [dhcp].iter().chain(&groups).map(Udp4::packet).collect();
    assert_eq!(rig.sent(MIRROR), expected);
    assert_eq!(rig.punts(), [(Why::Local, solicited)]);
    assert_eq!(rig.drops(), []);
}

#[test]
fn vlan_frames_enter_by_their_interface_and_leave_with_their_tag() {
    let mut rig = rig();
    rig.interface(ETHER1).vlans = vec![Vlan {
        ethertype: 0x8100,
        vlan_id: 10,
        interface: VLAN10,
    }];
    rig.publish();
    let udp = Udp4::default();
    let mut tagged = ethernet(MAC, 0x8100, &[0xe0, 10, 0x08, 0x00]);
    tagged.extend(udp.packet());
    // A priority tag names no VLAN.
    let mut priority = ethernet(MAC, 0x8100, &[0xe0, 0, 0x08, 0x00]);
    priority.extend(udp.packet());

    assert_eq!(rig.pass(tagged.clone()), [forwarded4(&udp.packet())]);
    assert_eq!(rig.pass(priority), [forwarded4(&udp.packet())]);
    let vlan = rig.traffic(VLAN10);
    assert_eq!((vlan.rx.packets, vlan.rx.bytes), (1, tagged.len() as u64));
    assert_eq!(rig.traffic(ETHER1).rx.packets, 2);

    let mut adjacency = Adjacency {
        egress: VLAN10,
        port: 0,
        header_len: 18,
        ..gateway()
    };
    adjacency.header[12..18].copy_from_slice(&[0x81, 0, 0, 10, 0x08, 0x00]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
    rig.arrive(udp.frame());
    rig.settle();

    let sent = rig.sent(0);
    assert_eq!(sent[0][..18], adjacency.header[..18]);
    assert_eq!(sent[0][18..], forwarded4(&udp.packet())[14..]);
    assert_eq!(rig.traffic(VLAN10).tx.packets, 1);
    assert_eq!(rig.traffic(ETHER1).tx.packets, 1);
}

#[test]
fn options_that_are_well_formed_are_forwarded() {
    let mut rig = rig();
    // Router alert, end of options.
    let packet = with_options(&[148, 4, 0, 0, 1, 1, 1, 0]);

    assert_eq!(rig.pass(ip4(&packet)), [forwarded4(&packet)]);
}

#[test]
fn flows_spread_over_the_members_of_a_group_and_stay() {
    let mut rig = rig();
    let second = Adjacency {
        header_len: 14,
        ..gateway()
    };
    let second = rig.add_hop(&second);
    let group = Adjacency::group(&[rig.gateway, second]);
    let group = rig.add_hop(&group);
    rig.route4(0x0e00_0000, 8, group);
    let mut first = 0;
    for destination in 0..400 {
        let frame = udp4(Udp4::default().source, 0x0e00_0000 + destination);
        let (one, two) = (rig.pass(frame.clone()), rig.pass(frame));
        assert_eq!(one, two);
        first += usize::from(one[0][12] == 0x08);
    }
    assert!((140..260).contains(&first), "{first} of 400");
}

fn rule(action: RuleAction, table: u16) -> RoutingRule {
    RoutingRule {
        source: Some(Prefix {
            ipv6: false,
            bits: 0x0a00_0000,
            len: 24,
        }),
        destination: None,
        interface: Some(ETHER1),
        mark: None,
        action,
        table,
        min_prefix: None,
    }
}

fn with_rules(rules: Vec<RoutingRule>) -> Rig {
    let mut rig = rig();
    let local = rig.hop(Kind::Blackhole);
    rig.route4_in(7, 0x0b01_0000, 16, local);
    rig.interface(ETHER1).ipv4.slow = vec![SlowReason::RoutingRules];
    rig.snapshot.rules = rules;
    rig.publish();
    rig
}

#[test]
fn rules_choose_the_table() {
    let inside = || udp4(Udp4::default().source, 0x0b01_0001);
    let outside = || udp4(Udp4::default().source, 0x0b02_0001);
    let stranger = || udp4(0x0505_0505, 0x0b01_0001);

    let mut rig = with_rules(vec![rule(RuleAction::Lookup, 7)]);
    assert!(rig.pass(inside()).is_empty());
    assert_eq!(rig.drops(), [(Drop::Blackhole, 1)]);
    assert_eq!(
        (rig.pass(outside()).len(), rig.pass(stranger()).len()),
        (1, 1)
    );

    let mut rig = with_rules(vec![rule(RuleAction::LookupOnly, 7)]);
    assert!(rig.pass(outside()).is_empty());
    assert_eq!(rig.drops(), [(Drop::NoRoute, 1)]);

    let short = RoutingRule {
        min_prefix: Some(17),
        ..rule(RuleAction::Lookup, 7)
    };
    assert_eq!(with_rules(vec![short]).pass(inside()).len(), 1);

    let mut rig = with_rules(vec![rule(RuleAction::Unreachable, 0)]);
    rig.pass(inside());
    assert_eq!(rig.punts()[0].0, Why::Unreachable);

    let mut rig = with_rules(vec![rule(RuleAction::Drop, 0)]);
    rig.pass(inside());
    assert_eq!(rig.drops(), [(Drop::Blackhole, 1)]);
}

#[test]
fn a_route_may_lead_to_another_table_but_not_in_circles() {
    let mut rig = rig();
    let circle = Adjacency {
        kind: Kind::Table,
        egress: frame::InterfaceId(0),
        ..Adjacency::default()
    };
    let circle = rig.add_hop(&circle);
    rig.route4(0x0f00_0000, 8, circle);
    let other = Adjacency {
        kind: Kind::Table,
        egress: frame::InterfaceId(7),
        ..Adjacency::default()
    };
    let other = rig.add_hop(&other);
    rig.route4(0x1000_0000, 8, other);
    let gateway = rig.gateway;
    rig.route4_in(7, 0x1000_0000, 8, gateway);

    assert!(
        rig.pass(udp4(Udp4::default().source, 0x0f00_0001))
            .is_empty()
    );
    assert_eq!(rig.drops(), [(Drop::NoRoute, 1)]);
    assert_eq!(rig.pass(udp4(Udp4::default().source, 0x1000_0001)).len(), 1);
}

#[test]
fn the_way_back_may_be_strict_or_loose() {
    for (filter, passes) in [(RpFilter::Strict, [1, 0, 0]), (RpFilter::Loose, [1, 1, 0])] {
        let mut rig = rig();
        let interface = rig.interface(ETHER1);
        interface.rp_filter = filter;
        interface.ipv4.reverse_path = true;
        interface.ipv4.slow = vec![SlowReason::ReversePathFilter];
        rig.publish();

        let sources = [0x0a00_0002, 0x0b00_0009, 0x0909_0909];
        let sent = sources.map(|source| rig.pass(udp4(source, 0x0b00_0002)).len());

        assert_eq!(sent, passes, "{filter:?}");
    }
}

#[test]
fn a_packet_that_goes_back_where_it_came_from_is_told_of_once_per_vector() {
    let mut rig = rig();
    let back = Adjacency {
        egress: ETHER1,
        port: 0,
        ..gateway()
    };
    rig.writer.set_next_hop(rig.gateway, &back);
    rig.snapshot.send_redirects = true;
    rig.publish();
    let udp = Udp4 {
        payload: 400,
        ..Udp4::default()
    };
    rig.arrive(udp.frame());
    rig.arrive(udp.frame());
    rig.settle();

    assert_eq!(rig.sent(0).len(), 2);
    assert_eq!(
        rig.punts(),
        [(Why::Redirect(rig.gateway), udp.frame()[..128].to_vec())]
    );
}

#[test]
fn a_resolved_packet_is_walked_again_and_its_own_packets_are_routed() {
    let mut rig = rig();
    let frame = udp4(Udp4::default().source, 0x0c04_0001);
    rig.arrive(frame);
    rig.settle();
    let punt = rig.remotes[0].punts.pop().expect("an unresolved packet");
    let Why::Unresolved(hop) = punt.why else {
        panic!("{:?}", punt.why);
    };
    let mut resolved = gateway();
    resolved.header[12..14].copy_from_slice(&[0x08, 0x00]);
    rig.writer.set_next_hop(hop, &resolved);

    rig.command(Command::Resume(punt.frame));
    let own = Udp4::default().packet();
    let frame = rig.pool.alloc_from(&own).expect("a slot");
    rig.command(Command::Output(frame));
    rig.settle();

    let sent = rig.sent(1);
    assert_eq!(sent[0][14 + 8], 63);
    assert_eq!(sent[1][14..], own[..]);
}

#[test]
fn own_packets_to_groups_leave_by_the_interface_that_is_named() {
    let mut rig = rig();
    let own = Udp4 {
        destination: 0xe000_0005,
        ..Udp4::default()
    };
    let mut frame = rig.pool.alloc_from(&own.packet()).expect("a slot");
    frame.egress = VLAN10;
    rig.command(Command::Output(frame));
    rig.settle();

    let sent = rig.sent(0);
    let header = [1, 0, 0x5e, 0, 0, 5, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 10, 8, 0];
    assert_eq!(sent[0][..18], header);
    assert_eq!(sent[0][18..], own.packet());
}

#[test]
fn what_the_mirror_sends_is_routed_with_its_own_lifetime() {
    let mut rig = rig();
    let own = Udp4::default().packet();
    rig.arrive_unfinished(MIRROR, own.clone(), Offload::FINISHED);
    rig.settle();

    assert_eq!(rig.sent(1)[0][14..], own[..]);
}

#[test]
fn a_merged_segment_is_measured_by_its_segments() {
    let mut rig = rig();
    rig.snapshot.ports[1].offloads.tcp4 = true;
    rig.snapshot.ports[1].offloads.checksum = true;
    rig.publish();
    let mut tcp = Udp4 {
        protocol: 6,
        payload: 8000,
        fragment: 0x4000,
        ..Udp4::default()
    }
    .packet();
    tcp[32] = 5 << 4;
    seal(&mut tcp);
    let merged = |segment_bytes| Offload {
        needs_checksum: true,
        segmentation: Segmentation::Tcp4,
        segment_bytes,
        checksum_start: 34,
        checksum_offset: 16,
        ecn: false,
    };

    rig.arrive_unfinished(0, ip4(&tcp), merged(1460));
    rig.settle();
    let sent = core::mem::take(&mut rig.ports[1].line().sent);
    assert_eq!(sent[0].1, merged(1460));
    assert_eq!(sum(&sent[0].0[14..34]), 0xffff);

    rig.arrive_unfinished(0, ip4(&tcp), merged(1461));
    rig.settle();
    assert_eq!(rig.punts()[0].0, Why::TooBig(1500));
}

#[test]
fn cut_and_flipped_packets_never_stop_a_worker() {
    let mut rig = rig();
    rig.interface(ETHER1).vlans = vec![Vlan {
        ethertype: 0x8100,
        vlan_id: 10,
        interface: VLAN10,
    }];
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
fn the_tracer_decides_as_the_worker_does_and_moves_no_counter() {
    let mut rig = rig();
    let mut frames: Vec<_> = refused().into_iter().map(|(_, frame)| frame).collect();
    frames.extend([Udp4::default().frame(), Udp6::default().frame(), arp()]);
    for frame in frames {
        let before = format!("{:?}", rig.counters);

        let fib = std::sync::Arc::clone(rig.writer.fib());
        let walked = trace_packet(&rig.snapshot, &fib, &frame, ETHER1);

        assert_eq!(before, format!("{:?}", rig.counters));
        let drops = rig.drops();
        let sent = rig.pass(frame.clone());
        match walked.end {
            End::Sent(egress) => assert_eq!((egress, sent.len()), (ETHER2, 1)),
            End::Exit(Exit::Drop(reason)) => {
                let dropped = |drops: &[(Drop, u64)]| {
                    let counted = drops.iter().find(|(other, _)| *other == reason);
                    counted.map_or(0, |(_, count)| *count)
                };
                assert_eq!(dropped(&rig.drops()), dropped(&drops) + 1, "{reason:?}");
            }
            End::Exit(Exit::Punt(why)) => assert_eq!(rig.punts(), [(why, frame)]),
            End::Exit(exit) => panic!("{exit:?}"),
        }
        rig.punts();
    }
}

#[test]
fn a_trace_reads_stage_by_stage() {
    let mut rig = rig();
    let fib = std::sync::Arc::clone(rig.writer.fib());
    let read = |rig: &Rig, frame: &[u8]| {
        let walked = trace_packet(&rig.snapshot, &fib, frame, ETHER1);
        let lines = walked.lines.iter();
        lines
            .map(|line| format!("{}: {}", line.stage.name(), line.decision))
            .collect::<Vec<_>>()
    };

    assert_eq!(
        read(&rig, &Udp4::default().frame()),
        [
            "ingress: arrived on ether1",
            "prerouting: 11.0.0.2 is to be routed",
            "routing: leaves by ether2",
            "forward: fits the link",
            "egress: to port 1",
        ]
    );
    rig.snapshot.own = crate::snapshot::OwnAddresses::new(vec![Udp4::default().source], vec![]);
    assert_eq!(
        read(&rig, &Udp4::default().frame()).last().map(|l| &**l),
        Some("prerouting: drop: ipv4-own-source")
    );
}

#[test]
fn a_flow_stays_in_order_on_one_of_several_workers() {
    let mut rig = Rig::with_workers(3);
    gateway4(&mut rig);
    for sequence in 0..40 {
        for flow in 0..25 {
            let udp = Udp4 {
                source_port: flow,
                destination_port: sequence,
                protocol: 17,
                ..Udp4::default()
            };
            let mut packet = udp.packet();
            // The sequence number is in the payload, not among what tells flows apart.
            packet[22..24].copy_from_slice(&[0, 53]);
            packet[28..30].copy_from_slice(&sequence.to_be_bytes());
            rig.arrive(ip4(&packet));
        }
    }
    rig.settle();

    let sent = rig.sent(1);
    assert_eq!(sent.len(), 1000);
    for flow in 0..25u16 {
        let of_flow = sent.iter().filter(|f| f[34..36] == flow.to_be_bytes());
        let sequence: Vec<_> = of_flow
            .map(|f| u16::from_be_bytes([f[42], f[43]]))
            .collect();
        assert_eq!(sequence, (0..40).collect::<Vec<_>>());
    }
    for counters in &rig.counters {
        assert!(counters.ipv4_fast_path.get().packets > 100);
    }
    // What worker 1 and 2 handed over went home.
    for worker in &mut rig.workers {
        worker.pool().collect();
        let free = worker.pool().available(frame::Class::Small);
        assert_eq!(free, SIZES.small as usize);
    }
}

#[test]
fn a_worker_that_stands_still_costs_the_others_their_overflow_only() {
    let mut rig = Rig::with_workers(2);
    gateway4(&mut rig);
    rig.settle();
    let mut expected = 0;
    for port in 0..3000 {
        let udp = Udp4 {
            source_port: port,
            ..Udp4::default()
        };
        let frame = udp.frame();
        expected += u64::from(crate::handover::home(&frame, true, 2) == Some(1));
        rig.arrive(frame);
        rig.workers[0].step(Instant::ZERO);
    }

    assert_eq!(rig.drops(), [(Drop::HandoverFull, expected - 1024)]);
    assert_eq!(rig.sent(1).len() as u64, 3000 - expected);
    rig.workers[1].close();
}

#[test]
fn every_reason_is_reached_here_or_belongs_to_control() {
    let elsewhere_here = [
        Drop::InterfaceDown,
        Drop::ForwardingOff,
        Drop::ReversePath,
        Drop::EgressDown,
        Drop::PortFull,
        Drop::PortOverrun,
        Drop::PortDamaged,
        Drop::PuntFull,
        Drop::HandoverFull,
        Drop::NoBuffer,
        Drop::OffloadMalformed,
    ];
    let of_control = [
        Drop::NeighbourUnreachable,
        Drop::NeighbourQueueFull,
        Drop::NotForUs,
        Drop::ArpMalformed,
        Drop::IcmpMalformed,
    ];
    // Tested with connections, translations and rules.
    let of_firewall = [
        Drop::NatAddress,
        Drop::NatPorts,
        Drop::NatMalformed,
        Drop::ConnectionsFull,
        Drop::ConnectionTaken,
        Drop::FirewallRaw,
        Drop::FirewallMangle,
        Drop::FirewallFilter,
        Drop::FirewallReject,
        Drop::FirewallTarpit,
        Drop::FirewallTruncated,
        Drop::HelperFull,
        Drop::HelperRoom,
    ];
    // Of where connections are tracked, and of control.
    let of_fragments = [
        Drop::FragmentMalformed,
        Drop::FragmentDuplicate,
        Drop::FragmentOverlap,
        Drop::FragmentEcn,
        Drop::FragmentTimeout,
        Drop::FragmentsFull,
    ];
    let reached: Vec<_> = refused().iter().map(|(reason, _)| *reason).collect();
    for reason in Drop::ALL {
        let known = [
            &reached[..],
            &elsewhere_here,
            &of_control,
            &of_firewall,
            &of_fragments,
        ];
        assert!(known.concat().contains(reason), "{}", reason.name());
    }
}

#[test]
fn a_packet_that_may_be_fragmented_leaves_in_pieces_that_fit() {
    let mut rig = rig();
    let udp = Udp4 {
        payload: 3000,
        ..Udp4::default()
    };

    let sent = rig.pass(udp.frame());

    let sizes: Vec<_> = sent.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1514, 1514, 14 + 20 + 3008 - 2 * 1480]);
    let mut payload: Vec<u8> = Vec::new();
    for piece in &sent {
        assert_eq!(sum(&piece[14..34]), 0xffff);
        assert_eq!((piece[22], &piece[..12]), (63, &GATEWAY[..]));
        payload.extend(&piece[34..]);
    }
    assert_eq!(payload, udp.packet()[20..]);
    let traffic = rig.traffic(ETHER2);
    assert_eq!((traffic.tx.packets, traffic.tx.bytes), (3, 2 * 1514 + 82));
}

/// A merged TCP segment with an unfinished checksum in an Ethernet frame, and its state.
fn merged(payload: usize) -> (Vec<u8>, Offload) {
    let mut tcp = Udp4 {
        protocol: 6,
        payload: payload + 12,
        fragment: 0x4000,
        ..Udp4::default()
    }
    .packet();
    tcp[32] = 5 << 4;
    let offload = Offload {
        needs_checksum: true,
        segmentation: Segmentation::Tcp4,
        segment_bytes: 1460,
        checksum_start: 34,
        checksum_offset: 16,
        ecn: false,
    };
    (ip4(&tcp), offload)
}

#[test]
fn a_merged_segment_is_split_for_a_port_that_cannot_take_it() {
    let mut rig = rig();
    let (frame, offload) = merged(4000);

    rig.arrive_unfinished(0, frame, offload);
    rig.settle();

    let sent = rig.sent(1);
    let sizes: Vec<_> = sent.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1514, 1514, 54 + 4000 - 2 * 1460]);
    for piece in &sent {
        let len = (piece.len() - 34) as u16;
        let pseudo = [&piece[26..34], &[0, 6], &len.to_be_bytes()].concat();
        assert_eq!(sum(&[&pseudo[..], &piece[34..]].concat()), 0xffff);
    }
}

#[test]
fn an_unfinished_frame_that_makes_no_sense_is_named() {
    let mut rig = rig();
    let (frame, offload) = merged(100);
    let outside = Offload {
        segmentation: Segmentation::None,
        checksum_start: 5000,
        ..offload
    };

    rig.arrive_unfinished(0, frame, outside);
    rig.settle();

    assert_eq!(rig.drops(), [(Drop::OffloadMalformed, 1)]);
}

#[test]
fn fragments_without_a_slot_are_not_sent_at_all() {
    let mut rig = rig();
    rig.settle();
    let mut held = Vec::new();
    let pool = rig.workers[0].pool();
    while let Some(frame) = pool.alloc(1500) {
        held.push(frame);
    }
    let udp = Udp4 {
        payload: 3000,
        ..Udp4::default()
    };

    assert!(rig.pass(udp.frame()).is_empty());
    assert_eq!(rig.drops(), [(Drop::NoBuffer, 1)]);
    for frame in held {
        rig.pool.free(frame);
    }
}

#[test]
fn packets_of_all_kinds_in_one_vector_leave_in_their_order() {
    let mut rig = rig();
    let mut expected = Vec::new();
    for number in 0..250u16 {
        let four = Udp4 {
            source_port: number,
            ..Udp4::default()
        };
        let six = Udp6 {
            source: Udp6::default().source + u128::from(number),
            ..Udp6::default()
        };
        let old = Udp4 { ttl: 1, ..four };
        let frame = match number % 7 {
            0 | 3 | 4 => four.frame(),
            1 | 5 => six.frame(),
            2 => arp(),
            _ => old.frame(),
        };
        if !matches!(number % 7, 2 | 6) {
            expected.push(frame[26..40].to_vec());
        }
        rig.arrive(frame);
    }
    rig.settle();

    let sent = rig.sent(1);
    let sent: Vec<_> = sent.iter().map(|frame| frame[26..40].to_vec()).collect();
    assert_eq!(sent, expected);
    assert_eq!(rig.punts().len(), 250 - expected.len());
    let traffic = rig.traffic(ETHER1);
    assert_eq!(traffic.fp_rx.packets, expected.len() as u64);
    assert_eq!(traffic.rx.packets, 250);
}
