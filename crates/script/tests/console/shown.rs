//! How items are shown and exported.

use menu::Offline;
use script::ExclusiveSite;

use super::Console;

#[test]
fn a_table_shows_flags_columns_and_comments() {
    let mut console = Console::new();
    console.quietly(&[
        "/interface vlan add interface=ether1 vlan-id=10 name=vlan10 comment=\"for guests\"",
        "/interface vlan",
        "add interface=ether1 vlan-id=200 disabled=yes",
    ]);

    assert_eq!(
        console.run("print"),
        "Flags: X - DISABLED\n\
         Columns: NAME, MTU, ARP, VLAN-ID, INTERFACE\n\
         #   NAME     MTU  ARP      VLAN-ID  INTERFACE\n\
         ;;; for guests\n\
         0   vlan10  1500  enabled       10  ether1   \n\
         1 X vlan1   1500  enabled      200  ether1   \n"
    );
    assert_eq!(console.run("print count-only where !disabled"), "1\n");
    assert_eq!(
        console.run("print where vlan-id>100 name~\"^vlan\""),
        "Flags: X - DISABLED\n\
         Columns: NAME, MTU, ARP, VLAN-ID, INTERFACE\n\
         #   NAME    MTU  ARP      VLAN-ID  INTERFACE\n\
         0 X vlan1  1500  enabled      200  ether1   \n"
    );
    console.quietly(&["set 0 name=printed-first"]);
    assert_eq!(
        console.run("print proplist=name,vlan-id"),
        "Flags: X - DISABLED\n\
         Columns: NAME, VLAN-ID\n\
         #   NAME           VLAN-ID\n\
         ;;; for guests\n\
         0   vlan10              10\n\
         1 X printed-first      200\n"
    );
}

#[test]
fn details_fold_at_the_width_of_the_terminal() {
    let mut console = Console::new();
    console.quietly(&[
        "/ip address add address=10.0.0.1/24 interface=ether1 comment=lan",
        "/ip route add dst-address=10.1.0.0/16 gateway=10.0.0.254%ether2,ether3@main distance=5",
    ]);

    assert_eq!(
        console.run("/ip/address/print detail"),
        "Flags: X - disabled, I - invalid; D - dynamic; S - slave \n\
         \x20 0     ;;; lan\n\
         \x20      address=10.0.0.1/24 network=10.0.0.0 interface=ether1 \n\n"
            .replace("  0     ;;;", " 0     ;;;")
    );
    let route = console.run("/ip/route/print detail");
    assert!(route.lines().all(|line| line.len() <= 80), "{route}");
    assert!(
        route.contains("\n 0       dst-address=10.1.0.0/16 routing-table=main \n         gateway="),
        "{route}"
    );
}

#[test]
fn settings_show_their_names_aligned_to_the_right() {
    let mut console = Console::new();

    assert_eq!(console.run("/system identity print"), "  name: ferroute\n");
    let settings = console.run("/ip settings print");
    assert!(
        settings.starts_with("                                 ip-forward: yes\n"),
        "{settings}"
    );
    assert!(
        settings.contains("  ipv4-high-fragment-thresh: 4.0MiB\n"),
        "{settings}"
    );
}

#[test]
fn a_name_with_an_at_sign_is_no_interface_in_a_table() {
    let mut console = Console::new();
    console.quietly(&[
        "/interface vlan add interface=ether1 vlan-id=7 name=user@isp",
        "/ip route add gateway=user@isp",
        "/ip route add dst-address=10.0.0.0/8 gateway=ether2@main",
    ]);
    let mut copy = schema::store();
    assert_eq!(copy.load(&console.store.save()), Vec::<String>::new());
    console.store = copy;

    console.quietly(&["/interface set user@isp name=isp"]);

    let gateways =
        console.run(":foreach i in=[/ip route find] do={ :put [/ip route get $i gateway] }");
    assert_eq!(gateways, "isp\nether2@main\n");
}

#[test]
fn an_export_has_the_layout_of_version_7() {
    let mut console = Console::new();
    console.quietly(&[
        "/interface ethernet set [ find default-name=ether1 ] name=wan speed=100Mbps",
        "/interface vlan add interface=ether2 vlan-id=10 name=vlan10",
        "/interface list add name=LAN comment=defconf",
        "/interface list member add list=LAN interface=vlan10",
        "/ip address add address=192.0.2.1 interface=wan",
        "/ip address add address=10.0.0.1/24 interface=vlan10 comment=\"a comment that is long enough to be folded\"",
        "/ip route add gateway=192.0.2.254%wan routing-mark=to_isp1",
        "/ip route add dst-address=10.9.0.0/16 type=blackhole",
        "/ip settings set rp-filter=strict",
        "/system identity set name=\"R 1\"",
    ]);

    assert_eq!(
        console.run("/export"),
        "# 1970-01-01 00:00:00 by RouterOS 7.22.1\n\
         # software id = \n\
         #\n\
         /interface ethernet\n\
         set [ find default-name=ether1 ] name=wan speed=100M-baseT-full\n\
         /interface vlan\n\
         add interface=ether2 name=vlan10 vlan-id=10\n\
         /interface list\n\
         add comment=defconf name=LAN\n\
         /routing table\n\
         add fib name=to_isp1\n\
         /ip settings\n\
         set rp-filter=strict\n\
         /interface list member\n\
         add interface=vlan10 list=LAN\n\
         /ip address\n\
         add address=192.0.2.1 interface=wan network=192.0.2.1\n\
         add address=10.0.0.1/24 comment=\"a comment that is long enough to be folded\" \\\n    \
             interface=vlan10 network=10.0.0.0\n\
         /ip route\n\
         add gateway=192.0.2.254%wan routing-table=to_isp1\n\
         add blackhole dst-address=10.9.0.0/16\n\
         /system identity\n\
         set name=\"R 1\"\n"
    );
    assert_eq!(
        console.run("/ip route export terse").lines().last(),
        Some("/ip route add blackhole dst-address=10.9.0.0/16")
    );
    assert!(
        console
            .run("/ip settings export verbose")
            .contains("allow-fast-path=yes ")
    );
}

