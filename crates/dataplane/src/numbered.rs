//! A table from 32-bit numbers of this router (SPIs, receiver indexes, slots of policies) to values: written by
//! control, read by workers without a lock.
//!
//! The lists of values hang in a tree of two levels. A change copies the tree's path to one list, so that its cost
//! does not depend on the number of values; readers of the previous tree are not disturbed.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};

/// Number of children of a node. Values are spread over the square of this number of lists.
const FANOUT: usize = 64;

type List<T> = [(u32, Arc<T>)];
type Node<T> = [Option<Arc<T>>; FANOUT];
type Root<T> = Node<Node<List<T>>>;

/// The table. Memory is allocated on first use.
pub struct Numbered<T> {
    root: ArcSwapOption<Root<T>>,
    count: AtomicUsize,
}

/// The values of a [`Numbered`] at one time, which stay valid until the reader is dropped. A worker creates one per
/// vector.
pub struct Reader<T>(Guard<Option<Arc<Root<T>>>>);

impl<T> Reader<T> {
    /// Returns the value with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Arc<T>> {
        let (first, second) = path(number);
        let list = self.0.as_ref()?[first].as_ref()?[second].as_ref()?;
        let found = list.iter().find(|(of, _)| *of == number);
        found.map(|(_, value)| value)
    }
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            root: ArcSwapOption::empty(),
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

    /// Returns a reader of the present values.
    #[inline]
    pub fn reader(&self) -> Reader<T> {
        Reader(self.root.load())
    }

    /// Returns the value with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<Arc<T>> {
        self.reader().get(number).map(Arc::clone)
    }

    /// Adds a value, and returns the replaced one with the same number. Only control calls this.
    pub fn put(&self, number: u32, value: Arc<T>) -> Option<Arc<T>> {
        self.replace(number, Some(value))
    }

    /// Removes the value with this number, and returns it. Only control calls this.
    pub fn remove(&self, number: u32) -> Option<Arc<T>> {
        self.reader().get(number)?;
        self.replace(number, None)
    }

    fn replace(&self, number: u32, now: Option<Arc<T>>) -> Option<Arc<T>> {
        let (first, second) = path(number);
        let mut root = copy(self.root.load().as_ref());
        let mut node = copy(root[first].as_ref());
        let mut list = node[second]
            .as_deref()
            .map_or_else(Vec::new, <List<T>>::to_vec);
        let at = list.iter().position(|(of, _)| *of == number);
        let before = at.map(|at| list.swap_remove(at).1);
        let is_more = now.is_some();
        list.extend(now.map(|value| (number, value)));
        node[second] = (!list.is_empty()).then(|| list.into());
        root[first] = Some(Arc::new(node));
        self.root.store(Some(Arc::new(root)));
        match (before.is_some(), is_more) {
            (false, true) => self.count.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.count.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
        before
    }
}

/// Returns a copy of a node; an empty one for none.
fn copy<T: ?Sized>(node: Option<&Arc<Node<T>>>) -> Node<T> {
    node.map_or_else(|| [const { None }; FANOUT], |node| (**node).clone())
}

/// Returns the positions of a number's list in the root and in the second level. Numbers are random or consecutive,
/// so remainders spread them evenly.
#[inline(always)]
const fn path(number: u32) -> (usize, usize) {
    let number = number as usize;
    (number / FANOUT % FANOUT, number % FANOUT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_are_those_of_a_map_and_readers_keep_theirs(
            steps in proptest::collection::vec((0..9_000_u32, any::<bool>()), 1..200)
        ) {
            let table = Numbered::default();
            let mut model = BTreeMap::new();
            for (step, (number, adds)) in (0..).zip(steps) {
                // Numbers that differ by the number of lists share a list.
                let number = number % 3 * 4096 + number / 3 % 7;
                let before = model.get(&number).copied();
                let reader = table.reader();
                let replaced = match adds {
                    true => {
                        model.insert(number, step);
                        table.put(number, Arc::new(step))
                    }
                    false => {
                        model.remove(&number);
                        table.remove(number)
                    }
                };
                prop_assert_eq!(replaced.as_deref().copied(), before);
                prop_assert_eq!(reader.get(number).map(|value| **value), before);
                prop_assert_eq!(table.is_empty(), model.is_empty());
                for (number, value) in &model {
                    prop_assert_eq!(table.get(*number).map(|value| *value), Some(*value));
                }
                prop_assert_eq!(table.get(number).map(|value| *value), model.get(&number).copied());
            }
        }
    }
}
