//! `/tool/profile`: usage of processors since the last update, by activity, rule, queue, tunnel or interface.
//!
//! RouterOS: `cpu` selects one processor, `all` processors each, or their `total` (default). Here a worker is one
//! processor, numbered from 0; `all` lists the router's other threads under `host`. Activities are exact clocks of
//! workers, without the time in which other threads had the worker's processor. `by` is an argument of this router:
//! anything but `facility` samples the steps of workers, and each line has its error.

mod reading;
mod shares;

use std::time::Duration;

use menu::Reason;

pub use reading::{
    HostTime, ProfileReading, ProfileSubject, Profiles, SampledClocks, ThreadTime, WorkerClocks,
};

use crate::{Column, Form, Invocation, Look, Next, Router, RunningTool, Tool, Turn};

static COLUMNS: [Column; 4] = [
    Column::new("name", "NAME"),
    Column::new("cpu", "CPU").optional(),
    Column::new("usage", "USAGE"),
    Column::new("error", "ERROR").optional(),
];
/// Name of the idle time, and of the sum of all other activities.
const IDLE: &str = "idle";
const TOTAL: &str = "total";

pub(crate) struct Profile;

/// The workers to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// All workers together, with control and the other threads of the router.
    Total,
    /// Each worker.
    All,
    /// The worker with this number.
    Worker(usize),
}

impl Selection {
    /// Parses the argument `cpu`.
    ///
    /// # Errors
    /// The text is neither `all`, `total` nor a number.
    fn parse(text: Option<&str>) -> Result<Self, Reason> {
        match text {
            None | Some("total") => Ok(Self::Total),
            Some("all") => Ok(Self::All),
            Some(number) => {
                let number = number.parse().map(Self::Worker);
                number.map_err(|_| Reason::failure("cpu: expected all, total, or a number"))
            }
        }
    }
}

struct Profiling {
    interval: Duration,
    selection: Selection,
    subject: ProfileSubject,
    /// True between begin and end of the router's profile.
    has_begun: bool,
    /// The reading of the last update.
    before: Option<ProfileReading>,
    /// The last two measurements of the host, which measures at its own pace.
    hosts: [Option<HostTime>; 2],
    /// Effective number of samples of all workers so far.
    samples: f64,
}

impl Tool for Profile {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(Profiling {
            interval: given.interval,
            selection: Selection::parse(given.text("cpu").as_deref())?,
            subject: ProfileSubject::parse(given.text("by").as_deref())?,
            has_begun: false,
            before: None,
            hosts: [None, None],
            samples: 0.0,
        }))
    }
}

/// Returns the profiles of the router.
///
/// # Errors
/// The router does not run.
fn profiles(router: &mut dyn Router) -> Result<&mut dyn Profiles, Reason> {
    let profiles = router.profiles();
    profiles.ok_or_else(|| Reason::failure("profile needs a running router"))
}

impl RunningTool for Profiling {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let profiles = profiles(turn.router)?;
        if !self.has_begun {
            profiles.begin(self.subject)?;
            self.has_begun = true;
        }
        let mut now = profiles.read();
        // Counters of the router's own packets have no clocks.
        let counts = |(_, clocks): &(_, u64)| *clocks > 0;
        now.workers
            .retain(|worker| worker.activities.iter().any(counts));
        if let Selection::Worker(number) = self.selection
            && number >= now.workers.len()
        {
            let workers = now.workers.len();
            let text = format!("cpu: there are {workers} workers, numbered from 0");
            return Err(Reason::failure(text));
        }
        self.samples = now
            .workers
            .iter()
            .map(|worker| shares::effective(worker.sampled.busy, worker.sampled.squares))
            .sum();
        let is_sampled = self.subject != ProfileSubject::Facility;
        if now.host.as_ref().map(|host| host.at) != self.hosts[1].as_ref().map(|host| host.at) {
            self.hosts[0] = core::mem::replace(&mut self.hosts[1], now.host.take());
        }
        let before = self.before.replace(now.clone());
        let rows = before.map(|mut before| {
            [before.host, now.host] = self.hosts.clone();
            shares::rows(self.selection, is_sampled, &before, &now)
        });
        Ok(Look {
            rows,
            next: Next::At(turn.now.saturating_add(self.interval)),
        })
    }

    fn summary(&self) -> String {
        match self.subject {
            ProfileSubject::Facility => String::new(),
            _ => format!(
                "{:.0} effective samples; ERROR is the half width of a 95 % interval; packets of a vector share its \
                 clocks equally\n",
                self.samples
            ),
        }
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        if self.has_begun
            && let Ok(profiles) = profiles(turn.router)
        {
            profiles.end(self.subject);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_processors_and_subjects_are_refused() {
        assert!(Selection::parse(Some("both")).is_err());
        assert!(ProfileSubject::parse(Some("user")).is_err());
        for word in ProfileSubject::WORDS {
            assert!(ProfileSubject::parse(Some(word)).is_ok(), "{word}");
        }
    }
}
