//! What was done: the transactions of late, which of them can be undone, and which done again.
//!
//! There is one history for all users, as in RouterOS: `/undo` comes to the last transaction that any
//! user made, and a new one forgets those that were taken back. Who does not manage users takes back
//! only their own ([`Store::permit_undo`]). What the router does by itself is in the log and cannot be
//! undone. Rows that are no items of the configuration never come here.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{By, Change, Changes, Origin, Policies, Reason, Store};

/// Transactions that are kept.
const KEPT: usize = 256;
/// Changed items of all of them together, but for the last one.
const ITEMS: usize = 500_000;

/// The transactions of late.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// All of them, oldest first; their revisions follow each other.
    log: VecDeque<Arc<Changes>>,
    /// Those that can be undone, oldest first.
    done: VecDeque<Arc<Changes>>,
    /// Those that can be done again, the next one last.
    undone: Vec<Arc<Changes>>,
    /// The changed items of the log.
    items: usize,
}

/// Where a transaction stands in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// `/undo` comes to it.
    Undoable,
    /// `/redo` comes to it.
    Redoable,
    /// It is taken back when safe mode ends badly.
    Floating,
}

impl History {
    /// Takes a transaction that was committed.
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
        while self.log.len() > KEPT || (self.items > ITEMS && self.log.len() > 1) {
            self.forget_oldest();
        }
    }

    /// Forgets the transactions from this revision on: they did not happen.
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
    /// Takes what was done so far for what there is to begin with: it stays in the log, and nobody
    /// can undo it.
    pub fn close_history(&mut self) {
        self.history.done.clear();
        self.history.undone.clear();
    }

    /// The last transactions, oldest first.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = &Arc<Changes>> {
        self.history.log.iter()
    }

    /// The transactions that can be undone or done again, newest first, each with its standing.
    pub fn actions(&self) -> impl Iterator<Item = (&Arc<Changes>, Standing)> {
        let since = self.held_since();
        let standing = move |changes: &Changes| match since {
            Some(since) if changes.revision > since => Standing::Floating,
            _ => Standing::Undoable,
        };
        let undone = self.history.undone.iter();
        let done = self.history.done.iter().rev();
        undone
            .map(|changes| (changes, Standing::Redoable))
            .chain(done.map(move |changes| (changes, standing(changes))))
    }

    /// The transaction that [`Store::undo`] takes back.
    pub fn next_undo(&self) -> Option<&Arc<Changes>> {
        self.history.done.back()
    }

    /// The transaction that [`Store::redo`] does again.
    pub fn next_redo(&self) -> Option<&Arc<Changes>> {
        self.history.undone.last()
    }

    /// Takes a log that was kept on disk, oldest first, in place of the history.
    pub fn load_history(&mut self, log: impl IntoIterator<Item = Changes>) {
        self.history = History::default();
        for changes in log {
            let next = self.history.log.back().map(|last| last.revision + 1);
            if next.is_some_and(|next| next != changes.revision) {
                // What is before a gap cannot be taken back any more.
                self.history = History::default();
            }
            self.history.push(Arc::new(changes));
        }
    }

    /// Whether a user with these policies may take back what [`Store::undo`] comes to.
    ///
    /// # Errors
    /// The transaction is somebody else's, or it changed what the user may not.
    pub fn permit_undo(&self, user: &str, policies: Policies) -> Result<(), Reason> {
        let Some(last) = self.next_undo() else {
            return Ok(());
        };
        let back = last.list.iter().map(Change::inverse);
        permit("undo", last, back, user, policies)
    }

    /// Whether a user with these policies may do again what [`Store::redo`] comes to.
    ///
    /// # Errors
    /// As [`Store::permit_undo`].
    pub fn permit_redo(&self, user: &str, policies: Policies) -> Result<(), Reason> {
        let Some(last) = self.next_redo() else {
            return Ok(());
        };
        permit("redo", last, last.list.iter().cloned(), user, policies)
    }

    /// Takes back the last transaction of a user, as a transaction.
    ///
    /// # Errors
    /// There is none, what it left is in the way, or the change cannot be stored.
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
            // The router has taken it back already; the next one is to come.
            self.history.done.pop_back();
        }
        Ok(changes)
    }

    /// Does again what was undone last, as a transaction.
    ///
    /// # Errors
    /// As [`Store::undo`].
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

    /// Takes back one transaction, whatever came after it.
    ///
    /// # Errors
    /// As [`Store::undo`].
    pub fn take_back(&mut self, changes: &Changes, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let back: Vec<_> = changes.list.iter().map(Change::inverse).collect();
        self.transact(&back, by, Origin::User)
    }

    /// What leads from the present configuration to that of an earlier revision: each item once.
    ///
    /// # Errors
    /// The revision is not known any more.
    pub fn back_to(&self, revision: u64) -> Result<Vec<Change>, Reason> {
        let newer = self.history.log.iter().rev();
        let newer: Vec<_> = newer
            .take_while(|changes| changes.revision > revision)
            .collect();
        let oldest = newer.last().map_or(self.revision, |c| c.revision - 1);
        if oldest != revision {
            return Err(Reason::failure("no such revision"));
        }
        let mut steps = super::restore::Net::default();
        // What the router does by itself is not taken back.
        for changes in newer.iter().filter(|c| c.origin != Origin::Router) {
            changes.list.iter().rev().for_each(|change| {
                steps.add(&change.inverse());
            });
        }
        Ok(steps.into_list())
    }

    /// As [`Store::revert_to`], but leaves alone the items that a user with these policies could not change.
    ///
    /// # Errors
    /// As of [`Store::revert_to`], or an item that stays is in the way.
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

    /// Makes the configuration that of an earlier revision, as a transaction.
    ///
    /// # Errors
    /// The revision is not known any more, or as [`Store::undo`].
    pub fn revert_to(&mut self, revision: u64, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let back = self.back_to(revision)?;
        self.transact(&back, by, Origin::User)
    }

    /// Makes changes as one transaction.
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

/// Refuses a way back or forth to who could not make these changes by commands, and to who is not
/// the one that made the transaction and does not manage users.
fn permit(
    verb: &str,
    transaction: &Changes,
    mut list: impl Iterator<Item = Change>,
    user: &str,
    policies: Policies,
) -> Result<(), Reason> {
    let maker = &transaction.by.user;
    if maker != user && !policies.contains(Policies::POLICY) {
        let text = format!("the last change is of {maker}; to {verb} it needs policy");
        return Err(Reason::failure(text));
    }
    let denied = list.find_map(|change| {
        let needed = change.needs(user);
        (!policies.contains(needed)).then_some((change.menu.path, needed))
    });
    match denied {
        None => Ok(()),
        Some((path, needed)) => Err(Reason::failure(format!(
            "the last change is in {path}; to {verb} it needs {needed}"
        ))),
    }
}
