//! Lines: delay, loss and duplication of frames between two ends.

use machine::{Duration, Rng};

/// Properties of a line. The default is lossless with a delay of 100 µs.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Delay between the ends.
    pub delay: Duration,
    /// Maximum additional random delay per frame, which reorders frames.
    pub jitter: Duration,
    /// Loss in per cent.
    pub loss: u8,
    /// Duplication in per cent.
    pub doubled: u8,
    /// MTU: maximum length after the Ethernet header and its tags; larger frames are lost.
    pub mtu: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            delay: Duration::from_micros(100),
            jitter: Duration::ZERO,
            loss: 0,
            doubled: 0,
            mtu: 65_535,
        }
    }
}

/// Counters of line faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Lost frames.
    pub lost: u64,
    /// Duplicated frames.
    pub doubled: u64,
    /// Oversized frames.
    pub too_large: u64,
}

impl Line {
    /// Returns the delays after which a frame arrives: one, two or none.
    pub(crate) fn arrivals(&self, len: usize, rng: &mut Rng, fault: &mut Fault) -> Vec<Duration> {
        // Header and up to two tags.
        if len > self.mtu + 22 {
            fault.too_large += 1;
            return Vec::new();
        }
        if rng.percent(self.loss) {
            fault.lost += 1;
            return Vec::new();
        }
        let mut arrivals = vec![self.one(rng)];
        if rng.percent(self.doubled) {
            fault.doubled += 1;
            arrivals.push(self.one(rng));
        }
        arrivals
    }

    fn one(&self, rng: &mut Rng) -> Duration {
        let jitter = rng.below(self.jitter.as_nanos() as u64 + 1);
        self.delay + Duration::from_nanos(jitter)
    }
}
