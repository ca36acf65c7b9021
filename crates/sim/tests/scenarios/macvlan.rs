//! Several MAC addresses on one port.

use sim::{HostConfig, Line, World};

use crate::seconds;

#[test]
fn each_macvlan_uses_its_own_mac_address() {
    let mut world = World::new(1);
    let router = world.router(
        "/interface macvlan add name=one interface=ether1 mac-address=02:00:00:00:09:01\n\
         /interface macvlan add name=two interface=ether1\n\
         /interface macvlan add name=three interface=ether1\n\
         /interface vlan add name=seven interface=one vlan-id=7\n\
         /ip address add address=10.1.0.1/24 interface=ether1\n\
         /ip address add address=10.2.0.1/24 interface=one\n\
         /ip address add address=10.3.0.1/24 interface=two\n\
         /ip address add address=10.4.0.1/24 interface=seven\n\
         /ipv6 address add address=2001:db8:2::1/64 interface=one\n",
        1,
        1,
    );
    let first = world.host(
        HostConfig::new("10.2.0.50/24", "10.2.0.1").and("2001:db8:2::50/64", "2001:db8:2::1"),
    );
    let second = world.host(HostConfig::new("10.3.0.50/24", "10.3.0.1"));
    let tagged = world.router(
        "/interface vlan add name=seven interface=ether1 vlan-id=7\n\
         /ip address add address=10.4.0.50/24 interface=seven\n",
        1,
        1,
    );
    let ends = [(router, 0), (first, 0), (second, 0), (tagged, 0)];
    world.share(&ends, Line::default());
    world.run(seconds(3));
    for (host, to) in [
        (first, "10.2.0.1"),
        (first, "10.3.0.50"),
        (first, "2001:db8:2::1"),
        (second, "10.2.0.50"),
    ] {
        world.at(host).ping(to, 1, 56);
        world.run(seconds(2));
        assert_eq!(world.at(host).replies(to), 1, "{to}");
    }
    world.run_on(tagged, "/ping 10.4.0.1 count=1");
    world.run(seconds(2));
    let known = world.run_on(tagged, "/ip arp print without-paging");
    assert!(known.contains("02:00:00:00:09:01"), "{known}");
    let mac = |world: &mut World, name: &str| {
        world.run_on(
            router,
            &format!(":put [/interface macvlan get {name} mac-address]"),
        )
    };
    let all = ["one", "two", "three"].map(|name| mac(&mut world, name));
    assert_eq!(all[0], "02:00:00:00:09:01\n");
    assert!(all[1] != all[2] && all[1].starts_with("06:F0:"), "{all:?}");
    let shown = world.run_on(router, "/interface macvlan print without-paging");
    assert!(shown.contains("R"), "{shown}");
}

#[test]
fn bridge_mode_macvlans_reach_each_other_and_private_ones_do_not() {
    for (mode, hears) in [("bridge", true), ("private", false)] {
        let mut world = World::new(1);
        let configuration = format!(
            "/interface macvlan add name=one interface=ether1 mode={mode}\n\
             /interface macvlan add name=two interface=ether1 mode={mode}\n\
             /ip address add address=10.2.0.1/24 interface=one\n"
        );
        let router = world.router(&configuration, 1, 1);
        let host = world.host(HostConfig::new("10.2.0.50/24", "10.2.0.1"));
        world.join((router, 0), (host, 0), Line::default());
        world.run(seconds(3));
        let received = |world: &mut World| {
            let shown = world.run_on(router, ":put [/interface get two rx-packet]");
            shown.trim().parse::<u64>().expect("a number")
        };
        let before = received(&mut world);
        // ARP requests for an unused address, from the port and from the other interface.
        world.run_on(router, "/ping 10.2.0.99 count=1");
        world.run(seconds(2));
        assert_eq!(received(&mut world) > before, hears, "{mode}");
        world.at(host).ping("10.2.0.1", 1, 56);
        world.run(seconds(1));
        assert_eq!(world.at(host).replies("10.2.0.1"), 1, "{mode}");
    }
}
