//! Tests links that go down, and devices that are removed, renamed, moved and created again.

use lab::Lab;

use crate::drivers::devices;
use crate::world::{
    PACKET, Router, Start, XDP_GENERIC, XDP_NATIVE, driver_works, have, lab, layout, run, until,
    works,
};

const PING: &str = "ping -q -c 1 -W 1 203.0.113.1";
const PING6: &str = "ping -q -c 1 -W 1 2001:db8:1::1";

/// Restores the routes and IPv6 addresses that the kernel of a host removed when its link went down.
fn restore(lab: &Lab) {
    run(lab, "server", "ip address replace 203.0.113.1/24 dev eth0");
    run(
        lab,
        "server",
        "ip address replace 2001:db8:1::1/64 dev eth0 nodad",
    );
    run(lab, "server", "ip route replace default via 203.0.113.2");
    run(lab, "server", "ip route replace default via 2001:db8:1::2");
}

fn passes(lab: &Lab) -> bool {
    works(lab, "client", PING) && works(lab, "client", PING6)
}

fn running(router: &Router, port: &str) -> bool {
    router.value("/interface/print", port, "running") == "true"
}

#[test]
fn a_link_carries_packets_again_after_it_was_down() {
    let test = "a_link_carries_packets_again_after_it_was_down";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    until("packets pass", || passes(&lab));

    run(&lab, "server", "ip link set dev eth0 down");
    until("the port is seen down", || !running(&router, "ether1"));
    assert!(running(&router, "ether2"));
    assert!(!works(&lab, "client", PING));

    run(&lab, "server", "ip link set dev eth0 up");
    restore(&lab);
    until("the port is seen up", || running(&router, "ether1"));
    until("packets pass again", || passes(&lab));
}

#[test]
fn a_removed_device_is_used_again_after_its_return() {
    let test = "a_removed_device_is_used_again_after_its_return";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    until("packets pass", || passes(&lab));

    for _ in 0..3 {
        run(&lab, "server", "ip link delete dev eth0");
        until("the port is seen gone", || !running(&router, "ether1"));

        let there = lab.namespace("router").expect("every layout has one");
        let peer = format!("peer name ether1 netns {}", there.display());
        run(
            &lab,
            "server",
            &format!("ip link add name eth0 type veth {peer}"),
        );
        run(&lab, "router", "ip link set dev ether1 up");
        run(&lab, "server", "ip link set dev eth0 up");
        // As at the lab's start: the hosts must send complete checksums.
        run(&lab, "server", "ethtool -K eth0 tx off");
        restore(&lab);
        until("the port is seen running", || running(&router, "ether1"));
        until("packets pass again", || passes(&lab));
    }
}

#[test]
fn a_port_keeps_its_device_when_the_device_is_renamed() {
    let test = "a_port_keeps_its_device_when_the_device_is_renamed";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    until("packets pass", || passes(&lab));

    run(&lab, "router", "ip link set dev ether1 down");
    run(&lab, "router", "ip link set dev ether1 name renamed");
    until("the port is seen down", || !running(&router, "ether1"));
    run(&lab, "router", "ip link set dev renamed up");
    until("the port is seen up", || running(&router, "ether1"));
    // Another device that now has the port's name does not belong to the port.
    let other = "ip link add name ether1 type veth peer name other";
    run(&lab, "router", other);
    run(&lab, "router", "ip link set dev other up");
    run(&lab, "server", "ip link set dev eth0 down");
    until("the port is seen down", || !running(&router, "ether1"));
    run(&lab, "server", "ip link set dev eth0 up");
    restore(&lab);
    until("packets pass again", || passes(&lab));

    // It does after the port has lost its own device.
    run(&lab, "server", "ip link delete dev eth0");
    until("the other is taken", || {
        run(&lab, "router", "tc qdisc show dev ether1").contains("clsact")
    });
    until("its link is followed", || running(&router, "ether1"));
    assert!(router.stop().success());
    let left = run(&lab, "router", "tc qdisc show dev ether1");
    assert!(!left.contains("clsact"), "{left}");
}

