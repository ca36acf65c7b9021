//! Firewall of a router between two networks, from commands to observed packets.

use std::sync::Arc;

use sim::{Line, NodeId, Received, World};

use crate::{Chain, chain, errors, seconds};

/// Builds a chain whose west router has this firewall.
fn guarded(seed: u64, workers: usize, firewall: &str) -> Chain {
    let mut chain = chain(seed, Line::default(), workers);
    chain.world.run_on(chain.west, firewall);
    chain
}

/// Returns the senders of the datagrams that a host received.
fn datagrams(world: &mut World, host: NodeId) -> Vec<String> {
    let heard = world.at(host).heard.iter();
    let datagrams = heard.filter_map(|heard| match heard {
        Received::Udp { from, .. } => Some(from.to_string()),
        _ => None,
    });
    datagrams.collect()
}

#[test]
fn a_rule_drops_counts_and_logs() {
    let Chain {
        mut world,
        client,
        server,
        west,
        ..
    } = guarded(
        1,
        1,
        "/ip firewall filter add chain=forward action=drop protocol=udp dst-port=9 log=yes log-prefix=bad",
    );

    world.at(client).send_udp_from(4_000, "10.2.0.2", 9, 100);
    world.at(client).send_udp_from(4_000, "10.2.0.2", 10, 100);
    world.run(seconds(2));

    assert_eq!(datagrams(&mut world, server), ["10.1.0.2"]);
    let log = world.run_on(west, "/log print where topics~\"firewall\"");
    let line = "bad forward: in:ether1 out:ether2, connection-state:new src-mac ";
    assert!(log.contains(line), "{log}");
    let end = ", proto UDP, 10.1.0.2:4000->10.2.0.2:9, len 128";
    assert!(log.contains(end), "{log}");
    let counted = world.run_on(west, ":put [/ip firewall filter get 0 packets]");
    assert_eq!(counted, "1\n");
    let last = world.run_on(west, ":put [:len [/ip firewall filter get 0 last-hit]]");
    assert_ne!(last, "0\n");

    world.run_on(west, "/ip firewall filter reset-counters-all");
    let counted = world.run_on(west, ":put [/ip firewall filter get 0 packets]");
    assert_eq!(counted, "0\n");
}

#[test]
fn icmp_errors_are_translated_by_the_worker_that_owns_the_connection() {
    let redirect = "nat add chain=dstnat action=redirect protocol=udp dst-port=53 to-ports=5353";
    let rules = format!(
        "/ip firewall {redirect}\n/ipv6 firewall {redirect}\n/ip settings set icmp-rate-limit=0"
    );
    for server in crate::SERVERS {
        let Chain {
            mut world, client, ..
        } = guarded(3, 4, &rules);

        for port in 4_000..4_012 {
            world.at(client).send_udp_from(port, server, 53, 10);
            world.run(seconds(2));
        }

        let heard = errors(&mut world, client);
        assert!(heard.len() > 8, "{heard:?}");
        assert!(heard.iter().all(|(from, ..)| from == server), "{heard:?}");
    }
}

#[test]
fn time_matchers_use_the_routers_local_time() {
    // The world begins on a Thursday at midnight.
    let rules = "/ip firewall filter\n\
                 add chain=forward action=passthrough time=0s-1d,thu\n\
                 add chain=forward action=passthrough time=0s-1d,sun,mon,tue,wed,fri,sat\n\
                 add chain=forward action=passthrough time=23h-1h,thu\n\
                 add chain=forward action=passthrough time=1h-23h,thu";
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(1, 1, rules);

    world.at(client).send_udp_from(4_000, "10.2.0.2", 9, 100);
    world.run(seconds(2));
    world.run(seconds(2 * 3_600));
    world.at(client).send_udp_from(4_001, "10.2.0.2", 9, 100);
    world.run(seconds(2));

    let counted = world.run_on(
        west,
        ":foreach r in=[/ip firewall filter find] do={ :put [/ip firewall filter get $r packets] }",
    );
    assert_eq!(counted, "2\n0\n1\n1\n");
}

