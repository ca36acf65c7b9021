//! The order of items in an export: menu by menu, but an item that refers to an item of a later menu follows
//! that item, so that the file can be run from top to bottom.
//!
//! Only items that must wait are examined further: a menu whose references all lead to earlier menus is written
//! as it is.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::named_before_use;
use crate::rows::compare_names;
use crate::store::references;
use crate::{Id, Item, Menu, MenuShape, Store};

/// Items that are written together: one item, or all items of an ordered menu.
type Group = VecDeque<Arc<Item>>;

/// The menus of an export and the progress.
pub(super) struct Sequence {
    menus: Vec<&'static Menu>,
    /// Index of each menu by path.
    places: HashMap<&'static str, usize>,
    /// For each name space, the index of the last menu with names in the space.
    last: HashMap<&'static str, usize>,
    /// Number of menus opened so far.
    opened: usize,
    /// Items to write next.
    ready: Group,
    /// Groups to examine next.
    groups: VecDeque<Group>,
    /// Groups waiting for the end of a menu, by the menu's index.
    waiting: BTreeMap<usize, VecDeque<Group>>,
    /// The waiting items, each with the index of the menu that it waits for.
    waits: HashMap<(&'static str, Id), usize>,
    /// True if an item became ready since the waiting groups were last examined.
    moved: bool,
}

impl Sequence {
    /// Creates the sequence for menus in the given order.
    pub(super) fn new(menus: Vec<&'static Menu>) -> Self {
        let numbered = menus.iter().enumerate();
        let named = numbered.clone().filter(|(_, menu)| menu.is_configuration());
        Self {
            places: numbered.map(|(place, menu)| (menu.path, place)).collect(),
            last: named
                .filter_map(|(place, menu)| Some((menu.space?, place)))
                .collect(),
            menus,
            opened: 0,
            ready: Group::new(),
            groups: VecDeque::new(),
            waiting: BTreeMap::new(),
            waits: HashMap::new(),
            moved: true,
        }
    }

    /// Returns the next item that `wanted` accepts; `None` at the end.
    pub(super) fn next(
        &mut self,
        store: &Store,
        wanted: &dyn Fn(&Item) -> bool,
    ) -> Option<Arc<Item>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if let Some(group) = self.groups.pop_front() {
                self.look_at(store, group);
                continue;
            }
            let now = self.opened.saturating_sub(1);
            if let Some(groups) = self.waiting.remove(&now) {
                self.groups = groups;
                // Items that refer to each other in a cycle have no valid order: write the first one.
                if !std::mem::replace(&mut self.moved, false) {
                    let first = self.groups.pop_front();
                    first.into_iter().for_each(|group| self.let_go(group));
                }
                continue;
            }
            let menu = *self.menus.get(self.opened)?;
            self.opened += 1;
            self.moved = true;
            self.open(store, menu, wanted);
        }
    }

    /// Loads the exportable items of a menu that `wanted` accepts. Menus without configuration have none.
    fn open(&mut self, store: &Store, menu: &'static Menu, wanted: &dyn Fn(&Item) -> bool) {
        if !menu.is_configuration() {
            return;
        }
        let stays =
            |item: &Item| !item.has_kept() && menu.passing.is_none_or(|passing| !passing(item));
        let items = store.items(menu.path);
        let mut items: Vec<_> = items.filter(|item| stays(item) && wanted(item)).collect();
        if menu.shape != MenuShape::Ordered {
            // Named items are sorted by name, after the default items.
            items.sort_by(|a, b| {
                let builtin = b.builtin.is_some().cmp(&a.builtin.is_some());
                builtin.then_with(|| match (a.name(), b.name()) {
                    (Some(a), Some(b)) => compare_names(a, b),
                    _ => a.builtin.cmp(&b.builtin),
                })
            });
        }
        let items = named_before_use(menu, items).into_iter().cloned();
        let now = self.opened - 1;
        let later = |space| self.last.get(space).is_some_and(|last| *last > now);
        let mut spaces = menu.properties().flat_map(|p| p.kind.spaces());
        let may_wait = !self.waits.is_empty() || spaces.any(later);
        match (may_wait, menu.shape) {
            (false, _) => self.ready = items.collect(),
            (true, MenuShape::Ordered) => self.groups.push_back(items.collect()),
            (true, _) => self.groups = items.map(|item| Group::from([item])).collect(),
        }
    }

    /// Releases a group, or lets it wait for the menu after which it can be created.
    fn look_at(&mut self, store: &Store, group: Group) {
        let now = self.opened.saturating_sub(1);
        for item in &group {
            self.waits.remove(&(item.menu.path, item.id));
        }
        let places = group.iter().filter_map(|item| self.waits_for(store, item));
        match places.max() {
            None => self.let_go(group),
            Some(place) => {
                let place = place.max(now);
                let ids = group.iter().map(|item| (item.menu.path, item.id));
                self.waits.extend(ids.map(|id| (id, place)));
                self.waiting.entry(place).or_default().push_back(group);
            }
        }
    }

    /// Returns the index of the last menu that an item must wait for.
    fn waits_for(&self, store: &Store, item: &Item) -> Option<usize> {
        let now = self.opened.saturating_sub(1);
        let named = references(item).into_iter();
        let named = named.filter_map(|(space, name)| store.named(space, name));
        let named = named.filter(|named| (named.menu.path, named.id) != (item.menu.path, item.id));
        let places = named.filter_map(|named| {
            let place = self.places.get(named.menu.path).copied();
            let waits = self.waits.get(&(named.menu.path, named.id)).copied();
            place.filter(|place| *place > now).max(waits)
        });
        places.max()
    }

    fn let_go(&mut self, group: Group) {
        for item in &group {
            self.waits.remove(&(item.menu.path, item.id));
        }
        self.moved = true;
        self.ready.extend(group);
    }
}
