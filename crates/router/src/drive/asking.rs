//! The caller of the command that runs.

use menu::{Caller, Policies};

use super::meanwhile::Meanwhile;

/// Who asked for the command that is run, or was run last.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    pub(crate) user: String,
    pub(crate) session: u64,
    /// The login that the session belongs to; 0 for none.
    pub(crate) login: u64,
    /// What may be done.
    pub(crate) policies: Policies,
    /// What goes on while the command has the router.
    pub(super) meanwhile: Meanwhile,
}

impl Asking {
    /// Another asks.
    pub(crate) fn set(&mut self, caller: &Caller<'_>) {
        if self.user != caller.user {
            caller.user.clone_into(&mut self.user);
        }
        self.session = caller.session;
        self.login = caller.login;
        self.policies = caller.policies;
    }

    /// Whether what is of this user may be changed: one's own, or that of others by who manages users.
    pub(crate) fn may_change_of(&self, owner: &str) -> bool {
        self.user == owner || self.policies.contains(Policies::POLICY)
    }
}
