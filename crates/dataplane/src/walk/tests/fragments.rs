//! Tests of fragments with connection tracking: rules see whole datagrams, links carry fragments.

mod settings;

use core::net::Ipv4Addr;
use std::collections::BTreeSet;
use std::sync::Arc;

use frame::{Class, Offload};
use machine::Instant;

use super::firewall::{MASQUERADE, client, filtered, hits, table, tracked, translated};
use super::{gateway4, rig};
use crate::drop::DropReason;
use crate::firewall::{Firewall, filter, nat, raw};
use crate::punt::PuntReason;
use crate::rings::Command;
use crate::rule::{Action, Match, Rule};
use crate::table::{Adjacency, NextHopId};
use crate::testing::{
    ETHER1, ETHER2, GATEWAY, ICMP, MAC, MIRROR, Rig, SIZES, Udp4, class_of, ethernet, gateway,
    seal, sum,
};
use crate::trace::{End, trace_packet};
use crate::walk::Exit;

const OUTSIDE: u32 = 0x0a01_0001;
const DONT: u8 = 0x40;

/// Returns a datagram with this many bytes of data.
fn datagram(payload: usize) -> Udp4 {
    Udp4 {
        payload,
        ..Udp4::default()
    }
}

/// Returns the frames of a packet in fragments of at most `mtu` bytes, with these flags.
fn cut(packet: &[u8], mtu: usize, flags: u8) -> Vec<Vec<u8>> {
    let room = (mtu - 20) / 8 * 8;
    let (head, data) = packet.split_at(20);
    let parts: Vec<_> = data.chunks(room).enumerate().collect();
    let last = parts.len() - 1;
    let piece = |(number, part): &(usize, &[u8])| {
        let mut piece = [head, part].concat();
        let len = piece.len() as u16;
        piece[2..4].copy_from_slice(&len.to_be_bytes());
        let place = (number * room / 8) as u16 | u16::from(*number < last) << 13;
        piece[6..8].copy_from_slice(&(place | u16::from(flags) << 8).to_be_bytes());
        seal(&mut piece);
        ethernet(MAC, 0x0800, &piece)
    };
    parts.iter().map(piece).collect()
}

/// Returns the packet that these fragments form, in order.
fn joined(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut packet = frames[0][14..34].to_vec();
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!(sum(&frame[14..34]), 0xffff, "a header's checksum");
        let place = u16::from_be_bytes([frame[20], frame[21]]);
        assert_eq!(usize::from(place & 0x1fff) * 8, packet.len() - 20);
        assert_eq!(place & 0x2000 != 0, number + 1 < frames.len());
        packet.extend(&frame[34..]);
    }
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet[6..8].fill(0);
    seal(&mut packet);
    packet
}

/// Returns a packet as the router forwards it, with this source.
fn expected(packet: &[u8], source: u32) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    packet[12..16].copy_from_slice(&source.to_be_bytes());
    seal(&mut packet);
    packet
}

fn masquerading(workers: usize) -> Rig {
    let mut rig = Rig::with_workers(workers);
    gateway4(&mut rig);
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(OUTSIDE));
    client(&mut rig);
    let matchers = vec![Match::OutInterface(class_of(ETHER2)).into()];
    translated(&mut rig, nat::SRCNAT, matchers, MASQUERADE);
    rig
}

fn pass_all(rig: &mut Rig, frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    frames.into_iter().for_each(|frame| rig.arrive(frame));
    rig.settle();
    rig.sent(1)
}

/// Returns the number of used slots in the workers' pools.
fn taken(rig: &mut Rig) -> usize {
    let workers = rig.workers.iter_mut();
    let free: usize = workers
        .map(|worker| {
            worker.pool().collect();
            Class::ALL
                .map(|class| worker.pool().available(class))
                .iter()
                .sum::<usize>()
        })
        .sum();
    let all = SIZES.small + SIZES.medium + SIZES.large;
    rig.workers.len() * all as usize - free
}