#[test]
fn programs_get_rows_in_rest_format() {
    let mut console = Console::new();
    console
        .quietly(&["/ip address add address=10.0.0.1/24 interface=ether1 comment=\"a \\\"b\\\"\""]);
    let mut ask = |line: &str| {
        let mut out = String::new();
        let session = &mut console.session;
        let result = script::run_json_at(
            &mut ExclusiveSite::new(&mut console.store, &mut Offline),
            session,
            line,
            &mut out,
        );
        result.map_or_else(|refusal| refusal.to_string(), |()| out)
    };

    assert_eq!(
        ask("/ip/address/print"),
        "[{\".id\":\"*1\",\"address\":\"10.0.0.1/24\",\"network\":\"10.0.0.0\",\
         \"interface\":\"ether1\",\"comment\":\"a \\\"b\\\"\",\"disabled\":\"false\",\
         \"invalid\":\"false\",\"dynamic\":\"false\",\"slave\":\"false\"}]\n"
    );
    assert_eq!(
        ask("/ip/address/print proplist=address"),
        "[{\"address\":\"10.0.0.1/24\"}]\n"
    );
    assert_eq!(ask("/ip/address/print where interface=ether2"), "[]\n");
    assert_eq!(ask("/system/identity/print"), "{\"name\":\"ferroute\"}\n");
    assert_eq!(ask(":put 5"), "{\"ret\":\"5\"}\n");
    let add = "/ip/address/add address=10.0.1.1/24 interface=ether1";
    assert_eq!(ask(add), "{\"ret\":\"*2\"}\n");
    assert_eq!(ask("/ip/address/set *2 comment=x"), "{\"ret\":\"\"}\n");
    assert_eq!(
        ask("/ip/foo/print"),
        "bad command name foo (line 1 column 5)"
    );
}

#[test]
fn an_unimplemented_command_is_an_error() {
    let mut console = Console::new();

    for (command, name) in [
        ("/tool mac-scan interface=ether1", "/tool/mac-scan"),
        ("/tool snmp-walk address=192.0.2.1", "/tool/snmp-walk"),
        ("/system reboot", "/system/reboot"),
        (":put [/system reboot]", "/system/reboot"),
        (
            ":put [/tool snmp-walk address=192.0.2.1 as-value]",
            "/tool/snmp-walk",
        ),
    ] {
        let lacking = format!("failure: {name} has no effect here yet");
        assert_eq!(console.run(command), lacking, "{command}");
    }
    assert_eq!(
        console.run(":do { /system reboot; :put done } on-error={ :put caught }"),
        "caught\n"
    );
    // A command for an empty list of items succeeds.
    assert_eq!(console.run("/certificate sign [find]"), "");
}

#[test]
fn a_check_refuses_unimplemented_commands() {
    let file = "/system identity set name=a\n/system reboot\n\
                :do { /system reboot } on-error={}\n";
    let report = script::check(&mut schema::store(), file);
    let refused: Vec<_> = report.refused.iter().map(|refused| refused.line).collect();
    assert_eq!(refused, [2], "{}", report.to_json(""));
}

#[test]
fn a_command_on_an_empty_find_does_nothing() {
    let mut console = Console::new();

    // No router is needed for that, so a configuration may contain such commands.
    for command in [
        "/ip firewall connection remove [find]",
        "/ip firewall filter reset-counters [find comment=nix]",
        "/interface reset-counters numbers=[find name=nix]",
    ] {
        assert_eq!(console.run(command), "", "{command}");
    }
    assert_eq!(
        console.run("/interface reset-counters"),
        "missing value(s) of argument(s) numbers"
    );
}

#[test]
fn control_characters_are_escaped_on_the_terminal() {
    let mut console = Console::new();
    let name = r#"/interface list add name=LAN comment="a\1B[2J\nforged \9B1m\E2\80\AE""#;
    console.quietly(&[
        name,
        r#"/ip firewall layer7-protocol add name=l7 regexp="x\1By""#,
    ]);
    let escaped = r"a\1B[2J\nforged \9B1m\E2\80\AE";

    for how in [
        "",
        "detail",
        "terse",
        "value-list",
        "brief",
        "proplist=name,comment",
    ] {
        let shown = console.run(&format!("/interface list print {how} where name=LAN"));
        assert!(shown.contains(escaped), "{how}: {shown}");
        let raw = |c: char| c != '\n' && c.is_control() || c == '\u{202e}' || c == '\u{ef9b}';
        assert!(!shown.contains(raw), "{how}: {shown:?}");
    }
    let got = console.run(":put [:len [/interface list get LAN comment]]");
    assert_eq!(got, "19\n", "a value keeps its bytes");
}
