//! What a command that has the router for long needs so that control can poll (`pulse.rs` does that).

use std::sync::Arc;

use machine::Instant;

/// The program's clock and its way to wake workers, for polls of control within a long command.
pub trait Pulse: Send + Sync {
    /// The time on the router's clock.
    fn now(&self) -> Instant;

    /// Wakes a worker that was given something.
    fn wake(&self, worker: u16);
}

/// The owner's pulse; none where the router lives in a simulation's time.
#[derive(Default)]
pub(crate) struct Meanwhile {
    pub(super) pulse: Option<Arc<dyn Pulse>>,
    /// A poll is under way.
    pub(super) polling: bool,
}

impl core::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Meanwhile").finish_non_exhaustive()
    }
}