#[test]
fn connections_show_their_translation_and_can_be_removed() {
    for workers in [1, 2] {
        let Chain {
            mut world,
            client,
            server,
            west,
            ..
        } = guarded(
            2,
            workers,
            "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether2",
        );

        world.at(client).send_udp_from(4_000, "10.2.0.2", 53, 100);
        world.run(seconds(2));

        assert_eq!(datagrams(&mut world, server), ["10.9.0.1"]);
        let shown = world.run_on(
            west,
            ":foreach c in=[/ip firewall connection find where protocol=udp src-address=10.1.0.2 dst-port=53] \
             do={:put [/ip firewall connection get $c reply-dst-address]; \
             :put [/ip firewall connection get $c srcnat]}",
        );
        assert_eq!(shown, "10.9.0.1\ntrue\n", "{workers} workers");
        let total = ":put [/ip firewall connection tracking get total-ip4-entries]";
        assert_eq!(world.run_on(west, total), "1\n");

        world.run_on(west, "/ip firewall connection remove [find]");
        world.run(seconds(1));
        assert_eq!(world.run_on(west, total), "0\n");
    }
}

#[test]
fn reject_answers_as_the_rule_says() {
    let Chain {
        mut world, client, ..
    } = guarded(
        3,
        1,
        "/ip firewall filter add chain=forward action=reject reject-with=icmp-admin-prohibited protocol=udp\n\
         /ipv6 firewall filter add chain=forward action=reject reject-with=icmp-port-unreachable protocol=udp",
    );

    world.at(client).send_udp("10.2.0.2", 9, 100);
    world.at(client).send_udp("2001:db8:2::2", 9, 100);
    world.run(seconds(1));

    let expected = [
        ("10.1.0.1".to_owned(), 3, 13, 0),
        ("2001:db8:1::1".to_owned(), 1, 4, 0),
    ];
    assert_eq!(errors(&mut world, client), expected);
}

#[test]
fn dynamic_addresses_stay_until_their_timeout() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(
        4,
        1,
        "/ip firewall filter\n\
         add chain=forward action=add-src-to-address-list connection-state=new address-list=seen address-list-timeout=5s\n\
         add chain=forward action=add-dst-to-address-list connection-state=new address-list=kept address-list-timeout=none-static\n\
         /ip firewall address-list add list=own address=192.0.2.0/24 timeout=5s",
    );

    world.at(client).ping("10.2.0.2", 1, 40);
    world.run(seconds(2));
    let lists = ":foreach e in=[/ip firewall address-list find] do={\
         :put ([/ip firewall address-list get $e list] . [/ip firewall address-list get $e address])}";
    let mut shown: Vec<_> = world
        .run_on(west, lists)
        .lines()
        .map(str::to_owned)
        .collect();
    shown.sort();
    assert_eq!(shown, ["kept10.2.0.2", "own192.0.2.0/24", "seen10.1.0.2"]);

    world.run(seconds(6));
    assert_eq!(world.run_on(west, lists), "kept10.2.0.2\n");
    let exported = world.run_on(west, "/ip firewall address-list export");
    assert!(
        exported.contains("add address=10.2.0.2 list=kept"),
        "{exported}"
    );
}

