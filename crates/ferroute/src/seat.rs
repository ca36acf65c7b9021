//! The place at the router of somebody who is logged in: what they hold in safe mode goes with it.

use std::sync::Arc;

use router::Holder;
use script::Session;

use crate::core::Shared;

/// The place of a session. Dropping it is the session's end: unless it left, what it holds in safe
/// mode is taken back.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    session: u64,
}

impl Seat {
    /// A new place.
    pub(crate) fn new(shared: &Arc<Shared>, user: &str) -> Self {
        Self {
            shared: Arc::clone(shared),
            session: Session::new(user).serial,
        }
    }

    /// Gives a session of commands this place.
    pub(crate) const fn give(&self, session: &mut Session) {
        session.serial = self.session;
    }

    /// Who is in safe mode.
    pub(crate) fn safe_mode(&self) -> Holder {
        self.shared.read().safe_mode(self.session)
    }

    /// What the session is to be told, once.
    pub(crate) fn notice(&self) -> Option<String> {
        self.shared.read().notice(self.session)
    }

    /// The session leaves as it should: what it holds is kept.
    pub(crate) fn leave(&self) {
        if self.safe_mode() == Holder::Own {
            self.shared.lock().session_left(self.session);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.safe_mode() == Holder::Own {
            let mut instance = self.shared.lock();
            self.shared.set_time(&mut instance);
            instance.session_lost(self.session);
            self.shared.after_change(&mut instance);
            drop(instance);
            self.shared.wake.wake();
        }
    }
}
