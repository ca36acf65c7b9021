//! Limits of a server's connections that are not open yet.

use alloc::collections::BTreeSet;

/// Connections that a server accepted and that are not open yet. Two limits hold, for one address and for all
/// addresses: a new connection beyond a limit replaces the oldest connection. Later connections have higher numbers.
#[derive(Debug)]
pub struct HalfOpen<A, I> {
    max: usize,
    max_of_address: usize,
    by_address: BTreeSet<(A, I)>,
    by_age: BTreeSet<I>,
}

impl<A: Copy + Ord, I: Copy + Ord> HalfOpen<A, I> {
    /// Returns an empty set that holds `max` connections of all addresses, and `max_of_address` of each.
    pub const fn new(max: usize, max_of_address: usize) -> Self {
        Self {
            max,
            max_of_address,
            by_address: BTreeSet::new(),
            by_age: BTreeSet::new(),
        }
    }

    /// Returns the connection that has to give way to a new one of this address.
    pub fn excess(&self, address: A) -> Option<I> {
        let oldest = *self.by_age.first()?;
        let of_address = self.by_address.range((address, oldest)..);
        let mut of_address = of_address.take_while(|(other, _)| *other == address);
        let oldest_of_address = of_address.next().map(|(_, id)| *id);
        // The first one is counted too.
        match of_address.count() + 1 >= self.max_of_address {
            true => oldest_of_address,
            false => (self.by_age.len() >= self.max).then_some(oldest),
        }
    }

    /// Adds a connection. The caller has removed the one that [`Self::excess`] returned.
    pub fn insert(&mut self, address: A, id: I) {
        self.by_address.insert((address, id));
        self.by_age.insert(id);
    }

    /// Removes a connection that opened or ended. Does nothing for other ones.
    pub fn remove(&mut self, address: A, id: I) {
        self.by_address.remove(&(address, id));
        self.by_age.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_an_address_or_of_all_gives_way() {
        let mut all = HalfOpen::new(5, 2);
        assert_eq!(all.excess('a'), None);
        for (address, id) in [('b', 1), ('a', 2), ('a', 3)] {
            all.insert(address, id);
        }
        assert_eq!(
            (all.excess('a'), all.excess('b'), all.excess('c')),
            (Some(2), None, None)
        );
        all.remove('a', 2);
        assert_eq!(all.excess('a'), None);
        for (address, id) in [('c', 4), ('d', 5), ('e', 6)] {
            all.insert(address, id);
        }
        assert_eq!((all.excess('f'), all.excess('c')), (Some(1), Some(1)));
        let mut one = HalfOpen::new(5, 1);
        one.insert('a', 1);
        assert_eq!(one.excess('a'), Some(1));
    }
}
