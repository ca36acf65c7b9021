//! Bridges: reachability among hosts and router; VLANs; spanning tree among whole routers.

use machine::Rng;
use sim::{HostConfig, Line, NodeId, World};

use crate::seconds;

/// Adds a router whose first ports belong to `bridge1`.
fn bridge(world: &mut World, ports: usize, settings: &str, more: &str) -> NodeId {
    let mut configuration = format!("/interface bridge add name=bridge1 {settings}\n");
    for port in 1..=ports {
        configuration +=
            &format!("/interface bridge port add bridge=bridge1 interface=ether{port}\n");
    }
    world.router(&(configuration + more), ports, 1)
}

fn host(world: &mut World, number: usize) -> NodeId {
    let (high, low) = (number / 250, number % 250 + 2);
    world.host(HostConfig::new(
        &format!("10.1.{high}.{low}/16"),
        "10.1.255.1",
    ))
}

/// Returns the address of a host.
fn address(number: usize) -> String {
    format!("10.1.{}.{}", number / 250, number % 250 + 2)
}

/// Pings an address; returns true if a reply arrives.
fn reaches(world: &mut World, host: NodeId, to: &str) -> bool {
    let before = world.at(host).replies(to);
    world.at(host).ping(to, before as u16 + 1, 56);
    world.run(seconds(1));
    world.at(host).replies(to) == before + 1
}

#[test]
fn bridged_hosts_reach_each_other_the_router_and_beyond() {
    for mode in ["none", "stp", "rstp", "mstp"] {
        let mut world = World::new(1);
        let router = bridge(
            &mut world,
            2,
            &format!("protocol-mode={mode} forward-delay=4s fast-forward=no"),
            "/ip address add address=10.1.255.1/16 interface=bridge1\n",
        );
        let (one, other) = (host(&mut world, 0), host(&mut world, 1));
        world.join((router, 0), (one, 0), Line::default());
        world.join((router, 1), (other, 0), Line::default());
        // STP waits for the old information to expire, then learns.
        world.run(seconds(if mode == "stp" { 30 } else { 6 }));

        assert!(reaches(&mut world, one, &address(1)), "{mode}");
        assert!(reaches(&mut world, other, &address(0)), "{mode}");
        assert!(reaches(&mut world, one, "10.1.255.1"), "{mode}");
        let ports = world.run_on(router, "/interface bridge port monitor [find] once");
        for (what, is) in [("status:", "in-bridge"), ("forwarding:", "yes")] {
            let line = ports.lines().find(|line| line.trim().starts_with(what));
            let count = line.map_or(0, |line| line.matches(is).count());
            assert_eq!(count, 2, "{mode}: {ports}");
        }
        let hosts = world.run_on(router, "/interface bridge host print without-paging");
        for node in [one, other] {
            let mac = world.at(node).mac().to_string().to_uppercase();
            assert!(hosts.contains(&mac), "{mode}: {mac}: {hosts}");
        }
    }
}

#[test]
fn the_address_of_a_bridge_port_belongs_to_the_bridge() {
    let mut world = World::new(2);
    let router = bridge(
        &mut world,
        2,
        "protocol-mode=none",
        "/ip address add address=10.1.255.1/16 interface=ether2\n",
    );
    let one = host(&mut world, 0);
    world.join((router, 0), (one, 0), Line::default());
    world.run(seconds(3));

    assert!(reaches(&mut world, one, "10.1.255.1"));
    let actual = ":put [/ip address get [find] actual-interface]";
    assert_eq!(world.run_on(router, actual), "bridge1\n");
    world.run_on(
        router,
        "/interface bridge port remove [find interface=ether2]",
    );
    assert_eq!(world.run_on(router, actual), "ether2\n");
    world.run(seconds(1));
    assert!(!reaches(&mut world, one, "10.1.255.1"));
}

/// Bridges in a ring with chords; every fourth has a host.
struct Mesh {
    world: World,
    bridges: Vec<NodeId>,
    links: Vec<[(NodeId, usize); 2]>,
    hosts: Vec<NodeId>,
}

const PORTS: usize = 6;

impl Mesh {
    fn new(seed: u64, count: usize) -> Self {
        let mut world = World::new(seed);
        let mut rng = Rng::seeded(seed);
        let bridges: Vec<_> = (0..count)
            .map(|_| {
                let settings = format!("priority={:#x}", rng.below(16) << 12);
                bridge(&mut world, PORTS, &settings, "")
            })
            .collect();
        let mut used = vec![0; count];
        let mut place = |bridge: usize| {
            used[bridge] += 1;
            (used[bridge] < PORTS).then(|| (bridges[bridge], used[bridge] - 1))
        };
        let mut links = Vec::new();
        for at in 0..count {
            let chord = (at + 2 + rng.below(count as u64 - 2) as usize) % count;
            for ends in [(at, (at + 1) % count), (at, chord)] {
                if let (Some(one), Some(other)) = (place(ends.0), place(ends.1)) {
                    world.join(one, other, Line::default());
                    links.push([one, other]);
                }
            }
        }
        let hosts = (0..count).step_by(4).enumerate().map(|(number, at)| {
            let host = host(&mut world, number);
            world.join((bridges[at], PORTS - 1), (host, 0), Line::default());
            host
        });
        let hosts = hosts.collect();
        Self {
            world,
            bridges,
            links,
            hosts,
        }
    }

    /// Checks that every host reaches the first, and that no frame loops.
    fn is_one_network(&mut self, seed: u64) {
        for number in 1..self.hosts.len() {
            let host = self.hosts[number];
            assert!(
                reaches(&mut self.world, host, &address(0)),
                "seed {seed}: host {number}"
            );
        }
        // Nobody has this address: each link carries the ARP request once.
        let first = self.hosts[0];
        let before = self.world.sent();
        assert!(!reaches(&mut self.world, first, &address(9_999)));
        let sent = self.world.sent() - before;
        // At most two BPDUs per second and end, and the ARP requests.
        let most = 8 * (self.links.len() + self.hosts.len()) as u64;
        assert!(
            sent < most,
            "seed {seed}: {sent} frames in a second, of {most} at most"
        );
    }
}

#[test]
fn meshed_bridges_stay_loop_free_while_links_fail() {
    for (seed, count) in [(1, 5), (2, 12), (3, 50)] {
        let mut mesh = Mesh::new(seed, count);
        let mut rng = Rng::seeded(seed);
        mesh.world.run(seconds(10));
        mesh.is_one_network(seed);

        // Ring links stay up: the failing links are redundant.
        let failing: Vec<_> = { mesh.links.iter().copied() }
            .filter(|_| rng.percent(15))
            .take(count / 3)
            .collect();
        let ring = |link: &[(NodeId, usize); 2]| {
            let place = |node: NodeId| mesh.bridges.iter().position(|bridge| *bridge == node);
            let (one, other) = (place(link[0].0), place(link[1].0));
            one.zip(other)
                .is_some_and(|(one, other)| (one + 1) % count == other)
        };
        let first_of_ring = failing.iter().copied().filter(|link| ring(link)).take(1);
        let chords = failing.iter().copied().filter(|link| !ring(link));
        let failing: Vec<_> = first_of_ring.chain(chords).collect();
        for link in &failing {
            mesh.world.cut(link[0], true);
        }
        mesh.world.run(seconds(10));
        mesh.is_one_network(seed);

        for link in &failing {
            mesh.world.cut(link[0], false);
        }
        mesh.world.run(seconds(10));
        mesh.is_one_network(seed);
    }
}
