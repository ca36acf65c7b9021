//! Jobs that users stop.

use menu::{Clock, Id, Offline, Reason, Script};
use script::{Held, Job, Session};

use crate::Instance;
use crate::drive::Setup;

/// A job of this router that is still to run.
fn job(router: &mut Instance) -> Job {
    let script = Script {
        id: Id(1),
        name: "s".to_owned(),
        source: "/system identity set name=ran".to_owned(),
        owner: "admin".to_owned(),
        rights: menu::Rights::FULL,
        lends: false,
    };
    let scripting = router.control().scripting().clone();
    Job::of_event(&scripting, "scheduler", &script, Clock::utc(0)).expect("there is room")
}

/// Whether a job does what it is to do.
fn runs(job: Job) -> bool {
    let mut store = schema::store();
    job.run(&mut Held::new(&mut store, &mut Offline));
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
