//! Tests a bridge under attack by one of its hosts: tables stay bounded, the console answers, and traffic of other
//! hosts continues.

use lab::Lab;

use crate::bridge_rules::LAYOUT;
use crate::world::{PACKET, Router, Start, have, lab, shell, until, works};

/// Starts a router with two hosts on one bridge; `None` if the test cannot run here.
fn begin(test: &str, config: &str) -> Option<(Lab, Router)> {
    let lab = have(test, &["python3"])
        .then(|| lab(test, &LAYOUT))
        .flatten()?;
    let router = Router::start(&lab, &Start::with(PACKET, config));
    Some((lab, router))
}

/// Sends `count` frames from the host `one`. A Python expression builds each frame from its number `i`.
fn send(lab: &Lab, count: usize, frame: &str) {
    let script = format!(
        "python3 -c 'import socket, random; random.seed(1); \
         s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((\"eth0\", 0)); \
         h = bytes.fromhex; r = random.randbytes; [s.send({frame}) for i in range({count})]'"
    );
    shell(lab, "one", &script);
}

fn ping(lab: &Lab) -> bool {
    works(lab, "one", "ping -q -c 1 -W 1 10.1.0.2")
}

/// Returns the number of frames with this drop reason.
fn dropped(router: &Router, reason: &str) -> u64 {
    let rows = router.rows("/tool/drop/print");
    let mut rows = rows.iter().filter(|row| row["reason"] == reason);
    let packets = rows.next().and_then(|row| row["packets"].as_str());
    packets.map_or(0, |packets| packets.parse().expect("a count"))
}

#[test]
fn a_flood_of_mac_addresses_fills_only_the_table_and_known_hosts_stay() {
    const FLOOD: usize = 20_000;
    const MOST: usize = 500;
    let test = "a_flood_of_mac_addresses_fills_only_the_table_and_known_hosts_stay";
    let config = format!(
        "/interface bridge add name=bridge protocol-mode=none fast-forward=no \
         max-learned-entries={MOST}\n\
         /interface bridge port add bridge=bridge interface=ether1\n\
         /interface bridge port add bridge=bridge interface=ether2\n"
    );
    let Some((lab, router)) = begin(test, &config) else {
        return;
    };
    until("the bridge joins both", || ping(&lab));

    let frame = "h(\"020000000099\") + b\"\\x02\" + r(5) + h(\"88b5\") + bytes(46)";
    send(&lab, FLOOD, frame);
    // The device counts frames that did not fit into its ring.
    until("all of it has come", || {
        let came = router.number("/interface/print stats", "ether1", "rx-packet");
        came > 2 * MOST as u64 && came + dropped(&router, "port-overrun") >= FLOOD as u64
    });
    let hosts = router.exec("/interface/bridge/host/print count-only where !local");
    let hosts: usize = hosts.trim().parse().expect("a count");
    assert!((MOST / 2..=MOST).contains(&hosts), "{hosts} hosts");
    assert!(ping(&lab), "who was known is found as before");
    assert!(router.stop().success());
}

#[test]
fn a_frame_with_an_address_of_the_bridge_is_logged_as_a_probable_loop() {
    let test = "a_frame_with_an_address_of_the_bridge_is_logged_as_a_probable_loop";
    let config = "\
        /interface bridge add name=bridge admin-mac=02:00:00:00:0b:0b auto-mac=no protocol-mode=none vlan-filtering=yes\n\
        /interface bridge port add bridge=bridge interface=ether1\n\
        /interface bridge port add bridge=bridge interface=ether2\n";
    let Some((lab, router)) = begin(test, config) else {
        return;
    };
    until("the bridge joins both", || ping(&lab));
    let port = router.value("/interface/print", "ether2", "mac-address");
    let logged = |mac: &str| {
        let line = format!(
            "ether1: bridge port received packet with own address as source address ({mac}), probably loop"
        );
        let rows = router.rows("/log/print");
        let is_it = |row: &&serde_json::Value| {
            row["topics"] == "interface,warning" && row["message"] == line.as_str()
        };
        rows.iter().filter(is_it).count()
    };
    for mac in ["02:00:00:00:0b:0b", &port.to_lowercase()] {
        let digits = mac.replace(':', "");
        let frame = format!("h(\"ffffffffffff{digits}88b5\") + bytes(46)");
        // A loop delivers more frames than the log may contain.
        until("it is logged", || {
            send(&lab, 100, &frame);
            logged(mac) > 0
        });
    }
    let hosts = router.rows("/interface/bridge/host/print where !local");
    assert!(
        hosts
            .iter()
            .all(|host| host["mac-address"] != port.as_str()),
        "{hosts:#?}"
    );
    assert!(ping(&lab), "who was known is found as before");
    assert!(router.stop().success());
}

