//! Tests the bandwidth test between two routers, and its server against clients that may not use it.

use std::thread;

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::home::home;
use crate::world::{PACKET, Router, Start, have, lab, shell, text, until};

/// Address of the far router, where the server is.
const SERVER: &str = "192.0.2.12";

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn end(host: &'static str) -> End {
    End {
        host,
        device: "ether1",
        addresses: &[],
    }
}

static ROUTERS: Layout = Layout {
    name: "routers",
    summary: "two routers on a link",
    hosts: &[host("near"), host("far")],
    links: &[Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::On,
        ends: [end("near"), end("far")],
    }],
    config: "",
};

/// Starts two routers; the far one has a user with a password.
fn routers(test: &str) -> Option<(Lab, Router, Router)> {
    let lab = lab(test, &ROUTERS)?;
    let start = |host, config: &str| {
        let start = Start {
            host,
            ports: vec![format!("ether1={PACKET}:ether1")],
            ..Start::with(PACKET, config)
        };
        Router::start(&lab, &start)
    };
    let near = start(
        "near",
        "/ip/address/add address=192.0.2.11/24 interface=ether1",
    );
    let far = "/ip/address/add address=192.0.2.12/24 interface=ether1\n\
               /ipv6/address/add address=2001:db8:2::12/64 interface=ether1 advertise=no";
    let far = start("far", far);
    far.exec("/user/add name=tester group=read password=secret");
    Some((lab, near, far))
}

/// Runs a test with a single update; returns the page.
fn measure(near: &Router, arguments: &str) -> String {
    let user = "user=tester password=secret";
    near.exec(&format!(
        "/tool/bandwidth-test address={SERVER} {user} once {arguments}"
    ))
}

fn sessions(far: &Router) -> Vec<serde_json::Value> {
    far.rows("/tool/bandwidth-server/session/print")
}

/// Returns a value of a page.
fn value(page: &str, name: &str) -> String {
    let mut lines = page.lines().filter_map(|line| line.trim().split_once(": "));
    let found = lines.find(|(own, _)| *own == name);
    let (_, value) = found.unwrap_or_else(|| panic!("no {name} in {page}"));
    value.trim().to_owned()
}

#[test]
fn routers_measure_each_other_in_every_direction_with_the_verifier() {
    let test = "routers_measure_each_other_in_every_direction_with_the_verifier";
    let Some((_lab, near, far)) = routers(test) else {
        return;
    };
    for protocol in ["tcp", "udp"] {
        for (direction, rates) in [
            ("receive", &["rx"][..]),
            ("transmit", &["tx"]),
            ("both", &["rx", "tx"]),
        ] {
            let page = measure(
                &near,
                &format!(
                    "protocol={protocol} direction={direction} duration=3s connection-count=3 \
                     local-tx-speed=5M remote-tx-speed=5M"
                ),
            );
            assert_eq!(value(&page, "status"), "done testing", "{page}");
            for rate in rates {
                let measured = value(&page, &format!("{rate}-total-average"));
                let mbps = measured
                    .strip_suffix("Mbps")
                    .and_then(|n| n.parse::<f64>().ok());
                // A busy machine sends less than the limit.
                let fits = measured != "0bps" && mbps.is_none_or(|mbps| mbps < 7.0);
                assert!(fits, "{protocol} {direction}: {page}");
            }
            assert!(value(&page, "local-cpu-load").ends_with('%'), "{page}");
        }
    }
    let log = far.exec("/log/print without-paging");
    assert!(
        log.contains("user tester logged in from 192.0.2.11 via bandwidth-test"),
        "{log}"
    );
    assert!(near.stop().success() && far.stop().success());
}

#[test]
fn a_session_is_listed_and_ends_by_a_command_and_a_kill_is_noticed() {
    let test = "a_session_is_listed_and_ends_by_a_command_and_a_kill_is_noticed";
    let Some((_lab, near, mut far)) = routers(test) else {
        return;
    };
    let endless = "protocol=tcp direction=both local-tx-speed=1M remote-tx-speed=1M duration=1h";
    let ended = thread::scope(|scope| {
        let testing = scope.spawn(|| measure(&near, endless));
        until("the server has a session", || !sessions(&far).is_empty());
        let session = &sessions(&far)[0];
        assert_eq!(session["client"], "192.0.2.11", "{session:#}");
        assert_eq!(session["user"], "tester", "{session:#}");
        assert_eq!(session["direction"], "both", "{session:#}");
        let active = far.rows("/user/active/print");
        let tests = |row: &&serde_json::Value| row["via"] == "bandwidth-test";
        assert_eq!(active.iter().filter(tests).count(), 1, "{active:#?}");
        far.exec("/tool/bandwidth-server/session/remove [find]");
        testing.join().expect("no panic")
    });
    assert_eq!(value(&ended, "status"), "disconnected", "{ended}");
    until("the session has gone", || sessions(&far).is_empty());

    let ended = thread::scope(|scope| {
        let testing = scope.spawn(|| measure(&near, endless));
        until("the server has another session", || {
            !sessions(&far).is_empty()
        });
        far.begin_kill();
        testing.join().expect("no panic")
    });
    assert_eq!(value(&ended, "status"), "disconnected", "{ended}");
    assert!(near.stop().success());
}

