//! Sorted map and set for collections that mostly hold a few entries.
//!
//! A node of a `BTreeMap` has room for eleven entries. A router has a map of addresses, groups or timers for each
//! interface and session, often with a single entry: a [`SmallMap`] allocates the size of its entries, and becomes a
//! `BTreeMap` beyond eight.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map;
use alloc::vec::{self, Vec};
use core::borrow::Borrow;
use core::ops::RangeInclusive;
use core::slice;

/// Number of entries above which the map becomes a `BTreeMap`.
const FEW: usize = 8;

/// A map sorted by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallMap<K, V>(Repr<K, V>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr<K, V> {
    /// At most [`FEW`] entries, in order of their keys.
    Few(Vec<(K, V)>),
    /// More entries; stays until the map is empty.
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self(Repr::Few(Vec::new()))
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    /// Returns an empty map, without allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self(Repr::Few(Vec::new()))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Few(entries) => entries.len(),
            Repr::Many(entries) => entries.len(),
        }
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match &self.0 {
            Repr::Few(entries) => {
                let at = position(entries, key).ok()?;
                entries.get(at).map(|(_, value)| value)
            }
            Repr::Many(entries) => entries.get(key),
        }
    }

    /// Returns the value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match &mut self.0 {
            Repr::Few(entries) => {
                let at = position(entries, key).ok()?;
                entries.get_mut(at).map(|(_, value)| value)
            }
            Repr::Many(entries) => entries.get_mut(key),
        }
    }

    /// Whether the key has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Sets the value of a key. Returns the value before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.grow();
        match &mut self.0 {
            Repr::Few(entries) => match position(entries, &key) {
                Ok(at) => Some(core::mem::replace(&mut entries[at].1, value)),
                Err(at) => {
                    insert_exact(entries, at, (key, value));
                    None
                }
            },
            Repr::Many(entries) => entries.insert(key, value),
        }
    }

    /// Returns the value of a key; inserts a default value if there is none.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.grow();
        match &mut self.0 {
            Repr::Few(entries) => {
                let at = position(entries, &key).unwrap_or_else(|at| {
                    insert_exact(entries, at, (key, V::default()));
                    at
                });
                &mut entries[at].1
            }
            Repr::Many(entries) => entries.entry(key).or_default(),
        }
    }

    /// Removes a key. Returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let removed = match &mut self.0 {
            Repr::Few(entries) => {
                let at = position(entries, key).ok()?;
                Some(entries.remove(at).1)
            }
            Repr::Many(entries) => entries.remove(key),
        };
        self.shrink();
        removed
    }

    /// Removes and returns the first entry.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        let first = match &mut self.0 {
            Repr::Few(entries) if entries.is_empty() => None,
            Repr::Few(entries) => Some(entries.remove(0)),
            Repr::Many(entries) => entries.pop_first(),
        };
        self.shrink();
        first
    }

    /// Returns the entries in order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        match &self.0 {
            Repr::Few(entries) => Iter::Few(entries.iter()),
            Repr::Many(entries) => Iter::Many(entries.iter()),
        }
    }

    /// Returns the entries whose keys are in the range, in order.
    pub fn range(&self, keys: RangeInclusive<K>) -> Iter<'_, K, V> {
        match &self.0 {
            Repr::Few(entries) => {
                let from = entries.partition_point(|(key, _)| key < keys.start());
                let to = entries.partition_point(|(key, _)| key <= keys.end());
                Iter::Few(entries.get(from..to).unwrap_or_default().iter())
            }
            Repr::Many(entries) => Iter::Range(entries.range(keys)),
        }
    }

    /// Keeps the entries for which the function returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        match &mut self.0 {
            Repr::Few(entries) => entries.retain_mut(|(key, value)| keep(key, value)),
            Repr::Many(entries) => entries.retain(keep),
        }
        self.shrink();
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values in order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Converts a full vector to a `BTreeMap`.
    fn grow(&mut self) {
        if let Repr::Few(entries) = &mut self.0
            && entries.len() >= FEW
        {
            self.0 = Repr::Many(core::mem::take(entries).into_iter().collect());
        }
    }

    /// Returns the memory of an empty map.
    fn shrink(&mut self) {
        if self.is_empty() {
            *self = Self::new();
        }
    }
}

/// Returns the position of a key, or where it belongs.
fn position<K: Borrow<Q>, V, Q: Ord + ?Sized>(entries: &[(K, V)], key: &Q) -> Result<usize, usize> {
    entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
}

/// Inserts an entry without room for further ones: most maps stay as they are.
fn insert_exact<T>(entries: &mut Vec<T>, at: usize, entry: T) {
    entries.reserve_exact(1);
    entries.insert(at, entry);
}

