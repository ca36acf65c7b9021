//! `/password`: changes the password of the session's user. Needs the policy `password` only.

use menu::{By, Reason, Refusal};

use crate::ast::Command;
use crate::evaluated_command::RouterAccess;
use crate::machine::{Machine, Result};
use crate::value::Value;

impl Machine<'_> {
    /// Changes the password of the session's user, who must give the old one.
    pub(crate) fn password(&mut self, command: &Command) -> Result<Value> {
        let ready = self.ready(command)?;
        let text = |name| ready.text(name).unwrap_or_default();
        let (old, new) = (text("old-password"), text("new-password"));
        if new != text("confirm-new-password") {
            return Err(Reason::failure("new passwords do not match")
                .nowhere()
                .into());
        }
        if self.checking {
            return Ok(Value::Nothing);
        }
        self.with(|access| access.password(&old, &new))?;
        Ok(Value::Nothing)
    }
}

impl RouterAccess<'_> {
    fn password(&mut self, old: &str, new: &str) -> std::result::Result<(), Refusal> {
        let user = self.store.named("user", self.caller.user).cloned();
        let user = user.ok_or_else(|| Reason::NoItem.nowhere())?;
        let sealed = user.menu.properties().find(|property| property.sealed);
        let property = sealed.ok_or_else(|| Reason::NoItem.nowhere())?;
        let seal = user.text(property.name);
        if !self.store.is_opened(seal, old) {
            return Err(Reason::failure("invalid old password").nowhere());
        }
        let value = Some(self.store.seal(user.name(), new)?);
        let mark = self.store.begin();
        if let Err(reason) = self
            .store
            .set(user.menu, user.id, &[(property.name, value)])
        {
            self.store.rollback(mark);
            return Err(reason.nowhere());
        }
        let by = By::user(self.caller.user, self.live.clock());
        if let Some(changes) = self.store.commit_by(mark, by)? {
            self.live.changed(self.store, &changes);
        }
        Ok(())
    }
}