#[test]
fn malformed_bpdus_change_no_port_and_bpdu_guard_closes_ports() {
    let test = "malformed_bpdus_change_no_port_and_bpdu_guard_closes_ports";
    let config = "\
        /interface bridge add name=bridge protocol-mode=rstp\n\
        /interface bridge port add bridge=bridge interface=ether1\n\
        /interface bridge port add bridge=bridge interface=ether2\n";
    let Some((lab, router)) = begin(test, config) else {
        return;
    };
    until("the bridge joins both", || ping(&lab));
    let sender = "h(\"0180c2000000\") + h(\"020000000001\")";
    // Half an LLC header and random bytes, of all lengths.
    let garbage = format!("{sender} + h(\"0026424203\") + r(i % 60)");
    send(&lab, 5_000, &garbage);
    assert!(ping(&lab), "what is no BPDU moves no port");
    let monitor = router.exec("/interface/bridge/monitor [find] once");
    assert!(monitor.contains("root-bridge: yes"), "{monitor}");

    router.exec("/interface/bridge/port/set [find interface=ether1] bpdu-guard=yes");
    let bpdu = format!(
        "{sender} + h(\"0027424203000000000080000200000000010000000080000200000000018001\") + h(\"0000140002000f00\") + bytes(8)"
    );
    send(&lab, 1, &bpdu);
    until("the guarded port is closed", || !ping(&lab));
    assert!(router.stop().success());
}

#[test]
fn a_host_cannot_send_into_another_vlan() {
    const FRAMES: usize = 100;
    let test = "a_host_cannot_send_into_another_vlan";
    let config = "\
        /interface bridge add name=bridge protocol-mode=none vlan-filtering=yes\n\
        /interface bridge port add bridge=bridge interface=ether1 pvid=10\n\
        /interface bridge port add bridge=bridge interface=ether2 pvid=20\n";
    let Some((lab, router)) = begin(test, config) else {
        return;
    };
    let sent = |port| router.number("/interface/print stats", port, "tx-packet");
    let before = sent("ether2");
    let addresses = "h(\"ffffffffffff\") + h(\"020000000001\")";
    // A frame with the tag of the other VLAN, and one with this tag behind a tag of its own VLAN.
    for tags in ["81000014", "8100000a81000014"] {
        send(
            &lab,
            FRAMES,
            &format!("{addresses} + h(\"{tags}88b5\") + bytes(46)"),
        );
    }
    until("the first kind is refused by name", || {
        dropped(&router, "bridge-ingress-vlan") >= FRAMES as u64
    });
    until("both kinds have come", || {
        router.number("/interface/print stats", "ether1", "rx-packet") >= 2 * FRAMES as u64
    });
    let hopped = sent("ether2") - before;
    assert!(hopped < FRAMES as u64 / 2, "{hopped} frames");
    assert!(!ping(&lab));
    assert!(router.stop().success());
}

#[test]
fn the_console_answers_during_a_broadcast_storm_which_ends_with_the_loop() {
    let test = "the_console_answers_during_a_broadcast_storm_which_ends_with_the_loop";
    let Some(lab) = lab(test, &LAYOUT) else {
        return;
    };
    shell(
        &lab,
        "router",
        "ip link add loop1 type veth peer name loop2; ip link set loop1 up; ip link set loop2 up",
    );
    let config = "\
        /interface bridge add name=bridge protocol-mode=none\n\
        /interface bridge port add bridge=bridge interface=ether1\n\
        /interface bridge port add bridge=bridge interface=ether3\n\
        /interface bridge port add bridge=bridge interface=ether4\n";
    let start = Start {
        ports: [
            "ether1=packet:ether1",
            "ether3=packet:loop1",
            "ether4=packet:loop2",
        ]
        .map(str::to_owned)
        .into(),
        ..Start::with(PACKET, config)
    };
    let router = Router::start(&lab, &start);
    let received = || router.number("/interface/print stats", "ether3", "rx-packet");
    let _ = works(&lab, "one", "ping -q -c 1 -W 1 10.1.0.2");
    until("the storm is there", || received() > 10_000);
    assert_eq!(router.exec(":put 1").trim(), "1");
    router.exec("/interface/bridge/set bridge protocol-mode=rstp");
    until("the storm ends", || {
        let before = received();
        router.exec(":delay 1s");
        received() - before < 100
    });
    assert!(router.stop().success());
}
