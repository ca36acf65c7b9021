//! The end of a transaction: its checks, its record in the journal, and the store's own bookkeeping.
//!
//! [`Store::commit`] does all of it. For a large transaction, [`Store::start_commit`] takes the journal out of the
//! store, so that others can read the store while [`Commit::store`] writes, and [`Store::end_commit`] puts it back.

use std::fmt;
use std::sync::Arc;

use crate::{By, Changes, Journal, Mark, Origin, Reason, Store, without_error_numbers};

/// A transaction during its write. Holds the journal of the store meanwhile.
#[must_use = "the store has no journal until `Store::end_commit`"]
pub struct Commit {
    mark: Mark,
    changes: Arc<Changes>,
    journal: Box<dyn Journal>,
    /// The result of [`Commit::store`].
    stored: Result<(), String>,
}

impl Commit {
    /// Writes the changes to the journal, synced to disk. [`Store::end_commit`] returns the error, if there is one.
    pub fn store(&mut self) {
        self.stored = self.journal.commit(&self.changes);
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit").finish_non_exhaustive()
    }
}

/// Substitute for the journal while a [`Commit`] holds it: keeps the notes of logins, and stores nothing.
#[derive(Debug, Default)]
struct Substitute {
    notes: Vec<(String, Option<String>)>,
}

impl Journal for Substitute {
    fn commit(&mut self, _changes: &Changes) -> Result<(), String> {
        Err(String::from(
            "the journal was lost while it stored a transaction; restart the router",
        ))
    }

    fn note(&mut self, name: &str, text: Option<&str>) -> Result<(), String> {
        self.notes.push((name.to_owned(), text.map(str::to_owned)));
        Ok(())
    }

    fn take_notes(&mut self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.notes)
    }
}

impl Store {
    /// Commits the router's own transaction, or closes a nested one. The outermost commit is journaled. Returns its
    /// changes, or `None` if there are none or the transaction goes on.
    ///
    /// # Errors
    /// [`Reason::Storage`] if the journal fails, or the reason of a menu's guard; the store is then as before `begin`.
    pub fn commit(&mut self, mark: Mark) -> Result<Option<Arc<Changes>>, Reason> {
        self.finish(mark, By::default(), Origin::Router, &mut || {})
    }

    /// Commits the transaction of a user, who can undo it.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn commit_by(&mut self, mark: Mark, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        self.commit_while(mark, by, &mut || {})
    }

    /// Commits a transaction with many changes: calls `meanwhile` between them, so that the router can do other work.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn commit_while(
        &mut self,
        mark: Mark,
        by: By,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Option<Arc<Changes>>, Reason> {
        self.finish(mark, by, Origin::User, meanwhile)
    }

    pub(crate) fn finish(
        &mut self,
        mark: Mark,
        by: By,
        origin: Origin,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Option<Arc<Changes>>, Reason> {
        let Some(changes) = self.check_changes(mark, by, origin)? else {
            return Ok(None);
        };
        let stored = match self.defers {
            true => self.journal.defer(&changes),
            false => self.journal.commit_while(&changes, meanwhile),
        };
        self.conclude(mark, changes, stored).map(Some)
    }

    /// Begins the commit of a user's transaction. The caller calls [`Commit::store`], during which others may read the
    /// store, and then [`Store::end_commit`]. `None` if nothing has changed or the transaction goes on.
    ///
    /// # Errors
    /// The reason of a menu's guard; the store is then as before `begin`.
    pub fn start_commit(&mut self, mark: Mark, by: By) -> Result<Option<Commit>, Reason> {
        let Some(changes) = self.check_changes(mark, by, Origin::User)? else {
            return Ok(None);
        };
        let substitute = Box::new(Substitute::default());
        Ok(Some(Commit {
            mark,
            changes,
            journal: std::mem::replace(&mut self.journal, substitute),
            stored: Ok(()),
        }))
    }

    /// Ends a commit and gives the journal back to the store. Returns the changes.
    ///
    /// # Errors
    /// [`Reason::Storage`] if the journal has failed; the store is then as before `begin`.
    pub fn end_commit(&mut self, commit: Commit) -> Result<Arc<Changes>, Reason> {
        let mut substitute = std::mem::replace(&mut self.journal, commit.journal);
        for (name, text) in substitute.take_notes() {
            // A journal with an error reports it at the next commit.
            let _ = self.journal.note(&name, text.as_deref());
        }
        self.conclude(commit.mark, commit.changes, commit.stored)
    }

    /// Closes a nested transaction, or runs the guards on the changes of the outermost one and returns them.
    fn check_changes(
        &mut self,
        mark: Mark,
        by: By,
        origin: Origin,
    ) -> Result<Option<Arc<Changes>>, Reason> {
        if self.read_only {
            self.rollback(mark);
            let text = "the configuration is being changed by an import, try again";
            return Err(Reason::failure(text));
        }
        if mark.depth > 1 {
            self.depth = mark.depth - 1;
            return Ok(None);
        }
        let list = self.changes_since(mark);
        if list.is_empty() {
            self.undo.clear();
            self.depth = 0;
            return Ok(None);
        }
        let mut guards: Vec<_> = list.iter().filter_map(|c| c.menu.guard).collect();
        guards.dedup_by(|a, b| std::ptr::fn_addr_eq(*a, *b));
        if let Err(reason) = guards.into_iter().try_for_each(|guard| guard(self)) {
            self.rollback(mark);
            return Err(reason);
        }
        Ok(Some(Arc::new(Changes {
            revision: self.revision + 1,
            by,
            origin,
            list,
        })))
    }

    /// Notes a stored transaction in the revision, in safe mode and in the history, or rolls it back.
    fn conclude(
        &mut self,
        mark: Mark,
        changes: Arc<Changes>,
        stored: Result<(), String>,
    ) -> Result<Arc<Changes>, Reason> {
        if let Err(text) = stored {
            self.rollback(mark);
            return Err(Reason::Storage(without_error_numbers(text)));
        }
        self.undo.clear();
        self.depth = 0;
        self.revision += 1;
        if let Some(hold) = &mut self.hold {
            hold.note(&changes);
        }
        self.history.push(Arc::clone(&changes));
        Ok(changes)
    }

    /// Refuses all commits until this is called with `false`: the owner of the open transaction lets others read.
    pub const fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Whether the owner of a transaction lets others read at the moment.
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Rolls back the open transaction, if one is open: its thread has panicked.
    pub fn abandon(&mut self) {
        self.read_only = false;
        self.rollback(Mark { depth: 0, len: 0 });
    }
}
