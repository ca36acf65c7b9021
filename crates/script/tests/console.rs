//! What the console prints, letter by letter.

use std::ops::ControlFlow;

use menu::{Live, Offline, Output, Row, RowFilter, Scan, Store, Value};
use script::{Held, Session};

/// A router with three ports, and what it has printed.
struct Console {
    store: Store,
    session: Session,
}

impl Console {
    fn new() -> Self {
        let mut store = schema::store();
        let mark = store.begin();
        for (last, port) in (1..).zip(["ether1", "ether2", "ether3"]) {
            store
                .ensure_port(port, Some([2, 0, 0, 0, 0, last]))
                .expect("is a port's name");
        }
        store.commit(mark).expect("nothing is journaled");
        Self {
            store,
            session: Session::new("admin"),
        }
    }

    /// Runs a line; what it prints, or why it was refused.
    fn run(&mut self, line: &str) -> String {
        self.run_with(line, &mut Offline)
    }

    fn run_with(&mut self, line: &str, live: &mut dyn Live) -> String {
        let mut out = String::new();
        match script::run(&mut self.store, live, &mut self.session, line, &mut out) {
            Ok(()) => out,
            Err(refusal) => out + &refusal.to_string(),
        }
    }

    /// Runs lines that print nothing.
    fn quietly(&mut self, lines: &[&str]) {
        for line in lines {
            assert_eq!(self.run(line), "", "{line}");
        }
    }
}

