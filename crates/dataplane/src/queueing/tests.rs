//! Tests of queues behind a rig's ports, in virtual time.

use std::sync::Arc;

use machine::{Duration, Instant};
use queue::{Fifo, Kind, Leaf, Limits, Match, Node, Order, Red, Settings, Target};

use super::{Change, Simple};
use crate::DropReason;
use crate::out::OutId;
use crate::snapshot::SlowReason;
use crate::testing::{ETHER2, Rig, Udp4};

const BYTES: usize = 1_000;
const HEADERS: usize = 42;

fn fifo(packets: u32) -> Kind {
    Kind::Fifo(Fifo {
        packets,
        bytes: u64::MAX,
    })
}

fn leaf(id: u64, home: u16, bits: u64, kind: Kind) -> Arc<Leaf> {
    let limits = Limits {
        max_limit: bits,
        ..Limits::default()
    };
    let node = Node::new(Settings {
        id,
        home,
        parent: None,
        limits,
        shapes: false,
        shared: true,
    });
    Arc::new(Leaf { node, kind })
}

fn network(address: u128, len: u8) -> Match {
    let target = Target::Prefix {
        ipv6: false,
        address,
        len,
    };
    Match {
        targets: vec![target],
        ..Match::default()
    }
}

fn tell(rig: &Rig, change: &Change) {
    for remote in &rig.remotes {
        remote.changes.push(change.clone());
    }
}

/// Returns a rig with a simple queue for the destination of the sample packets.
fn limited(workers: usize, download: &Arc<Leaf>, total: Option<&Arc<Leaf>>) -> Rig {
    let mut rig = Rig::with_workers(workers);
    rig.now = Instant::from_secs(100);
    rig.snapshot.queues = true;
    rig.slow4(&[SlowReason::Queues]);
    rig.publish();
    let queue = Simple {
        down: Some(Arc::clone(download)),
        total: total.cloned(),
        ..Simple::default()
    };
    let change = Change::Simple {
        id: 1,
        order: Order::from_slice(&[1]),
        matches: network(0x0b00_0000, 8),
        within: Vec::new(),
        queue,
    };
    tell(&rig, &change);
    rig
}

/// Returns a numbered datagram of 1,000 bytes in total.
fn numbered(number: u16) -> Vec<u8> {
    let udp = Udp4 {
        payload: BYTES - HEADERS,
        source_port: number,
        ..Udp4::default()
    };
    udp.frame()
}

/// Returns the numbers of the datagrams that a port has sent.
fn numbers(rig: &mut Rig, port: u16) -> Vec<u16> {
    let sent = rig.sent(port);
    let number = |frame: &Vec<u8>| u16::from_be_bytes([frame[34], frame[35]]);
    sent.iter().map(number).collect()
}

fn send(rig: &mut Rig, numbers: core::ops::Range<u16>) {
    for number in numbers {
        rig.arrive(numbered(number));
    }
    step(rig, 0);
}

/// Steps the workers at their deadlines for this many milliseconds.
fn step(rig: &mut Rig, millis: u64) {
    let until = rig.now + Duration::from_millis(millis);
    loop {
        rig.settle();
        let next = rig
            .workers
            .iter_mut()
            .filter_map(|worker| worker.deadline())
            .min();
        match next {
            Some(next) if next <= until => rig.now = next.max(rig.now + Duration::from_micros(1)),
            _ => break,
        }
    }
    rig.now = until;
    rig.settle();
}

#[test]
fn a_simple_queue_lets_pass_what_its_bucket_holds_and_sends_the_rest_at_its_rate() {
    let leaf = leaf(1, 0, 800_000, fifo(50));
    let mut rig = limited(1, &leaf, None);
    send(&mut rig, 0..40);
    // A tenth of a second is 10 packets; one more passes by the last token.
    let at_once = numbers(&mut rig, 1);
    assert_eq!(at_once, (0..11).collect::<Vec<_>>());
    assert_eq!(leaf.node.counts().queued_packets, 29);
    step(&mut rig, 100);
    let later = numbers(&mut rig, 1);
    assert!((9..=11).contains(&later.len()), "{later:?}");
    step(&mut rig, 1_000);
    let all: Vec<_> = [at_once, later, numbers(&mut rig, 1)].concat();
    assert_eq!(
        all,
        (0..40).collect::<Vec<_>>(),
        "in order, and all of them"
    );
    assert_eq!(leaf.node.counts().packets, 40);
    assert_eq!(rig.drops(), []);
}

#[test]
fn what_a_queue_has_no_room_for_is_dropped_by_name_and_counted_there() {
    let leaf = leaf(1, 0, 8_000, fifo(5));
    let mut rig = limited(1, &leaf, None);
    send(&mut rig, 0..20);
    assert_eq!(rig.drops(), [(DropReason::QueueFull, 14)]);
    let counts = leaf.node.counts();
    assert_eq!(
        (counts.dropped, counts.queued_packets, counts.packets),
        (14, 5, 1)
    );
}

