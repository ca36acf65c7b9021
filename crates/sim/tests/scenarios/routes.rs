//! Route selection among several paths.

use machine::Duration;
use sim::{HostConfig, Line, NodeId, Received, World};

use crate::{SERVERS, chain, seconds};

/// A client behind `edge`, which reaches the server's router by `upper` and by `lower`.
struct Diamond {
    world: World,
    client: NodeId,
    server: NodeId,
    edge: NodeId,
    upper: NodeId,
    lower: NodeId,
    far: NodeId,
}

fn diamond(seed: u64, edge_routes: &str) -> Diamond {
    diamond_of(1, seed, edge_routes)
}

/// Builds the topology with this number of workers of `edge`.
fn diamond_of(workers: usize, seed: u64, edge_routes: &str) -> Diamond {
    let mut world = World::new(seed);
    let edge = world.router(
        &format!(
            "/ip address add address=10.1.0.1/24 interface=ether1\n\
             /ip address add address=10.8.1.1/24 interface=ether2\n\
             /ip address add address=10.8.2.1/24 interface=ether3\n\
             /ipv6 address add address=2001:db8:1::1/64 interface=ether1\n\
             /ipv6 address add address=2001:db8:81::1/64 interface=ether2\n\
             /ipv6 address add address=2001:db8:82::1/64 interface=ether3\n\
             {edge_routes}"
        ),
        3,
        workers,
    );
    let middle = |n: u8| {
        format!(
            "/ip address add address=10.8.{n}.2/24 interface=ether1\n\
             /ip address add address=10.7.{n}.2/24 interface=ether2\n\
             /ip route add dst-address=10.1.0.0/24 gateway=10.8.{n}.1\n\
             /ip route add gateway=10.7.{n}.1\n\
             /ipv6 address add address=2001:db8:8{n}::2/64 interface=ether1\n\
             /ipv6 address add address=2001:db8:7{n}::2/64 interface=ether2\n\
             /ipv6 route add dst-address=2001:db8:1::/64 gateway=2001:db8:8{n}::1\n\
             /ipv6 route add gateway=2001:db8:7{n}::1\n"
        )
    };
    let upper = world.router(&middle(1), 2, 1);
    let lower = world.router(&middle(2), 2, 1);
    let far = world.router(
        "/ip address add address=10.2.0.1/24 interface=ether1\n\
         /ip address add address=10.7.1.1/24 interface=ether2\n\
         /ip address add address=10.7.2.1/24 interface=ether3\n\
         /ip route add dst-address=0.0.0.0/0 gateway=10.7.1.2,10.7.2.2\n\
         /ip route add dst-address=10.8.1.0/24 gateway=10.7.1.2\n\
         /ip route add dst-address=10.8.2.0/24 gateway=10.7.2.2\n\
         /ipv6 address add address=2001:db8:2::1/64 interface=ether1\n\
         /ipv6 address add address=2001:db8:71::1/64 interface=ether2\n\
         /ipv6 address add address=2001:db8:72::1/64 interface=ether3\n\
         /ipv6 route add gateway=2001:db8:71::2,2001:db8:72::2\n\
         /ipv6 route add dst-address=2001:db8:81::/64 gateway=2001:db8:71::2\n\
         /ipv6 route add dst-address=2001:db8:82::/64 gateway=2001:db8:72::2\n",
        3,
        1,
    );
    let client = HostConfig::new("10.1.0.2/24", "10.1.0.1");
    let client = world.host(client.and("2001:db8:1::2/64", "2001:db8:1::1"));
    let server = HostConfig::new("10.2.0.2/24", "10.2.0.1");
    let server = world.host(server.and("2001:db8:2::2/64", "2001:db8:2::1"));
    world.join((client, 0), (edge, 0), Line::default());
    world.join((edge, 1), (upper, 0), Line::default());
    world.join((edge, 2), (lower, 0), Line::default());
    world.join((upper, 1), (far, 1), Line::default());
    world.join((lower, 1), (far, 2), Line::default());
    world.join((far, 0), (server, 0), Line::default());
    world.run(seconds(3));
    Diamond {
        world,
        client,
        server,
        edge,
        upper,
        lower,
        far,
    }
}

fn sent_by(world: &mut World, router: NodeId, interface: &str) -> u64 {
    let command = format!(":put [/interface get {interface} tx-packet]");
    let text = world.run_on(router, &command);
    text.trim().parse().expect("a number")
}

