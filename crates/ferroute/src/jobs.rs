//! What scripts need of threads: jobs beside the sessions, and names that are asked for.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use menu::Reason;
use script::{Interrupt, Job};

use crate::core::{Shared, work};

/// Runs a job in a thread; how many there may be is bounded by the table of jobs.
pub(crate) fn start(shared: &Arc<Shared>, job: Job) -> Result<(), Reason> {
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name(format!("job-{}", job.id()));
    let started = thread.spawn(move || work(&shared, job));
    let failed = |error| Reason::failure(format!("the job has no thread: {error}"));
    started.map(drop).map_err(failed)
}

/// How often a script that waits for an answer looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Asks the host's resolver. It cannot be interrupted: who is stopped leaves it behind.
pub(crate) fn resolve(name: &str, interrupt: &Interrupt) -> Result<Vec<IpAddr>, Reason> {
    let (tell, told) = channel();
    let name = name.to_owned();
    let thread = thread::Builder::new().name("resolver".to_owned());
    let asked = thread.spawn(move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        let found = found.map(|all| all.map(|address| address.ip()).collect());
        let _ = tell.send(found);
    });
    asked.map_err(|error| Reason::failure(format!("nobody can ask: {error}")))?;
    while !interrupt.is_on() {
        match told.recv_timeout(LOOK) {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(_)) => return Err(Reason::failure("dns name does not exist")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Err(Reason::Interrupted)
}
