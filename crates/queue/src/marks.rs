//! Leaves of a tree, found by packet marks.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::index::Table;

/// Values ordered by number; usually one value.
type List<V> = SmallVec<[(u64, V); 1]>;

/// Values by mark. RouterOS searches all leaves of a tree at once; a leaf without marks gets the packets that
/// no other leaf matches.
#[derive(Debug)]
pub struct ByMark<V> {
    /// Values without marks.
    any: List<V>,
    marked: Table<u32, List<V>>,
    /// Marks of each inserted value, by number.
    marks: HashMap<u64, Vec<u32>>,
}

impl<V> Default for ByMark<V> {
    fn default() -> Self {
        Self {
            any: List::new(),
            marked: Table::default(),
            marks: HashMap::new(),
        }
    }
}

impl<V> ByMark<V> {
    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Removes a value. Returns true if the value existed.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(marks) = self.marks.remove(&id) else {
            return false;
        };
        self.any.retain(|(other, _)| *other != id);
        for mark in marks {
            if let Some(list) = self.marked.get_mut(&mark) {
                list.retain(|(other, _)| *other != id);
                if list.is_empty() {
                    self.marked.remove(&mark);
                }
            }
        }
        true
    }

    /// Returns the value for packets with this mark.
    #[inline]
    pub fn find(&self, mark: u32) -> Option<&V> {
        let own = match self.marked.is_empty() {
            true => None,
            false => self.marked.get(&mark),
        };
        own.unwrap_or(&self.any).first().map(|(_, value)| value)
    }
}

impl<V: Clone> ByMark<V> {
    /// Inserts a value for packets with one of these marks; without marks, for packets that no other value
    /// matches. If several values have the same mark, the lowest number wins.
    pub fn insert(&mut self, id: u64, mut marks: Vec<u32>, value: V) {
        self.remove(id);
        marks.sort_unstable();
        marks.dedup();
        if marks.is_empty() {
            put(&mut self.any, id, value.clone());
        }
        for mark in &marks {
            put(self.marked.entry(*mark).or_default(), id, value.clone());
        }
        self.marks.insert(id, marks);
    }
}

fn put<V>(list: &mut List<V>, id: u64, value: V) {
    let at = list.partition_point(|(other, _)| *other < id);
    list.insert(at, (id, value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_without_marks_takes_what_no_other_does() {
        let mut tree = ByMark::default();
        assert_eq!(tree.find(7), None);
        tree.insert(3, vec![7, 8], 'a');
        tree.insert(2, vec![8], 'b');
        assert_eq!(tree.find(7), Some(&'a'));
        assert_eq!(tree.find(8), Some(&'b'), "the lower number");
        assert_eq!(tree.find(9), None);
        assert_eq!(tree.find(0), None);
        tree.insert(9, vec![], 'c');
        assert_eq!(
            [7, 8, 9, 0].map(|mark| *tree.find(mark).unwrap()),
            ['a', 'b', 'c', 'c']
        );
        tree.remove(2);
        tree.insert(3, vec![7], 'a');
        assert_eq!([7, 8].map(|mark| *tree.find(mark).unwrap()), ['a', 'c']);
        tree.remove(3);
        tree.remove(9);
        assert!(tree.is_empty() && tree.marked.is_empty() && tree.any.is_empty());
    }
}
