//! The configuration as strings, for durable storage.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::edit::NameSource;
use crate::{
    By, Change, Changes, Id, Item, Kind, MenuShape, Origin, Property, Reason, Store, Value,
};

/// Names and values of an item in one allocation, because a configuration may have a million items. Each name
/// and each value is stored as a length in bytes (four bytes, little endian) followed by the text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SavedValues(Box<[u8]>);

impl SavedValues {
    /// Decodes [`Self::bytes`]; `None` if the data is damaged.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            next_text(&mut rest)?;
            next_text(&mut rest)?;
        }
        Some(Self(bytes.into()))
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Iterates over names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut rest = &*self.0;
        // The constructors have validated all texts.
        std::iter::from_fn(move || Some((next_text(&mut rest)?, next_text(&mut rest)?)))
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for SavedValues {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(values: I) -> Self {
        let mut bytes = Vec::new();
        for (name, value) in values {
            for text in [name.as_ref(), value.as_ref()] {
                bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        Self(bytes.into())
    }
}

impl fmt::Debug for SavedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Splits off a text with its length prefix.
fn next_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let (length, behind) = rest.split_first_chunk()?;
    let (text, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = behind;
    std::str::from_utf8(text).ok()
}

/// An item as strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedItem {
    /// The menu path. Items of a menu may share the allocation.
    pub path: Arc<str>,
    /// The item's id.
    pub id: u64,
    /// The position in the menu.
    pub position: u64,
    /// Index among the menu's default items, if the item is a default item.
    pub builtin: Option<u64>,
    /// The values that are set; missing properties are unset.
    pub values: SavedValues,
}

/// A changed item as strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedChange {
    /// State before the transaction; `None` if the item is new.
    pub before: Option<SavedItem>,
    /// State after the transaction; `None` if the item was removed.
    pub after: Option<SavedItem>,
}

/// A transaction as strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedChanges {
    /// The revision that the transaction created.
    pub revision: u64,
    /// Author and time.
    pub by: By,
    /// The cause.
    pub origin: Origin,
    /// The changed items.
    pub list: Vec<SavedChange>,
}

impl SavedChanges {
    /// Converts a transaction to strings.
    pub fn of(changes: &Changes) -> Self {
        let item = |item: &Option<Arc<Item>>| item.as_deref().map(SavedItem::of);
        let list = changes.list.iter().map(|change| SavedChange {
            before: item(&change.before),
            after: item(&change.after),
        });
        Self {
            revision: changes.revision,
            by: changes.by.clone(),
            origin: changes.origin,
            list: list.collect(),
        }
    }
}

/// A whole configuration as strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The revision.
    pub revision: u64,
    /// The last id assigned, by the path of a menu of each id domain.
    pub last_ids: Vec<(String, u64)>,
    /// The items in any order.
    pub items: Vec<SavedItem>,
}

impl SavedItem {
    /// Converts an item to strings.
    pub fn of(item: &Item) -> Self {
        Self {
            path: item.menu.path.into(),
            id: item.id.0,
            position: item.position,
            builtin: item.builtin.map(|number| number as u64),
            values: { item.values() }
                .map(|(property, value)| (property.name, value.to_string()))
                .collect(),
        }
    }

    /// True if converting `item` gives these strings, regardless of the order of values.
    fn is_of(&self, item: &Item) -> bool {
        let mut count = 0;
        // Fast path: the values usually have the same order.
        let mut in_order = self.values.iter();
        let all = item.values().all(|(property, value)| {
            count += 1;
            let next = in_order.next().filter(|(name, _)| *name == property.name);
            let mut all = self.values.iter();
            let saved = next.or_else(|| all.find(|(name, _)| *name == property.name));
            saved.is_some_and(|(_, text)| is_shown_as(value, text))
        });
        all && count == self.values.iter().count()
            && self.position == item.position
            && self.builtin == item.builtin.map(|number| number as u64)
    }

    /// Returns the item after a change, or the menu path and id of a removed item.
    pub fn after(change: &Change) -> Result<Self, (&'static str, u64)> {
        change
            .after
            .as_deref()
            .map(Self::of)
            .ok_or((change.menu.path, change.id.0))
    }
}

/// Parses a saved value without length limits: an older version may have accepted longer values.
fn parse_saved(property: &Property, text: &str) -> Result<Value, Reason> {
    let kind = match property.kind {
        Kind::Name | Kind::Filled | Kind::Sized { .. } => Kind::Text,
        kind => kind,
    };
    kind.parse(property.name, text)
}

