//! Rows of rules and lists, and permitted changes of them.

use dataplane::nat::helper::has_code;
use machine::Instant;
use menu::Clock;
use script::Session;

use super::*;
use crate::Instance;
use crate::drive::Setup;

const SECOND: u64 = 1_000_000_000;

/// Sets both clocks; the time of day is `late` nanoseconds behind.
fn at(router: &mut Instance, now: u64, late: u64) {
    let day = 1_795_287_477 * SECOND + now + late;
    router.control().set_clock(Clock {
        unix_seconds: i64::try_from(day / SECOND).expect("a date"),
        nanos: u32::try_from(day % SECOND).expect("part of a second"),
        ..Clock::utc(0)
    });
    router.poll(Instant::from_nanos(now));
}

#[test]
fn enabled_helpers_that_do_not_exist_are_marked() {
    let mut router = router();
    let mut store = schema::store();
    let marked = |store: &Store, name: &str| {
        let mut items = store.items("/ip/firewall/service-port");
        let item = items.find(|item| item.text("name") == name);
        item.is_some_and(|item| store.no_effect_reason(item).is_some())
    };
    for disabled in [false, true] {
        let ids: Vec<_> = store
            .items("/ip/firewall/service-port")
            .map(|item| (item.menu, item.id))
            .collect();
        for (menu, id) in ids {
            let mark = store.begin();
            let value = Some(Value::Bool(disabled));
            store
                .set(menu, id, &[("disabled", value)])
                .expect("it is a word");
            store.commit(mark).expect("nothing is journaled");
        }
        for name in ["ftp", "tftp", "irc", "sip", "pptp", "rtsp", "h323"] {
            let there = helper_of(name).is_some_and(has_code);
            assert_eq!(marked(&store, name), !there && !disabled, "{name}");
        }
        // Connections of these protocols are always tracked.
        for name in ["udplite", "dccp", "sctp"] {
            assert_eq!(marked(&store, name), disabled, "{name}");
        }
    }
    let shown = run(&mut router, "/ip firewall service-port print");
    assert!(shown.contains(";;; no effect: "), "{shown}");
}

fn router() -> Instance {
    let (router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), schema::store()).expect("a small pool");
    router
}

fn run(router: &mut Instance, line: &str) -> String {
    let mut out = String::new();
    let done = router.run(&mut Session::new("admin"), line, &mut out);
    done.map(|()| out).expect("a good command")
}

#[test]
fn a_rule_whose_action_lacks_something_says_which_argument() {
    let mut router = router();
    for (rule, argument) in [
        ("filter add chain=input action=jump", "jump-target"),
        (
            "filter add chain=input action=add-src-to-address-list",
            "address-list",
        ),
        ("nat add chain=dstnat action=dst-nat", "to-addresses"),
        ("nat add chain=srcnat action=netmap", "to-addresses"),
        (
            "mangle add chain=prerouting action=mark-packet",
            "new-packet-mark",
        ),
        (
            "mangle add chain=prerouting action=mark-routing",
            "new-routing-mark",
        ),
        ("mangle add chain=prerouting action=change-ttl", "new-ttl"),
    ] {
        run(&mut router, &format!("/ip firewall {rule}"));
        let table = rule.split(' ').next().unwrap_or_default();
        let shown = run(&mut router, &format!("/ip firewall {table} print detail"));
        let awaited = format!(";;; its action needs {argument}");
        assert!(shown.contains(&awaited), "{rule}: {shown}");
    }
}

