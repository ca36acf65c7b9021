//! Jobs of scripts beside the sessions: a thread for each.

use std::sync::Arc;
use std::thread;

use menu::Reason;
use script::Job;

use crate::core::Shared;
use crate::visit::work;

/// Runs a job in a thread; how many there may be is bounded by the table of jobs.
pub(crate) fn start(shared: &Arc<Shared>, job: Job) -> Result<(), Reason> {
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name(format!("job-{}", job.id()));
    let started = thread.spawn(move || work(&shared, job));
    let failed = |error| Reason::failure(format!("the job has no thread: {error}"));
    started.map(drop).map_err(failed)
}
