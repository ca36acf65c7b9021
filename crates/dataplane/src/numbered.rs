//! What packets name by a number of 32 bits that this router chose: a table that control writes and workers read
//! without a lock.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;

/// Lists that values are spread over.
const LISTS: usize = 1024;

type List<T> = ArcSwap<Vec<(u32, Arc<T>)>>;

/// See the module. Memory is there from the first use on.
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
    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// What has this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<Arc<T>> {
        let list = self.list(number).load();
        let found = list.iter().find(|(of, _)| *of == number);
        found.map(|(_, value)| Arc::clone(value))
    }

    /// Takes in a value; one of the same number goes. A list of a thousand is made anew. Only control calls this.
    pub fn put(&self, number: u32, value: Arc<T>) {
        self.remove(number);
        let place = self.list(number);
        let mut list = Vec::clone(&place.load());
        list.push((number, value));
        place.store(Arc::new(list));
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets what has this number. Only control calls this.
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
        // Numbers are random.
        &self.lists[number as usize % LISTS]
    }
}
