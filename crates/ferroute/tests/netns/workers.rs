//! Tests several workers that share ports.

use std::time::Instant;

use lab::Lab;

use crate::drivers::tap_router;
use crate::throughput::{iperf, tcp_both_ways};
use crate::world::{PACKET, Router, Start, XDP, driver_works, have, lab, layout, run};

/// Sends many flows of both families in each direction.
fn carries_all_at_once(lab: &Lab) {
    for address in ["203.0.113.1", "2001:db8:1::1"] {
        run(
            lab,
            "client",
            &format!("ping -q -c 100 -i 0.002 -W 10 {address}"),
        );
        tcp_both_ways(lab, address, 20);
        // More data than a pool has frames, of which each worker has a share: frames freed by another worker have to
        // return.
        for direction in ["", " --reverse"] {
            let arguments = format!("--parallel 8 --bytes 80M --window 256K{direction}");
            let report = iperf(lab, address, &arguments);
            let received = report["end"]["sum_received"]["bytes"].as_u64();
            // iperf3 stops counting when the senders are done: buffers of 512 KB at both ends of eight connections are
            // still in flight.
            assert!(
                received > Some(70_000_000),
                "{address} {arguments}: {received:?}"
            );
        }
    }
}

fn two_workers(driver: &str, test: &str) {
    let programs = ["iperf3", "ping"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("two-queues")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, driver) {
        return;
    }
    let start = Start::with(driver, layout("two-queues").config);
    let router = Router::start(
        &lab,
        &Start {
            arguments: &["--workers", "2"],
            ..start
        },
    );

    carries_all_at_once(&lab);
    // The counters are sums over the workers, and plausible for the transferred data.
    let sent = router.number("/interface/print stats", "ether1", "tx-byte");
    assert!(sent > 2 * 30_000_000, "{sent}");
}

#[test]
fn two_workers_share_tap_ports() {
    let test = "two_workers_share_tap_ports";
    let Some(lab) = have(test, &["iperf3", "ping"])
        .then(|| lab(test, layout("segments")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, "tap") {
        return;
    }
    let router = tap_router(&lab, layout("segments").config, &["--workers", "2"]);

    carries_all_at_once(&lab);

    for worker in ["worker-0", "worker-1"] {
        assert!(
            router.thread_ticks(worker) > 0,
            "{worker} had nothing to do"
        );
    }
    // A flow has one worker, so none of its packets is overtaken.
    let report = iperf(
        &lab,
        "203.0.113.1",
        "--udp --bitrate 20M --length 400 --time 2",
    );
    assert_eq!(report["end"]["streams"][0]["udp"]["out_of_order"], 0);
}

/// One device has one queue, which belongs to one worker; the other device has a queue per worker. Frames received from
/// the first leave by the second.
#[test]
fn two_workers_share_the_frames_of_one_queue() {
    let test = "two_workers_share_the_frames_of_one_queue";
    let Some(lab) = have(test, &["iperf3", "ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, XDP) {
        return;
    }
    let start = Start {
        ports: vec![
            format!("ether1={XDP}:ether1"),
            format!("ether2={PACKET}:ether2"),
        ],
        arguments: &["--workers", "2"],
        ..Start::with(XDP, layout("plain").config)
    };
    let _router = Router::start(&lab, &start);

    carries_all_at_once(&lab);
}

#[test]
fn two_workers_share_packet_ports() {
    two_workers(PACKET, "two_workers_share_packet_ports");
}

#[test]
fn two_workers_share_xdp_ports() {
    two_workers(XDP, "two_workers_share_xdp_ports");
}

#[test]
fn an_idle_router_uses_under_two_percent_of_a_core() {
    let test = "an_idle_router_uses_under_two_percent_of_a_core";
    for driver in [PACKET, XDP] {
        let Some(lab) = have(test, &["ping"])
            .then(|| lab(test, layout("plain")))
            .flatten()
        else {
            return;
        };
        if !driver_works(test, &lab, driver) {
            continue;
        }
        let start = Start::with(driver, layout("plain").config);
        let router = Router::start(
            &lab,
            &Start {
                arguments: &["--workers", "2"],
                ..start
            },
        );
        run(&lab, "client", "ping -q -c 100 -i 0.002 -W 10 203.0.113.1");
        let (begin, before) = (Instant::now(), router.ticks());

        // An idle router still forwards one packet per second in each direction.
        run(&lab, "client", "ping -q -c 5 -i 1 -W 10 203.0.113.1");

        let (used, elapsed) = (router.ticks() - before, begin.elapsed());
        // A tick is 10 ms, so one percent of a core is one tick per second.
        assert!(
            used <= 2 * elapsed.as_secs(),
            "{driver}: {used} ticks in {elapsed:?}"
        );
    }
}
