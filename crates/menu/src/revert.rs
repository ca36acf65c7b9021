//! Reverts items that others may have changed since.
//!
//! A change holds the expected and the target state of an item. If the item has the expected state, it gets the
//! target state. If other properties of it were changed meanwhile, they are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{By, Change, Changes, Id, Item, Menu, MenuShape, Origin, Reason, Store};

/// Merges consecutive changes into one change per item.
#[derive(Debug, Default)]
pub(crate) struct NetChanges {
    places: BTreeMap<(&'static str, Id), usize>,
    list: Vec<Change>,
}

impl NetChanges {
    /// Adds the next change.
    pub(crate) fn add(&mut self, change: &Change) {
        let next = self.list.len();
        let place = self.places.entry((change.menu.path, change.id));
        let place = *place.or_insert(next);
        match self.list.get_mut(place) {
            Some(known) => known.after.clone_from(&change.after),
            None => self.list.push(change.clone()),
        }
    }

    pub(crate) fn into_list(mut self) -> Vec<Change> {
        self.list.retain(is_change);
        self.list
    }
}

/// True if the two states of the item differ.
pub(crate) fn is_change(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (None, None) => false,
        (Some(a), Some(b)) => a.position != b.position || !a.same_values(b),
        _ => true,
    }
}

impl Store {
    /// Makes the configuration equal to that of another store with the same menus, including ids, as one
    /// transaction. Items that exist by themselves are kept even if the other store lacks them.
    ///
    /// # Errors
    /// The change cannot be stored.
    pub fn become_like(&mut self, other: &Self, by: By) -> Result<Option<Arc<Changes>>, Reason> {
        let mut list = Vec::new();
        for (mine, theirs) in self.tables.iter().zip(&other.tables) {
            let ids: BTreeSet<_> = mine.items.keys().chain(theirs.items.keys()).collect();
            let changes = ids.into_iter().map(|id| Change {
                menu: mine.menu,
                id: *id,
                before: mine.items.get(id).cloned(),
                after: theirs.items.get(id).cloned(),
            });
            let stays =
                |change: &Change| change.menu.shape == MenuShape::Fixed && change.after.is_none();
            list.extend(changes.filter(|change| is_change(change) && !stays(change)));
        }
        for (mine, theirs) in self.next_ids.iter_mut().zip(&other.next_ids) {
            *mine = (*theirs).max(*mine);
        }
        self.transact(&list, by, Origin::User)
    }

    /// Applies changes in the open transaction.
    ///
    /// # Errors
    /// A restored item conflicts with another item.
    pub(crate) fn make(&mut self, list: &[Change]) -> Result<(), Reason> {
        let mut targets = Vec::new();
        let mut gone = Vec::new();
        // Remove all items before adding any, so that exchanged names and positions are free.
        for change in list {
            let Some(index) = self.index_of(change.menu) else {
                continue;
            };
            let now = self.tables[index].items.get(&change.id).cloned();
            let target = match (&change.before, &change.after, &now) {
                (_, None, Some(now)) if now.builtin.is_some() => continue,
                (_, None, Some(_)) => None,
                (None, Some(target), None) => Some(Arc::clone(target)),
                (Some(from), Some(to), Some(now)) => Some(merged(from, to, now)),
                // The item exists already, or was removed meanwhile.
                _ => continue,
            };
            if let Some(now) = now {
                self.put(index, change.id, None);
                gone.push(now);
            }
            targets.extend(target.map(|target| (index, target)));
        }
        for (index, target) in targets {
            self.put_back(index, target)?;
        }
        for item in gone {
            self.unname(&item);
        }
        Ok(())
    }

    fn put_back(&mut self, index: usize, item: Arc<Item>) -> Result<(), Reason> {
        let table = &self.tables[index];
        if let Some(failure) = table.clash(Some(item.id), &item.values) {
            return Err(Reason::failure(failure));
        }
        if let (Some(space), Some(name)) = (item.menu.space, item.name())
            && self.named(space, name).is_some()
        {
            return Err(Reason::failure(format!(
                "already have {space} with such name"
            )));
        }
        let item = match table.order.contains_key(&item.position) {
            false => item,
            // The position is taken: insert before the item that has it.
            true => {
                let position = table.before(item.position).unwrap_or_else(|| table.last());
                Arc::new(Item {
                    position,
                    ..(*item).clone()
                })
            }
        };
        self.put(index, item.id, Some(item));
        Ok(())
    }

    /// Turns references to a removed name into dangling references that hold the item's id.
    fn unname(&mut self, item: &Item) {
        if let (Some(space), Some(name)) = (item.menu.space, item.name())
            && self.named(space, name).is_none()
        {
            self.rename(space, name, &item.id.to_string());
        }
    }
}

/// Merges a change into the current item: properties that differ between `from` and `to` get the value of `to`,
/// unless they were changed meanwhile.
fn merged(from: &Item, to: &Arc<Item>, now: &Item) -> Arc<Item> {
    if from.position == now.position && from.same_values(now) && is_settable(to.menu) {
        return Arc::clone(to);
    }
    let mut values = now.values.to_vec();
    let properties = now.menu.all_properties().zip(&mut values);
    for ((property, value), (from, to)) in properties.zip(from.values.iter().zip(&to.values)) {
        // Read-only properties are not reverted, except the name of the item that this item depends on.
        let is_kept = property.read_only && now.menu.key != Some(property.name);
        if from != to && value == from && !is_kept {
            value.clone_from(to);
        }
    }
    let position = if now.position == from.position {
        to.position
    } else {
        now.position
    };
    Arc::new(Item {
        position,
        values: values.into(),
        ..now.clone()
    })
}

/// True if the router does not write to items of the menu itself.
fn is_settable(menu: &Menu) -> bool {
    menu.shape != MenuShape::Fixed
}
