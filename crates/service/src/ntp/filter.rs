//! Clock filter (RFC 5905, 10): uses the sample with the lowest delay among the last eight of a server, because a low
//! delay limits the asymmetry between both directions.

use std::collections::VecDeque;

use super::{SECOND, wander};

/// Number of samples.
const STAGES: usize = 8;
/// Dispersion of a missing sample.
const MOST: i64 = 16 * SECOND;

/// Sample from one answer. Durations are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// Server clock minus raw time.
    pub(super) offset: i64,
    /// Round-trip delay.
    pub(super) delay: i64,
    /// Maximum error of the offset from other causes.
    pub(super) dispersion: i64,
    /// Raw time of the sample.
    pub(super) at: i64,
}

/// Samples of a server, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter(VecDeque<Sample>);

/// Result of the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filtered {
    /// Best sample.
    pub(super) best: Sample,
    /// Its current maximum error.
    pub(super) dispersion: i64,
    /// Deviation of the other samples from it.
    pub(super) jitter: i64,
}

impl Filter {
    pub(super) fn add(&mut self, sample: Sample) {
        self.0.truncate(STAGES - 1);
        self.0.push_front(sample);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adjusts the samples after the raw time was set forward by `by`.
    pub(super) fn raw_was_set(&mut self, by: i64) {
        for sample in &mut self.0 {
            sample.offset = sample.offset.saturating_sub(by);
            sample.at = sample.at.saturating_add(by);
        }
    }

    /// Filters the samples at this raw time; `None` without samples.
    pub(super) fn filtered(&self, raw: i64) -> Option<Filtered> {
        let age = |sample: &Sample| wander(raw.saturating_sub(sample.at));
        let spread = |sample: &Sample| sample.dispersion + age(sample);
        let mut sorted: Vec<&Sample> = self.0.iter().collect();
        // Age counts as much as delay.
        sorted.sort_by_key(|sample| sample.delay / 2 + spread(sample));
        let best = **sorted.first()?;
        let mut dispersion = 0;
        for at in 0..STAGES {
            let one = sorted
                .get(at)
                .map_or(MOST, |sample| spread(sample).min(MOST));
            dispersion += one >> (at + 1);
        }
        let far = |sample: &&Sample| {
            let far = i128::from(sample.offset - best.offset);
            far * far
        };
        let square: i128 = sorted.iter().map(far).sum();
        let count = i128::try_from(sorted.len().saturating_sub(1).max(1)).unwrap_or(1);
        let jitter = (square / count).isqrt();
        Some(Filtered {
            best,
            dispersion,
            jitter: i64::try_from(jitter).unwrap_or(i64::MAX),
        })
    }
}