#[test]
fn the_timeout_of_a_dynamic_address_can_be_changed() {
    for (family, to, source) in [
        ("/ip", "10.2.0.2", "10.1.0.2"),
        ("/ipv6", "2001:db8:2::2", "2001:db8:1::2/128"),
    ] {
        let rule = "add chain=forward action=add-src-to-address-list connection-state=new";
        let Chain {
            mut world,
            client,
            west,
            ..
        } = guarded(
            4,
            1,
            &format!(
                "{family} firewall filter\n{rule} address-list=seen address-list-timeout=5s\n\
                 {rule} address-list=met address-list-timeout=none-dynamic\n\
                 {family} firewall address-list add list=own address={source} timeout=5s"
            ),
        );
        world.at(client).ping(to, 1, 40);
        world.run(seconds(2));

        let list = format!("{family} firewall address-list");
        world.run_on(west, &format!("{list} set [find dynamic] timeout=1h"));
        world.run(seconds(10));
        let left = format!(":foreach e in=[{list} find] do={{:put [{list} get $e timeout]}}");
        assert_eq!(
            world.run_on(west, &left),
            "00:59:50\n".repeat(3),
            "{family}"
        );

        let refused = |world: &mut World, what: &str| {
            let line =
                format!(":do {{{list} set [find list=seen] {what}}} on-error={{:put refused}}");
            world.run_on(west, &line) == "refused\n"
        };
        assert!(refused(&mut world, "list=other timeout=2h"));
        assert!(refused(&mut world, "comment=why"));

        world.run_on(west, &format!("{list} set [find list!=own] timeout=3s"));
        world.run(seconds(4));
        let rest = format!(":foreach e in=[{list} find] do={{:put [{list} get $e list]}}");
        assert_eq!(world.run_on(west, &rest), "own\n", "{family}");
    }
}

#[test]
fn a_trace_follows_rules_and_changes_nothing() {
    let Chain {
        mut world, west, ..
    } = guarded(
        5,
        1,
        "/ip firewall filter\n\
         add chain=forward action=jump jump-target=out protocol=tcp out-interface=ether2\n\
         add chain=out action=accept protocol=tcp dst-port=80 comment=web\n\
         add chain=out action=reject reject-with=tcp-reset protocol=tcp",
    );
    let trace = |world: &mut World, port: u16| {
        world.run_on(
            west,
            &format!(
                "/tool trace in-interface=ether1 src-address=10.1.0.2 dst-address=10.2.0.2 dst-port={port}"
            ),
        )
    };

    let web = trace(&mut world, 80);
    assert!(
        web.contains(";;; web") && web.contains("verdict      sent"),
        "{web}"
    );
    let other = trace(&mut world, 81);
    assert!(other.contains("not matched: dst-port=80"), "{other}");
    assert!(other.contains("a rule rejects the packet"), "{other}");

    let counted =
        ":put ([/ip firewall filter get 0 packets] + [/ip firewall filter get 2 packets])";
    assert_eq!(world.run_on(west, counted), "0\n");
    let total = ":put [/ip firewall connection tracking get total-entries]";
    assert_eq!(world.run_on(west, total), "0\n");
}

#[test]
fn an_invalid_layer7_pattern_is_reported() {
    let Chain {
        mut world, west, ..
    } = guarded(
        6,
        1,
        "/ip firewall layer7-protocol add name=good regexp=\"^get\"\n\
         /ip firewall layer7-protocol add name=bad regexp=\"(\"\n\
         /ip firewall filter add chain=forward action=drop layer7-protocol=good\n\
         /ip firewall filter add chain=forward action=drop layer7-protocol=bad",
    );

    let log = world.run_on(west, "/log print where topics~\"firewall\"");
    assert!(log.contains("layer7 pattern bad cannot run"), "{log}");
    let invalid = ":put [:len [/ip firewall filter find where invalid]]";
    assert_eq!(world.run_on(west, invalid), "1\n");
}

