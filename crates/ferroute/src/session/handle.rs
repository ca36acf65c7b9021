//! Session of a logged-in user, which may hold safe mode.

use std::sync::Arc;

use router::Holder;
use script::Session;

use crate::run::shared::Shared;

/// A session. Dropping it without [`Self::leave`] reverts the changes of its safe mode.
pub(crate) struct SessionHandle {
    shared: Arc<Shared>,
    session: u64,
}

impl SessionHandle {
    /// Creates a session.
    pub(crate) fn new(shared: &Arc<Shared>, user: &str) -> Self {
        Self {
            shared: Arc::clone(shared),
            session: Session::new(user).serial,
        }
    }

    /// Binds a command session to this session.
    pub(crate) const fn give(&self, session: &mut Session) {
        session.serial = self.session;
    }

    /// Returns the holder of safe mode.
    pub(crate) fn safe_mode(&self) -> Holder {
        self.shared.read().safe_mode(self.session)
    }

    /// Takes a pending notice for the session.
    pub(crate) fn notice(&self) -> Option<String> {
        self.shared.read().notice(self.session)
    }

    /// Ends the session regularly, which keeps the changes of safe mode.
    pub(crate) fn leave(&self) {
        if self.safe_mode() == Holder::Own {
            self.shared.lock().session_left(self.session);
        }
    }
}

impl Drop for SessionHandle {
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
