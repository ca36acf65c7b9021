//! ARP and neighbour discovery.

use core::net::Ipv6Addr;
use std::sync::Arc;

use machine::Duration;
use sim::{HostConfig, Line, Received, World};

use crate::{Chain, SERVERS, chain, errors, seconds};

#[test]
fn packets_are_queued_for_neighbour_resolution_without_loss() {
    for server in SERVERS {
        let Chain {
            mut world, client, ..
        } = chain(1, Line::default(), 1);

        for seq in 0..10 {
            world.at(client).ping(server, seq, 56);
        }
        world.run(seconds(1));

        assert_eq!(world.at(client).replies(server), 10, "{server}");
    }
}

#[test]
fn neighbours_resolve_with_one_third_frame_loss() {
    for seed in 0..20 {
        let bad = Line {
            loss: 33,
            ..Line::default()
        };
        let Chain {
            mut world, client, ..
        } = chain(seed, bad, 1);

        for server in SERVERS {
            let reached = world.run_until(seconds(120), |world| {
                world.at(client).ping(server, 1, 56);
                world.at(client).replies(server) > 0
            });
            assert!(reached, "seed {seed}: {server} not within two minutes");
        }
    }
}

#[test]
fn a_missing_neighbour_causes_host_unreachable() {
    let Chain {
        mut world, client, ..
    } = chain(2, Line::default(), 1);

    world.at(client).ping("10.2.0.99", 1, 56);
    world.at(client).ping("2001:db8:2::99", 1, 56);
    world.run(seconds(5));

    let expected = [
        ("10.9.0.2".to_owned(), 3, 1, 0),
        ("2001:db8:9::2".to_owned(), 1, 3, 0),
    ];
    assert_eq!(errors(&mut world, client), expected);
}

#[test]
fn static_neighbours_need_no_resolution() {
    let Chain {
        mut world,
        client,
        server,
        east,
        ..
    } = chain(3, Line::default(), 1);
    let mac = world.at(server).mac();
    world.run_on(
        east,
        &format!(
            "/interface ethernet set ether1 arp=disabled; \
             /ip arp add address=10.2.0.2 mac-address={mac} interface=ether1"
        ),
    );
    let gateway = world.run_on(east, "/interface ethernet print");
    assert!(gateway.contains("disabled"));

    world.at(client).send_udp("10.2.0.2", 9, 100);
    world.run(seconds(1));

    let udp = |heard: &Received| matches!(heard, Received::Udp { len: 100, .. });
    assert!(world.at(server).heard.iter().any(udp));
    let arp = world.run_on(east, "/ip arp print");
    assert!(arp.contains("permanent"), "{arp}");
}

#[test]
fn proxy_arp_answers_only_where_enabled() {
    for (mode, answers) in [("enabled", 0), ("proxy-arp", 1)] {
        let mut world = World::new(4);
        let router = world.router(
            "/ip address add address=10.1.0.1/24 interface=ether1\n\
             /ip address add address=10.2.0.1/24 interface=ether2\n",
            2,
            1,
        );
        world.run_on(
            router,
            &format!("/interface ethernet set ether1 arp={mode}"),
        );
        // This host considers all of 10.0.0.0/8 on-link.
        let wide = world.host(HostConfig::new("10.1.0.2/8", "10.1.0.1"));
        let far = world.host(HostConfig::new("10.2.0.2/24", "10.2.0.1"));
        world.join((wide, 0), (router, 0), Line::default());
        world.join((router, 1), (far, 0), Line::default());

        world.at(wide).ping("10.2.0.2", 1, 56);
        world.run(seconds(2));

        assert_eq!(world.at(wide).replies("10.2.0.2"), answers, "{mode}");
    }
}

#[test]
fn a_duplicate_address_is_not_used() {
    let mut world = World::new(5);
    let host = world.host(HostConfig::new("2001:db8:1::1/64", "2001:db8:1::2"));
    let router = world.router("", 1, 1);
    world.join((host, 0), (router, 0), Line::default());
    world.run_on(
        router,
        "/ipv6 address add address=2001:db8:1::1/64 interface=ether1; \
         /ipv6 address add address=2001:db8:1::2/64 interface=ether1",
    );
    world.run(seconds(5));

    let log = world.run_on(router, "/log print");
    assert!(log.contains("duplicate address 2001:db8:1::1"), "{log}");
    world.at(host).ping("2001:db8:1::2", 1, 56);
    world.run(seconds(1));
    assert_eq!(world.at(host).replies("2001:db8:1::2"), 1);
}

