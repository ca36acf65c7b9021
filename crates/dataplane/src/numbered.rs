//! A table from random 32-bit numbers that this router chose (SPIs, receiver indexes) to values:
//! written by control, read by workers without a lock.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;

/// Number of lists that values are spread over.
const LISTS: usize = 1024;

type List<T> = ArcSwap<Vec<(u32, Arc<T>)>>;

/// The table. Memory is allocated on first use.
pub struct Numbered<T> {
    lists: LazyLock<Box<[List<T>]>>,
    count: AtomicUsize,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            lists: LazyLock::new(|| (0..LISTS).map(|_| ArcSwap::default()).collect()),
            count: AtomicUsize::new(0),
        }
    }
}

impl<T> fmt::Debug for Numbered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Numbered({})", self.count.load(Ordering::Relaxed))
    }
}

impl<T> Numbered<T> {
    /// Returns true if the table is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Returns the value with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<Arc<T>> {
        let list = self.list(number).load();
        let found = list.iter().find(|(of, _)| *of == number);
        found.map(|(_, value)| Arc::clone(value))
    }

    /// Adds a value, and replaces one with the same number. Rebuilds one of the 1,024 lists. Only
    /// control calls this.
    pub fn put(&self, number: u32, value: Arc<T>) {
        self.remove(number);
        let place = self.list(number);
        let mut list = Vec::clone(&place.load());
        list.push((number, value));
        place.store(Arc::new(list));
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes the value with this number, and returns it. Only control calls this.
    pub fn remove(&self, number: u32) -> Option<Arc<T>> {
        let place = self.list(number);
        let mut list = Vec::clone(&place.load());
        let at = list.iter().position(|(of, _)| *of == number)?;
        let (_, gone) = list.swap_remove(at);
        place.store(Arc::new(list));
        self.count.fetch_sub(1, Ordering::Relaxed);
        Some(gone)
    }

    fn list(&self, number: u32) -> &List<T> {
        // Numbers are random, so a remainder spreads them evenly.
        &self.lists[number as usize % LISTS]
    }
}
