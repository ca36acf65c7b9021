//! Lets control poll during a long command (`pulse.rs` uses it).

use std::sync::Arc;

use machine::Instant;

/// Clock and worker wake-up of the program, for polls of control within a long command.
pub trait Pulse: Send + Sync {
    /// The time on the router's clock.
    fn now(&self) -> Instant;

    /// Wakes a worker that has new commands.
    fn wake(&self, worker: u16);
}

/// The owner's pulse; none in a simulation.
#[derive(Default)]
pub(crate) struct Meanwhile {
    pub(super) pulse: Option<Arc<dyn Pulse>>,
    /// True during a poll.
    pub(super) polling: bool,
}

impl core::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Meanwhile").finish_non_exhaustive()
    }
}
