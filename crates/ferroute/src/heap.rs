//! Memory that a change of the configuration has left behind goes back to the system.
//!
//! A change builds tables anew beside those that workers still read, and frees these later. What is free then lies
//! between what stays, and the allocator would keep it.

use std::time::{Duration, Instant};

/// How long after the last change or copy memory is given back: what was replaced is freed by then.
const QUIET: Duration = Duration::from_secs(2);

/// Whether there is something to give back.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    /// The revision of the configuration; none before the first look, at the router's start.
    revision: Option<u64>,
    /// When it last changed or was copied as a whole, if nothing was given back since.
    changed: Option<Instant>,
}

impl Heap {
    /// Takes over the revision of the configuration.
    pub(crate) fn follow(&mut self, revision: u64) {
        if self.revision.replace(revision) != Some(revision) {
            self.changed = Some(Instant::now());
        }
    }

    /// Has memory given back later, because a large copy was made just now.
    pub(crate) fn expect_leftovers(&mut self) {
        self.changed = Some(Instant::now());
    }

    /// Gives memory back if the last change is a while ago. The caller does not hold the router.
    pub(crate) fn trim(&mut self) {
        if self.changed.take_if(|at| at.elapsed() >= QUIET).is_some() {
            kernels::trim_heap();
        }
    }
}
