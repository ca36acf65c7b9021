//! Completion, highlighting and checks of text that does not run.

use super::Console;

#[test]
fn a_check_refuses_an_unknown_path() {
    let refused = |text: &str| {
        let report = script::check(&mut schema::store(), text);
        assert_eq!(report.commands, report.accepted + report.refused.len());
        let reasons = report.refused.iter().map(|bad| (bad.line, &*bad.reason));
        let reasons = reasons.map(|(line, reason)| format!("{line}: {reason}"));
        reasons.collect::<Vec<_>>().join("; ")
    };

    let nowhere = "1: bad command name foo (line 1 column 2)";
    assert_eq!(refused("/foo bar\n"), nowhere);
    assert_eq!(
        refused("/foo\n# nothing\n/ip route add gateway=192.0.2.1\n"),
        nowhere
    );
    assert_eq!(
        refused("/ip route\nprnt\n"),
        "2: bad command name prnt (line 2 column 1)"
    );
    // The path and the first command there count as one command.
    assert_eq!(
        refused("/ip foo\nadd name=x\n"),
        "2: bad command name foo (line 1 column 5)"
    );
}

#[test]
fn a_check_refuses_commands_that_fail_when_run() {
    let file = |text: &str| {
        let report = script::check(&mut schema::store(), text);
        let checked = report.refused.iter();
        let checked = checked.map(|bad| format!("{}:{} {}", bad.line, bad.column, bad.reason));
        let mut session = script::Session::new("admin");
        let mut store = schema::store();
        let mut live = menu::Offline;
        let run = script::import(
            &mut store,
            &mut live,
            &mut session,
            text,
            &mut String::new(),
        );
        let run = run.err().and_then(|refusal| {
            let at = refusal.at?;
            Some(format!("{}:{} {}", at.line, at.column, refusal.reason))
        });
        (checked.collect::<Vec<_>>().join("; "), run)
    };
    let stops = [
        ("/ip address\n:put 1\n:error \"x\"\n", "3:2 x"),
        (
            ":local a 5\n:if ($a = 5) do={ :error \"no $a\" }\n",
            "2:20 no 5",
        ),
        (":put 1\n:put (1 / 0)\n", "2:7 division by zero"),
        (
            ":if ([:len [/interface bridge find]] = 0) do={ :error bridge }\n/ip dns\n:error y\n",
            "1:49 bridge",
        ),
    ];
    for (text, wrong) in stops {
        assert_eq!(
            file(text),
            (wrong.to_owned(), Some(wrong.to_owned())),
            "{text}"
        );
    }

    let goes_on = [
        ":do { :error x } on-error={ :put caught }\n",
        ":local a 5\n:if ($a != 5) do={ :error x }\n",
        ":return 1\n:error x\n",
    ];
    for text in goes_on {
        assert_eq!(file(text), (String::new(), None), "{text}");
    }
    // A check does not know the answers of a router.
    for asked in ["[:resolve a.example]", "[/ping 192.0.2.1 count=1]"] {
        let text = format!(":local a {asked}\n:if ($a != 192.0.2.1) do={{ :error x }}\n");
        let report = script::check(&mut schema::store(), &text);
        assert_eq!(report.refused, [], "{text}");
    }
}

#[test]
fn a_mistyped_table_is_refused_and_not_created() {
    let mut console = Console::new();
    console.quietly(&["/routing table add name=isp1 fib"]);

    for (command, argument) in [
        (
            "/ip firewall mangle add chain=prerouting action=mark-routing new-routing-mark=ips1",
            "new-routing-mark",
        ),
        (
            "/ip firewall filter add chain=forward routing-mark=ips1",
            "routing-mark",
        ),
        (
            "/ip route add gateway=192.0.2.1 routing-table=ips1",
            "routing-table",
        ),
    ] {
        let refused = format!("input does not match any value of {argument}");
        assert_eq!(console.run(command), refused);
    }
    assert_eq!(console.run("/routing table print count-only"), "2\n");
}

