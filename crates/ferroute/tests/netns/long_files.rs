//! Tests that the router answers while it applies a long file as one transaction.

use std::thread;

use crate::pair::{PAIR, ROUTER, start};
use crate::world::{have, lab, shell, text};

/// Number of entries of the file, which takes seconds to apply.
const ENTRIES: u32 = 6_000;

#[test]
fn echo_requests_are_answered_while_a_long_file_is_applied() {
    let test = "echo_requests_are_answered_while_a_long_file_is_applied";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &PAIR)).flatten() else {
        return;
    };
    let router = start(&lab, "");
    let add = "/ip/firewall/address-list/add list=long timeout=1d address=(10.9.0.0 + \\$i)";
    for (name, end) in [("long.rsc", ""), ("fails.rsc", "; :error end")] {
        let file = format!(":for i from=1 to={ENTRIES} do={{ {add} }}{end}");
        router.exec(&format!("/file/add name={name} contents=\"{file}\""));
    }
    let entries = || router.exec(":put [:len [/ip/firewall/address-list/find list=long]]");
    let ping = format!("ping -c 1 -W 2 {ROUTER} > /dev/null && echo answered || echo lost");

    let refused = router.command("/import fails.rsc");
    assert!(!refused.status.success());
    assert_eq!(entries().trim(), "0", "nothing of the file was applied");
    // Removing and adding all entries takes longest.
    for round in 0..2 {
        router.exec("/file/remove [find where name=round.rsc]");
        router.exec(
            "/file/add name=round.rsc contents=\"/ip/firewall/address-list/remove [find list=long]; /import long.rsc\"",
        );
        thread::scope(|scope| {
            let import = scope.spawn(|| router.command("/import round.rsc"));
            let mut answers = Vec::new();
            while !import.is_finished() {
                answers.push(shell(&lab, "peer", &ping).trim().to_owned());
            }
            let done = import.join().expect("no panic");
            assert!(done.status.success(), "{}", text(&done.stderr));
            assert!(
                answers.iter().all(|answer| answer == "answered"),
                "{round}: {answers:?}"
            );
        });
        assert_eq!(entries().trim(), ENTRIES.to_string());
    }
}
