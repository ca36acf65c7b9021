//! Ports: items that exist because the hardware has a port with that name.
//!
//! The port's name determines its menu, by the prefixes that menus declare (`ether1`, `sfp1`, `wlan1`).
//! `default-name` identifies a port permanently; its `name` can be changed.

use std::sync::Arc;

use crate::{Id, Item, Menu, Reason, Store, Value};

impl Store {
    /// Returns the port with this default name; adds it in the open transaction if it does not exist. Stores
    /// its MAC address if given.
    ///
    /// # Errors
    /// The name is not a port name, or another interface has it.
    pub fn ensure_port(&mut self, name: &str, mac: Option<[u8; 6]>) -> Result<Id, Reason> {
        let (menu, _) = self
            .port_kind(name)
            .ok_or_else(|| Reason::no_match("default-name"))?;
        let index = self.index_of(menu).ok_or(Reason::NoItem)?;
        let known = self.port(name).map(|item| item.id);
        let id = match known {
            Some(id) => id,
            None => self.add_port(menu, index, name)?,
        };
        if let Some(mac) = mac {
            self.set_quietly(menu, index, id, "orig-mac-address", Value::Mac(mac));
        }
        Ok(id)
    }

    /// Returns the port with this default name.
    pub fn port(&self, default_name: &str) -> Option<&Arc<Item>> {
        let (menu, _) = self.port_kind(default_name)?;
        // Fast path: the name equals the default name unless the port was renamed.
        let by_name = menu.space.and_then(|space| self.named(space, default_name));
        let is_it = |item: &&Arc<Item>| item.text("default-name") == default_name;
        by_name
            .filter(is_it)
            .or_else(|| self.items(menu.path).find(is_it))
    }

    /// Returns the menu and the type of a port with this name: a prefix declared by a menu, then numbers.
    /// `None` if the name is no port name.
    pub fn port_kind(&self, name: &str) -> Option<(&'static Menu, &'static str)> {
        self.menus().iter().find_map(|menu| {
            let (_, kind) = menu
                .ports
                .iter()
                .find(|(start, _)| name.strip_prefix(start).is_some_and(is_number))?;
            Some((*menu, *kind))
        })
    }

    /// Adds a placeholder interface, for a check that continues after a refused command.
    pub fn suppose(&mut self, space: &str, name: &str) {
        let hidden = self
            .menus()
            .iter()
            .find(|m| m.hidden && m.space == Some(space));
        let Some(menu) = hidden else { return };
        if let Some(index) = self.index_of(menu) {
            // If the name is taken, the interface exists already.
            let _ = self.add_port(menu, index, name);
        }
    }

    /// Adds a placeholder for a refused item, for a check that continues. It has the name and the defaults, and
    /// need not meet other requirements.
    pub fn suppose_item(&mut self, menu: &'static Menu, name: &str) {
        let (Some(index), Some(key), Some(space)) = (self.index_of(menu), menu.key, menu.space)
        else {
            return;
        };
        let place = menu.index(key);
        let value = menu.property(key).map(|key| key.kind.parse(key.name, name));
        let (Some(place), Some(Ok(value)), None) = (place, value, self.named(space, name)) else {
            return;
        };
        let id = self.fresh_id(index);
        let mut values = self.tables[index].defaults.clone();
        values[place] = Some(value);
        let item = Item {
            menu,
            id,
            builtin: None,
            position: self.tables[index].last(),
            values: values.into(),
        };
        self.put(index, id, Some(Arc::new(item)));
    }

    fn add_port(&mut self, menu: &'static Menu, index: usize, name: &str) -> Result<Id, Reason> {
        if menu
            .space
            .is_some_and(|space| self.named(space, name).is_some())
        {
            return Err(Reason::failure("already have interface with such name"));
        }
        let id = self.fresh_id(index);
        let position = self.tables[index].last();
        let mut values = self.tables[index].defaults.clone();
        for property in ["name", "default-name"] {
            if let Some(place) = menu.index(property) {
                values[place] = Some(Value::text(name));
            }
        }
        let item = Item {
            menu,
            id,
            builtin: None,
            position,
            values: values.into(),
        };
        let item = Arc::new(item);
        self.put(index, id, Some(Arc::clone(&item)));
        self.follow(&item);
        Ok(id)
    }

    fn set_quietly(&mut self, menu: &'static Menu, index: usize, id: Id, name: &str, value: Value) {
        let Some(place) = menu.index(name) else {
            return;
        };
        let Some(item) = self.tables[index].items.get(&id).cloned() else {
            return;
        };
        if item.values[place].as_ref() == Some(&value) {
            return;
        }
        let mut values = item.values.to_vec();
        values[place] = Some(value);
        let item = Item {
            values: values.into(),
            ..(*item).clone()
        };
        self.put(index, id, Some(Arc::new(item)));
    }
}

/// True for port numbers such as `1` and `28-1`: digits, in groups joined by hyphens.
fn is_number(text: &str) -> bool {
    text.len() <= 8
        && text
            .split('-')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}
