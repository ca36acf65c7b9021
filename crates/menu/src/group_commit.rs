//! Group commit of transactions.

use std::sync::Arc;

use crate::revert::NetChanges;
use crate::{By, Changes, Origin, Reason, Store, without_error_numbers};

/// Transactions that could not be stored.
#[derive(Debug)]
pub struct Unstored {
    /// The refusal, a [`Reason::Storage`].
    pub reason: Reason,
    /// The changes by which the store rolled back the transactions. The caller must apply them to the running
    /// router.
    pub taken_back: Option<Box<Changes>>,
}

impl Store {
    /// Sets whether following transactions are stored immediately, or with the next [`Store::sync`]. Scripts
    /// defer, so that many commands wait for the disk only once.
    pub const fn set_deferring(&mut self, defers: bool) {
        self.defers = defers;
    }

    /// Stores the deferred transactions.
    ///
    /// # Errors
    /// The journal fails. The deferred transactions, none of which was acknowledged, are rolled back: the
    /// running configuration equals the stored one, and a full disk does not keep later commands from freeing
    /// space.
    pub fn sync(&mut self) -> Result<(), Unstored> {
        let Err(text) = self.journal.sync() else {
            return Ok(());
        };
        let group = self.journal.take_deferred();
        Err(Unstored {
            reason: Reason::Storage(without_error_numbers(text)),
            taken_back: self.take_back_unstored(&group).map(Box::new),
        })
    }

    /// Rolls back the last transactions, which the journal has not stored.
    fn take_back_unstored(&mut self, group: &[Arc<Changes>]) -> Option<Changes> {
        let first = group.first()?.revision;
        let mut net = NetChanges::default();
        for change in group.iter().rev().flat_map(|one| one.list.iter().rev()) {
            net.add(&change.inverse());
        }
        let list = net.into_list();
        for change in &list {
            if let Some(index) = self.index_of(change.menu) {
                self.exchange(index, change.id, change.after.clone());
            }
        }
        self.history.forget_from(first);
        self.revision = first - 1;
        Some(Changes {
            revision: self.revision,
            by: By::default(),
            origin: Origin::Router,
            list,
        })
    }
}