/// True if a value's text equals `text`. Compares without allocating, because a start compares a million
/// values.
fn is_shown_as(value: &Value, text: &str) -> bool {
    struct Rest<'a>(&'a str);
    impl fmt::Write for Rest<'_> {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(piece).ok_or(fmt::Error)?;
            Ok(())
        }
    }
    let mut rest = Rest(text);
    write!(rest, "{value}").is_ok() && rest.0.is_empty()
}

impl Store {
    /// Compares this configuration with the result that [`Self::load`] would have. Returns a description of the
    /// first difference: the revision, or path and id of an item. Id counters are not compared, because they
    /// follow from the saved items.
    pub fn difference_to(&self, saved: &Saved) -> Option<String> {
        if self.revision != saved.revision {
            return Some(String::from("the revision"));
        }
        let mut by_place: HashMap<_, _> = { saved.items.iter() }
            .map(|item| ((&*item.path, item.id), item))
            .collect();
        let mut items = self.tables.iter().flat_map(|table| table.items.values());
        let differs = |item: &&Arc<Item>| {
            let saved = by_place.remove(&(item.menu.path, item.id.0));
            // Default items that were not saved are created on load.
            saved.map_or(item.builtin.is_none(), |saved| !saved.is_of(item))
        };
        if let Some(item) = items.find(differs) {
            return Some(format!("{} *{:X}", item.menu.path, item.id.0));
        }
        let left = by_place.keys().min();
        left.map(|(path, id)| format!("{path} *{id:X}"))
    }

    /// Converts the whole configuration to strings.
    pub fn save(&self) -> Saved {
        Saved {
            revision: self.revision,
            last_ids: self.last_ids(),
            items: self
                .tables
                .iter()
                .flat_map(|t| t.items.values().map(|i| SavedItem::of(i)))
                .collect(),
        }
    }

    /// Returns the last id assigned, by the path of the first menu of each id domain.
    pub fn last_ids(&self) -> Vec<(String, u64)> {
        let owner = |domain| self.tables.iter().find(|table| table.domain == domain);
        let counted = self
            .next_ids
            .iter()
            .enumerate()
            .filter(|(_, last)| **last > 0);
        counted
            .filter_map(|(d, last)| Some((owner(d)?.menu.path.to_owned(), *last)))
            .collect()
    }

    /// Replaces the configuration by a saved one, without journal. Returns descriptions of all items and values
    /// that this version does not support; skipping them lets the router start.
    pub fn load(&mut self, saved: &Saved) -> Vec<String> {
        let mark = self.begin();
        let mut lost = Vec::new();
        let domain = |(path, _): &(String, u64)| {
            let index = self.menu(path).and_then(|menu| self.index_of(menu))?;
            Some(self.tables[index].domain)
        };
        let counted: Vec<_> = saved.last_ids.iter().filter_map(domain).collect();
        let filled: BTreeSet<_> = saved.items.iter().map(|item| &*item.path).collect();
        for index in 0..self.tables.len() {
            let menu = self.tables[index].menu;
            // Default items are kept in menus that did not exist when the configuration was saved.
            let known = counted.contains(&self.tables[index].domain) || filled.contains(menu.path);
            if menu.shape != MenuShape::Settings && known {
                let ids: Vec<_> = self.tables[index].items.keys().copied().collect();
                ids.into_iter().for_each(|id| self.put(index, id, None));
            }
        }
        for item in &saved.items {
            self.load_item(item, &mut lost);
        }
        // Ids that were assigned before are not reused.
        for (path, last) in &saved.last_ids {
            if let Some(index) = self.menu(path).and_then(|menu| self.index_of(menu)) {
                let domain = self.tables[index].domain;
                self.next_ids[domain] = self.next_ids[domain].max(*last);
            }
        }
        self.complete(saved);
        self.settle();
        self.follow_all();
        self.revision = saved.revision;
        // Neither journaled nor part of the history: the journal holds it already.
        self.forget(mark);
        lost
    }

    /// Adds the default items of menus that did not exist when the configuration was saved. Removable default
    /// items are added only if the whole menu is new.
    fn complete(&mut self, saved: &Saved) {
        for index in 0..self.tables.len() {
            let menu = self.tables[index].menu;
            let mut counted = saved.last_ids.iter();
            if menu.removable && counted.any(|(path, _)| path == menu.path) {
                continue;
            }
            for builtin in 0..self.tables[index].menu.builtin.len() {
                let is_it = |item: &Arc<Item>| item.builtin == Some(builtin);
                if !self.tables[index].items.values().any(is_it) {
                    self.make_builtin(index, builtin);
                }
            }
        }
    }