#[test]
fn a_datagram_in_fragments_is_one_packet_to_rules_and_connections() {
    for (payload, mtu) in [
        (1_500, 1_500),
        (4_000, 1_500),
        (9_000, 576),
        (60_000, 1_500),
    ] {
        for backwards in [false, true] {
            let mut rig = masquerading(1);
            let rules = vec![Rule::new(1, Vec::new(), Action::Passthrough)];
            filtered(&mut rig, filter::FORWARD, rules);
            let packet = datagram(payload).packet();
            let mut frames = cut(&packet, mtu, 0);
            let count = frames.len() as u64;
            if backwards {
                frames.reverse();
            }

            let sent = pass_all(&mut rig, frames);

            assert!(sent.iter().all(|frame| frame.len() <= mtu + 14));
            assert_eq!(sent.len() as u64, count);
            assert_eq!(joined(&sent), expected(&packet, OUTSIDE));
            assert_eq!(hits(&rig, 1), (1, packet.len() as u64));
            let row = rig.connections.rows(false).next().expect("a connection");
            assert_eq!(row.directions[0].traffic.packets, 1);
            assert_eq!(row.directions[0].traffic.bytes, packet.len() as u64);
            assert_eq!(rig.traffic(ETHER1).rx.packets, count);
            assert_eq!(rig.traffic(ETHER2).tx.packets, count);
            let bytes: usize = sent.iter().map(Vec::len).sum();
            assert_eq!(rig.traffic(ETHER2).tx.bytes, bytes as u64);
            assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
        }
    }
}

#[test]
fn answers_in_fragments_find_back() {
    let mut rig = masquerading(1);
    let there = datagram(3_000);
    pass_all(&mut rig, cut(&there.packet(), 1_500, 0));
    let back = Udp4 {
        source: there.destination,
        destination: OUTSIDE,
        source_port: there.destination_port,
        destination_port: there.source_port,
        ..datagram(5_000)
    };
    for mut frame in cut(&back.packet(), 1_500, 0) {
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
        rig.arrive_unfinished(1, frame, Offload::FINISHED);
    }
    rig.settle();

    let sent = rig.sent(0);

    let mut packet = back.packet();
    packet[16..20].copy_from_slice(&there.source.to_be_bytes());
    assert_eq!(joined(&sent), expected(&packet, back.source));
    assert_eq!(rig.connections.totals(), (1, 0));
    assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
}

#[test]
fn raw_sees_fragments_and_what_it_does_not_track_stays_in_them() {
    for untracked in [false, true] {
        let mut rig = masquerading(1);
        let action = match untracked {
            true => Action::Notrack,
            false => Action::Passthrough,
        };
        let mut firewall = Firewall::clone(&rig.snapshot.firewall);
        let rule = Rule::new(2, Vec::new(), action);
        firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, vec![rule]);
        rig.snapshot.firewall = Arc::new(firewall);
        rig.publish();
        let packet = datagram(4_000).packet();
        let mut frames = cut(&packet, 1_500, 0);
        let last = frames.pop().expect("the last one");

        let early = pass_all(&mut rig, frames);
        let late = pass_all(&mut rig, [last]);

        assert_eq!(
            (early.len(), late.len()),
            if untracked { (2, 1) } else { (0, 3) }
        );
        let source = if untracked {
            Udp4::default().source
        } else {
            OUTSIDE
        };
        assert_eq!(joined(&[early, late].concat()), expected(&packet, source));
        assert_eq!(
            hits(&rig, 2).0,
            3,
            "the whole one does not come to raw again"
        );
        assert_eq!(rig.connections.totals().0, u32::from(!untracked));
    }
}

#[test]
fn fragments_pass_as_they_come_where_nothing_is_tracked() {
    let mut rig = rig();
    let rules = vec![Rule::new(1, Vec::new(), Action::Passthrough)];
    filtered(&mut rig, filter::FORWARD, rules);
    let packet = datagram(4_000).packet();
    let mut frames = cut(&packet, 1_500, 0);
    frames.remove(0);

    assert_eq!(pass_all(&mut rig, frames).len(), 2);
    assert_eq!((hits(&rig, 1).0, rig.drops()), (2, vec![]));
}