#[test]
fn the_server_refuses_unknown_users_and_other_networks_by_name() {
    let test = "the_server_refuses_unknown_users_and_other_networks_by_name";
    let Some((_lab, near, far)) = routers(test) else {
        return;
    };
    let page = near.exec(&format!(
        "/tool/bandwidth-test address={SERVER} user=tester password=other once protocol=tcp"
    ));
    assert_eq!(value(&page, "status"), "authentication failed", "{page}");
    until("the failure is logged", || {
        let log = far.exec("/log/print without-paging");
        log.contains("login failure for user tester from 192.0.2.11 via bandwidth-test")
    });

    far.exec("/user/set tester name=other");
    far.exec("/user/set other name=tester");
    let page = measure(&near, "protocol=tcp duration=1s");
    assert_eq!(value(&page, "status"), "authentication failed", "{page}");
    until("the log tells why", || {
        let log = far.exec("/log/print without-paging");
        log.contains("user tester has no verifier for bandwidth tests")
    });

    // The server's thread reads its settings a moment after the command.
    let ends_as = |wanted: &str, arguments: &str| {
        until(&format!("{arguments}: {wanted}"), || {
            value(&measure(&near, arguments), "status") == wanted
        });
    };
    far.exec("/tool/bandwidth-server/set authenticate=no max-sessions=1");
    ends_as(
        "done testing",
        "protocol=udp duration=1s local-udp-tx-size=100",
    );

    far.exec("/tool/bandwidth-server/set allowed-addresses4=198.51.100.0/24");
    ends_as("can not connect", "protocol=tcp duration=1s");

    far.exec("/tool/bandwidth-server/set allowed-addresses4=0.0.0.0/0 enabled=no");
    ends_as("can not connect", "protocol=tcp duration=1s");

    let refused = near.command("/tool/bandwidth-test address=192.0.2.12 remote-tx-speed=5G");
    let why = text(&refused.stderr) + &text(&refused.stdout);
    assert!(
        why.contains("remote-tx-speed: the protocol carries at most"),
        "{why}"
    );
    assert!(near.stop().success() && far.stop().success());
}

#[test]
fn the_default_firewall_closes_the_server_towards_the_wan() {
    let test = "the_default_firewall_closes_the_server_towards_the_wan";
    if !have(test, &["bash", "timeout", "python3"]) {
        return;
    }
    let Some((lab, router)) = home(test) else {
        return;
    };
    let hello = "import socket;s=socket.create_connection((\"192.168.88.1\",2000),10);print(s.recv(4).hex())";
    let said = shell(&lab, "client", &format!("python3 -c '{hello}'"));
    assert_eq!(said.trim(), "01000000");
    let argv = [
        "timeout",
        "2",
        "bash",
        "-c",
        "exec 3<>/dev/tcp/203.0.113.2/2000",
    ];
    let argv = argv.map(str::to_owned);
    let mut command = lab.command_line("server", &argv).expect("a host");
    let reached = command.output().expect("a shell").status.success();
    assert!(!reached, "the server answers on the WAN");
    assert!(router.stop().success());
}

#[test]
fn a_test_names_the_queue_that_bounds_it() {
    let test = "a_test_names_the_queue_that_bounds_it";
    let Some((_lab, near, _far)) = routers(test) else {
        return;
    };
    let transmit = "protocol=tcp direction=transmit duration=3s";
    let page = measure(&near, &format!("{transmit} local-tx-speed=1M"));
    let bound = value(&page, "bound-by");
    assert!(!bound.contains("queue"), "{page}");
    near.exec("/queue/simple/add name=slow target=192.0.2.12/32 max-limit=3M/3M");
    let page = measure(&near, transmit);
    let bound = value(&page, "bound-by");
    assert!(bound.contains("queue slow at its limit"), "{page}");
}
