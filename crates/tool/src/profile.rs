//! `/tool/profile`: CPU usage of workers by activity since the last update.

use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::{Column, Form, Invocation, Look, Next, RunningTool, Tool, Turn};

static COLUMNS: [Column; 2] = [Column::new("name", "NAME"), Column::new("usage", "USAGE")];
/// Name of the idle time, and of the sum of all other activities.
const IDLE: &str = "idle";
const TOTAL: &str = "total";

pub(crate) struct Profile;

struct Profiling {
    interval: Duration,
    /// Clock cycles by activity at the last update.
    before: Option<Vec<(&'static str, u64)>>,
}

impl Tool for Profile {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(Profiling {
            interval: given.interval,
            before: None,
        }))
    }
}

impl RunningTool for Profiling {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let now = turn.router.clocks();
        let now = now.ok_or_else(|| Reason::failure("profile needs a running router"))?;
        let rows = self.before.replace(now.clone());
        Ok(Look {
            rows: rows.map(|before| shares(&before, &now)),
            next: Next::At(turn.now.saturating_add(self.interval)),
        })
    }
}

/// Shares of all activities with any usage, and their sum without idle time.
fn shares(before: &[(&'static str, u64)], now: &[(&'static str, u64)]) -> Vec<Row> {
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
}