#[test]
fn they_leave_no_longer_than_they_came_nor_than_the_link_takes() {
    // Largest received fragment, egress MTU, don't-fragment flag, and lengths of the sent
    // fragments.
    let cases = [
        (1_500, 1_400, 0, Ok(1_396)),
        (1_500, 1_400, DONT, Err(1_400)),
        (576, 1_400, 0, Ok(572)),
        (576, 1_400, DONT, Ok(572)),
        (1_300, 1_300, DONT, Ok(1_300)),
    ];
    for (mtu, link, flags, expected) in cases {
        let mut rig = rig();
        tracked(&mut rig);
        let mut adjacency = gateway();
        adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
        adjacency.mtu = link;
        rig.writer.set_next_hop(rig.gateway, &adjacency);

        let sent = pass_all(&mut rig, cut(&datagram(4_000).packet(), mtu, flags));

        match expected {
            Ok(longest) => {
                let lens = sent.iter().map(|frame| frame.len() - 14);
                assert_eq!(lens.max(), Some(longest), "{mtu} {link}");
                assert!(sent.iter().all(|frame| frame[20] & DONT == flags));
                assert_eq!(rig.drops(), []);
            }
            Err(link) => {
                assert_eq!(sent.len(), 0);
                let punts = rig.punts();
                assert!(matches!(punts[..], [(PuntReason::TooBig(mtu), _)] if mtu == link));
                assert_eq!(rig.drops(), [(DropReason::TooBig, 1)]);
            }
        }
        assert_eq!(taken(&mut rig), 0);
    }
}

#[test]
fn what_is_wrong_with_fragments_is_counted_under_its_name() {
    let packet = datagram(4_000).packet();
    let pieces = || cut(&packet, 1_500, 0);
    let with_ecn = |number: usize, ecn: u8| {
        let mut frame = pieces().remove(number);
        frame[15] = ecn;
        seal(&mut frame[14..34]);
        frame
    };
    let mut overlapping = pieces().remove(1);
    // The fragment begins 8 bytes earlier.
    overlapping[21] -= 1;
    seal(&mut overlapping[14..34]);
    let mut empty = pieces().remove(1);
    empty.truncate(34);
    empty[16..18].copy_from_slice(&20u16.to_be_bytes());
    seal(&mut empty[14..34]);
    let cases: [(DropReason, Vec<Vec<u8>>, u64); 5] = [
        (
            DropReason::FragmentDuplicate,
            vec![pieces().remove(0); 3],
            2,
        ),
        (
            DropReason::FragmentOverlap,
            vec![pieces().remove(0), overlapping],
            2,
        ),
        (DropReason::FragmentMalformed, vec![empty], 1),
        (
            DropReason::FragmentEcn,
            vec![with_ecn(0, 0), with_ecn(1, 3), with_ecn(2, 0)],
            3,
        ),
        (DropReason::FragmentTimeout, pieces()[..2].to_vec(), 2),
    ];
    for (reason, frames, count) in cases {
        let mut rig = rig();
        tracked(&mut rig);

        let sent = pass_all(&mut rig, frames);
        if reason == DropReason::FragmentTimeout {
            let due = rig.workers[0].deadline().expect("two fragments wait");
            rig.now = Instant::from_nanos(due.as_nanos() - 1);
            rig.settle();
            assert_eq!(
                (rig.drops(), rig.workers[0].deadline()),
                (vec![], Some(due))
            );
            rig.now = due;
            rig.settle();
            assert_eq!(taken(&mut rig), 0);
            assert_eq!(rig.workers[0].deadline(), None);
        }

        assert_eq!(sent.len(), 0);
        assert_eq!(rig.drops(), [(reason, count)]);
        assert_eq!(rig.traffic(ETHER1).rx_drop, count);
        assert_eq!(rig.punts(), [], "a router on the way tells nobody");
        assert_eq!(rig.connections.totals(), (0, 0));
    }
}

#[test]
fn a_storm_leaves_connections_alone_and_memory_bounded() {
    let mut rig = masquerading(1);
    assert_eq!(pass_all(&mut rig, [datagram(18).frame()]).len(), 1);
    let storm = |number: u32| Udp4 {
        source: 0x0a00_0002 + number % 5,
        destination: 0x0b00_0002 + number,
        ..datagram(2_000)
    };

    for number in 0..20_000 {
        let mut frames = cut(&storm(number).packet(), 1_500, 0);
        rig.arrive(frames.swap_remove((number % 2) as usize));
        if number % 200 == 199 {
            rig.settle();
            assert_eq!(pass_all(&mut rig, [datagram(18).frame()]).len(), 1);
            // An eighth of the small slots, less the overhead of the datagrams.
            assert!(taken(&mut rig) <= SIZES.small as usize / 8);
        }
    }
    let sent = pass_all(&mut rig, cut(&datagram(4_000).packet(), 1_500, 0));

    assert_eq!(sent.len(), 3, "the newest is put together");
    assert_eq!(rig.connections.totals(), (1, 0));
    let drops = rig.drops();
    assert!(
        matches!(drops[..], [(DropReason::FragmentsFull, 19_000..)]),
        "{drops:?}"
    );
    rig.now = Instant::from_secs(31);
    rig.settle();
    assert_eq!(taken(&mut rig), 0);
    let lost: u64 = rig.drops().iter().map(|(_, count)| count).sum();
    assert_eq!(lost, 20_000, "each of them is counted");
}

