//! Rules of `dstnat`: which packets are translated, and where they leave.

use std::fmt::Write as _;

use super::{HOME, WEB, accepted, answers, number_of, query, store};
use crate::{Mistake, Query, Router};

const INSIDE: &str = "192.168.88.0/24";
const SERVER: &str = "in=ether1 out=ether2 dst=192.168.88.9 protocol=tcp dst-port=80 state=new";

#[test]
fn rules_that_do_not_translate_leave_packets_to_later_ones() {
    for action in [
        "log",
        "passthrough",
        "add-src-to-address-list address-list=seen",
        "jump jump-target=empty",
    ] {
        let first = format!("/ip/firewall/nat/add chain=dstnat action={action}\n");
        let text = [HOME, &first, WEB].concat();
        assert_eq!(accepted(&text, "wan", INSIDE), [SERVER], "{action}");
    }
    for action in ["accept", "return"] {
        let first = format!("/ip/firewall/nat/add chain=dstnat action={action} protocol=tcp\n");
        let text = [HOME, &first, WEB].concat();
        assert!(accepted(&text, "wan", INSIDE).is_empty(), "{action}");
    }
}

#[test]
fn chains_of_nat_are_walked_and_returned_from() {
    let chain = WEB.replace("chain=dstnat", "chain=ports");
    let jump = "/ip/firewall/nat/add chain=dstnat action=jump jump-target=ports\n";
    let jumped = [HOME, jump, &chain].concat();
    assert_eq!(accepted(&jumped, "wan", INSIDE), [SERVER]);
    let back = "/ip/firewall/nat/add chain=ports action=return src-address=198.51.100.0/24\n";
    let other = WEB.replace("to-addresses=192.168.88.9", "to-addresses=192.168.88.10");
    let returned = [HOME, jump, back, &chain, &other].concat();
    let sources = "src=0.0.0.0-198.51.99.255,198.51.101.0-255.255.255.255";
    assert_eq!(
        accepted(&returned, "wan", INSIDE),
        [
            SERVER.replace("dst=", &format!("{sources} dst=")),
            SERVER
                .replace("dst=", "src=198.51.100.0-198.51.100.255 dst=")
                .replace("88.9", "88.10"),
        ]
    );
    let cycle = "/ip/firewall/nat/add chain=ports action=jump jump-target=ports\n";
    let cyclic = [HOME, jump, cycle, &chain].concat();
    assert_eq!(accepted(&cyclic, "wan", INSIDE), [SERVER]);
}

#[test]
fn ranges_of_ports_replace_the_port() {
    let text = [HOME, &WEB.replace("to-ports=80", "to-ports=5000-5199")].concat();
    let expected = SERVER.replace("dst-port=80", "dst-port=5000-5199");
    assert_eq!(accepted(&text, "wan", INSIDE), [expected]);
}

#[test]
fn forwards_of_ipv6_have_one_address() {
    let text = "/ipv6/address/add address=2001:db8::1/64 interface=ether2\n\
                /interface/pppoe-client/add name=up interface=ether1 disabled=no\n\
                /ipv6/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp dst-port=8080 in-interface=up \
                to-address=2001:db8::9/128 to-ports=80\n\
                /ipv6/firewall/filter/add chain=forward action=drop connection-nat-state=!dstnat\n";
    let question = Query {
        is_ipv6: true,
        ..query("wan", "2001:db8::/64")
    };
    let expected = "in=up out=ether2 dst=2001:db8::9 protocol=tcp dst-port=80 state=new";
    assert_eq!(answers(text, &question), [expected]);
}

#[test]
fn a_forward_to_another_interface_is_no_answer() {
    let text = [
        HOME,
        WEB,
        "/ip/address/add address=10.0.0.1/24 interface=ether3\n",
    ]
    .concat();
    assert!(accepted(&text, "wan", "ether3").is_empty());
    assert_eq!(accepted(&text, "wan", "ether2"), [SERVER]);
}

#[test]
fn redirected_packets_get_to_the_router_only() {
    let dns = "/ip/firewall/nat/add chain=dstnat action=redirect protocol=udp dst-port=53 to-ports=5353 \
               in-interface=ether2\n";
    let text = [HOME, dns].concat();
    let router = accepted(&text, "ether2", "router");
    let is_redirected = |line: &String| line.contains("protocol=udp dst-port=5353");
    assert!(router.iter().any(is_redirected), "{router:?}");
    let outside = accepted(&text, "ether2", "ether1");
    assert!(!outside.is_empty());
    assert!(!outside.iter().any(is_redirected), "{outside:?}");
}

#[test]
fn thousands_of_forwards_and_addresses_are_answered() {
    let mut text = String::from(HOME);
    for at in 0..3000 {
        let (high, low) = (at / 250, at % 250);
        writeln!(
            text,
            "/ip/address/add address=10.{high}.{low}.1/24 interface=ether3"
        )
        .expect("text");
        writeln!(
            text,
            "/ip/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp in-interface=ether1 dst-port={} \
             to-addresses=10.{high}.{low}.9 to-ports=80",
            10_000 + at
        )
        .expect("text");
    }
    assert_eq!(accepted(&text, "wan", "ether3").len(), 3000);
    let one = accepted(&text, "wan", "10.3.7.0/24");
    assert_eq!(one.len(), 1, "{one:?}");
    let mut matched = 0;
    let lines = text.lines().map(|line| {
        matched += 1;
        let (high, low) = (matched / 250, matched % 250);
        let matcher = format!("dst-address=203.{high}.{low}.2 in-interface=ether1");
        line.replace(
            "protocol=tcp in-interface=ether1",
            &format!("protocol=tcp {matcher}"),
        )
    });
    let mapped = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(accepted(&mapped, "wan", "ether3").len(), 3000);
}

#[test]
fn chains_that_jump_to_each_other_terminate() {
    let mut text = String::from(HOME);
    for (chain, target) in [
        ("dstnat", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
        ("d", "e"),
    ] {
        let jump = format!("/ip/firewall/nat/add chain={chain} action=jump jump-target={target}\n");
        text.push_str(&jump.repeat(20));
    }
    let text = store(&text);
    let interfaces = Router::interfaces(&[&text]);
    let router = Router::new(&text, &interfaces, false, number_of);
    let answer = router.ask(&query("wan", INSIDE));
    assert!(matches!(answer, Err(Mistake::TooManyClasses)));
}
