//! Spellings that existing scripts use.

use super::Console;

/// Runs lines one after the other and returns the output of the last one.
fn last_of(lines: &[&str]) -> String {
    let mut console = Console::new();
    let said = lines.iter().map(|line| console.run(line));
    said.last().unwrap_or_default().trim_end().to_owned()
}

#[test]
fn the_advertisement_of_all_interfaces_is_found_as_the_default_and_turned_off() {
    let mut console = Console::new();
    console.quietly(&["/ipv6/nd/set [find default=yes] disabled=yes"]);

    let export = console.run("/ipv6/nd/export");
    assert!(
        export.contains("set [ find default=yes ] disabled=yes"),
        "{export}"
    );
}

#[test]
fn values_with_commas_between_are_one_value_of_an_argument() {
    let servers = |value: &str| {
        last_of(&[
            ":global a 1.1.1.1; :global b 2.2.2.2",
            &format!("/ip/dns/set servers={value}"),
            ":put [/ip/dns/get servers]",
        ])
    };
    assert_eq!(servers("$a,$b"), "1.1.1.1;2.2.2.2");
    assert_eq!(servers("9.9.9.9,$b"), "9.9.9.9;2.2.2.2");
    assert_eq!(servers("$a,9.9.9.9,$b"), "1.1.1.1;9.9.9.9;2.2.2.2");
    assert_eq!(servers("$a,[:toip 9.9.9.9]"), "1.1.1.1;9.9.9.9");
    assert_eq!(servers("\"1.1.1.1\",\"2.2.2.2\""), "1.1.1.1;2.2.2.2");
    let given = last_of(&[":global a 1; :global f do={ :put [:len $x] }; $f x=$a,2"]);
    assert_eq!(given, "2");
}

#[test]
fn parenthesized_conditions_may_be_negated_in_sequence() {
    let found =
        |condition: &str| last_of(&[&format!(":put [:len [/ip/ipsec/policy/find {condition}]]")]);
    assert_eq!(found("(!template !disabled)"), "0");
    assert_eq!(found("(template !disabled)"), "1");
    assert_eq!(found("(template !disabled !(comment=x))"), "1");
}

#[test]
fn a_vrrp_interface_may_be_its_own_group_authority() {
    let mut console = Console::new();
    console.quietly(&[
        "/interface/vrrp/add name=lan interface=ether1 group-authority=lan",
        "/interface/vrrp/add name=wan interface=ether2 vrid=2 group-authority=lan",
        "/interface/vrrp/add name=dmz interface=ether3 vrid=3 group-authority=self",
        "/interface/vrrp/add name=own interface=ether3 vrid=4 group-authority=\"\"",
    ]);

    let of = |name: &str| format!(":put [/interface/vrrp/get {name} group-authority]");
    assert_eq!(console.run(&of("lan")), "lan\n");
    assert_eq!(console.run(&of("dmz")), "self\n");
    assert_eq!(console.run(&of("own")), "none\n");
    assert!(
        console
            .run("/interface/vrrp/add name=x interface=x")
            .starts_with("input does not match")
    );
}

#[test]
fn menu_commands_return_values() {
    for line in [
        "/ip/route/check dst-ip=1.1.1.1 as-value",
        ":put [/ip/route/check 1.1.1.1 as-value]",
    ] {
        assert_eq!(
            last_of(&[line]),
            "failure: check needs a running router",
            "{line}"
        );
    }
    assert_eq!(last_of(&["/ip/ipsec/active-peers/remove [find]"]), "");
    assert_eq!(
        last_of(&["/ip/ipsec/active-peers/remove 0"]),
        "no such item"
    );
}

#[test]
fn setting_the_clock_is_refused() {
    for set in ["date=2026-01-01", "time=10:00:00"] {
        let said = last_of(&[&format!("/system/clock/set {set}")]);
        assert!(
            said.starts_with("failure: the clock belongs to the machine"),
            "{said}"
        );
    }
}

#[test]
fn a_pasted_address_list_entry_keeps_its_timeout() {
    let add = "/ip/firewall/address-list/add list=a address=192.0.2.1 creation-time=\"2026-01-01 10:00:00\"";
    assert_eq!(last_of(&[add]), "");
}