const BOTH: &str = "\
    /ip route add gateway=10.8.1.2,10.8.2.2\n\
    /ipv6 route add gateway=2001:db8:81::2,2001:db8:82::2\n\
    /ip settings set ipv4-multipath-hash-policy=l4\n\
    /ipv6 settings set multipath-hash-policy=l4\n";

#[test]
fn flows_spread_over_gateways_and_each_flow_uses_one() {
    let Diamond {
        mut world,
        client,
        server,
        edge,
        ..
    } = diamond(1, BOTH);
    // Resolve neighbours first: a pending neighbour holds only a few packets.
    for to in SERVERS {
        for flow in 0..8 {
            world.at(client).send_udp_from(10_000 + flow, to, 9, 50);
            world.run(seconds(1));
        }
    }
    world.at(server).heard.clear();
    let before = [2, 3].map(|n| sent_by(&mut world, edge, &format!("ether{n}")));
    for to in SERVERS {
        for flow in 0..64u16 {
            world.at(client).send_udp_from(20_000 + flow, to, 9, 50);
        }
    }
    world.run(seconds(2));
    let after = [2, 3].map(|n| sent_by(&mut world, edge, &format!("ether{n}")));

    let [upper, lower] = [after[0] - before[0], after[1] - before[1]];
    assert!(upper > 30 && lower > 30, "{upper} and {lower} of 128");
    let udp = |heard: &&Received| matches!(heard, Received::Udp { .. });
    assert_eq!(world.at(server).heard.iter().filter(udp).count(), 128);

    for _ in 0..50 {
        world.at(client).send_udp_from(20_000, "10.2.0.2", 9, 50);
    }
    world.run(seconds(1));
    let last = [2, 3].map(|n| sent_by(&mut world, edge, &format!("ether{n}")));
    let moved = [last[0] - after[0], last[1] - after[1]];
    assert!(moved.contains(&50), "one flow took both ways: {moved:?}");
}

#[test]
fn the_remaining_gateway_carries_all_flows() {
    let Diamond {
        mut world,
        client,
        edge,
        upper,
        ..
    } = diamond(2, BOTH);
    world.cut((edge, 1), true);
    world.cut((upper, 1), true);
    world.run(seconds(1));

    for to in SERVERS {
        for seq in 0..50 {
            world.at(client).ping(to, seq, 56);
            world.run(seconds(1));
        }
        assert_eq!(world.at(client).replies(to), 50, "{to}");
    }
    let shown = world.run_on(edge, "/ip route print detail where dst-address=0.0.0.0/0");
    assert!(shown.contains("immediate-gw=10.8.2.2%ether3"), "{shown}");
}

/// Common recursive failover on RouterOS: each provider has a host to check, and the default route uses a
/// provider whose host answers.
const RECURSIVE: &str = "\
    /ip route add dst-address=10.7.1.1 gateway=10.8.1.2 scope=10\n\
    /ip route add dst-address=10.7.2.1 gateway=10.8.2.2 scope=10\n\
    /ip route add gateway=10.7.1.1 target-scope=11 distance=1 check-gateway=ping\n\
    /ip route add gateway=10.7.2.1 target-scope=11 distance=2 check-gateway=ping\n";

#[test]
fn a_recursive_default_route_uses_the_provider_that_answers() {
    let Diamond {
        mut world,
        client,
        edge,
        upper,
        ..
    } = diamond(3, RECURSIVE);
    let way = |world: &mut World| {
        let shown = world.run_on(
            edge,
            ":put [/ip route get [find active dst-address=0.0.0.0/0] immediate-gw]",
        );
        shown.trim().to_owned()
    };
    let table = world.run_on(edge, "/ip route print detail");
    assert_eq!(way(&mut world), "10.8.1.2%ether2", "{table}");

    // Beyond the first provider's router: all local links stay up.
    world.cut((upper, 1), true);
    world.run(seconds(60));
    assert_eq!(way(&mut world), "10.8.2.2%ether3");
    world.at(client).ping("10.2.0.2", 1, 56);
    world.run(seconds(2));
    assert_eq!(world.at(client).replies("10.2.0.2"), 1);
    let log = world.run_on(edge, "/log print");
    assert!(log.contains("gateway 10.7.1.1 is unreachable"), "{log}");

    world.cut((upper, 1), false);
    world.run(seconds(30));
    assert_eq!(way(&mut world), "10.8.1.2%ether2");
}

