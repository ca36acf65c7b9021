//! What is added to the raw time: steps, slews and a frequency (RFC 5905, 11.3, with a linear slew).
//!
//! An offset is slewed by 500 µs a second. What is left of it at the next measurement is part of that measurement.
//! A quarter of the rate at which offsets come up again goes into the frequency; with the whole offset corrected in
//! between that is critically damped.

use super::SECOND;

/// Offsets from here on are stepped (RFC 5905, figure 27: STEPT).
pub(super) const STEP: i64 = SECOND / 8;
/// How long such an offset has to be seen before the clock is stepped again (STEPOUT).
const STEP_OUT: i64 = 300 * SECOND;
/// How fast an offset is slewed, and the most that a clock runs wrong, in nanoseconds a second.
const SLEW: i64 = 500_000;
/// Measurements nearer to each other say nothing of the frequency.
const FREQUENCY_SPAN: i64 = 32 * SECOND;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// The raw time at which the rest is true.
    base: i64,
    /// What is added at that time.
    added: i64,
    /// What is still to be slewed.
    slew: i64,
    /// What is added each second, in nanoseconds.
    frequency: i64,
    /// When the clock was measured last.
    measured: Option<i64>,
    /// When the frequency was last looked at.
    tuned: i64,
    /// Since when offsets are too great to be slewed.
    spike: Option<i64>,
}

/// What came of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The offset is being slewed.
    Slewed,
    /// The clock was stepped.
    Stepped,
    /// It may be an accident, and is waited out.
    Waited,
}

impl Discipline {
    /// What is added to a raw time, in nanoseconds.
    pub fn added(&self, raw: i64) -> i64 {
        let since = raw.saturating_sub(self.base).max(0);
        let most = scaled(since, SLEW);
        let drift = scaled(since, self.frequency);
        self.added + drift + self.slew.clamp(-most, most)
    }

    /// The time of day.
    pub fn time(&self, raw: i64) -> i64 {
        raw.saturating_add(self.added(raw))
    }

    /// What is added each second, in nanoseconds: parts of 10^9.
    pub const fn frequency(&self) -> i64 {
        self.frequency
    }

    /// Forgets how wrong the clock runs.
    pub fn reset_frequency(&mut self, raw: i64) {
        self.settle(raw);
        self.frequency = 0;
        self.tuned = raw;
    }

    /// Takes over that the raw time was set forward by this much, which is not to be seen.
    pub fn raw_was_set(&mut self, by: i64) {
        self.base = self.base.saturating_add(by);
        self.added = self.added.saturating_sub(by);
        self.tuned = self.tuned.saturating_add(by);
        self.measured = self.measured.map(|at| at.saturating_add(by));
        self.spike = self.spike.map(|at| at.saturating_add(by));
    }

    /// Takes a measurement: what the time of day lacks.
    pub fn update(&mut self, offset: i64, raw: i64) -> Update {
        self.settle(raw);
        let is_first = self.measured.is_none();
        if offset.saturating_abs() >= STEP {
            let since = *self.spike.get_or_insert(raw);
            if !is_first && raw.saturating_sub(since) < STEP_OUT {
                return Update::Waited;
            }
            (self.measured, self.spike, self.tuned) = (Some(raw), None, raw);
            (self.added, self.slew) = (self.added.saturating_add(offset), 0);
            return Update::Stepped;
        }
        (self.measured, self.spike) = (Some(raw), None);
        let span = raw.saturating_sub(self.tuned);
        if is_first {
            self.tuned = raw;
        } else if span >= FREQUENCY_SPAN {
            let rate = i128::from(offset) * i128::from(SECOND) / i128::from(span) / 4;
            let rate = i64::try_from(rate).unwrap_or(0);
            self.frequency = (self.frequency + rate).clamp(-SLEW, SLEW);
            self.tuned = raw;
        }
        self.slew = offset;
        Update::Slewed
    }

    /// Makes a raw time the one from which everything counts.
    fn settle(&mut self, raw: i64) {
        let most = scaled(raw.saturating_sub(self.base).max(0), SLEW);
        self.added = self.added(raw);
        self.slew -= self.slew.clamp(-most, most);
        self.base = raw;
    }
}

/// What a rate in parts of 10^9 makes of a span.
fn scaled(nanos: i64, rate: i64) -> i64 {
    let product = i128::from(nanos) * i128::from(rate) / i128::from(SECOND);
    i64::try_from(product).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_offset_is_stepped_and_small_ones_are_slewed() {
        let mut clock = Discipline::default();
        assert_eq!(clock.update(5 * SECOND, 100), Update::Stepped);
        assert_eq!(clock.added(100), 5 * SECOND);

        assert_eq!(clock.update(SECOND / 1_000, SECOND), Update::Slewed);
        assert_eq!(clock.added(2 * SECOND) - clock.added(SECOND), 500_000);
        assert_eq!(clock.added(9 * SECOND), 5 * SECOND + SECOND / 1_000);
    }

    #[test]
    fn a_spike_is_waited_out_and_what_stays_is_stepped() {
        let mut clock = Discipline::default();
        clock.update(0, 0);
        let mut updates = (1..=6).map(|minute| clock.update(SECOND, minute * 60 * SECOND));
        assert!(
            updates
                .by_ref()
                .take(5)
                .all(|update| update == Update::Waited)
        );
        assert_eq!(updates.next(), Some(Update::Stepped));
    }

    #[test]
    fn a_clock_that_runs_wrong_is_learnt_within_an_hour() {
        // It loses 80 µs a second.
        let truth = |raw: i64| raw + scaled(raw, 80_000);
        let mut clock = Discipline::default();
        let mut worst = 0;
        for minute in 0..120 {
            let raw = minute * 64 * SECOND;
            let offset = truth(raw) - clock.time(raw);
            if minute > 60 {
                worst = worst.max(offset.saturating_abs());
            }
            clock.update(offset, raw);
        }
        assert!(worst < 20_000, "{worst}");
        assert!((clock.frequency() - 80_000).abs() < 500, "{clock:?}");
    }

    #[test]
    fn who_sets_the_raw_clock_does_not_set_the_time_of_day() {
        let mut clock = Discipline::default();
        clock.update(3 * SECOND, SECOND);
        let before = clock.time(2 * SECOND);
        clock.raw_was_set(3 * SECOND);
        assert_eq!(clock.time(5 * SECOND), before);
        assert_eq!(clock.added(5 * SECOND), 0);
    }
}