/// Entries of a [`SmallMap`] in order.
#[derive(Clone, Debug)]
pub enum Iter<'a, K, V> {
    /// Of few entries.
    Few(slice::Iter<'a, (K, V)>),
    /// Of many entries.
    Many(btree_map::Iter<'a, K, V>),
    /// Of a range of many entries.
    Range(btree_map::Range<'a, K, V>),
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(entries) => entries.next().map(|(key, value)| (key, value)),
            Self::Many(entries) => entries.next(),
            Self::Range(entries) => entries.next(),
        }
    }
}

impl<'a, K: Ord, V> IntoIterator for &'a SmallMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Entries of a [`SmallMap`] by value, in order.
#[derive(Debug)]
pub enum IntoIter<K, V> {
    /// Of few entries.
    Few(vec::IntoIter<(K, V)>),
    /// Of many entries.
    Many(btree_map::IntoIter<K, V>),
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Few(entries) => entries.next(),
            Self::Many(entries) => entries.next(),
        }
    }
}

impl<K, V> IntoIterator for SmallMap<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        match self.0 {
            Repr::Few(entries) => IntoIter::Few(entries.into_iter()),
            Repr::Many(entries) => IntoIter::Many(entries.into_iter()),
        }
    }
}

/// A sorted set for a few values; see [`SmallMap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallSet<T>(SmallMap<T, ()>);

impl<T> Default for SmallSet<T> {
    fn default() -> Self {
        Self(SmallMap::default())
    }
}

impl<T: Ord> SmallSet<T> {
    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a value. Returns whether it is new.
    pub fn insert(&mut self, value: T) -> bool {
        self.0.insert(value, ()).is_none()
    }

    /// Removes a value. Returns whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(value).is_some()
    }

    /// Whether the value is there.
    pub fn contains<Q: Ord + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(value)
    }

    /// Returns the first value.
    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    /// Removes and returns the first value.
    pub fn pop_first(&mut self) -> Option<T> {
        self.0.pop_first().map(|(value, ())| value)
    }

    /// Returns the values in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.keys()
    }

    /// Returns the values in the range, in order.
    pub fn range(&self, values: RangeInclusive<T>) -> impl Iterator<Item = &T> {
        self.0.range(values).map(|(value, ())| value)
    }
}

impl<T: Ord> Extend<T> for SmallSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn the_map_holds_what_a_tree_holds() {
        let mut rng = Rng::seeded(7);
        let (mut small, mut tree) = (SmallMap::new(), BTreeMap::new());
        for step in 0..20_000_u32 {
            // Ranges of keys below, at and above the number of few entries take turns.
            let key = rng.below([3, 9, 40][step as usize / 500 % 3]);
            match rng.below(4) {
                0 => assert_eq!(small.insert(key, step), tree.insert(key, step)),
                1 => {
                    *small.or_default(key) += 1;
                    *tree.entry(key).or_default() += 1;
                }
                2 => assert_eq!(small.remove(&key), tree.remove(&key)),
                _ if rng.below(50) == 0 => {
                    small.retain(|other, _| *other > key);
                    tree.retain(|other, _| *other > key);
                }
                _ if rng.below(20) == 0 => assert_eq!(small.pop_first(), tree.pop_first()),
                _ => assert_eq!(small.get(&key), tree.get(&key)),
            }
            assert_eq!(small.len(), tree.len());
            assert!(small.iter().eq(&tree), "step {step}");
            let (from, to) = (key.saturating_sub(2), key + 2);
            assert!(
                small.range(from..=to).eq(tree.range(from..=to)),
                "step {step}"
            );
        }
        assert!(small.into_iter().eq(tree));
    }

    #[test]
    fn an_empty_map_has_no_memory_and_one_entry_takes_its_size() {
        let mut map = SmallMap::new();
        assert!(map.pop_first().is_none());
        map.insert(1_u8, 2_u8);
        let Repr::Few(entries) = &map.0 else {
            panic!("one entry is few");
        };
        assert_eq!(entries.capacity(), 1);
        assert_eq!(map.remove(&1), Some(2));
        assert!(matches!(&map.0, Repr::Few(entries) if entries.capacity() == 0));
    }

    #[test]
    fn a_set_is_sorted_and_has_each_value_once() {
        let mut set = SmallSet::default();
        set.extend([3, 1, 2, 3]);
        assert!(set.iter().eq(&[1, 2, 3]) && !set.insert(1) && set.contains(&2));
        assert_eq!(set.first(), Some(&1));
        assert_eq!((set.pop_first(), set.len()), (Some(1), 2));
        assert!(set.remove(&2) && !set.remove(&2) && !set.is_empty());
    }
}
