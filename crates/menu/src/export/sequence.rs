//! In which sequence an export writes items: menu after menu, but what names an item of a later menu comes
//! behind it, so that a file can be read from top to bottom.
//!
//! Only what has to wait is looked at: a menu whose names are all those of earlier menus goes through as it is.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::named_before_use;
use crate::store::references;
use crate::view::compare_names;
use crate::{Id, Item, Menu, Shape, Store};

/// Items that are written one behind the other: one item, or all of a menu whose order has a meaning.
type Group = VecDeque<Arc<Item>>;

/// The menus of an export, and how far it has come.
pub(super) struct Sequence {
    menus: Vec<&'static Menu>,
    /// The place of a menu in the list, by its path.
    places: HashMap<&'static str, usize>,
    /// The place of the last menu whose items have names of a space.
    last: HashMap<&'static str, usize>,
    /// How many menus were opened.
    opened: usize,
    /// What is written next.
    ready: Group,
    /// What is looked at next.
    groups: VecDeque<Group>,
    /// What waits for the end of the menu of a place.
    waiting: BTreeMap<usize, VecDeque<Group>>,
    /// The items that wait, each with the place of the menu that it waits for.
    waits: HashMap<(&'static str, Id), usize>,
    /// Whether anything became ready since the waiting ones were looked at last.
    moved: bool,
}

impl Sequence {
    /// These menus, in their order.
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

    /// The next item, of those that are wanted; none at the end.
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
                // Items that name each other in a circle have no sequence: the first of them goes.
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

    /// Takes the items of a menu that are wanted, in order; none where a menu is no configuration.
    fn open(&mut self, store: &Store, menu: &'static Menu, wanted: &dyn Fn(&Item) -> bool) {
        if !menu.is_configuration() {
            return;
        }
        let stays =
            |item: &Item| !item.has_kept() && menu.passing.is_none_or(|passing| !passing(item));
        let items = store.items(menu.path);
        let mut items: Vec<_> = items.filter(|item| stays(item) && wanted(item)).collect();
        if menu.shape != Shape::Ordered {
            // Items with names go by name, after those that exist by themselves.
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
            (true, Shape::Ordered) => self.groups.push_back(items.collect()),
            (true, _) => self.groups = items.map(|item| Group::from([item])).collect(),
        }
    }

    /// Lets items go, or wait for the menu behind which they can be made.
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

    /// The place of the last menu that an item has to wait for.
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
