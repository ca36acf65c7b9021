//! Tests snooping by bridges, with hosts of the kernel: multicast group membership, and DHCP servers at untrusted
//! ports.

use lab::Lab;

use crate::world::{PACKET, Router, Start, have, lab, layout, output, run, shell, until};

/// Number of frames that a test sends, and the tolerance for unrelated frames.
const FRAMES: u64 = 200;
const NOISE: u64 = 100;

/// Hosts and their devices: the client is behind `ether2`, the server behind `ether1`, and a silent host behind
/// `ether3`.
const CLIENT: (&str, &str) = ("client", "eth0");
const SERVER: (&str, &str) = ("server", "eth0");
const THIRD: (&str, &str) = ("router", "third");

fn bridge(lab: &Lab, settings: &str) -> Router {
    let third = "ip link add ether3 type veth peer name third; ip link set ether3 up; \
                 ip link set third up";
    shell(lab, "router", third);
    let mut config = format!("/interface/bridge\nadd name=bridge1 protocol-mode=none {settings}\n");
    config += "/interface/bridge/port\n";
    let ports = ["ether1", "ether2", "ether3"];
    for port in ports {
        config += &format!("add bridge=bridge1 interface={port}\n");
    }
    let start = Start {
        ports: ports.map(|port| format!("{port}=packet:{port}")).into(),
        ..Start::with(PACKET, &config)
    };
    Router::start(lab, &start)
}

/// Returns the number of frames that a host has received.
fn received(lab: &Lab, (host, device): (&str, &str)) -> u64 {
    let said = run(lab, host, &format!("ip -s link show {device}"));
    let mut lines = said.lines().skip_while(|line| !line.contains("RX:"));
    let counts = lines.nth(1).unwrap_or_default();
    let packets = counts.split_whitespace().nth(1);
    let packets = packets.and_then(|packets| packets.parse().ok());
    packets.expect("a number of packets")
}

/// Returns the number of frames that two hosts receive during `send`.
fn receive(lab: &Lab, hosts: [(&str, &str); 2], send: impl FnOnce()) -> [u64; 2] {
    let before = hosts.map(|host| received(lab, host));
    send();
    let [one, other] = hosts.map(|host| received(lab, host));
    [one - before[0], other - before[1]]
}

#[test]
fn a_group_reaches_only_hosts_that_joined_it() {
    let test = "a_group_reaches_only_hosts_that_joined_it";
    let lab = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten();
    let Some(lab) = lab else { return };
    let settings = "igmp-snooping=yes multicast-querier=yes startup-query-interval=1s";
    let router = bridge(&lab, settings);
    let groups = || router.exec("/interface/bridge/mdb/print without-paging");
    let hosts = [SERVER, THIRD];
    let send = || {
        let ping = format!("ping -q -c {FRAMES} -i 0.005 -W 1 -I eth0 239.7.7.7");
        // No host answers pings of a group.
        output(&lab, "client", &ping);
    };

    let join = "ip address add 239.7.7.7/32 dev eth0 autojoin";
    run(&lab, "server", join);
    until("the group is known", || groups().contains("239.7.7.7"));
    let shown = groups();
    let row = shown.lines().find(|line| line.contains("239.7.7.7"));
    let is_right = |row: &str| row.contains("ether1") && !row.contains("ether3");
    assert!(row.is_some_and(is_right), "{shown}");
    let [joined, other] = receive(&lab, hosts, send);
    assert!(joined >= FRAMES && other < NOISE, "{joined} {other}");

    run(&lab, "server", "ip address del 239.7.7.7/32 dev eth0");
    until("the group is forgotten", || !groups().contains("239.7.7.7"));
    let [left, _] = receive(&lab, hosts, send);
    assert!(left < NOISE, "{left}");
    // A configured port receives the group without a report.
    router.exec("/interface/bridge/mdb/add bridge=bridge1 group=239.7.7.7 interface=ether3");
    let [other, named] = receive(&lab, hosts, send);
    assert!(other < NOISE && named >= FRAMES, "{other} {named}");
    assert!(router.stop().success());
}

#[test]
fn dhcp_servers_are_accepted_only_at_trusted_ports() {
    let test = "dhcp_servers_are_accepted_only_at_trusted_ports";
    let lab = have(test, &["python3"])
        .then(|| lab(test, layout("plain")))
        .flatten();
    let Some(lab) = lab else { return };
    let router = bridge(&lab, "dhcp-snooping=yes");
    let offer = || {
        let script = format!(
            "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
             s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b\"eth0\"); \
             s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1); s.bind((\"\", 67)); \
             [s.sendto(bytes([2]) + bytes(299), (\"255.255.255.255\", 68)) \
             for _ in range({FRAMES})]'"
        );
        shell(&lab, "server", &script);
    };
    let heard = || receive(&lab, [CLIENT, THIRD], offer);

    let rogue = receive(&lab, [CLIENT, THIRD], || {
        offer();
        until("all offers have come", || {
            let print = "/interface/print stats";
            router.number(print, "ether1", "rx-packet") >= FRAMES
        });
    });
    assert!(rogue.iter().all(|heard| *heard < NOISE), "{rogue:?}");
    router.exec("/interface/bridge/port/set [find interface=ether1] trusted=yes");
    until("the server is heard", || {
        heard().iter().all(|heard| *heard >= FRAMES)
    });
    assert!(router.stop().success());
}
