//! Tests: rights of scripts and sessions.

use std::collections::VecDeque;
use std::time::Duration;

use menu::{Clock, Menu, Reason, Rights, Store};
use script::{Interrupt, Job, Session, Site};

use crate::Instance;
use crate::drive::Setup;

pub(super) const DENIED: &str = "not enough permissions (9)";

/// Three o'clock at night.
const NIGHT: Clock = Clock {
    unix_seconds: 1_795_316_400,
    nanos: 0,
    offset_seconds: 0,
    daylight: false,
};
use tool::Router;

/// Creates a router with the administrator `admin`, the user `wanda` with policy `write`, and the user `rita` with
/// policy `read`.
pub(super) fn router() -> Instance {
    let mut store = schema::store();
    store.set_seal(|_, _, text| Ok(text.to_owned()), |seal, text| seal == text);
    let (mut router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), store).expect("a small pool");
    router.control().set_clock(NIGHT);
    for line in [
        "/user group add name=writers policy=read,write,test",
        "/user add name=wanda group=writers password=w",
        "/user add name=rita group=read password=r",
    ] {
        assert_eq!(by(&mut router, "admin", line), "", "{line}");
    }
    router
}

/// Creates the session of a user, like a login.
fn session(router: &mut Instance, user: &str) -> Session {
    let grant = router.grant(user);
    let mut session = router.control().scripting().session(user);
    session.rights = Rights::of(menu::Policies::ALL, grant);
    session
}

/// The router while one job runs.
struct Whole<'a>(&'a mut Instance, &'a mut VecDeque<Job>);

impl Site for Whole<'_> {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        self.0.lend(run);
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&mut self, _: Duration, _: &Interrupt) -> Result<(), Reason> {
        Ok(())
    }

    fn spawn(&mut self, job: Job) -> Result<(), Reason> {
        self.1.push_back(job);
        Ok(())
    }
}

/// Runs a line of a user; jobs that it starts are queued.
fn with_jobs(router: &mut Instance, user: &str, line: &str, jobs: &mut VecDeque<Job>) -> String {
    let mut session = session(router, user);
    let mut site = Whole(router, jobs);
    match script::run_at(&mut site, &mut session, line, &mut String::new()) {
        Ok(()) => String::new(),
        Err(refusal) => refusal.to_string(),
    }
}

fn run(router: &mut Instance, session: &mut Session, line: &str) -> String {
    let mut out = String::new();
    match router.run(session, line, &mut out) {
        Ok(()) => out,
        Err(refusal) => out + &refusal.to_string(),
    }
}

pub(super) fn by(router: &mut Instance, user: &str, line: &str) -> String {
    let mut session = session(router, user);
    run(router, &mut session, line)
}

fn name(router: &mut Instance) -> String {
    by(router, "admin", ":put [/system identity get name]")
}

/// Advances the clock by a day and a night, and runs due jobs; returns the last log line.
pub(super) fn wait_a_day(router: &mut Instance) -> String {
    router.control().set_clock(Clock {
        unix_seconds: NIGHT.unix_seconds + 86_400,
        ..NIGHT
    });
    for job in router.due_jobs() {
        job.run(&mut Whole(router, &mut VecDeque::new()));
    }
    let last = router.control().log().entries().last();
    last.map(|entry| entry.message.clone()).unwrap_or_default()
}

#[test]
fn a_demoted_user_loses_rights_at_once() {
    let mut router = router();
    by(&mut router, "admin", "/user set wanda group=full");
    let mut wanda = session(&mut router, "wanda");
    assert_eq!(run(&mut router, &mut wanda, "/user set rita comment=x"), "");

    by(&mut router, "admin", "/user set wanda group=read");

    for line in [
        "/user set wanda group=full",
        "/system identity set name=hers",
        "/undo",
        ":if (true) do={ /system identity set name=hers }",
    ] {
        assert_eq!(run(&mut router, &mut wanda, line), DENIED, "{line}");
    }
    by(
        &mut router,
        "admin",
        "/user group set read policy=read,write",
    );
    assert_eq!(
        run(&mut router, &mut wanda, "/system identity set name=hers"),
        ""
    );
    by(&mut router, "admin", "/user remove wanda");
    let read = run(&mut router, &mut wanda, "/system identity print");
    assert_eq!(read, DENIED);
}

/// Commands that inspect the router and the network.
const LOOKS: [&str; 5] = [
    "/tool trace in-interface=lo src-address=127.0.0.1 dst-address=127.0.0.1 dst-port=80",
    "/tool ping 127.0.0.1 count=1",
    "/tool profile duration=1s",
    "/tool torch lo duration=1s",
    "/tool calculate rates values=\"frame=1518\"",
];

