//! Bonds of whole routers: every mode carries packets while links fail.

use sim::{HostConfig, Line, NodeId, World};

use machine::Duration;

use crate::seconds;

const LINKS: [usize; 3] = [1, 2, 3];

/// Two routers connected by a bond of three links, with a host behind each.
struct Pair {
    world: World,
    west: NodeId,
    east: NodeId,
    client: NodeId,
}

const SERVER: &str = "10.2.0.2";

impl Pair {
    fn new(seed: u64, settings: &str) -> Self {
        let mut world = World::new(seed);
        let router = |own: u8, other: u8| {
            format!(
                "/interface bonding add name=bond1 slaves=ether2,ether3,ether4 {settings}\n\
                 /ip address add address=10.{own}.0.1/24 interface=ether1\n\
                 /ip address add address=10.9.0.{own}/24 interface=bond1\n\
                 /ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n"
            )
        };
        let west = world.router(&router(1, 2), 4, 1);
        let east = world.router(&router(2, 1), 4, 1);
        let client = world.host(HostConfig::new("10.1.0.2/24", "10.1.0.1"));
        let server = world.host(HostConfig::new("10.2.0.2/24", "10.2.0.1"));
        world.join((client, 0), (west, 0), Line::default());
        world.join((server, 0), (east, 0), Line::default());
        for link in LINKS {
            world.join((west, link), (east, link), Line::default());
        }
        Self {
            world,
            west,
            east,
            client,
        }
    }

    /// Sends ten pings and counts the replies; duplicates count once.
    fn answered(&mut self) -> usize {
        let mut answered = 0;
        for _ in 0..10 {
            let before = self.world.at(self.client).replies(SERVER);
            self.world
                .at(self.client)
                .ping(SERVER, before as u16 + 1, 56);
            self.world.run(millis(100));
            answered += usize::from(self.world.at(self.client).replies(SERVER) > before);
        }
        answered
    }

    /// Returns the frames that each slave of the west router has sent.
    fn sent(&mut self) -> [u64; 3] {
        LINKS.map(|link| {
            let command = format!(":put [/interface get ether{} tx-packet]", link + 1);
            let shown = self.world.run_on(self.west, &command);
            shown.trim().parse().expect("a number")
        })
    }

    fn runs(&mut self, name: &str) -> bool {
        let command = format!(":put [/interface get {name} running]");
        self.world.run_on(self.west, &command) == "true\n"
    }
}

#[test]
fn every_bonding_mode_carries_packets_while_links_fail() {
    for mode in ["balance-rr", "balance-xor", "802.3ad", "broadcast"] {
        let mut pair = Pair::new(
            1,
            &format!("mode={mode} transmit-hash-policy=layer-3-and-4"),
        );
        pair.world.run(seconds(6));
        assert_eq!(pair.answered(), 10, "{mode}");
        for link in [1, 2] {
            pair.world.cut((pair.west, link), true);
            // Duration of `mii-interval`.
            pair.world.run(millis(200));
            let before = pair.sent();
            assert_eq!(pair.answered(), 10, "{mode}, without the link {link}");
            let after = pair.sent();
            for gone in 1..=link {
                assert_eq!(after[gone - 1], before[gone - 1], "{mode}: {gone} is down");
            }
        }
        pair.world.cut((pair.west, 3), true);
        pair.world.run(millis(200));
        assert!(!pair.runs("bond1"), "{mode}");
        assert_eq!(pair.answered(), 0, "{mode}");
        for link in LINKS {
            pair.world.cut((pair.west, link), false);
        }
        pair.world.run(seconds(6));
        assert!(pair.runs("bond1"), "{mode}");
        assert_eq!(pair.answered(), 10, "{mode}");
    }
}

#[test]
fn balance_rr_uses_every_link_for_one_flow_and_broadcast_all_at_once() {
    for (mode, least) in [("balance-rr", 3), ("broadcast", 10)] {
        let mut pair = Pair::new(2, &format!("mode={mode}"));
        pair.world.run(seconds(2));
        let before = pair.sent();
        assert_eq!(pair.answered(), 10, "{mode}");
        let after = pair.sent();
        for (before, after) in before.iter().zip(after) {
            assert!(after - before >= least, "{mode}: {before} to {after}");
        }
    }
}

