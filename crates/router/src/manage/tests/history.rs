//! History, undo, redo and Safe Mode.

use script::Session;

use super::{IDENTITY, LISTS, State, once, router, run};
use crate::Holder;

#[test]
fn history_shows_who_did_what_and_undo_and_redo_walk_through_it() {
    let mut router = router();
    let (mut anna, mut bert) = (Session::new("anna"), Session::new("bert"));
    run(&mut router, &mut anna, "/interface list add name=LAN");
    run(&mut router, &mut bert, "/system identity set name=core");
    run(&mut router, &mut anna, "/undo");

    let shown = run(&mut router, &mut anna, "/system history print");

    assert_eq!(
        shown,
        "Flags: U - UNDOABLE, R - REDOABLE\n\
         Columns: ACTION, BY, POLICY, TIME\n\
         \u{20} ACTION                    BY    POLICY  TIME               \n\
         R system identity changed   bert  write   2026-11-21 18:57:57\n\
         U interface list LAN added  anna  write   2026-11-21 18:57:57\n"
    );
    assert_eq!(once(&mut router, IDENTITY), "ferroute\n");
    assert_eq!(run(&mut router, &mut bert, "/redo"), "");
    assert_eq!(once(&mut router, IDENTITY), "core\n");
    assert_eq!(once(&mut router, "/redo"), "failure: nothing to redo");
    let detail = once(&mut router, "/system history print detail");
    assert!(
        detail.contains("redo=\"/system/identity/set name=core\""),
        "{detail}"
    );
    assert!(
        detail.contains("undo=\"/interface/list/remove *"),
        "{detail}"
    );
}

#[test]
fn safe_mode_reverts_if_its_session_is_lost_and_keeps_if_it_quits() {
    let mut router = router();
    let (mut owner, mut other) = (Session::new("anna"), Session::new("bert"));
    let number = owner.caller().session;
    let taken = run(&mut router, &mut owner, "/safe-mode take");
    assert_eq!(taken, "Taking Safe Mode session... Success!\n");
    run(&mut router, &mut owner, "/system identity set name=mine");
    run(&mut router, &mut other, "/interface list add name=LAN");
    assert_eq!(
        run(&mut router, &mut owner, ":put [/safe-mode get current]"),
        "true\n"
    );
    assert_eq!(
        run(&mut router, &mut other, "/safe-mode print"),
        "   enabled: yes\n      user: anna\n   current: no\n     owner: console\n  revision: 0\n"
    );
    let floating = run(&mut router, &mut other, "/system history print");
    assert!(
        floating.contains("F interface list LAN added"),
        "{floating}"
    );

    router.session_lost(other.caller().session);
    assert_eq!(
        once(&mut router, IDENTITY),
        "mine\n",
        "the other session holds nothing"
    );
    router.session_lost(number);

    assert_eq!(once(&mut router, IDENTITY), "ferroute\n");
    assert_eq!(
        once(&mut router, LISTS),
        "0\n",
        "what others did is part of it"
    );
    assert_eq!(router.safe_mode(number), Holder::Nobody);
    run(&mut router, &mut owner, "/safe-mode take");
    run(&mut router, &mut owner, "/system identity set name=kept");
    router.session_left(number);
    router.session_lost(number);
    assert_eq!(once(&mut router, IDENTITY), "kept\n");
}

#[test]
fn a_second_user_is_refused_safe_mode_or_takes_it_over() {
    let mut router = router();
    let (mut anna, mut bert) = (Session::new("anna"), Session::new("bert"));
    run(
        &mut router,
        &mut anna,
        "/safe-mode take; /system identity set name=one",
    );

    let refused = run(&mut router, &mut bert, "/safe-mode take");
    assert_eq!(
        refused,
        "Safe Mode is taken by another user (anna). Action aborted."
    );
    let not_his = run(&mut router, &mut bert, "/safe-mode release");
    assert_eq!(not_his, "Safe Mode has not been taken. Action aborted.");
    run(&mut router, &mut bert, "/safe-mode take on-error=release");
    assert_eq!(
        router.notice(anna.caller().session).as_deref(),
        Some("[Safe mode released by another user]")
    );
    assert_eq!(router.notice(anna.caller().session), None);
    run(&mut router, &mut bert, "/system identity set name=two");
    run(&mut router, &mut anna, "/safe-mode take on-error=unroll");

    assert_eq!(once(&mut router, IDENTITY), "one\n");
    assert_eq!(
        run(&mut router, &mut anna, "/safe-mode release"),
        "Releasing Safe Mode... Success!\n"
    );
}

#[test]
fn safe_mode_reverts_any_number_of_changes() {
    let mut router = router();
    let mut owner = Session::new("anna");
    run(&mut router, &mut owner, "/safe-mode take");
    let many = ":for n from=1 to=600 do={/interface list add name=\"list$n\"}";
    run(&mut router, &mut owner, many);
    assert_eq!(once(&mut router, LISTS), "600\n");

    run(&mut router, &mut owner, "/safe-mode unroll");

    assert_eq!(once(&mut router, LISTS), "0\n");
}

#[test]
fn a_router_that_stops_in_safe_mode_gives_it_back_when_it_starts() {
    let state = State::new("safe");
    let (mut router, _) = state.start();
    once(&mut router, "/system identity set name=before");
    let mut owner = Session::new("anna");
    run(&mut router, &mut owner, "/safe-mode take");
    run(&mut router, &mut owner, "/system identity set name=during");
    drop(router);

    let (mut router, said) = state.start();

    assert_eq!(once(&mut router, IDENTITY), "before\n");
    assert_eq!(said.len(), 1, "{said:?}");
    drop(router);
    let (_, said) = state.start();
    assert_eq!(said, Vec::<String>::new(), "it is given back once");
}

#[test]
fn safe_mode_takes_back_what_its_user_could_undo() {
    let mut router = router();
    let mut wanda = Session::new("wanda");
    wanda.rights = menu::Rights::fixed(menu::Policies::READ | menu::Policies::WRITE);
    run(&mut router, &mut wanda, "/safe-mode take");
    run(&mut router, &mut wanda, "/interface list add name=HERS");
    run(&mut router, &mut wanda, "/interface list add name=BOTH");
    for line in [
        "/interface list add name=LAN",
        "/interface list set BOTH comment=mine",
        "/user add name=rita group=read",
        "/system identity set name=core",
    ] {
        assert_eq!(once(&mut router, line), "", "{line}");
    }
    let mut other = Session::new("bob");
    other.rights = wanda.rights.clone();
    let hijack = run(&mut router, &mut other, "/safe-mode take on-error=unroll");
    assert_eq!(hijack, "not enough permissions (9)");

    router.session_lost(wanda.caller().session);

    assert_eq!(once(&mut router, IDENTITY), "core\n");
    assert_eq!(
        once(&mut router, ":put [:len [/user find name=rita]]"),
        "1\n"
    );
    assert_eq!(once(&mut router, LISTS), "2\n", "BOTH and LAN");
    assert_eq!(router.safe_mode(0), Holder::Nobody);
}
