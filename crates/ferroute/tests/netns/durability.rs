//! Tests a router whose database is damaged: it forwards, refuses changes, and reports the damage.

use std::fs;

use crate::world::{Folder, PACKET, Router, Start, have, lab, layout, run, text, until};

#[test]
fn a_router_with_a_damaged_store_forwards_and_reports_it_by_snmp() {
    let test = "a_router_with_a_damaged_store_forwards_and_reports_it_by_snmp";
    let Some(lab) = have(test, &["ping", "snmpget"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n/snmp set enabled=yes\n", layout("plain").config);
    let folder = Folder::new();
    let state = folder.file("state");
    let start = Start {
        state: Some(&state),
        ..Start::with(PACKET, &config)
    };
    let router = Router::start(&lab, &start);
    let named = router.command("/system/identity/set name=kept");
    assert!(named.status.success(), "{}", text(&named.stderr));
    router.kill();
    let database = state.join("configuration.redb");
    let whole = fs::read(&database).expect("the router made it");
    fs::write(&database, &whole[..whole.len() / 3]).expect("our file");

    let router = Router::start(&lab, &start);

    run(&lab, "client", "ping -q -c 3 -i 0.1 -W 10 203.0.113.1");
    let said = router.exec(":put [/system/identity/get name]");
    assert_eq!(said.trim(), "kept");
    let refused = router.command("/system/identity/set name=other");
    let said = text(&refused.stdout) + &text(&refused.stderr);
    assert!(said.contains("/system/configuration/accept"), "{said}");
    let asks = "snmpget -v2c -c public -On -Ov -t 1 -r 5 192.168.88.1";
    let flag = |oid: &str| {
        run(
            &lab,
            "client",
            &format!("{asks} .1.3.6.1.4.1.2021.9.1.{oid}.1"),
        )
    };
    assert_eq!(flag("100").trim(), "INTEGER: 1");
    assert!(flag("101").contains("refuses changes"), "{}", flag("101"));

    router.exec("/system/configuration/accept");

    until("SNMP says that all is well", || {
        flag("100").trim() == "INTEGER: 0"
    });
    let named = router.command("/system/identity/set name=other");
    assert!(named.status.success(), "{}", text(&named.stderr));
}
