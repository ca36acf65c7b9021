//! Commands on the configuration as a whole.

use frame::Offloads;
use machine::{Duration, Instant};
use menu::{Clock, Files as _};
use script::Session;

use crate::drive::{PortNews, Setup};
use crate::store::{Durable, Key, OnDamage};
use crate::{Holder, Instance};

/// Creates a router without a disk, at some time of day.
pub(super) fn router() -> Instance {
    with(schema::store())
}

fn with(store: menu::Store) -> Instance {
    let (mut router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), store).expect("memory for a small pool");
    router.control().set_clock(Clock {
        unix_seconds: 1_795_287_477,
        ..Clock::utc(0)
    });
    router
}

fn run(router: &mut Instance, session: &mut Session, text: &str) -> String {
    let mut out = String::new();
    if let Err(refusal) = router.run(session, text, &mut out) {
        out.push_str(&refusal.to_string());
    }
    out
}

/// Runs a command like [`run`], in a new session.
pub(super) fn once(router: &mut Instance, text: &str) -> String {
    run(router, &mut Session::new("admin"), text)
}

pub(super) fn write(router: &mut Instance, name: &str, text: &str) {
    let files = &mut router.control().manage.files;
    files.write(name, text.as_bytes()).expect("there is room");
}

fn read(router: &mut Instance, name: &str) -> String {
    let files = &router.control().manage.files;
    let contents = files.read(name).expect("it was written");
    String::from_utf8(contents).expect("text")
}

const IDENTITY: &str = ":put [/system identity get name]";
const LISTS: &str = ":put [:len [/interface list find where !builtin]]";

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
        "  enabled: yes\n     user: anna\n  current: no\n    owner: console\n"
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
fn print_to_a_file_replaces_it_or_appends_to_it() {
    let mut router = router();
    once(&mut router, "/interface list add name=LAN");
    let print = "/interface list print terse proplist=name file=lists";

    once(&mut router, print);
    let one = read(&mut router, "lists.txt");
    once(&mut router, &format!("{print} append"));
    assert_eq!(read(&mut router, "lists.txt"), one.repeat(2));
    once(&mut router, print);
    assert_eq!(read(&mut router, "lists.txt"), one);
}

#[test]
fn an_imported_export_file_gives_the_same_configuration() {
    let mut router = router();
    once(&mut router, "/interface list add name=LAN comment=\"a b\"");
    once(
        &mut router,
        "/ip firewall filter add chain=input action=drop",
    );
    once(&mut router, "/system identity set name=core");
    once(&mut router, "/export file=all");
    once(
        &mut router,
        "/interface list export file=lists where name=LAN",
    );

    assert_eq!(
        read(&mut router, "lists.rsc"),
        "# 2026-11-21 18:57:57 by RouterOS 7.22.1\n# software id = \n#\n\
         /interface list\nadd comment=\"a b\" name=LAN\n"
    );
    let mut other = super::tests::router();
    let text = read(&mut router, "all.rsc");
    write(&mut other, "all.rsc", &text);
    assert_eq!(
        once(&mut other, "/import file-name=all.rsc"),
        "\nScript file loaded and executed successfully\n"
    );
    let second = once(&mut other, "/export");
    assert_eq!(second, text);
    assert_eq!(once(&mut other, "/system history print count-only"), "1\n");
}

