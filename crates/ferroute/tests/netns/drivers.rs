//! Tests each port driver: it carries all traffic, and restores the device at the end.

use std::slice;

use lab::{Lab, Layout};

use crate::throughput::{tcp_both_ways, udp};
use crate::world::{
    PACKET, Router, Start, XDP, XDP_GENERIC, XDP_NATIVE, driver_works, have, lab, layout, run,
};

const PROGRAMS: [&str; 2] = ["iperf3", "ping"];

fn carries_everything(lab: &Lab, router: &Router) {
    for address in ["203.0.113.1", "2001:db8:1::1"] {
        run(
            lab,
            "client",
            &format!("ping -q -c 200 -i 0.002 -W 10 {address}"),
        );
        tcp_both_ways(lab, address, 20);
        udp(lab, slice::from_ref(router), address, 5, 1400);
    }
}

fn driver(driver: &str, layout: &Layout, test: &str) {
    let Some(lab) = have(test, &PROGRAMS).then(|| lab(test, layout)).flatten() else {
        return;
    };
    if !driver_works(test, &lab, driver) {
        return;
    }
    let before = devices(&lab);
    let router = Router::start(&lab, &Start::with(driver, layout.config));

    carries_everything(&lab, &router);

    assert!(router.stop().success());
    assert_eq!(devices(&lab), before);
}

/// Returns the state of the devices that a router may change: addresses, programs, queueing disciplines.
pub(crate) fn devices(lab: &Lab) -> String {
    let shown = [
        "ip -o address",
        "ip -o -d link",
        "tc qdisc show",
        "tc filter show dev ether1 ingress",
    ];
    let said = shown.map(|line| run(lab, "router", line));
    // The flags of duplicate address detection do not matter: it ends a moment after the lab's start.
    let said = said.concat().replace(" nodad", "");
    said.replace(" tentative", "")
}

#[test]
fn xdp_generic_carries_everything() {
    driver(
        XDP_GENERIC,
        layout("plain"),
        "xdp_generic_carries_everything",
    );
}

#[test]
fn xdp_native_carries_everything() {
    driver(XDP_NATIVE, layout("plain"), "xdp_native_carries_everything");
}

#[test]
fn xdp_picks_a_mode_and_carries_everything() {
    driver(
        XDP,
        layout("plain"),
        "xdp_picks_a_mode_and_carries_everything",
    );
}

#[test]
fn packet_carries_everything() {
    driver(PACKET, layout("plain"), "packet_carries_everything");
}

/// Returns the mean length of frames received at the LAN port during a TCP transfer, in bytes.
fn mean_segment(lab: &Lab, router: &Router) -> u64 {
    let counters = || {
        let print = "/interface/print stats";
        ["rx-byte", "rx-packet"].map(|counter| router.number(print, "ether2", counter))
    };
    let [bytes, packets] = counters();
    tcp_both_ways(lab, "203.0.113.1", 50);
    let [more_bytes, more_packets] = counters();
    (more_bytes - bytes) / (more_packets - packets)
}

#[test]
fn packet_ports_pass_segments_whole() {
    let test = "packet_ports_pass_segments_whole";
    let Some(lab) = have(test, &PROGRAMS)
        .then(|| lab(test, layout("segments")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("segments").config));

    carries_everything(&lab, &router);

    // Acknowledgements count as well, so the mean is far below the 64 KB of a merged segment.
    let mean = mean_segment(&lab, &router);
    assert!(
        mean > 1514,
        "no wire carries more than 1,514 bytes, and these are {mean} on average"
    );
}

/// Starts a router whose ports are TAP devices.
pub(crate) fn tap_router(lab: &Lab, config: &str, arguments: &[&str]) -> Router {
    let start = Start {
        ports: vec!["ether1=tap:tap1".into(), "ether2=tap:tap2".into()],
        arguments,
        ..Start::with("tap", config)
    };
    let router = Router::start(lab, &start);
    // A bridge of the router's kernel connects each TAP device with the host.
    for number in [1, 2] {
        let bridge = format!("bridge{number}");
        let on = |line: String| run(lab, "router", &format!("ip link {line}"));
        on(format!("add name {bridge} type bridge"));
        for device in ["ether", "tap"] {
            on(format!("set dev {device}{number} master {bridge} up"));
        }
        on(format!("set dev {bridge} up"));
    }
    router
}

#[test]
fn tap_ports_pass_segments_whole() {
    let test = "tap_ports_pass_segments_whole";
    let Some(lab) = have(test, &PROGRAMS)
        .then(|| lab(test, layout("segments")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    let router = tap_router(&lab, layout("segments").config, &[]);

    carries_everything(&lab, &router);

    let mean = mean_segment(&lab, &router);
    assert!(
        mean > 1514,
        "no wire carries more than 1,514 bytes, and these are {mean} on average"
    );
    assert!(router.stop().success());
    let left = run(&lab, "router", "ip -o link");
    assert!(!left.contains("tap1") && !left.contains("tap2"), "{left}");
}

#[test]
fn segments_of_one_port_are_completed_in_software_for_another() {
    let test = "segments_of_one_port_are_completed_in_software_for_another";
    let (whole, wire) = (layout("segments"), layout("plain"));
    let links = [wire.links[0], whole.links[1]];
    assert!(links[0].ends[0].device == "ether1" && links[1].ends[0].device == "ether2");
    let mixed = Layout {
        name: "mixed",
        links: Box::leak(Box::new(links)),
        ..*wire
    };
    let Some(lab) = have(test, &PROGRAMS).then(|| lab(test, &mixed)).flatten() else {
        return;
    };
    if !driver_works(test, &lab, XDP_GENERIC) {
        return;
    }
    let ports = vec![
        format!("ether1={XDP_GENERIC}:ether1"),
        format!("ether2={PACKET}:ether2"),
    ];
    let start = Start {
        ports,
        ..Start::with(PACKET, wire.config)
    };
    let router = Router::start(&lab, &start);

    carries_everything(&lab, &router);

    let mean = mean_segment(&lab, &router);
    assert!(
        mean > 1514,
        "the hosts sent nothing to split: {mean} bytes on average"
    );
}