/// Returns the active default route of `edge`.
fn default_way(world: &mut World, edge: NodeId, menu: &str) -> String {
    let all = if menu == "/ip" { "0.0.0.0/0" } else { "::/0" };
    let way = format!(":put [{menu} route get [find active dst-address={all}] immediate-gw]");
    world.run_on(edge, &way).trim().to_owned()
}

#[test]
fn a_gateway_behind_a_dead_link_is_not_probed_over_another_uplink() {
    // Both gateways are reachable by the other uplink as well, which the router uses while its own link is
    // down: a neighbour, and an Internet host.
    let direct = ("10.8.1.2", "2001:db8:81::2");
    let remote = ("10.7.1.1", "2001:db8:71::1");
    for (seed, (v4, v6)) in [(7, direct), (8, remote)] {
        let routes = format!(
            "/ip route add dst-address=10.7.1.1 gateway=10.8.1.2 scope=10\n\
             /ip route add gateway={v4} target-scope=11 distance=1 check-gateway=ping\n\
             /ip route add gateway=10.8.2.2 distance=2\n\
             /ipv6 route add dst-address=2001:db8:71::1 gateway=2001:db8:81::2 scope=10\n\
             /ipv6 route add gateway={v6} target-scope=11 distance=1 check-gateway=ping\n\
             /ipv6 route add gateway=2001:db8:82::2 distance=2\n"
        );
        let Diamond {
            mut world,
            edge,
            upper,
            ..
        } = diamond(seed, &routes);
        let ways = |world: &mut World| ["/ip", "/ipv6"].map(|m| default_way(world, edge, m));
        let upper_ways = ["10.8.1.2%ether2", "2001:db8:81::2%ether2"];
        let lower_ways = ["10.8.2.2%ether3", "2001:db8:82::2%ether3"];
        assert_eq!(ways(&mut world), upper_ways);

        world.cut((edge, 1), true);
        world.run(seconds(60));
        assert_eq!(ways(&mut world), lower_ways);
        let pong = world.run_on(edge, &format!("/ping {v4} count=1"));
        assert!(pong.contains("received=1"), "{pong}");
        let log = world.run_on(edge, "/log print");
        for gateway in [v4, v6] {
            let found = format!("gateway {gateway} is unreachable");
            assert!(log.contains(&found), "{log}");
        }

        // A restored link is used only after a host has answered by it.
        let silence = "raw add chain=prerouting action=drop in-interface=ether1";
        world.run_on(upper, &format!("/ip firewall {silence} protocol=icmp"));
        world.run_on(
            upper,
            &format!("/ipv6 firewall {silence} protocol=icmpv6 icmp-options=128:0"),
        );
        world.cut((edge, 1), false);
        world.run(seconds(60));
        assert_eq!(ways(&mut world), lower_ways);

        world.run_on(upper, "/ip firewall raw remove [find]");
        world.run_on(upper, "/ipv6 firewall raw remove [find]");
        world.run(seconds(60));
        assert_eq!(ways(&mut world), upper_ways);
    }
}

#[test]
fn a_gateway_is_probed_at_once_when_its_link_returns() {
    let routes = "\
        /ip route add dst-address=10.7.1.1 gateway=10.8.1.2 scope=10 check-gateway=arp\n\
        /ip route add gateway=10.7.1.1 target-scope=11 distance=1 check-gateway=ping\n\
        /ip route add gateway=10.8.2.2 distance=2\n\
        /ipv6 route add gateway=2001:db8:81::2 distance=1 check-gateway=ping\n\
        /ipv6 route add gateway=2001:db8:82::2 distance=2\n";
    let mut diamond = diamond(10, routes);
    let (world, edge) = (&mut diamond.world, diamond.edge);
    // Returns at any time between two checks of its gateways.
    for offset in 0..9 {
        world.cut((edge, 1), true);
        world.run(seconds(60 + offset));
        assert_eq!(default_way(world, edge, "/ip"), "10.8.2.2%ether3");
        assert_eq!(default_way(world, edge, "/ipv6"), "2001:db8:82::2%ether3");

        world.cut((edge, 1), false);
        let back = world.run_until(Duration::from_millis(100), |world| {
            default_way(world, edge, "/ip") == "10.8.1.2%ether2"
        });
        assert!(back, "{offset}");
        // IPv6 addresses wait two seconds for duplicate address detection.
        let back = world.run_until(seconds(3), |world| {
            default_way(world, edge, "/ipv6") == "2001:db8:81::2%ether2"
        });
        assert!(back, "{offset}");
    }
}

