//! Rows of a profile: shares of the time between two readings.

use std::collections::BTreeMap;

use menu::{Row, Value};

use super::reading::{HostTime, ProfileReading, ThreadTime, WorkerClocks};
use super::{IDLE, Selection, TOTAL};

/// Name of the clocks of packets that belong to no rule, queue, tunnel or interface.
const REST: &str = "rest";
/// Name of the clocks of the names beyond the bound of a profile.
const OTHERS: &str = "others";
/// Name of the time in which a worker waited for its processor while another thread ran there.
const STOLEN: &str = "stolen";
/// Value of `cpu` for threads that are no workers.
const HOST: &str = "host";
/// Quantile of the normal distribution for a confidence of 95 %.
const CONFIDENCE: f64 = 1.96;

/// A line of a profile: shares of the selected processors' time, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: String,
    usage: f64,
    /// Half the width of the confidence interval, for sampled lines.
    error: Option<f64>,
}

impl Line {
    fn exact(name: impl Into<String>, usage: f64) -> Self {
        let name = name.into();
        Self {
            name,
            usage,
            error: None,
        }
    }

    fn row(self, worker: Option<&str>) -> Row {
        let mut row = Row::default();
        row.set("name", Value::text(self.name));
        if let Some(worker) = worker {
            row.set("cpu", Value::text(worker));
        }
        row.set("usage", share(self.usage));
        if let Some(error) = self.error {
            row.set("error", share(error));
        }
        row
    }
}

/// Returns a share as a percentage with one decimal.
fn share(part: f64) -> Value {
    const WHOLE: f64 = 1_000_000.0;
    Value::share((part.max(0.0) * WHOLE).round() as u64, WHOLE as u64)
}

/// Differences of one worker between two readings.
struct WorkerShares {
    activities: Vec<(&'static str, u64)>,
    clocks: u64,
    /// Clocks without idle time.
    busy: u64,
    names: BTreeMap<String, u64>,
    /// Clocks of the sampled steps.
    sampled: u64,
    samples: f64,
    /// Share of the time in which the worker could run in which it ran, from the host's scheduler.
    ran: f64,
    /// Share of the elapsed time in which the worker waited for its processor.
    stolen: f64,
}

/// Adds up the clocks of each name: the nodes of a queue share one.
fn by_name(list: &[(String, u64)]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::<String, u64>::new();
    for (name, clocks) in list {
        *sums.entry(name.clone()).or_default() += clocks;
    }
    sums
}

/// Returns the effective number of samples: steps that take long count for more (Kish's formula). `busy`: clocks of the
/// sampled steps; `squares`: as [`SampledClocks::squares`](super::SampledClocks).
pub(super) fn effective(busy: u64, squares: u64) -> f64 {
    let busy = busy as f64 / 256.0;
    match squares {
        0 => 0.0,
        squares => busy * busy / squares as f64,
    }
}

impl WorkerShares {
    fn new(before: &WorkerClocks, now: &WorkerClocks, times: Option<(&ThreadTime, u64)>) -> Self {
        let since = |(name, clocks): &(&'static str, u64)| {
            let mut then = before.activities.iter();
            let then = then.find(|(own, _)| own == name);
            let then = then.map_or(0, |(_, clocks)| *clocks);
            (*name, clocks.saturating_sub(then))
        };
        let activities: Vec<_> = now.activities.iter().map(since).collect();
        let clocks = activities.iter().map(|(_, clocks)| clocks).sum();
        let busy = activities.iter().filter(|(name, _)| *name != IDLE);
        let busy = busy.map(|(_, clocks)| clocks).sum();
        let then = by_name(&before.sampled.names);
        let mut names = by_name(&now.sampled.names);
        for (name, clocks) in &mut names {
            *clocks = clocks.saturating_sub(then.get(name).copied().unwrap_or(0));
        }
        let others = now.sampled.others.saturating_sub(before.sampled.others);
        names.insert(OTHERS.to_owned(), others);
        names.retain(|_, clocks| *clocks > 0);
        let (ran, stolen) = times.map_or((1.0, 0.0), |(thread, elapsed)| {
            let wanted = (thread.run + thread.wait).max(1) as f64;
            let stolen = thread.wait as f64 / elapsed.max(1) as f64;
            (thread.run as f64 / wanted, stolen.min(1.0))
        });
        let sampled = now.sampled.busy.saturating_sub(before.sampled.busy);
        let squares = now.sampled.squares.saturating_sub(before.sampled.squares);
        Self {
            activities,
            clocks,
            busy,
            names,
            sampled,
            samples: effective(sampled, squares),
            ran,
            stolen,
        }
    }

