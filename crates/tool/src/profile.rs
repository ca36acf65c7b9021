//! `/tool/profile`: CPU usage of workers by activity since the last update.
//!
//! RouterOS: `cpu` selects one processor, `all` processors each, or their `total` (default). Here a worker is one
//! processor, numbered from 0.

use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::{Column, Form, Invocation, Look, Next, RunningTool, Tool, Turn};

static COLUMNS: [Column; 3] = [
    Column::new("name", "NAME"),
    Column::new("cpu", "CPU"),
    Column::new("usage", "USAGE"),
];
/// Name of the idle time, and of the sum of all other activities.
const IDLE: &str = "idle";
const TOTAL: &str = "total";

pub(crate) struct Profile;

/// Clock cycles by activity.
type Clocks = Vec<(&'static str, u64)>;

/// The workers to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    /// The sum of all workers.
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
    /// Clock cycles of each worker at the last update.
    before: Option<Vec<Clocks>>,
}

impl Tool for Profile {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let selection = Selection::parse(given.text("cpu").as_deref())?;
        Ok(Box::new(Profiling {
            interval: given.interval,
            selection,
            before: None,
        }))
    }
}

impl RunningTool for Profiling {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let now = turn.router.clocks();
        let mut now = now.ok_or_else(|| Reason::failure("profile needs a running router"))?;
        // Counters of the router's own packets have no clocks.
        now.retain(|worker| worker.iter().any(|(_, clocks)| *clocks > 0));
        if let Selection::Worker(number) = self.selection
            && number >= now.len()
        {
            let workers = now.len();
            let text = format!("cpu: there are {workers} workers, numbered from 0");
            return Err(Reason::failure(text));
        }
        let before = self.before.replace(now.clone());
        let rows = before.map(|before| self.selection.rows(&before, &now));
        Ok(Look {
            rows,
            next: Next::At(turn.now.saturating_add(self.interval)),
        })
    }
}

impl Selection {
    /// Returns the rows of the selected workers; `before` and `now` have the clock cycles of each worker.
    fn rows(self, before: &[Clocks], now: &[Clocks]) -> Vec<Row> {
        let worker = |number: usize| {
            let before = before.get(number).map(Vec::as_slice).unwrap_or_default();
            let now = now.get(number).map(Vec::as_slice).unwrap_or_default();
            shares(before, now, Some(number))
        };
        match self {
            Self::Total => shares(&sum(before), &sum(now), None),
            Self::All => (0..now.len()).flat_map(worker).collect(),
            Self::Worker(number) => worker(number),
        }
    }
}

/// Adds the clock cycles of all workers.
fn sum(workers: &[Clocks]) -> Clocks {
    let mut total = workers.first().cloned().unwrap_or_default();
    for worker in workers.iter().skip(1) {
        for ((_, sum), (_, clocks)) in total.iter_mut().zip(worker) {
            *sum += clocks;
        }
    }
    total
}

/// Returns the shares of all activities with any usage, and their sum without idle time, with the number of the worker.
fn shares(
    before: &[(&'static str, u64)],
    now: &[(&'static str, u64)],
    worker: Option<usize>,
) -> Vec<Row> {
    let since = |(name, clocks): &(&'static str, u64)| {
        let then = before.iter().find(|(own, _)| own == name);
        let clocks = clocks.saturating_sub(then.map_or(0, |(_, clocks)| *clocks));
        (*name, clocks)
    };
    let spent: Vec<_> = now.iter().map(since).collect();
    let all: u64 = spent.iter().map(|(_, clocks)| clocks).sum();
    let busy = spent.iter().filter(|(name, _)| *name != IDLE);
    let total = (TOTAL, busy.map(|(_, clocks)| clocks).sum());
    let used = spent.into_iter().filter(|(_, clocks)| *clocks > 0);
    let row = |(name, clocks): (&'static str, u64)| {
        let mut row = Row::default();
        row.set("name", Value::text(name));
        if let Some(worker) = worker {
            row.set("cpu", Value::text(worker.to_string()));
        }
        row.set("usage", Value::share(clocks, all));
        row
    };
    used.chain([total]).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_shares_refer_to_the_interval_between_samples() {
        let rows = shares(
            &[("idle", 1_000), ("bridging", 50), ("firewall", 7)],
            &[
                ("idle", 1_900),
                ("bridging", 125),
                ("firewall", 7),
                ("ethernet", 25),
            ],
            None,
        );
        let text = |row: &Row, name| row.get(name).map(ToString::to_string).unwrap_or_default();
        let shown: Vec<_> = { rows.iter() }
            .map(|row| (text(row, "name"), text(row, "usage")))
            .collect();
        let wanted = [
            ("idle", "90%"),
            ("bridging", "7.5%"),
            ("ethernet", "2.5%"),
            ("total", "10%"),
        ];
        let wanted = wanted.map(|(name, usage)| (name.to_owned(), usage.to_owned()));
        assert_eq!(shown, wanted);
    }

    #[test]
    fn workers_are_shown_together_each_or_one() {
        let before = [
            vec![("idle", 0), ("ethernet", 0)],
            vec![("idle", 0), ("ethernet", 0)],
        ];
        let now = [
            vec![("idle", 90), ("ethernet", 10)],
            vec![("idle", 50), ("ethernet", 50)],
        ];
        let shown = |text: Option<&str>| {
            let rows = Selection::parse(text).expect("valid").rows(&before, &now);
            let value =
                |row: &Row, name| row.get(name).map(ToString::to_string).unwrap_or_default();
            let rows = rows.iter().filter(|row| value(row, "name") == TOTAL);
            rows.map(|row| (value(row, "cpu"), value(row, "usage")))
                .collect::<Vec<_>>()
        };
        let pair = |cpu: &str, usage: &str| (cpu.to_owned(), usage.to_owned());
        assert_eq!(shown(None), [pair("", "30%")]);
        assert_eq!(shown(Some("total")), [pair("", "30%")]);
        assert_eq!(shown(Some("all")), [pair("0", "10%"), pair("1", "50%")]);
        assert_eq!(shown(Some("1")), [pair("1", "50%")]);
        assert!(Selection::parse(Some("both")).is_err());
    }
}
