//! The commands of menus: what they do to items.

use std::ops::ControlFlow;

use menu::{By, Call, Effect, Id, Kind, Menu, Property, Reason, Row, RowFilter, stream_rows};

use crate::ast::{Argument, Command, Expr, Node};
use crate::eval::Condition;
use crate::language::argument;
use crate::machine::{Machine, Result, Stop};
use crate::value::Value;

/// Values by property; `None` unsets.
type Given = Vec<(&'static str, Option<menu::Value>)>;

impl Machine<'_> {
    /// Runs a command of a menu.
    pub(crate) fn menu_command(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        command: &Command,
    ) -> Result<Value> {
        match name {
            "print" => self.print_menu(menu, command),
            "find" => self.find(menu, command),
            "get" => self.get(menu, command),
            "export" => self.export(menu.path, command),
            _ if menu.commands.iter().any(|own| own.name == name) => self.act(menu, name, command),
            _ => self.change(|machine| machine.edit(menu, name, command)),
        }
    }

    /// Runs a change as a transaction, or as a part of the open one.
    fn change(&mut self, edit: impl FnOnce(&mut Self) -> Result<Value>) -> Result<Value> {
        let mark = self.store.begin();
        match edit(self) {
            Ok(value) => {
                let by = self.by();
                let changes = self.store.commit_by(mark, by);
                let changes = changes.map_err(|reason| reason.nowhere())?;
                if let Some(changes) = changes {
                    self.live.changed(self.store, &changes);
                }
                Ok(value)
            }
            Err(stop) => {
                self.store.rollback(mark);
                Err(stop)
            }
        }
    }

    /// Whose doing it is.
    pub(crate) fn by(&self) -> By {
        By::user(self.session.user.as_str(), self.live.clock())
    }

    fn edit(&mut self, menu: &'static Menu, name: &str, command: &Command) -> Result<Value> {
        if name == "add" {
            return self.add(menu, command).map(Value::Id);
        }
        if name == "set" && !menu.has_rows() {
            let given = self.given(menu, command)?;
            self.store
                .set(menu, Id::SETTINGS, &given)
                .map_err(|reason| reason.nowhere())?;
            return Ok(Value::Nothing);
        }
        let ids = self.selected(menu, command, "numbers")?;
        let given = self.edits(menu, name, command)?;
        let mut dynamic = Vec::new();
        let place = if name == "move" {
            self.destination(menu, command)?
        } else {
            None
        };
        for id in ids {
            if self.store.item(menu.path, id).is_none() {
                dynamic.push(id);
                continue;
            }
            let done = match name {
                "remove" => self.store.remove(menu, id),
                "move" => self.store.move_before(menu, id, place),
                "reset" => {
                    let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
                    self.store.reset(menu, id, &names)
                }
                _ => self.store.set(menu, id, &given),
            };
            done.map_err(|reason| reason.nowhere())?;
        }
        self.edit_dynamic(menu, name, &dynamic, given)?;
        Ok(Value::Nothing)
    }

    /// What a command that is neither `add` nor `set` sets.
    fn edits(&mut self, menu: &'static Menu, name: &str, command: &Command) -> Result<Given> {
        Ok(match name {
            "set" => self.given(menu, command)?,
            "enable" => vec![("disabled", Some(menu::Value::Bool(false)))],
            "disable" => vec![("disabled", Some(menu::Value::Bool(true)))],
            "comment" => {
                let text = self.text(command, "comment")?.unwrap_or_default();
                vec![("comment", Some(menu::Value::text(text)))]
            }
            "unset" | "reset" => {
                let names = self.text(command, "value-name")?.unwrap_or_default();
                let find = |name: &str| {
                    let property = menu.property(name).filter(|p| !p.read_only);
                    property.ok_or_else(|| Stop::from(Reason::no_match("value-name").nowhere()))
                };
                let names = names.split([',', ';']).map(str::trim);
                names
                    .map(|name| Ok((find(name)?.name, None)))
                    .collect::<Result<_>>()?
            }
            _ => Vec::new(),
        })
    }

    /// Rows that are no items are the router's to change.
    fn edit_dynamic(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ids: &[Id],
        given: Given,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let command = ["remove", "enable", "disable", "set", "comment"];
        let Some(command) = command.into_iter().find(|command| *command == name) else {
            return Err(Reason::NoItem.nowhere().into());
        };
        if ids.iter().any(|id| self.row(menu, *id).is_none()) {
            return Err(Reason::NoItem.nowhere().into());
        }
        let arguments: Vec<_> = given
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let call = Call {
            menu,
            command,
            items: ids,
            arguments: &arguments,
        };
        self.live
            .action(self.store, &call)
            .map_err(|reason| reason.nowhere())?;
        Ok(())
    }

    fn add(&mut self, menu: &'static Menu, command: &Command) -> Result<Id> {
        let mut given = self.given(menu, command)?;
        if argument(command, "copy-from").is_some() {
            let copy = self.selected(menu, command, "copy-from")?;
            let item = copy
                .first()
                .and_then(|id| self.store.item(menu.path, *id))
                .cloned();
            let item = item.ok_or_else(|| Stop::from(Reason::NoItem.nowhere()))?;
            for (property, value) in item.values() {
                if !property.read_only && given.iter().all(|(name, _)| *name != property.name) {
                    given.push((property.name, Some(value.clone())));
                }
            }
        }
        let before = match argument(command, "place-before") {
            Some(_) => self
                .selected(menu, command, "place-before")?
                .first()
                .copied(),
            None => None,
        };
        self.store
            .add(menu, &given, before)
            .map_err(|reason| reason.nowhere().into())
    }

    fn destination(&mut self, menu: &'static Menu, command: &Command) -> Result<Option<Id>> {
        match argument(command, "destination") {
            Some(_) => Ok(self
                .selected(menu, command, "destination")?
                .first()
                .copied()),
            None => Ok(None),
        }
    }

    /// The values that a command gives, with words of older versions translated.
    fn given(&mut self, menu: &'static Menu, command: &Command) -> Result<Given> {
        let mut given = Given::with_capacity(command.arguments.len());
        for argument in &command.arguments {
            let taken = ["numbers", "copy-from", "place-before"];
            if taken.contains(&argument.name.as_str()) {
                continue;
            }
            let text = self.argument_text(argument)?;
            let value = self.translate(menu, argument, text.as_deref());
            let Some((property, text)) = value.map_err(|reason| reason.at(argument.at))? else {
                continue;
            };
            let value = match text {
                None => None,
                Some(text) => self
                    .store
                    .parse(property, &text)
                    .map_err(|reason| reason.at(argument.at))?,
            };
            given.retain(|(name, _)| *name != property.name);
            given.push((property.name, value));
        }
        Ok(given)
    }

    /// The text of an argument's value; `None` for `!name`.
    fn argument_text(&mut self, argument: &Argument) -> Result<Option<String>> {
        match &argument.value {
            _ if argument.negated => Ok(None),
            None => Ok(Some("yes".to_owned())),
            // A word is taken as it stands: `007` is no number here.
            Some(Expr {
                node: Node::Word(word),
                ..
            }) => Ok(Some(word.clone())),
            Some(expr) => {
                let value = self.eval(expr)?;
                Ok(Some(match value {
                    Value::Time(nanos) => menu::time::units(nanos),
                    Value::Bool(value) => (if value { "yes" } else { "no" }).to_owned(),
                    Value::Array(values) => {
                        let texts: Vec<_> = values.iter().map(|(_, v)| v.to_string()).collect();
                        texts.join(",")
                    }
                    other => other.to_string(),
                }))
            }
        }
    }

    /// The property that an argument means and the text of its value; `None` if it is gone.
    fn translate(
        &mut self,
        menu: &'static Menu,
        argument: &Argument,
        text: Option<&str>,
    ) -> std::result::Result<Option<(&'static Property, Option<String>)>, Reason> {
        let old = menu.old.iter().find(|old| {
            old.name == argument.name && old.value.is_none_or(|value| Some(value) == text)
        });
        let Some(old) = old else {
            let property = menu
                .property(&argument.name)
                .filter(|property| !property.read_only);
            let property = property.ok_or(Reason::ExpectedEnd)?;
            return Ok(Some((property, text.map(str::to_owned))));
        };
        let Some(property) = menu.property(old.becomes) else {
            return Ok(None);
        };
        let text = old.with.or(text).map(str::to_owned);
        if let (Some(values), Some(name), Some(space)) = (old.makes, &text, property.kind.space())
            && !name.is_empty()
            && self.store.named(space, name).is_none()
        {
            self.make(space, name, values)?;
        }
        Ok(Some((property, text)))
    }

    /// Makes the item that a word of an older version made by itself.
    fn make(
        &mut self,
        space: &str,
        name: &str,
        values: &[(&'static str, &str)],
    ) -> std::result::Result<(), Reason> {
        let menu = self
            .store
            .menus()
            .iter()
            .find(|menu| menu.space == Some(space) && menu.grows());
        let Some(menu) = menu else { return Ok(()) };
        let mut given = vec![(menu.key.unwrap_or("name"), Some(menu::Value::text(name)))];
        for (name, text) in values {
            if let Some(property) = menu.property(name) {
                given.push((property.name, self.store.parse(property, text)?));
            }
        }
        self.store.add(menu, &given, None).map(drop)
    }

    /// The text of a named argument.
    pub(crate) fn text(&mut self, command: &Command, name: &str) -> Result<Option<String>> {
        match argument(command, name) {
            Some(argument) => self.argument_text(argument),
            None => Ok(None),
        }
    }

    /// The condition of a `find` or `print`, ready for rows.
    pub(crate) fn condition(&mut self, command: &Command) -> Result<Option<Condition>> {
        let expr = argument(command, "where").and_then(|argument| argument.value.as_ref());
        expr.map(|expr| self.prepare(expr)).transpose()
    }

    fn find(&mut self, menu: &'static Menu, command: &Command) -> Result<Value> {
        let condition = self.condition(command)?;
        let mut found = Vec::new();
        let limit = self.session.limits.bytes / (2 * size_of::<Value>());
        with_filter(menu, condition.as_ref(), |filter| {
            let _ = stream_rows(self.store, self.live, menu, filter, &mut |row| {
                found.extend(row.id.map(|id| (None, Value::Id(id))));
                if found.len() > limit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
        });
        self.charge(found.len() * 2 * size_of::<Value>())?;
        Ok(Value::Array(found))
    }

    fn get(&mut self, menu: &'static Menu, command: &Command) -> Result<Value> {
        let mut name = self.text(command, "value-name")?;
        let row = if menu.has_rows() {
            let ids = self.selected(menu, command, "number")?;
            let id = ids
                .first()
                .ok_or_else(|| Stop::from(Reason::NoItem.nowhere()))?;
            self.row(menu, *id)
                .ok_or_else(|| Stop::from(Reason::NoItem.nowhere()))?
        } else {
            let mut row = None;
            let all = RowFilter::default();
            let _ = stream_rows(self.store, self.live, menu, &all, &mut |found| {
                row = Some(found);
                ControlFlow::Break(())
            });
            row.unwrap_or_default()
        };
        let Some(name) = name.take() else {
            return Ok(row_value(&row));
        };
        if name == ".id" {
            return Ok(row.id.map_or(Value::Nothing, Value::Id));
        }
        let known = menu.property(&name).map(|property| property.name);
        let flag = menu
            .flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| flag.name);
        match (known, flag) {
            (Some(name), _) => Ok(row.get(name).map_or(Value::Nothing, Value::from)),
            (None, Some(flag)) => Ok(Value::Bool(row.is(flag))),
            (None, None) => Err(Reason::no_match("value-name").nowhere().into()),
        }
    }

    /// A command that is not about configuration: the router's.
    fn act(&mut self, menu: &'static Menu, name: &'static str, command: &Command) -> Result<Value> {
        let Some(own) = menu.commands.iter().find(|own| own.name == name) else {
            return Err(Reason::BadCommand(name.to_owned()).nowhere().into());
        };
        let mut items = Vec::new();
        let mut arguments = Vec::new();
        for taken in own.arguments {
            if argument(command, taken.name).is_none() {
                if taken.required {
                    return Err(Reason::Missing(vec![taken.name]).at(command.at).into());
                }
                continue;
            }
            if taken.name == "numbers" {
                items = self.selected(menu, command, "numbers")?;
                continue;
            }
            let text = self.text(command, taken.name)?.unwrap_or_default();
            let parsed = taken.kind.parse(taken.name, &text);
            arguments.push((taken.name, parsed.map_err(|reason| reason.nowhere())?));
        }
        // In a check there is no router that could answer.
        if own.effect == Effect::None || self.checking {
            return Ok(Value::Nothing);
        }
        if menu.path == "/log" {
            let text = arguments
                .first()
                .map(|(_, value)| value.to_string())
                .unwrap_or_default();
            self.live.log(&format!("script,{name}"), &text);
            return Ok(Value::Nothing);
        }
        let call = Call {
            menu,
            command: name,
            items: &items,
            arguments: &arguments,
        };
        let reply = self
            .live
            .action(self.store, &call)
            .map_err(|reason| reason.nowhere())?;
        for row in &reply.rows {
            let width = row
                .cells
                .iter()
                .map(|(name, _)| name.len())
                .max()
                .unwrap_or(0)
                + 2;
            let lines = row
                .cells
                .iter()
                .map(|(name, value)| format!("{name:>width$}: {value}\n"));
            let text: String = lines.collect();
            self.print(&text)?;
        }
        Ok(Value::Array(
            reply
                .rows
                .iter()
                .map(|row| (None, row_value(row)))
                .collect(),
        ))
    }
}

/// Runs `run` with the filter of a condition: equalities are given for looking up.
pub(crate) fn with_filter<T>(
    menu: &'static Menu,
    condition: Option<&Condition>,
    run: impl FnOnce(&RowFilter<'_>) -> T,
) -> T {
    let Some(condition) = condition else {
        return run(&RowFilter::default());
    };
    let mut pairs = Vec::new();
    condition.equalities(&mut pairs);
    let typed = pairs.into_iter().filter_map(|(name, value)| {
        let property = menu.property(name)?;
        // Types with one spelling per value, so that to look up is to compare.
        let exact = matches!(
            property.kind,
            Kind::Address(_) | Kind::Prefix(_) | Kind::Mac | Kind::Reference(_) | Kind::Name
        );
        let value = exact.then(|| property.kind.parse(name, &value.to_string()).ok())??;
        Some((property.name, value))
    });
    let equals = typed.collect();
    let test = |row: &Row| condition.holds(row);
    run(&RowFilter {
        equals,
        test: Some(&test),
    })
}

/// A row as an array with keys.
pub(crate) fn row_value(row: &Row) -> Value {
    let mut elements = Vec::new();
    if let Some(id) = row.id {
        Value::insert(&mut elements, ".id".to_owned(), Value::Id(id));
    }
    for (name, value) in &row.cells {
        Value::insert(&mut elements, (*name).to_owned(), Value::from(value));
    }
    Value::Array(elements)
}
