//! A hop of 1,400 bytes behind one of 1,500: senders are told, or the router cuts.

use lab::Lab;

use crate::throughput::{tcp_both_ways, udp};
use crate::world::{PACKET, Router, Start, have, lab, layout, output, run, shell, text, works};

const SERVER: [&str; 2] = ["198.51.100.80", "2001:db8:80::80"];

/// The second router's configuration, when it is ferroute as well.
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
fn the_sender_of_a_packet_that_must_not_be_cut_is_told_the_size_that_fits() {
    let test = "the_sender_of_a_packet_that_must_not_be_cut_is_told_the_size_that_fits";
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
fn tcp_finds_the_size_that_fits_both_ways() {
    let test = "tcp_finds_the_size_that_fits_both_ways";
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
fn datagrams_that_may_be_cut_are_cut_by_the_router_and_others_by_their_sender() {
    let test = "datagrams_that_may_be_cut_are_cut_by_the_router_and_others_by_their_sender";
    let programs = ["iperf3", "ping"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("pmtu")))
        .flatten()
    else {
        return;
    };
    let routers = routers(&lab);
    // A host that does not look for the path's MTU leaves it to the routers (RFC 1191, 5).
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

    // No router cuts IPv6 (RFC 8200, 5): the sender learns and does it.
    assert!(!works(
        &lab,
        "client",
        &format!("ping -q -M do -c 1 -W 10 -s 1452 {}", SERVER[1])
    ));
    udp(&lab, &routers, SERVER[1], 2, 1452);
}
