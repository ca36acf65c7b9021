//! Termination of a session by somebody else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// Whether a session was terminated, and the waker to notify.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    ended: AtomicBool,
    told: OnceLock<Waker>,
}

impl Ending {
    /// Terminates the session.
    pub(crate) fn end(&self) {
        let before = self.ended.swap(true, Ordering::SeqCst);
        if let Some(waker) = self.told.get().filter(|_| !before) {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Sets the waker to notify on termination, at once if the session is already terminated. Only the first waker
    /// counts.
    pub(crate) fn tell(&self, waker: Waker) {
        let told = self.told.get_or_init(|| waker);
        if self.is_ended() {
            told.wake_by_ref();
        }
    }
}
