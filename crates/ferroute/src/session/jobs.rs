//! Threads of script jobs, one per job.

use std::sync::Arc;
use std::thread;

use menu::Reason;
use script::Job;

use crate::run::shared::Shared;
use crate::session::router_access::work;

/// Runs a job in a thread; the job table bounds their number.
pub(crate) fn start(shared: &Arc<Shared>, job: Job) -> Result<(), Reason> {
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name(format!("job-{}", job.id()));
    let started = thread.spawn(move || work(&shared, job));
    let failed = |error| Reason::failure(format!("no thread for the job: {error}"));
    started.map(drop).map_err(failed)
}
