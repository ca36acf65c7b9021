//! `/system/reset-configuration`: resets to the factory configuration, or to the result of a file.

use menu::{Menu, Reason, Reply};

use super::CommandContext;
use crate::replace::start_afresh;

/// Name of the backup before the reset.
const BEFORE: &str = "auto-before-reset.backup";

impl CommandContext<'_> {
    /// Resets the configuration in one transaction, which can be undone. Everything is prepared first: a refused file
    /// resets nothing.
    pub(super) fn reset(&mut self) -> Result<Reply, Reason> {
        self.without(&["caps-mode", "keep-apps", "shutdown"])?;
        let wanted = match self.text("run-after-reset").filter(|name| !name.is_empty()) {
            Some(name) => self.made_by(&name)?,
            None => self.fresh()?,
        };
        if !self.is("skip-backup") {
            let contents = super::backup::encode(&self.store.save(), None)?;
            self.write(BEFORE, &contents)?;
        }
        let keep_users = self.is("keep-users");
        let concerned = |menu: &Menu| !(keep_users && is_of_users(menu));
        let by = self.by("system configuration reset");
        let changes = start_afresh(self.store, &wanted, &concerned, by)?;
        self.control.follow(self.store, changes);
        self.say("system configuration will be reset")?;
        Ok(Reply::default())
    }
}

fn is_of_users(menu: &Menu) -> bool {
    menu.path == "/user" || menu.path.starts_with("/user/")
}
