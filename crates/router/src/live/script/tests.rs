//! Jobs that users stop.

use core::time::Duration;

use menu::{Clock, Id, Menu, Offline, Reason, Script, Store};
use script::{ExclusiveSite, Interrupt, Job, Session, Site};
use tool::Router;

use crate::Instance;
use crate::drive::Setup;

/// Returns a job that has not run yet.
fn job(router: &mut Instance) -> Job {
    job_of(router, "/system identity set name=ran")
}

fn job_of(router: &mut Instance, source: &str) -> Job {
    let script = Script {
        id: Id(1),
        name: "s".to_owned(),
        source: source.to_owned(),
        owner: "admin".to_owned(),
        rights: menu::Rights::FULL,
        lends: false,
    };
    let scripting = router.control().scripting().clone();
    Job::of_event(&scripting, "scheduler", &script, Clock::utc(0)).expect("there is room")
}

/// Runs a job; returns whether it had its effect.
fn runs(job: Job) -> bool {
    let mut store = schema::store();
    job.run(&mut ExclusiveSite::new(&mut store, &mut Offline));
    let (mut session, mut out) = (Session::new("admin"), String::new());
    let get = ":put [/system identity get name]";
    script::run(&mut store, &mut Offline, &mut session, get, &mut out).expect("a good command");
    out == "ran\n"
}

#[test]
fn removing_jobs_stops_all_though_some_have_ended() {
    let (mut router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), schema::store()).expect("a small pool");
    let jobs = [(); 4].map(|()| job(&mut router));
    let listed = jobs.each_ref().map(|job| job.id().to_string()).join(",");
    let remove = format!("/system script job remove {listed}");
    let [first, second, third, fourth] = jobs;
    drop(second);

    let mut session = Session::new("admin");
    let removed = router.run(&mut session, &remove, &mut String::new());

    assert_eq!(removed, Ok(()));
    for stopped in [first, third, fourth] {
        assert!(!runs(stopped));
    }
    let again = router.run(&mut session, &remove, &mut String::new());
    assert_eq!(again.map_err(|refusal| refusal.reason), Err(Reason::NoItem));
    assert!(runs(job(&mut router)), "one that nobody stops");
}

#[test]
fn the_log_says_at_which_line_and_column_the_script_of_an_event_failed() {
    let (mut router, _) =
        Instance::new(&Setup::offline(Clock::utc(0)), schema::store()).expect("a small pool");
    for (source, said) in [
        (
            ":local a 1\n  /interface/list/add name=l\n  /interface/list/add name=l",
            "(/interface/list/add; line 3 column 19)",
        ),
        (":local a\n:error (\"b\")", "b (line 2 column 2)"),
        (":do {\n:put (1 +)\n}", "syntax error (line 2 column 10)"),
        (
            ":put [/interface/list/get missing name]",
            "(/interface/list/get; line 1 column 27)",
        ),
    ] {
        let job = job_of(&mut router, source);
        job.run(&mut At(&mut router));
        let log = router.control().log();
        let last = log.entries().last().map(|entry| entry.message.clone());
        let last = last.unwrap_or_default();
        assert!(last.ends_with(said), "{source}: {last}");
    }
}

/// The router for one job.
struct At<'a>(&'a mut Instance);

impl Site for At<'_> {
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
}
