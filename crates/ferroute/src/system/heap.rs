//! Returns freed memory to the system after changes of the configuration.
//!
//! A change builds new tables beside those that workers still read, and frees the old ones later. The allocator
//! would keep that memory, which lies between live allocations.

use std::time::{Duration, Instant};

/// Delay after the last change or copy; replaced tables are freed by then.
const TRIM_DELAY: Duration = Duration::from_secs(2);

/// Tracks whether memory can be returned.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// Revision of the configuration; `None` before the first check at startup.
    revision: Option<u64>,
    /// Time of the last change or full copy since memory was last returned.
    changed: Option<Instant>,
}

impl Heap {
    /// Records the revision of the configuration.
    pub(crate) fn follow(&mut self, revision: u64) {
        if self.revision.replace(revision) != Some(revision) {
            self.changed = Some(Instant::now());
        }
    }

    /// Schedules a return of memory after a large temporary copy.
    pub(crate) fn expect_leftovers(&mut self) {
        self.changed = Some(Instant::now());
    }

    /// Returns memory if the last change is old enough. The caller must not hold the router's lock.
    pub(crate) fn trim(&mut self) {
        if self
            .changed
            .take_if(|at| at.elapsed() >= TRIM_DELAY)
            .is_some()
        {
            kernels::trim_heap();
        }
    }
}
