//! Forwarding between two hosts by two routers.

use machine::Duration;
use sim::Line;

use crate::{Chain, SERVERS, chain, errors, seconds};

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
fn streams_arrive_on_a_lossy_duplicating_reordering_line() {
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
fn the_console_shows_the_running_state() {
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
    // The reply; the request waited for the neighbour, and left by the slow path.
    assert!(settings.contains("ipv4-fast-path-packets: 1\n"));
    assert!(settings.contains("ipv4-fast-path-bytes: 84\n"));
    let addresses = world.run_on(west, "/ipv6 address print");
    assert!(addresses.contains("2 DL fe80::f0:ff:fe00:1/64  ether1"));
    let log = world.run_on(west, "/log print");
    assert!(log.contains("interface,info ether1 link up") && !log.contains("warning"));
}

#[test]
fn each_router_on_the_path_reports_an_exceeded_ttl() {
    let Chain {
        mut world, client, ..
    } = chain(4, Line::default(), 1);

    for (to, ways) in [
        ("10.2.0.2", ["10.1.0.1", "10.9.0.2"]),
        ("2001:db8:2::2", ["2001:db8:1::1", "2001:db8:9::2"]),
    ] {
        for (hop, router) in ways.into_iter().enumerate() {
            world.at(client).heard.clear();
            world.at(client).ping_ttl(to, 1, 56, hop as u8 + 1);
            world.run(seconds(1));

            let time_exceeded = if to.contains(':') { 3 } else { 11 };
            let expected = [(router.to_owned(), time_exceeded, 0, 0)];
            assert_eq!(errors(&mut world, client), expected, "hop {hop} to {to}");
        }
        world.at(client).ping_ttl(to, 1, 56, 3);
        world.run(seconds(1));
        assert_eq!(world.at(client).replies(to), 1);
    }
}

#[test]
fn blackhole_unreachable_and_prohibit_routes_answer_as_configured() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(5, Line::default(), 1);
    world.run_on(
        west,
        "/ip route add dst-address=10.30.0.0/16 blackhole; \
         /ip route add dst-address=10.31.0.0/16 type=unreachable; \
         /ip route add dst-address=10.32.0.0/16 type=prohibit",
    );

    for (to, told) in [
        ("10.30.0.1", None),
        ("10.31.0.1", Some((3, 1))),
        ("10.32.0.1", Some((3, 13))),
        ("10.33.0.1", Some((3, 0))),
        ("2001:db8:77::1", Some((1, 0))),
    ] {
        world.at(client).heard.clear();
        world.at(client).ping(to, 1, 56);
        world.run(seconds(1));

        let heard = errors(&mut world, client);
        let heard = heard.first().map(|(_, kind, code, _)| (*kind, *code));
        assert_eq!(heard, told, "{to}");
    }
}

#[test]
fn nested_vlans_carry_routed_packets() {
    let mut world = sim::World::new(6);
    let trunk = |own: &str, lan: &str, far: &str, far_lan: &str| {
        format!(
            "/interface vlan add name=seven interface=ether2 vlan-id=7\n\
             /interface vlan add name=inner interface=seven vlan-id=8 use-service-tag=yes\n\
             /ip address add address={lan}.1/24 interface=ether1\n\
             /ip address add address={own}/30 interface=inner\n\
             /ip route add dst-address={far_lan}.0/24 gateway={far}\n"
        )
    };
    let west = world.router(&trunk("10.9.0.1", "10.1.0", "10.9.0.2", "10.2.0"), 2, 1);
    let east = world.router(&trunk("10.9.0.2", "10.2.0", "10.9.0.1", "10.1.0"), 2, 1);
    let client = world.host(sim::HostConfig::new("10.1.0.2/24", "10.1.0.1"));
    let server = world.host(sim::HostConfig::new("10.2.0.2/24", "10.2.0.1"));
    world.join((client, 0), (west, 0), Line::default());
    world.join((west, 1), (east, 1), Line::default());
    world.join((east, 0), (server, 0), Line::default());

    world.at(client).ping("10.2.0.2", 1, 1400);
    world.run(seconds(1));

    assert_eq!(world.at(client).replies("10.2.0.2"), 1);
    let shown = world.run_on(west, "/interface print stats where name=inner");
    assert!(shown.contains("inner"), "{shown}");
}