    /// Resolves names in values again, once all items exist.
    fn settle(&mut self) {
        for index in 0..self.tables.len() {
            let refers = |property: &&Property| matches!(property.kind, Kind::List(_));
            let properties = self.tables[index].properties.clone();
            if !properties.iter().any(|p| refers(p) && p.kind.refers()) {
                continue;
            }
            let items: Vec<_> = self.tables[index].items.values().cloned().collect();
            for item in items {
                let mut values = item.values.to_vec();
                for (property, value) in properties.iter().zip(&mut values) {
                    let Some(value) = value.as_mut().filter(|_| property.kind.refers()) else {
                        continue;
                    };
                    self.reread(property, value);
                }
                if values[..] != item.values[..] {
                    let item = Item {
                        values: values.into(),
                        ..(*item).clone()
                    };
                    self.put(index, item.id, Some(Arc::new(item)));
                }
            }
        }
    }

    /// Resolves the names in a saved value. Unresolved names are kept.
    fn reread(&self, property: &'static Property, value: &mut Value) {
        let mut read = value.clone();
        if self.resolve(NameSource::Saved, property, &mut read).is_ok() {
            *value = read;
        }
    }

    fn load_item(&mut self, saved: &SavedItem, lost: &mut Vec<String>) {
        let Some(index) = self.menu(&saved.path).and_then(|menu| self.index_of(menu)) else {
            lost.push(format!("{} *{:X}", saved.path, saved.id));
            return;
        };
        let item = self.read_item(index, saved, lost);
        let domain = self.tables[index].domain;
        // The id of a default item may be far above all other ids.
        if item.builtin.is_none() {
            self.next_ids[domain] = self.next_ids[domain].max(saved.id);
        }
        self.put(index, item.id, Some(Arc::new(item)));
    }

    /// Converts strings to an item. Values that this version does not support are left out and described in
    /// `lost`.
    fn read_item(&self, index: usize, saved: &SavedItem, lost: &mut Vec<String>) -> Item {
        let table = &self.tables[index];
        let mut values = vec![None; table.properties.len()];
        let mut is_known = vec![false; table.properties.len()];
        for (name, text) in saved.values.iter() {
            let parsed = table.menu.index(name).map(|place| {
                is_known[place] = true;
                (place, parse_saved(table.properties[place], text))
            });
            match parsed {
                Some((place, Ok(value))) => values[place] = Some(value),
                _ => lost.push(format!("{} *{:X} {name}={text}", saved.path, saved.id)),
            }
        }
        // A property that did not exist when the item was saved gets its default.
        for (place, property) in table.properties.iter().enumerate() {
            if !is_known[place] && !property.unset {
                values[place] = table.defaults[place].clone();
            }
        }
        let builtin = saved
            .builtin
            .and_then(|number| usize::try_from(number).ok());
        Item {
            menu: table.menu,
            id: Id(saved.id),
            builtin,
            position: saved.position,
            values: values.into(),
        }
    }

    /// Converts strings to an item; `None` if this version does not support all of its values.
    pub fn item_of(&self, saved: &SavedItem) -> Option<Arc<Item>> {
        let index = self.index_of(self.menu(&saved.path)?)?;
        let mut lost = Vec::new();
        let mut item = self.read_item(index, saved, &mut lost);
        let properties = self.tables[index].properties.iter();
        for (property, value) in properties.zip(&mut item.values) {
            if let Some(value) = value.as_mut().filter(|_| property.kind.refers()) {
                self.reread(property, value);
            }
        }
        lost.is_empty().then(|| Arc::new(item))
    }

    /// Converts strings to a transaction; `None` if this version does not support all of its values.
    pub fn changes_of(&self, saved: &SavedChanges) -> Option<Changes> {
        let item = |saved: &Option<SavedItem>| match saved {
            None => Some(None),
            Some(saved) => self.item_of(saved).map(Some),
        };
        let list = saved.list.iter().map(|change| {
            let either = change.before.as_ref().or(change.after.as_ref())?;
            Some(Change {
                menu: self.menu(&either.path)?,
                id: Id(either.id),
                before: item(&change.before)?,
                after: item(&change.after)?,
            })
        });
        Some(Changes {
            revision: saved.revision,
            by: saved.by.clone(),
            origin: saved.origin,
            list: list.collect::<Option<_>>()?,
        })
    }
}
