//! Two routers and two hosts: the main job.

use machine::Duration;
use sim::{Config, HostConfig, Line, NodeId, World};

/// client — west — east — server, both families; the line between the routers is `middle`.
struct Chain {
    world: World,
    client: NodeId,
    server: NodeId,
    west: NodeId,
}

fn chain(seed: u64, middle: Line, workers: usize) -> Chain {
    let mut world = World::new(seed);
    let west = Config::new()
        .port("ether1")
        .port("ether2")
        .address("ether1", "10.1.0.1/24")
        .address("ether2", "10.9.0.1/30")
        .address("ether1", "2001:db8:1::1/64")
        .address("ether2", "2001:db8:9::1/64")
        .route("10.2.0.0/24", "10.9.0.2")
        .route("2001:db8:2::/64", "2001:db8:9::2");
    let east = Config::new()
        .port("ether1")
        .port("ether2")
        .address("ether1", "10.2.0.1/24")
        .address("ether2", "10.9.0.2/30")
        .address("ether1", "2001:db8:2::1/64")
        .address("ether2", "2001:db8:9::2/64")
        .route("0.0.0.0/0", "10.9.0.1")
        .route("::/0", "2001:db8:9::1");
    let west = world.router(&west, workers);
    let east = world.router(&east, workers);
    let client =
        HostConfig::new("10.1.0.2/24", "10.1.0.1").and("2001:db8:1::2/64", "2001:db8:1::1");
    let server =
        HostConfig::new("10.2.0.2/24", "10.2.0.1").and("2001:db8:2::2/64", "2001:db8:2::1");
    let client = world.host(client);
    let server = world.host(server);
    world.join((client, 0), (west, 0), Line::default());
    world.join((west, 1), (east, 1), middle);
    world.join((east, 0), (server, 0), Line::default());
    // Duplicate address detection takes a second.
    world.run(Duration::from_secs(3));
    Chain {
        world,
        client,
        server,
        west,
    }
}

const SERVERS: [&str; 2] = ["10.2.0.2", "2001:db8:2::2"];

#[test]
fn hosts_reach_each_other_over_two_routers() {
    let Chain {
        mut world, client, ..
    } = chain(1, Line::default(), 1);

    for server in SERVERS {
        for seq in 0..100 {
            world.at(client).ping(server, seq, 56);
            world.run(Duration::from_millis(100));
        }
        assert_eq!(world.at(client).replies(server), 100, "{server}");
    }
}

#[test]
fn streams_arrive_over_a_line_that_loses_doubles_and_reorders() {
    for seed in 0..20 {
        let bad = Line {
            jitter: Duration::from_millis(5),
            loss: 20,
            doubled: 10,
            ..Line::default()
        };
        let Chain {
            mut world,
            client,
            server,
            ..
        } = chain(seed, bad, 1);
        for server in SERVERS {
            world.at(client).stream(server, 50_000);
        }

        let arrived = world.run_until(Duration::from_secs(600), |world| {
            world
                .at(client)
                .streams()
                .iter()
                .all(|stream| stream.is_done())
        });

        assert!(arrived, "seed {seed}: not within ten minutes");
        assert!(
            world.fault.lost > 0 && world.fault.doubled > 0,
            "seed {seed}"
        );
        let streamed: Vec<_> = world.at(server).streamed.values().copied().collect();
        assert_eq!(streamed, [50_000, 50_000], "seed {seed}");
    }
}

#[test]
fn a_router_answers_echoes_at_each_of_its_addresses() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(2, Line::default(), 1);
    let _ = west;
    for own in [
        "10.1.0.1",
        "10.9.0.1",
        "10.9.0.2",
        "2001:db8:1::1",
        "2001:db8:9::1",
        "2001:db8:9::2",
    ] {
        world.at(client).ping(own, 1, 1000);
        world.run(Duration::from_secs(1));
        assert_eq!(world.at(client).replies(own), 1, "{own}");
    }
}
