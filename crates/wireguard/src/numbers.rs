//! Receiver indices of a device's handshakes and sessions.
//!
//! Control has the exact map. Workers share a table of counters: they drop responses and cookies with an
//! unknown index before these use up the rate limit of the peer whose address they spoof.

use core::sync::atomic::{AtomicU16, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::PeerId;

/// Number of counters; the low bits of an index, which is random, select its counter.
const COUNTERS: usize = 1 << 15;

/// Number of indices per counter. Collisions make an unknown index look known.
#[derive(Clone)]
pub(crate) struct NumberTable(Arc<[AtomicU16]>);

impl core::fmt::Debug for NumberTable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NumberTable").finish_non_exhaustive()
    }
}

impl Default for NumberTable {
    fn default() -> Self {
        Self((0..COUNTERS).map(|_| AtomicU16::new(0)).collect())
    }
}

impl NumberTable {
    fn counter(&self, number: u32) -> Option<&AtomicU16> {
        self.0.get(number as usize % COUNTERS)
    }

    /// Returns false if the device has certainly not assigned this index.
    pub(crate) fn may_have(&self, number: u32) -> bool {
        self.counter(number)
            .is_some_and(|counter| counter.load(Ordering::Relaxed) > 0)
    }
}

/// Map from index to peer.
#[derive(Default)]
pub(crate) struct Numbers {
    peers: BTreeMap<u32, PeerId>,
    table: NumberTable,
}

impl Numbers {
    /// Returns the table for the workers.
    pub(crate) fn table(&self) -> NumberTable {
        self.table.clone()
    }

    /// Returns the peer of an index.
    pub(crate) fn peer(&self, number: u32) -> Option<PeerId> {
        self.peers.get(&number).copied()
    }

    /// Assigns an index to a handshake or session of a peer.
    pub(crate) fn insert(&mut self, number: u32, peer: PeerId) {
        if self.peers.insert(number, peer).is_none()
            && let Some(counter) = self.table.counter(number)
        {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Releases an index.
    pub(crate) fn remove(&mut self, number: u32) {
        if self.peers.remove(&number).is_some()
            && let Some(counter) = self.table.counter(number)
        {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_table_contains_assigned_indices() {
        let mut numbers = Numbers::default();
        let table = numbers.table();
        numbers.insert(7, PeerId(1));
        numbers.insert(7, PeerId(1));
        numbers.insert(7 + COUNTERS as u32, PeerId(2));
        assert!(table.may_have(7) && !table.may_have(8));
        numbers.remove(7);
        assert!(table.may_have(7), "another number is on the counter");
        assert_eq!(numbers.peer(7), None);
        numbers.remove(7 + COUNTERS as u32);
        numbers.remove(7);
        assert!(!table.may_have(7));
    }
}