#[test]
fn nat_rules_show_their_translations_in_the_trace() {
    let Chain {
        mut world,
        client,
        server,
        west,
        ..
    } = guarded(
        7,
        1,
        "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether2\n\
         /ip firewall nat add chain=dstnat action=dst-nat in-interface=ether2 protocol=udp dst-port=7 \
         to-addresses=10.1.0.2 to-ports=77\n\
         /ip firewall filter add chain=forward action=log protocol=udp",
    );

    world.at(client).send_udp_from(4_000, "10.2.0.2", 53, 100);
    world.run(seconds(2));
    world.at(server).send_udp_from(53, "10.9.0.1", 4_000, 100);
    world.run(seconds(1));
    world.at(client).send_udp_from(4_000, "10.2.0.2", 53, 100);
    world.run(seconds(1));
    world.at(server).send_udp_from(5_000, "10.9.0.1", 7, 100);
    world.run(seconds(1));
    world.at(client).send_udp_from(77, "10.2.0.2", 5_000, 100);
    world.run(seconds(1));

    let log = world.run_on(west, "/log print where topics~\"firewall\"");
    let line = |line: &str| {
        line.split_once("connection-state:")
            .map(|(_, rest)| rest.to_owned())
    };
    let lines: Vec<_> = log.lines().filter_map(line).collect();
    // Without MAC address, and without the effect of srcnat, which is unknown before the first packet.
    let without_mac = |line: &String| {
        let (state, rest) = line.split_once(" src-mac ").expect("from Ethernet");
        format!("{state}{}", &rest[17..])
    };
    let expected = [
        "new, proto UDP, 10.1.0.2:4000->10.2.0.2:53, len 128",
        "established,snat, proto UDP, 10.2.0.2:53->10.1.0.2:4000, \
         NAT 10.2.0.2:53->(10.9.0.1:4000->10.1.0.2:4000), len 128",
        "established,snat, proto UDP, 10.1.0.2:4000->10.2.0.2:53, \
         NAT (10.1.0.2:4000->10.9.0.1:4000)->10.2.0.2:53, len 128",
        "new,dnat, proto UDP, 10.2.0.2:5000->10.1.0.2:77, \
         NAT 10.2.0.2:5000->(10.9.0.1:7->10.1.0.2:77), len 128",
        "established,dnat, proto UDP, 10.1.0.2:77->10.2.0.2:5000, \
         NAT (10.1.0.2:77->10.9.0.1:7)->10.2.0.2:5000, len 128",
    ];
    let seen: Vec<_> = lines.iter().map(without_mac).collect();
    assert_eq!(seen, expected);
}

#[test]
fn local_packets_to_link_local_addresses_pass_output_and_postrouting() {
    for (workers, rule, expected) in [
        (1, "", 2),
        (2, "", 2),
        (
            1,
            "/ipv6 firewall filter add chain=output action=drop dst-address=fe80::/10",
            0,
        ),
        (
            1,
            "/ipv6 firewall mangle add chain=postrouting action=passthrough dst-address=fe80::/10",
            2,
        ),
        // A mark selects no other link.
        (
            2,
            "/routing table add fib name=other\n\
             /ipv6 firewall mangle add chain=output action=mark-routing new-routing-mark=other \
             dst-address=fe80::/10",
            2,
        ),
        (
            1,
            "/ipv6 firewall filter add chain=input action=drop dst-address=fe80::/10 in-interface=ether1 \
             icmp-options=128:0 protocol=icmpv6",
            0,
        ),
    ] {
        let Chain {
            mut world,
            client,
            west,
            ..
        } = guarded(
            8,
            workers,
            &format!("/ip firewall connection tracking set enabled=yes\n{rule}"),
        );

        world.at(client).ping("fe80::f0:ff:fe00:1", 1, 40);
        world.at(client).ping("fe80::f0:ff:fe00:1", 2, 40);
        world.run(seconds(3));

        let replies = world.at(client).replies("fe80::f0:ff:fe00:1");
        assert_eq!(replies, expected, "{workers} workers: {rule}");
        if let Some(menu) = rule
            .lines()
            .last()
            .and_then(|rule| rule.split_once(" add "))
        {
            let counted = world.run_on(west, &format!(":put [{} get 0 packets]", menu.0));
            assert_eq!(counted, "2\n", "{rule}");
        }
    }
}

