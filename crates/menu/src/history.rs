//! History of recent transactions, with undo and redo.
//!
//! As in RouterOS, all users share one history: `/undo` takes back the last transaction of any user, and a new
//! transaction discards those that were undone. A user without the `policy` right may only undo own
//! transactions ([`Store::permit_undo`]). Changes by the router are logged but cannot be undone. Dynamic rows
//! are not part of the history.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{By, Change, Changes, Origin, Policies, Reason, Store};

/// Maximum number of transactions.
const MAX_TRANSACTIONS: usize = 256;
/// Maximum number of changed items in all transactions except the last.
const MAX_CHANGED_ITEMS: usize = 500_000;

/// Recent transactions.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// All recent transactions, oldest first, with consecutive revisions.
    log: VecDeque<Arc<Changes>>,
    /// Transactions that can be undone, oldest first.
    done: VecDeque<Arc<Changes>>,
    /// Transactions that can be redone; the next one is last.
    undone: Vec<Arc<Changes>>,
    /// Number of changed items in `log`.
    items: usize,
}

/// The state of a transaction in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoState {
    /// Can be undone.
    Undoable,
    /// Can be redone.
    Redoable,
    /// Will be rolled back if safe mode ends abnormally.
    Floating,
}

impl History {
    /// Adds a committed transaction.
    pub(crate) fn push(&mut self, changes: Arc<Changes>) {
        match changes.origin {
            Origin::Router => {}
            Origin::User => {
                self.undone.clear();
                self.done.push_back(Arc::clone(&changes));
            }
            Origin::Undo(revision) => {
                if let Some(last) = self.done.pop_back_if(|last| last.revision == revision) {
                    self.undone.push(last);
                }
            }
            Origin::Redo(revision) => {
                let fits = |last: &mut Arc<Changes>| last.revision == revision;
                self.done.extend(self.undone.pop_if(fits));
            }
            Origin::Unroll(since) => {
                self.undone.clear();
                self.done.retain(|changes| changes.revision <= since);
            }
        }
        self.items += changes.list.len();
        self.log.push_back(changes);
        while self.log.len() > MAX_TRANSACTIONS
            || (self.items > MAX_CHANGED_ITEMS && self.log.len() > 1)
        {
            self.forget_oldest();
        }
    }

    /// Removes the transactions from this revision on, which were rolled back.
    pub(crate) fn forget_from(&mut self, revision: u64) {
        while let Some(last) = self.log.pop_back_if(|last| last.revision >= revision) {
            self.items -= last.list.len();
        }
        self.done.retain(|changes| changes.revision < revision);
        self.undone.retain(|changes| changes.revision < revision);
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.log.pop_front() else {
            return;
        };
        self.items -= oldest.list.len();
        let kept = |changes: &Arc<Changes>| changes.revision > oldest.revision;
        self.done.retain(kept);
        self.undone.retain(kept);
    }
}

impl Store {
    /// Makes all transactions so far permanent: they stay in the log but cannot be undone.
    pub fn close_history(&mut self) {
        self.history.done.clear();
        self.history.undone.clear();
    }

