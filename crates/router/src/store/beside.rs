//! The files beside the database: the ledger, the snapshot and the reserve of a full disk.

use std::path::PathBuf;

use super::ledger::Ledger;
use super::reserve::Reserve;
use super::vault::Key;

/// Files that accompany the database's file.
pub(super) struct Beside {
    /// Path of the database's file.
    pub(super) path: PathBuf,
    pub(super) key: Key,
    pub(super) ledger: Ledger,
    pub(super) reserve: Reserve,
    /// Number of the last write in the snapshot; `None` without a readable snapshot.
    pub(super) snapshot: Option<u64>,
    /// Whether writes after the snapshot changed more than notes. Notes (the last login of a user, the running router)
    /// are frequent and recorded in the ledger: they cause no snapshot of the whole configuration.
    pub(super) changed: bool,
    /// Length of the snapshot in bytes, if this process wrote it.
    pub(super) snapshot_bytes: u64,
    /// Serial number of the latest write when the router last rested.
    pub(super) rested: u64,
    /// Number of rests to skip until a snapshot is tried again.
    pub(super) patience: u32,
}

impl Beside {
    /// Whether a snapshot is due.
    pub(super) fn is_snapshot_due(&self) -> bool {
        let is_long = self.ledger.is_long(self.snapshot_bytes);
        self.snapshot.is_none() || self.changed || is_long
    }
}
