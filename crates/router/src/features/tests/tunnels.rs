//! Tests of the rows of tunnels and of refused settings.

use super::rig::Rig;
use crate::feature::Feature;

/// An empty feature: the test uses the router's own features.
#[derive(Debug)]
pub(super) struct Nothing;

impl Feature for Nothing {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }
}

fn rig(commands: &[&str]) -> Rig {
    let mut rig = Rig::new(Nothing);
    rig.run("/ip/address/add address=192.0.2.1/24 interface=ether1");
    for command in commands {
        rig.run(command);
    }
    rig.go_on_until(2);
    rig
}

fn value(rig: &mut Rig, expression: &str) -> String {
    rig.run(&format!(":put [{expression}]")).trim().to_owned()
}

#[test]
fn an_automatic_mtu_follows_the_uplink() {
    let mut rig = rig(&[
        "/interface/eoip/add name=e remote-address=192.0.2.2 tunnel-id=1",
        "/interface/gre/add name=g remote-address=192.0.2.2 local-address=192.0.2.1",
        "/interface/ipip/add name=i remote-address=203.0.113.1",
        "/interface/eoip/add name=fixed remote-address=192.0.2.2 tunnel-id=2 mtu=1500",
    ]);
    let mtus = |rig: &mut Rig| {
        ["e", "g", "i", "fixed"]
            .map(|name| value(rig, &format!("/interface/get {name} actual-mtu")))
    };
    assert_eq!(mtus(&mut rig), ["1458", "1476", "1480", "1500"]);
    rig.run("/interface/ethernet/set ether1 mtu=1400");
    rig.go_on_until(3);
    // No route leads to the remote end of `i` yet.
    assert_eq!(mtus(&mut rig), ["1358", "1376", "1480", "1500"]);
    rig.run("/ip/route/add gateway=192.0.2.254");
    rig.go_on_until(4);
    assert_eq!(mtus(&mut rig), ["1358", "1376", "1380", "1500"]);
    rig.run("/interface/ethernet/set ether1 mtu=1500");
    rig.go_on_until(5);
    assert_eq!(mtus(&mut rig), ["1458", "1476", "1480", "1500"]);
}

#[test]
fn a_tunnel_follows_each_change_of_the_route_to_its_end() {
    let mut rig = rig(&[
        "/interface/vlan/add name=narrow interface=ether1 vlan-id=7 mtu=1300",
        "/ip/address/add address=198.51.100.1/24 interface=narrow",
        "/ip/route/add gateway=192.0.2.254",
        "/interface/ipip/add name=i remote-address=203.0.113.1",
        "/interface/ipip/add name=other remote-address=203.0.114.1",
    ]);
    let mut second = 2;
    let mut mtus = |rig: &mut Rig, command: &str| {
        rig.run(command);
        second += 1;
        rig.go_on_until(second);
        ["i", "other"].map(|name| value(rig, &format!("/interface/get {name} actual-mtu")))
    };
    assert_eq!(mtus(&mut rig, ""), ["1480", "1480"]);
    // Adds a longer prefix and removes it again.
    let add = "/ip/route/add dst-address=203.0.113.0/24 comment=long gateway=";
    assert_eq!(
        mtus(&mut rig, &format!("{add}198.51.100.254")),
        ["1280", "1480"]
    );
    assert_eq!(
        mtus(&mut rig, "/interface/disable narrow"),
        ["1480", "1480"]
    );
    assert_eq!(mtus(&mut rig, "/interface/enable narrow"), ["1280", "1480"]);
    assert_eq!(
        mtus(&mut rig, "/interface/vlan/set narrow mtu=1200"),
        ["1180", "1480"]
    );
    assert_eq!(
        mtus(&mut rig, "/ip/route/remove [find comment=long]"),
        ["1480", "1480"]
    );
    // The gateway is resolved by another route, while the route that names it stays.
    let hop = "/ip/route/add dst-address=10.9.9.9/32 scope=10 comment=hop gateway=192.0.2.254";
    assert_eq!(mtus(&mut rig, hop), ["1480", "1480"]);
    assert_eq!(mtus(&mut rig, &format!("{add}10.9.9.9")), ["1480", "1480"]);
    let set = "/ip/route/set [find comment=hop] gateway=198.51.100.254";
    assert_eq!(mtus(&mut rig, set), ["1180", "1480"]);
    assert_eq!(
        mtus(&mut rig, "/interface/disable narrow"),
        ["1480", "1480"]
    );
}

#[test]
fn keepalives_of_a_tunnel_use_the_current_address_of_its_uplink() {
    let mut rig = rig(&[
        "/interface/gre/add name=g remote-address=192.0.2.2 keepalive=1s,10",
        "/ip/arp/add address=192.0.2.2 mac-address=02:00:00:00:00:02 interface=ether1",
    ]);
    let sources = |frames: Vec<Vec<u8>>| -> std::collections::BTreeSet<u8> {
        let gre = frames.iter().filter(|frame| frame.get(23) == Some(&47));
        gre.map(|frame| frame[29]).collect()
    };
    let sent = rig.go_on_until(5);
    assert_eq!(sources(sent), [1].into());
    rig.run("/ip/address/set [find] address=192.0.2.9/24");
    rig.go_on_until(7);
    let sent = rig.go_on_until(10);
    assert_eq!(sources(sent), [9].into());
}

