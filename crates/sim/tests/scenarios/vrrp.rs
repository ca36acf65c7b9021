//! Two routers as one virtual gateway: the master has the addresses and the virtual MAC.

use machine::Duration;
use sim::{HostConfig, Line, NodeId, World};

use crate::seconds;

/// Clients and servers, each on a segment with both routers and the virtual gateway.
struct Pair {
    world: World,
    client: NodeId,
    routers: [NodeId; 2],
}

/// Configuration of a router of the pair.
fn router(number: u8, priority: u8, more: &str) -> String {
    format!(
        "/ip address add address=10.1.0.{number}/24 interface=ether1\n\
         /ip address add address=10.2.0.{number}/24 interface=ether2\n\
         /ipv6 address add address=2001:db8:1::{number}/64 interface=ether1\n\
         /ipv6 address add address=2001:db8:2::{number}/64 interface=ether2\n\
         /interface vrrp\n\
         add name=clients interface=ether1 vrid=1 priority={priority} {more}\n\
         add name=servers interface=ether2 vrid=1 group-authority=clients {more}\n\
         add name=clients6 interface=ether1 vrid=1 v3-protocol=ipv6 group-authority=clients\n\
         add name=servers6 interface=ether2 vrid=1 v3-protocol=ipv6 group-authority=clients\n\
         /ip address add address=10.1.0.1/32 interface=clients\n\
         /ip address add address=10.2.0.1/32 interface=servers\n\
         /ipv6 address add address=2001:db8:1::1/128 interface=clients6\n\
         /ipv6 address add address=2001:db8:2::1/128 interface=servers6\n"
    )
}

fn pair(seed: u64, line: Line, more: &str) -> Pair {
    let mut world = World::new(seed);
    let routers = [(11, 200), (12, 100)];
    // With two workers flows change between them.
    let workers = 1 + (seed % 2) as usize;
    let routers = routers.map(|(number, priority)| {
        let configuration = router(number, priority, more);
        world.router(&configuration, 2, workers)
    });
    let host = |net: u8| {
        HostConfig::new(&format!("10.{net}.0.50/24"), &format!("10.{net}.0.1")).and(
            &format!("2001:db8:{net}::50/64"),
            &format!("2001:db8:{net}::1"),
        )
    };
    let (client, server) = (world.host(host(1)), world.host(host(2)));
    let [one, other] = routers;
    world.share(&[(client, 0), (one, 0), (other, 0)], line);
    world.share(&[(server, 0), (one, 1), (other, 1)], line);
    world.run(seconds(8));
    Pair {
        world,
        client,
        routers,
    }
}

impl Pair {
    fn flags(&mut self, router: usize) -> String {
        let shown = self.world.run_on(
            self.routers[router],
            ":foreach i in=[/interface vrrp find] do={ :local r [/interface vrrp get $i]; \
             :put (\"$($r->\"name\"):$($r->\"master\"):$($r->\"backup\"):$($r->\"running\")\") }",
        );
        shown.lines().collect::<Vec<_>>().join(" ")
    }

    /// Tells which routers are master of all virtual routers.
    fn masters(&mut self) -> [bool; 2] {
        [0, 1].map(|router| self.flags(router).matches(":true:false:true").count() == 4)
    }

    /// Returns true if servers of both families answer the client.
    fn answers(&mut self, seq: u16) -> bool {
        let to = ["10.2.0.50", "2001:db8:2::50"];
        let before = to.map(|to| self.world.at(self.client).replies(to));
        to.iter()
            .for_each(|to| self.world.at(self.client).ping(to, seq, 56));
        self.world.run(seconds(2));
        to.map(|to| self.world.at(self.client).replies(to)) == before.map(|count| count + 1)
    }
}

#[test]
fn the_backup_takes_over_while_the_master_is_cut_off() {
    for seed in 0..5 {
        for more in [
            "",
            "version=2",
            "version=2 authentication=ah password=secret",
        ] {
            let mut pair = pair(seed, Line::default(), more);
            assert_eq!(pair.masters(), [true, false], "{more}: {}", pair.flags(0));
            assert!(pair.answers(1), "seed {seed} {more}");

            // Only one segment is cut: the group moves as a whole.
            let [one, _] = pair.routers;
            pair.world.unplug((one, 0), true);
            pair.world.run(seconds(5));
            assert_eq!(pair.masters(), [false, true], "{more}: {}", pair.flags(1));
            assert!(pair.answers(2), "seed {seed} {more}");

            pair.world.unplug((one, 0), false);
            pair.world.run(seconds(6));
            assert_eq!(pair.masters(), [true, false], "{more}: {}", pair.flags(1));
            assert!(pair.answers(3), "seed {seed} {more}");
        }
    }
}

#[test]
fn a_lossy_segment_converges_to_one_master() {
    for seed in 0..10 {
        let bad = Line {
            loss: 30,
            jitter: Duration::from_millis(200),
            ..Line::default()
        };
        let mut pair = pair(seed, bad, "");
        pair.world.run(seconds(60));
        let [one, other] = pair.routers;
        let client = pair.client;
        pair.world
            .share(&[(client, 0), (one, 0), (other, 0)], Line::default());
        pair.world.run(seconds(10));
        assert_eq!(pair.masters(), [true, false], "seed {seed}");
    }
}

