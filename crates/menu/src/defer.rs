//! Transactions that are stored together.

use std::sync::Arc;

use crate::restore::Net;
use crate::{By, Changes, Origin, Reason, Store, without_error_numbers};

/// Transactions that could not be stored.
#[derive(Debug)]
pub struct Unstored {
    /// [`Reason::Storage`].
    pub reason: Reason,
    /// The changes back to the configuration before them, which the store has made: the running router is to follow.
    pub taken_back: Option<Box<Changes>>,
}

impl Store {
    /// Whether the transactions that end from now on are stored one by one, or with the next [`Store::sync`]: a script
    /// waits for the disk once for many of its commands.
    pub const fn set_deferring(&mut self, defers: bool) {
        self.defers = defers;
    }

    /// Stores the transactions that were deferred.
    ///
    /// # Errors
    /// The journal fails. None of the deferred transactions was acknowledged: they are taken back, so that what runs is
    /// what is stored, and a full disk does not keep later commands from freeing room.
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

    /// Takes back the last transactions, which no journal knows.
    fn take_back_unstored(&mut self, group: &[Arc<Changes>]) -> Option<Changes> {
        let first = group.first()?.revision;
        let mut net = Net::default();
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
