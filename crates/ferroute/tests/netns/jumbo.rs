//! Tests jumbo frames: packets of 9,000 bytes pass unfragmented.

use crate::drivers::devices;
use crate::throughput::tcp_both_ways;
use crate::world::{
    PACKET, Router, Start, XDP_GENERIC, XDP_NATIVE, driver_works, have, lab, layout, run, until,
    works,
};

#[test]
fn packets_of_9000_bytes_pass_whole() {
    let test = "packets_of_9000_bytes_pass_whole";
    let programs = ["ping", "iperf3"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("jumbo")))
        .flatten()
    else {
        return;
    };
    let _router = Router::start(&lab, &Start::with(PACKET, layout("jumbo").config));

    // ICMP and IP headers make it 9,000 bytes; one more byte does not fit the client's own link.
    for (protocol, address, data) in [(4, "203.0.113.1", 8972), (6, "2001:db8:1::1", 8952)] {
        let ping =
            |size: u32| format!("ping -{protocol} -q -M do -c 3 -i 0.01 -W 10 -s {size} {address}");
        run(&lab, "client", &ping(data));
        assert!(
            !works(&lab, "client", &ping(data + 1)),
            "the client's link carries more"
        );
        tcp_both_ways(&lab, address, 20);
    }
}

#[test]
fn devices_get_the_mtu_of_the_routers_interfaces() {
    let test = "devices_get_the_mtu_of_the_routers_interfaces";
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
        let router = Router::start(&lab, &Start::with(driver, layout("plain").config));
        let actual = |port| router.number("/interface/print", port, "actual-mtu");
        let long = "ping -q -M do -c 1 -W 1 -s 8972 203.0.113.1";

        router.exec("/interface/ethernet/set ether1,ether2 mtu=9000");

        // With native XDP, the MTU of a veth's other end can grow only after the router has raised the MTU of its own
        // end.
        for host in ["client", "server"] {
            let longer = "ip link set dev eth0 mtu 9000";
            until("both ends carry as much", || works(&lab, host, longer));
        }
        until("long packets pass", || works(&lab, "client", long));
        assert_eq!((actual("ether1"), actual("ether2")), (9000, 9000));
        let warned = router.log().contains("there is no device");
        assert!(!warned, "{}", router.log());
        router.exec("/interface/ethernet/set ether1 mtu=65000");
        router.exec("/interface/ethernet/set ether2 mtu=1400");
        let most = if driver == PACKET { 65_000 } else { 9000 };
        until("the other follows", || actual("ether2") == 1400);
        until("a driver does what it can", || {
            let refused = router.log().contains("refuses the MTU 65000");
            actual("ether1") == most && refused == (driver != PACKET)
        });
        router.exec("/interface/ethernet/set ether2 mtu=9000");
        until("long packets pass", || works(&lab, "client", long));
        assert!(router.stop().success());
        assert_eq!(devices(&lab), before);
    }
}

#[test]
fn a_tap_has_the_mtu_of_its_port_while_the_port_exists() {
    let test = "a_tap_has_the_mtu_of_its_port_while_the_port_exists";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    run(&lab, "router", "ip tuntap add dev kept mode tap");
    let mtu = |wanted: &str| run(&lab, "router", "ip link show dev kept").contains(wanted);
    let start = Start {
        ports: vec!["ether1=tap:kept".into()],
        ..Start::with("tap", "/interface/ethernet/set ether1 mtu=4000\n")
    };
    let router = Router::start(&lab, &start);
    until("it has the MTU", || mtu("mtu 4000 "));

    router.exec("/interface/ethernet/set ether1 mtu=9000");
    until("it follows", || mtu("mtu 9000 "));

    assert!(router.stop().success());
    assert!(mtu("mtu 1500 "), "{}", run(&lab, "router", "ip link"));
}
