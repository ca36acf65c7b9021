//! Commands that replace the configuration: backup, reset, apply with confirmation, revisions.

use machine::{Duration, Instant};
use script::Session;

use super::{IDENTITY, LISTS, State, once, router, run, write};

#[test]
fn a_backup_restores_the_configuration_and_invalid_ones_are_refused() {
    let mut router = router();
    once(
        &mut router,
        "/system identity set name=before; /interface list add name=LAN",
    );
    let saved = once(&mut router, "/system backup save name=one password=secret");
    assert_eq!(
        saved,
        "Saving system configuration\nConfiguration backup saved\n"
    );
    once(
        &mut router,
        "/interface list remove LAN; /interface list add name=WAN",
    );
    once(&mut router, "/system identity set name=after");

    let wrong = once(&mut router, "/system backup load name=one password=other");
    assert_eq!(wrong, "failure: wrong password, or the file is damaged");
    assert_eq!(once(&mut router, IDENTITY), "after\n");
    once(&mut router, "/system backup load name=one password=secret");

    assert_eq!(once(&mut router, IDENTITY), "before\n");
    let names = ":put [/interface list get [find where !builtin] name]";
    assert_eq!(once(&mut router, names), "LAN\n");
    once(&mut router, "/undo");
    assert_eq!(
        once(&mut router, IDENTITY),
        "after\n",
        "it is one transaction"
    );
    once(&mut router, "/system backup save");
    let listed = once(&mut router, "/file print");
    assert!(
        listed.contains("after-20261121-1857.backup  backup"),
        "{listed}"
    );
}

#[test]
fn a_reset_begins_anew_or_with_a_file_and_changes_nothing_if_that_is_bad() {
    let mut router = router();
    once(
        &mut router,
        "/system identity set name=old; /interface list add name=LAN",
    );
    write(&mut router, "bad.rsc", "/interface list add nme=X\n");
    write(
        &mut router,
        "new.rsc",
        ":delay 10s\n/system identity set name=new\n",
    );

    let refused = once(
        &mut router,
        "/system reset-configuration run-after-reset=bad.rsc",
    );
    assert!(refused.ends_with("(line 1 column 21)"), "{refused}");
    assert_eq!(once(&mut router, IDENTITY), "old\n");
    once(
        &mut router,
        "/system reset-configuration no-defaults=yes run-after-reset=new.rsc",
    );

    assert_eq!(once(&mut router, IDENTITY), "new\n");
    assert_eq!(once(&mut router, LISTS), "0\n");
    once(&mut router, "/system backup load name=auto-before-reset");
    assert_eq!(once(&mut router, IDENTITY), "old\n");
}

#[test]
fn an_applied_file_is_shown_first_and_taken_back_unless_its_user_confirms() {
    let mut router = router();
    let (mut anna, mut bert) = (Session::new("anna"), Session::new("bert"));
    once(&mut router, "/interface list add name=LAN");
    let file = "/interface list add name=LAN\n/system identity set name=new\n";
    write(&mut router, "new.rsc", file);
    let shown = run(
        &mut router,
        &mut anna,
        "/system configuration diff file=new",
    );
    assert_eq!(
        shown,
        "- /system identity set name=ferroute\n+ /system identity set name=new\n"
    );
    assert_eq!(once(&mut router, IDENTITY), "ferroute\n");
    // Hidden values are named if they are the only difference.
    once(
        &mut router,
        "/snmp community add name=c authentication-password=one123456",
    );
    let file = "/interface list add name=LAN\n/snmp community add name=c authentication-password=two123456\n";
    write(&mut router, "secret.rsc", file);
    let shown_secret = once(&mut router, "/system configuration diff file=secret");
    assert_eq!(
        shown_secret,
        "~ /snmp community add name=c (another authentication-password)\n"
    );
    once(&mut router, "/snmp community remove [find name=c]");

    let apply = "/system configuration apply file=new confirm=5m";
    let applied = run(&mut router, &mut anna, apply);
    assert!(applied.starts_with(&shown), "{applied}");
    assert_eq!(once(&mut router, IDENTITY), "new\n");
    run(&mut router, &mut bert, "/interface list add name=DMZ");
    let refused = run(&mut router, &mut bert, "/system configuration confirm");
    assert_eq!(refused, "failure: only anna can confirm or cancel it");
    router.poll(Instant::ZERO + Duration::from_secs(299));
    assert_eq!(once(&mut router, IDENTITY), "new\n");
    let deadline = router.deadline().expect("it is to be confirmed");
    assert!(deadline <= Instant::ZERO + Duration::from_secs(300));
    router.poll(Instant::ZERO + Duration::from_secs(300));
    assert_eq!(once(&mut router, IDENTITY), "ferroute\n");
    assert_eq!(once(&mut router, LISTS), "2\n", "what others did stays");
    let told = router.notice(anna.caller().session);
    let told = told.expect("who made it is told");
    assert!(
        told.ends_with("was not confirmed and is reverted]"),
        "{told}"
    );

    run(&mut router, &mut anna, apply);
    run(&mut router, &mut anna, "/system configuration confirm");
    router.poll(Instant::ZERO + Duration::from_secs(1_000));
    assert_eq!(once(&mut router, IDENTITY), "new\n");
}

#[test]
fn revisions_are_listed_compared_and_gone_back_to() {
    let mut router = router();
    once(&mut router, "/interface list add name=A");
    once(&mut router, "/interface list add name=B");
    once(&mut router, "/system identity set name=x");

    let listed = once(&mut router, "/system configuration history print");
    assert!(
        listed.contains("3  2026-11-21 18:57:57  admin  system identity changed"),
        "{listed}"
    );
    let diff = once(&mut router, "/system configuration diff revision=1");
    assert_eq!(
        diff,
        "- /system identity set name=x\n+ /system identity set name=ferroute\n\
         - /interface list add name=B\n"
    );
    once(&mut router, "/system configuration revert revision=1");

    assert_eq!(once(&mut router, LISTS), "1\n");
    assert_eq!(once(&mut router, IDENTITY), "ferroute\n");
    let gone = once(&mut router, "/system configuration revert revision=99");
    assert_eq!(gone, "failure: no such revision");
}

#[test]
fn a_router_that_stops_before_a_configuration_is_confirmed_takes_it_back() {
    let state = State::new("apply");
    let (mut router, _) = state.start();
    once(&mut router, "/system identity set name=before");
    write(&mut router, "new.rsc", "/system identity set name=new\n");
    once(
        &mut router,
        "/system configuration apply file=new confirm=1h",
    );
    assert_eq!(once(&mut router, IDENTITY), "new\n");
    drop(router);

    let (mut router, said) = state.start();

    assert_eq!(once(&mut router, IDENTITY), "before\n");
    assert_eq!(said.len(), 1, "{said:?}");
    let (mut anna, confirm) = (Session::new("anna"), "/system configuration confirm");
    assert_eq!(
        run(&mut router, &mut anna, confirm),
        "failure: nothing to confirm"
    );
}