    /// Returns the share of `clocks` in the elapsed clocks, reduced by the waiting time of the worker.
    fn share(&self, clocks: u64) -> f64 {
        clocks as f64 / self.clocks.max(1) as f64 * self.ran
    }

    /// Returns the lines of the sampled names, or of the activities, and the share of all work.
    fn lines(&self, is_sampled: bool) -> (Vec<Line>, f64) {
        let busy = self.share(self.busy);
        if !is_sampled {
            let work = self.activities.iter().filter(|(name, _)| *name != IDLE);
            let used = work.filter(|(_, clocks)| *clocks > 0);
            let lines = used.map(|(name, clocks)| Line::exact(*name, self.share(*clocks)));
            return (lines.collect(), busy);
        }
        let mut left = 1.0;
        let lines = self.names.iter().map(|(name, clocks)| {
            let part = *clocks as f64 / self.sampled.max(1) as f64;
            left -= part;
            // A share between 0 and 1 varies at most as one that is either 0 or 1.
            let deviation = (part * (1.0 - part).max(0.0) / self.samples.max(1.0)).sqrt();
            Line {
                name: name.clone(),
                usage: part * busy,
                error: Some((CONFIDENCE * deviation).min(1.0) * busy),
            }
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by(|one, other| other.usage.total_cmp(&one.usage));
        if busy > 0.0 {
            lines.push(Line::exact(REST, left * busy));
        }
        (lines, busy)
    }
}

/// Times of the host between two readings.
struct HostShares {
    elapsed: u64,
    processors: u64,
    busy: u64,
    interrupts: u64,
    stolen: u64,
    threads: Vec<ThreadTime>,
}

impl HostShares {
    /// Returns `None` unless the host was measured twice.
    fn new(before: Option<&HostTime>, now: Option<&HostTime>) -> Option<Self> {
        let (before, now) = (before?, now?);
        let elapsed = now.at.saturating_sub(before.at);
        let since = |thread: &ThreadTime| {
            let then = { before.threads.iter() }.find(|then| then.name == thread.name);
            let (run, wait) = then.map_or((0, 0), |then| (then.run, then.wait));
            ThreadTime {
                name: thread.name.clone(),
                run: thread.run.saturating_sub(run),
                wait: thread.wait.saturating_sub(wait),
            }
        };
        (elapsed > 0).then(|| Self {
            elapsed,
            processors: now.processors.max(1),
            busy: now.busy.saturating_sub(before.busy),
            interrupts: now.interrupts.saturating_sub(before.interrupts),
            stolen: now.stolen.saturating_sub(before.stolen),
            threads: now.threads.iter().map(since).collect(),
        })
    }

    fn worker(&self, number: usize) -> Option<(&ThreadTime, u64)> {
        let name = format!("worker-{number}");
        let thread = self.threads.iter().find(|thread| thread.name == name)?;
        Some((thread, self.elapsed))
    }

    /// Returns the lines of the router's threads without workers, of interrupts, and of other processes, as shares of
    /// the time of `processors`.
    fn lines(&self, processors: f64) -> Vec<Line> {
        let whole = self.elapsed as f64 * processors;
        let line = |name: &str, spent: u64| Line::exact(name, spent as f64 / whole);
        let all: u64 = self.threads.iter().map(|thread| thread.run).sum();
        let own = self
            .threads
            .iter()
            .filter(|own| !own.name.starts_with("worker-"));
        let own = own.map(|thread| line(&thread.name, thread.run));
        let foreign = self
            .busy
            .saturating_sub(self.interrupts + self.stolen + all);
        let machine = [
            line("interrupts", self.interrupts),
            line("other-processes", foreign),
            line("hypervisor", self.stolen),
        ];
        let lines = own.chain(machine);
        lines.filter(|line| line.usage > 0.0).collect()
    }
}

/// Returns the rows of the selected workers between two readings. `is_sampled`: by the sampled names instead of the
/// activities.
pub(super) fn rows(
    selection: Selection,
    is_sampled: bool,
    before: &ProfileReading,
    now: &ProfileReading,
) -> Vec<Row> {
    let host = HostShares::new(before.host.as_ref(), now.host.as_ref());
    let none = WorkerClocks::default();
    let worker = |number: usize| {
        let before = before.workers.get(number).unwrap_or(&none);
        let now = now.workers.get(number).unwrap_or(&none);
        let times = host.as_ref().and_then(|host| host.worker(number));
        WorkerShares::new(before, now, times)
    };
    let one = |number: usize| {
        let own = worker(number);
        let (mut lines, busy) = own.lines(is_sampled);
        if own.stolen > 0.0 {
            lines.push(Line::exact(STOLEN, own.stolen));
        }
        finish(lines, busy, own.stolen, Some(&number.to_string()))
    };
    match selection {
        Selection::Worker(number) => one(number),
        Selection::All => {
            let mut rows: Vec<_> = (0..now.workers.len()).flat_map(one).collect();
            if let Some(host) = &host {
                let lines = host.lines(host.processors as f64).into_iter();
                rows.extend(lines.map(|line| line.row(Some(HOST))));
            }
            rows
        }
        Selection::Total => {
            let workers: Vec<_> = (0..now.workers.len()).map(worker).collect();
            total(&workers, host.as_ref(), is_sampled)
        }
    }
}

/// Returns the rows of all workers and of the host together.
fn total(workers: &[WorkerShares], host: Option<&HostShares>, is_sampled: bool) -> Vec<Row> {
    let measured = host.map_or(0, |host| host.processors as usize);
    let processors = measured.max(workers.len()).max(1) as f64;
    let mut sum: Vec<Line> = Vec::new();
    for worker in workers {
        for line in worker.lines(is_sampled).0 {
            let usage = line.usage / processors;
            let error = line.error.map(|error| error / processors);
            match sum.iter_mut().find(|own| own.name == line.name) {
                Some(own) => {
                    own.usage += usage;
                    // Samples of workers are independent.
                    own.error = own.error.zip(error).map(|(one, other)| one.hypot(other));
                }
                None => sum.push(Line {
                    usage,
                    error,
                    ..line
                }),
            }
        }
    }
    for line in host.iter().flat_map(|host| host.lines(processors)) {
        match sum.iter_mut().find(|own| own.name == line.name) {
            Some(own) => own.usage += line.usage,
            None => sum.push(line),
        }
    }
    let busy = sum.iter().map(|line| line.usage).sum();
    finish(sum, busy, 0.0, None)
}

/// Adds idle time and the sum of all work. `stolen` is neither.
fn finish(mut lines: Vec<Line>, busy: f64, stolen: f64, worker: Option<&str>) -> Vec<Row> {
    let idle = (1.0 - busy - stolen).max(0.0);
    if idle > 0.0 {
        lines.insert(0, Line::exact(IDLE, idle));
    }
    lines.push(Line::exact(TOTAL, busy));
    lines.into_iter().map(|line| line.row(worker)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::reading::SampledClocks;
    use super::*;

    fn reading(workers: &[&[(&'static str, u64)]]) -> ProfileReading {
        let workers = workers.iter().map(|activities| WorkerClocks {
            activities: activities.to_vec(),
            ..WorkerClocks::default()
        });
        ProfileReading {
            workers: workers.collect(),
            host: None,
        }
    }

    fn shown(rows: &[Row], names: &[&str]) -> Vec<Vec<String>> {
        let text = |row: &Row, name| row.get(name).map(ToString::to_string).unwrap_or_default();
        let line = |row: &Row| names.iter().map(|name| text(row, name)).collect();
        rows.iter().map(line).collect()
    }

    #[test]
    fn profile_shares_refer_to_the_interval_between_samples() {
        let before = reading(&[&[("idle", 1_000), ("bridging", 50), ("firewall", 7)]]);
        let now = [
            ("idle", 1_900),
            ("bridging", 125),
            ("firewall", 7),
            ("ethernet", 25),
        ];
        let rows = rows(Selection::Total, false, &before, &reading(&[&now]));
        let wanted = [
            ["idle", "90%"],
            ["bridging", "7.5%"],
            ["ethernet", "2.5%"],
            ["total", "10%"],
        ];
        assert_eq!(shown(&rows, &["name", "usage"]), wanted);
    }

    #[test]
    fn workers_are_shown_together_each_or_one() {
        let zero: &[_] = &[("idle", 0), ("ethernet", 0)];
        let before = reading(&[zero, zero]);
        let now: [&[_]; 2] = [
            &[("idle", 90), ("ethernet", 10)],
            &[("idle", 50), ("ethernet", 50)],
        ];
        let totals = |selection| {
            let all = rows(selection, false, &before, &reading(&now));
            let mut lines = shown(&all, &["name", "cpu", "usage"]);
            lines.retain(|line| line[0] == TOTAL);
            lines
        };
        assert_eq!(totals(Selection::Total), [["total", "", "30%"]]);
        let each = [["total", "0", "10%"], ["total", "1", "50%"]];
        assert_eq!(totals(Selection::All), each);
        assert_eq!(totals(Selection::Worker(1)), [["total", "1", "50%"]]);
    }

    #[test]
    fn threads_other_processes_and_stolen_time_are_told_apart() {
        let thread = |name: &str, run, wait| ThreadTime {
            name: name.to_owned(),
            run,
            wait,
        };
        let mut before = reading(&[&[("idle", 0), ("ethernet", 0)]]);
        before.host = Some(HostTime {
            processors: 4,
            threads: vec![thread("worker-0", 0, 0), thread("services", 5, 0)],
            ..HostTime::default()
        });
        let mut now = reading(&[&[("idle", 200), ("ethernet", 800)]]);
        now.host = Some(HostTime {
            at: 1_000,
            processors: 4,
            busy: 2_500,
            interrupts: 100,
            stolen: 0,
            threads: vec![thread("worker-0", 600, 200), thread("services", 1_005, 0)],
        });
        let all = rows(Selection::Total, false, &before, &now);
        let wanted = [
            ["idle", "37.5%"],
            ["ethernet", "15%"],
            ["services", "25%"],
            ["interrupts", "2.5%"],
            ["other-processes", "20%"],
            ["total", "62.5%"],
        ];
        // The worker ran for 600 of 1000, and 800 of its clocks were work: a quarter of that was stolen.
        assert_eq!(shown(&all, &["name", "usage"]), wanted);
        let one = rows(Selection::Worker(0), false, &before, &now);
        let wanted = [
            ["idle", "20%"],
            ["ethernet", "60%"],
            ["stolen", "20%"],
            ["total", "60%"],
        ];
        assert_eq!(shown(&one, &["name", "usage"]), wanted);
    }

    #[test]
    fn equal_steps_count_fully_and_a_long_step_is_one_sample() {
        let sampled = |busy: &[u64]| {
            let scaled = busy.iter().map(|busy| busy >> 8);
            effective(
                busy.iter().sum(),
                scaled.map(|scaled| scaled * scaled).sum(),
            )
        };
        assert!((sampled(&[1 << 20; 50]) - 50.0).abs() < 0.01);
        assert!(sampled(&[1 << 30, 1 << 10, 1 << 10]) < 1.01);
    }

    #[test]
    fn sampled_names_share_the_busy_time_and_state_their_error() {
        let before = reading(&[&[("idle", 0), ("firewall", 0)]]);
        let mut now = reading(&[&[("idle", 500), ("firewall", 500)]]);
        now.workers[0].sampled = SampledClocks {
            names: vec![
                ("filter 1".into(), 25 << 8),
                ("filter 0".into(), 30 << 8),
                ("filter 0".into(), 20 << 8),
            ],
            others: 0,
            busy: 100 << 8,
            squares: 100,
        };
        let lines = shown(
            &rows(Selection::Total, true, &before, &now),
            &["name", "usage", "error"],
        );
        let wanted = [
            ["idle", "50%", ""],
            ["filter 0", "25%", "4.9%"],
            ["filter 1", "12.5%", "4.2%"],
            ["rest", "12.5%", ""],
            ["total", "50%", ""],
        ];
        assert_eq!(lines, wanted);
    }
}