#[test]
fn a_redirect_names_the_better_first_hop() {
    let mut world = World::new(6);
    let first = world.router(
        "/ip address add address=10.1.0.1/24 interface=ether1\n\
         /ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
         /ip route add dst-address=10.2.0.0/24 gateway=10.1.0.254\n",
        1,
        1,
    );
    let second = world.router(
        "/ip address add address=10.1.0.254/24 interface=ether1\n\
         /ip address add address=10.2.0.1/24 interface=ether2\n",
        2,
        1,
    );
    let host = world.host(HostConfig::new("10.1.0.2/24", "10.1.0.1"));
    let server = world.host(HostConfig::new("10.2.0.2/24", "10.2.0.1"));
    world.share(&[(host, 0), (first, 0), (second, 0)], Line::default());
    world.join((second, 1), (server, 0), Line::default());

    for seq in 0..2 {
        world.at(host).ping("10.2.0.2", seq, 56);
        world.run(seconds(1));
    }

    let redirect = Received::Redirect {
        destination: "10.2.0.2".parse().expect("an address"),
        gateway: "10.1.0.254".parse().expect("an address"),
    };
    assert!(world.at(host).heard.contains(&redirect));
    assert_eq!(world.at(host).replies("10.2.0.2"), 2);

    world.run_on(first, "/ip settings set send-redirects=no");
    let other = world.host(HostConfig::new("10.1.0.3/24", "10.1.0.1"));
    let ends = [(host, 0), (first, 0), (second, 0), (other, 0)];
    world.share(&ends, Line::default());
    for seq in 0..2 {
        world.at(other).ping("10.2.0.2", seq, 56);
        world.run(seconds(1));
    }
    let is_redirect = |heard: &Received| matches!(heard, Received::Redirect { .. });
    assert!(!world.at(other).heard.iter().any(is_redirect));
    assert_eq!(world.at(other).replies("10.2.0.2"), 2);
}

#[test]
fn packets_wait_for_neighbours_of_the_egress_link() {
    // Which of the two configures its addresses first is random.
    for seed in 1..=20 {
        let mut world = World::new(seed);
        let router = world.router(
            "/ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
             /ipv6 address add address=2001:db8:2::1/64 interface=ether2\n",
            2,
            1,
        );
        let client = world.host(HostConfig::new("2001:db8:1::2/64", "2001:db8:1::1"));
        let server = world.host(HostConfig::new("2001:db8:2::2/64", "2001:db8:2::1"));
        world.join((router, 0), (client, 0), Line::default());
        world.join((router, 1), (server, 0), Line::default());
        // Like a router whose links come up together at start.
        for cut in [true, false] {
            for port in [0, 1] {
                world.cut((router, port), cut);
            }
            world.run(Duration::from_millis(1));
        }
        for seq in 1..=25 {
            world.at(client).ping("2001:db8:2::2", seq, 56);
            world.run(Duration::from_millis(100));
        }
        world.run(seconds(2));

        assert_eq!(errors(&mut world, client), [], "seed {seed}");
        assert!(world.at(client).replies("2001:db8:2::2") > 5, "seed {seed}");
    }
}

#[test]
fn a_router_answers_for_the_subnet_router_anycast_address() {
    let mut world = World::new(9);
    let router = world.router(
        "/ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
         /ipv6 address add address=2001:db8:2::1/127 interface=ether2\n",
        2,
        1,
    );
    let host = world.host(HostConfig::new("2001:db8:1::2/64", "2001:db8:1::1"));
    world.join((router, 0), (host, 0), Line::default());
    world.run(seconds(3));
    let answers = |world: &mut World, to: &str| {
        let before = world.at(host).replies("2001:db8:1::1");
        world.at(host).ping(to, 1, 56);
        world.run(seconds(1));
        world.at(host).replies("2001:db8:1::1") - before
    };

    assert_eq!(answers(&mut world, "2001:db8:1::"), 1);
    // The prefix belongs to the other router of the link.
    assert_eq!(answers(&mut world, "2001:db8:2::"), 0);

    world.run_on(router, "/ipv6 settings set forward=no");
    assert_eq!(answers(&mut world, "2001:db8:1::"), 0);
}