#[test]
fn only_the_master_answers_for_the_shared_addresses() {
    let mut pair = pair(1, Line::default(), "");
    let [one, other] = pair.routers;
    let client = pair.client;
    for to in ["10.1.0.1", "2001:db8:1::1", "10.1.0.12"] {
        pair.world.at(client).ping(to, 1, 56);
        pair.world.run(seconds(1));
        assert_eq!(pair.world.at(client).replies(to), 1, "{to}");
    }
    let traffic = |world: &mut World, router| {
        let shown = world.run_on(router, ":put [/interface get clients rx-packet]");
        shown.trim().parse::<u64>().expect("a number")
    };
    let (rx, none) = (
        traffic(&mut pair.world, one),
        traffic(&mut pair.world, other),
    );
    assert!(rx > 0 && none == 0, "{rx} {none}");
    let drops = pair.world.run_on(one, "/tool/drop/print without-paging");
    assert!(!drops.contains("ipv4-own-source"), "{drops}");
}

#[test]
fn scripts_run_and_the_log_says_why() {
    let mut world = World::new(1);
    let configuration = "/ip address add address=10.1.0.11/24 interface=ether1\n\
        /system script add name=won source=\":log info won\"\n\
        /interface vrrp add name=vrrp1 interface=ether1 on-master=won on-backup=\":log info waits\" \
            on-fail={ :log info failed }\n\
        /ip address add address=10.1.0.1/32 interface=vrrp1\n";
    let router = world.router(configuration, 1, 1);
    let host = world.host(HostConfig::new("10.1.0.50/24", "10.1.0.1"));
    world.join((host, 0), (router, 0), Line::default());
    world.run(seconds(6));
    world.cut((host, 0), true);
    world.run(seconds(1));

    let log = world.run_on(router, "/log print without-paging");
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("{text}: {log}"));
    let order = [
        at("vrrp1 now BACKUP, startup"),
        at("waits"),
        at("vrrp1 now MASTER, master down timer"),
        at("won"),
        at("vrrp1 now INIT, interface down"),
        at("failed"),
    ];
    assert!(order.is_sorted(), "{log}");
}

#[test]
fn a_virtual_router_on_a_vlan_receives_tagged_advertisements() {
    let mut world = World::new(1);
    let configuration = |number: u8, priority: u8| {
        format!(
            "/interface vlan add name=v interface=ether1 vlan-id=7\n\
             /ip address add address=10.1.0.{number}/24 interface=v\n\
             /interface vrrp add name=vrrp1 interface=v priority={priority}\n\
             /ip address add address=10.1.0.1/32 interface=vrrp1\n"
        )
    };
    let one = world.router(&configuration(11, 200), 1, 1);
    let other = world.router(&configuration(12, 100), 1, 1);
    let client = world.router(
        "/interface vlan add name=v interface=ether1 vlan-id=7\n\
         /ip address add address=10.1.0.50/24 interface=v\n",
        1,
        1,
    );
    world.share(&[(one, 0), (other, 0), (client, 0)], Line::default());
    world.run(seconds(8));
    let master = |world: &mut World, router| {
        world.run_on(router, ":put [/interface vrrp get vrrp1 master]") == "true\n"
    };
    assert!(master(&mut world, one) && !master(&mut world, other));
    world.run_on(client, "/ping 10.1.0.1 count=1");
    world.run(seconds(2));
    let neighbours = world.run_on(client, "/ip arp print without-paging");
    assert!(neighbours.contains("00:00:5E:00:01:01"), "{neighbours}");
}

#[test]
fn invalid_vrrp_settings_are_refused_with_the_correct_form() {
    let mut world = World::new(1);
    let router = world.router("", 1, 1);
    let refused = |world: &mut World, command: &str| {
        let command = format!(":onerror message in={{ {command} }} do={{ :put $message }}");
        world.run_on(router, &command)
    };
    let out = refused(
        &mut world,
        "/interface vrrp add name=a interface=ether1 sync-connection-tracking=yes",
    );
    assert!(out.contains("set it to no"), "{out}");
    let add = "/interface vrrp add name=b interface=ether1 vrid=3";
    world.run_on(router, add);
    let out = refused(
        &mut world,
        "/interface vrrp add name=c interface=ether1 vrid=3",
    );
    assert!(out.contains("already have vrrp with such vrid"), "{out}");
    let out = refused(&mut world, "/interface vrrp add name=d interface=b");
    assert!(out.contains("use its parent interface"), "{out}");
}

#[test]
fn print_shows_masters_and_backups() {
    let mut pair = pair(1, Line::default(), "");
    let [one, other] = pair.routers;
    let shown = pair
        .world
        .run_on(one, "/interface vrrp print without-paging");
    assert!(shown.contains("0 RM clients"), "{shown}");
    let shown = pair
        .world
        .run_on(other, "/interface vrrp print without-paging");
    assert!(shown.contains("0 B clients"), "{shown}");
    let shown = pair.world.run_on(
        one,
        ":put [/interface vrrp get clients6 mac-address]; :put [/interface get clients running]",
    );
    assert_eq!(shown, "00:00:5E:00:02:01\ntrue\n");
}

#[test]
fn drops_are_counted_by_reason() {
    for (theirs, name) in [
        ("version=2", "vrrp-version"),
        ("vrid=2", "vrrp-other-router"),
        ("v3-checksum-as-v2=yes", "vrrp-checksum"),
    ] {
        let mut world = World::new(1);
        let configuration = |number: u8, more: &str| {
            format!(
                "/ip address add address=10.1.0.{number}/24 interface=ether1\n\
                 /interface vrrp add name=vrrp1 interface=ether1 {more}\n\
                 /ip address add address=10.1.0.1/32 interface=vrrp1\n"
            )
        };
        let one = world.router(&configuration(11, ""), 1, 1);
        let other = world.router(&configuration(12, theirs), 1, 1);
        world.join((one, 0), (other, 0), Line::default());
        world.run(seconds(8));
        let drops = world.run_on(one, "/tool/drop/print without-paging");
        assert!(drops.contains(name), "{theirs}: {drops}");
    }
}
