//! `/system/configuration`: applies a file with the fewest changes, to be confirmed or reverted; and the revisions of
//! the configuration.

use std::ops::ControlFlow;
use std::sync::Arc;

use machine::{Duration, Instant};
use menu::{
    By, Change, Changes, Origin, Policies, Reason, Reply, Rights, Row, RowFilter, Store, Value,
    describe,
};

use super::CommandContext;
use crate::drive::Control;
use crate::replace::reach;
use crate::store::UNCONFIRMED;

/// A change that is reverted unless it is confirmed.
#[derive(Clone, Debug)]
pub(super) struct Unconfirmed {
    changes: Arc<Changes>,
    user: String,
    /// The session that made the change, and is told of its end.
    session: u64,
    /// The user's rights: later changes on top are reverted only as far as the user may revert them.
    rights: Rights,
    until: Instant,
}

/// Maximum time to confirm.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// Maximum number of changes that a row of `/system/configuration/history` shows.
const SHOWN: usize = 100;

impl Control {
    /// Adds the cells of `/system/configuration`.
    pub(crate) fn annotate_configuration(&self, store: &Store, row: &mut Row) {
        let number = |n: u64| Value::Number(i64::try_from(n).unwrap_or(i64::MAX));
        row.set("revision", number(store.revision()));
        if let Some(fault) = store.fault() {
            row.set("fault", Value::text(fault));
        }
        if let Some(unconfirmed) = &self.manage.unconfirmed {
            row.set("unconfirmed", number(unconfirmed.changes.revision));
            row.set("by", Value::text(unconfirmed.user.as_str()));
            let left = (unconfirmed.until - self.now.min(unconfirmed.until)).as_secs();
            row.set("confirm-within", Value::Time(left as i64 * 1_000_000_000));
        }
    }

    /// Returns when an unconfirmed configuration is reverted.
    pub(crate) fn confirm_until(&self) -> Option<Instant> {
        self.manage.unconfirmed.as_ref().map(|u| u.until)
    }

    /// Reverts a configuration that was not confirmed in time.
    pub(crate) fn take_back_unconfirmed(&mut self, store: &mut Store) {
        let due = self.confirm_until().is_some_and(|until| until <= self.now);
        if due && let Some(unconfirmed) = self.manage.unconfirmed.take() {
            let revision = unconfirmed.changes.revision;
            let by = By::user(&unconfirmed.user, self.clock.now());
            let message = match self.take_back(store, &unconfirmed, by) {
                Ok(()) => format!("revision {revision} was not confirmed and is reverted"),
                Err(reason) => format!("revision {revision} is not reverted: {reason}"),
            };
            let session = unconfirmed.session;
            self.manage.tell(session, format!("[{message}]"));
            self.features.log.add("system,error".to_owned(), message);
        }
    }

    fn take_back(
        &mut self,
        store: &mut Store,
        unconfirmed: &Unconfirmed,
        by: By,
    ) -> Result<(), Reason> {
        let revision = unconfirmed.changes.revision;
        let by = by.doing(format!("revision {revision} reverted"));
        let changes = match store.take_back(&unconfirmed.changes, by.clone()) {
            Ok(changes) => changes,
            // Later changes conflict with the revert: revert them as well.
            Err(_) => store.revert_as(revision.saturating_sub(1), by, unconfirmed.rights.now())?,
        };
        store.note(UNCONFIRMED, None)?;
        self.follow(store, changes);
        Ok(())
    }