#[test]
fn a_gateway_with_several_paths_is_up_while_one_answers() {
    let routes = "\
        /ip route add dst-address=10.99.0.1 gateway=10.8.1.2,10.8.2.2 scope=10\n\
        /ip route add gateway=10.99.0.1 target-scope=11 check-gateway=ping\n\
        /ip route add dst-address=10.98.0.0/16 gateway=10.99.0.1 target-scope=12 check-gateway=arp\n\
        /ipv6 route add dst-address=2001:db8:99::1 scope=10 \
            gateway=2001:db8:81::2,2001:db8:82::2\n\
        /ipv6 route add gateway=2001:db8:99::1 target-scope=11 check-gateway=ping\n";
    for how in ["ping", "arp"] {
        let mut diamond = diamond(11, routes);
        let world = &mut diamond.world;
        let other = if how == "ping" { "arp" } else { "ping" };
        let others = format!("[find check-gateway={other}]");
        world.run_on(diamond.edge, &format!("/ip route disable {others}"));
        for lo in [
            "/ip address add address=10.99.0.1/32",
            "/ipv6 address add address=2001:db8:99::1/128",
        ] {
            world.run_on(diamond.far, &format!("{lo} interface=lo"));
        }
        let links = [(diamond.upper, 1), (diamond.lower, 1)];
        let arp = [diamond.upper, diamond.lower];
        // All local links stay up.
        let silence = |world: &mut World, silent: [bool; 2]| {
            for (at, silent) in silent.into_iter().enumerate() {
                let arp_is = if silent { "disabled" } else { "enabled" };
                match how {
                    "ping" => world.cut(links[at], silent),
                    _ => drop(world.run_on(
                        arp[at],
                        &format!("/interface ethernet set ether1 arp={arp_is}"),
                    )),
                }
            }
            world.run(seconds(60));
        };
        let usable = |world: &mut World| {
            ["/ip", "/ipv6"].map(|menu| {
                let count = format!(":put [:len [{menu} route find active check-gateway={how}]]");
                world.run_on(diamond.edge, &count).trim() == "1"
            })
        };
        for (silent, is_up) in [
            ([true, false], true),
            ([false, true], true),
            ([true, true], false),
            ([false, true], true),
        ] {
            silence(world, silent);
            let of_ipv6 = how == "ping" && is_up;
            assert_eq!(usable(world), [is_up, of_ipv6], "{how}: {silent:?}");
        }
    }
}

#[test]
fn equal_gateway_addresses_on_two_links_are_probed_separately() {
    let routes = "\
        /ip route add gateway=10.9.9.9%ether2 distance=1 check-gateway=ping\n\
        /ip route add gateway=10.9.9.9%ether3 distance=2 check-gateway=ping\n\
        /ip route add gateway=10.8.2.2 distance=3\n\
        /ip firewall filter add chain=input connection-state=established\n\
        /ip firewall filter add chain=input protocol=icmp action=drop\n";
    for (workers, firewall) in [(1, "disable"), (1, "enable"), (3, "enable")] {
        let Diamond {
            mut world,
            edge,
            upper,
            ..
        } = diamond_of(workers, 9, routes);
        world.run_on(edge, &format!("/ip firewall filter {firewall} [find]"));
        world.run_on(upper, "/ip address add address=10.9.9.9/32 interface=lo");
        world.run(seconds(60));
        assert_eq!(default_way(&mut world, edge, "/ip"), "10.9.9.9%ether2");
        let log = world.run_on(edge, "/log print");
        // Nobody has the second gateway.
        assert!(log.contains("gateway 10.9.9.9 is unreachable"), "{log}");

        world.run_on(upper, "/ip address disable [find interface=lo]");
        world.run(seconds(60));
        assert_eq!(default_way(&mut world, edge, "/ip"), "10.8.2.2%ether3");
    }
}

