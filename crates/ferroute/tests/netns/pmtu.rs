//! Tests path MTU discovery with a link of 1,400 bytes behind one of 1,500: senders get errors, or routers fragment.

use lab::Lab;

use crate::throughput::{tcp_both_ways, udp};
use crate::world::{PACKET, Router, Start, have, lab, layout, output, run, shell, text, works};

const SERVER: [&str; 2] = ["198.51.100.80", "2001:db8:80::80"];

/// Configuration of the second router, if it is ferroute.
const FAR: &str = "\
/interface ethernet
set ether1 mtu=1400
/ip address
add address=203.0.113.1/24 interface=ether1
add address=198.51.100.1/24 interface=ether2
/ip route
add dst-address=192.168.88.0/24 gateway=203.0.113.2
/ipv6 address
add address=2001:db8:1::1/64 advertise=no interface=ether1
add address=2001:db8:80::1/64 advertise=no interface=ether2
/ipv6 route
add dst-address=2001:db8:88::/64 gateway=2001:db8:1::2
";

fn routers(lab: &Lab) -> [Router; 2] {
    let near = Start::with(PACKET, layout("pmtu").config);
    let far = Start {
        host: "far",
        ports: vec!["ether1=packet:eth0".into(), "ether2=packet:eth1".into()],
        ..Start::with(PACKET, FAR)
    };
    [Router::start(lab, &near), Router::start(lab, &far)]
}

#[test]
fn the_sender_of_an_oversized_packet_with_df_learns_the_mtu() {
    let test = "the_sender_of_an_oversized_packet_with_df_learns_the_mtu";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("pmtu")))
        .flatten()
    else {
        return;
    };
    let _routers = routers(&lab);

    for (host, protocol, peer, data) in [
        ("client", 4, SERVER[0], 1472),
        ("client", 6, SERVER[1], 1452),
        ("server", 4, "192.168.88.10", 1472),
        ("server", 6, "2001:db8:88::10", 1452),
    ] {
        let ping = |size: u32| format!("ping -{protocol} -M do -c 1 -W 10 -s {size} {peer}");
        let said = text(&output(&lab, host, &ping(data)).stdout);
        assert!(
            said.contains("mtu = 1400") || said.contains("mtu=1400"),
            "{host}: {said}"
        );

        let known = run(&lab, host, &format!("ip route get {peer}"));
        assert!(known.contains("mtu 1400"), "{host}: {known}");
        run(&lab, host, &ping(data - 100));
    }
}

#[test]
fn tcp_finds_the_path_mtu_in_both_directions() {
    let test = "tcp_finds_the_path_mtu_in_both_directions";
    let Some(lab) = have(test, &["iperf3"])
        .then(|| lab(test, layout("pmtu")))
        .flatten()
    else {
        return;
    };
    let _routers = routers(&lab);

    for address in SERVER {
        tcp_both_ways(&lab, address, 20);
    }
}

#[test]
fn ipv4_datagrams_without_df_are_fragmented_by_the_router_and_ipv6_by_the_sender() {
    let test = "ipv4_datagrams_without_df_are_fragmented_by_the_router_and_ipv6_by_the_sender";
    let programs = ["iperf3", "ping"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("pmtu")))
        .flatten()
    else {
        return;
    };
    let routers = routers(&lab);
    // A host without path MTU discovery sends packets without DF, which routers fragment (RFC 1191, 5).
    for host in ["client", "server"] {
        shell(&lab, host, "echo 1 > /proc/sys/net/ipv4/ip_no_pmtu_disc");
    }

    run(
        &lab,
        "client",
        &format!("ping -q -M dont -c 5 -i 0.01 -W 10 -s 1472 {}", SERVER[0]),
    );
    run(
        &lab,
        "client",
        &format!("ping -q -M dont -c 5 -i 0.01 -W 10 -s 8000 {}", SERVER[0]),
    );
    run(
        &lab,
        "server",
        "ping -q -M dont -c 5 -i 0.01 -W 10 -s 1472 192.168.88.10",
    );
    udp(&lab, &routers, SERVER[0], 2, 1472);
    let known = run(&lab, "client", &format!("ip route get {}", SERVER[0]));
    assert!(
        !known.contains("mtu"),
        "the client was told, and cut by itself: {known}"
    );

    // No router fragments IPv6 (RFC 8200, 5): the sender learns the MTU and fragments.
    assert!(!works(
        &lab,
        "client",
        &format!("ping -q -M do -c 1 -W 10 -s 1452 {}", SERVER[1])
    ));
    udp(&lab, &routers, SERVER[1], 2, 1452);
}