#[test]
fn lacp_removes_a_link_that_is_up_but_dead() {
    let mut pair = Pair::new(
        3,
        "mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-3-and-4",
    );
    pair.world.run(seconds(6));
    assert_eq!(pair.answered(), 10);
    let slaves = "/interface bonding monitor-slaves [find] once";
    let shown = pair.world.run_on(pair.west, slaves);
    assert_eq!(shown.matches("ATGSCD--").count(), 6, "both ends: {shown}");
    let monitor = "/interface bonding monitor [find] once";
    let shown = pair.world.run_on(pair.west, monitor);
    assert!(
        shown.contains("active-ports: ether2,ether3,ether4"),
        "{shown}"
    );
    assert!(shown.contains("lacp-partner-system-id"), "{shown}");

    let (west, east) = (pair.west, pair.east);
    let lossy = Line {
        loss: 100,
        ..Line::default()
    };
    for link in [1, 2] {
        pair.world.join((west, link), (east, link), lossy);
        // Three seconds without LACPDUs, and one until the next check.
        pair.world.run(seconds(5));
        let before = pair.sent();
        assert_eq!(pair.answered(), 10, "without the link {link}");
        let after = pair.sent();
        // Only LACP sends there: once a second, at most three times.
        assert!(
            after[link - 1] - before[link - 1] <= 4,
            "{before:?} {after:?}"
        );
        pair.world.run(seconds(2));
    }
    for link in [1, 2] {
        pair.world.join((west, link), (east, link), Line::default());
    }
    // Without a partner LACP sends every 30 seconds.
    pair.world.run(seconds(35));
    let shown = pair.world.run_on(west, monitor);
    assert!(
        shown.contains("active-ports: ether2,ether3,ether4"),
        "{shown}"
    );
}

#[test]
fn a_partner_without_lacp_uses_one_link_only() {
    let mut world = World::new(4);
    let west = "/interface bonding add name=bond1 slaves=ether1,ether2 mode=802.3ad\n\
                /ip address add address=10.9.0.1/24 interface=bond1\n";
    let west = world.router(west, 2, 1);
    let switch = world.router(SWITCH, 3, 1);
    let host = world.host(HostConfig::new("10.9.0.2/24", "10.9.0.1"));
    world.join((west, 0), (switch, 0), Line::default());
    world.join((west, 1), (switch, 1), Line::default());
    world.join((host, 0), (switch, 2), Line::default());
    world.run(seconds(100));
    world.at(host).ping("10.9.0.1", 1, 56);
    world.run(seconds(1));
    assert_eq!(world.at(host).replies("10.9.0.1"), 1);
    let monitor = "/interface bonding monitor [find] once";
    let shown = world.run_on(west, monitor);
    assert!(shown.contains("active-ports: ether1\n"), "{shown}");
}

/// A bridge without spanning tree, like a plain switch.
const SWITCH: &str = "\
    /interface bridge add name=bridge1 protocol-mode=none\n\
    /interface bridge port add bridge=bridge1 interface=ether1\n\
    /interface bridge port add bridge=bridge1 interface=ether2\n\
    /interface bridge port add bridge=bridge1 interface=ether3\n";

/// A router with a bond of two links to a switch, and a host there.
fn switched(seed: u64, settings: &str) -> (World, [NodeId; 3]) {
    let mut world = World::new(seed);
    let router = format!(
        "/interface bonding add name=bond1 slaves=ether1,ether2 {settings}\n\
         /ip address add address=10.9.0.1/24 interface=bond1\n"
    );
    let router = world.router(&router, 2, 1);
    let switch = world.router(SWITCH, 3, 1);
    let host = world.host(HostConfig::new("10.9.0.2/24", "10.9.0.1"));
    world.join((router, 0), (switch, 0), Line::default());
    world.join((router, 1), (switch, 1), Line::default());
    world.join((host, 0), (switch, 2), Line::default());
    world.run(seconds(2));
    (world, [router, switch, host])
}

/// Sends ten pings to the router at intervals of 100 ms; counts the replies.
fn ping(world: &mut World, host: NodeId) -> usize {
    let mut answered = 0;
    for _ in 0..10 {
        let before = world.at(host).replies("10.9.0.1");
        world.at(host).ping("10.9.0.1", before as u16 + 1, 56);
        world.run(millis(100));
        answered += usize::from(world.at(host).replies("10.9.0.1") == before + 1);
    }
    answered
}