#[test]
fn a_discipline_drops_early_by_name() {
    let red = Kind::Red(Red {
        limit: 60,
        least: 1,
        most: 3,
        burst: 1,
        packet_bytes: 1_000,
    });
    let leaf = leaf(1, 0, 8_000, red);
    let mut rig = limited(1, &leaf, None);
    for number in 0..200 {
        send(&mut rig, number..number + 1);
    }
    let early = rig
        .drops()
        .iter()
        .any(|(reason, _)| *reason == DropReason::QueueEarly);
    assert!(early, "{:?}", rig.drops());
}

#[test]
fn both_directions_of_a_queue_share_what_it_has_in_total() {
    let (own, total) = (leaf(1, 0, 0, fifo(50)), leaf(2, 0, 80_000, fifo(50)));
    let mut rig = limited(1, &own, Some(&total));
    send(&mut rig, 0..20);
    assert_eq!(numbers(&mut rig, 1), [0, 1]);
    assert_eq!(
        (
            own.node.counts().packets,
            total.node.counts().queued_packets
        ),
        (20, 18)
    );
    step(&mut rig, 2_000);
    assert_eq!(numbers(&mut rig, 1), (2..20).collect::<Vec<_>>());
}

#[test]
fn with_several_workers_packets_wait_at_the_home_of_their_queue() {
    let leaf = leaf(1, 1, 800_000, fifo(50));
    let mut rig = limited(2, &leaf, None);
    send(&mut rig, 0..40);
    step(&mut rig, 2_000);
    // Each packet is a separate flow and belongs to one worker.
    let mut sent = numbers(&mut rig, 1);
    sent.sort_unstable();
    assert_eq!(sent, (0..40).collect::<Vec<_>>());
    assert_eq!(leaf.node.counts().packets, 40);
    assert_eq!(rig.drops(), []);
}

#[test]
fn queues_of_an_interface_hold_what_leaves_by_it_and_what_passes_no_leaf_goes_on() {
    let leaf = leaf(1, 0, 800_000, fifo(50));
    let mut rig = Rig::new();
    rig.now = Instant::from_secs(100);
    tell(&rig, &Change::Interface(ETHER2, OutId::port(1)));
    tell(&rig, &Change::Leaf(ETHER2, 1, vec![7], Arc::clone(&leaf)));
    let mut adjacency = crate::testing::gateway();
    adjacency.out = OutId::queue(ETHER2);
    let gateway = rig.gateway;
    rig.writer.set_next_hop(gateway, &adjacency);
    rig.ports[0].line().mark = 7;
    send(&mut rig, 0..30);
    assert_eq!(numbers(&mut rig, 1).len(), 11);
    // Packets without a mark match no leaf.
    rig.ports[0].line().mark = 0;
    send(&mut rig, 100..110);
    assert_eq!(numbers(&mut rig, 1), (100..110).collect::<Vec<_>>());
    step(&mut rig, 1_000);
    assert_eq!(numbers(&mut rig, 1), (11..30).collect::<Vec<_>>());
}

#[test]
fn what_waits_goes_on_when_its_queue_is_removed() {
    let leaf = leaf(1, 0, 8_000, fifo(50));
    let mut rig = limited(1, &leaf, None);
    send(&mut rig, 0..20);
    assert_eq!(numbers(&mut rig, 1), [0]);
    tell(&rig, &Change::NoSimple(1));
    tell(&rig, &Change::Gone(Arc::clone(&leaf.node)));
    step(&mut rig, 0);
    assert_eq!(numbers(&mut rig, 1), (1..20).collect::<Vec<_>>());
    assert_eq!(leaf.node.counts().queued_packets, 0);
}

#[test]
fn packets_for_the_router_itself_meet_queues_behind_input() {
    let leaf = leaf(1, 0, 8_000, fifo(5));
    let mut rig = limited(1, &leaf, None);
    let change = Change::Simple {
        id: 2,
        order: Order::from_slice(&[0]),
        matches: network(0x0a00_0001, 32),
        within: Vec::new(),
        queue: Simple {
            down: Some(Arc::clone(&leaf)),
            ..Simple::default()
        },
    };
    tell(&rig, &change);
    for _ in 0..10 {
        let to_router = Udp4 {
            destination: 0x0a00_0001,
            ..Udp4::default()
        };
        rig.arrive(to_router.frame());
    }
    step(&mut rig, 0);
    let counts = leaf.node.counts();
    assert_eq!(
        (counts.packets, counts.queued_packets, counts.dropped),
        (2, 5, 3),
        "a bucket of 100 bytes, and packets of 60"
    );
}
