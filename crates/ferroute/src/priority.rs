//! Whose turn the processor is when several want it: workers before everything else, then control and sessions,
//! jobs of scripts last.
//!
//! Priorities are nice values. A worker polls for some microseconds only and then sleeps, and a nice value
//! leaves the others a share, where a real-time class would leave them nothing while packets come.

use rustix::process::{getpriority_process, setpriority_process};

/// Of workers: twenty-eight times the share of control.
const FORWARDING: i32 = -15;
/// Of jobs: a sixty-eighth of control's share.
const JOBS: i32 = 19;

/// Has the calling thread forward packets. Where that is not allowed it is like others.
pub(crate) fn forward() {
    let _ = setpriority_process(None, FORWARDING);
}

/// How the calling thread runs between its turns at the router.
#[derive(Debug, Default)]
pub(crate) struct Priority {
    /// Outside of turns and within; none where it is the same, or may not be raised.
    raises: Option<(i32, i32)>,
}

impl Priority {
    /// Lowers the calling thread to the jobs.
    pub(crate) fn of_jobs() -> Self {
        let normal = getpriority_process(None).unwrap_or(0);
        let lowered = setpriority_process(None, JOBS).is_ok();
        // Without the right to raise it a thread stays where it is.
        let may_raise = lowered
            && setpriority_process(None, normal).is_ok()
            && setpriority_process(None, JOBS).is_ok();
        Self {
            raises: may_raise.then_some((JOBS, normal)),
        }
    }

    /// Runs as others do until this is dropped: who holds what others wait for holds them up too.
    pub(crate) fn raise(&self) -> Raised {
        let raised = self
            .raises
            .filter(|(_, normal)| setpriority_process(None, *normal).is_ok());
        Raised(raised.map(|(low, _)| low))
    }
}

/// See [`Priority::raise`].
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

    /// In a thread of its own, as the values are the thread's.
    #[test]
    fn a_job_runs_last_but_for_its_turns_where_that_is_allowed() {
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

        assert_eq!((between, after), (JOBS, JOBS));
        assert_eq!(within, if raises { normal } else { JOBS });
    }
}
