//! VXLAN networks between routers.

use sim::{HostConfig, Line, NodeId, World};

use crate::seconds;

/// A router with a VXLAN network, and a host behind it.
struct Site {
    router: NodeId,
    host: NodeId,
}

/// Returns the configuration of a router; its number is part of all its addresses.
fn configuration(number: usize, vxlan: &str, ends: &[String]) -> String {
    let mut text = format!(
        "/ip address add address=192.0.2.{number}/24 interface=ether1\n\
         /ipv6 address add address=2001:db8:9::{number}/64 interface=ether1\n\
         /interface vxlan add name=vxlan1 vni=5001 {vxlan}\n\
         /ip address add address=10.9.0.{number}/24 interface=vxlan1\n\
         /ip address add address=10.{number}.0.1/24 interface=ether2\n"
    );
    for end in ends {
        text += &format!("/interface vxlan vteps add interface=vxlan1 remote-ip={end}\n");
    }
    for other in (1..=3).filter(|other| *other != number) {
        text += &format!("/ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n");
    }
    text
}

/// Adds three routers on one segment; `end` gives the remote VTEPs, if any.
fn sites(world: &mut World, vxlan: &str, end: Option<&dyn Fn(usize) -> String>) -> Vec<Site> {
    let site = |world: &mut World, number: usize| {
        let others = (1..=3).filter(|other| *other != number);
        let ends: Vec<_> = others.filter_map(|other| Some(end?(other))).collect();
        let router = world.router(&configuration(number, vxlan, &ends), 2, 1);
        let address = format!("10.{number}.0.50/24");
        let host = world.host(HostConfig::new(&address, &format!("10.{number}.0.1")));
        world.join((router, 1), (host, 0), Line::default());
        Site { router, host }
    };
    let all: Vec<_> = (1..=3).map(|number| site(world, number)).collect();
    let ends: Vec<_> = all.iter().map(|site| (site.router, 0)).collect();
    world.share(&ends, Line::default());
    world.run(seconds(4));
    all
}

fn fdb(world: &mut World, site: &Site) -> String {
    world.run_on(site.router, "/interface vxlan fdb print without-paging")
}

#[test]
fn hosts_reach_each_other_by_vxlan_over_ipv4_and_ipv6() {
    for (vxlan, base) in [("", "192.0.2."), ("vteps-ip-version=ipv6", "2001:db8:9::")] {
        let mut world = World::new(1);
        let all = sites(&mut world, vxlan, Some(&|number| format!("{base}{number}")));
        for (from, to) in [(0, "10.2.0.50"), (0, "10.3.0.50"), (1, "10.3.0.50")] {
            let host = all[from].host;
            world.at(host).ping(to, 1, 56);
            world.run(seconds(3));
            assert_eq!(world.at(host).replies(to), 1, "{vxlan} {to}");
        }
        // Longer than the MTU after encapsulation: fragmented and reassembled.
        let host = all[0].host;
        world.at(host).ping("10.2.0.50", 2, 1472);
        world.run(seconds(2));
        assert_eq!(world.at(host).replies("10.2.0.50"), 2, "{vxlan}");

        let learned = fdb(&mut world, &all[0]);
        for number in [2, 3] {
            assert!(learned.contains(&format!("{base}{number}")), "{learned}");
        }
    }
}

#[test]
fn a_multicast_group_replaces_configured_endpoints() {
    for group in ["239.1.2.3", "ff05::1:2:3"] {
        let mut world = World::new(1);
        let vxlan = format!("group={group} interface=ether1");
        let all = sites(&mut world, &vxlan, None);
        let host = all[0].host;
        world.at(host).ping("10.2.0.50", 1, 56);
        world.run(seconds(3));
        assert_eq!(world.at(host).replies("10.2.0.50"), 1, "{group}");
        // A router that left the group gets no more broadcasts; known hosts stay reachable.
        world.run_on(all[1].router, "/interface vxlan set vxlan1 disabled=yes");
        world.at(host).ping("10.2.0.50", 2, 56);
        world.run(seconds(2));
        assert_eq!(world.at(host).replies("10.2.0.50"), 1, "{group}");
        let drops = world.run_on(all[1].router, "/tool drop print without-paging");
        assert!(!drops.contains("vxlan-unknown-network"), "{group}: {drops}");
    }
}

#[test]
fn vxlan_hosts_age_out_and_endpoints_can_change() {
    let mut world = World::new(1);
    let all = sites(&mut world, "", Some(&|number| format!("192.0.2.{number}")));
    let host = all[0].host;
    world.at(host).ping("10.2.0.50", 1, 56);
    world.run(seconds(3));
    assert!(fdb(&mut world, &all[0]).contains("192.0.2.2"));

    let shown = world.run_on(
        all[0].router,
        "/interface vxlan print detail without-paging",
    );
    assert!(
        shown.contains('R') && shown.contains("vteps-ip-version=ipv4"),
        "{shown}"
    );
    // Five minutes without a frame.
    for site in &all[1..] {
        world.run_on(site.router, "/interface vxlan disable vxlan1");
    }
    world.run(seconds(290));
    assert!(fdb(&mut world, &all[0]).contains("192.0.2.2"));
    world.run(seconds(80));
    assert!(!fdb(&mut world, &all[0]).contains("192.0.2.2"));

    world.run_on(all[1].router, "/interface vxlan enable vxlan1");
    world.run_on(
        all[0].router,
        "/interface vxlan vteps disable [find remote-ip=192.0.2.2]",
    );
    world.run_on(
        all[1].router,
        "/interface vxlan vteps disable [find remote-ip=192.0.2.1]",
    );
    world.at(host).ping("10.2.0.50", 2, 56);
    world.run(seconds(3));
    assert_eq!(
        world.at(host).replies("10.2.0.50"),
        1,
        "nobody says where it is"
    );
    world.run_on(
        all[0].router,
        "/interface vxlan vteps enable [find remote-ip=192.0.2.2]",
    );
    world.at(host).ping("10.2.0.50", 3, 56);
    world.run(seconds(3));
    assert!(world.at(host).replies("10.2.0.50") > 1);
}

#[test]
fn invalid_vxlan_settings_are_refused() {
    let mut world = World::new(1);
    let router = world.router("/interface vxlan add name=vxlan1 vni=5\n", 1, 1);
    for (line, says) in [
        ("add vni=5", "already have"),
        ("add vni=6 group=10.0.0.1 interface=ether1", "multicast"),
        ("add vni=6 group=239.0.0.1", "interface"),
        (
            "add vni=6 group=239.0.0.1 interface=ether1 local-address=2001:db8::1",
            "families",
        ),
        (
            "vteps add interface=ether1 remote-ip=10.0.0.1",
            "not a vxlan",
        ),
        ("vteps add interface=vxlan1 remote-ip=239.0.0.1", "one host"),
    ] {
        let refused = world.try_on(router, &format!("/interface vxlan {line}"));
        let said = refused.expect_err(line);
        assert!(said.contains(says), "{line}: {said}");
    }
}
