//! Interface lists, uplinks, uncertain matchers and jumps of chains.

use super::{WAN, found};
use crate::config::Config;
use crate::routes::Routes;

#[test]
fn nested_interface_lists_count_and_excluded_members_do_not() {
    let lists = "/interface/list/add name=inner\n/interface/list/add name=WAN include=inner\n\
                 /interface/list/member/add list=inner interface=ether1\n";
    let rules = "/ip/firewall/filter/add chain=input action=drop in-interface-list=WAN";
    let dropped = [WAN, lists, rules].concat();
    assert!(!found(&dropped).contains("input-open-wan"));
    let excepted = dropped.replace("include=inner", "include=all exclude=inner");
    assert!(found(&excepted).contains("input-open-wan"));
}

#[test]
fn uncertain_matches_are_no_findings_and_cyclic_jumps_terminate() {
    let trusted = "/ip/firewall/filter/add chain=input action=return src-address-list=trusted\n\
                   /ip/firewall/filter/add chain=input action=drop\n";
    assert!(!found(&[WAN, trusted].concat()).contains("input-open-wan"));
    let mut jumps = String::from(WAN);
    for (chain, target) in [
        ("input", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "d"),
        ("d", "e"),
    ] {
        let jump =
            format!("/ip/firewall/filter/add chain={chain} action=jump jump-target={target}\n");
        jumps.push_str(&jump.repeat(40));
    }
    // A hundred million paths through these chains.
    found(&jumps);
}

/// Returns the interfaces towards the Internet.
fn uplinks(text: &str) -> Vec<String> {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert!(report.refused.is_empty(), "{text}: {:?}", report.refused);
    let config = Config::of(&store);
    config.wan().into_iter().map(str::to_owned).collect()
}

#[test]
fn nat_for_some_destinations_names_no_uplink() {
    let hairpin = "/ip/firewall/nat/add chain=srcnat action=masquerade src-address=192.168.88.0/24 out-interface=ether2";
    for matcher in [
        "dst-address=192.168.88.0/24",
        "dst-address-list=servers",
        "dst-address=192.168.88.9-192.168.88.20",
    ] {
        let text = [WAN, hairpin, " ", matcher].concat();
        assert_eq!(uplinks(&text), ["ether1"], "{matcher}");
    }
    let other = [WAN, hairpin, " dst-address=!192.168.88.0/24"].concat();
    assert_eq!(uplinks(&other), ["ether1", "ether2"]);
}

#[test]
fn uplinks_of_lists_are_their_members_with_included_lists() {
    let lists = "/interface/list/add name=inner\n/interface/list/add name=outer\n\
                 /interface/list/member/add list=inner interface=ether2\n\
                 /interface/list/member/add list=outer interface=ether3\n\
                 /interface/list/member/add list=outer interface=ether2\n";
    let nat = "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface-list=up\n";
    let included = [lists, "/interface/list/add name=up include=outer\n", nat].concat();
    assert_eq!(uplinks(&included), ["ether2", "ether3"]);
    let excluded = included.replace("include=outer", "include=outer exclude=inner");
    assert_eq!(uplinks(&excluded), ["ether3"]);
}

#[test]
fn groups_of_interfaces_are_uncertain() {
    let rules = "/ip/firewall/filter/add chain=input action=drop in-interface=all-ethernet\n";
    assert!(!found(&[WAN, rules].concat()).contains("input-open-wan"));
    let other = rules.replace("all-ethernet", "ether2");
    assert!(found(&[WAN, &other].concat()).contains("input-open-wan"));
}

#[test]
fn routes_lead_to_interfaces_by_address_name_and_both() {
    let text = "/ip/address/add address=192.168.88.1/24 interface=ether2\n\
                /ipv6/address/add address=::1/64 from-pool=isp interface=ether2\n/ip/route\n\
                add dst-address=10.20.0.0/16 gateway=192.168.88.2\n\
                add dst-address=10.30.0.0/16 gateway=192.168.88.2%ether4\n\
                add dst-address=10.40.0.0/16 gateway=ether3\nadd dst-address=10.40.0.0/16 gateway=ether5 distance=2\n\
                add dst-address=10.50.0.0/16 blackhole=yes\n";
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert!(report.refused.is_empty(), "{:?}", report.refused);
    let routes = Routes::of(&Config::of(&store));
    let towards = |address: &str| {
        let (net, _) = routes.towards(address.parse().expect("an address"))?;
        Some(routes.interfaces(&net).join(","))
    };
    for (address, interfaces) in [
        ("10.20.1.1", Some("ether2")),
        ("10.30.1.1", Some("ether4")),
        ("10.40.1.1", Some("ether3,ether5")),
        ("10.50.1.1", Some("")),
        ("10.60.1.1", None),
        ("::7", None),
    ] {
        assert_eq!(towards(address).as_deref(), interfaces, "{address}");
    }
    let address = "10.20.1.1".parse().expect("an address");
    assert_eq!(routes.interface_towards(address).as_deref(), Some("ether2"));
}

#[test]
fn prefixes_of_pools_are_no_networks() {
    let text = "/ipv6/address/add address=::1/64 from-pool=isp interface=ether2\n\
                /ipv6/address/add address=::1/64 from-pool=isp interface=ether3\n";
    assert!(!found(text).contains("network-twice"));
    let fixed = text.replace("::1/64 from-pool=isp", "2001:db8::1/64");
    assert!(found(&fixed).contains("network-twice"));
}
