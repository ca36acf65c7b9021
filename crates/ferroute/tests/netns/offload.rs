//! Tests hardware offload of bridge ports by the kernel (XDP): the workers do not see traffic between known hosts, all
//! traffic is counted, and ports that a chip could not offload show the reason.

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{
    PACKET, Router, Start, XDP_GENERIC, driver_works, have, lab, run, until, works,
};

/// Layout with two hosts of one network at two ports.
const LAYOUT: Layout = Layout {
    name: "bridged",
    summary: "two hosts of one network at two ports of a router",
    hosts: &[
        Host {
            name: "router",
            forwards: false,
            loopback: &[],
            routes: &[],
        },
        host("left"),
        host("right"),
    ],
    links: &[
        link("ether1", "left", &["10.7.0.1/24"]),
        link("ether2", "right", &["10.7.0.2/24"]),
    ],
    config: "",
};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn link(port: &'static str, host: &'static str, addresses: &'static [&'static str]) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "router",
                device: port,
                addresses: &[],
            },
            End {
                host,
                device: "eth0",
                addresses,
            },
        ],
    }
}

const CONFIG: &str = "/interface/bridge
add name=bridge1 protocol-mode=none
/interface/bridge/port
add bridge=bridge1 interface=ether1
add bridge=bridge1 interface=ether2
";

fn test(
    name: &str,
    driver: &str,
    arguments: &'static [&'static str],
    body: impl Fn(&Lab, &Router),
) {
    let Some(lab) = have(name, &["ping"]).then(|| lab(name, &LAYOUT)).flatten() else {
        return;
    };
    if !driver_works(name, &lab, driver) {
        return;
    }
    let mut start = Start::with(driver, CONFIG);
    start.arguments = arguments;
    let router = Router::start(&lab, &start);
    until("the hosts reach each other", || ping(&lab, 1));
    body(&lab, &router);
    assert!(router.stop().success());
}

fn ping(lab: &Lab, count: u32) -> bool {
    works(
        lab,
        "left",
        &format!("ping -q -c {count} -i 0.002 -W 5 10.7.0.2"),
    )
}

/// Returns the number of packets that the ports have received, and how many of them a worker has bridged on the fast
/// path.
fn counted(router: &Router) -> [u64; 2] {
    ["rx-packet", "fp-rx-packet"].map(|what| {
        let ports = ["ether1", "ether2"].into_iter();
        ports
            .map(|port| router.number("/interface/print stats-detail", port, what))
            .sum()
    })
}

/// Returns the offload state of an interface's bridge port: flag `H`, group, reason.
fn offload(router: &Router, port: &str) -> (bool, String, String) {
    let rows = router.rows("/interface/bridge/port/print");
    let row = { rows.iter() }.find(|row| row["interface"] == port);
    let row = row.expect("a port of the bridge");
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    (
        row["hw-offload"] == "true",
        text("hw-offload-group"),
        text("hw-offload-reason"),
    )
}

/// Sends a thousand echo requests. Returns how many of the requests and replies a worker saw.
fn seen_of_2000(lab: &Lab, router: &Router) -> u64 {
    let [all, fast] = counted(router);
    run(lab, "left", "ping -q -c 1000 -i 0.001 -W 10 10.7.0.2");
    let [more_all, more_fast] = counted(router);
    // Neighbour confirmations add a few frames.
    let went = more_all - all;
    assert!((2000..2100).contains(&went), "{went} were counted");
    more_fast - fast
}

#[test]
fn known_hosts_of_a_bridge_are_switched_past_the_workers() {
    let name = "known_hosts_of_a_bridge_are_switched_past_the_workers";
    test(name, XDP_GENERIC, &[], |lab, router| {
        for port in ["ether1", "ether2"] {
            let (offloaded, group, reason) = offload(router, port);
            assert!(offloaded, "{reason}");
            assert_eq!(group, "switch1");
        }

        assert!(seen_of_2000(lab, router) < 100);

        router.exec("/interface/bridge/port/set [find interface=ether2] hw=no");
        let (offloaded, _, reason) = offload(router, "ether2");
        assert!(!offloaded);
        assert_eq!(reason, "hw=no");
        assert!(ping(lab, 1));
        assert!(seen_of_2000(lab, router) >= 2000);

        router.exec("/interface/bridge/port/set [find interface=ether2] hw=yes");
        assert!(ping(lab, 3));
        assert!(seen_of_2000(lab, router) < 100);
    });
}

#[test]
fn traffic_that_no_chip_could_switch_passes_the_workers_with_the_reason_shown() {
    let name = "traffic_that_no_chip_could_switch_passes_the_workers_with_the_reason_shown";
    test(name, XDP_GENERIC, &[], |lab, router| {
        router.exec("/interface/bridge/port/set [find interface=ether1] horizon=1");
        let (offloaded, _, reason) = offload(router, "ether1");
        assert!(!offloaded);
        assert_eq!(reason, "Linux-XDP cannot do horizon");
        assert!(ping(lab, 1));
        assert!(seen_of_2000(lab, router) >= 2000);
    });
}

#[test]
fn ports_without_xdp_are_bridged_by_workers_and_show_the_reason() {
    let name = "ports_without_xdp_are_bridged_by_workers_and_show_the_reason";
    test(name, PACKET, &[], |lab, router| {
        for port in ["ether1", "ether2"] {
            let (offloaded, _, reason) = offload(router, port);
            assert!(!offloaded);
            assert_eq!(reason, "its device is not driven by generic XDP");
        }
        assert!(seen_of_2000(lab, router) >= 2000);
    });
}

#[test]
fn a_board_switches_only_what_its_chip_can() {
    let name = "a_board_switches_only_what_its_chip_can";
    test(name, XDP_GENERIC, &["--board", "hAP-ac2"], |lab, router| {
        let board = |what: &str| router.value("/system/routerboard/print", "", what);
        assert_eq!(
            (board("board-name"), board("routerboard")),
            ("hAP ac^2".to_owned(), "true".to_owned())
        );
        assert!(seen_of_2000(lab, router) < 100);

        router.exec("/interface/bridge/set bridge1 protocol-mode=mstp");
        let (offloaded, _, reason) = offload(router, "ether1");
        assert!(!offloaded);
        assert_eq!(reason, "Atheros-8327 cannot do MSTP");
    });
}