#[test]
fn an_import_says_where_it_failed_and_leaves_nothing() {
    let mut router = router();
    let bad = "/interface list\nadd name=A\nadd name=A\n";
    write(&mut router, "bad.rsc", bad);
    write(
        &mut router,
        "waits.rsc",
        ":delay 1s\n/interface list add name=A\n",
    );
    write(&mut router, "good.rsc", "/interface list\nadd name=A\n");
    write(&mut router, "syntax.rsc", "/interface list\nadd name=A )\n");

    let failed = once(&mut router, "/import bad");
    assert_eq!(
        failed,
        "failure: already have interface list with such name (line 3 column 1); \
         nothing of the file was applied"
    );
    assert_eq!(once(&mut router, LISTS), "0\n");
    let syntax = once(&mut router, "/import syntax.rsc");
    let nothing = "(line 2 column 12); nothing of the file was applied";
    assert!(syntax.ends_with(nothing), "{syntax}");
    assert_eq!(
        once(&mut router, "/import none"),
        "Cannot open import file, file does not exist"
    );
    let dry = once(&mut router, "/import good.rsc verbose=yes dry-run");
    assert!(
        dry.starts_with("#line 1\n/interface list\n#line 2\nadd name=A\n"),
        "{dry}"
    );
    assert_eq!(once(&mut router, LISTS), "0\n");
    write(
        &mut router,
        "wrong.rsc",
        "/interface list\nadd name=A )\nadd name=A\nadd name=A\n/nowhere\n",
    );
    let wrong = once(&mut router, "/import wrong.rsc verbose=yes dry-run");
    let errors: Vec<_> = wrong
        .lines()
        .filter(|line| line.contains("(line"))
        .collect();
    assert_eq!(errors.len(), 3, "{wrong}");
    assert!(errors[1].ends_with("(line 4 column 1)"), "{wrong}");
    assert!(
        wrong.ends_with("found 3 error(s) in import file"),
        "{wrong}"
    );
    assert_eq!(once(&mut router, LISTS), "0\n");
    let atomic = once(&mut router, "/import waits.rsc atomic=yes");
    assert!(atomic.starts_with("failure: the file waits"), "{atomic}");
    write(
        &mut router,
        "stops.rsc",
        ":delay 1ms\n/interface list add name=B\nadd name=B\n",
    );
    let stopped = once(&mut router, "/import stops.rsc");
    assert!(
        stopped.ends_with(
            "the commands before it were applied, because the file waits or asks others"
        ),
        "{stopped}"
    );
    once(&mut router, "/interface list remove B");
    once(&mut router, "/import good.rsc verbose=yes from-line=3");
    assert_eq!(once(&mut router, LISTS), "0\n");
    once(&mut router, "/import good.rsc verbose=yes from-line=2");
    assert_eq!(once(&mut router, LISTS), "1\n", "the menu is still known");
}

/// Imports an exported configuration as a dry run into the router that exported it.
#[test]
fn the_dry_run_of_a_whole_configuration_checks_against_what_the_file_makes() {
    let mut router = router();
    let body = "/interface bridge add name=lan\n/interface list add name=LAN\n\
                /interface list member add list=LAN interface=lan\n";
    once(&mut router, body);
    let whole = format!("# 2026-11-29 02:00:00 by RouterOS 7.22.1\n# software id = \n#\n{body}");
    write(&mut router, "whole.rsc", &whole);
    write(&mut router, "part.rsc", body);
    let dry = |router: &mut Instance, file: &str| {
        once(router, &format!("/import {file} verbose=yes dry-run"))
    };
    let said = dry(&mut router, "whole.rsc");
    assert!(!said.contains("error(s)"), "{said}");
    assert!(dry(&mut router, "part.rsc").ends_with("found 3 error(s) in import file"));
    // Errors in the file itself are still found.
    write(
        &mut router,
        "wrong.rsc",
        &format!("{whole}/interface list add name=LAN\n"),
    );
    assert!(dry(&mut router, "wrong.rsc").ends_with("found 1 error(s) in import file"));
}

/// A dry run converts an older configuration like an import, and reports refused conversions.
#[test]
fn a_dry_run_judges_what_the_conversion_of_an_older_file_makes() {
    let mut router = router();
    let joined = "/interface ethernet set ether2 master-port=ether1\n";
    write(&mut router, "good.rsc", joined);
    let clash = "/interface bridge add name=lan\n/interface ethernet set ether2 master-port=lan\n";
    write(&mut router, "clash.rsc", clash);
    let imported = once(&mut router, "/import clash.rsc");
    let (reason, _) = imported.split_once(';').expect("nothing is applied");
    let dry = once(&mut router, "/import clash.rsc verbose=yes dry-run");
    assert!(dry.contains(reason), "{imported}: {dry}");
    assert!(dry.ends_with("found 1 error(s) in import file"), "{dry}");
    let dry = once(&mut router, "/import good.rsc verbose=yes dry-run");
    assert!(!dry.contains("error(s)"), "{dry}");
    let bridges = ":put [:len [/interface bridge find]]";
    assert_eq!(once(&mut router, bridges), "0\n", "nothing remains of it");
}

