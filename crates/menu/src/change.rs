//! Committed transactions, their authors, and the journal that makes them durable.

use std::sync::Arc;

use crate::{AutoValue, Clock, Id, Item, Menu, Policies, Saved};

/// One item before and after a transaction.
#[derive(Clone, Debug)]
pub struct Change {
    /// The menu.
    pub menu: &'static Menu,
    /// The item.
    pub id: Id,
    /// State before the transaction; `None` if the item is new.
    pub before: Option<Arc<Item>>,
    /// State after the transaction; `None` if the item was removed.
    pub after: Option<Arc<Item>>,
}

impl Change {
    /// Returns the policies that a user needs to make this change by commands. An item with an owner needs the
    /// policies that it runs with, and `policy` if the owner is another user.
    pub fn needs(&self, user: &str) -> Policies {
        let command = match (&self.before, &self.after) {
            (None, _) => "add",
            (_, None) => "remove",
            _ => "set",
        };
        let mut filled = self.menu.filled.iter();
        let owner = filled.find(|(_, fill)| *fill == AutoValue::User);
        let sides = [&self.before, &self.after].into_iter().flatten();
        let of_item = |item: &Arc<Item>| {
            let (owner, _) = owner?;
            let runs_with = item.get("policy").map(Policies::from_value);
            let manages = match item.text(owner) == user {
                true => Policies::NONE,
                false => Policies::POLICY,
            };
            Some(runs_with.unwrap_or_default() | manages)
        };
        let own = Policies::needed(self.menu, command);
        sides.filter_map(of_item).fold(own, Policies::or)
    }
}

impl Change {
    /// Returns the inverse change.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self {
            before: self.after.clone(),
            after: self.before.clone(),
            ..*self
        }
    }
}

/// Author and time of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct By {
    /// The user name; empty for the router itself.
    pub user: String,
    /// The wall clock time; `None` for changes by the router, and for records without a time.
    pub clock: Option<Clock>,
    /// Description of the action; if empty, it is derived from the changes.
    pub action: String,
}

impl By {
    /// Creates an author.
    pub fn user(user: impl Into<String>, clock: Clock) -> Self {
        Self {
            user: user.into(),
            clock: Some(clock),
            action: String::new(),
        }
    }

    /// Sets the description of the action.
    #[must_use]
    pub fn doing(mut self, action: impl Into<String>) -> Self {
        self.action = action.into();
        self
    }
}

/// The cause of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The router itself, for example when it detects a port. Such a transaction cannot be undone.
    #[default]
    Router,
    /// A user's command.
    User,
    /// `/undo` of the transaction with this revision.
    Undo(u64),
    /// `/redo` of the transaction with this revision.
    Redo(u64),
    /// Rollback of all changes since this revision (safe mode).
    Unroll(u64),
}

/// All changes of one transaction. Each item occurs once, in the order of first change.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The store revision that the transaction created; revisions count from 1.
    pub revision: u64,
    /// Author and time.
    pub by: By,
    /// The cause.
    pub origin: Origin,
    /// The changed items.
    pub list: Vec<Change>,
}

impl Changes {
    /// Returns the changes of one menu.
    pub fn of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Change> {
        self.list
            .iter()
            .filter(move |change| change.menu.path == path)
    }

    /// Returns a description of the action: `ip address added`.
    pub fn action(&self) -> String {
        if !self.by.action.is_empty() {
            return self.by.action.clone();
        }
        let Some(first) = self.list.first() else {
            return String::new();
        };
        let words = |change: &Change| match (&change.before, &change.after) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(before), Some(after)) if before.same_values(after) => "moved",
            _ => "changed",
        };
        let noun = first.menu.path.trim_start_matches('/').replace('/', " ");
        let name = first.after.as_ref().or(first.before.as_ref());
        let name = name.and_then(|item| item.name()).unwrap_or_default();
        let gap = if name.is_empty() { "" } else { " " };
        let more = match self.list.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        format!("{noun}{gap}{name} {}{more}", words(first))
    }
}

/// Makes transactions durable. The store calls the journal before a command is acknowledged.
pub trait Journal: Send {
    /// Stores the changes and syncs them to disk.
    ///
    /// # Errors
    /// Description of the failure; the store then rolls the transaction back.
    fn commit(&mut self, changes: &Changes) -> Result<(), String>;

    /// Stores many changes and syncs them to disk. Calls `meanwhile` often, so that other tasks of the router
    /// continue.
    ///
    /// # Errors
    /// As for [`Journal::commit`].
    fn commit_while(
        &mut self,
        changes: &Changes,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), String> {
        let _ = meanwhile;
        self.commit(changes)
    }

    /// Queues changes until the next [`Journal::sync`]. If the router is killed before, the changes may be
    /// lost. All other methods store queued changes first.
    ///
    /// # Errors
    /// Description of the failure; the store then rolls the transaction back.
    fn defer(&mut self, changes: &Arc<Changes>) -> Result<(), String> {
        self.commit(changes)
    }

    /// Stores the queued changes and syncs them to disk.
    ///
    /// # Errors
    /// Description of the failure. The changes stay queued, and the next call tries again.
    fn sync(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Removes and returns the queued changes that are not stored, oldest first.
    fn take_deferred(&mut self) -> Vec<Arc<Changes>> {
        Vec::new()
    }

    /// Starts recording the state of each item before its first change, until [`Journal::release`]. If the
    /// router restarts before the release, it restores the recorded states.
    ///
    /// # Errors
    /// Description of the failure; nothing is recorded then.
    fn hold(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Ends the recording and discards the recorded states.
    ///
    /// # Errors
    /// Description of the failure; the recording continues then.
    fn release(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Stores a text under a name, or removes it, for state other than items that must survive a restart.
    ///
    /// # Errors
    /// Description of the failure; the old text stays.
    fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        let _ = (name, text);
        Ok(())
    }

    /// Removes and returns the notes in memory. Only the substitute of a journal that is in use keeps notes in memory.
    fn take_notes(&mut self) -> Vec<(String, Option<String>)> {
        Vec::new()
    }

    /// Does deferrable work. Called every few seconds while the router runs. Returns true if it copied the
    /// whole configuration.
    fn rest(&mut self) -> bool {
        false
    }

    /// Does all deferrable work, because the router stops.
    fn settle(&mut self) {}

    /// Returns why changes cannot be stored at present: the disk is full or its data is damaged. `None` if they
    /// can.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// Accepts the state found on a damaged disk, so that changes can be stored again. `running` is the running
    /// configuration. Returns lines for the log.
    ///
    /// # Errors
    /// There is no damage, or the state cannot be written.
    fn accept(&mut self, running: &Saved) -> Result<Vec<String>, String> {
        let _ = running;
        Err(String::from("there is no damaged state to accept"))
    }
}

/// A journal that stores nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn commit(&mut self, _changes: &Changes) -> Result<(), String> {
        Ok(())
    }
}
