//! Converts configuration of older RouterOS versions that moved to other menus, as RouterOS's own upgrade does.

use menu::{Id, Link, Menu, MovedProperties, Reason, Refusal, Store, Value};

use super::Result;
use super::property_values::PropertyValues;
use crate::ast::Argument;
use crate::evaluated_command::{EvaluatedCommand, RouterAccess};

/// True if an argument is an older property that moved to another menu.
pub(super) fn belongs_elsewhere(menu: &Menu, argument: &Argument) -> bool {
    menu.property(&argument.name).is_none() && split_of(menu, argument).is_some()
}

/// Refusal for a moved property in a command other than `add`.
pub(super) fn moved(menu: &Menu, argument: &Argument) -> Reason {
    let path = split_of(menu, argument).map_or("", |split| split.menu);
    Reason::failure(format!("{} is set in {path} now", argument.name))
}

fn split_of(menu: &Menu, argument: &Argument) -> Option<&'static MovedProperties> {
    let has = |split: &&MovedProperties| split.words.iter().any(|(word, _)| *word == argument.name);
    menu.splits.iter().find(has)
}

/// Refuses values that RouterOS removed and that have no replacement.
pub(super) fn refuse_lost(menu: &Menu, argument: &Argument, text: Option<&str>) -> Result<()> {
    for value in text.unwrap_or_default().split([',', ';']) {
        if let Some(lost) = menu
            .lost
            .iter()
            .find(|lost| lost.words.contains(&&*argument.name) && lost.values.contains(&value))
        {
            let text = format!("{}={value}: {}", argument.name, lost.why);
            return Err(Reason::failure(text).at(argument.at));
        }
    }
    Ok(())
}

/// Converts items of a file from an older version that could not be converted command by command.
pub(crate) fn upgrade(store: &mut Store) -> Result<()> {
    let upgrades = store.menus().iter().filter_map(|menu| menu.upgrade);
    let upgrades: Vec<_> = upgrades.collect();
    let mut upgrades = upgrades.into_iter();
    let done = upgrades.try_for_each(|upgrade| upgrade(store));
    done.map_err(Refusal::from)
}

impl RouterAccess<'_> {
    /// Creates the items that the new item refers to.
    pub(super) fn make_named(
        &mut self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
        given: &mut PropertyValues,
    ) -> Result<()> {
        for split in menu.splits {
            let Link::Names(property, letters) = split.link else {
                continue;
            };
            let Some((other, mut values)) = self.values_of(menu, split, ready)? else {
                continue;
            };
            let space = other.space.unwrap_or_default();
            let names = (1_u32..).map(|number| format!("{letters}{number}"));
            let mut free = names.filter(|name| self.store.named(space, name).is_none());
            let name = Value::text(free.next().unwrap_or_default());
            values.push((other.key.unwrap_or("name"), Some(name.clone())));
            self.add_other(other, &values)?;
            let text = name.to_string();
            if let Some(property) = menu.property(property) {
                let value = self.store.parse(property, &text).map_err(Reason::nowhere)?;
                given.retain(|(name, _)| *name != property.name);
                given.push((property.name, value));
            }
        }
        Ok(())
    }

    /// Creates the items that refer to the new item.
    pub(super) fn make_naming(
        &mut self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
        id: Id,
    ) -> Result<()> {
        for split in menu.splits {
            let Link::NamedBy(property) = split.link else {
                continue;
            };
            let Some((other, mut values)) = self.values_of(menu, split, ready)? else {
                continue;
            };
            let name = self.store.item(menu.path, id).and_then(|item| item.name());
            let name = name.unwrap_or_default().to_owned();
            if let Some(property) = other.property(property) {
                let value = self.store.parse(property, &name).map_err(Reason::nowhere)?;
                values.push((property.name, value));
            }
            self.add_other(other, &values)?;
        }
        Ok(())
    }

    fn add_other(&mut self, other: &'static Menu, values: &PropertyValues) -> Result<()> {
        let added = self.store.add(other, values, None);
        added.map(drop).map_err(Reason::nowhere)
    }

    /// Returns the menu and the values of the other item; `None` if the command has none of the moved
    /// properties.
    fn values_of(
        &self,
        menu: &Menu,
        split: &'static MovedProperties,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<Option<(&'static Menu, PropertyValues)>> {
        let Some(other) = self.store.menu(split.menu) else {
            return Ok(None);
        };
        let mut values = PropertyValues::new();
        for (argument, _) in ready.arguments() {
            let word = split.words.iter().find(|(word, _)| *word == argument.name);
            let Some((word, property)) = word else {
                continue;
            };
            let Some(property) = other.property(property) else {
                continue;
            };
            let text = ready.text(word).unwrap_or_default();
            refuse_lost(other, argument, Some(&text))?;
            let now = |value: &str| {
                let known = split.values.iter();
                let mut known = known.filter(|(own, was, _)| own == word && *was == value);
                known
                    .next()
                    .map_or(value.to_owned(), |(_, _, now)| (*now).to_owned())
            };
            let parts: Vec<_> = text.split(',').map(now).collect();
            let value = self.store.parse(property, &parts.join(","));
            values.push((
                property.name,
                value.map_err(|reason| reason.at(argument.at))?,
            ));
        }
        // A property that this menu still has is no sign of an older version.
        let is_older = |(word, _): &&(&str, &str)| ready.has(word) && menu.property(word).is_none();
        let older = split.words.iter().find(is_older);
        Ok(older.map(|_| (other, values)))
    }
}