#[test]
fn tunnels_routed_through_each_other_settle() {
    let mut rig = rig(&[
        "/interface/gre/add name=a remote-address=198.51.100.1 local-address=192.0.2.1",
        "/interface/gre/add name=b remote-address=198.51.100.2 local-address=192.0.2.1",
        "/interface/gre/add name=c remote-address=198.51.100.3 local-address=192.0.2.1",
        "/ip/route/add dst-address=198.51.100.1/32 gateway=b",
        "/ip/route/add dst-address=198.51.100.2/32 gateway=a",
        "/ip/route/add dst-address=198.51.100.3/32 gateway=c",
    ]);
    rig.go_on_until(200);
    let mtu = |rig: &mut Rig, name| value(rig, &format!("/interface/get {name} actual-mtu"));
    assert_eq!([mtu(&mut rig, "a"), mtu(&mut rig, "b")], ["68", "68"]);
    assert_eq!(mtu(&mut rig, "c"), "1476");
}

#[test]
fn eoip_gets_a_link_address_of_its_own_that_is_exported() {
    let mut rig = rig(&[
        "/interface/eoip/add name=one remote-address=192.0.2.2 tunnel-id=1",
        "/interface/eoip/add copy-from=one name=two tunnel-id=2",
        "/interface/eoipv6/add name=six remote-address=2001:db8::2 tunnel-id=1",
    ]);
    let macs = ["eoip/get one", "eoip/get two", "eoipv6/get six"]
        .map(|item| value(&mut rig, &format!("/interface/{item} mac-address")));
    assert!(macs.iter().all(|mac| mac.starts_with("FE:")), "{macs:?}");
    assert!(macs[0] != macs[1] && macs[1] != macs[2], "{macs:?}");
    let export = rig.run("/interface/eoip/export");
    for mac in &macs[..2] {
        assert!(export.contains(&format!("mac-address={mac}")), "{export}");
    }
}

#[test]
fn tunnels_show_the_mtu_of_layer_2() {
    let mut rig = rig(&[
        "/interface/eoip/add name=e remote-address=192.0.2.2 tunnel-id=1",
        "/interface/gre/add name=g remote-address=192.0.2.2",
    ]);
    for item in ["eoip/get e", "gre/get g", "get e", "get g"] {
        let l2mtu = value(&mut rig, &format!("/interface/{item} l2mtu"));
        assert_eq!(l2mtu, "65535", "{item}");
    }
}

#[test]
fn a_secret_is_refused_beside_the_fast_path() {
    let mut rig = rig(&[]);
    for menu in ["eoip", "gre", "ipip"] {
        let add = format!("/interface/{menu}/add name=t remote-address=192.0.2.2 ipsec-secret=x");
        let refusal = rig.refusal(&add);
        assert!(refusal.contains("allow-fast-path=no"), "{menu}: {refusal}");
        rig.run(&format!("{add} allow-fast-path=no"));
        let refusal = rig.refusal(&format!("/interface/{menu}/set t allow-fast-path=yes"));
        assert!(refusal.contains("allow-fast-path=no"), "{menu}: {refusal}");
        rig.run(&format!(
            "/interface/{menu}/set t ipsec-secret=\"\" allow-fast-path=yes"
        ));
        rig.run(&format!("/interface/{menu}/remove t"));
    }
}

#[test]
fn a_remote_name_is_resolved_again_when_it_changes() {
    let mut rig = rig(&[
        "/ip/dns/static/add name=far.example address=192.0.2.2 ttl=5s",
        "/interface/eoip/add name=e remote-address=far.example tunnel-id=1",
        "/interface/gre/add name=g remote-address=far.example ipsec-secret=x allow-fast-path=no",
    ]);
    let ends = |rig: &mut Rig| {
        let peer = "/ip/ipsec/peer/get [find name=g] address";
        [
            "/interface/eoip/get e current-remote-address",
            "/interface/gre/get g current-remote-address",
            peer,
        ]
        .map(|expression| value(rig, expression))
    };
    rig.go_on_until(4);
    assert_eq!(ends(&mut rig), ["192.0.2.2", "192.0.2.2", "192.0.2.2/32"]);
    assert_eq!(
        value(&mut rig, "/interface/eoip/get e remote-address"),
        "far.example"
    );
    assert_eq!(value(&mut rig, "/interface/eoip/get e running"), "true");
    rig.run("/ip/dns/static/set [find] address=192.0.2.3");
    rig.go_on_until(30);
    assert_eq!(ends(&mut rig), ["192.0.2.3", "192.0.2.3", "192.0.2.3/32"]);
    // The name no longer resolves: the tunnel keeps its address.
    rig.run("/ip/dns/static/remove [find]");
    rig.go_on_until(60);
    assert_eq!(ends(&mut rig), ["192.0.2.3", "192.0.2.3", "192.0.2.3/32"]);
}