    /// Produces the rows of `/system/history`, newest first.
    pub(crate) fn history_rows(
        &self,
        store: &Store,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        use menu::UndoState::{Floating, Redoable, Undoable};
        for (changes, standing) in store.actions() {
            let mut row = Row {
                id: Some(menu::Id(changes.revision)),
                cells: Vec::new(),
            };
            row.flag("undoable", standing == Undoable);
            row.flag("redoable", standing == Redoable);
            row.flag("floating-undo", standing == Floating);
            row.set("redo", Value::text(describe::redo(store, changes)));
            row.set("undo", Value::text(describe::undo(store, changes)));
            row.set("action", Value::text(changes.action()));
            row.set("by", Value::text(changes.by.user.as_str()));
            row.set("policy", Value::text("write"));
            if let Some(clock) = changes.by.clock {
                row.set("time", Value::text(clock.date_time()));
            }
            if filter.accepts(&row) {
                each(row)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Produces the rows of `/system/configuration/history`, newest first.
    pub(crate) fn revision_rows(
        &self,
        store: &Store,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let number = |n: usize| Value::Number(i64::try_from(n).unwrap_or(i64::MAX));
        for changes in store.history().rev() {
            let mut row = Row {
                id: Some(menu::Id(changes.revision)),
                cells: Vec::new(),
            };
            let by = match changes.origin {
                Origin::Router => "system",
                _ => &changes.by.user,
            };
            row.set("revision", number(changes.revision as usize));
            if let Some(clock) = changes.by.clock {
                row.set("time", Value::text(clock.date_time()));
            }
            row.set("by", Value::text(by));
            row.set("action", Value::text(changes.action()));
            row.set("items", number(changes.list.len()));
            let shown = &changes.list[..changes.list.len().min(SHOWN)];
            let lines = describe::diff(store, shown).into_iter();
            row.set("diff", Value::List(lines.map(Value::text).collect()));
            if filter.accepts(&row) {
                each(row)?;
            }
        }
        ControlFlow::Continue(())
    }
}

impl CommandContext<'_> {
    pub(super) fn configuration(&mut self, command: &str) -> Result<Reply, Reason> {
        match command {
            "diff" => {
                let list = self.difference()?;
                self.show(&list)?;
            }
            "accept" => self.accept()?,
            "apply" => self.apply()?,
            "revert" => self.revert()?,
            "confirm" => {
                self.unconfirmed()?;
                self.store.note(UNCONFIRMED, None)?;
                self.control.manage.unconfirmed = None;
            }
            _ => {
                let unconfirmed = self.unconfirmed()?;
                let by = self.by("");
                self.control.take_back(self.store, &unconfirmed, by)?;
                self.control.manage.unconfirmed = None;
            }
        }
        Ok(Reply::default())
    }

    /// Accepts the recovered state of a damaged disk: changes are stored again.
    fn accept(&mut self) -> Result<(), Reason> {
        for line in self.store.accept_damage()? {
            self.say(&line)?;
            self.control.features.log.add("system,warning", line);
        }
        self.control.manage.storage_fault.clear();
        Ok(())
    }

    /// Returns the unconfirmed change, if this user may confirm it.
    fn unconfirmed(&self) -> Result<Unconfirmed, Reason> {
        let unconfirmed = self.control.manage.unconfirmed.clone();
        let unconfirmed = unconfirmed.ok_or_else(|| Reason::failure("nothing to confirm"))?;
        match unconfirmed.user == self.caller.user {
            true => Ok(unconfirmed),
            false => Err(Reason::failure(format!(
                "only {} can confirm or cancel it",
                unconfirmed.user
            ))),
        }
    }

    /// Returns the changes from the running configuration to a file or an earlier revision.
    fn difference(&mut self) -> Result<Vec<Change>, Reason> {
        match (self.text("file"), self.argument("revision")) {
            (Some(name), None) => {
                let wanted = self.made_by(&name)?;
                self.needed_for(&wanted)
            }
            (None, Some(revision)) => {
                let revision = revision.as_number().and_then(|n| u64::try_from(n).ok());
                self.store.back_to(revision.unwrap_or(u64::MAX))
            }
            _ => Err(Reason::failure("either file or revision is needed")),
        }
    }

    fn apply(&mut self) -> Result<(), Reason> {
        let name = self.needed("file")?;
        let within = self.within()?;
        let wanted = self.made_by(&name)?;
        let list = self.needed_for(&wanted)?;
        self.permit("apply the file", &list, self.policies_with(&name, ".rsc")?)?;
        self.show(&list)?;
        let by = self.by(format!("configuration {name} applied"));
        self.change(within, |store| reach(store, &wanted, by))
    }

    fn revert(&mut self) -> Result<(), Reason> {
        let within = self.within()?;
        let list = self.difference()?;
        self.permit("revert", &list, self.caller.policies)?;
        self.show(&list)?;
        let revision = self.argument("revision").and_then(Value::as_number);
        let revision = revision
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(u64::MAX);
        let by = self.by(format!("configuration reverted to revision {revision}"));
        self.change(within, |store| store.revert_to(revision, by))
    }

    /// Refuses changes that a caller with these policies could not make by commands.
    fn permit(&self, deed: &str, list: &[Change], policies: Policies) -> Result<(), Reason> {
        let mut needs = list.iter().map(|c| (c.menu, c.needs(self.caller.user)));
        match needs.find(|(_, needed)| !policies.contains(*needed)) {
            None => Ok(()),
            Some((menu, needed)) => Err(Reason::failure(format!(
                "it changes {}; to {deed} it needs {needed}",
                menu.path
            ))),
        }
    }

    /// Returns the time to confirm; `None` if no confirmation is needed.
    fn within(&self) -> Result<Option<Duration>, Reason> {
        if self.control.manage.unconfirmed.is_some() {
            let text = "there is an unconfirmed configuration: confirm or cancel it";
            return Err(Reason::failure(text));
        }
        let Some(value) = self.argument("confirm") else {
            return Ok(None);
        };
        let nanos = value.as_nanos().and_then(|nanos| u64::try_from(nanos).ok());
        let within = Duration::from_nanos(nanos.unwrap_or(0));
        match within > Duration::ZERO && within <= LONGEST {
            true => Ok(Some(within)),
            false => Err(Reason::failure(
                "confirm must be more than 0s and at most 1d",
            )),
        }
    }

    /// Makes a change, which is reverted unless it is confirmed.
    fn change(
        &mut self,
        within: Option<Duration>,
        make: impl FnOnce(&mut Store) -> Result<Option<Arc<Changes>>, Reason>,
    ) -> Result<(), Reason> {
        // The note precedes the change: a router that stops in between reverts nothing.
        if within.is_some() {
            let next = (self.store.revision() + 1).to_string();
            self.store.note(UNCONFIRMED, Some(&next))?;
        }
        let made = make(self.store);
        let Ok(Some(changes)) = made else {
            if within.is_some() {
                self.store.note(UNCONFIRMED, None)?;
            }
            return made.map(drop);
        };
        self.control.follow(self.store, Some(Arc::clone(&changes)));
        if let Some(within) = within {
            self.control.manage.unconfirmed = Some(Unconfirmed {
                changes,
                user: self.caller.user.to_owned(),
                session: self.caller.session,
                rights: self.caller.rights.clone(),
                until: self.control.now + within,
            });
            let nanos = i64::try_from(within.as_nanos()).unwrap_or(i64::MAX);
            let span = menu::time::units(nanos);
            self.say(&format!("to be confirmed within {span}"))?;
        }
        Ok(())
    }
}
