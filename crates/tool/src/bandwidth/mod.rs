//! `/tool/bandwidth-test`: measures the throughput to a bandwidth test server. The router's owner holds the sockets;
//! the tool polls the progress of the test.
//!
//! RouterOS: the values, and the remark when a processor is nearly busy. Beside them the page shows how the number was
//! made: the share of a core that this end spends, how many TCP connections the path needs, and what limited the rate.

mod bound;
mod cells;
mod progress;
mod request;

use std::task::Waker;
use std::time::Duration;

use btest::{Status, Test};
use menu::{Reason, Row, Value};

use crate::{Form, Invocation, Look, Next, RunningTool, Tool, Turn};

pub use progress::{BandwidthProgress, PathState};

pub(crate) use cells::{CPU_REMARK, is_busy};
pub(crate) use request::{connections, password, server, user};

/// Default duration of each test with `connection-counts`.
const SWEEP_DURATION: Duration = Duration::from_secs(5);
/// Default update interval.
const INTERVAL: Duration = Duration::from_secs(1);

/// Service that runs bandwidth tests.
pub trait BandwidthTests {
    /// Number of cores of this machine.
    fn cores(&self) -> u64;

    /// Starts a test; returns its ticket. Wakes `news` when it has ended.
    ///
    /// # Errors
    /// Fails if too many tests are running.
    fn begin_test(&mut self, test: Test, news: &Waker) -> Result<u64, Reason>;

    /// Returns the progress; `None` for an unknown ticket.
    fn test_progress(&mut self, ticket: u64) -> Option<BandwidthProgress>;

    /// Stops and forgets a test.
    fn forget_test(&mut self, ticket: u64);
}

/// The bandwidth test tool.
pub(crate) struct BandwidthTestTool;

struct Testing {
    test: Test,
    /// Numbers of connections of further tests, the last one first.
    further: Vec<u8>,
    /// Rows of the tests that have ended.
    results: Vec<Row>,
    interval: Duration,
    /// True for a command with a single update.
    is_single: bool,
    ticket: Option<u64>,
    /// State of the router at the beginning of the test.
    before: bound::Sample,
}

impl Tool for BandwidthTestTool {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let mut test = request::test(given)?;
        let mut further = request::connection_counts(given)?;
        if let Some(first) = further.pop() {
            let tests = u32::from(further.len() as u8) + 1;
            let whole = test.duration.unwrap_or(SWEEP_DURATION * tests);
            (test.connections, test.duration) = (first, Some(whole / tests));
        }
        Ok(Box::new(Testing {
            test,
            further,
            results: Vec::new(),
            interval: given.span("interval").unwrap_or(INTERVAL),
            is_single: given.ends.is_single,
            ticket: None,
            before: bound::Sample::default(),
        }))
    }
}

/// Starts a test.
///
/// # Errors
/// There is no running router, or too many tests run.
pub(crate) fn begin(turn: &mut Turn<'_>, test: &Test) -> Result<u64, Reason> {
    let missing = || Reason::failure("a bandwidth test needs a running router");
    let tests = turn.router.bandwidth_tests().ok_or_else(missing)?;
    tests.begin_test(test.clone(), turn.news)
}

/// Returns the progress of a test.
///
/// # Errors
/// The test has ended, and the router has deleted its state.
pub(crate) fn progress(turn: &mut Turn<'_>, ticket: u64) -> Result<BandwidthProgress, Reason> {
    let tests = turn.router.bandwidth_tests();
    let progress = tests.and_then(|tests| tests.test_progress(ticket));
    progress.ok_or(Reason::Interrupted)
}

/// Reads the state of the router.
fn sample(turn: &mut Turn<'_>) -> bound::Sample {
    let reading = turn.router.profiles().map(|profiles| profiles.read());
    let workers = reading.unwrap_or_default().workers.into_iter();
    let workers = workers.map(|clocks| clocks.activities).collect();
    bound::Sample::read(turn.store, turn.router, workers)
}

/// Stops the running test, and deletes its state.
pub(crate) fn forget(turn: &mut Turn<'_>, ticket: &mut Option<u64>) {
    if let (Some(ticket), Some(tests)) = (ticket.take(), turn.router.bandwidth_tests()) {
        tests.forget_test(ticket);
    }
}

/// Returns true once a test has ended.
pub(crate) const fn has_ended(progress: &BandwidthProgress) -> bool {
    !matches!(progress.status, Status::Connecting | Status::Running)
}

impl RunningTool for Testing {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let ticket = match self.ticket {
            Some(ticket) => ticket,
            None => {
                self.before = sample(turn);
                *self.ticket.insert(begin(turn, &self.test)?)
            }
        };
        let progress = progress(turn, ticket)?;
        let mut row = cells::row(&self.test, &progress);
        if progress.figures.duration >= INTERVAL {
            let now = sample(turn);
            let bounds = bound::bounds(&self.test, &progress, &self.before, &now);
            row.set("bound-by", Value::text(bounds));
        }
        let mut ended = has_ended(&progress);
        if ended {
            forget(turn, &mut self.ticket);
            self.results.push(row.clone());
        }
        if progress.status == Status::Done
            && let Some(connections) = self.further.pop()
        {
            self.test.connections = connections;
            ended = false;
        }
        let rows = self.shows(&progress, ended).then(|| {
            let running = self.ticket.map(|_| row);
            self.results.iter().cloned().chain(running).collect()
        });
        let then = turn.now.saturating_add(self.interval);
        let next = match (ended, self.test.duration) {
            (true, _) => Next::Over,
            // The test ends by itself, and its last update is the result.
            (false, Some(_)) => Next::News(then),
            (false, None) => Next::At(then),
        };
        Ok(Look { rows, next })
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        forget(turn, &mut self.ticket);
    }
}

impl Testing {
    /// Returns true if an update is shown: with a single update only the result, or without a duration the first
    /// complete second.
    fn shows(&self, progress: &BandwidthProgress, ended: bool) -> bool {
        let is_measured = progress.figures.duration >= INTERVAL;
        !self.is_single || ended || self.test.duration.is_none() && is_measured
    }
}

#[cfg(test)]
mod tests;
