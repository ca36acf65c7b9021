//! Tests of queue trees in virtual time: examples of MikroTik's manual, shares, bursts, and a fluid model.

use std::sync::Arc;

use machine::{Duration, Instant};
use packet::Tuple;
use proptest::prelude::*;

use super::Schedule;
use crate::kind::{Fifo, Kind};
use crate::node::{Limits, Node, Settings};
use crate::packet::{Packet, Payload};

/// The leaf of a packet.
#[derive(Debug)]
struct Of(usize);

impl Payload for Of {
    fn mark_congestion(&mut self) -> bool {
        false
    }

    fn clear_class(&mut self) {}
}

const KIND: Kind = Kind::Fifo(Fifo {
    packets: 200,
    bytes: u64::MAX,
});
const STEP: u64 = 100_000;

fn node(id: u64, parent: Option<&Arc<Node>>, limits: Limits) -> Arc<Node> {
    Node::new(Settings {
        id,
        home: 0,
        parent: parent.cloned(),
        limits,
        shapes: false,
        shared: true,
    })
}

fn limits(limit_at: u64, max_limit: u64, priority: u8) -> Limits {
    Limits {
        limit_at,
        max_limit,
        priority,
        ..Limits::default()
    }
}

fn packet(leaf: usize, bytes: u32) -> Packet<Of> {
    Packet {
        carries: Of(leaf),
        bytes,
        tuple: Tuple::default(),
        tos: 0,
        is_ack: false,
    }
}

/// Leaves with an offered rate each, and the traffic that was sent.
struct Trial {
    leaves: Vec<(Arc<Node>, u64)>,
    schedule: Schedule<Of>,
    now: Instant,
    bytes: u32,
    /// Traffic to generate for each leaf, in bits times nanoseconds.
    owed: Vec<u64>,
    sent: Vec<u64>,
}

impl Trial {
    fn new(leaves: Vec<(Arc<Node>, u64)>, bytes: u32) -> Self {
        let count = leaves.len();
        Self {
            leaves,
            schedule: Schedule::default(),
            now: Instant::from_secs(1_000),
            bytes,
            owed: vec![0; count],
            sent: vec![0; count],
        }
    }

    fn step(&mut self) {
        self.now += Duration::from_nanos(STEP);
        for (at, (leaf, rate)) in self.leaves.iter().enumerate() {
            self.owed[at] += rate * STEP;
            let packet_costs = u64::from(self.bytes) * 8 * 1_000_000_000;
            while self.owed[at] >= packet_costs {
                self.owed[at] -= packet_costs;
                if leaf.pass(self.bytes, self.now) {
                    self.sent[at] += u64::from(self.bytes);
                } else {
                    let packet = packet(at, self.bytes);
                    { &mut self.schedule }.enqueue(leaf, &KIND, packet, self.now, &mut |_, _| {});
                }
            }
        }
        while let Some(packet) = self.schedule.dequeue(self.now, &mut |_, _| {}) {
            self.sent[packet.carries.0] += u64::from(packet.bytes);
        }
    }

    /// Returns the rate of each leaf in bits per second, over this time.
    fn rates(&mut self, millis: u64) -> Vec<u64> {
        self.sent.iter_mut().for_each(|sent| *sent = 0);
        for _ in 0..millis * 1_000_000 / STEP {
            self.step();
        }
        let sent = self.sent.iter();
        sent.map(|bytes| bytes * 8 * 1_000 / millis).collect()
    }
}

fn close(rates: &[u64], wanted: &[u64]) {
    for (rate, wanted) in rates.iter().zip(wanted) {
        assert!(
            rate.abs_diff(*wanted) <= wanted / 100,
            "{rates:?} instead of {wanted:?}"
        );
    }
}

const M: u64 = 1_000_000;

/// The trees of MikroTik's manual ("HTB"): Q01 has 10 Mbit/s and contains Q03 and Q02; Q02 contains Q04 and
/// Q05.
fn manual(q02: u64, q03: (u64, u8), q04: (u64, u8), q05: (u64, u64, u8)) -> Vec<u64> {
    let root = node(1, None, limits(0, 10 * M, 8));
    let inner = node(2, Some(&root), limits(q02, 10 * M, 8));
    let leaf =
        |id, parent, (at, priority), most| node(id, Some(parent), limits(at, most, priority));
    let leaves = vec![
        (leaf(3, &root, q03, 10 * M), 10 * M),
        (leaf(4, &inner, q04, 10 * M), 10 * M),
        (leaf(5, &inner, (q05.0, q05.2), q05.1), 10 * M),
    ];
    let mut trial = Trial::new(leaves, 1_000);
    trial.rates(2_000);
    trial.rates(20_000)
}