#[test]
fn a_rule_that_names_an_unusable_item_reports_which_one() {
    let mut router = router();
    run(
        &mut router,
        "/routing table add name=t fib\n\
         /interface vlan add name=v interface=lo vlan-id=5\n\
         /interface list add name=l\n\
         /ip firewall layer7-protocol add name=p regexp=a\n\
         /ip firewall mangle add chain=prerouting action=mark-routing new-routing-mark=t\n\
         /ipv6 firewall mangle add chain=prerouting action=accept routing-mark=!t\n\
         /routing rule add action=lookup-only-in-table table=t\n\
         /routing rule add action=drop routing-mark=t interface=v\n\
         /ip firewall filter add chain=input in-interface-list=l\n\
         /ip firewall filter add chain=input in-interface=v\n\
         /ip firewall filter add chain=input layer7-protocol=p comment=own\n\
         /ip firewall filter add chain=input in-interface=t\n\
         /ip firewall filter add chain=input action=jump jump-target=input\n\
         /ip firewall filter add chain=input action=jump",
    );
    let remarks = |router: &mut Instance, menu: &str| -> Vec<String> {
        let shown = run(router, &format!("{menu} print detail"));
        let lines = shown.lines().filter_map(|line| line.split_once(";;; "));
        lines.map(|(_, remark)| remark.to_owned()).collect()
    };
    let of_table = [
        "/ip firewall mangle",
        "/ipv6 firewall mangle",
        "/routing rule",
    ];
    for menu in of_table {
        assert!(remarks(&mut router, menu).is_empty(), "{menu}");
    }

    for (change, remark) in [
        ("disable t", "routing table t is disabled"),
        ("set t !fib disabled=no", "routing table t has no fib"),
        ("remove t", "there is no routing table *"),
    ] {
        run(&mut router, &format!("/routing table {change}"));
        for menu in of_table {
            let remarks = remarks(&mut router, menu);
            let said = remarks.iter().filter(|said| said.starts_with(remark));
            let rules = if menu == "/routing rule" { 2 } else { 1 };
            assert_eq!(said.count(), rules, "{menu} {change}: {remarks:?}");
        }
    }

    run(
        &mut router,
        "/routing table add name=u fib\n\
         /interface vlan remove v\n\
         /interface list remove l\n\
         /ip firewall layer7-protocol remove p\n\
         /ip firewall filter set 3 in-interface=u",
    );
    let said = remarks(&mut router, "/ip firewall filter");
    let awaited = [
        "there is no interface list *",
        "there is no interface *",
        "own",
        "there is no layer7 protocol *",
        "u is a routing table, not an interface",
        "the jump forms a loop or nests too deep",
        "its action needs jump-target",
    ];
    assert_eq!(said.len(), awaited.len(), "{said:?}");
    for (said, awaited) in said.iter().zip(awaited) {
        assert!(said.starts_with(awaited), "{said}: {awaited}");
    }
    let shown = run(&mut router, "/ip firewall filter print stats");
    assert!(shown.contains("\n;;; u is a routing table"), "{shown}");
}

#[test]
fn an_entry_keeps_its_date_however_late_the_clock_is_read() {
    let mut router = router();
    at(&mut router, 0, 0);
    run(
        &mut router,
        "/ip firewall address-list add list=a address=192.0.2.1",
    );

    for (now, late) in [(SECOND / 2, 0), (SECOND - 1, 9_000), (7 * SECOND, 0)] {
        at(&mut router, now, late);
        let date = ":put [/ip firewall address-list get [find] creation-time]";
        assert_eq!(run(&mut router, date), "2026-11-21 18:57:57\n", "{now}");
    }
    // The time of day is changed by an hour.
    at(&mut router, 8 * SECOND, 3_600 * SECOND);
    let date = ":put [/ip firewall address-list get [find] creation-time]";
    assert_eq!(run(&mut router, date), "2026-11-21 19:57:57\n");
}

#[test]
fn rules_are_found_by_absent_flags() {
    let mut router = router();
    run(
        &mut router,
        "/ip firewall filter add chain=input action=accept\n\
         /ip firewall filter add chain=forward action=fasttrack-connection\n\
         /ip firewall connection tracking set enabled=yes",
    );
    for (condition, found) in [
        ("dynamic=no", 2),
        ("dynamic=false", 2),
        ("!dynamic", 2),
        ("dynamic!=yes", 2),
        ("dynamic", 0),
        ("dynamic=yes", 0),
        ("dynamic=no chain=input", 1),
    ] {
        let line = format!(":put [:len [/ip/firewall/filter/find {condition}]]");
        assert_eq!(run(&mut router, &line), format!("{found}\n"), "{condition}");
    }
    run(&mut router, "/ip firewall filter remove [find dynamic=no]");
    assert_eq!(
        run(&mut router, ":put [:len [/ip/firewall/filter/find]]"),
        "0\n"
    );
}
