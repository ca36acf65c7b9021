//! `/system/reset-configuration`: a factory-fresh configuration, or what a file makes of one.

use menu::{Menu, Reason, Reply};

use super::Desk;
use crate::replace::start_afresh;

/// The backup that is made before.
const BEFORE: &str = "auto-before-reset.backup";

impl Desk<'_> {
    /// All of it is ready before anything changes: a file that is refused resets nothing. It is one
    /// transaction, and so can be undone.
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