#[test]
fn guaranteed_rates_come_before_excess() {
    let rates = manual(4 * M, (6 * M, 1), (2 * M, 3), (2 * M, 10 * M, 5));
    close(&rates, &[6 * M, 2 * M, 2 * M]);
}

#[test]
fn excess_rate_is_shared_by_priority() {
    let rates = manual(4 * M, (2 * M, 3), (2 * M, 1), (2 * M, 10 * M, 5));
    close(&rates, &[2 * M, 6 * M, 2 * M]);
}

#[test]
fn the_guarantee_of_an_inner_queue_comes_before_priority() {
    let rates = manual(8 * M, (2 * M, 1), (2 * M, 3), (2 * M, 10 * M, 5));
    close(&rates, &[2 * M, 6 * M, 2 * M]);
}

#[test]
fn guarantees_above_the_line_rate_share_it_proportionally() {
    // The manual shows the proportions that remain on a 10 Mbit/s line after the tree.
    let rates = manual(4 * M, (6 * M, 1), (2 * M, 3), (12 * M, 15 * M, 5));
    let sum: u64 = rates.iter().sum();
    let shares: Vec<_> = rates.iter().map(|rate| rate * 100 / sum).collect();
    assert!((30..=34).contains(&shares[0]), "{rates:?}");
    assert!((10..=12).contains(&shares[1]), "{rates:?}");
    assert!((54..=60).contains(&shares[2]), "{rates:?}");
}

#[test]
fn a_rate_is_kept_from_ten_kilobits_to_forty_gigabits() {
    for (rate, bytes, millis) in [
        (10_000, 100, 60_000),
        (20 * M, 1_514, 10_000),
        (40_000 * M, 9_014, 300),
    ] {
        let leaf = node(1, None, limits(0, rate, 8));
        let mut trial = Trial::new(vec![(leaf, rate * 2)], bytes);
        trial.rates(300.max(millis / 10));
        close(&trial.rates(millis), &[rate]);
    }
}

#[test]
fn children_of_a_saturated_queue_share_it_equally() {
    let root = node(1, None, limits(0, 100 * M, 8));
    let leaves = (0..7).map(|id| (node(2 + id, Some(&root), limits(0, 100 * M, 8)), 60 * M));
    let mut trial = Trial::new(leaves.collect(), 1_514);
    trial.rates(1_000);
    let rates = trial.rates(10_000);
    for rate in &rates {
        // 0.2 percent of the parent's rate.
        assert!(rate.abs_diff(100 * M / 7) < M / 5, "{rates:?}");
    }
}

/// The table of the manual ("Queue burst"): 16 seconds, and the traffic in each.
#[test]
fn a_burst_lasts_as_long_as_the_average_allows() {
    let burst = Limits {
        limit_at: M,
        max_limit: 2 * M,
        burst_limit: 4 * M,
        burst_threshold: 1_500_000,
        burst_time: Duration::from_secs(16),
        bucket: 2,
        priority: 8,
    };
    let mut trial = Trial::new(vec![(node(1, None, burst), 10 * M)], 500);
    // The measurement starts at the beginning of a sixteenth.
    trial.now = Instant::from_secs(1_600);
    let rates: Vec<_> = (0..12).map(|_| trial.rates(1_000)[0]).collect();
    for (second, rate) in rates.iter().enumerate() {
        let wanted = if second < 6 { 4 * M } else { 2 * M };
        assert!(rate.abs_diff(wanted) <= wanted / 50, "{second}: {rates:?}");
    }
    // An idle time permits another burst.
    trial.leaves[0].1 = 0;
    trial.rates(16_000);
    trial.leaves[0].1 = 10 * M;
    assert!(trial.rates(1_000)[0] > 3_800_000);
}

#[test]
fn a_queue_that_is_removed_loses_nothing() {
    let root = node(1, None, limits(0, M, 8));
    let leaves: Vec<_> = (0..3)
        .map(|id| node(2 + id, Some(&root), limits(0, M, 8)))
        .collect();
    let mut schedule = Schedule::default();
    let now = Instant::from_secs(1);
    for at in 0..30 {
        let leaf = &leaves[at % 3];
        schedule.enqueue(
            leaf,
            &KIND,
            packet(at, 1_000),
            now,
            &mut |_, _| unreachable!(),
        );
    }
    let mut out = Vec::new();
    for leaf in &leaves {
        schedule.remove(leaf, now, &mut |packet| out.push(packet.carries.0));
        assert_eq!(leaf.counts().queued_packets, 0);
    }
    schedule.remove(&root, now, &mut |_| unreachable!());
    out.sort_unstable();
    assert_eq!(out, (0..30).collect::<Vec<_>>());
    assert_eq!(schedule.packets(), 0);
    assert!(schedule.deadline(now).is_none());
    assert_eq!(root.counts().queued_packets, 0);
    assert!(
        leaves[0].pass(1_000, now),
        "nothing waits in the tree any more"
    );
}

