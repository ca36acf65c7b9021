//! Tests the menus of switch chips: the router's bridge applies their functions to the frames of three hosts.

use lab::Lab;

use crate::bridge::{THREE, reaches, start};
use crate::world::{have, lab, run, shell, until, works};

const LAN: &str = "/interface bridge add name=lan protocol-mode=none\n\
     /interface bridge port add bridge=lan interface=ether1\n\
     /interface bridge port add bridge=lan interface=ether2\n\
     /interface bridge port add bridge=lan interface=ether3\n\
     /ip address add address=192.0.2.1/24 interface=lan\n";

/// Number of pings that a host sends, and the tolerance for unrelated frames.
const PINGS: u64 = 200;
const NOISE: u64 = 100;

fn pings(lab: &Lab, host: &str, to: &str) -> bool {
    works(lab, host, &format!("ping -q -c 1 -W 1 {to}"))
}

/// Returns the number of frames that a host has received.
fn received(lab: &Lab, host: &str) -> u64 {
    let said = run(lab, host, "ip -s link show eth0");
    let mut lines = said.lines().skip_while(|line| !line.contains("RX:"));
    let packets = lines.nth(1).and_then(|line| line.split_whitespace().nth(1));
    { packets.and_then(|packets| packets.parse().ok()) }.expect("a number of packets")
}

#[test]
fn isolated_ports_reach_only_their_uplink() {
    let test = "isolated_ports_reach_only_their_uplink";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    run(&lab, "three", "ip address add 192.0.2.13/24 dev eth0");
    let router = start(&lab, LAN);
    for (host, to) in [
        ("two", "192.0.2.11"),
        ("two", "192.0.2.13"),
        ("two", "192.0.2.1"),
    ] {
        reaches(&lab, host, to);
    }
    let isolation = "/interface/ethernet/switch/port-isolation/set [find name~\"ether[23]\"]";
    router.exec(&format!("{isolation} forwarding-override=ether1"));
    reaches(&lab, "two", "192.0.2.11");
    reaches(&lab, "three", "192.0.2.11");
    for (host, to) in [
        ("two", "192.0.2.13"),
        ("three", "192.0.2.12"),
        ("two", "192.0.2.1"),
    ] {
        assert!(!pings(&lab, host, to), "{host} reaches {to}");
    }
    // The router is reachable again if the CPU port is in the forwarding list.
    router.exec(&format!(
        "{isolation} forwarding-override=ether1,switch1-cpu"
    ));
    reaches(&lab, "two", "192.0.2.1");
    assert!(!pings(&lab, "two", "192.0.2.13"));
    assert!(router.stop().success());
}

#[test]
fn vlan_modes_keep_access_ports_apart() {
    let test = "vlan_modes_keep_access_ports_apart";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    if !works(
        &lab,
        "one",
        "ip link add link eth0 name v10 type vlan id 10",
    ) {
        println!("{test}: the kernel has no VLANs");
        return;
    }
    shell(
        &lab,
        "one",
        "ip link add link eth0 name v20 type vlan id 20; ip link set v10 up; ip link set v20 up
         ip address flush dev eth0; ip address add 10.10.0.11/24 dev v10; ip address add 10.20.0.11/24 dev v20",
    );
    for (host, addresses) in [
        ("two", ["10.10.0.12/24", "10.20.0.12/24"]),
        ("three", ["10.20.0.13/24", "10.10.0.13/24"]),
    ] {
        run(&lab, host, "ip address flush dev eth0");
        for address in addresses {
            run(&lab, host, &format!("ip address add {address} dev eth0"));
        }
    }
    let router = start(
        &lab,
        &format!(
            "{LAN}/interface ethernet switch vlan\n\
             add ports=ether1,ether2,switch1-cpu switch=switch1 vlan-id=10\n\
             add ports=ether1,ether3 switch=switch1 vlan-id=20\n\
             /interface ethernet switch port\n\
             set ether1 vlan-header=add-if-missing vlan-mode=secure\n\
             set ether2 default-vlan-id=10 vlan-header=always-strip vlan-mode=secure\n\
             set ether3 default-vlan-id=20 vlan-header=always-strip vlan-mode=secure\n\
             set switch1-cpu vlan-mode=secure\n\
             /interface vlan add name=vlan10 interface=lan vlan-id=10\n\
             /ip address add address=10.10.0.1/24 interface=vlan10\n"
        ),
    );
    for (host, to) in [
        ("one", "10.10.0.12"),
        ("one", "10.20.0.13"),
        ("two", "10.10.0.1"),
        ("one", "10.10.0.1"),
    ] {
        reaches(&lab, host, to);
    }
    for (host, to) in [
        ("two", "10.20.0.13"),
        ("three", "10.10.0.12"),
        ("three", "10.10.0.1"),
    ] {
        assert!(!pings(&lab, host, to), "{host} reaches {to}");
    }
    // The port shows the setting of its switch port, and a trace names it.
    let print = router.exec("/interface/bridge/port/print detail without-paging");
    assert!(print.contains("vlan-mode"), "{print}");
    assert!(router.stop().success());
}

#[test]
fn a_mirror_gets_both_directions_and_rules_come_before_the_bridge() {
    let test = "a_mirror_gets_both_directions_and_rules_come_before_the_bridge";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let router = start(&lab, LAN);
    reaches(&lab, "one", "192.0.2.12");
    let burst = || {
        let before = received(&lab, "three");
        let ping = format!("ping -q -c {PINGS} -i 0.005 -W 1 192.0.2.12");
        run(&lab, "one", &ping);
        received(&lab, "three") - before
    };
    let without = burst();
    assert!(without < NOISE, "{without}");
    router.exec("/interface/ethernet/switch/set switch1 mirror-source=ether2 mirror-target=ether3");
    let with = burst();
    assert!((2 * PINGS..2 * PINGS + NOISE).contains(&with), "{with}");
    router.exec("/interface/ethernet/switch/set switch1 mirror-source=none");
    let after = burst();
    assert!(after < NOISE, "{after}");

    let rule = "/interface/ethernet/switch/rule/add switch=switch1 ports=ether1 mac-protocol=ip \
                protocol=icmp dst-address=192.0.2.12/32 new-dst-ports=\"\"";
    router.exec(rule);
    until("the rule keeps packets out", || {
        !pings(&lab, "one", "192.0.2.12")
    });
    assert!(pings(&lab, "one", "192.0.2.1"), "others go on");
    let drops = router.exec("/tool/drop/print without-paging");
    assert!(drops.contains("switch-rule"), "{drops}");
    router.exec("/interface/ethernet/switch/rule/remove [find]");
    reaches(&lab, "one", "192.0.2.12");

    // Each request has 1,042 bytes, so a rate of 100 kbit/s passes only a part of a burst.
    let rule = "/interface/ethernet/switch/rule/add switch=switch1 ports=ether1 mac-protocol=ip \
                protocol=icmp rate=100k";
    router.exec(rule);
    let ping = format!("ping -q -c {PINGS} -i 0.005 -W 1 -s 1000 192.0.2.12");
    let statistics = run(&lab, "one", &ping);
    assert!(!statistics.contains(" 0% packet loss"), "{statistics}");
    assert!(router.stop().success());
}
