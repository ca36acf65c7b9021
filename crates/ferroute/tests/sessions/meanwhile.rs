//! Tests what other sessions read and change while a file is imported as one transaction.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::running::Router;

/// Returns a file that adds this many entries to an address list.
fn entries(count: u32) -> String {
    let mut text = String::from("/ip firewall address-list remove [find list=many]\n");
    for number in 0..count {
        let address = std::net::Ipv4Addr::from(0x0a00_0000 + number);
        let _ = writeln!(
            text,
            "/ip firewall address-list add list=many address={address}"
        );
    }
    text
}

/// Starts a router with a file `many.rsc` of this text.
fn router_with(name: &str, text: &str) -> Router {
    let router = Router::start(name);
    assert_eq!(
        router.exec("/file add name=many.rsc contents=\":put 1\""),
        ""
    );
    std::fs::write(router.state.join("files/many.rsc"), text).expect("the file is there");
    router
}

/// Calls `command` again and again while the file is imported. Returns the number of calls that ended before the
/// import, and what the import printed.
fn during_import(router: &Router, command: impl Fn() + Sync) -> (u32, String) {
    let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let import = scope.spawn(|| {
            begun.store(true, Ordering::SeqCst);
            let said = router.exec("/import many.rsc");
            ended.store(true, Ordering::SeqCst);
            said
        });
        while !begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let mut calls = 0;
        loop {
            command();
            if ended.load(Ordering::SeqCst) {
                break;
            }
            calls += 1;
        }
        (calls, import.join().expect("the import does not panic"))
    })
}

#[test]
fn reading_commands_are_answered_during_an_import() {
    let router = router_with("meanwhile", &entries(20_000));

    let (answers, said) = during_import(&router, || {
        assert_eq!(
            router.exec(":put [/system identity get name]"),
            "ferroute\n"
        );
    });

    assert!(said.contains("loaded and executed successfully"), "{said}");
    assert!(answers >= 5, "{answers} answers");
    let count = router.exec(":put [:len [/ip firewall address-list find list=many]]");
    assert_eq!(count, "20000\n");
}

#[test]
fn changes_wait_for_the_end_of_an_import_and_a_failed_import_changes_nothing() {
    let text =
        entries(5_000) + "/system identity set name=imported\n/ip address add address=nonsense\n";
    let router = router_with("failed-import", &text);

    let (_, said) = during_import(&router, || {
        assert_eq!(router.exec("/system note set note=typed"), "");
    });

    assert!(said.contains("nothing of the file was applied"), "{said}");
    let entries = router.exec(":put [:len [/ip firewall address-list find]]");
    let note = router.exec(":put [/system note get note]");
    assert_eq!(
        [&*entries, &*router.name(), &*note],
        ["0\n", "ferroute", "typed\n"]
    );
}

#[test]
fn an_import_during_logins_of_others_survives_a_kill() {
    let mut router = router_with("killed-import", &entries(5_000));

    let (_, said) = during_import(&router, || {
        assert_eq!(router.exec(":put 1"), "1\n");
    });
    router.kill();
    router.run();

    assert!(said.contains("loaded and executed successfully"), "{said}");
    let count = router.exec(":put [:len [/ip firewall address-list find list=many]]");
    assert_eq!(count, "5000\n");
}