#[test]
fn a_burst_is_sent_in_time_without_further_arrivals() {
    let root = node(1, None, limits(0, 10 * M, 8));
    let leaf = node(2, Some(&root), limits(0, 10 * M, 8));
    let mut schedule = Schedule::default();
    let mut now = Instant::from_secs(1);
    let mut sent = 0;
    for at in 0..200 {
        if leaf.pass(1_000, now) {
            sent += 1;
        } else {
            schedule.enqueue(
                &leaf,
                &KIND,
                packet(at, 1_000),
                now,
                &mut |_, _| unreachable!(),
            );
        }
    }
    assert!(sent < 200);
    // Calls at each deadline are sufficient to send all packets at the rate.
    while let Some(next) = schedule.deadline(now) {
        assert!(next > now, "nothing may be sent yet");
        now = next;
        while schedule.dequeue(now, &mut |_, _| unreachable!()).is_some() {
            sent += 1;
        }
    }
    assert_eq!((sent, schedule.packets()), (200, 0));
    let took = now.saturating_since(Instant::from_secs(1));
    assert!(took < Duration::from_millis(100), "{took:?}");
}

/// Returns the rate of each leaf in a fluid model: guarantees first, then by priority, equally within a
/// priority.
fn fluid(root: u64, leaves: &[(u64, u64, u8, u64)]) -> Vec<f64> {
    let wants = |leaf: &(u64, u64, u8, u64)| leaf.3.min(leaf.1) as f64;
    let mut got: Vec<_> = leaves
        .iter()
        .map(|leaf| wants(leaf).min(leaf.0 as f64))
        .collect();
    let mut left = root as f64 - got.iter().sum::<f64>();
    for priority in 1..=8 {
        loop {
            let open =
                |at: &usize| leaves[*at].2 == priority && got[*at] + 1.0 < wants(&leaves[*at]);
            let open: Vec<_> = (0..leaves.len()).filter(open).collect();
            if open.is_empty() || left < 1.0 {
                break;
            }
            let share = left / open.len() as f64;
            for at in open {
                let more = share.min(wants(&leaves[at]) - got[at]);
                got[at] += more;
                left -= more;
            }
        }
    }
    got
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The leaves of one parent get the rates of the fluid model.
    #[test]
    fn a_queue_tree_matches_the_fluid_model(
        leaves in proptest::collection::vec((0_u64..4, 2_u64..20, 1_u8..=3, 1_u64..25), 1..6),
    ) {
        let guaranteed: u64 = leaves.iter().map(|leaf| leaf.0).sum();
        let most = 20.max(guaranteed);
        let root = node(1, None, limits(0, most * M, 8));
        let scaled: Vec<_> = { leaves.iter() }
            .map(|(at, most, priority, wants)| (at * M, most.max(at) * M, *priority, wants * M))
            .collect();
        // Within a priority the quantum follows from the guarantee, so all leaves get an equal quantum.
        let nodes = scaled.iter().zip(2..).map(|((at, most, priority, wants), id)| {
            let node = node(id, Some(&root), limits(*at, *most, *priority));
            node.quantum.store(1_514, core::sync::atomic::Ordering::Relaxed);
            (node, *wants)
        });
        let mut trial = Trial::new(nodes.collect(), 1_000);
        // After this time the root's token bucket is empty.
        trial.rates(6_000);
        let rates = trial.rates(3_000);
        let fluid = fluid(most * M, &scaled);
        for priority in 1..=3 {
            let of = |at: &usize| scaled[*at].2 == priority;
            let sum = (0..scaled.len()).filter(of).map(|at| rates[at] as f64).sum::<f64>();
            let wanted = (0..scaled.len()).filter(of).map(|at| fluid[at]).sum::<f64>();
            prop_assert!((sum - wanted).abs() <= 0.01 * wanted + 0.05e6, "{rates:?} of {scaled:?}");
        }
        for (at, wanted) in fluid.into_iter().enumerate() {
            let (rate, (guaranteed, ..)) = (rates[at] as f64, scaled[at]);
            prop_assert!(rate >= 0.99 * wanted.min(guaranteed as f64), "{at}: {rates:?} of {scaled:?}");
            // A leaf that is sending by its guarantee misses its turn to borrow. The difference between equal
            // borrowing and equal rates is therefore at most the guarantees.
            let alike = scaled.iter().filter(|leaf| leaf.2 == scaled[at].2);
            let most = alike.map(|leaf| leaf.0).max().unwrap_or_default() as f64;
            prop_assert!((rate - wanted).abs() <= 0.1 * wanted + most, "{at}: {rates:?} of {scaled:?}");
        }
    }
}