#[test]
fn a_reader_looks_and_changes_nothing() {
    let mut router = router();
    for line in LOOKS {
        let said = by(&mut router, "rita", line);
        assert!(!said.ends_with(DENIED), "{line}: {said}");
    }
    let wake = "/tool wol mac=02:00:00:00:00:01";
    assert_eq!(by(&mut router, "rita", wake), DENIED);

    by(
        &mut router,
        "admin",
        "/user group add name=viewers policy=read; /user set rita group=viewers",
    );
    for line in LOOKS {
        assert_eq!(by(&mut router, "rita", line), DENIED, "{line}");
    }
}

#[test]
fn a_running_line_ends_when_its_user_loses_the_rights() {
    let mut router = router();
    by(&mut router, "admin", "/user set wanda group=full");
    let mut wanda = session(&mut router, "wanda");

    let line = "/user disable wanda; /system identity set name=hers";

    assert_eq!(run(&mut router, &mut wanda, line), DENIED);
    assert_eq!(name(&mut router), "ferroute\n");
}

#[test]
fn a_script_has_only_rights_that_its_runner_and_its_owner_share() {
    let mut router = router();
    let add = "/system script add name=make source=\"/user add name=new group=full password=x\"";
    by(&mut router, "admin", add);
    let run = "/system script run make";

    assert_eq!(by(&mut router, "wanda", run), DENIED);
    let whole = "/system script run make use-script-permissions";
    assert_eq!(by(&mut router, "wanda", whole), DENIED);
    by(
        &mut router,
        "admin",
        "/system script set make dont-require-permissions=yes",
    );
    assert_eq!(by(&mut router, "wanda", run), "");
    by(&mut router, "admin", "/user remove new");
    by(
        &mut router,
        "admin",
        "/system script set make policy=read,write",
    );
    assert_eq!(by(&mut router, "admin", run), DENIED);

    let own =
        "/system script add name=own policy=read,write source=\"/system identity set name=x\"";
    by(&mut router, "wanda", own);
    by(&mut router, "admin", "/user set wanda group=read");
    assert_eq!(by(&mut router, "admin", "/system script run own"), DENIED);
}

#[test]
fn only_user_managers_change_scripts_of_others() {
    let mut router = router();
    let add = "/system script add name=backup policy=read,write source=\":put 1\"";
    by(&mut router, "admin", add);

    for line in [
        "/system script set backup source=\"/system reboot\"",
        "/system script set backup owner=wanda",
        "/system script remove backup",
        "/system script add name=x copy-from=backup",
        "/system script add name=x owner=admin source=\":put 1\"",
        "/system scheduler add name=x owner=admin on-event=backup",
    ] {
        assert_eq!(by(&mut router, "wanda", line), DENIED, "{line}");
    }
}

#[test]
fn an_event_has_only_rights_common_to_it_its_script_and_both_owners() {
    for (event, script, runs) in [
        ("admin", "admin", true),
        // `wanda` may not add users, whatever rights the event has.
        ("admin", "wanda", false),
        ("wanda", "admin", false),
    ] {
        let mut router = router();
        let policy = |user| match user {
            "admin" => "read,write,policy,test",
            _ => "read,write,test",
        };
        let add = format!(
            "/system scheduler add name=e interval=1h on-event=night policy={}",
            policy(event)
        );
        assert_eq!(by(&mut router, event, &add), "");
        // The text names a script only after a user has added it.
        let add = format!(
            "/system script add name=night policy={} \
             source=\"/user add name=new group=full password=x\"",
            policy(script)
        );
        assert_eq!(by(&mut router, script, &add), "");

        let said = wait_a_day(&mut router);

        let made = by(&mut router, "admin", ":put [:len [/user find name=new]]");
        let wanted = if runs { "1\n" } else { "0\n" };
        assert_eq!(made, wanted, "{event}, {script}: {said}");
    }
}

#[test]
fn events_of_users_who_are_gone_do_not_run_and_the_log_says_why() {
    let mut router = router();
    let add = "/system scheduler add name=e interval=1h policy=read,write \
               on-event=\"/system identity set name=x\"";
    assert_eq!(by(&mut router, "wanda", add), "");
    by(&mut router, "admin", "/user remove wanda");

    let said = wait_a_day(&mut router);

    assert_eq!(name(&mut router), "ferroute\n");
    assert!(
        said.contains("e not run: failure: the owner wanda does not exist"),
        "{said}"
    );
}

