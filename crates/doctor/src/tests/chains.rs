//! Interface lists, uplinks, uncertain matchers and jumps of chains.

use super::{WAN, found};
use crate::config::Config;

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
