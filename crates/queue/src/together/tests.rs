use std::sync::Arc;

use machine::{Duration, Rng};

use super::*;
use crate::node::{Limits, Settings};

/// Random trees, from the root on: some nodes without limits, some with guarantees, some with bursts.
fn forest(seed: u64) -> Vec<Arc<Node>> {
    let mut rng = Rng::seeded(seed);
    let mut nodes: Vec<Arc<Node>> = Vec::new();
    for id in 0..24 {
        let parent = match rng.below(3) {
            0 => None,
            _ if nodes.is_empty() => None,
            _ => Some(Arc::clone(&nodes[rng.below(nodes.len() as u64) as usize])),
        };
        let rate = |rng: &mut Rng| match rng.below(3) {
            0 => 0,
            _ => 1_000_000 << rng.below(8),
        };
        let limits = Limits {
            limit_at: rate(&mut rng) / 4,
            max_limit: rate(&mut rng),
            burst_limit: if rng.below(8) == 0 { 40_000_000 } else { 0 },
            burst_threshold: 1_000_000,
            burst_time: Duration::from_secs(2),
            bucket: 1 + rng.below(100),
            ..Limits::default()
        };
        let depth = {
            let mut depth = 1;
            let mut node = parent.clone();
            while let Some(next) = node {
                depth += 1;
                node = next.parent().cloned();
            }
            depth
        };
        nodes.push(Node::new(Settings {
            id,
            home: 0,
            parent: parent.filter(|_| depth < 6),
            limits,
            shapes: false,
            shared: false,
        }));
    }
    nodes
}

fn counts(nodes: &[Arc<Node>]) -> Vec<(u64, u64)> {
    let counts = nodes.iter().map(|node| node.counts());
    counts
        .map(|counts| (counts.packets, counts.bytes))
        .collect()
}

#[test]
fn packets_that_pass_together_pass_as_one_after_another() {
    for seed in 0..300 {
        let (together, single) = (forest(seed), forest(seed));
        let mut rng = Rng::seeded(seed ^ 0xbeef);
        let mut batch = Together::default();
        let mut now = Instant::from_nanos(3_600_000_000_000);
        for step in 0..60 {
            now += Duration::from_micros(1 + rng.below(20_000));
            let count = rng.below(TOGETHER as u64 + 1) as usize;
            let packets: Vec<_> = (0..count)
                .map(|_| {
                    let leaf = rng.below(together.len() as u64 + 1) as usize;
                    (leaf, 64 + rng.below(1_400) as u32)
                })
                .collect();
            let mut wait = Vec::new();
            let mut wanted = Vec::new();

            let packet = |at: usize| {
                let (leaf, bytes) = packets[at];
                together.get(leaf).map(|leaf| (&**leaf, bytes))
            };
            batch.pass(count, packet, now, |at| wait.push(at));

            for (at, (leaf, bytes)) in packets.iter().enumerate() {
                if let Some(leaf) = single.get(*leaf)
                    && !leaf.pass(*bytes, now)
                {
                    wanted.push(at);
                }
            }
            assert_eq!(wait, wanted, "seed {seed}, step {step}");
            assert_eq!(
                counts(&together),
                counts(&single),
                "seed {seed}, step {step}"
            );
        }
    }
}

#[test]
fn a_full_tree_does_not_slow_others() {
    let node = |max_limit| {
        Node::new(Settings {
            id: max_limit,
            home: 0,
            parent: None,
            limits: Limits {
                max_limit,
                bucket: 2,
                ..Limits::default()
            },
            shapes: false,
            shared: true,
        })
    };
    let (full, free) = (node(8_000), node(0));
    let now = Instant::from_nanos(3_600_000_000_000);
    let mut wait = Vec::new();

    let packet = |at: usize| Some((if at.is_multiple_of(2) { &*full } else { &*free }, 1_000));
    Together::default().pass(20, packet, now, |at| wait.push(at));

    assert_eq!(wait, (2..20).step_by(2).collect::<Vec<_>>());
    assert_eq!((full.counts().packets, free.counts().packets), (1, 10));
}
