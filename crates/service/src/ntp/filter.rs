//! The clock filter (RFC 5905, 10): of the last eight samples of a server the one with the least delay is believed,
//! as what was not delayed was not delayed on one side alone.

use std::collections::VecDeque;

use super::{SECOND, wander};

/// How many samples are kept.
const STAGES: usize = 8;
/// The dispersion of a sample that is not there.
const MOST: i64 = 16 * SECOND;

/// What one answer told. Spans are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// What the server's clock has more than the raw time.
    pub(super) offset: i64,
    /// To the server and back.
    pub(super) delay: i64,
    /// How wrong the offset may be for other reasons.
    pub(super) dispersion: i64,
    /// When it was taken, in raw time.
    pub(super) at: i64,
}

/// The samples of a server, the newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter(VecDeque<Sample>);

/// What they tell together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filtered {
    /// The best of them.
    pub(super) best: Sample,
    /// How wrong it may be now.
    pub(super) dispersion: i64,
    /// How far the others are from it.
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

    /// Takes over that the raw time was set forward.
    pub(super) fn raw_was_set(&mut self, by: i64) {
        for sample in &mut self.0 {
            sample.offset = sample.offset.saturating_sub(by);
            sample.at = sample.at.saturating_add(by);
        }
    }

    /// What the samples tell at this raw time; nothing if there are none.
    pub(super) fn look(&self, raw: i64) -> Option<Filtered> {
        let age = |sample: &Sample| wander(raw.saturating_sub(sample.at));
        let spread = |sample: &Sample| sample.dispersion + age(sample);
        let mut sorted: Vec<&Sample> = self.0.iter().collect();
        // An old sample is as doubtful as a slow one.
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
