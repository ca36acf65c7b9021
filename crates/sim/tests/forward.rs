//! Two routers and two hosts: the main job.

use machine::Duration;
use sim::{HostConfig, Line, NodeId, World};

/// client — west — east — server, both families; the line between the routers is `middle`.
struct Chain {
    world: World,
    client: NodeId,
    server: NodeId,
    west: NodeId,
}

const WEST: &str = "\
    /ip address add address=10.1.0.1/24 interface=ether1\n\
    /ip address add address=10.9.0.1/30 interface=ether2\n\
    /ip route add dst-address=10.2.0.0/24 gateway=10.9.0.2\n\
    /ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
    /ipv6 address add address=2001:db8:9::1/64 interface=ether2\n\
    /ipv6 route add dst-address=2001:db8:2::/64 gateway=2001:db8:9::2\n";
const EAST: &str = "\
    /ip address add address=10.2.0.1/24 interface=ether1\n\
    /ip address add address=10.9.0.2/30 interface=ether2\n\
    /ip route add gateway=10.9.0.1\n\
    /ipv6 address add address=2001:db8:2::1/64 interface=ether1\n\
    /ipv6 address add address=2001:db8:9::2/64 interface=ether2\n\
    /ipv6 route add gateway=2001:db8:9::1\n";

fn chain(seed: u64, middle: Line, workers: usize) -> Chain {
    let mut world = World::new(seed);
    let west = world.router(WEST, 2, workers);
    let east = world.router(EAST, 2, workers);
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
        mut world, client, ..
    } = chain(2, Line::default(), 1);
    let (near, far) = (
        ["10.1.0.1", "10.9.0.1", "10.9.0.2"],
        ["2001:db8:1::1", "2001:db8:9::1"],
    );

    for own in near.into_iter().chain(far) {
        world.at(client).ping(own, 1, 1000);
        world.run(Duration::from_secs(1));

        assert_eq!(world.at(client).replies(own), 1, "{own}");
    }
}

#[test]
fn the_console_shows_what_runs() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(3, Line::default(), 1);
    world.at(client).ping("10.2.0.2", 1, 56);
    world.run(Duration::from_secs(1));

    assert_eq!(
        world.run_on(west, "/ip route print"),
        "\
Flags: D - DYNAMIC; A - ACTIVE; c - CONNECT, s - STATIC
Columns: DST-ADDRESS, GATEWAY, ROUTING-TABLE, DISTANCE
#     DST-ADDRESS  GATEWAY   ROUTING-TABLE  DISTANCE
  DAc 10.1.0.0/24  ether1    main                  0
0  As 10.2.0.0/24  10.9.0.2  main                  1
  DAc 10.9.0.0/30  ether2    main                  0

"
    );
    let neighbours = world.run_on(west, "/ip arp print");
    assert!(neighbours.contains("10.9.0.2  02:F0:00:01:00:02  ether2     main  reachable"));
    let settings = world.run_on(west, "/ip settings print");
    assert!(settings.contains("ipv4-fast-path-active: yes"));
    // The reply; the request waited for the neighbour, and went on by the slow path.
    assert!(settings.contains("ipv4-fast-path-packets: 1\n"));
    assert!(settings.contains("ipv4-fast-path-bytes: 84\n"));
    let addresses = world.run_on(west, "/ipv6 address print");
    assert!(addresses.contains("2 DL fe80::f0:ff:fe00:1/64  ether1"));
    let log = world.run_on(west, "/log print");
    assert!(log.contains("interface,info ether1 link up") && !log.contains("warning"));
}
