//! Thread priorities: workers first, then control and sessions, script jobs last.
//!
//! Priorities are nice values. A worker polls only for microseconds before it sleeps, and nice values leave a
//! share to the others; a real-time class would starve them while packets arrive.

use rustix::process::{getpriority_process, setpriority_process};

/// Nice value of workers: twenty-eight times the share of control.
const WORKER_NICE: i32 = -15;
/// Nice value of jobs: a sixty-eighth of control's share.
const JOB_NICE: i32 = 19;

/// Raises the calling thread to a worker's priority, if permitted.
pub(crate) fn forward() {
    let _ = setpriority_process(None, WORKER_NICE);
}

/// Priority of the calling thread outside the router's lock.
#[derive(Debug, Default)]
pub(crate) struct Priority {
    /// Nice values outside and inside the lock; `None` if they are equal or may not be raised.
    raises: Option<(i32, i32)>,
}

impl Priority {
    /// Lowers the calling thread to a job's priority.
    pub(crate) fn of_jobs() -> Self {
        let normal = getpriority_process(None).unwrap_or(0);
        let lowered = setpriority_process(None, JOB_NICE).is_ok();
        // Without the right to raise it again the thread keeps its priority.
        let may_raise = lowered
            && setpriority_process(None, normal).is_ok()
            && setpriority_process(None, JOB_NICE).is_ok();
        Self {
            raises: may_raise.then_some((JOB_NICE, normal)),
        }
    }

    /// Restores normal priority until the guard is dropped: others wait for the lock that this thread holds.
    pub(crate) fn raise(&self) -> Raised {
        let raised = self
            .raises
            .filter(|(_, normal)| setpriority_process(None, *normal).is_ok());
        Raised(raised.map(|(low, _)| low))
    }
}

/// Guard of [`Priority::raise`].
pub(crate) struct Raised(Option<i32>);

impl Drop for Raised {
    fn drop(&mut self) {
        if let Some(low) = self.0 {
            let _ = setpriority_process(None, low);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Priorities belong to the thread, so the test uses one of its own.
    #[test]
    fn a_job_has_low_priority_except_while_it_holds_the_lock() {
        let seen = std::thread::spawn(|| {
            let normal = getpriority_process(None).expect("readable");
            let jobs = Priority::of_jobs();
            let between = getpriority_process(None).expect("readable");
            let raised = jobs.raise();
            let within = getpriority_process(None).expect("readable");
            drop(raised);
            let after = getpriority_process(None).expect("readable");
            (jobs.raises.is_some(), [normal, between, within, after])
        });
        let (raises, [normal, between, within, after]) = seen.join().expect("no panic");

        assert_eq!((between, after), (JOB_NICE, JOB_NICE));
        assert_eq!(within, if raises { normal } else { JOB_NICE });
    }
}
