//! Interface lists, uncertain matchers and jumps of chains.

use super::{WAN, found};

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