#[test]
fn the_main_argument_of_a_tool_needs_no_name() {
    let mut console = Console::new();
    for command in [
        "/tool mac-scan ether1",
        "/tool mac-telnet 00:0C:42:00:00:01",
        "/system ssh 192.0.2.1 user=admin",
    ] {
        let said = console.run(command);
        assert!(
            said.ends_with(" has no effect here yet"),
            "{command}: {said}"
        );
    }
    assert_eq!(
        console.run("/tool torch ether1 ether2"),
        "expected end of command (line 1 column 20)"
    );
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark() {
    let text = "\u{feff}/system identity\nset name=x\nset nme=y\n";

    let report = script::check(&mut schema::store(), text);

    let refused: Vec<_> = report.refused.iter().map(|r| (r.line, r.column)).collect();
    assert_eq!((report.commands, refused), (2, vec![(3, 5)]));
    let mut session = script::Session::new("admin");
    let mut store = schema::store();
    let marked = "\u{feff}/system identity set name=x\n";
    let mut out = String::new();
    let live = &mut menu::Offline;
    let done = script::import(&mut store, live, &mut session, marked, &mut out);
    assert_eq!(done, Ok(()));
}

#[test]
fn a_check_lists_the_tables_that_a_version_6_file_creates() {
    let text = "/ip route\nadd gateway=192.0.2.1 routing-mark=isp1\n\
                add gateway=192.0.2.2 routing-mark=isp1\n/ip firewall mangle\n\
                add action=mark-routing chain=prerouting new-routing-mark=isp2\n\
                add action=mark-routing chain=prerouting new-routing-mark=main\n";

    let report = script::check(&mut schema::store(), text);

    assert_eq!(report.refused, []);
    let made: Vec<_> = report.made.iter().map(|m| (m.line, &*m.what)).collect();
    assert_eq!(
        made,
        [(2, "/routing/table isp1"), (5, "/routing/table isp2")]
    );
    let json = report.to_json("");
    assert!(
        json.ends_with(
            ",\"made\":[{\"line\":2,\"what\":\"/routing/table isp1\"},\
                        {\"line\":5,\"what\":\"/routing/table isp2\"}]}"
        ),
        "{json}"
    );
}

#[test]
fn completion_offers_valid_continuations() {
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
fn completion_distinguishes_arguments_with_and_without_value() {
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
fn menus_of_older_versions_are_accepted_and_not_offered() {
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
fn a_value_of_none_does_not_count_as_without_effect() {
    let mut console = Console::new();

    let probes = "/tool/netwatch print detail";
    console.quietly(&[
        "/certificate add name=own common-name=own",
        "/tool/netwatch add host=192.0.2.1 certificate=none",
    ]);
    assert!(!console.run(probes).contains("no effect"));
    console.quietly(&["/tool/netwatch set 0 certificate=own"]);
    assert!(console.run(probes).contains(";;; no effect: "));
}

#[test]
fn every_offered_menu_has_a_help_text() {
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
fn highlighting_distinguishes_words_and_errors() {
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
fn positions_count_carriage_returns() {
    use script::Class::Error;
    let console = Console::new();
    let text = "# a\r\n:put 1\r\n/ip foo";

    let pieces = script::highlight(&console.store, "/", text);
    let (from, to, class) = *pieces.last().expect("a piece");
    assert_eq!((&text[from..to], class), ("foo", Error));

    let line = "\r\n:put 1\r\n/ip addr";
    let found = script::complete(&console.store, &console.session, line, line.len());
    let address = found.iter().find(|found| found.text == "address");
    assert_eq!(&line[address.expect("a candidate").start..], "addr");
}

#[test]
fn an_invalid_value_is_marked_while_typed() {
    let console = Console::new();
    let wrong = |line: &str| -> Vec<String> {
        let pieces = script::highlight(&console.store, "/", line);
        let errors = pieces
            .into_iter()
            .filter(|(.., class)| *class == script::Class::Error);
        errors
            .map(|(from, to, _)| line[from..to].to_owned())
            .collect()
    };
    let add = "/interface/vlan/add name=v interface=ether1";

    for (line, value) in [
        (format!("{add} vlan-id=5000"), "5000"),
        (format!("{add} vlan-id=abc"), "abc"),
        (format!("{add} vlan-id=5000 mtu=1500"), "5000"),
        ("/interface/vlan/add interface=eth9".to_owned(), "eth9"),
        (
            "/ip/firewall/filter/add chain=input action=drp".to_owned(),
            "drp",
        ),
        ("/ip/address/add address=300.1".to_owned(), "300.1"),
        (
            "/ip/address/add address=\"1.1.1.x\" interface=ether1".to_owned(),
            "\"1.1.1.x\"",
        ),
    ] {
        assert_eq!(wrong(&line), [value], "{line}");
    }
    for line in [
        format!("{add} vlan-id=50"),
        "/interface/vlan/add interface=eth".to_owned(),
        "/ip/firewall/filter/add chain=input action=dr".to_owned(),
        "/ip/firewall/filter/add protocol=tcp dst-port=80,4".to_owned(),
        "/ip/firewall/filter/add src-address=!10.".to_owned(),
        "/ip/firewall/filter/add connection-state=established,rel".to_owned(),
        "/ip/address/add address=10.0.0.1/2".to_owned(),
        "/ip/address/add address=10.0.".to_owned(),
        "/ip/address/add address=$x interface=ether1".to_owned(),
        "/ip/arp/add mac-address=02:00:".to_owned(),
        "/system/scheduler/add interval=1d00:".to_owned(),
        "/ip/route/add dst-address=0.0.0.0/0 gateway=10.0.0.1%ether1".to_owned(),
        "/queue/simple/add max-limit=10M/2".to_owned(),
        "/user/add name=a group=full password=x".to_owned(),
    ] {
        assert!(wrong(&line).is_empty(), "{line}: {:?}", wrong(&line));
    }
}

#[test]
fn check_classifies_every_command_and_continues_after_an_error() {
    let text = "/interface moonbridge\nadd name=bridge1\n/interface ethernet\n\
                set [ find default-name=ether5 ] l2mtu=1600\n/ip address\n\
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
        [(4, "l2mtu"), (6, "interface=bridge1 (refused in line 2)")]
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
        report.to_json("a.rsc").starts_with(
            "{\"file\":\"a.rsc\",\"commands\":5,\"accepted\":3,\"applied\":1,\"no_effect\":[{\"line\":4,"
        )
    );
}
