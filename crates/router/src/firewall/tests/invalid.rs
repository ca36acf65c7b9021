//! Rules that are shown as invalid and never match.

use super::*;

#[test]
fn a_jump_without_a_target_is_invalid() {
    let mut bench = Bench::new(
        "/ip firewall filter\n\
         add chain=input action=jump\n\
         add chain=input action=jump jump-target=\"\"\n\
         add chain=input action=jump jump-target=without-rules\n",
    );
    let invalid = |bench: &Bench| {
        let desk = bench.firewall.desk(FILTER).expect("a table");
        [0, 1, 2].map(|place| desk.invalid(bench.item(FILTER, place)).is_some())
    };
    // RouterOS: a chain without rules is a chain.
    assert_eq!(invalid(&bench), [true, true, false]);

    bench.change("/ip firewall filter\nset 0 jump-target=a\nset 2 !jump-target");

    assert_eq!(invalid(&bench), [false, true, true]);
}

#[test]
fn rules_that_name_missing_items_are_invalid_and_never_match() {
    let mut bench = Bench::new(
        "/interface vlan add name=v interface=ether1 vlan-id=5\n\
         /ip firewall filter\n\
         add chain=input action=drop in-interface=v\n\
         add chain=input action=jump jump-target=input\n\
         add chain=input action=drop disabled=yes in-interface=v\n",
    );
    let invalid = |bench: &Bench, place| {
        let desk = bench.firewall.desk(FILTER).expect("a table");
        desk.invalid(bench.item(FILTER, place)).is_some()
    };
    assert!(!invalid(&bench, 0));
    // A jump into its own chain would never end.
    assert!(invalid(&bench, 1));

    bench.layout = Layout::default();
    let around = Around {
        intent: &bench.intent,
        layout: &bench.layout,
        tables: &bench.tables,
        now: Instant::ZERO,
    };
    let everything = bench.firewall.everything(&around);
    bench.firewall.lay_out(&around, everything, false);

    assert!(invalid(&bench, 0) && !invalid(&bench, 2));
    let table = &bench.firewall.compiled().ipv4.filter;
    let chain = table.chain(table.find("input").expect("a chain"));
    let rules: Vec<_> = chain.expect("it is there").rules().collect();
    let never = |rule: &rule::Rule| {
        matches!(
            rule.matchers[..],
            [Matcher {
                what: Match::Never,
                ..
            }]
        )
    };
    assert!(rules.len() == 2 && rules.iter().all(|rule| never(rule)));
}

#[test]
fn a_rule_without_any_effect_is_invalid_until_corrected() {
    let halves = [
        (
            "/ip firewall mangle",
            "prerouting action=mark-packet",
            "new-packet-mark=no-mark",
        ),
        (
            "/ip firewall mangle",
            "input action=mark-connection",
            "new-connection-mark=c",
        ),
        (
            "/ip firewall mangle",
            "output action=mark-routing",
            "new-routing-mark=main",
        ),
        (
            "/ip firewall mangle",
            "prerouting action=route",
            "route-dst=10.0.0.1",
        ),
        (
            "/ip firewall mangle",
            "forward action=change-mss protocol=tcp",
            "new-mss=1300",
        ),
        (
            "/ip firewall mangle",
            "forward action=change-dscp",
            "new-dscp=0",
        ),
        (
            "/ip firewall mangle",
            "forward action=change-ttl",
            "new-ttl=set:1",
        ),
        (
            "/ip firewall mangle",
            "forward action=set-priority",
            "new-priority=from-dscp",
        ),
        (
            "/ip firewall mangle",
            "forward action=sniff-tzsp",
            "sniff-target=10.0.0.1",
        ),
        (
            "/ip firewall mangle",
            "forward action=sniff-pc sniff-id=3",
            "sniff-target=10.0.0.1",
        ),
        (
            "/ipv6 firewall mangle",
            "forward action=snpt",
            "src-prefix=fd00::/48 dst-prefix=2001:db8::/48",
        ),
        (
            "/ipv6 firewall mangle",
            "forward action=change-hop-limit",
            "new-hop-limit=decrement:1",
        ),
        (
            "/ip firewall nat",
            "srcnat action=src-nat",
            "to-addresses=10.0.0.1",
        ),
        (
            "/ip firewall nat",
            "dstnat action=dst-nat protocol=tcp",
            "to-ports=80",
        ),
        (
            "/ip firewall nat",
            "srcnat action=netmap",
            "to-addresses=10.0.0.0/24",
        ),
        (
            "/ip firewall nat",
            "srcnat action=same",
            "to-addresses=10.0.0.0/24",
        ),
        (
            "/ipv6 firewall nat",
            "dstnat action=dst-nat",
            "to-address=2001:db8::1/128",
        ),
        (
            "/ip firewall filter",
            "forward action=jump",
            "jump-target=own",
        ),
        (
            "/ip firewall filter",
            "forward action=add-src-to-address-list",
            "address-list=l",
        ),
        (
            "/ip firewall filter",
            "forward per-connection-classifier=src-port:2/2",
            "per-connection-classifier=src-port:2/1",
        ),
        (
            "/ip firewall filter",
            "forward connection-bytes=100-50",
            "connection-bytes=100-0",
        ),
        (
            "/ip firewall filter",
            "forward connection-rate=2M-1M",
            "connection-rate=1M-2M",
        ),
        (
            "/ip firewall filter",
            "forward protocol=tcp tcp-flags=syn,!syn",
            "tcp-flags=syn,!ack",
        ),
        (
            "/ip firewall filter",
            "forward hotspot=auth,!auth",
            "hotspot=!auth",
        ),
    ];
    let mut bench = Bench::new("");
    for (menu, rule, rest) in halves {
        bench.change(&format!("{menu} add chain={rule}"));
        let path = menu.replace(' ', "/");
        let place = bench.store.items(&path).count() - 1;
        let item = bench.item(&path, place);
        let invalid = |bench: &Bench| {
            bench
                .firewall
                .desk(&path)
                .expect("a table")
                .invalid(item)
                .is_some()
        };
        assert!(invalid(&bench), "{menu} {rule}");

        bench.change(&format!("{menu} set {place} {rest}"));

        assert!(!invalid(&bench), "{menu} {rule} {rest}");
    }
}
