//! Safe mode: all changes are reverted if the session that took safe mode breaks off.
//!
//! There is one safe mode for the router. As in RouterOS it includes changes of other sessions; but a user reverts only
//! changes that the user could undo. Unlike in RouterOS, the number of actions is not limited ([`menu::Store::hold`]).

use menu::{By, Caller, Policies, Reason, Reply, Rights, Row, Store, Value};

use super::CommandContext;
use crate::drive::Control;

/// Holder of safe mode.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    session: u64,
    user: String,
    via: &'static str,
    /// Rights of the user, which limit the revert.
    rights: Rights,
    /// Revision of the configuration at the start.
    revision: u64,
}

/// Holder of safe mode, as a session sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No session.
    Nobody,
    /// The session itself.
    Own,
    /// A session of this user.
    Other(String),
}

/// Treatment of the present holder's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Theirs {
    Unroll,
    Release,
}

impl Control {
    /// Returns the holder of safe mode.
    pub fn safe_mode(&self, session: u64) -> Holder {
        match &self.manage.safe {
            None => Holder::Nobody,
            Some(taken) if taken.session == session => Holder::Own,
            Some(taken) => Holder::Other(taken.user.clone()),
        }
    }

    /// Adds the cells of `/safe-mode`, as the calling session sees them.
    pub(crate) fn annotate_safe_mode(&self, row: &mut Row) {
        row.flag("enabled", self.manage.safe.is_some());
        if let Some(taken) = &self.manage.safe {
            row.set("user", Value::text(taken.user.as_str()));
            row.flag("current", taken.session == self.asking.session);
            row.set("owner", Value::text(taken.via));
            let revision = i64::try_from(taken.revision).unwrap_or(i64::MAX);
            row.set("revision", Value::Number(revision));
        } else {
            row.flag("current", false);
        }
    }

    /// Handles a broken session: reverts its changes.
    pub(crate) fn session_lost(&mut self, store: &mut Store, session: u64) {
        if self.safe_mode(session) != Holder::Own {
            return;
        }
        let Some(Taken { user, rights, .. }) = self.manage.safe.take() else {
            return;
        };
        let by = By::user(&user, self.clock.now()).doing("safe mode unrolled");
        let message = match store.unroll(by, rights.now()) {
            Ok(changes) => {
                self.follow(store, changes);
                format!("safe mode of {user} was lost, its changes are reverted")
            }
            // The previous state is still on disk: the next start reverts to it.
            Err(reason) => {
                format!("safe mode of {user} was lost, its changes are not reverted: {reason}")
            }
        };
        self.features.log.add("system,error".to_owned(), message);
    }

    /// Handles a closed session: keeps its changes.
    pub(crate) fn session_left(&mut self, store: &mut Store, session: u64) {
        if self.safe_mode(session) == Holder::Own && store.release().is_ok() {
            self.manage.safe = None;
        }
    }
}

impl CommandContext<'_> {
    pub(super) fn safe_mode(&mut self, command: &str) -> Result<Reply, Reason> {
        let holder = self.control.safe_mode(self.caller.session);
        match command {
            "take" => self.take(holder),
            "toggle" if holder != Holder::Own => self.take(holder),
            "release" | "toggle" => self.leave(holder, Theirs::Release),
            _ => self.leave(holder, Theirs::Unroll),
        }
    }

    fn take(&mut self, holder: Holder) -> Result<Reply, Reason> {
        if let Holder::Other(user) = holder {
            let manages = self.caller.policies.contains(Policies::POLICY);
            if user != self.caller.user && !manages && self.text("on-error").is_some() {
                return Err(Reason::Denied);
            }
            let theirs = match self.text("on-error").as_deref() {
                Some("unroll") => Theirs::Unroll,
                Some("release") => Theirs::Release,
                _ => {
                    return Err(Reason::Script(format!(
                        "Safe Mode is taken by another user ({user}). Action aborted."
                    )));
                }
            };
            self.end(theirs)?;
        }
        self.store.hold()?;
        let Caller {
            user,
            session,
            via,
            rights,
            ..
        } = *self.caller;
        self.control.manage.safe = Some(Taken {
            session,
            user: user.to_owned(),
            via,
            rights: rights.clone(),
            revision: self.store.revision(),
        });
        self.say("Taking Safe Mode session... Success!")?;
        Ok(Reply::default())
    }

    fn leave(&mut self, holder: Holder, how: Theirs) -> Result<Reply, Reason> {
        if holder != Holder::Own {
            let text = "Safe Mode has not been taken. Action aborted.".to_owned();
            return Err(Reason::Script(text));
        }
        self.end(how)?;
        self.say(match how {
            Theirs::Release => "Releasing Safe Mode... Success!",
            Theirs::Unroll => "Unrolling Safe Mode... Success!",
        })?;
        Ok(Reply::default())
    }

    /// Ends safe mode, and tells the other session that held it.
    fn end(&mut self, how: Theirs) -> Result<(), Reason> {
        match how {
            Theirs::Release => self.store.release()?,
            Theirs::Unroll => {
                let by = self.by("safe mode unrolled");
                let changes = self.store.unroll(by, self.caller.policies)?;
                self.control.follow(self.store, changes);
            }
        }
        let manage = &mut self.control.manage;
        let before = manage.safe.take();
        if let Some(before) = before.filter(|before| before.session != self.caller.session) {
            let text = match how {
                Theirs::Release => "[Safe mode released by another user]",
                Theirs::Unroll => "[Safe mode unrolled by another user]",
            };
            manage.tell(before.session, text.to_owned());
        }
        Ok(())
    }
}
