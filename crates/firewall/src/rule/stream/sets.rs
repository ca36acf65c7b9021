//! Interned sets of found patterns: most connections have the empty set, and the rest share a few sets.

use std::collections::HashMap;

/// Maximum number of sets at a time.
const SETS: usize = 4096;

/// Reference to an interned set of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatternSet {
    /// Generation of the table of sets; 12 bits.
    age: u16,
    /// Index in the table; 0 is the empty set.
    index: u16,
}

impl PatternSet {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self { age: 0, index: 0 };

    /// Returns true if the set is known to be empty.
    #[inline(always)]
    pub(crate) const fn is_empty(self) -> bool {
        self.index == 0
    }

    /// Encodes the reference in 28 bits.
    pub(super) const fn to_bits(self) -> u32 {
        (self.age as u32) << 16 | self.index as u32
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        Self {
            age: (bits >> 16 & 0xfff) as u16,
            index: bits as u16,
        }
    }
}

/// Table of interned sets. When it is full, all sets are dropped; older references then refer to the empty
/// set.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    age: u16,
    /// The sorted numbers of each set; index 0 belongs to reference 1.
    sets: Vec<Box<[u64]>>,
    indices: HashMap<Box<[u64]>, u16>,
}

impl Sets {
    /// Interns the set of these numbers.
    pub(super) fn of(&mut self, numbers: impl Iterator<Item = u64>) -> PatternSet {
        let mut numbers: Vec<u64> = numbers.collect();
        if numbers.is_empty() {
            return PatternSet::EMPTY;
        }
        numbers.sort_unstable();
        numbers.dedup();
        let numbers = numbers.into_boxed_slice();
        if let Some(index) = self.indices.get(&numbers) {
            return self.at(*index);
        }
        if self.sets.len() >= SETS {
            self.sets.clear();
            self.indices.clear();
            self.age = (self.age + 1) & 0xfff;
        }
        self.sets.push(numbers.clone());
        let index = self.sets.len() as u16;
        self.indices.insert(numbers, index);
        self.at(index)
    }

    const fn at(&self, index: u16) -> PatternSet {
        PatternSet {
            age: self.age,
            index,
        }
    }

    /// Returns true if a set contains a number.
    #[inline]
    pub(super) fn has(&self, found: PatternSet, number: u64) -> bool {
        let Some(index) = found.index.checked_sub(1) else {
            return false;
        };
        let set = self.sets.get(usize::from(index));
        found.age == self.age && set.is_some_and(|set| set.contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_share_one_entry() {
        let mut sets = Sets::default();
        let set = sets.of([5, 3, 5].into_iter());
        assert_eq!(sets.of([3, 5].into_iter()), set);
        assert_eq!(PatternSet::from_bits(set.to_bits()), set);
        assert!(sets.has(set, 3) && sets.has(set, 5) && !sets.has(set, 4));
        assert!(sets.of([].into_iter()).is_empty());
    }

    #[test]
    fn an_overfull_cache_is_cleared_at_once() {
        let mut sets = Sets::default();
        let first = sets.of([0, 1].into_iter());
        for number in 0..3 * SETS as u64 {
            let set = sets.of([number, 1 << 40].into_iter());
            assert!(sets.has(set, number) && sets.sets.len() <= SETS);
            assert_eq!(sets.indices.len(), sets.sets.len());
        }
        assert!(!sets.has(first, 0) && !sets.has(first, 1));
    }
}
