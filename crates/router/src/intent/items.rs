//! Items by number, with indexes by name and by dependency: finding the dependants of an interface does not scan all
//! items.

use core::ops::Deref;
use std::collections::BTreeMap;

use machine::SmallSet;

use super::{ItemId, Name};

/// Keys of an item in the indexes.
pub trait Indexed {
    /// Name that other items use to refer to it.
    fn name(&self) -> Option<&Name> {
        None
    }

    /// The interface that it depends on; for a port, the device.
    fn stands_on(&self) -> Option<&Name>;

    /// Key among the items of that interface: the address of a neighbour.
    fn address(&self) -> u128 {
        0
    }
}

/// The items of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Items<T> {
    items: BTreeMap<ItemId, T>,
    named: BTreeMap<Name, SmallSet<ItemId>>,
    /// By interface: the items on it, by their keys.
    on: BTreeMap<Name, SmallSet<(u128, ItemId)>>,
}

impl<T> Default for Items<T> {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            named: BTreeMap::new(),
            on: BTreeMap::new(),
        }
    }
}

impl<T> Deref for Items<T> {
    type Target = BTreeMap<ItemId, T>;

    fn deref(&self) -> &Self::Target {
        &self.items
    }
}

impl<T: Indexed> Items<T> {
    /// Inserts, replaces or removes an item. Returns the previous item.
    pub fn set(&mut self, item: ItemId, value: Option<T>) -> Option<T> {
        let before = match value {
            Some(value) => {
                enter(&mut self.named, value.name(), item);
                enter(&mut self.on, value.stands_on(), (value.address(), item));
                self.items.insert(item, value)
            }
            None => self.items.remove(&item),
        };
        let old = before.as_ref()?;
        let new = self.items.get(&item);
        if new.and_then(T::name) != old.name() {
            leave(&mut self.named, old.name(), item);
        }
        let entry = |value: &T| (value.stands_on().cloned(), value.address());
        if new.map(entry) != Some(entry(old)) {
            leave(&mut self.on, old.stands_on(), (old.address(), item));
        }
        before
    }

    /// Returns the first item with this name.
    pub fn first_named(&self, name: &str) -> Option<ItemId> {
        self.named.get(name)?.first().copied()
    }

    /// Returns the items that depend on the interface or device with this name, by key and item.
    pub fn on(&self, name: &str) -> impl Iterator<Item = (ItemId, &T)> {
        let items = { self.on.get(name).into_iter() }.flat_map(SmallSet::iter);
        items.filter_map(|(_, item)| Some((*item, self.items.get(item)?)))
    }

    /// Returns the items on an interface that have this key, in order.
    pub fn at(&self, name: &str, address: u128) -> impl Iterator<Item = (ItemId, &T)> {
        let range = (address, ItemId::MIN)..=(address, ItemId::MAX);
        let items =
            { self.on.get(name).into_iter() }.flat_map(move |items| items.range(range.clone()));
        items.filter_map(|(_, item)| Some((*item, self.items.get(item)?)))
    }

    /// Returns the names of all interfaces and devices that items depend on.
    pub fn grounds(&self) -> impl Iterator<Item = &Name> {
        self.on.keys()
    }
}

fn enter<K: Ord>(index: &mut BTreeMap<Name, SmallSet<K>>, name: Option<&Name>, item: K) {
    if let Some(name) = name {
        index.entry(name.clone()).or_default().insert(item);
    }
}

fn leave<K: Ord>(index: &mut BTreeMap<Name, SmallSet<K>>, name: Option<&Name>, item: K) {
    if let Some(name) = name
        && let Some(items) = index.get_mut(name)
    {
        items.remove(&item);
        if items.is_empty() {
            index.remove(name);
        }
    }
}

impl<T: Indexed> FromIterator<(ItemId, T)> for Items<T> {
    fn from_iter<I: IntoIterator<Item = (ItemId, T)>>(items: I) -> Self {
        let mut made = Self::default();
        for (item, value) in items {
            made.set(item, Some(value));
        }
        made
    }
}

impl<'a, T> IntoIterator for &'a Items<T> {
    type Item = (&'a ItemId, &'a T);
    type IntoIter = std::collections::btree_map::Iter<'a, ItemId, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Thing(Name, Name, u128);

    impl Indexed for Thing {
        fn name(&self) -> Option<&Name> {
            Some(&self.0)
        }

        fn stands_on(&self) -> Option<&Name> {
            Some(&self.1)
        }

        fn address(&self) -> u128 {
            self.2
        }
    }

    #[test]
    fn indexes_follow_their_items_and_keep_nothing_of_those_that_went() {
        let thing = |name: &str, on: &str| Some(Thing(name.into(), on.into(), 0));
        let mut items = Items::default();
        items.set(1, thing("a", "x"));
        items.set(2, thing("a", "y"));
        let before = items.set(1, thing("b", "y"));

        assert_eq!(before, thing("a", "x"));
        assert_eq!(items.first_named("a"), Some(2));
        assert_eq!(items.on("x").count(), 0);
        let on: Vec<_> = items.on("y").map(|(item, _)| item).collect();
        assert_eq!(on, [1, 2]);
        items.set(1, None);
        items.set(2, None);
        assert_eq!(items, Items::default());
    }

    #[test]
    fn items_of_an_interface_are_found_by_address() {
        let thing = |address| Some(Thing("a".into(), "x".into(), address));
        let mut items = Items::default();
        for (item, address) in [(1, 7), (2, 8), (3, 7)] {
            items.set(item, thing(address));
        }
        let at = |items: &Items<Thing>, address| {
            items
                .at("x", address)
                .map(|(item, _)| item)
                .collect::<Vec<_>>()
        };
        assert_eq!((at(&items, 7), at(&items, 8)), (vec![1, 3], vec![2]));
        items.set(1, thing(8));
        assert_eq!((at(&items, 7), at(&items, 8)), (vec![3], vec![1, 2]));
        for item in [1, 2, 3] {
            items.set(item, None);
        }
        assert_eq!(items, Items::default());
    }
}