#[test]
fn a_gateway_can_be_checked_by_arp() {
    let routes = "\
        /ip route add gateway=10.8.1.2 distance=1 check-gateway=arp\n\
        /ip route add gateway=10.8.2.2 distance=2\n";
    let Diamond {
        mut world,
        edge,
        upper,
        ..
    } = diamond(4, routes);
    world.run(seconds(30));
    assert!(
        world
            .run_on(edge, "/ip route print")
            .contains("0  As 0.0.0.0/0")
    );

    // The neighbour stays silent while the link stays up.
    world.run_on(upper, "/interface ethernet set ether1 arp=disabled");
    world.run(seconds(60));

    let shown = world.run_on(edge, "/ip route print");
    assert!(shown.contains("0  Is 0.0.0.0/0"), "{shown}");
    assert!(shown.contains("1  As 0.0.0.0/0"), "{shown}");
}

#[test]
fn the_reverse_path_is_checked_as_strictly_as_configured() {
    for (filter, passes) in [("no", true), ("strict", false), ("loose", true)] {
        let Diamond {
            mut world,
            client,
            server,
            edge,
            ..
        } = diamond(5, "/ip route add gateway=10.8.1.2\n");
        world.run_on(edge, &format!("/ip settings set rp-filter={filter}"));
        // With a spoofed source address of the server's network.
        let packet = spoofed("10.2.0.77", "10.2.0.2");
        world.at(client).send_raw("10.2.0.2", packet);
        world.run(seconds(1));

        let udp = |heard: &Received| matches!(heard, Received::Udp { .. });
        let passed = world.at(server).heard.iter().any(udp);
        assert_eq!(passed, passes, "rp-filter={filter}");
        let settings = world.run_on(edge, "/ip settings print");
        let active = format!(
            "ipv4-fast-path-active: {}",
            if filter == "no" { "yes" } else { "no" }
        );
        assert!(settings.contains(&active), "rp-filter={filter}");
    }
}

fn spoofed(source: &str, destination: &str) -> Vec<u8> {
    use wire::{Protocol, ipv4, udp};
    let (src, dst) = (source.parse(), destination.parse());
    let (src, dst) = (src.expect("an address"), dst.expect("an address"));
    let ports = udp::Repr {
        src_port: 1,
        dst_port: 9,
    };
    let data = [0; 20];
    let header = ipv4::Repr::new(Protocol::UDP, src, dst).to_bytes(28);
    [&header[..], &ports.to_bytes_v4(&data, src, dst), &data].concat()
}

#[test]
fn routing_rules_select_the_table() {
    let routes = "\
        /routing table add name=low fib\n\
        /ip route add gateway=10.8.1.2\n\
        /ip route add gateway=10.8.2.2@main routing-table=low\n\
        /routing rule add src-address=10.1.0.2/32 action=lookup-only-in-table table=low\n";
    let Diamond {
        mut world,
        client,
        edge,
        ..
    } = diamond(6, routes);
    let before = sent_by(&mut world, edge, "ether3");
    for seq in 0..10 {
        world.at(client).ping("10.2.0.2", seq, 56);
    }
    world.run(seconds(1));
    assert_eq!(world.at(client).replies("10.2.0.2"), 10);
    // And the ARP request for the gateway.
    assert!(sent_by(&mut world, edge, "ether3") - before >= 10);

    world.run_on(edge, "/routing rule disable [find]");
    let before = sent_by(&mut world, edge, "ether3");
    world.at(client).ping("10.2.0.2", 11, 56);
    world.run(seconds(1));
    assert_eq!(world.at(client).replies("10.2.0.2"), 11);
    assert_eq!(sent_by(&mut world, edge, "ether3"), before);
}

#[test]
fn one_menu_shows_the_routes_of_both_families() {
    let mut chain = chain(1, Line::default(), 1);
    let add = "/ip route add dst-address=172.16.0.0/12 gateway=10.9.0.2 comment=hills";
    chain.world.run_on(chain.west, add);

    let printed = chain.world.run_on(chain.west, "/routing route print");
    let count = |menu: &str| format!(":put [:len [{menu} find]]");
    let mut counted = |menu: &str| -> usize {
        let said = chain.world.run_on(chain.west, &count(menu));
        said.trim().parse().expect("a number")
    };
    let all = counted("/routing route");
    assert!(all > 4, "{printed}");
    assert_eq!(all, counted("/ip route") + counted("/ipv6 route"));
    let found = ":foreach r in=[/routing route find where afi=ip4 !connect dst-address=172.16.0.0/12] \
                 do={ :put [/routing route get $r immediate-gw] }";
    assert_eq!(
        chain.world.run_on(chain.west, found).trim(),
        "10.9.0.2%ether2"
    );
}