#[test]
fn link_protocols_of_the_router_pass_output_untracked() {
    const ADVERTISED: &str = "chain=output protocol=icmpv6 icmp-options=136 connection-state=untracked \
                              out-interface=ether1";
    for (rule, expected) in [
        (format!("filter add {ADVERTISED} action=passthrough"), 1),
        (format!("filter add {ADVERTISED} action=drop"), 0),
        (
            "raw add chain=output protocol=icmpv6 icmp-options=136 action=drop".to_owned(),
            0,
        ),
        // Replies reach the sender whatever the mark.
        (
            format!("mangle add {ADVERTISED} action=mark-routing new-routing-mark=other"),
            1,
        ),
    ] {
        let Chain {
            mut world,
            client,
            west,
            ..
        } = guarded(
            9,
            1,
            &format!(
                "/routing table add fib name=other\n\
                 /ipv6 address add address=2001:db8:1::77/64 interface=ether1\n\
                 /ip firewall connection tracking set enabled=yes\n/ipv6 firewall {rule}"
            ),
        );
        // The address is unused and unresolved.
        world.run(seconds(3));

        world.at(client).ping("2001:db8:1::77", 1, 40);
        world.run(seconds(5));

        let replies = world.at(client).replies("2001:db8:1::77");
        assert_eq!(replies, expected, "{rule}");
        let (menu, _) = rule.split_once(' ').expect("a menu");
        let counted = world.run_on(
            west,
            &format!(":put ([/ipv6 firewall {menu} get 0 packets] > 0)"),
        );
        assert_eq!(counted, "true\n", "{rule}");
    }
}

#[test]
fn a_rule_placed_before_the_fasttrack_counter_comes_first() {
    let Chain {
        mut world,
        client,
        server,
        west,
        ..
    } = guarded(
        9,
        1,
        "/ip firewall filter\n\
         add chain=forward action=fasttrack-connection connection-state=established comment=first\n\
         add chain=forward action=accept comment=last",
    );
    for packets in [1, 1, 9] {
        // One packet a second does not take FastTrack's way.
        for _ in 0..packets {
            world.at(client).send_udp_from(4_000, "10.2.0.2", 53, 100);
        }
        world.run(seconds(2));
        world.at(server).send_udp_from(53, "10.1.0.2", 4_000, 100);
        world.run(seconds(1));
    }
    let comments = |world: &mut World| {
        let all = ":foreach r in=[/ip firewall filter find] do={\
                   :put [/ip firewall filter get $r comment]}";
        world.run_on(west, all)
    };
    let dummy = "special dummy rule to show fasttrack counters\n";
    assert_eq!(comments(&mut world), format!("{dummy}first\nlast\n"));

    // RouterOS: item numbers refer to the last `print`, so the second rule moves behind the first.
    world.run_on(
        west,
        "/ip firewall filter print\n\
         /ip firewall filter add chain=input action=accept comment=a place-before=0\n\
         /ip firewall filter add chain=input action=accept comment=b place-before=0",
    );
    assert_eq!(comments(&mut world), format!("{dummy}a\nb\nfirst\nlast\n"));

    let place = "/ip firewall filter add chain=input action=accept place-before=0 comment=";
    world.run_on(west, &format!("{place}c\n{place}d"));
    world.run_on(
        west,
        "/ip firewall filter move [find comment=last] destination=0",
    );
    let expected = format!("{dummy}last\nd\nc\na\nb\nfirst\n");
    assert_eq!(comments(&mut world), expected);

    // RouterOS: `print` of rules has additional filters.
    for (words, count) in [
        ("all", 7),
        ("dynamic", 1),
        ("static", 6),
        ("chain=input", 4),
        ("static chain=forward", 2),
        ("chain=forward where comment=last", 1),
    ] {
        let counted = format!("/ip firewall filter print count-only {words}");
        assert_eq!(
            world.run_on(west, &counted),
            format!("{count}\n"),
            "{words}"
        );
    }

    // A trace numbers rules like `print`.
    let traced = world.run_on(
        west,
        "/tool trace in-interface=ether1 src-address=10.1.0.2 dst-address=10.2.0.2 protocol=icmp",
    );
    assert!(
        traced.contains(" 1 accept ") && !traced.contains(" 0 "),
        "{traced}"
    );
    for (command, refusal) in [("disable", "change"), ("remove", "remove")] {
        let command = format!(":onerror e in={{/ip firewall filter {command} 0}} do={{:put $e}}");
        let said = world.run_on(west, &command);
        let refusal = format!("failure: can not {refusal} dynamic ");
        assert!(said.starts_with(&refusal), "{said}");
    }
}