#[test]
fn a_host_gets_errors_for_a_gateway_that_never_answers() {
    for firewall in [
        "",
        "/ip firewall filter add chain=forward connection-state=new\n\
                         /ipv6 firewall filter add chain=forward connection-state=new\n",
    ] {
        let mut world = World::new(7);
        let router = world.router(
            &format!(
                "/ip address add address=10.1.0.1/24 interface=ether1\n\
                 /ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
                 /ip route add dst-address=10.2.0.0/24 gateway=10.1.0.254\n\
                 /ipv6 route add dst-address=2001:db8:2::/64 gateway=fe80::fe%ether1\n{firewall}"
            ),
            1,
            1,
        );
        let host = HostConfig::new("10.1.0.2/24", "10.1.0.1");
        let host = world.host(host.and("2001:db8:1::2/64", "2001:db8:1::1"));
        world.join((router, 0), (host, 0), Line::default());
        world.run(seconds(3));

        for destination in ["10.2.0.2", "2001:db8:2::2"] {
            world.at(host).ping(destination, 1, 56);
        }
        world.run(seconds(1));

        let gateways = world.at(host).heard.iter().filter_map(|heard| match heard {
            Received::Redirect { gateway, .. } => Some(gateway.to_string()),
            _ => None,
        });
        let gateways: Vec<_> = gateways.collect();
        assert_eq!(gateways, ["10.1.0.254", "fe80::fe"], "{firewall}");
    }
}

#[test]
fn a_neighbour_with_a_new_mac_address_is_found_again() {
    let mut world = World::new(8);
    let router = world.router(
        "/ip address add address=10.1.0.1/24 interface=ether1\n\
         /ip address add address=10.2.0.1/24 interface=ether2\n\
         /ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
         /ipv6 address add address=2001:db8:2::1/64 interface=ether2\n",
        2,
        1,
    );
    let client = HostConfig::new("10.1.0.2/24", "10.1.0.1");
    let client = world.host(client.and("2001:db8:1::2/64", "2001:db8:1::1"));
    let server = || {
        let server = HostConfig::new("10.2.0.2/24", "10.2.0.1");
        server.and("2001:db8:2::2/64", "2001:db8:2::1")
    };
    let old = world.host(server());
    world.join((client, 0), (router, 0), Line::default());
    world.join((router, 1), (old, 0), Line::default());
    world.run(seconds(3));
    for to in SERVERS {
        world.at(client).ping(to, 1, 56);
    }
    world.run(seconds(1));

    // Another machine takes its place while the link stays up.
    let new = world.host(server());
    world.join((router, 1), (new, 0), Line::default());
    for to in SERVERS {
        let reached = world.run_until(seconds(120), |world| {
            world.at(client).ping(to, 2, 56);
            world.run(seconds(1));
            world.at(client).replies(to) > 1
        });
        assert!(reached, "{to}: not within two minutes");
    }
}

#[test]
fn address_changes_need_no_new_snapshot() {
    let mut chain = chain(1, Line::default(), 1);
    let (world, west) = (&mut chain.world, chain.west);
    let snapshot = world.control(west).snapshot();
    let has = |world: &mut World| {
        let interfaces = Arc::clone(world.control(west).interfaces());
        let address = "2001:db8:77::1".parse::<Ipv6Addr>().expect("an address");
        (
            interfaces.own().has_ipv4(0x0a4d_0001),
            interfaces.own().has_ipv6(address.to_bits()),
        )
    };

    world.run_on(
        west,
        "/ip address add address=10.77.0.1/24 interface=ether1 comment=one\n\
         /ip address add address=10.77.0.1/24 interface=ether2 comment=other\n\
         /ipv6 address add address=2001:db8:77::1/64 interface=ether1",
    );
    assert_eq!(has(world), (true, false), "duplicates are looked for");
    world.run(seconds(3));
    assert_eq!(has(world), (true, true));

    world.run_on(west, "/ip address remove [find comment=one]");
    assert_eq!(has(world), (true, true), "another interface has it, too");
    world.run_on(
        west,
        "/ip address remove [find comment=other]\n\
         /ipv6 address remove [find address=\"2001:db8:77::1/64\"]",
    );
    assert_eq!(has(world), (false, false));
    let now = world.control(west).snapshot();
    assert!(Arc::ptr_eq(&snapshot, &now), "epoch {}", now.epoch);
}