#[test]
fn a_slave_takes_over_and_announces_the_address() {
    for mode in ["active-backup", "balance-tlb", "balance-alb"] {
        let (mut world, [router, _, host]) = switched(5, &format!("mode={mode}"));
        assert_eq!(ping(&mut world, host), 10, "{mode}");
        for link in [0, 1, 0] {
            world.cut((router, link), true);
            world.run(millis(200));
            // The host sends no ARP request: the switch learned from the router's gratuitous ARP.
            assert_eq!(
                ping(&mut world, host),
                10,
                "{mode}, without the link {link}"
            );
            world.cut((router, link), false);
            world.run(millis(200));
            assert_eq!(
                ping(&mut world, host),
                10,
                "{mode}, with the link {link} again"
            );
        }
    }
}

#[test]
fn the_primary_slave_becomes_active_after_its_up_delay() {
    let settings = "mode=active-backup primary=ether2 up-delay=2s";
    let (mut world, [router, _, host]) = switched(6, settings);
    let active = |world: &mut World| {
        let shown = world.run_on(router, "/interface bonding monitor [find] once");
        let line = shown.lines().find(|line| line.contains(" active-ports:"));
        line.and_then(|line| line.split(": ").nth(1))
            .unwrap_or("")
            .to_owned()
    };
    assert_eq!(active(&mut world), "ether2");
    world.cut((router, 1), true);
    world.run(millis(200));
    assert_eq!(active(&mut world), "ether1");
    world.cut((router, 1), false);
    world.run(millis(1900));
    assert_eq!(active(&mut world), "ether1");
    world.run(millis(300));
    assert_eq!(active(&mut world), "ether2");
    assert_eq!(ping(&mut world, host), 10);
}

#[test]
fn arp_monitoring_detects_a_link_that_is_up_but_dead() {
    let settings = "mode=active-backup link-monitoring=arp arp-ip-targets=10.9.0.2";
    let (mut world, [router, switch, host]) = switched(7, settings);
    assert_eq!(ping(&mut world, host), 10);
    let lossy = Line {
        loss: 100,
        ..Line::default()
    };
    world.join((router, 0), (switch, 0), lossy);
    world.run(seconds(1));
    assert_eq!(ping(&mut world, host), 10);
    world.join((router, 0), (switch, 0), Line::default());
    world.join((router, 1), (switch, 1), lossy);
    world.run(seconds(1));
    assert_eq!(ping(&mut world, host), 10);
}

#[test]
fn a_bond_is_a_port_of_a_bridge_and_carries_vlans() {
    let mut world = World::new(8);
    let routers = [1, 2].map(|own| {
        let configuration = format!(
            "/interface bonding add name=bond1 slaves=ether2,ether3 mode=802.3ad\n\
             /interface bridge add name=bridge1 protocol-mode=none\n\
             /interface bridge port add bridge=bridge1 interface=bond1\n\
             /interface bridge port add bridge=bridge1 interface=ether1\n\
             /interface bonding add name=bond2 slaves=ether4,ether5\n\
             /interface vlan add name=vlan7 interface=bond2 vlan-id=7\n\
             /ip address add address=10.7.0.{own}/24 interface=vlan7\n"
        );
        world.router(&configuration, 5, 1)
    });
    for link in 1..5 {
        world.join((routers[0], link), (routers[1], link), Line::default());
    }
    let hosts = [2, 3]
        .map(|number| world.host(HostConfig::new(&format!("10.1.0.{number}/24"), "10.1.0.1")));
    for (router, host) in routers.into_iter().zip(hosts) {
        world.join((router, 0), (host, 0), Line::default());
    }
    world.run(seconds(6));
    world.at(hosts[0]).ping("10.1.0.3", 1, 56);
    world.run(seconds(1));
    assert_eq!(
        world.at(hosts[0]).replies("10.1.0.3"),
        1,
        "over the bridges"
    );
    let shown = world.run_on(routers[0], "/ping 10.7.0.2 count=2");
    assert!(shown.contains("received=2"), "over the VLAN: {shown}");
}

#[test]
fn a_bond_below_min_links_is_down() {
    let mut pair = Pair::new(9, "min-links=2");
    pair.world.run(seconds(1));
    pair.world.cut((pair.west, 1), true);
    pair.world.run(millis(200));
    assert!(pair.runs("bond1"));
    pair.world.cut((pair.west, 2), true);
    pair.world.run(millis(200));
    assert!(!pair.runs("bond1"));
    pair.world
        .run_on(pair.west, "/interface bonding set bond1 min-links=1");
    assert!(pair.runs("bond1"));
    let slave = ":put [/interface get ether2 slave]";
    assert_eq!(pair.world.run_on(pair.west, slave), "true\n");
    pair.world
        .run_on(pair.west, "/interface bonding remove bond1");
    assert_eq!(pair.world.run_on(pair.west, slave), "false\n");
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