/// Builds a segment of an established FTP control connection; nothing on the path checks its checksum.
fn command(number: u8, text: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40 + text.len() as u8, 0, 1, 0, 0, 64, 6, 0, 0];
    packet.extend([10, 1, 0, 2, 10, 2, 0, 2]);
    let sum: u32 = packet
        .chunks(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    packet.extend([0x13, 0x88, 0, 21, 0, 0, 0, number, 0, 0, 0, 1]);
    packet.extend([0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    packet.extend(text);
    packet
}

#[test]
fn a_split_helper_command_that_needs_an_edit_is_counted() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(
        9,
        1,
        "/ip firewall nat add chain=srcnat out-interface=ether2 action=masquerade",
    );
    let counted = ":put [/ip firewall service-port get ftp cut-messages]";
    let send = |world: &mut World, number, text: &[u8]| {
        let packet = command(number, text);
        world.at(client).send_raw("10.2.0.2", packet);
        world.run(seconds(1));
    };
    send(&mut world, 10, b"PORT ");
    send(&mut world, 15, b"10,1,0,2,19,137\r\n");
    assert_eq!(world.run_on(west, counted), "\n");

    send(&mut world, 32, b"PORT 10,1,");
    send(&mut world, 42, b"0,2,19,138\r\n");

    assert_eq!(world.run_on(west, counted), "1\n");
}

/// Builds a GRE packet with `rest` after the first four header bytes.
fn tunnelled(flags: u16, protocol: u16, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 24 + rest.len() as u8, 0, 1, 0, 0, 64, 47, 0, 0];
    packet.extend([10, 1, 0, 2, 10, 2, 0, 2]);
    let sum: u32 = packet
        .chunks(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    packet.extend(flags.to_be_bytes());
    packet.extend(protocol.to_be_bytes());
    packet.extend(rest);
    packet
}

#[test]
fn a_connection_of_gre_shows_its_header_and_has_the_generic_timeout() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(
        9,
        1,
        "/ip firewall connection tracking set enabled=yes generic-timeout=7m",
    );
    let keyed = tunnelled(0x2000, 0x6558, &[0, 0, 1, 2]);
    world.at(client).send_raw("10.2.0.2", keyed);
    world.run(seconds(1));

    let row = world.run_on(west, "/ip firewall connection print detail");
    for said in [
        "protocol=gre",
        "gre-protocol=25944",
        "gre-version=0",
        "gre-key=258",
        "timeout=6m",
    ] {
        assert!(row.contains(said), "{said}: {row}");
    }

    // PPTP connections are distinguished by the call number in the GRE key.
    let call = tunnelled(0x3001, 0x880b, &[0, 0, 0x12, 0x34, 0, 0, 0, 0]);
    world.at(client).send_raw("10.2.0.2", call);
    world.run(seconds(1));
    let count = "/ip firewall connection print count-only where gre-version=1 gre-key=4660";
    assert_eq!(world.run_on(west, count), "1\n");
}

#[test]
fn connection_counters_are_printed_as_statistics() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(9, 1, "/ip firewall connection tracking set enabled=yes");
    world.at(client).send_udp_from(4_000, "10.2.0.2", 53, 100);
    world.run(seconds(1));

    let stats = world.run_on(west, "/ip firewall connection print stats");

    let (legend, table) = stats.rsplit_once('#').expect("a line of headings");
    assert!(
        legend.contains("Columns: PROTOCOL, SRC-ADDRESS,"),
        "{stats}"
    );
    for column in [
        "ORIG-PACKETS",
        "ORIG-FASTTRACK-BYTES",
        "REPL-BYTES",
        "ORIG-RATE",
    ] {
        assert!(table.contains(column), "{column}: {stats}");
    }
}

