//! Clock discipline: steps, slews and frequency correction of the raw time (RFC 5905, 11.3, with a linear slew).
//!
//! An offset is slewed by 500 µs a second. The rest of the offset is part of the next measurement. A quarter of the
//! rate at which offsets reappear is added to the frequency; as the whole offset is corrected in between, this is
//! critically damped.

use super::SECOND;

/// Minimum offset that is stepped (RFC 5905, figure 27: STEPT).
pub(super) const STEP: i64 = SECOND / 8;
/// Time for which such an offset must persist before the clock is stepped again (STEPOUT).
const STEP_OUT: i64 = 300 * SECOND;
/// Slew rate and maximum frequency error, in nanoseconds per second.
const SLEW: i64 = 500_000;
/// Minimum interval between measurements for a frequency estimate.
const FREQUENCY_SPAN: i64 = 32 * SECOND;

/// Correction of the raw time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// Raw time of the other fields.
    base: i64,
    /// Correction at `base`.
    added: i64,
    /// Offset left to slew.
    slew: i64,
    /// Frequency correction in nanoseconds per second.
    frequency: i64,
    /// Time of the last measurement.
    measured: Option<i64>,
    /// Time of the last frequency estimate.
    tuned: i64,
    /// Time since which offsets exceed [`STEP`].
    spike: Option<i64>,
}

/// Result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The offset is being slewed.
    Slewed,
    /// The clock was stepped.
    Stepped,
    /// Ignored for now: may be a spike.
    Waited,
}

impl Discipline {
    /// Correction of a raw time, in nanoseconds.
    pub fn added(&self, raw: i64) -> i64 {
        let since = raw.saturating_sub(self.base).max(0);
        let most = scaled(since, SLEW);
        let drift = scaled(since, self.frequency);
        self.added + drift + self.slew.clamp(-most, most)
    }

    /// Corrected time.
    pub fn time(&self, raw: i64) -> i64 {
        raw.saturating_add(self.added(raw))
    }

    /// Frequency correction in nanoseconds per second (10^-9).
    pub const fn frequency(&self) -> i64 {
        self.frequency
    }

    /// Resets the frequency correction.
    pub fn reset_frequency(&mut self, raw: i64) {
        self.settle(raw);
        self.frequency = 0;
        self.tuned = raw;
    }

    /// Compensates a change of the raw time, so that the corrected time does not change.
    pub fn raw_was_set(&mut self, by: i64) {
        self.base = self.base.saturating_add(by);
        self.added = self.added.saturating_sub(by);
        self.tuned = self.tuned.saturating_add(by);
        self.measured = self.measured.map(|at| at.saturating_add(by));
        self.spike = self.spike.map(|at| at.saturating_add(by));
    }

    /// Applies a measurement: the offset between true time and corrected time.
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

    /// Moves the base of the correction to this raw time.
    fn settle(&mut self, raw: i64) {
        let most = scaled(raw.saturating_sub(self.base).max(0), SLEW);
        self.added = self.added(raw);
        self.slew -= self.slew.clamp(-most, most);
        self.base = raw;
    }
}

/// Multiplies a duration by a rate in 10^-9.
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
    fn a_spike_is_ignored_and_a_lasting_offset_is_stepped() {
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
    fn the_frequency_error_is_learned_within_an_hour() {
        // The clock loses 80 µs per second.
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
    fn setting_the_raw_clock_does_not_set_local_time() {
        let mut clock = Discipline::default();
        clock.update(3 * SECOND, SECOND);
        let before = clock.time(2 * SECOND);
        clock.raw_was_set(3 * SECOND);
        assert_eq!(clock.time(5 * SECOND), before);
        assert_eq!(clock.added(5 * SECOND), 0);
    }
}
