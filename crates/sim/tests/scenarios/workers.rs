//! Several workers, stepped in turn.

use sim::{Line, Received};

use crate::{Chain, SERVERS, chain, seconds};

/// Returns the digest of a world with four workers per router.
fn digest(seed: u64, workers: usize) -> u64 {
    let bad = Line {
        jitter: machine::Duration::from_millis(2),
        loss: 10,
        doubled: 5,
        ..Line::default()
    };
    let Chain {
        mut world, client, ..
    } = chain(seed, bad, workers);
    for to in SERVERS {
        world.at(client).stream(to, 20_000);
        for flow in 0..40 {
            world.at(client).send_udp_from(30_000 + flow, to, 9, 60);
        }
    }
    world.run(seconds(20));
    world.digest()
}

#[test]
fn the_same_seed_gives_the_same_frames_with_four_workers() {
    for seed in 0..3 {
        assert_eq!(digest(seed, 4), digest(seed, 4), "seed {seed}");
        assert_ne!(digest(seed, 4), digest(seed + 1, 4), "seed {seed}");
    }
}

#[test]
fn flows_arrive_complete_and_in_order_over_four_workers() {
    let Chain {
        mut world,
        client,
        server,
        west,
        ..
    } = chain(9, Line::default(), 4);
    // Resolve neighbours first: packets that wait for one take another path.
    for to in SERVERS {
        world.at(client).ping(to, 1, 56);
    }
    world.run(seconds(1));

    // The length identifies a packet of a flow.
    for round in 0..50 {
        for flow in 0..20 {
            for to in SERVERS {
                world
                    .at(client)
                    .send_udp_from(30_000 + flow, to, 9, 100 + round);
            }
        }
    }
    world.run(seconds(2));

    for flow in 0..20u16 {
        for ipv4 in [true, false] {
            let rounds: Vec<_> = world
                .at(server)
                .heard
                .iter()
                .filter_map(|heard| match heard {
                    Received::Udp { from, port, len }
                        if *port == 30_000 + flow && from.is_ipv4() == ipv4 =>
                    {
                        Some(*len)
                    }
                    _ => None,
                })
                .collect();
            let expected: Vec<_> = (100..150).collect();
            assert_eq!(rounds, expected, "flow {flow}, IPv4: {ipv4}");
        }
    }
    let received: Vec<u64> = {
        let workers = world.control(west).workers();
        workers
            .counters()
            .map(|counters| counters.ipv4_fast_path.get().packets)
            .collect()
    };
    let busy = received.iter().filter(|packets| **packets > 0).count();
    assert!(busy >= 3, "packets by worker: {received:?}");
}