#[test]
fn fasttrack_is_active_while_it_carries_a_connection() {
    let Chain {
        mut world,
        client,
        server,
        west,
        ..
    } = guarded(
        9,
        1,
        "/ip firewall connection tracking set enabled=yes\n\
         /ip firewall filter add chain=forward action=fasttrack-connection",
    );
    for packets in [1, 9] {
        // One packet a second does not take FastTrack's way.
        for _ in 0..packets {
            world.at(client).send_udp_from(4_000, "10.2.0.2", 53, 100);
        }
        world.at(server).send_udp_from(53, "10.1.0.2", 4_000, 100);
        world.run(seconds(2));
    }
    let active = ":put [/ip settings get ipv4-fasttrack-active]";

    world.run_on(west, "/ip firewall filter remove [find !dynamic]");
    assert_eq!(world.run_on(west, active), "true\n");

    world.run_on(west, "/ip firewall connection remove [find]");
    world.run(seconds(1));
    assert_eq!(world.run_on(west, active), "false\n");
}

#[test]
fn a_configured_entry_and_the_same_dynamic_address_are_one() {
    let add = "add chain=forward action=add-src-to-address-list src-address=10.1.0.2 \
               address-list-timeout=10s";
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(
        4,
        1,
        &format!(
            "/ip firewall filter\n{add} address-list=timed\n{add} address-list=fixed\n\
             {add} address-list=made\n/ip firewall address-list\n\
             add list=timed address=10.1.0.2 timeout=5s\nadd list=fixed address=10.1.0.2\n\
             add list=zero address=192.0.2.1 timeout=0s"
        ),
    );
    world.run(seconds(1));
    world.at(client).ping("10.2.0.2", 1, 40);
    world.run(seconds(6));
    let lists = ":foreach e in=[/ip firewall address-list find] do={\
         :put ([/ip firewall address-list get $e list] . \" \" . \
         [/ip firewall address-list get $e dynamic] . \" \" . \
         [:len [/ip firewall address-list get $e timeout]])}";
    let shown = |world: &mut World| {
        let shown = world.run_on(west, lists);
        let mut lines: Vec<_> = shown.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };

    // RouterOS: the rule extends timed entries, and leaves permanent entries alone.
    let all = [
        "fixed false 0",
        "made true 8",
        "timed true 8",
        "zero true 0",
    ];
    assert_eq!(shown(&mut world), all);
    let again = ":onerror e in={/ip firewall address-list add list=made address=10.1.0.2} \
                 do={:put $e}";
    let refused = world.run_on(west, again);
    assert!(
        refused.starts_with("failure: already have such entry"),
        "{refused}"
    );

    world.run(seconds(12));
    assert_eq!(shown(&mut world), ["fixed false 0", "zero true 0"]);
    let exported = world.run_on(west, "/ip firewall address-list export");
    assert!(!exported.contains("zero"), "{exported}");
}

#[test]
fn terse_rows_show_the_fault_of_a_rule() {
    let Chain {
        mut world, west, ..
    } = guarded(
        4,
        1,
        "/ip firewall filter add chain=forward action=jump jump-target=forward comment=round",
    );

    let terse = world.run_on(west, "/ip firewall filter print terse");

    let about = terse.split_once(".about=").map(|(before, _)| before);
    assert!(
        about.is_some_and(|before| before.ends_with("comment=round ")),
        "{terse}"
    );
}

#[test]
fn interface_list_changes_need_no_new_snapshot() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = guarded(
        1,
        1,
        "/interface list add name=guests\n\
         /ip firewall filter add chain=forward action=drop in-interface-list=guests",
    );
    let pings = |world: &mut World, seq| {
        let before = world.at(client).replies("10.2.0.2");
        world.at(client).ping("10.2.0.2", seq, 56);
        world.run(seconds(1));
        world.at(client).replies("10.2.0.2") - before
    };
    let join = "/interface list member add list=guests interface=ether1";
    let leave = "/interface list member remove [find list=guests]";
    assert_eq!(pings(&mut world, 1), 1);
    // The first member of the list creates an interface class that compiled rules do not contain yet.
    world.run_on(west, join);
    assert_eq!(pings(&mut world, 2), 0);

    let snapshot = world.control(west).snapshot();
    world.run_on(west, leave);
    assert_eq!(pings(&mut world, 3), 1);
    world.run_on(west, join);
    assert_eq!(pings(&mut world, 4), 0);

    assert!(Arc::ptr_eq(&snapshot, &world.control(west).snapshot()));
}
