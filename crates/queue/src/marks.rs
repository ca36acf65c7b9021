//! Leaves of a tree by the marks of packets.

use std::collections::HashMap;

/// What stands for packets without a mark of their own here: whatever their mark.
const ANY: u32 = 0;

/// Values by mark. RouterOS: all leaves of a tree are asked at once; one without marks takes what no other does.
#[derive(Debug)]
pub struct ByMark<V> {
    /// By mark: numbers, in their order.
    marks: HashMap<u32, Vec<u64>>,
    values: HashMap<u64, (Vec<u32>, V)>,
}

impl<V> Default for ByMark<V> {
    fn default() -> Self {
        Self {
            marks: HashMap::new(),
            values: HashMap::new(),
        }
    }
}

impl<V> ByMark<V> {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Puts a value in for packets with one of these marks, or, without marks, for those that no other takes. Of
    /// several for one mark that with the lowest number counts.
    pub fn insert(&mut self, id: u64, marks: Vec<u32>, value: V) {
        self.remove(id);
        for mark in Self::each(&marks) {
            let list = self.marks.entry(mark).or_default();
            let at = list.partition_point(|other| *other < id);
            list.insert(at, id);
        }
        self.values.insert(id, (marks, value));
    }

    /// Takes one out.
    pub fn remove(&mut self, id: u64) -> Option<V> {
        let (marks, value) = self.values.remove(&id)?;
        for mark in Self::each(&marks) {
            if let Some(list) = self.marks.get_mut(&mark) {
                list.retain(|other| *other != id);
                if list.is_empty() {
                    self.marks.remove(&mark);
                }
            }
        }
        Some(value)
    }

    /// The one for a packet with this mark.
    pub fn find(&self, mark: u32) -> Option<&V> {
        let own = (mark != ANY).then(|| self.marks.get(&mark)).flatten();
        let id = own.or_else(|| self.marks.get(&ANY))?.first()?;
        self.values.get(id).map(|(_, value)| value)
    }

    fn each(marks: &[u32]) -> Vec<u32> {
        let mut each = marks.to_vec();
        if each.is_empty() {
            each.push(ANY);
        }
        each.sort_unstable();
        each.dedup();
        each
    }
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
        assert!(tree.is_empty() && tree.marks.is_empty());
    }
}