#[test]
fn fragments_meet_on_one_worker_and_walk_on_where_their_flow_lives() {
    let mut rig = masquerading(3);
    let from = |port| Udp4 {
        source_port: port,
        ..datagram(3_000)
    };
    let mut count = 0;
    for port in 4_000..4_060 {
        // A whole packet shows where the flow lives; for half of the flows it arrives later.
        let whole = Udp4 {
            payload: 18,
            ..from(port)
        };
        let mut sent = Vec::new();
        if port % 2 == 0 {
            sent.extend(rig.pass(whole.frame()));
        }
        let pieces = pass_all(&mut rig, cut(&from(port).packet(), 1_500, 0));
        count += pieces.len() as u64 + 1;
        assert_eq!(pieces.len(), 3, "{port}");
        if port % 2 == 1 {
            sent.extend(rig.pass(whole.frame()));
        }
        assert_eq!(sent[0][34..36], pieces[0][34..36], "one port outside");
    }

    assert_eq!(rig.connections.totals(), (60, 0));
    let workers: BTreeSet<_> = rig
        .connections
        .rows(false)
        .map(|row| row.id.slot.worker())
        .collect();
    assert_eq!(workers.len(), 3);
    assert_eq!(
        rig.traffic(ETHER1).rx.packets,
        count,
        "each is counted once"
    );
    assert_eq!(rig.traffic(ETHER2).tx.packets, count);
    assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
}

/// Receives a whole datagram from a queue of another worker: flows live where their queues are.
fn by_queue(rig: &mut Rig, worker: u16, udp: Udp4) -> Vec<Vec<u8>> {
    let send = |rig: &mut Rig, command| {
        let ring = &mut rig.remotes[usize::from(worker)].commands;
        ring.push(command).expect("the ring has room");
    };
    rig.snapshot
        .ports
        .iter_mut()
        .for_each(|port| port.steer = false);
    for number in 0..2 {
        let port = Box::new(rig.ports[usize::from(number)].clone());
        send(rig, Command::Attach { number, port });
    }
    rig.publish();
    rig.settle();
    rig.arrive(udp.frame());
    let now = rig.now;
    rig.workers[usize::from(worker)].step(now);
    rig.settle();
    let sent = rig.sent(1);
    if worker > 0 {
        (0..2).for_each(|number| send(rig, Command::Detach { number }));
    }
    rig.settle();
    sent
}

#[test]
fn the_connection_of_a_datagram_is_found_wherever_its_port_let_it_begin() {
    for worker in 0..3 {
        for translates in [true, false] {
            let mut rig = Rig::with_workers(3);
            gateway4(&mut rig);
            rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(OUTSIDE));
            match translates {
                true => translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE),
                false => tracked(&mut rig),
            }
            let whole = by_queue(&mut rig, worker, datagram(18));
            assert_eq!(whole.len(), 1);
            let row = rig.connections.rows(false).next().expect("a connection");
            assert_eq!(row.id.slot.worker(), worker);

            let pieces = pass_all(&mut rig, cut(&datagram(3_000).packet(), 1_500, 0));

            assert_eq!(pieces.len(), 3);
            assert_eq!(pieces[0][26..36], whole[0][26..36]);
            assert_eq!(rig.connections.totals(), (1, 0));
            assert_eq!(rig.traffic(ETHER1).rx.packets, 4, "each is counted once");
            assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
        }
    }
}

