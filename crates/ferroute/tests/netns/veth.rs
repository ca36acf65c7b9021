//! Tests `/interface/veth`: its other end is a device of the machine, for a container.

use crate::world::{
    PACKET, Router, Start, driver_works, have, lab, layout, run, shell, until, works,
};

const CONFIG: &str = "\
/interface/veth
add name=veth1 address=10.9.0.2/24,2001:db8:9::2/64 container-mac-address=02:00:00:00:00:99
/ip/address
add address=10.9.0.1/24 interface=veth1
/ipv6/address
add address=2001:db8:9::1/64 interface=veth1 advertise=no
";

#[test]
fn a_container_reaches_the_router_by_its_end_of_a_veth() {
    let test = "a_container_reaches_the_router_by_its_end_of_a_veth";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let shown = || run(&lab, "router", "ip -o address show dev veth1");
    until("the device is there", || {
        works(&lab, "router", "ip link show dev veth1")
    });
    until("it has its addresses", || {
        let shown = shown();
        shown.contains("10.9.0.2/24") && shown.contains("2001:db8:9::2/64")
    });
    let link = run(&lab, "router", "ip link show dev veth1");
    assert!(link.contains("02:00:00:00:00:99"), "{link}");
    until("the interface runs", || {
        router.value("/interface/veth/print", "veth1", "running") == "true"
    });
    // The kernel has the addresses of both ends, so the pings must name their source device to leave the machine.
    for ping in [
        "ping -q -c 1 -W 1 -I veth1 10.9.0.1",
        "ping -q -c 1 -W 1 -I veth1 2001:db8:9::1",
    ] {
        until(ping, || works(&lab, "router", ping));
    }

    router.exec("/interface/veth/disable veth1");
    until("its cable is pulled", || {
        run(&lab, "router", "ip link show dev veth1").contains("NO-CARRIER")
    });
    router.exec("/interface/veth/remove veth1");
    until("the device is gone", || {
        !works(&lab, "router", "ip link show dev veth1")
    });
    assert!(router.stop().success());
}

#[test]
fn a_name_conflict_with_another_device_is_reported() {
    let test = "a_name_conflict_with_another_device_is_reported";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    shell(&lab, "router", "ip link add taken type bridge");
    let router = Router::start(
        &lab,
        &Start::with(PACKET, "/interface/veth add name=taken\n"),
    );
    until("the log says so", || {
        let log = router.exec("/log/print without-paging");
        log.contains("taken: no device for its container")
    });
    assert!(router.stop().success());
}
