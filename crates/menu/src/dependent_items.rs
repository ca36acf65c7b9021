//! Dependent items that are added and removed with others, such as a switch port for each port; and items that
//! existed by default in older versions.

use std::sync::Arc;

use crate::{Id, Item, Menu, Reason, Store, Value};

impl Store {
    /// Adds the dependent items of a new item.
    pub(crate) fn follow(&mut self, item: &Item) {
        let (Some(index), Some(name)) = (self.index_of(item.menu), item.name()) else {
            return;
        };
        for follower in self.tables[index].followers.clone() {
            self.make_follower(follower, name);
        }
    }

    /// Removes the dependent items of a removed item, while its name still resolves.
    pub(crate) fn unfollow(&mut self, item: &Item) {
        let (Some(index), Some(space), Some(name)) =
            (self.index_of(item.menu), item.menu.space, item.name())
        else {
            return;
        };
        let followers = self.tables[index].followers.clone();
        let users = self.spaces.get(space).and_then(|s| s.users.get(name));
        let gone: Vec<_> = users
            .into_iter()
            .flatten()
            .filter(|(table, id)| {
                let item = self.tables[*table].items.get(id);
                followers.contains(table) && item.and_then(|item| item.name()) == Some(name)
            })
            .copied()
            .collect();
        for (table, id) in gone {
            self.put(table, id, None);
        }
    }

    /// Adds all missing dependent items.
    pub(crate) fn follow_all(&mut self) {
        for index in 0..self.tables.len() {
            for follower in self.tables[index].followers.clone() {
                let of = |table: usize| self.tables[table].items.values();
                let has: std::collections::BTreeSet<_> =
                    of(follower).filter_map(|item| item.name()).collect();
                let missing: Vec<String> = of(index)
                    .filter_map(|item| item.name())
                    .filter(|name| !has.contains(name))
                    .map(str::to_owned)
                    .collect();
                for name in missing {
                    self.make_follower(follower, &name);
                }
            }
        }
    }

    fn make_follower(&mut self, table: usize, name: &str) {
        let menu = self.tables[table].menu;
        let Some(key) = menu.key.and_then(|key| menu.index(key)) else {
            return;
        };
        let mut values = self.tables[table].defaults.clone();
        values[key] = Some(Value::Reference(name.into()));
        self.begin_as(menu, name, &mut values);
        let id = self.fresh_id(table);
        let item = Item {
            menu,
            id,
            builtin: None,
            position: self.tables[table].last(),
            values: values.into(),
        };
        self.put(table, id, Some(Arc::new(item)));
    }

    /// Sets the initial values of a dependent item for the item with this name.
    pub(crate) fn begin_as(&self, menu: &'static Menu, name: &str, values: &mut [Option<Value>]) {
        let space = menu.key.and_then(|key| menu.property(key)?.kind.space());
        let Some(of) = space.and_then(|space| self.named(space, name)) else {
            return;
        };
        let follow = menu
            .follows
            .iter()
            .find(|follow| follow.path == of.menu.path);
        for (name, text) in follow.map_or(&[][..], |follow| follow.values) {
            if let (Some(place), Some(property)) = (menu.index(name), menu.property(name)) {
                values[place] = property.kind.parse(name, text).ok();
            }
        }
    }

    /// Adds the item that existed by default in older versions of this menu, unless it exists, in the open
    /// transaction. Returns `None` if older versions had no such item.
    ///
    /// # Errors
    /// The item cannot be added.
    pub fn ensure_supposed(
        &mut self,
        menu: &'static Menu,
        name: &str,
    ) -> Result<Option<Id>, Reason> {
        let first = |supposed: &&crate::Builtin| supposed.values.first().copied();
        let found = menu
            .supposed
            .iter()
            .find(|supposed| first(supposed).is_some_and(|(_, value)| value == name))
            .or(menu.supposed.first());
        let Some((supposed, (key, value))) = found.and_then(|s| Some((s, first(&s)?))) else {
            return Ok(None);
        };
        let there = self
            .items(menu.path)
            .find(|item| item.get(key).is_some_and(|is| is.to_string() == value));
        if let Some(item) = there {
            return Ok(Some(item.id));
        }
        let mut given = Vec::new();
        for (name, text) in supposed.values {
            let Some(property) = menu.property(name) else {
                continue;
            };
            // Items that it refers to may also have existed by default.
            for space in property.kind.spaces() {
                self.ensure_named(space, text)?;
            }
            given.push((property.name, self.parse(property, text)?));
        }
        self.add(menu, &given, None).map(Some)
    }

    /// Adds hardware parts up to the given number, or the part with the given name, as far as the menu's limit
    /// allows.
    ///
    /// # Errors
    /// A part cannot be added.
    pub fn ensure_part(&mut self, menu: &'static Menu, text: &str) -> Result<(), Reason> {
        let is_number = text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        if let (Some(number), true) = (text.parse::<usize>().ok(), is_number) {
            let there = self.items(menu.path).count();
            let missing = there..menu.parts.min(number.saturating_add(1));
            return missing
                .into_iter()
                .try_for_each(|_| self.make_part(menu, None));
        }
        let named = menu.key.is_some() && text.starts_with(|c: char| c.is_ascii_alphabetic());
        let full = self.items(menu.path).count() >= menu.parts;
        if !named || full || self.by_name(menu, text).is_some() {
            return Ok(());
        }
        self.make_part(menu, Some(text))
    }

    fn make_part(&mut self, menu: &'static Menu, name: Option<&str>) -> Result<(), Reason> {
        let mut given = Vec::new();
        if let (Some(name), Some(key)) = (name, menu.key.and_then(|key| menu.property(key))) {
            let Ok(value) = key.kind.parse(key.name, name) else {
                return Ok(());
            };
            given.push((key.name, Some(value)));
        }
        self.add(menu, &given, None).map(drop)
    }

    /// Adds the item with this name in a name space if it existed by default in older versions. Returns whether
    /// an item with the name exists.
    ///
    /// # Errors
    /// The item cannot be added.
    pub fn ensure_named(&mut self, space: &str, name: &str) -> Result<bool, Reason> {
        if self.named(space, name).is_some() {
            return Ok(true);
        }
        let menu = self.menus().iter().find(|menu| {
            let has = |supposed: &crate::Builtin| {
                let (key, value) = supposed.values.first().copied().unwrap_or_default();
                menu.key == Some(key) && value == name
            };
            menu.space == Some(space) && menu.supposed.iter().any(has)
        });
        match menu {
            Some(menu) => Ok(self.ensure_supposed(menu, name)?.is_some()),
            None => Ok(false),
        }
    }
}
