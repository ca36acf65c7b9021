//! Atomic changes to items in the open transaction.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use crate::store::references;
use crate::{
    Draft, ExportSelector, Gateway, Id, Item, Kind, Menu, Property, Reason, Sealed, Store, Value,
};

/// The source of a text, which decides how names of other items are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameSource {
    /// Typed by a user: names, unique prefixes and ids.
    Typed,
    /// Read from a file. Ids refer to another configuration, so they are kept as dangling references, as in an
    /// export.
    Filed,
    /// Written by the store: full names, and ids as dangling references.
    Saved,
}

/// Property values; `None` unsets the property.
type PropertyValues<'a> = &'a [(&'static str, Option<Value>)];
/// Property values, owned if they had to be parsed again.
type OwnedPropertyValues<'a> = Cow<'a, [(&'static str, Option<Value>)]>;

impl Store {
    /// Parses the value of a property and resolves names of other items. An empty text unsets the property if
    /// its type has no empty value.
    ///
    /// # Errors
    /// [`Reason::BadValue`] with the console's message.
    pub fn parse(&self, property: &'static Property, text: &str) -> Result<Option<Value>, Reason> {
        self.parse_from(NameSource::Typed, property, text)
    }

    /// Parses the value of a property from a text of the given source.
    ///
    /// # Errors
    /// As for [`Store::parse`].
    pub fn parse_from(
        &self,
        names: NameSource,
        property: &'static Property,
        text: &str,
    ) -> Result<Option<Value>, Reason> {
        let keeps_empty = matches!(
            property.kind,
            Kind::Text | Kind::List(_) | Kind::Set(_) | Kind::Marked(_) | Kind::Presence
        );
        if text.is_empty() && !keeps_empty && !property.required && property.default.is_none() {
            return Ok(None);
        }
        if property.sealed && !text.is_empty() {
            return self.seal(None, text).map(Some);
        }
        let mut value = property.kind.parse(property.name, text)?;
        if property.kind == Kind::Presence && value == Value::Bool(false) {
            return Ok(None);
        }
        self.resolve(names, property, &mut value)?;
        Ok(Some(value))
    }

    /// Adds an item at the end or before another one, and returns its id.
    ///
    /// # Errors
    /// A required property is missing, a value is invalid, or the item exists already.
    pub fn add(
        &mut self,
        menu: &'static Menu,
        given: PropertyValues<'_>,
        before: Option<Id>,
    ) -> Result<Id, Reason> {
        let index = self.index_of(menu).ok_or(Reason::NoItem)?;
        let mut values = self.tables[index].defaults.clone();
        self.fill_in(index, None, &mut values, given)?;
        self.name_it(index, &mut values);
        forget_verifiers(menu, &mut values);
        let missing: Vec<_> = self.tables[index]
            .properties
            .iter()
            .zip(&values)
            .filter(|(p, value)| p.required && value.as_ref().is_none_or(Value::is_empty))
            .map(|(p, _)| p.name)
            .collect();
        if !missing.is_empty() {
            return Err(Reason::Missing(missing));
        }
        self.examine(index, None, &values)?;
        let position = self.position(index, before)?;
        let id = self.fresh_id(index);
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

    /// Changes values of an item. If its name changes, all references to it change as well.
    ///
    /// # Errors
    /// A value is invalid or exists already, or there is no such item.
    pub fn set(
        &mut self,
        menu: &'static Menu,
        id: Id,
        given: PropertyValues<'_>,
    ) -> Result<(), Reason> {
        let index = self
            .index_of(menu)
            .and_then(|i| self.owner(i, id))
            .ok_or(Reason::NoItem)?;
        let old = self.tables[index]
            .items
            .get(&id)
            .cloned()
            .ok_or(Reason::NoItem)?;
        let mut values = old.values.to_vec();
        let given = self.as_owner_takes(index, menu, given)?;
        self.fill_in(index, Some(&old), &mut values, &given)?;
        forget_verifiers(menu, &mut values);
        if values[..] == old.values[..] {
            return Ok(());
        }
        if !stays_builtin(&old, &values) {
            return Err(Reason::failure("can not change builtin"));
        }
        stays_with_its_item(&old, &values)?;
        keeps_a_name(&old, &values)?;
        keeps_what_is_settled(&old, &values)?;
        self.keeps_what_it_needs(index, &old, &values)?;
        self.examine(index, Some(id), &values)?;
        let item = Arc::new(Item {
            values: values.into(),
            ..(*old).clone()
        });
        if names_itself(&old, &item) {
            return Err(Reason::failure("can not refer to itself"));
        }
        self.put(index, id, Some(Arc::clone(&item)));
        if let (Some(space), Some(was), Some(is)) = (old.menu.space, old.name(), item.name())
            && was != is
        {
            self.rename(space, was, is);
        }
        Ok(())
    }

    /// Refuses to unset a property that `add` requires.
    fn keeps_what_it_needs(
        &self,
        index: usize,
        old: &Item,
        values: &[Option<Value>],
    ) -> Result<(), Reason> {
        let is_empty = |value: &Option<Value>| value.as_ref().is_none_or(Value::is_empty);
        let properties = self.tables[index].properties.iter();
        let emptied = properties
            .zip(old.values.iter().zip(values))
            .filter(|(property, (was, is))| property.required && !is_empty(was) && is_empty(is));
        let emptied: Vec<_> = emptied.map(|(property, _)| property.name).collect();
        match emptied.is_empty() {
            true => Ok(()),
            false => Err(Reason::Missing(emptied)),
        }
    }

    /// Removes an item. References to it become dangling references that hold its id.
    ///
    /// # Errors
    /// There is no such item, or it cannot be removed.
    pub fn remove(&mut self, menu: &'static Menu, id: Id) -> Result<(), Reason> {
        let index = self
            .index_of(menu)
            .and_then(|i| self.owner(i, id))
            .ok_or(Reason::NoItem)?;
        let item = self.tables[index]
            .items
            .get(&id)
            .cloned()
            .ok_or(Reason::NoItem)?;
        if item.builtin.is_some() && !item.menu.removable {
            return Err(Reason::failure("can not remove builtin"));
        }
        if !item.menu.grows() || item.is_port() {
            return Err(Reason::failure("can not remove"));
        }
        self.put(index, id, None);
        self.unfollow(&item);
        if let (Some(space), Some(name)) = (item.menu.space, item.name()) {
            self.rename(space, name, &id.to_string());
        }
        Ok(())
    }

    /// Moves an item before item `before`, or to the end of the menu.
    ///
    /// # Errors
    /// There is no such item.
    pub fn move_before(
        &mut self,
        menu: &'static Menu,
        id: Id,
        before: Option<Id>,
    ) -> Result<(), Reason> {
        let index = self.index_of(menu).ok_or(Reason::NoItem)?;
        if before == Some(id) {
            return Ok(());
        }
        let position = self.position(index, before)?;
        let item = self.tables[index].items.get(&id).ok_or(Reason::NoItem)?;
        let moved = Item {
            position,
            ..(**item).clone()
        };
        self.put(index, id, Some(Arc::new(moved)));
        Ok(())
    }

    /// Resets properties to the values that `add` would set: the default, or unset.
    ///
    /// # Errors
    /// There is no such item.
    pub fn reset(&mut self, menu: &'static Menu, id: Id, names: &[&str]) -> Result<(), Reason> {
        let index = self
            .index_of(menu)
            .and_then(|i| self.owner(i, id))
            .ok_or(Reason::NoItem)?;
        let builtin = self.tables[index]
            .items
            .get(&id)
            .and_then(|item| item.builtin);
        let baseline = self.baseline(index, builtin);
        let given: Vec<_> = self.tables[index]
            .properties
            .iter()
            .zip(baseline)
            .filter(|(p, _)| names.contains(&p.name) && !p.read_only)
            .map(|(p, value)| (p.name, value))
            .collect();
        self.set(menu, id, &given)
    }

    /// Generates a missing name: the first free name with the menu's prefix.
    fn name_it(&self, index: usize, values: &mut [Option<Value>]) {
        let menu = self.tables[index].menu;
        let Some(place) = menu.key.and_then(|key| menu.index(key)) else {
            return;
        };
        if values[place].is_some() || self.tables[index].properties[place].required {
            return;
        }
        let taken = |name: &str| {
            menu.space
                .is_some_and(|space| self.named(space, name).is_some())
        };
        let start = if menu.naming.is_empty() {
            menu.kind
        } else {
            menu.naming
        };
        // In a long menu, start counting at the number of items: searching from 1 would take too long.
        let count = self.tables[index].items.len();
        let first = if count < 100 { 1 } else { count };
        let name = (first..)
            .map(|n| format!("{start}{n}"))
            .find(|name| !taken(name));
        values[place] = name.map(Value::text);
    }

    fn position(&mut self, index: usize, before: Option<Id>) -> Result<u64, Reason> {
        let Some(before) = before else {
            return Ok(self.tables[index].last());
        };
        let next = self.tables[index]
            .items
            .get(&before)
            .ok_or(Reason::NoItem)?
            .position;
        if let Some(position) = self.tables[index].before(next) {
            return Ok(position);
        }
        for (id, position) in self.tables[index].spread() {
            if let Some(item) = self.tables[index].items.get(&id).cloned() {
                self.put(
                    index,
                    id,
                    Some(Arc::new(Item {
                        position,
                        ..(*item).clone()
                    })),
                );
            }
        }
        let next = self.tables[index]
            .items
            .get(&before)
            .ok_or(Reason::NoItem)?
            .position;
        self.tables[index]
            .before(next)
            .ok_or(Reason::Limit("items"))
    }

    /// Converts values parsed for a view to the types of the menu that owns the item, which may be narrower.
    fn as_owner_takes<'a>(
        &self,
        index: usize,
        menu: &'static Menu,
        given: PropertyValues<'a>,
    ) -> Result<OwnedPropertyValues<'a>, Reason> {
        let owner = self.tables[index].menu;
        if owner.path == menu.path {
            return Ok(Cow::Borrowed(given));
        }
        let taken = given.iter().map(|(name, value)| {
            let property = owner.property(name).filter(|p| !p.read_only);
            let property = property.ok_or(Reason::ExpectedEnd)?;
            let value = match value {
                // A dangling reference was accepted when the value was parsed.
                Some(value) => self.parse_from(NameSource::Filed, property, &value.to_string())?,
                None => None,
            };
            Ok((*name, value))
        });
        taken.collect::<Result<_, _>>().map(Cow::Owned)
    }

    /// Overlays the given values and derives dependent ones.
    fn fill_in(
        &self,
        index: usize,
        old: Option<&Item>,
        values: &mut [Option<Value>],
        given: PropertyValues<'_>,
    ) -> Result<(), Reason> {
        let table = &self.tables[index];
        for (name, value) in given {
            let place = table.menu.index(name).ok_or(Reason::ExpectedEnd)?;
            let property = table.properties[place];
            values[place] = match value {
                None if property.unset || old.is_none() || property.default.is_none() => None,
                None => table.defaults[place].clone(),
                some => some.clone(),
            };
        }
        if let Some(derive) = table.menu.derive {
            let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
            derive(&mut Draft {
                menu: table.menu,
                values,
                given: &names,
            });
        }
        Ok(())
    }

    /// Checks all constraints on an item with these values.
    fn examine(
        &self,
        index: usize,
        id: Option<Id>,
        values: &[Option<Value>],
    ) -> Result<(), Reason> {
        let table = &self.tables[index];
        let menu = table.menu;
        if let Some(failure) = table.clash(id, values) {
            return Err(Reason::failure(failure));
        }
        if let (Some(space), Some(key)) = (menu.space, menu.key)
            && let Some(name) = menu
                .index(key)
                .and_then(|place| values[place].as_ref()?.as_str())
            && let Some(other) = self.named(space, name)
            && Some(other.id) != id
        {
            return Err(Reason::failure(format!(
                "already have {space} with such name"
            )));
        }
        self.check_listed(index, id, values)?;
        if let Some(check) = menu.check {
            let mut values = values.to_vec();
            check(
                &Draft {
                    menu,
                    values: &mut values,
                    given: &[],
                },
                self,
            )?;
        }
        Ok(())
    }

    /// Refuses to rename an item to a name with a comma or semicolon if a list refers to it: these characters
    /// separate list elements, so the list could not be parsed again.
    fn check_listed(
        &self,
        index: usize,
        id: Option<Id>,
        values: &[Option<Value>],
    ) -> Result<(), Reason> {
        let table = &self.tables[index];
        let old = id.and_then(|id| table.items.get(&id));
        let (Some(space), Some(was)) = (table.menu.space, old.and_then(|old| old.name())) else {
            return Ok(());
        };
        let key = table.menu.key.and_then(|key| table.menu.index(key));
        let is = key.and_then(|place| values[place].as_ref()?.as_str());
        let Some(is) = is.filter(|is| *is != was && is.contains([',', ';'])) else {
            return Ok(());
        };
        let users = { self.spaces.get(space) }.and_then(|space| space.users.get(was));
        let is_listed = users.into_iter().flatten().any(|(user, _)| {
            let properties = &self.tables[*user].properties;
            let mut lists = properties.iter().map(|property| &property.kind);
            lists.any(|kind| matches!(kind, Kind::List(_)) && kind.spaces().contains(&space))
        });
        match is_listed {
            true => Err(Reason::failure(format!(
                "{is}: {was} is in a list, where names can not contain a comma or a semicolon"
            ))),
            false => Ok(()),
        }
    }

    /// Replaces all references to a name.
    pub(crate) fn rename(&mut self, space: &'static str, was: &str, is: &str) {
        self.move_references(space, was, is, |_| false);
    }

    /// Replaces references to a name, except in items of menus for whose path `stays` returns true.
    pub fn move_references(
        &mut self,
        space: &'static str,
        was: &str,
        is: &str,
        stays: impl Fn(&str) -> bool,
    ) {
        let users = self
            .spaces
            .get(space)
            .and_then(|space| space.users.get(was));
        let users: Vec<_> = users.into_iter().flatten().copied().collect();
        for (index, id) in users {
            if stays(self.tables[index].menu.path) {
                continue;
            }
            let Some(item) = self.tables[index].items.get(&id).cloned() else {
                continue;
            };
            let mut values = item.values.to_vec();
            for (property, value) in self.tables[index].properties.iter().zip(&mut values) {
                // A name space that is searched earlier may also have the name: then the reference means that
                // item.
                let mut earlier = property
                    .kind
                    .spaces()
                    .into_iter()
                    .take_while(|s| *s != space);
                if let Some(value) = value
                    && !earlier.any(|other| self.named(other, was).is_some())
                {
                    rename_value(property, value, space, was, is);
                }
            }
            let renamed = Item {
                values: values.into(),
                ..(*item).clone()
            };
            self.put(index, id, Some(Arc::new(renamed)));
        }
    }

    /// Checks and expands the names of other items in a value.
    pub(crate) fn resolve(
        &self,
        names: NameSource,
        property: &'static Property,
        value: &mut Value,
    ) -> Result<(), Reason> {
        let spaces = property.kind.spaces();
        let Some(space) = spaces.first().copied() else {
            return Ok(());
        };
        match value {
            Value::Reference(name) => {
                let found = spaces
                    .iter()
                    .find_map(|space| self.full_name(names, property.name, space, name).ok());
                *name = match found {
                    Some(found) => found,
                    None => self.full_name(names, property.name, space, name)?,
                };
            }
            Value::Gateway(gateway) => {
                self.resolve_gateway(names, property.name, space, gateway)?;
            }
            Value::Not(value) => self.resolve(names, property, value)?,
            Value::Tuple(_, values) => {
                for value in values.iter_mut() {
                    self.resolve(names, property, value)?;
                }
            }
            Value::List(values) => {
                for value in values {
                    self.resolve(names, property, value)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn resolve_gateway(
        &self,
        names: NameSource,
        property: &str,
        space: &str,
        gateway: &mut Gateway,
    ) -> Result<(), Reason> {
        // `pppoe-user@isp` may be the name of an interface rather than an interface in a routing table.
        if let (None, Some(interface), Some(table)) =
            (gateway.address, &gateway.interface, &gateway.table)
        {
            let whole = format!("{interface}@{table}");
            if self.named(space, &whole).is_some() {
                gateway.interface = Some(whole.into());
                gateway.table = None;
            }
        }
        if let Some(interface) = &mut gateway.interface {
            *interface = self.full_name(names, property, space, interface)?;
        }
        if let Some(table) = &mut gateway.table {
            *table = self.full_name(names, property, "routing-table", table)?;
        }
        Ok(())
    }

    /// Expands a name, a unique prefix, or an id to the full name.
    fn full_name(
        &self,
        from: NameSource,
        property: &str,
        space: &str,
        text: &str,
    ) -> Result<Box<str>, Reason> {
        if from == NameSource::Saved {
            return Ok(text.into());
        }
        let Some(names) = self.spaces.get(space).map(|space| &space.names) else {
            return Err(Reason::no_match(property));
        };
        let is_id = || Id::parse(text).is_some();
        if names.contains_key(text) || from == NameSource::Filed && is_id() {
            return Ok(text.into());
        }
        if let Some(id) = Id::parse(text) {
            let item = self.members(space).find(|item| item.id == id);
            let name = item.and_then(|item| item.name().map(Box::from));
            return name.ok_or_else(|| Reason::no_match(property));
        }
        let from = (Bound::Included(text), Bound::Unbounded);
        let mut matches = names.range::<str, _>(from).map(|(name, _)| name);
        let mut next = || matches.next().filter(|name| name.starts_with(text));
        match (next(), next()) {
            (Some(name), None) => Ok(name.clone()),
            (Some(_), Some(_)) => Err(Reason::BadValue(format!(
                "ambiguous value of {property}, more than one possible value matches input"
            ))),
            _ => Err(Reason::no_match(property)),
        }
    }

    /// True if an item holds a dangling reference: the item it named was removed.
    pub fn is_dangling(&self, item: &Item) -> bool {
        references(item)
            .iter()
            .any(|(space, name)| name.starts_with('*') && self.named(space, name).is_none())
    }
}

fn rename_value(property: &Property, value: &mut Value, space: &str, was: &str, is: &str) {
    match value {
        Value::Not(value) => rename_value(property, value, space, was, is),
        Value::Tuple(_, values) => {
            for value in values.iter_mut() {
                rename_value(property, value, space, was, is);
            }
        }
        Value::List(values) => {
            for value in values {
                rename_value(property, value, space, was, is);
            }
        }
        Value::Reference(name) if **name == *was && property.kind.spaces().contains(&space) => {
            *name = is.into();
        }
        Value::Gateway(gateway) => {
            let slot = match space {
                "routing-table" => &mut gateway.table,
                _ => &mut gateway.interface,
            };
            if slot.as_deref() == Some(was) {
                *slot = Some(is.into());
            }
        }
        _ => {}
    }
}

/// Refuses to change properties that the internal values were derived from.
fn keeps_what_is_settled(old: &Item, values: &[Option<Value>]) -> Result<(), Reason> {
    if !old.has_kept() {
        return Ok(());
    }
    let places = old.menu.settled.iter();
    let mut places = places.filter_map(|name| Some((*name, old.menu.index(name)?)));
    match places.find(|(_, place)| old.values[*place] != values[*place]) {
        Some((name, _)) => Err(Reason::failure(format!(
            "can not change {name} of an existing item"
        ))),
        None => Ok(()),
    }
}

/// Refuses to unset the name of an item: references to it would be lost.
fn keeps_a_name(old: &Item, values: &[Option<Value>]) -> Result<(), Reason> {
    let Some(key) = old.menu.key.filter(|_| old.name().is_some()) else {
        return Ok(());
    };
    let place = old.menu.index(key);
    match place.and_then(|place| values[place].as_ref()) {
        Some(name) if !name.is_empty() => Ok(()),
        _ => Err(Reason::BadValue(format!(
            "invalid value for argument {key}"
        ))),
    }
}

/// Refuses to change the key of an item that belongs to an item of another menu.
fn stays_with_its_item(old: &Item, values: &[Option<Value>]) -> Result<(), Reason> {
    let key = old.menu.key.filter(|_| !old.menu.follows.is_empty());
    let place = key.and_then(|key| Some((key, old.menu.index(key)?)));
    match place {
        Some((key, place)) if old.values[place] != values[place] => {
            Err(Reason::failure(format!("can not change {key}")))
        }
        _ => Ok(()),
    }
}

/// True if a change makes an item refer to itself. No `add` command could recreate such an item.
fn names_itself(old: &Item, item: &Item) -> bool {
    let own = |(space, name): &(&str, &str)| {
        Some(*space) == old.menu.space && (Some(*name) == old.name() || Some(*name) == item.name())
    };
    references(item).iter().any(own)
}

/// True unless the change renames or disables a default item that is known by its name.
fn stays_builtin(old: &Item, values: &[Option<Value>]) -> bool {
    let menu = old.menu;
    let known = old.builtin.is_some() && menu.pick == ExportSelector::Find && !menu.removable;
    let same = |name: &str| {
        let place = menu.index(name);
        place.is_none_or(|place| old.values[place] == values[place])
    };
    !known || menu.key.is_none_or(same) && same("disabled")
}

/// Removes verifiers of passwords that are bound to another name than that of their item.
fn forget_verifiers(menu: &Menu, values: &mut [Option<Value>]) {
    let name = menu.key.and_then(|key| menu.index(key));
    let name = name.and_then(|place| values.get(place)?.as_ref()?.as_str().map(str::to_owned));
    for (property, value) in menu.all_properties().zip(values) {
        let text = value.as_ref().and_then(Value::as_str);
        let sealed = text.filter(|_| property.is_password()).map(Sealed::parse);
        let strange = sealed.filter(|sealed| sealed.is_of_another(name.as_deref()));
        if let Some(sealed) = strange {
            *value = Some(Value::text(sealed.seal));
        }
    }
}
