//! The items of one menu and their indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Id, Item, Menu, Property, Unique, Value};

/// Distance between the positions of neighbours; leaves room to move items between neighbours.
const GAP: u64 = 1 << 24;

/// First position of default items, in menus whose other items depend on items of another menu.
pub(crate) const TAIL: u64 = 1 << 62;

/// The items of a menu, indexed by id, by position and by unique values.
pub(crate) struct Table {
    pub(crate) menu: &'static Menu,
    /// The menu's feature area, in users' words.
    pub(crate) area: &'static str,
    pub(crate) properties: Vec<&'static Property>,
    pub(crate) defaults: Vec<Option<Value>>,
    /// Index of the id counter. Menus that share a name space share the counter.
    pub(crate) domain: usize,
    pub(crate) items: BTreeMap<Id, Arc<Item>>,
    pub(crate) order: BTreeMap<u64, Id>,
    /// The tables with a dependent item for each item of this table.
    pub(crate) followers: Vec<usize>,
    /// One index per constraint of `unique`, then per constraint of `distinct`.
    unique: Vec<BTreeMap<Vec<Option<Value>>, Id>>,
}

impl Table {
    pub(crate) fn new(menu: &'static Menu, domain: usize) -> Self {
        let properties: Vec<_> = menu.all_properties().collect();
        // A default that its own type refuses is a fault of the declaration; a test of the schema detects it.
        let defaults = properties
            .iter()
            .map(|p| p.default.and_then(|text| p.kind.parse(p.name, text).ok()))
            .collect();
        let unique = rules(menu).map(|_| BTreeMap::new()).collect();
        Self {
            menu,
            area: menu.path,
            properties,
            defaults,
            domain,
            items: BTreeMap::new(),
            order: BTreeMap::new(),
            followers: Vec::new(),
            unique,
        }
    }

    pub(crate) fn link(&mut self, item: &Arc<Item>) {
        self.items.insert(item.id, Arc::clone(item));
        self.order.insert(item.position, item.id);
        for (rule, index) in rules(self.menu).zip(&mut self.unique) {
            if let Some(key) = rule.key(item.menu, &item.values) {
                index.insert(key, item.id);
            }
        }
    }

    pub(crate) fn unlink(&mut self, item: &Item) {
        self.items.remove(&item.id);
        if self.order.get(&item.position) == Some(&item.id) {
            self.order.remove(&item.position);
        }
        for (rule, index) in rules(self.menu).zip(&mut self.unique) {
            if let Some(key) = rule.key(item.menu, &item.values)
                && index.get(&key) == Some(&item.id)
            {
                index.remove(&key);
            }
        }
    }

    /// Returns the failure text if another item conflicts with these values.
    pub(crate) fn clash(&self, id: Option<Id>, values: &[Option<Value>]) -> Option<&'static str> {
        rules(self.menu)
            .zip(&self.unique)
            .find_map(|(rule, index)| {
                let key = rule.key(self.menu, values)?;
                let other = index.get(&key)?;
                (Some(*other) != id).then_some(rule.unique.failure)
            })
    }

    /// Returns the position after the last item; dependent items come before default items.
    pub(crate) fn last(&self) -> u64 {
        let end = match self.menu.follows.is_empty() {
            true => u64::MAX,
            false => TAIL,
        };
        self.order
            .range(..end)
            .next_back()
            .map_or(GAP, |(position, _)| position.saturating_add(GAP))
    }

    /// Returns a position before `next`; `None` if there is no gap.
    pub(crate) fn before(&self, next: u64) -> Option<u64> {
        let previous = self
            .order
            .range(..next)
            .next_back()
            .map_or(0, |(position, _)| *position);
        let middle = previous + (next - previous) / 2;
        (middle > previous && middle < next).then_some(middle)
    }

    /// Returns new positions for all items, with gaps and in the current order. All are beyond the current
    /// positions, so that no position is used twice while items move.
    pub(crate) fn spread(&self) -> Vec<(Id, u64)> {
        let positions = (0..).map(|index: u64| self.last().saturating_add(index * GAP));
        self.order.values().copied().zip(positions).collect()
    }
}

/// A uniqueness constraint.
struct Rule {
    unique: &'static Unique,
    /// True if the constraint applies to enabled items only and counts unset properties as values.
    distinct: bool,
}

/// The constraints of a menu, in the order of a table's indexes.
fn rules(menu: &'static Menu) -> impl Iterator<Item = Rule> {
    let of = |distinct| move |unique| Rule { unique, distinct };
    let always = menu.unique.iter().map(of(false));
    always.chain(menu.distinct.iter().map(of(true)))
}

impl Rule {
    /// Returns the values that must be unique; `None` if the constraint does not apply.
    fn key(&self, menu: &Menu, values: &[Option<Value>]) -> Option<Vec<Option<Value>>> {
        let value = |name: &str| values.get(menu.index(name)?)?.clone();
        let key: Vec<_> = self
            .unique
            .properties
            .iter()
            .map(|name| value(name))
            .collect();
        let asked = match self.distinct {
            false => key.iter().all(Option::is_some),
            true => {
                let disabled = value("disabled") == Some(Value::Bool(true));
                !disabled && !matches!(key.first(), None | Some(None | Some(Value::Reference(_))))
            }
        };
        asked.then_some(key)
    }
}
