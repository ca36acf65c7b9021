//! One test round of echo requests: statistics and thresholds.

use machine::{Duration, Instant};

use super::ECHOES;

/// Thresholds of a successful round. RouterOS: `thr-…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum round-trip time.
    pub most: Duration,
    /// Mean round-trip time.
    pub average: Duration,
    /// Standard deviation of the round-trip time.
    pub deviation: Duration,
    /// Difference between maximum and minimum round-trip time.
    pub jitter: Duration,
    /// Lost echoes, in percent.
    pub loss_percent: u32,
    /// Lost echoes, as a number.
    pub loss: u32,
}

/// Settings of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Number of requests.
    pub count: u32,
    /// Interval between requests.
    pub space: Duration,
    /// Thresholds; without them one answer suffices.
    pub limits: Option<Limits>,
    /// Count a TTL exceeded error as an answer.
    pub takes_expired: bool,
    /// End the round early once it cannot fail.
    pub ends_good: bool,
    /// End the round early once it cannot succeed.
    pub ends_bad: bool,
}

impl Round {
    /// One request and one answer.
    pub const SIMPLE: Self = Self {
        count: 1,
        space: Duration::ZERO,
        limits: None,
        takes_expired: false,
        ends_good: true,
        ends_bad: false,
    };
}

/// Statistics of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Sent requests.
    pub sent: u32,
    /// Received answers.
    pub answers: u32,
    /// Mean round-trip time.
    pub average: Duration,
    /// Minimum round-trip time.
    pub least: Duration,
    /// Maximum round-trip time.
    pub most: Duration,
    /// Standard deviation of the round-trip time.
    pub deviation: Duration,
}

impl Statistics {
    /// Number of requests without an answer.
    pub const fn lost(&self) -> u32 {
        self.sent.saturating_sub(self.answers)
    }

    /// Percentage of requests without an answer.
    pub const fn lost_percent(&self) -> u32 {
        if self.sent == 0 {
            return 0;
        }
        (self.lost() as u64 * 100 / self.sent as u64) as u32
    }

    /// Difference between maximum and minimum round-trip time.
    pub fn jitter(&self) -> Duration {
        self.most.saturating_sub(self.least)
    }
}

/// Round in progress.
#[derive(Clone, Debug)]
pub(super) struct Echoes {
    round: Round,
    /// Unanswered requests with their timeouts.
    open: Vec<(u16, Instant)>,
    sent: u32,
    /// Time of the next request.
    next: Instant,
    ways: Vec<Duration>,
}

impl Echoes {
    pub(super) fn new(round: Round, now: Instant) -> Self {
        let round = Round {
            count: round.count.clamp(1, ECHOES),
            ..round
        };
        Self {
            round,
            open: Vec::new(),
            sent: 0,
            next: now,
            ways: Vec::new(),
        }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.sent < self.round.count && self.next <= now
    }

    pub(super) fn sent(&mut self, seq: u16, now: Instant, timeout: Duration) {
        self.sent += 1;
        self.next += self.round.space;
        self.open.push((seq, now + timeout));
    }

    pub(super) fn answered(&mut self, seq: u16, way: Duration) {
        let before = self.open.len();
        self.open.retain(|(own, _)| *own != seq);
        if self.open.len() < before {
            self.ways.push(way);
        }
    }

    pub(super) const fn takes_expired(&self) -> bool {
        self.round.takes_expired
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u16> {
        self.open.iter().map(|(seq, _)| *seq)
    }

    /// Next timer of the round.
    pub(super) fn next(&self) -> Instant {
        let late = self.open.iter().map(|(_, late)| *late).min();
        match (self.sent < self.round.count, late) {
            (true, Some(late)) => self.next.min(late),
            (true, None) => self.next,
            (false, Some(late)) => late,
            (false, None) => self.next,
        }
    }

    /// Removes and returns the requests that timed out.
    pub(super) fn take_late(&mut self, now: Instant) -> Vec<u16> {
        let is_late = |late: Instant| late <= now;
        let late = self.open.iter().filter(|(_, late)| is_late(*late));
        let late = late.map(|(seq, _)| *seq).collect();
        self.open.retain(|(_, late)| !is_late(*late));
        late
    }

    /// Result of the round, once it is certain. `known`: the host's address is known.
    pub(super) fn verdict(&self, known: bool) -> Option<bool> {
        if !known {
            return Some(false);
        }
        let all = self.sent == self.round.count;
        let statistics = self.statistics();
        if all && self.open.is_empty() {
            return Some(self.is_good(&statistics));
        }
        let count = self.round.count;
        let open = count.saturating_sub(self.sent) + self.open.len() as u32;
        let lost = count
            .saturating_sub(open)
            .saturating_sub(statistics.answers);
        let Some(limits) = self.round.limits else {
            return (self.round.ends_good && statistics.answers > 0).then_some(true);
        };
        let too_many = lost > limits.loss || lost * 100 > limits.loss_percent * count;
        if self.round.ends_bad && (too_many || statistics.most > limits.most) {
            return Some(false);
        }
        // Even if all pending echoes are lost, the round succeeds.
        let worst = lost + open;
        let enough = worst <= limits.loss && worst * 100 <= limits.loss_percent * count;
        let good = enough && statistics.answers > 0 && self.is_good(&statistics);
        (self.round.ends_good && good).then_some(true)
    }

    fn is_good(&self, found: &Statistics) -> bool {
        let Some(limits) = self.round.limits else {
            return found.answers > 0;
        };
        found.answers > 0
            && found.most <= limits.most
            && found.average <= limits.average
            && found.deviation <= limits.deviation
            && found.jitter() <= limits.jitter
            && found.lost() <= limits.loss
            && found.lost_percent() <= limits.loss_percent
    }

    pub(super) fn statistics(&self) -> Statistics {
        let count = self.ways.len() as u32;
        let sum: Duration = self.ways.iter().sum();
        let average = sum.checked_div(count).unwrap_or_default();
        let far = |way: &Duration| {
            let far = way.abs_diff(average).as_nanos();
            far * far
        };
        let square: u128 = self.ways.iter().map(far).sum();
        let deviation = square.checked_div(u128::from(count)).unwrap_or(0).isqrt();
        Statistics {
            sent: self.sent,
            answers: count,
            average,
            least: self.ways.iter().min().copied().unwrap_or_default(),
            most: self.ways.iter().max().copied().unwrap_or_default(),
            deviation: Duration::from_nanos(u64::try_from(deviation).unwrap_or(u64::MAX)),
        }
    }
}
