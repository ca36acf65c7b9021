//! Groups of transactions that are written together: a script with many commands waits for the disk once per group.
//!
//! Deferred changes are neither in the database nor in the ledger until the group is written. A kill loses the group as
//! a whole, and the files on disk stay consistent. The next write of any kind writes the group first.

use std::cell::RefCell;
use std::sync::Arc;

use menu::{Changes, Origin, SavedChanges, SavedItem};

use super::{Durable, LOGGED, What, code, record};

/// Limits at which a group is written: transactions, and changed items.
const GROUP: usize = 500;
const ITEMS: usize = 5_000;

impl Durable {
    /// Takes changes into the group; writes the group when it is large.
    pub(super) fn defer_changes(&mut self, changes: &Arc<Changes>) -> Result<(), String> {
        let items: usize = self.deferred.iter().map(|changes| changes.list.len()).sum();
        if self.deferred.len() >= GROUP || items >= ITEMS {
            self.store_deferred()?;
        }
        self.deferred.push(Arc::clone(changes));
        Ok(())
    }

    /// Writes the group. After an error it stays, and the next write tries again.
    pub(super) fn store_deferred(&mut self) -> Result<(), String> {
        if self.deferred.is_empty() {
            return Ok(());
        }
        let group = std::mem::take(&mut self.deferred);
        let all: Vec<_> = group.iter().map(Arc::as_ref).collect();
        let stored = self.store_changes(&all, &mut || {});
        if stored.is_err() {
            self.deferred = group;
        }
        stored
    }

    /// Writes transactions with one sync; each has its own ledger record. Calls `meanwhile` for each item.
    pub(super) fn store_changes(
        &mut self,
        group: &[&Changes],
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), String> {
        let meanwhile = RefCell::new(meanwhile);
        let encoded = group
            .iter()
            .map(|changes| code::changes(&SavedChanges::of(changes)));
        let encoded: Vec<_> = encoded.collect();
        let frees: Vec<_> = group.iter().map(|changes| || frees(changes)).collect();
        let parts = group.iter().zip(&encoded).zip(&frees);
        let whats = parts.map(|((changes, bytes), frees)| What {
            revision: Some(changes.revision),
            line: match changes.by.user.as_str() {
                "" => format!("the router: {}", changes.action()),
                user => format!("{user}: {}", changes.action()),
            },
            content: record::of_changes(bytes),
            frees,
        });
        let whats: Vec<_> = whats.collect();
        self.logged = self.written(&whats, |durable, writer| {
            let mut logged = durable.logged.clone();
            // Older transactions would leave the log at once.
            let first = group.len().saturating_sub(LOGGED);
            for (number, (changes, bytes)) in group.iter().zip(&encoded).enumerate() {
                writer.changes(changes, &mut || (meanwhile.borrow_mut())())?;
                if durable.holding && changes.origin != Origin::Router {
                    writer.held(&changes.list)?;
                }
                if number >= first {
                    logged = durable.write_log(logged, writer, changes.revision, bytes)?;
                }
            }
            Ok(logged)
        })?;
        Ok(())
    }
}

/// True if the changed items need no more bytes than before: removals, undone additions, shorter values.
fn frees(changes: &Changes) -> bool {
    let size = |item: &Option<Arc<menu::Item>>| {
        let bytes = |item: &menu::Item| code::item(&SavedItem::of(item)).len();
        item.as_deref().map_or(0, bytes)
    };
    let sum = |side: fn(&menu::Change) -> &Option<Arc<menu::Item>>| -> usize {
        changes.list.iter().map(|change| size(side(change))).sum()
    };
    matches!(changes.origin, Origin::Undo(_) | Origin::Unroll(_))
        || sum(|change| &change.after) <= sum(|change| &change.before)
}
