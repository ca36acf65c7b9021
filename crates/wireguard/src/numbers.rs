//! The receiver numbers that a device has given to its handshakes and sessions.
//!
//! Control has the exact map. Workers share a table of counters: a response or cookie that names no number of this
//! device is refused before it takes anything from the peer whose address it bears.

use core::sync::atomic::{AtomicU16, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::PeerId;

/// Numbers are sorted into this many counters by their lower bits; they are random.
const COUNTERS: usize = 1 << 15;

/// How many numbers fall on each counter. A number that does not exist may fall on one that does.
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

    /// Returns false if the device has not given this number to anything.
    pub(crate) fn may_have(&self, number: u32) -> bool {
        self.counter(number)
            .is_some_and(|counter| counter.load(Ordering::Relaxed) > 0)
    }
}

/// The peers whose handshakes and sessions the numbers are.
#[derive(Default)]
pub(crate) struct Numbers {
    peers: BTreeMap<u32, PeerId>,
    table: NumberTable,
}

impl Numbers {
    /// Returns the table that workers read.
    pub(crate) fn table(&self) -> NumberTable {
        self.table.clone()
    }

    /// Returns the peer of a number.
    pub(crate) fn peer(&self, number: u32) -> Option<PeerId> {
        self.peers.get(&number).copied()
    }

    /// Gives a number to a handshake or session of a peer.
    pub(crate) fn insert(&mut self, number: u32, peer: PeerId) {
        if self.peers.insert(number, peer).is_none()
            && let Some(counter) = self.table.counter(number)
        {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a number back.
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
    fn the_table_has_the_numbers_that_were_given_and_not_taken_back() {
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