/// Returns true if a device of a host has a carrier.
fn has_carrier(lab: &Lab, host: &str, device: &str) -> bool {
    run(lab, host, &format!("ip link show dev {device}")).contains("LOWER_UP")
}

#[test]
fn a_host_at_a_disabled_port_sees_no_link() {
    let test = "a_host_at_a_disabled_port_sees_no_link";
    for driver in [PACKET, XDP_GENERIC, XDP_NATIVE] {
        let Some(lab) = have(test, &["ping"])
            .then(|| lab(test, layout("plain")))
            .flatten()
        else {
            return;
        };
        if !driver_works(test, &lab, driver) {
            continue;
        }
        let before = devices(&lab);
        let start = Start {
            arguments: &["--workers", "2"],
            ..Start::with(driver, layout("plain").config)
        };
        let router = Router::start(&lab, &start);

        for _ in 0..2 {
            router.exec("/interface/disable ether1");
            until("the link is gone", || !has_carrier(&lab, "server", "eth0"));
            assert!(has_carrier(&lab, "client", "eth0"));
            assert!(!running(&router, "ether1"));
            router.exec("/interface/enable ether1");
            until("the link is there", || has_carrier(&lab, "server", "eth0"));
            until("packets pass", || passes(&lab));
        }

        router.exec("/interface/disable ether1");
        until("the link is gone", || !has_carrier(&lab, "server", "eth0"));
        assert!(router.stop().success());
        until("the device is as it was", || devices(&lab) == before);
    }
}

#[test]
fn a_port_disabled_at_the_start_works_after_enabling() {
    let test = "a_port_disabled_at_the_start_works_after_enabling";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n/interface/disable ether1\n", layout("plain").config);
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    until("there is no link", || !has_carrier(&lab, "server", "eth0"));

    router.exec("/interface/enable ether1");

    until("packets pass", || passes(&lab));
}

#[test]
fn a_tap_has_no_carrier_while_its_port_is_disabled() {
    let test = "a_tap_has_no_carrier_while_its_port_is_disabled";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    let config = "/ip/address/add address=10.7.0.1/24 interface=ether1\n\
                  /interface/disable ether1\n";
    let start = Start {
        ports: vec!["ether1=tap:made".into()],
        ..Start::with("tap", config)
    };
    let router = Router::start(&lab, &start);
    run(&lab, "router", "ip address add 10.7.0.2/24 dev made");
    let answers = || works(&lab, "router", "ping -q -c 1 -W 1 10.7.0.1");

    for _ in 0..2 {
        until("there is no carrier", || {
            !has_carrier(&lab, "router", "made")
        });
        assert!(!answers());
        router.exec("/interface/enable ether1");
        until("the router answers", answers);
        // The device belongs to the machine: its addresses stay.
        let shown = run(&lab, "router", "ip address show dev made");
        assert!(shown.contains("10.7.0.2/24"), "{shown}");
        router.exec("/interface/disable ether1");
    }
}

#[test]
fn a_tap_moved_to_another_namespace_stays_a_port() {
    let test = "a_tap_moved_to_another_namespace_stays_a_port";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    let config = "/ip/address/add address=10.7.0.1/24 interface=ether1\n";
    let start = Start {
        ports: vec!["ether1=tap:given".into()],
        ..Start::with("tap", config)
    };
    let router = Router::start(&lab, &start);
    let give = |to: &str| {
        let there = lab.namespace(to).expect("a host of the layout");
        let line = format!("ip link set dev given netns {}", there.display());
        run(&lab, "router", &line);
        run(&lab, to, "ip address add 10.7.0.2/24 dev given");
        run(&lab, to, "ip link set dev given up");
    };
    let ping = "ping -q -c 1 -W 1 10.7.0.1";

    for host in ["client", "server"] {
        give(host);
        until("the router answers", || works(&lab, host, ping));
        assert!(running(&router, "ether1"));

        // The router creates the device again, as it does after any removal.
        run(&lab, host, "ip link delete dev given");
        until("it is there again", || {
            works(&lab, "router", "ip link show dev given")
        });
    }
    assert!(router.stop().success());
    assert!(!works(&lab, "router", "ip link show dev given"));
}
