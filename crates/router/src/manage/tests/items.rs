//! Effects of single commands on the running router.

use frame::Offloads;
use machine::Instant;
use menu::Clock;
use script::Session;

use super::{State, once, router, run, with, write};
use crate::Instance;
use crate::drive::PortNews;

#[test]
fn workers_learn_a_changed_time_zone_offset() {
    let mut router = router();
    let zone = |router: &mut Instance| router.control().snapshot().zone_seconds;
    let before = zone(&mut router);

    router.control().set_clock(Clock {
        offset_seconds: before + 3_600,
        ..Clock::utc(0)
    });

    assert_eq!(zone(&mut router), before + 3_600);
}

#[test]
fn an_entry_with_a_timeout_expires_and_does_not_survive_a_restart() {
    const ENTRY: &str = "/ip firewall address-list add list=a address=192.0.2.1 timeout=20s";
    const ENTRIES: &str = ":put [:len [/ip firewall address-list find]]";
    // The entry comes from the file of the initial configuration.
    let mut store = schema::store();
    let (mut session, mut out) = (Session::new("admin"), String::new());
    script::import(
        &mut store,
        &mut menu::Offline,
        &mut session,
        ENTRY,
        &mut out,
    )
    .expect("a good command");
    let mut router = with(store);
    for (second, entries) in [(0, "1\n"), (19, "1\n"), (20, "0\n")] {
        router.poll(Instant::from_secs(second));
        assert_eq!(once(&mut router, ENTRIES), entries, "{second} s");
    }

    let state = State::new("passing");
    let (mut router, _) = state.start();
    once(&mut router, ENTRY);
    once(
        &mut router,
        "/ip firewall address-list add list=a address=192.0.2.2 dynamic=yes",
    );
    assert_eq!(once(&mut router, ENTRIES), "2\n");
    let exported = once(&mut router, "/ip firewall address-list export");
    assert!(!exported.contains("192.0.2."), "{exported}");
    drop(router);
    let (mut router, _) = state.start();
    assert_eq!(once(&mut router, ENTRIES), "0\n");
}

#[test]
fn builtin_items_keep_their_names() {
    let (mut router, mut session) = (router(), Session::new("admin"));
    for line in [
        "/routing table set [find name=main] name=foo",
        "/routing table set [find name=main] disabled=yes",
        "/routing table disable [find name=main]",
        "/interface list set [find name=all] name=foo",
        "/user group set [find name=full] name=foo",
        "/interface set lo name=foo",
    ] {
        let said = run(&mut router, &mut session, line);
        assert!(said.contains("can not change builtin"), "{line}: {said}");
    }
    let noted = "/routing table set [find name=main] comment=a";
    assert_eq!(run(&mut router, &mut session, noted), "");
}

#[test]
fn an_interface_has_no_address_of_groups_or_nobody() {
    let (mut router, mut session) = (router(), Session::new("admin"));
    for address in ["224.0.0.1/24", "255.255.255.255/32", "0.0.0.0/0"] {
        let line = format!("/ip address add address={address} interface=lo");
        let said = run(&mut router, &mut session, &line);
        assert!(said.contains("can not have this address"), "{line}: {said}");
    }
    for address in ["ff02::5/64", "::/128", "::ffff:1.2.3.4/96"] {
        let line = format!("/ipv6 address add address={address} interface=lo");
        let said = run(&mut router, &mut session, &line);
        assert!(said.contains("can not have this address"), "{line}: {said}");
    }
    let given = "/ipv6 address add address=::/64 from-pool=p eui-64=yes interface=lo";
    assert_eq!(run(&mut router, &mut session, given), "");
}

#[test]
fn a_port_gets_its_own_hardware_address_again_as_one_change() {
    let mut router = router();
    for (number, name) in ["ether1", "ether2"].into_iter().enumerate() {
        let news = PortNews {
            up: true,
            mac: wire::Mac([2, 0, 0, 0, 0, number as u8 + 1]),
            mtu: 1500,
        };
        let attached = router.attach_port(name, news, Offloads::default(), Vec::new());
        attached.expect("a port's name");
    }
    let addresses = |router: &mut Instance| {
        let get = ":foreach port in=[/interface ethernet find] do={\
                   :put [/interface ethernet get $port mac-address]}";
        once(router, get)
    };
    let own = "02:00:00:00:00:01\n02:00:00:00:00:02\n";
    assert_eq!(addresses(&mut router), own);
    let other = "/interface ethernet set [find] mac-address=02:00:00:00:00:99";
    assert_eq!(once(&mut router, other), "");
    assert_eq!(addresses(&mut router), "02:00:00:00:00:99\n".repeat(2));

    let reset = "/interface ethernet reset-mac-address ether1,ether2";
    assert_eq!(once(&mut router, reset), "");

    assert_eq!(addresses(&mut router), own);
    let export = once(&mut router, "/interface ethernet export");
    assert!(!export.contains("mac-address="), "{export}");
    assert_eq!(once(&mut router, "/undo"), "");
    assert_eq!(addresses(&mut router), "02:00:00:00:00:99\n".repeat(2));
    assert_eq!(once(&mut router, "/redo"), "");
    assert_eq!(addresses(&mut router), own);
    // Within a file it is part of the file's only change.
    write(&mut router, "reset.rsc", &format!("{other}\n{reset}\n"));
    once(&mut router, "/import reset.rsc");
    assert_eq!(addresses(&mut router), own);
    let missing = once(&mut router, "/interface ethernet reset-mac-address ether9");
    assert!(missing.contains("no such item"), "{missing}");
}
