//! The property values of a command, with property names and values of older RouterOS versions translated.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use menu::{AutoValue, Menu, NameSource, Property, Reason, Value};

use super::{Result, older_versions};
use crate::ast::{Argument, Node};
use crate::evaluated_command::{self, EvaluatedCommand, RouterAccess};
use crate::implicit_items;

/// Property values; `None` unsets the property.
pub(super) type PropertyValues = Vec<(&'static str, Option<Value>)>;

impl RouterAccess<'_> {
    /// Returns the property values of a command, translated from older versions.
    pub(super) fn given(
        &mut self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<PropertyValues> {
        let mut given = PropertyValues::with_capacity(ready.command.arguments.len());
        for (argument, value) in ready.arguments() {
            let taken = ["numbers", "copy-from", "place-before"];
            if taken.contains(&argument.name.as_str()) {
                continue;
            }
            if older_versions::belongs_elsewhere(menu, argument) {
                if ready.command_is_add() {
                    continue;
                }
                return Err(older_versions::moved(menu, argument).at(argument.at));
            }
            let text = evaluated_command::text(argument, value);
            older_versions::refuse_lost(menu, argument, text.as_deref())?;
            let value = self.translate(menu, argument, text.as_deref());
            let Some((property, text)) = value.map_err(|reason| reason.at(argument.at))? else {
                continue;
            };
            let value = match text {
                None => None,
                Some(text) => {
                    if property.sealed {
                        let owner = self.owner_of(menu, ready);
                        let sealed = self.store.seal(owner.as_deref(), &text);
                        let sealed = sealed.map_err(|reason| reason.at(argument.at))?;
                        given.push((property.name, Some(sealed)));
                        continue;
                    }
                    let own = property.itself && ready.text("name").as_ref() == Some(&text);
                    let value = match own {
                        // The named item does not exist yet; the command creates it.
                        true => property.kind.parse(property.name, &text).map(Some),
                        false => {
                            let names = self.names_in(argument);
                            self.store.parse_from(names, property, &text)
                        }
                    };
                    value.map_err(|reason| reason.at(argument.at))?
                }
            };
            // `!old-name` must not override the value of the property's current name.
            let older = argument.negated && argument.name != property.name;
            if older && given.iter().any(|(name, _)| *name == property.name) {
                continue;
            }
            let before = given.iter().position(|(name, _)| *name == property.name);
            let before = before.and_then(|at| given.remove(at).1);
            let value = match (before, value) {
                // Several older properties form one list: `primary-ntp` and `secondary-ntp` become `servers`.
                (Some(Value::List(mut all)), Some(Value::List(more)))
                    if argument.name != property.name =>
                {
                    all.extend(more);
                    Some(Value::List(all))
                }
                (_, value) => value,
            };
            given.push((property.name, value));
        }
        self.make_keys(menu, &mut given)?;
        Ok(given)
    }

    /// Returns the name of the item that a command adds or changes; `None` if it changes several.
    fn owner_of(&self, menu: &'static Menu, ready: &EvaluatedCommand<'_>) -> Option<String> {
        if let Some(name) = menu.key.and_then(|key| ready.text(key)) {
            return Some(name);
        }
        let [id] = self.selected(menu, ready, "numbers").ok()?[..] else {
            return None;
        };
        self.store.item(menu.path, id)?.name().map(str::to_owned)
    }

    /// Replaces the value `auto` by a new key in properties that are filled with keys.
    fn make_keys(&self, menu: &'static Menu, given: &mut PropertyValues) -> Result<()> {
        for (name, _) in { menu.filled.iter() }.filter(|(_, fill)| *fill == AutoValue::KeyIfAuto) {
            for (_, value) in given.iter_mut().filter(|(own, _)| own == name) {
                if value.as_ref().and_then(Value::as_str) == Some("auto") {
                    *value = Some(Value::text(self.new_key()?));
                }
            }
        }
        Ok(())
    }

    pub(super) fn new_key(&self) -> Result<String> {
        let bytes = self.live.new_key().map_err(Reason::nowhere)?;
        Ok(STANDARD.encode(bytes))
    }

    /// Returns which references an argument may hold. A literal internal id in a file refers to another
    /// router's configuration; an id that the file's script looked up refers to this one.
    const fn names_in(&self, argument: &Argument) -> NameSource {
        let literal = match &argument.value {
            Some(value) => matches!(value.node, Node::Word(_) | Node::Text(_)),
            None => false,
        };
        match self.in_file && literal {
            true => NameSource::Filed,
            false => NameSource::Typed,
        }
    }

    /// Returns the current property for an argument and the text of its value; `None` if the property is
    /// obsolete. For files, also creates the item that older versions created implicitly. In an interactive
    /// command with a current property name, an unknown item name is a typing error.
    fn translate(
        &mut self,
        menu: &'static Menu,
        argument: &Argument,
        text: Option<&str>,
    ) -> std::result::Result<Option<(&'static Property, Option<String>)>, Reason> {
        let old = menu.old.iter().find(|old| {
            let fits = |value| value == text.unwrap_or_default();
            old.name == argument.name && old.value.is_none_or(fits)
        });
        let Some(old) = old else {
            let property = menu
                .property(&argument.name)
                .filter(|property| !property.read_only);
            let property = property.ok_or(Reason::ExpectedEnd)?;
            return Ok(Some((property, text.map(str::to_owned))));
        };
        let Some(property) = menu.property(old.becomes) else {
            return old.with.map_or(Ok(None), |why| Err(Reason::failure(why)));
        };
        let text = old.with.or(text).map(str::to_owned);
        let named = text
            .as_deref()
            .map(|text| implicit_items::name(property, text));
        if let (Some(values), Some(name), Some(space)) = (old.makes, named, property.kind.space())
            && (self.in_file || old.name != old.becomes)
            && !name.is_empty()
            && self.store.named(space, name).is_none()
        {
            self.make(space, name, values)?;
        }
        Ok(Some((property, text)))
    }

    /// Creates the item that an older version created implicitly for a value.
    fn make(
        &mut self,
        space: &str,
        name: &str,
        values: &[(&'static str, &str)],
    ) -> std::result::Result<(), Reason> {
        let menu = self.store.menus().iter().find(|menu| {
            // Of several menus in the name space, takes the first whose items have all these properties.
            let fits = values.iter().all(|(name, _)| menu.property(name).is_some());
            menu.space == Some(space) && menu.grows() && fits
        });
        let Some(menu) = menu else { return Ok(()) };
        let mut given = vec![(menu.key.unwrap_or("name"), Some(Value::text(name)))];
        for (name, text) in values {
            if let Some(property) = menu.property(name) {
                given.push((property.name, self.store.parse(property, text)?));
            }
        }
        self.store.add(menu, &given, None).map(drop)
    }
}
