//! The caller of the command that runs.

use menu::{Caller, Policies};

use super::meanwhile::Meanwhile;

/// Caller of the current command, or of the last command.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    pub(crate) user: String,
    pub(crate) session: u64,
    /// Login of the session; 0 without a login.
    pub(crate) login: u64,
    /// Policies of the caller.
    pub(crate) policies: Policies,
    /// Lets control poll during a long command.
    pub(super) meanwhile: Meanwhile,
}

impl Asking {
    /// Sets the caller of the next command.
    pub(crate) fn set(&mut self, caller: &Caller<'_>) {
        if self.user != caller.user {
            caller.user.clone_into(&mut self.user);
        }
        self.session = caller.session;
        self.login = caller.login;
        self.policies = caller.policies;
    }

    /// Whether the caller may change property of user `owner`: property of the caller, or any property with the policy
    /// to manage users.
    pub(crate) fn may_change_of(&self, owner: &str) -> bool {
        self.user == owner || self.policies.contains(Policies::POLICY)
    }
}
