//! Links that come and go.

use machine::Duration;
use sim::{HostConfig, Line, World};

use crate::{Chain, chain, seconds};

#[test]
fn a_flapping_port_loses_only_packets() {
    for seed in 0..10 {
        let Chain {
            mut world,
            client,
            west,
            ..
        } = chain(seed, Line::default(), 1);
        world.at(client).stream("10.2.0.2", 200_000);
        world.at(client).stream("2001:db8:2::2", 200_000);

        for _ in 0..20 {
            world.cut((west, 1), true);
            world.run(Duration::from_millis(130));
            world.cut((west, 1), false);
            world.run(Duration::from_millis(270));
        }
        let done = world.run_until(seconds(60), |world| {
            world.at(client).streams().iter().all(|s| s.is_done())
        });

        assert!(done, "seed {seed}");
        let shown = world.run_on(west, "/interface print detail where name=ether2");
        assert!(shown.contains("link-downs=20"), "seed {seed}: {shown}");
    }
}

#[test]
fn routes_over_a_link_that_is_down_are_inactive_and_come_back() {
    let Chain {
        mut world, west, ..
    } = chain(1, Line::default(), 1);
    let is_active = |world: &mut World| {
        let shown = world.run_on(west, "/ip route print");
        shown.contains("0  As 10.2.0.0/24")
    };
    assert!(is_active(&mut world));

    world.cut((west, 1), true);
    world.run(seconds(1));
    let shown = world.run_on(west, "/ip route print");
    assert!(shown.contains("0  Is 10.2.0.0/24"), "{shown}");
    assert!(shown.contains("DIc 10.9.0.0/30"), "{shown}");

    world.cut((west, 1), false);
    world.run(seconds(1));
    assert!(is_active(&mut world));
}

#[test]
fn a_vanished_port_is_reopened_on_return() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(2, Line::default(), 1);
    world.unplug((west, 1), true);
    world.at(client).ping("10.2.0.2", 1, 56);
    world.run(seconds(1));
    assert_eq!(world.at(client).replies("10.2.0.2"), 0);

    world.unplug((west, 1), false);
    world.run(seconds(3));
    for to in ["10.2.0.2", "2001:db8:2::2"] {
        world.at(client).ping(to, 2, 56);
        world.run(seconds(1));
        assert_eq!(world.at(client).replies(to), 1, "{to}");
    }
}

#[test]
fn an_unrelated_configuration_change_loses_no_packet() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(3, Line::default(), 1);
    world.at(client).ping("10.2.0.2", 0, 56);
    world.run(seconds(1));

    for seq in 1..=200u16 {
        world.at(client).ping("10.2.0.2", seq, 56);
        let third = seq % 250;
        world.run_on(
            west,
            &format!(
                "/ip address add address=172.16.{third}.1/24 interface=ether1; \
                 /ip route add dst-address=192.168.{third}.0/24 gateway=172.16.{third}.9; \
                 /ip settings set arp-timeout={}s",
                20 + third
            ),
        );
        world.run(Duration::from_millis(5));
    }
    world.run(seconds(1));

    assert_eq!(world.at(client).replies("10.2.0.2"), 201);
}

#[test]
fn router_advertisements_configure_hosts() {
    let mut world = World::new(7);
    let router = world.router(
        "/ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
         /ipv6 nd set [find] ra-interval=3s-4s\n",
        2,
        1,
    );
    let host = world.host(HostConfig::new("2001:db8:1::2/64", "2001:db8:1::1"));
    let silent = world.host(HostConfig::new("2001:db8:2::2/64", "2001:db8:2::1"));
    world.join((host, 0), (router, 0), Line::default());
    world.join((silent, 0), (router, 1), Line::default());

    world.run(seconds(10));

    let prefix = ("2001:db8:1::".parse().expect("an address"), 64);
    let tells = |heard: &sim::Received| matches!(heard, sim::Received::Router { prefixes, .. } if prefixes == &[prefix]);
    assert!(world.at(host).heard.iter().any(tells));
    assert!(world.at(silent).heard.is_empty());
}
