//! What a committed transaction changed, and who makes it durable.

use std::sync::Arc;

use crate::{Id, Item, Menu};

/// One item before and after a transaction.
#[derive(Clone, Debug)]
pub struct Change {
    /// The menu.
    pub menu: &'static Menu,
    /// The item.
    pub id: Id,
    /// As it was; `None` if it is new.
    pub before: Option<Arc<Item>>,
    /// As it is; `None` if it is gone.
    pub after: Option<Arc<Item>>,
}

/// All that one transaction changed, each item once, in the order in which they were first touched.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The revision of the store that the transaction made; they count from 1.
    pub revision: u64,
    /// The items.
    pub list: Vec<Change>,
}

impl Changes {
    /// The changes of one menu.
    pub fn of<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Change> {
        self.list
            .iter()
            .filter(move |change| change.menu.path == path)
    }
}

/// Makes transactions durable. The store calls it before a command is acknowledged.
pub trait Journal: Send {
    /// Stores the changes, synced to disk.
    ///
    /// # Errors
    /// What went wrong, in words; the transaction is then rolled back.
    fn commit(&mut self, changes: &Changes) -> Result<(), String>;
}

/// A journal that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn commit(&mut self, _changes: &Changes) -> Result<(), String> {
        Ok(())
    }
}