#[test]
fn errors_read_as_the_router_prints_them() {
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
fn a_new_name_is_followed_and_a_removed_one_leaves_its_id() {
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
fn scripts_compute_branch_loop_and_call() {
    let mut console = Console::new();
    let cases = [
        (":put (2 + 3 * 4 - 1)", "13\n"),
        (":put (7 % 4 . \"x\")", "3x\n"),
        (":put (10.0.0.1 + 5)", "10.0.0.6\n"),
        (":put (10.0.0.1 in 10.0.0.0/8)", "true\n"),
        (":put (1 < 2 && !(3 = 4) or false)", "true\n"),
        (":put (\"ether12\" ~ \"^ether[0-9]+\\$\")", "true\n"),
        (
            ":local a {1;2;\"k\"=3}; :put ($a->\"k\"); :put [:len $a]",
            "3\n3\n",
        ),
        (":local a; :set ($a->\"x\") 5; :put $a", "x=5\n"),
        (
            ":local n 3; :put \"n=$n $($n * 2) $[:len abc]\"",
            "n=3 6 3\n",
        ),
        (":if (1 = 1) do={ :put yes } else={ :put no }", "yes\n"),
        (":for i from=1 to=7 step=3 do={ :put $i }", "1\n4\n7\n"),
        (
            ":foreach k,v in={a=1;b=2} do={ :put \"$k-$v\" }",
            "a-1\nb-2\n",
        ),
        (
            ":local i 0; :while ($i < 5) do={ :set i ($i + 1); :if ($i = 2) do={ :continue }; :if ($i = 4) do={ :break }; :put $i }",
            "1\n3\n",
        ),
        (":local f do={ :return ($1 + $b) }; :put [$f 1 b=2]", "3\n"),
        (":do { :error no } on-error={ :put caught }", "caught\n"),
        (
            ":onerror e { :error \"why\" } do={ :put \"got $e\" }",
            "got why\n",
        ),
        (":put [:pick \"abcdef\" 1 3]", "bc\n"),
        (":put [:find \"hello\" \"l\"]", "2\n"),
        (":put [:typeof [:find \"a\" \"b\"]]", "nil\n"),
        (":put [:tostr 90s]", "00:01:30\n"),
        (":put \"\\48\\49 \\$x\"", "HI $x\n"),
        (":local x 1; { :local x 2; :put $x }; :put $x", "2\n1\n"),
        (":global g 5; :put $g", "5\n"),
        (":put $g", "5\n"),
        ("put \\\n   done", "done\n"),
    ];
    for (line, expected) in cases {
        assert_eq!(console.run(line), expected, "{line}");
    }
}

#[test]
fn a_script_without_end_is_stopped() {
    let mut console = Console::new();
    console.session.limits.steps = 10_000;
    console.session.limits.bytes = 1 << 20;

    assert_eq!(
        console.run(":while (true) do={ }"),
        "script stopped: too much steps"
    );
    assert_eq!(
        console.run(":local s \"aaaa\"; :while (true) do={ :set s ($s . $s) }"),
        "script stopped: too much memory"
    );
    assert_eq!(
        console.run(":global f do={ :global f; [$f] }; [$f]"),
        "script stopped: too much nesting"
    );
    assert_eq!(
        console.run(":do { :while (true) do={ } } on-error={ :put escaped }"),
        "script stopped: too much steps"
    );
}

/// A router with a million routes that it makes on the way.
struct Routes;

impl Live for Routes {
    fn rows(
        &self,
        _store: &Store,
        menu: &'static menu::Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != "/ip/route" {
            return ControlFlow::Continue(());
        }
        for n in 0..1_000_000_u32 {
            let mut row = Row {
                id: Some(menu::Id(0x8000_0000 + u64::from(n))),
                cells: Vec::new(),
            };
            let address = std::net::Ipv4Addr::from((n + 65_536) << 8);
            let net = ipnet::Ipv4Net::new(address, 24).expect("24 is a length");
            row.set("dst-address", Value::Prefix(net.into()));
            row.set("gateway", Value::text("ether1"));
            row.flag("dynamic", true);
            row.flag("active", true);
            row.flag("connect", true);
            if filter.accepts(&row) {
                each(row)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Takes a few lines, then breaks off.
struct Few {
    text: String,
    lines: usize,
}

impl Output for Few {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.text.push_str(text);
        match self.text.lines().count() < self.lines {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

#[test]
fn rows_of_the_router_stream_between_those_of_the_configuration() {
    let mut console = Console::new();
    console.quietly(&["/ip route add gateway=10.0.0.254"]);
    let mut few = Few {
        text: String::new(),
        lines: 6,
    };

    let refusal = script::run(
        &mut console.store,
        &mut Routes,
        &mut console.session,
        "/ip route print",
        &mut few,
    );

    assert_eq!(
        refusal.map_err(|r| r.to_string()),
        Err("interrupted".to_owned())
    );
    assert_eq!(
        few.text,
        "Flags: D - DYNAMIC; A - ACTIVE; c - CONNECT\n\
         Columns: DST-ADDRESS, GATEWAY, ROUTING-TABLE, DISTANCE\n\
         #     DST-ADDRESS   GATEWAY     ROUTING-TABLE  DISTANCE\n\
         0     0.0.0.0/0     10.0.0.254  main                  1\n\
         \x20 DAc 1.0.0.0/24    ether1                             \n\
         \x20 DAc 1.0.1.0/24    ether1                             \n"
    );
    let counted = console.run_with(
        "/ip route print count-only where dst-address=1.2.3.0/24",
        &mut Routes,
    );
    assert_eq!(counted, "1\n");
}

/// A router with a table of 100,000 places that it looks at in pieces; every 10,000th has a row.
struct Pieces;

impl Live for Pieces {
    fn rows_from(
        &self,
        menu: &'static menu::Menu,
        filter: &RowFilter<'_>,
        place: &mut u64,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Option<Scan> {
        if menu.path != "/ip/firewall/connection" {
            return None;
        }
        for _ in 0..1_000 {
            if *place == 100_000 {
                return Some(Scan::Over);
            }
            let at = *place;
            *place += 1;
            let mut row = Row {
                id: Some(menu::Id(0x8000_0000 + at)),
                cells: Vec::new(),
            };
            row.set("orig-packets", Value::Number(at as i64));
            if at.is_multiple_of(10_000) && filter.accepts(&row) && each(row).is_break() {
                break;
            }
        }
        Some(Scan::More)
    }

    fn count(&self, menu: &'static menu::Menu) -> Option<u64> {
        (menu.path == "/ip/firewall/connection").then_some(7)
    }
}

#[test]
fn a_large_table_is_looked_at_in_pieces_and_counted_at_once() {
    let mut console = Console::new();
    let mut run = |line: &str| console.run_with(line, &mut Pieces);

    let found = run("/ip firewall connection print count-only where orig-packets>=20000");

    assert_eq!(found, "8\n");
    // The router knows how many there are, and is believed.
    assert_eq!(run("/ip firewall connection print count-only"), "7\n");
    let ids = run(":put [:len [/ip firewall connection find]]");
    assert_eq!(ids, "10\n");
}

#[test]
fn a_file_is_imported_wholly_or_not_at_all() {
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
fn machines_get_rows_in_the_shape_of_rest() {
    let mut console = Console::new();
    console
        .quietly(&["/ip address add address=10.0.0.1/24 interface=ether1 comment=\"a \\\"b\\\"\""]);
    let mut ask = |line: &str| {
        let mut out = String::new();
        let session = &mut console.session;
        let result = script::run_json_at(
            &mut Held::new(&mut console.store, &mut Offline),
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
    assert_eq!(
        ask("/ip/foo/print"),
        "bad command name foo (line 1 column 5)"
    );
}

#[test]
fn completion_offers_what_can_stand_there() {
    let console = Console::new();
    let offered = |line: &str| -> Vec<String> {
        let found = script::complete(&console.store, &console.session, line, line.len());
        found.into_iter().map(|candidate| candidate.text).collect()
    };

    assert_eq!(offered("/ip ad"), ["address"]);
    assert_eq!(offered("/ip/route/ch"), ["check"]);
    assert_eq!(offered("/ip address add addr"), ["address"]);
    assert_eq!(
        offered("/ip address add interface=eth"),
        ["ether1", "ether2", "ether3"]
    );
    assert_eq!(
        offered("/ip settings set rp-filter="),
        ["loose", "no", "strict"]
    );
    assert_eq!(offered(":fore"), ["foreach"]);
    assert_eq!(
        offered("/interface monitor-traffic interface=eth"),
        ["ether1", "ether2", "ether3", "<value>"]
    );
    assert_eq!(offered(":reso"), ["resolve"]);
    assert_eq!(offered("/pi"), ["ping"]);
    assert_eq!(offered("/par"), ["partitions"], "`:parse` wants a colon");
    assert_eq!(
        offered("/interface disable eth"),
        ["ether1", "ether2", "ether3"]
    );
    assert_eq!(offered(":put [/ip address get 0 netw"), ["network"]);
    assert_eq!(
        offered("/ip firewall filter add src-mac"),
        ["src-mac-address"]
    );
    assert!(
        !offered("/system logging action add ").contains(&"bsd-syslog".to_owned()),
        "a word of an older version is not offered"
    );
    assert!(offered("/ip address print where int").contains(&"interface".to_owned()));
    assert!(offered("").contains(&"system".to_owned()));
    assert!(
        !offered("/interface ").contains(&"port".to_owned()),
        "a hidden menu is not offered"
    );
}

#[test]
fn completion_offers_names_that_items_share() {
    let mut console = Console::new();
    console.quietly(&[
        "/ip firewall filter add chain=input action=jump jump-target=knock",
        "/ip firewall address-list add list=friends address=10.0.0.1",
        "/ip firewall mangle add chain=forward action=mark-packet new-packet-mark=voice",
    ]);
    let offered = |line: &str| -> Vec<String> {
        let found = script::complete(&console.store, &console.session, line, line.len());
        let values = found
            .into_iter()
            .filter(|c| c.subject == script::Subject::Value);
        values.map(|candidate| candidate.text).collect()
    };

    assert_eq!(
        offered("/ip firewall filter add chain="),
        ["forward", "input", "knock", "output"]
    );
    assert_eq!(
        offered("/ip firewall nat add chain="),
        ["dstnat", "input", "output", "srcnat"]
    );
    assert_eq!(
        offered("/ip firewall raw add src-address-list=!fr"),
        ["friends"]
    );
    assert!(offered("/ipv6 firewall raw add src-address-list=").is_empty());
    assert_eq!(offered("/ip firewall mangle add packet-mark=v"), ["voice"]);
    assert_eq!(
        offered("/ip firewall filter print where chain=k"),
        ["knock"]
    );
    assert_eq!(
        offered("/ip address print where interface=eth"),
        ["ether1", "ether2", "ether3"]
    );
    assert_eq!(offered("/ip address print proplist=netw"), ["network"]);
}

#[test]
fn completion_tells_arguments_with_a_value_from_others() {
    use script::Subject::{Argument, Flag};
    let console = Console::new();
    let subject = |line: &str, word: &str| {
        let found = script::complete(&console.store, &console.session, line, line.len());
        let mut found = found.into_iter().filter(|candidate| candidate.text == word);
        found.next().map(|candidate| candidate.subject)
    };

    assert_eq!(subject("/ip address print det", "detail"), Some(Flag));
    assert_eq!(subject("/ip address print wh", "where"), Some(Flag));
    assert_eq!(subject("/ip address print pro", "proplist"), Some(Argument));
    assert_eq!(
        subject("/ip address print where ", "interface"),
        Some(Argument)
    );
    assert_eq!(subject("/ip address print where ", "detail"), None);
}

#[test]
fn menus_of_older_versions_are_read_and_not_offered() {
    let mut console = Console::new();

    for (line, gone) in [
        ("/ip ", "accounting"),
        ("/routing ", "mme"),
        ("/ip route ", "rule"),
    ] {
        let offered = script::complete(&console.store, &console.session, line, line.len());
        assert!(offered.iter().all(|candidate| candidate.text != gone));
    }
    let below = console.run(":put [/console/inspect request=child path=ip as-value]");
    assert!(!below.contains("accounting"), "{below}");

    assert_eq!(console.run("/ip accounting set enabled=yes"), "");
    assert_eq!(
        console.run("/ip acc print"),
        "bad command name acc (line 1 column 5)"
    );
}

#[test]
fn what_says_that_there_is_none_of_something_is_not_without_effect() {
    let mut console = Console::new();

    let services = "/ip service print terse proplist=name where name=api-ssl";
    assert!(!console.run(services).contains('~'));
    console.quietly(&["/ip service set api-ssl certificate=own"]);
    assert!(console.run(services).contains('~'));
}

#[test]
fn every_menu_that_is_offered_says_what_it_is() {
    let console = Console::new();
    let mut paths = vec!["/".to_owned()];

    while let Some(path) = paths.pop() {
        let offered = script::complete(&console.store, &console.session, &path, path.len());
        for menu in offered {
            if menu.subject == script::Subject::Menu {
                assert!(!menu.help.is_empty(), "{path}{}", menu.text);
                paths.push(format!("{path}{}/", menu.text));
            }
        }
    }
}

#[test]
fn highlighting_tells_words_and_errors_apart() {
    use script::Class::{Argument, Command, Error, Menu, Value};
    let console = Console::new();
    let classes = |line: &str| -> Vec<_> {
        let pieces = script::highlight(&console.store, "/", line);
        pieces
            .into_iter()
            .map(|(from, to, class)| (line[from..to].to_owned(), class))
            .collect()
    };

    assert_eq!(
        classes("/ip address add interface=ether1"),
        [
            ("ip".to_owned(), Menu),
            ("address".to_owned(), Menu),
            ("add".to_owned(), Command),
            ("interface".to_owned(), Argument),
            ("ether1".to_owned(), Value)
        ]
    );
    assert_eq!(classes("/ip foo").last(), Some(&("foo".to_owned(), Error)));
    assert_eq!(
        classes("/ip address add foo=1").last(),
        Some(&("foo=1".to_owned(), Error))
    );
}

#[test]
fn check_sorts_every_command_and_goes_on_after_an_error() {
    let text = "/interface moonbridge\nadd name=bridge1\n/interface ethernet\n\
                set [ find default-name=ether5 ] speed=1Gbps\n/ip address\n\
                add address=10.0.0.1/24 interface=bridge1\nadd address=x interface=ether5\n\
                add address=10.0.1.1/24 interface=ether6\n";

    let report = script::check(&mut schema::store(), text);

    assert_eq!(
        (report.commands, report.accepted, report.applied),
        (5, 3, 1)
    );
    let what: Vec<_> = report
        .no_effect
        .iter()
        .map(|n| (n.line, n.what.as_str()))
        .collect();
    assert_eq!(
        what,
        [(4, "speed"), (6, "interface=bridge1 (refused in line 2)")]
    );
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|r| (r.line, r.column, r.reason.as_str()))
        .collect();
    assert_eq!(
        refused,
        [
            (2, 1, "bad command name moonbridge (line 1 column 12)"),
            (7, 5, "invalid value for argument address")
        ]
    );
    assert!(
        report.to_json().starts_with(
            "{\"commands\":5,\"accepted\":3,\"applied\":1,\"no_effect\":[{\"line\":4,"
        )
    );
}

/// A router whose interfaces carry something.
struct Carrying;

impl Live for Carrying {
    fn action(&mut self, _: &Store, call: &menu::Call<'_>) -> Result<menu::Reply, menu::Reason> {
        let (_, names) = call.arguments.first().expect("it is needed");
        let rows = names.as_list().iter().map(|name| {
            let mut row = Row::default();
            row.set("name", name.clone());
            row.set("rx-bits-per-second", Value::Number(12_345));
            row
        });
        Ok(menu::Reply {
            rows: rows.collect(),
        })
    }
}

#[test]
fn what_a_monitor_sees_is_shown_given_or_run_with() {
    let mut console = Console::new();
    let mut run = |line: &str| console.run_with(line, &mut Carrying);
    let monitor = "/interface monitor-traffic ether1";

    assert_eq!(
        run(&format!("{monitor} once proplist=rx-bits-per-second")),
        "  rx-bits-per-second: 12.3kbps\n"
    );
    assert_eq!(
        run(&format!(
            ":put ([{monitor} once as-value]->\"rx-bits-per-second\")"
        )),
        "12345\n"
    );
    assert_eq!(
        run(&format!(
            ":local seen; {monitor} once proplist=name,rx-bits-per-second \
             do={{:set seen ($\"rx-bits-per-second\" / 1000)}}; :put $seen"
        )),
        "                name: ether1\n  rx-bits-per-second: 12.3kbps\n12\n"
    );
    assert_eq!(
        run(&format!("{monitor} interval=10ms")),
        "invalid time value for argument interval"
    );
}
