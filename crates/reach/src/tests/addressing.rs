//! Addresses of the router, of lists and of interfaces, some of them known only at run time.

use super::{HOME, ROUTER, accepted, answers, query};
use crate::Query;

const INSIDE: &str = "192.168.88.0/24";
const LOCAL: &str = "/ip/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp dst-port=443 \
                     dst-address-type=local to-addresses=192.168.88.9\n";

#[test]
fn networks_of_the_other_family_and_of_pools_lead_nowhere() {
    let text = [
        HOME,
        "/ipv6/address/add address=::1/64 from-pool=isp interface=ether5\n\
         /ipv6/address/add address=::2:1/112 interface=ether6\n",
    ]
    .concat();
    let outside = accepted(&text, "ether2", "198.51.100.9");
    assert_eq!(outside, ["in=ether2 out=ether1 dst=198.51.100.9 state=new"]);
    let question = Query {
        is_ipv6: true,
        ..query("ether2", "::7")
    };
    assert_eq!(
        answers(&text, &question),
        ["in=ether2 out=ether1 dst=::7 state=new"]
    );
}

#[test]
fn local_addresses_are_undecided_where_some_are_assigned() {
    let text = [HOME, LOCAL].concat();
    let expected = "in=ether1 out=ether2 dst=192.168.88.9 protocol=tcp dst-port=443 state=new";
    assert_eq!(
        accepted(&text, "wan", INSIDE),
        [format!("{expected} ?dst-address-type")]
    );
    let fixed = text.replace(
        "/ip/dhcp-client/add interface=ether1",
        "/ip/address/add address=203.0.113.2/24 interface=ether1\n/ip/route/add gateway=203.0.113.1",
    );
    assert_eq!(accepted(&fixed, "wan", INSIDE), [expected]);
}

#[test]
fn open_ports_of_assigned_addresses_are_listed() {
    for client in [
        "/ip/dhcp-client/add interface=ether1",
        "/interface/pppoe-client/add name=up interface=ether1 disabled=no",
        "/interface/l2tp-client/add name=up connect-to=198.51.100.1 disabled=no",
        "/ip/pool/add name=pool ranges=10.0.0.2-10.0.0.9\n/ppp/profile/add name=users local-address=pool",
    ] {
        let text = HOME.replace("/ip/dhcp-client/add interface=ether1", client);
        let open = accepted(&text, "ether2", "router");
        assert!(open[0].contains(&format!("dst={ROUTER}")), "{open:?}");
    }
    let fixed = HOME.replace(
        "/ip/dhcp-client/add interface=ether1",
        "/ppp/profile/add name=users local-address=10.0.0.1",
    );
    let open = accepted(&fixed, "ether2", "router");
    assert!(open[0].contains("dst=10.0.0.1,192.168.88.1 "), "{open:?}");
    let pool = "/ipv6/address/add address=::1/64 from-pool=isp interface=ether2\n";
    let question = Query {
        is_ipv6: true,
        ..query("ether1", "router")
    };
    assert_eq!(
        answers(&[HOME, pool].concat(), &question),
        ["in=ether1 state=new"]
    );
    let fixed = "/ipv6/address/add address=2001:db8::1/64 interface=ether2\n";
    assert_eq!(
        answers(&[HOME, fixed].concat(), &question),
        ["in=ether1 dst=2001:db8::1,fe80::-febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff state=new"]
    );
}

#[test]
fn static_routes_lead_to_interfaces() {
    let routes = "/ip/route/add dst-address=10.20.0.0/16 gateway=192.168.88.2\n\
                  /ip/route/add dst-address=10.20.7.0/24 gateway=ether4\n\
                  /ip/address/add address=10.99.0.1/24 interface=ether3\n";
    let text = [HOME, routes].concat();
    for (address, interface) in [
        ("10.20.1.0/24", "ether2"),
        ("10.20.7.0/24", "ether4"),
        ("10.20.6.0-10.20.7.9", "ether2,ether4"),
        ("10.19.0.0-10.20.0.7", "ether1,ether2"),
    ] {
        let answers = accepted(&text, "ether3", address);
        let expected = format!("in=ether3 out={interface} dst=");
        assert!(
            answers.iter().all(|line| line.starts_with(&expected)),
            "{answers:?}"
        );
        assert_eq!(answers.len(), 1);
    }
    let behind = accepted(&text, "10.20.1.1", "203.0.113.9");
    assert_eq!(
        behind,
        ["in=ether2 out=ether1 src=10.20.1.1 dst=203.0.113.9 state=new"]
    );
    let router = accepted(&text, "ether3", "router");
    assert!(!router[0].contains("10.20."), "{router:?}");
}

#[test]
fn lists_that_fill_at_run_time_are_undecided() {
    let rules = "/ip/firewall/filter\nadd chain=forward action=accept src-address-list=users in-interface=ether3\n\
                 add chain=forward action=drop in-interface=ether3\n";
    let fixed = "/ip/firewall/address-list/add list=users address=198.51.100.7\n";
    let base = [HOME, rules].concat();
    assert_eq!(
        accepted(&[&base, fixed].concat(), "ether3", "ether2"),
        [
            "in=ether3 out=ether2 src=198.51.100.7 dst=0.0.0.0-192.168.88.0,192.168.88.2-255.255.255.255 state=new"
        ]
    );
    let unsure = "in=ether3 out=ether2 dst=0.0.0.0-192.168.88.0,192.168.88.2-255.255.255.255 state=new \
                  ?src-address-list";
    assert_eq!(accepted(&base, "ether3", "ether2"), [unsure]);
    for filled in [
        "/ppp/profile/add name=users address-list=users\n",
        "/ip/hotspot/user/profile/add name=users address-list=users\n",
        "/ip/dhcp-server/add name=lan interface=ether2 address-lists=others,users\n",
        "/ip/dhcp-server/lease/add address=192.168.88.7 mac-address=02:00:00:00:00:07 address-lists=users\n",
        "/ip/dns/static/add name=a.example type=FWD forward-to=192.0.2.1 address-list=users\n",
        "/ip/firewall/mangle/add chain=forward action=add-src-to-address-list address-list=users\n",
    ] {
        let text = [&base, fixed, filled].concat();
        assert_eq!(accepted(&text, "ether3", "ether2"), [unsure], "{filled}");
    }
}

#[test]
fn names_of_no_interface_are_undecided() {
    for name in ["all-ethernet", "all-ppp", "red"] {
        let rules = format!(
            "/ip/firewall/filter\nadd chain=forward action=accept in-interface={name}\n\
             add chain=forward action=drop in-interface=ether3\n"
        );
        let vrf = "/ip/vrf/add name=red interfaces=ether3\n";
        let answers = accepted(&[HOME, vrf, &rules].concat(), "ether3", "ether2");
        assert_eq!(answers.len(), 1, "{name}: {answers:?}");
        assert!(answers[0].ends_with(" ?in-interface"), "{answers:?}");
    }
}

#[test]
fn a_negated_undecided_matcher_keeps_its_packets() {
    let rules = "/ip/firewall/filter\nadd chain=forward action=accept src-address-list=!bad in-interface=ether3\n\
                 add chain=forward action=accept dst-address-type=!local in-interface=ether4\n\
                 add chain=forward action=drop in-interface=ether3\n\
                 add chain=forward action=drop in-interface=ether4\n";
    let text = [HOME, rules].concat();
    for interface in ["ether3", "ether4"] {
        let answers = accepted(&text, interface, "192.168.88.9");
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(answers[0].contains(" ?"), "{answers:?}");
    }
}
