//! The end of a session, as somebody else brings it about.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

/// Whether a session was ended, and who is to hear of it.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    ended: AtomicBool,
    told: OnceLock<Waker>,
}

impl Ending {
    /// Ends the session.
    pub(crate) fn end(&self) {
        let before = self.ended.swap(true, Ordering::SeqCst);
        if let Some(waker) = self.told.get().filter(|_| !before) {
            waker.wake_by_ref();
        }
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Has this woken when the session is ended; at once if it was. Only the first is.
    pub(crate) fn tell(&self, waker: Waker) {
        let told = self.told.get_or_init(|| waker);
        if self.is_ended() {
            told.wake_by_ref();
        }
    }
}
