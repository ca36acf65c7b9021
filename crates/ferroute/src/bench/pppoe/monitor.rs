//! Sessions, processor time and memory of the router over the time of the measurement.

use std::time::{Duration, Instant};

use super::super::process::Router;

/// Interval between two samples.
const INTERVAL: Duration = Duration::from_millis(100);

/// A sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Seconds since the beginning.
    pub(super) at: f64,
    /// Sessions that are up.
    pub(super) sessions: f64,
    /// Processor time of the router since the sample before, as a share of one core in percent.
    pub(super) cpu: f64,
    /// Resident memory of the router, in MiB.
    pub(super) memory: f64,
}

/// Beginning of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) name: &'static str,
    /// Seconds since the beginning.
    pub(super) at: f64,
}

/// Takes samples of a router.
pub(super) struct Monitor {
    router: Option<Router>,
    began: Instant,
    /// Time and processor time at the last sample.
    last: (Instant, u64),
    pub(super) samples: Vec<Sample>,
    pub(super) phases: Vec<Phase>,
}

impl Monitor {
    /// Begins with this router.
    pub(super) fn new(router: Router) -> Self {
        let now = Instant::now();
        Self {
            last: (now, router.cpu()),
            router: Some(router),
            began: now,
            samples: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Returns the router.
    ///
    /// # Errors
    /// The router was killed and is not yet back.
    pub(super) fn router(&self) -> Result<&Router, String> {
        { self.router.as_ref() }.ok_or_else(|| "the router was killed".to_owned())
    }

    /// Removes the router, for a kill.
    pub(super) fn take(&mut self) -> Option<Router> {
        self.router.take()
    }

    /// Goes on with another router.
    pub(super) fn follow(&mut self, router: Router) {
        self.last = (Instant::now(), router.cpu());
        self.router = Some(router);
    }

    /// Marks the beginning of a phase.
    pub(super) fn begin(&mut self, name: &'static str) {
        let at = self.began.elapsed().as_secs_f64();
        self.phases.push(Phase { name, at });
    }

    /// Takes a sample if the interval has passed.
    pub(super) fn poll(&mut self, sessions: usize) {
        let passed = self.last.0.elapsed();
        let Some(router) = self.router.as_ref().filter(|_| passed >= INTERVAL) else {
            return;
        };
        let cpu = router.cpu();
        let used = cpu.saturating_sub(self.last.1) as f64;
        self.samples.push(Sample {
            at: self.began.elapsed().as_secs_f64(),
            sessions: sessions as f64,
            cpu: used / passed.as_nanos() as f64 * 100.0,
            memory: router.resident_kib() as f64 / 1024.0,
        });
        self.last = (Instant::now(), cpu);
    }
}