#[test]
fn a_datagram_without_a_connection_begins_one_where_its_fragments_met() {
    let mut rig = Rig::with_workers(3);
    gateway4(&mut rig);
    tracked(&mut rig);
    rig.snapshot
        .ports
        .iter_mut()
        .for_each(|port| port.steer = false);
    rig.publish();

    let pieces = pass_all(&mut rig, cut(&datagram(3_000).packet(), 1_500, 0));

    assert_eq!((pieces.len(), rig.connections.totals()), (3, (1, 0)));
    let met = crate::handover::home_of_fragments(&datagram(18).packet(), 3);
    let row = rig.connections.rows(false).next().expect("a connection");
    assert_eq!(Some(row.id.slot.worker()), met);
    assert_eq!(rig.traffic(ETHER1).rx.packets, 3);
    assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
}

#[test]
fn a_datagram_for_the_router_is_delivered_whole() {
    let mut rig = rig();
    tracked(&mut rig);
    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.publish();
    let local = Udp4 {
        destination: 0x0a00_0001,
        ..datagram(60_000)
    };

    pass_all(&mut rig, cut(&local.packet(), 1_500, 0));

    assert_eq!(rig.sent(MIRROR), [local.packet()]);
    assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
    // Answers of control are whole, too.
    let ping = Udp4 {
        protocol: 1,
        source_port: 0x0800,
        ..local
    };
    pass_all(&mut rig, cut(&ping.packet(), 1_500, 0));
    let punts = rig.punts();
    let [(ICMP, frame)] = &punts[..] else {
        panic!("{punts:?}");
    };
    assert_eq!(frame[14..], ping.packet());
}

#[test]
fn the_routers_own_fragments_are_translated_as_one_packet() {
    for workers in [1, 3] {
        let mut rig = masquerading(workers);
        let own = Udp4 {
            source: 0x0a00_0001,
            ..datagram(4_000)
        };
        for frame in cut(&own.packet(), 1_500, 0) {
            rig.arrive_unfinished(MIRROR, frame[14..].to_vec(), Offload::FINISHED);
        }
        rig.settle();

        let sent = rig.sent(1);

        let mut packet = expected(&own.packet(), OUTSIDE);
        packet[8] += 1;
        seal(&mut packet);
        assert_eq!(joined(&sent), packet);
        assert_eq!(rig.connections.totals(), (1, 0));
        assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
    }
}

#[test]
fn a_datagram_that_waits_for_its_neighbour_leaves_in_fragments_afterwards() {
    let mut rig = masquerading(1);
    let hop = rig.hop(crate::table::Kind::Incomplete);
    rig.route4(0x0b00_0002, 32, hop);
    let waits = Adjacency {
        kind: crate::table::Kind::Incomplete,
        egress: ETHER2,
        ..gateway()
    };
    rig.writer.set_next_hop(hop, &waits);
    let packet = datagram(4_000).packet();
    assert_eq!(pass_all(&mut rig, cut(&packet, 1_500, 0)).len(), 0);
    let punt = rig.remotes[0]
        .punts
        .pop()
        .expect("it asks for the neighbour");
    assert_eq!(punt.why, PuntReason::Unresolved(hop));
    let mut found = gateway();
    found.header[..12].copy_from_slice(&GATEWAY);
    found.header[12..14].copy_from_slice(&[0x08, 0x00]);
    rig.writer.set_next_hop(hop, &found);

    rig.command(Command::Resume(punt.frame, NextHopId::NO_ROUTE));
    rig.settle();

    let sent = rig.sent(1);
    assert_eq!(sent.len(), 3);
    assert_eq!(joined(&sent), expected(&packet, OUTSIDE));
}

#[test]
fn a_trace_of_a_fragment_ends_where_it_is_held_and_holds_nothing() {
    let mut rig = masquerading(1);
    let frames = cut(&datagram(4_000).packet(), 1_500, 0);

    let walked = trace_packet(rig.tables(), &frames[1], ETHER1);

    assert_eq!(walked.end, End::Exit(Exit::Collect));
    assert_eq!(taken(&mut rig), 0);
    assert_eq!(pass_all(&mut rig, frames).len(), 3);
}