#[test]
fn an_api_client_gets_a_limited_list_of_dry_run_errors() {
    let mut router = router();
    let long = "x".repeat(1000);
    let line = format!("/{long}\n");
    write(&mut router, "wrong.rsc", &line.repeat(30));
    let mut program = Session::new("admin");
    program.via = "api";

    let told = run(
        &mut router,
        &mut program,
        "/import wrong.rsc verbose=yes dry-run",
    );

    let (_, told) = told.rsplit_once("found ").expect("errors are found");
    assert!(told.starts_with("30 error(s) in import file\n"), "{told}");
    let errors: Vec<_> = told.lines().skip(1).collect();
    assert_eq!(errors.len(), 20, "{told}");
    assert!(
        errors.iter().all(|error| error.chars().count() <= 201),
        "{told}"
    );
    let mut user = Session::new("admin");
    let shown = run(
        &mut router,
        &mut user,
        "/import wrong.rsc verbose=yes dry-run",
    );
    assert!(
        shown.ends_with("found 30 error(s) in import file"),
        "{shown}"
    );
}

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

/// Temporary state folder, removed with the value.
struct State(std::path::PathBuf);

impl State {
    fn new(name: &str) -> Self {
        let name = format!("ferroute-manage-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Starts a router with this state; returns it with the messages of the start.
    fn start(&self) -> (Instance, Vec<String>) {
        let key = Key::new([7; 32], "a test");
        let mut durable = Durable::open(&self.0, &key, OnDamage::Refuse).expect("the folder");
        let mut store = schema::store();
        let said = match durable.load().expect("readable") {
            Some(kept) => {
                crate::store::take_up(&mut store, durable, &kept, Clock::utc(0)).expect("writable")
            }
            None => {
                durable.replace(&store.save()).expect("writable");
                store.set_journal(Box::new(durable));
                Vec::new()
            }
        };
        (with(store), said)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
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

#[test]
fn files_are_added_shown_read_and_removed() {
    let mut router = router();
    once(&mut router, "/file add name=a.txt contents=\"one\\ntwo\"");
    once(&mut router, "/file add name=flash type=directory");
    once(&mut router, "/file add name=flash/b.rsc contents=three");

    assert_eq!(
        once(&mut router, "/file print"),
        "Columns: NAME, TYPE, SIZE, LAST-MODIFIED\n\
         # NAME         TYPE       SIZE  LAST-MODIFIED      \n\
         0 a.txt        .txt file     7  2026-11-21 18:57:57\n\
         1 flash        directory        2026-11-21 18:57:57\n\
         2 flash/b.rsc  script        5  2026-11-21 18:57:57\n"
    );
    assert_eq!(
        once(&mut router, ":put [/file get a.txt contents]"),
        "one\ntwo\n"
    );
    once(&mut router, "/file set a.txt contents=four");
    assert_eq!(
        once(&mut router, ":put [/file get [find where name=a.txt] size]"),
        "4\n"
    );
    assert_eq!(
        once(
            &mut router,
            ":put ([/file read file=flash/b.rsc offset=1 chunk-size=3 as-value]->\"data\")"
        ),
        "hre\n"
    );
    once(&mut router, "/file remove [find]");
    assert_eq!(once(&mut router, "/file print count-only"), "0\n");
    let refused = once(&mut router, "/file add name=../x contents=y");
    assert_eq!(refused, "failure: invalid file name");
}

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
fn a_verbose_export_can_be_run() {
    let (mut router, mut session) = (router(), Session::new("admin"));
    let text = run(&mut router, &mut session, "/export verbose");
    assert_eq!(run(&mut self::router(), &mut session, &text), "");
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

#[test]
fn a_file_makes_a_memory_disk_and_uses_it() {
    let mut router = router();
    write(
        &mut router,
        "disk.rsc",
        "/disk/add slot=fast type=tmpfs tmpfs-max-size=1M\n\
         /file/add name=fast/job type=directory\n\
         /file/add name=fast/job/a.txt contents=hello\n\
         :put [/file/get fast/job/a.txt contents]",
    );

    let done = once(&mut router, "/import disk.rsc");

    assert!(done.starts_with("hello\n"), "{done}");
    assert_eq!(once(&mut router, "/file/remove fast/job"), "");
    assert_eq!(once(&mut router, ":put [/file/get fast type]"), "disk\n");
    let left = ":put [:len [/file/find where name~\"^fast\"]]";
    assert_eq!(once(&mut router, left), "1\n");
    once(&mut router, "/disk/disable fast");
    assert_eq!(once(&mut router, left), "0\n");
}