#[test]
fn global_variables_of_others_are_changed_by_who_manages_users_alone() {
    let mut router = router();
    by(&mut router, "admin", ":global state 1");

    for command in ["set 0 value=2", "remove 0"] {
        let line =
            format!("/system script environment print; /system script environment {command}");
        let answer = by(&mut router, "wanda", &line);
        assert!(answer.ends_with(DENIED), "{command}: {answer}");
    }
    assert_eq!(
        by(&mut router, "admin", ":global state; :put $state"),
        "1\n"
    );
    by(&mut router, "wanda", ":global own 1");
    let line = "/system script environment set [find name=own] value=3";
    assert_eq!(by(&mut router, "wanda", line), "");
    let line = "/system script environment remove [find]";
    assert_eq!(by(&mut router, "admin", line), "");
}

/// A script that starts two copies of itself, forever.
const BOMB: &str = "/system script add name=bomb policy=read,write \
                    source=\":execute {/system script run bomb}; :execute {/system script run bomb}\"";

#[test]
fn a_script_that_starts_itself_repeatedly_is_ended() {
    let mut router = router();
    assert_eq!(by(&mut router, "wanda", BOMB), "");
    let mut jobs = VecDeque::new();

    let line = ":execute {/system script run bomb}";
    assert_eq!(with_jobs(&mut router, "wanda", line, &mut jobs), "");

    let (mut ran, mut most) = (0, 0);
    while let Some(job) = jobs.pop_front() {
        most = most.max(jobs.len() + 1);
        job.run(&mut Whole(&mut router, &mut jobs));
        ran += 1;
        assert!(ran < 1_000, "it goes on");
    }
    assert!(most <= 16, "{most} at once");
}

#[test]
fn one_command_ends_all_jobs_and_those_that_they_start() {
    let mut router = router();
    assert_eq!(by(&mut router, "wanda", BOMB), "");
    let mut jobs = VecDeque::new();
    with_jobs(
        &mut router,
        "wanda",
        ":execute {/system script run bomb}",
        &mut jobs,
    );
    for _ in 0..3 {
        let job = jobs.pop_front().expect("there are some");
        job.run(&mut Whole(&mut router, &mut jobs));
    }
    let listed = ":put [/system script job find]";
    let listed = by(&mut router, "admin", listed);
    // The listed jobs end and start other jobs before the command runs.
    for _ in 0..2 {
        let job = jobs.pop_front().expect("there are some");
        job.run(&mut Whole(&mut router, &mut jobs));
    }

    let remove = format!(
        "/system script job remove {}",
        listed.trim().replace(';', ",")
    );
    assert_eq!(by(&mut router, "rita", &remove), DENIED);
    assert_eq!(by(&mut router, "admin", &remove), "");

    let left = jobs.len();
    for job in std::mem::take(&mut jobs) {
        job.run(&mut Whole(&mut router, &mut jobs));
    }
    assert!(left > 0);
    assert_eq!(jobs.len(), 0, "none of them starts another");
}

#[test]
fn jobs_of_a_user_leave_room_for_the_administrator_and_the_scheduler() {
    let mut router = router();
    let mut jobs = VecDeque::new();
    let line = ":for i from=1 to=100 do={ :execute {:delay 1h} }";
    let full = with_jobs(&mut router, "rita", line, &mut jobs);
    assert_eq!(full, "script stopped: too much jobs");
    assert_eq!(jobs.len(), 16);

    let admins = with_jobs(&mut router, "admin", ":execute {:delay 1h}", &mut jobs);
    assert_eq!(admins, "");
    let own = "/system scheduler add name=e interval=1h on-event=\"/system identity set name=ran\"";
    by(&mut router, "admin", own);
    wait_a_day(&mut router);
    assert_eq!(name(&mut router), "ran\n");
}

#[test]
fn jobs_of_a_user_keep_no_more_memory_than_is_theirs() {
    let mut router = router();
    let mut jobs = VecDeque::new();
    let line = ":execute {:local a \"0123456789abcdef\"; \
                :for i from=1 to=24 do={:set a ($a . $a)}; /system identity set name=kept}";
    assert_eq!(with_jobs(&mut router, "wanda", line, &mut jobs), "");

    for job in std::mem::take(&mut jobs) {
        job.run(&mut Whole(&mut router, &mut jobs));
    }

    let said = router
        .control()
        .log()
        .entries()
        .last()
        .map(|e| e.message.clone());
    let said = said.unwrap_or_default();
    assert!(said.contains("too much memory"), "{said}");
    assert_eq!(name(&mut router), "ferroute\n");
}
