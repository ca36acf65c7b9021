//! Lines: what becomes of a frame between two ends.

use machine::{Duration, Rng};

/// How a line treats frames. The default is a perfect line with a delay of 100 µs.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// From one end to the other.
    pub delay: Duration,
    /// Each frame takes up to this much longer, so that frames overtake each other.
    pub jitter: Duration,
    /// Of 100 frames so many are lost.
    pub loss: u8,
    /// Of 100 frames so many arrive twice.
    pub doubled: u8,
    /// Larger frames are lost: the most bytes behind the Ethernet header and its tags.
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

/// What happened to a frame on a line, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Frames that were lost.
    pub lost: u64,
    /// Frames that were doubled.
    pub doubled: u64,
    /// Frames that were too large.
    pub too_large: u64,
}

impl Line {
    /// After which times a frame of this length arrives: once, twice or not at all.
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
