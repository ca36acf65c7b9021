//! Ends of accounted sessions that no server has answered yet.
//!
//! ```text
//! no server answered ─▶ waiting ── pause is over ─▶ sent again ─▶ answered: twice as many next, at once
//!                          ▲                             │
//!                          └── the pause doubles ── no server answered
//! ```
//! As long as no server answers, one report probes the servers after each pause. Reports have numbers in the order of
//! the sessions' ends.

use std::collections::BTreeMap;

use machine::{Duration, Instant};

use super::client::Query;

/// Maximum number of waiting reports.
pub const MAX_REPORTS: usize = 65_536;
/// Bounds of the pause between attempts.
const MIN_PAUSE: Duration = Duration::from_secs(10);
const MAX_PAUSE: Duration = Duration::from_secs(320);
/// Maximum number of reports that are sent together.
const MAX_BURST: usize = 256;

/// Unanswered reports by number.
#[derive(Debug)]
pub struct Backlog {
    waiting: BTreeMap<u64, Box<Query>>,
    /// Number of reports on their way.
    in_flight: usize,
    /// Whether a report of the present burst had no answer.
    has_failed: bool,
    /// Time of the next burst; `None` while nothing waits, or while answers are awaited.
    retry_at: Option<Instant>,
    pause: Duration,
    burst: usize,
}

impl Default for Backlog {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            in_flight: 0,
            has_failed: false,
            retry_at: None,
            pause: MIN_PAUSE,
            burst: 1,
        }
    }
}

impl Backlog {
    /// True if no report waits or is on its way.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.in_flight == 0
    }

    /// Adds a report. Returns the number of the oldest report if it was dropped, because too many wait.
    pub fn push(&mut self, number: u64, report: Box<Query>, now: Instant) -> Option<u64> {
        self.waiting.insert(number, report);
        if self.in_flight == 0 && self.retry_at.is_none() {
            self.retry_at = Some(now + self.pause);
        }
        let is_full = self.waiting.len() > MAX_REPORTS;
        let (oldest, _) = is_full.then(|| self.waiting.pop_first())??;
        Some(oldest)
    }

    /// Returns the time of the next burst.
    pub const fn deadline(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Removes and returns the oldest reports, to be sent again. The owner calls [`answered`](Self::answered) for each.
    pub fn due(&mut self, now: Instant) -> Vec<(u64, Box<Query>)> {
        if self.retry_at.is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.retry_at = None;
        let next = core::iter::from_fn(|| self.waiting.pop_first());
        let due: Vec<_> = next.take(self.burst).collect();
        self.in_flight = due.len();
        due
    }

    /// Notes the result of a report that was sent again. The owner appends one without an answer before.
    pub fn answered(&mut self, is_answered: bool, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.has_failed |= !is_answered;
        if self.in_flight > 0 {
            return;
        }
        let pause = match core::mem::take(&mut self.has_failed) {
            true => {
                self.burst = 1;
                self.pause = (self.pause * 2).min(MAX_PAUSE);
                self.pause
            }
            false => {
                self.burst = (self.burst * 2).min(MAX_BURST);
                self.pause = MIN_PAUSE;
                Duration::ZERO
            }
        };
        self.retry_at = (!self.waiting.is_empty()).then(|| now + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Accounting, Port, Question, Request, Service, Status, SubscriberLine};
    use super::*;

    fn report(user: u64) -> Box<Query> {
        let stop = Accounting::new(Status::Stop, 60, None);
        Box::new(Query {
            request: Request {
                service: Service::Ppp,
                question: Question::Accounting(stop),
                user: user.to_string(),
                calling: String::new(),
                called: String::new(),
                router: String::new(),
                port: Port::of_service("ether1"),
                session: String::new(),
                subscriber_line: SubscriberLine::default(),
                classes: Vec::new(),
                timestamp: None,
            },
            server: None,
            since: Some(Instant::ZERO),
            age: Duration::ZERO,
        })
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn one_report_probes_silent_servers_with_growing_pauses() {
        let mut backlog = Backlog::default();
        for number in 0..3 {
            assert_eq!(backlog.push(number, report(number), at(0)), None);
        }
        let mut times = Vec::new();
        for _ in 0..8 {
            let now = backlog.deadline().expect("reports wait");
            times.push(now.saturating_since(Instant::ZERO).as_secs());
            let due = backlog.due(now);
            assert_eq!(due.len(), 1);
            assert_eq!(backlog.deadline(), None, "the answer is awaited");
            for (number, report) in due {
                assert_eq!(number, 0, "the oldest report is first");
                assert_eq!(backlog.push(number, report, now), None);
            }
            backlog.answered(false, now);
        }
        assert_eq!(times, [10, 30, 70, 150, 310, 630, 950, 1_270]);
    }

    #[test]
    fn answers_double_the_number_of_reports_until_none_waits() {
        let mut backlog = Backlog::default();
        for number in 0..600 {
            assert_eq!(backlog.push(number, report(number), at(0)), None);
        }
        let mut bursts = Vec::new();
        let now = at(10);
        while !backlog.is_empty() {
            let due = backlog.due(now);
            bursts.push(due.len());
            due.iter().for_each(|_| backlog.answered(true, now));
        }
        assert_eq!(bursts, [1, 2, 4, 8, 16, 32, 64, 128, 256, 89]);
        assert_eq!(backlog.deadline(), None);
    }

    #[test]
    fn the_oldest_report_beyond_the_limit_is_dropped() {
        let mut backlog = Backlog::default();
        let limit = MAX_REPORTS as u64;
        for number in 0..limit {
            assert_eq!(backlog.push(number, report(1), at(0)), None);
        }
        assert_eq!(backlog.push(limit, report(2), at(0)), Some(0));
        assert_eq!(backlog.push(limit + 1, report(2), at(0)), Some(1));
    }
}