/// Returns an IPv6 datagram with this many bytes of data, and its frames in fragments of at most
/// `mtu` bytes.
fn ipv6(data: usize, mtu: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut upper = vec![0x03, 0xe8, 0x07, 0xd0];
    upper.extend((data as u16 + 8).to_be_bytes());
    upper.extend([0x12, 0x34]);
    upper.extend((0..data).map(|at| (at * 7) as u8));
    let header = |next: u8, len: usize| {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend((len as u16).to_be_bytes());
        header.extend([next, 64]);
        header.extend((0x2001_0db8_0000_000a_u128 << 64 | 2).to_be_bytes());
        header.extend((0x2001_0db8_0000_000b_u128 << 64 | 2).to_be_bytes());
        header
    };
    let packet = [header(17, upper.len()), upper.clone()].concat();
    let room = (mtu - 48) / 8 * 8;
    let last = upper.len().div_ceil(room) - 1;
    let frames = upper.chunks(room).enumerate().map(|(number, part)| {
        let place = (number * room) as u16 | u16::from(number < last);
        let mut piece = header(44, part.len() + 8);
        piece.extend([17, 0]);
        piece.extend(place.to_be_bytes());
        piece.extend([0, 0, 0, 9]);
        piece.extend(part);
        ethernet(MAC, 0x86dd, &piece)
    });
    (packet, frames.collect())
}

fn rig6(link: u32) -> Rig {
    let mut rig = Rig::new();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    adjacency.mtu = link;
    rig.writer.set_next_hop(rig.gateway, &adjacency);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.tracks6 = true;
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    rig
}

#[test]
fn ipv6_leaves_in_the_fragments_that_came() {
    for (data, mtu) in [(4_000, 1_500), (60_000, 1_280)] {
        let mut rig = rig6(1_500);
        let (packet, mut frames) = ipv6(data, mtu);
        let count = frames.len();
        frames.reverse();

        let sent = pass_all(&mut rig, frames);

        assert_eq!(sent.len(), count);
        let mut ids = BTreeSet::new();
        let mut payload = Vec::new();
        for frame in &sent {
            assert!(frame.len() <= mtu + 14);
            assert_eq!((frame[20], frame[21], frame[54]), (44, 63, 17));
            let place = u16::from_be_bytes([frame[56], frame[57]]);
            assert_eq!(usize::from(place & 0xfff8), payload.len());
            ids.insert(frame[58..62].to_vec());
            payload.extend(&frame[62..]);
        }
        assert_eq!((ids.len(), &payload[..]), (1, &packet[40..]));
        assert_eq!(rig.connections.totals(), (0, 1));
        assert_eq!((rig.drops(), taken(&mut rig)), (vec![], 0));
    }
}

#[test]
fn the_routers_own_long_messages_leave_in_fragments_and_its_streams_are_told() {
    for (protocol, fragments) in [(58, 3), (6, 0)] {
        let mut rig = rig6(1_500);
        let (mut packet, _) = ipv6(4_000, 1_500);
        packet[6] = protocol;
        packet[8..24].copy_from_slice(&(0x2001_0db8_0000_000a_u128 << 64 | 1).to_be_bytes());
        let frame = rig.pool.alloc_from(&packet).expect("a slot");

        rig.command(Command::Output(frame));
        rig.settle();

        let sent = rig.sent(1);
        assert_eq!(sent.len(), fragments);
        assert!(
            sent.iter()
                .all(|frame| frame.len() <= 1_514 && frame[20] == 44)
        );
        assert_eq!(rig.punts().len(), usize::from(fragments == 0));
    }
}

#[test]
fn the_sender_of_ipv6_fragments_that_do_not_fit_is_told() {
    let mut rig = rig6(1_400);

    let sent = pass_all(&mut rig, ipv6(4_000, 1_500).1);

    assert_eq!(sent.len(), 0);
    let punts = rig.punts();
    assert!(matches!(punts[..], [(PuntReason::TooBig(1_400), _)]));
}

#[test]
fn later_ipv6_fragments_of_a_datagram_that_overlapped_are_lost_with_it() {
    let mut rig = rig6(1_500);
    let (_, frames) = ipv6(4_000, 1_500);
    let mut other = frames[0].clone();
    other[80] ^= 1;

    pass_all(&mut rig, [frames[0].clone(), other]);
    let sent = pass_all(&mut rig, frames);

    assert_eq!(sent.len(), 0);
    assert_eq!(rig.drops(), [(DropReason::FragmentOverlap, 5)]);
}