    /// Returns the recent transactions, oldest first.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &Arc<Changes>> {
        self.history.log.iter()
    }

    /// Returns the transactions that can be undone or redone, newest first, with their state.
    pub fn actions(&self) -> impl Iterator<Item = (&Arc<Changes>, UndoState)> {
        let since = self.held_since();
        let standing = move |changes: &Changes| match since {
            Some(since) if changes.revision > since => UndoState::Floating,
            _ => UndoState::Undoable,
        };
        let undone = self.history.undone.iter();
        let done = self.history.done.iter().rev();
        undone
            .map(|changes| (changes, UndoState::Redoable))
            .chain(done.map(move |changes| (changes, standing(changes))))
    }

    /// Returns the transaction that [`Store::undo`] takes back.
    pub fn next_undo(&self) -> Option<&Arc<Changes>> {
        self.history.done.back()
    }

    /// Returns the transaction that [`Store::redo`] repeats.
    pub fn next_redo(&self) -> Option<&Arc<Changes>> {
        self.history.undone.last()
    }

    /// Replaces the history by a log from disk, oldest first.
    pub fn load_history(&mut self, log: impl IntoIterator<Item = Changes>) {
        self.history = History::default();
        for changes in log {
            let next = self.history.log.back().map(|last| last.revision + 1);
            if next.is_some_and(|next| next != changes.revision) {
                // Transactions before a gap cannot be undone any more.
                self.history = History::default();
            }
            self.history.push(Arc::new(changes));
        }
    }

    /// Checks that a user with these policies may undo the next transaction.
    ///
    /// # Errors
    /// The transaction belongs to another user, or changed items that the user may not change.
    pub fn permit_undo(&self, user: &str, policies: Policies) -> Result<(), Reason> {
        let Some(last) = self.next_undo() else {
            return Ok(());
        };
        let back = last.list.iter().map(Change::inverse);
        permit("undo", last, back, user, policies)
    }

    /// Checks that a user with these policies may redo the next transaction.
    ///
    /// # Errors
    /// As for [`Store::permit_undo`].
    pub fn permit_redo(&self, user: &str, policies: Policies) -> Result<(), Reason> {
        let Some(last) = self.next_redo() else {
            return Ok(());
        };
        permit("redo", last, last.list.iter().cloned(), user, policies)
    }

    /// Undoes the last transaction of a user, as a new transaction.
    ///
    /// # Errors
    /// There is none, the current state of an item conflicts, or the change cannot be stored.
    pub fn undo(&mut self, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let last = self.history.done.back().cloned();
        let last = last.ok_or_else(|| Reason::failure("nothing to undo"))?;
        let by = By {
            action: format!("undo: {}", last.action()),
            ..by
        };
        let back: Vec<_> = last.list.iter().map(Change::inverse).collect();
        let changes = self.transact(&back, by, Origin::Undo(last.revision))?;
        if changes.is_none() {
            // The router already reverted these changes: proceed with the next transaction.
            self.history.done.pop_back();
        }
        Ok(changes)
    }

    /// Redoes the transaction that was undone last, as a new transaction.
    ///
    /// # Errors
    /// As for [`Store::undo`].
    pub fn redo(&mut self, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let last = self.history.undone.last().cloned();
        let last = last.ok_or_else(|| Reason::failure("nothing to redo"))?;
        let by = By {
            action: format!("redo: {}", last.action()),
            ..by
        };
        let changes = self.transact(&last.list, by, Origin::Redo(last.revision))?;
        if changes.is_none() {
            self.history.undone.pop();
        }
        Ok(changes)
    }

    /// Reverts one transaction, regardless of later ones.
    ///
    /// # Errors
    /// As for [`Store::undo`].
    pub fn take_back(&mut self, changes: &Changes, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let back: Vec<_> = changes.list.iter().map(Change::inverse).collect();
        self.transact(&back, by, Origin::User)
    }

    /// Returns the changes from the current configuration back to an earlier revision, each item once.
    ///
    /// # Errors
    /// The revision is no longer in the history.
    pub fn back_to(&self, revision: u64) -> Result<Vec<Change>, Reason> {
        let newer = self.history.log.iter().rev();
        let newer: Vec<_> = newer
            .take_while(|changes| changes.revision > revision)
            .collect();
        let oldest = newer.last().map_or(self.revision, |c| c.revision - 1);
        if oldest != revision {
            return Err(Reason::failure("no such revision"));
        }
        let mut steps = super::revert::NetChanges::default();
        // Changes by the router are not reverted.
        for changes in newer.iter().filter(|c| c.origin != Origin::Router) {
            changes.list.iter().rev().for_each(|change| {
                steps.add(&change.inverse());
            });
        }
        Ok(steps.into_list())
    }

    /// Reverts to an earlier revision, except for items that a user with these policies could not change.
    ///
    /// # Errors
    /// As for [`Store::revert_to`], or an item that is not reverted conflicts.
    pub fn revert_as(
        &mut self,
        revision: u64,
        by: By,
        policies: Policies,
    ) -> Result<Option<Arc<Changes>>, Reason> {
        let mut back = self.back_to(revision)?;
        back.retain(|change| policies.contains(change.needs(&by.user)));
        self.transact(&back, by, Origin::User)
    }

    /// Reverts the configuration to an earlier revision, as a new transaction.
    ///
    /// # Errors
    /// The revision is no longer in the history, or as for [`Store::undo`].
    pub fn revert_to(&mut self, revision: u64, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let back = self.back_to(revision)?;
        self.transact(&back, by, Origin::User)
    }

    /// Applies changes as one transaction.
    pub(crate) fn transact(
        &mut self,
        list: &[Change],
        by: By,
        origin: Origin,
    ) -> Result<Option<Arc<Changes>>, Reason> {
        if self.is_open() {
            return Err(Reason::failure(
                "history can not be changed within a transaction",
            ));
        }
        let mark = self.begin();
        if let Err(reason) = self.make(list) {
            self.rollback(mark);
            return Err(reason);
        }
        self.finish(mark, by, origin, &mut || {})
    }
}

/// Refuses to undo or redo for a user who could not make these changes by commands, or who neither made the
/// transaction nor has the `policy` right.
fn permit(
    verb: &str,
    transaction: &Changes,
    mut list: impl Iterator<Item = Change>,
    user: &str,
    policies: Policies,
) -> Result<(), Reason> {
    let maker = &transaction.by.user;
    if maker != user && !policies.contains(Policies::POLICY) {
        let text = format!("the last change was made by {maker}; {verb} requires policy");
        return Err(Reason::failure(text));
    }
    let denied = list.find_map(|change| {
        let needed = change.needs(user);
        (!policies.contains(needed)).then_some((change.menu.path, needed))
    });
    match denied {
        None => Ok(()),
        Some((path, needed)) => Err(Reason::failure(format!(
            "the last change is in {path}; {verb} requires {needed}"
        ))),
    }
}
