//! The changes that commands make, and the errors for refused commands.

use menu::Offline;

use super::Console;

#[test]
fn errors_have_routeros_texts() {
    let mut console = Console::new();
    console.quietly(&["/ip address add address=10.0.0.1/24 interface=ether1"]);
    let cases = [
        ("foo", "bad command name foo (line 1 column 1)"),
        ("/ip address foo", "bad command name foo (line 1 column 13)"),
        (
            "/ip moonwall filter add chain=input",
            "bad command name moonwall (line 1 column 5)",
        ),
        (
            "/ip/moonwall/filter/add chain=input",
            "bad command name moonwall (line 1 column 5)",
        ),
        (
            "/ip address add adress=1",
            "expected end of command (line 1 column 17)",
        ),
        (
            "\n  /ip address print detail foo",
            "expected end of command (line 2 column 28)",
        ),
        (
            "/ip address > print",
            "expected command name (line 1 column 13)",
        ),
        ("[admin@MikroTik] > print", "syntax error (line 1 column 7)"),
        ("status: ok", "syntax error (line 1 column 7)"),
        (
            ":local caf\u{e9} 1",
            "expected end of command (line 1 column 11)",
        ),
        ("{ :put 1", "missing closing brace (line 1 column 9)"),
        (
            "/ip address add address=10.0.0.1/24 interface=ether1",
            "failure: already have such address",
        ),
        (
            "/ip address add address=10.0.0.2/24",
            "missing value(s) of argument(s) interface",
        ),
        (
            "/ip address add address=10.0.0.2/24 interface=eth",
            "ambiguous value of interface, more than one possible value matches input",
        ),
        (
            "/ip address add address=10.0.0.2/24 interface=wan",
            "input does not match any value of interface",
        ),
        (
            "/ip address add address=10.0.0.2/33 interface=ether1",
            "invalid value for argument address",
        ),
        (
            "/ip settings set rp-filter=maybe",
            "input does not match any value of rp-filter",
        ),
        (
            "/interface vlan add interface=ether1 vlan-id=5000",
            "value of vlan-id out of range (1..4095)",
        ),
        ("/ip address remove 7", "no such item"),
        ("/ip address set *FF comment=x", "no such item"),
        (
            "/interface list remove all",
            "failure: can not remove builtin",
        ),
        (
            "/interface vlan add name=ether1 interface=ether2",
            "failure: already have interface with such name",
        ),
        (":error \"my own\"", "my own"),
        (
            ":put [/interface get [find] name]",
            "invalid internal item number",
        ),
        (
            ":put [/interface get [find name=none] name]",
            "no such item",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(console.run(line), expected, "{line}");
    }
}

#[test]
fn a_refused_command_changes_nothing() {
    let mut console = Console::new();
    let before = console.run("/export");
    let revision = console.store.revision();

    console.run("/ip address add address=10.0.0.1/24 interface=nowhere");
    console.run("/ip route add gateway=10.0.0.254 routing-mark=new distance=900");
    console.run("/interface ethernet set ether1,ether2 name=same");

    assert_eq!(console.run("/export"), before);
    assert_eq!(console.store.revision(), revision);
}

#[test]
fn references_follow_a_rename_and_show_the_id_after_removal() {
    let mut console = Console::new();
    console.quietly(&[
        "/interface vlan add interface=ether2 vlan-id=10 name=vlan10",
        "/ip address add address=10.0.0.1/24 interface=vlan10",
        "/ip route add gateway=10.0.0.254%vlan10,vlan10",
        "/interface set vlan10 name=guests",
    ]);
    assert_eq!(
        console.run(":put [/ip address get 0 interface]"),
        "guests\n"
    );
    assert_eq!(
        console.run(":put [/ip route get 0 gateway]"),
        "10.0.0.254%guests,guests\n"
    );

    console.quietly(&["/interface vlan remove guests"]);

    assert_eq!(console.run(":put [/ip address get 0 interface]"), "*4\n");
    console.quietly(&["/interface vlan add interface=ether2 vlan-id=10 name=guests"]);
    assert_eq!(
        console.run(":put [/interface vlan find]"),
        "*5\n",
        "an id is not used twice"
    );
}

#[test]
fn rules_keep_the_order_that_they_are_given() {
    let mut console = Console::new();
    console.quietly(&[
        "/routing rule",
        "add src-address=10.0.0.0/8 table=main",
        "add src-address=11.0.0.0/8 table=main",
        "add src-address=12.0.0.0/8 table=main place-before=0",
        "move 2 0",
    ]);

    assert_eq!(
        console.run(":foreach i in=[find] do={ :put [get $i src-address] }"),
        "11.0.0.0/8\n12.0.0.0/8\n10.0.0.0/8\n"
    );
}

#[test]
fn an_import_is_atomic() {
    let mut console = Console::new();
    let good =
        "/ip address\nadd address=10.0.0.1/24 interface=ether7\n/system identity\nset name=x\n";
    let bad = "/ip address\nadd address=10.1.0.1/24 interface=ether1\nadd address=nonsense interface=ether1\n";
    let before = console.store.revision();

    let import = |console: &mut Console, text: &str| {
        let mut out = String::new();
        script::import(
            &mut console.store,
            &mut Offline,
            &mut console.session,
            text,
            &mut out,
        )
    };
    assert_eq!(import(&mut console, good), Ok(()));
    assert_eq!(console.store.revision(), before + 1, "one transaction");
    let refusal = import(&mut console, bad).expect_err("the address is nonsense");

    assert_eq!(refusal.at.map(|at| (at.line, at.column)), Some((3, 5)));
    assert_eq!(console.store.revision(), before + 1);
    assert_eq!(console.store.count("/ip/address"), 1);
    assert!(
        console.store.port("ether7").is_some(),
        "a port that a file names exists"
    );
}

#[test]
fn names_and_comments_have_a_maximum_length() {
    let mut console = Console::new();
    let long = |bytes: usize| "x".repeat(bytes);
    for (set, most, property) in [
        ("/system identity set name=", 64, "name"),
        ("/interface list add name=", 255, "name"),
        (
            "/interface list set [find name=all] comment=",
            4_096,
            "comment",
        ),
    ] {
        let refused = console.run(&format!("{set}{}", long(most + 1)));
        let words = format!("value of {property} is longer than {most} characters");
        assert!(refused.starts_with(&words), "{set}: {refused}");
        assert_eq!(console.run(&format!("{set}{}", long(most))), "", "{set}");
    }
    console.quietly(&[&format!(
        "/ip dns static add name=a type=TXT text={}",
        long(300)
    )]);
}
