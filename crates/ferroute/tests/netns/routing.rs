//! Tests routing: all packets pass and are counted, and the router answers at its addresses.

use lab::Holding;
use lab::testing::skip;

use crate::world::{
    PACKET, Router, Start, have, lab, lab_held, layout, output, run, shell, text, until,
};

/// Link-local address of the LAN port, derived from its MAC address (RFC 4291, appendix A).
const LAN_LINK_LOCAL: &str = "fe80::ff:fe00:201%eth0";

/// Sends a hundred echo requests at once and waits five seconds for the last reply. `ping` waits for twice the longest
/// round trip, but at least for the interval `-i`, which preloaded requests ignore. `-f` has no interval, so on a busy
/// machine the last reply may come too late; `-W` counts only until the first reply, and `-w` sends more requests than
/// `-c`.
const HUNDRED: &str = "-q -l 100 -c 100 -i 5";

fn flood(destination: &str, protocol: u8) {
    let test = format!("ten_thousand_pings_arrive_and_are_counted_ipv{protocol}");
    let Some(lab) = have(&test, &["ping"])
        .then(|| lab(&test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let counters = || {
        ["ether1", "ether2"].map(|port| {
            ["rx-packet", "tx-packet", "rx-byte", "tx-byte"]
                .map(|counter| router.number("/interface/print stats", port, counter))
        })
    };
    let before = counters();

    // The first ping resolves the neighbours, for which only few packets wait.
    run(
        &lab,
        "client",
        &format!("ping -{protocol} -q -c 1 {destination}"),
    );
    let said = shell(
        &lab,
        "client",
        &format!("for n in $(seq 100); do ping -{protocol} {HUNDRED} {destination}; done"),
    );

    let all = "100 packets transmitted, 100 received, 0% packet loss";
    assert_eq!(said.matches(all).count(), 100, "{said}");
    for (before, after) in before.iter().zip(counters()) {
        let grown: Vec<_> = before
            .iter()
            .zip(after)
            .map(|(before, after)| after - before)
            .collect();
        assert!(
            grown[0] >= 10_000 && grown[1] >= 10_000,
            "packets: {grown:?}"
        );
        // 56 bytes of data, 8 of ICMP, 20 or 40 of IP, 14 of Ethernet.
        let octets = 10_000 * if protocol == 4 { 98 } else { 118 };
        assert!(grown[2] >= octets && grown[3] >= octets, "bytes: {grown:?}");
    }
    let fast = format!("ipv{protocol}-fast-path-packets");
    let menu = if protocol == 4 {
        "/ip/settings/print"
    } else {
        "/ipv6/settings/print"
    };
    // All except the few packets that waited for a neighbour's address.
    assert!(router.number(menu, "", &fast) >= 19_900);
}

#[test]
fn ten_thousand_pings_arrive_and_are_counted_ipv4() {
    flood("203.0.113.1", 4);
}

#[test]
fn ten_thousand_pings_arrive_and_are_counted_ipv6() {
    flood("2001:db8:1::1", 6);
}

#[test]
fn the_default_route_reaches_remote_networks_and_secondary_addresses_answer() {
    let test = "the_default_route_reaches_remote_networks_and_secondary_addresses_answer";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let _router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    for address in [
        "198.51.100.80",
        "2001:db8:80::80",
        "192.168.88.1",
        "203.0.113.2",
        "2001:db8:88::1",
        "2001:db8:1::2",
        LAN_LINK_LOCAL,
    ] {
        run(
            &lab,
            "client",
            &format!("ping -q -c 3 -i 0.01 -W 10 {address}"),
        );
    }
}

#[test]
fn a_destination_without_a_route_is_answered_as_unreachable() {
    let test = "a_destination_without_a_route_is_answered_as_unreachable";
    let Some(lab) = have(test, &["ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let lan_only = "/ip address add address=192.168.88.1/24 interface=ether2\n\
                    /ipv6 address add address=2001:db8:88::1/64 interface=ether2\n";
    let _router = Router::start(&lab, &Start::with(PACKET, lan_only));

    for (address, router, reason) in [
        (
            "198.51.100.80",
            "192.168.88.1",
            "Destination Net Unreachable",
        ),
        (
            "2001:db8:80::80",
            "2001:db8:88::1",
            "Destination unreachable: No route",
        ),
    ] {
        let said = text(&output(&lab, "client", &format!("ping -c 1 -W 10 {address}")).stdout);
        assert!(
            said.contains(&format!("From {router}")) && said.contains(reason),
            "{said}"
        );
    }
}

#[test]
fn a_host_configures_an_address_from_the_routers_advertisement() {
    let test = "a_host_configures_an_address_from_the_routers_advertisement";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    run(&lab, "client", "ip -6 route delete default");
    let _router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    until(
        "the client has an address of the LAN's prefix and a default route",
        || {
            let addresses = run(
                &lab,
                "client",
                "ip -6 address show dev eth0 scope global dynamic",
            );
            let routes = run(&lab, "client", "ip -6 route show default proto ra");
            addresses.contains("2001:db8:88:") && routes.contains("fe80::ff:fe00:201")
        },
    );
}

#[test]
fn advertisements_contain_all_configured_options() {
    let test = "advertisements_contain_all_configured_options";
    let Some(lab) = have(test, &["tcpdump"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    // The LAN has no address with an advertised prefix, but still gets advertisements.
    let config = "/ipv6/address\n\
        add address=2001:db8:88::1/64 interface=ether2 advertise=no\n\
        /ip/dns set servers=2001:db8::77\n\
        /ipv6/nd/prefix/default set valid-lifetime=3h preferred-lifetime=2h\n\
        /ipv6/nd/prefix\n\
        add interface=ether2 prefix=2001:db8:a::/64 valid-lifetime=infinity preferred-lifetime=1h on-link=no\n\
        add interface=ether2 prefix=2001:db8:b::/64 autonomous=no\n\
        add interface=ether1 prefix=2001:db8:c::/64\n\
        /ipv6/nd\n\
        add interface=ether2 ra-interval=3s-4s ra-lifetime=20m mtu=1400 hop-limit=33 reachable-time=12s \
        retransmit-interval=2s ra-preference=high managed-address-configuration=yes other-configuration=yes \
        pref64=64:ff9b::/96\n";
    let router = Router::start(&lab, &Start::with(PACKET, config));
    let capture = "timeout 20 tcpdump -vvv -l -n -i eth0 -c 1 icmp6 and ip6[40] == 134";

    let said = run(&lab, "client", capture);

    for part in [
        "hop limit 33, Flags [managed, other stateful], pref high, router lifetime 1200s, reachable time 12000ms, \
         retrans timer 2000ms",
        "2001:db8:a::/64, Flags [auto], valid time infinity, pref. time 3600s",
        "2001:db8:b::/64, Flags [onlink], valid time 10800s, pref. time 7200s",
        "mtu option (5), length 8 (1):  1400",
        "rdnss option (25), length 24 (3):  lifetime 12s, addr: 2001:db8::77",
        "source link-address option (1), length 8 (1)",
        // Three times the interval in units of eight seconds, and the code of the prefix length (RFC 8781, 4).
        "0010 0064 ff9b 0000 0000 0000 0000",
    ] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    assert!(!said.contains("2001:db8:c::"), "{said}");
    assert!(!said.contains("2001:db8:88::/64"), "{said}");

    router.exec("/ipv6/nd/set [find interface=ether2] advertise-dns=no");
    until("nobody is told of servers", || {
        !run(&lab, "client", capture).contains("rdnss")
    });
}

#[test]
fn anybody_can_route_in_a_user_namespace() {
    let test = "anybody_can_route_in_a_user_namespace";
    match Holding::Held.refusal() {
        Ok(None) => {}
        Ok(Some(refusal)) => return skip(test, &refusal),
        Err(error) => return skip(test, &error.to_string()),
    }
    if !have(test, &["ping"]) {
        return;
    }
    let lab = lab_held(test, layout("plain"), Holding::Held);
    let _router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    for address in ["203.0.113.1", "2001:db8:1::1"] {
        run(
            &lab,
            "client",
            &format!("ping -q -c 20 -i 0.01 -W 10 {address}"),
        );
    }
}
