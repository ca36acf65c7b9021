//! The files beside the database: the ledger, the snapshot and the reserve of a full disk.

use std::path::PathBuf;

use super::ledger::Ledger;
use super::reserve::Reserve;
use super::vault::Key;

/// What stands beside the database's file.
pub(super) struct Beside {
    /// The database's file.
    pub(super) path: PathBuf,
    pub(super) key: Key,
    pub(super) ledger: Ledger,
    pub(super) reserve: Reserve,
    /// Number of the last write in the snapshot; `None` without a readable snapshot.
    pub(super) snapshot: Option<u64>,
    /// Whether a write behind the snapshot was more than a note. Notes (the last login of a user, a router that runs)
    /// are frequent, and the ledger has them: no snapshot of the whole configuration is written for them.
    pub(super) changed: bool,
    /// The snapshot's length in bytes, if this run has written it.
    pub(super) snapshot_bytes: u64,
    /// The number of the last write when the router rested last.
    pub(super) rested: u64,
    /// How many more rests pass before a snapshot is tried again.
    pub(super) patience: u32,
}

impl Beside {
    /// Whether a snapshot is worth its writing.
    pub(super) fn is_snapshot_due(&self) -> bool {
        let is_long = self.ledger.is_long(self.snapshot_bytes);
        self.snapshot.is_none() || self.changed || is_long
    }
}
