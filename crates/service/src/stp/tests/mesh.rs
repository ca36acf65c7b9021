//! Random meshes with failing links: they become a tree again and never contain a loop.

use machine::{Duration, Rng};

use super::net::{Net, address};
use crate::stp::{Config, Instance, PortConfig, Protocol};

/// A random mesh: a ring with chords, where every tenth segment is shared by three bridges.
fn mesh(rng: &mut Rng, protocol: impl Fn(&mut Rng) -> Protocol, most: u64) -> Net {
    let count = 2 + rng.below(most - 1) as usize;
    let configs = (0..count)
        .map(|number| Config {
            protocol: protocol(rng),
            address: address(number),
            priority: (rng.below(16) as u16) << 12,
            max_age: 40,
            max_hops: 40,
            instances: [1, 2]
                .map(|number| {
                    let priority = (rng.below(16) as u16) << 12;
                    let vlans = vec![(number * 100, number * 100 + 99)];
                    (number, Instance { priority, vlans })
                })
                .into(),
            ..Config::default()
        })
        .collect();
    let mut net = Net::new(configs, rng.next_u64());
    let mut ports = vec![0; count];
    let mut place = |bridge: usize| {
        ports[bridge] += 1;
        (bridge, ports[bridge])
    };
    let config = PortConfig {
        priority: 0x80,
        ..PortConfig::default()
    };
    for bridge in 0..count {
        let ring = [place(bridge), place((bridge + 1) % count)];
        net.join(&ring, &config);
        let other = rng.below(count as u64) as usize;
        let mut chord = vec![place(bridge), place(other)];
        if rng.percent(10) {
            chord.push(place(rng.below(count as u64) as usize));
        }
        net.join(&chord, &config);
    }
    net
}

/// Runs a mesh through failures, and checks that it is a tree in each settled state.
fn survives(
    seed: u64,
    protocol: impl Fn(&mut Rng) -> Protocol,
    trees: &[u16],
    most: u64,
    time: u64,
) {
    let mut rng = Rng::seeded(seed);
    let mut net = mesh(&mut rng, protocol, most);
    for failure in 0..3 {
        net.run(Duration::from_secs(time));
        for tree in trees {
            assert!(
                net.is_tree(*tree),
                "seed {seed}, failure {failure}, tree {tree}"
            );
        }
        for _ in 0..=rng.below(4) {
            let segment = rng.below(net.segments.len() as u64) as usize;
            let up = net.segments[segment].1;
            net.set_up(segment, !up);
        }
    }
    assert_eq!(net.unsettled(), 0, "seed {seed}");
    assert_eq!(net.looped, Duration::ZERO, "seed {seed}");
}

#[test]
fn rstp_makes_a_tree_of_a_thousand_meshes() {
    // Four threads.
    std::thread::scope(|scope| {
        for part in 0..4 {
            scope.spawn(move || {
                for seed in part * 250..(part + 1) * 250 {
                    survives(seed, |_| Protocol::Rstp, &[0], 50, 60);
                }
            });
        }
    });
}

#[test]
fn stp_makes_a_tree_of_every_mesh() {
    // Time for listening, learning, and the expiry of old information.
    for seed in 1_000..1_030 {
        survives(seed, |_| Protocol::Stp, &[0], 30, 120);
    }
}

#[test]
fn bridges_of_all_protocols_make_one_tree() {
    let any = |rng: &mut Rng| match rng.below(3) {
        0 => Protocol::Stp,
        1 => Protocol::Rstp,
        _ => Protocol::Mstp,
    };
    for seed in 2_000..2_030 {
        survives(seed, any, &[0], 30, 120);
    }
}

#[test]
fn mstp_makes_a_tree_of_every_instance() {
    for seed in 3_000..3_015 {
        // With 40 hops, old information may circulate for that many seconds.
        survives(seed, |_| Protocol::Mstp, &[0, 1, 2], 30, 100);
    }
}
