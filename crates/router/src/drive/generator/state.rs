//! State of the traffic generator's test.

use std::sync::Arc;

use generator::{Counters, Sample};
use machine::Instant;

/// The running or last test.
#[derive(Debug, Default)]
pub(crate) struct GeneratorTest {
    pub(super) running: bool,
    pub(super) workers: Vec<Arc<Counters>>,
    /// Frames that the streams send altogether; `None` without a limit.
    pub(super) count: Option<u64>,
    pub(super) began: Instant,
    /// End of the test; `None` while it runs.
    pub(super) ended: Option<Instant>,
}

impl GeneratorTest {
    /// True while frames are sent or measured.
    pub(crate) fn is_running(&self) -> bool {
        self.running
    }

    pub(super) fn sample(&self) -> Sample {
        Sample::read(self.workers.iter().map(|counters| &**counters))
    }
}
