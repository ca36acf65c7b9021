//! `add`, `set`, `remove`, `move` and related commands on items. Each command is a separate transaction, or
//! part of the open one.

use std::ops::ControlFlow;
use std::sync::Arc;

use menu::{AutoValue, By, Call, Changes, Id, Menu, Policies, Reason, RowFilter};

use super::Result;
use super::property_values::PropertyValues;
use crate::evaluated_command::{EvaluatedCommand, RouterAccess};
use crate::value::Value;

impl RouterAccess<'_> {
    /// Runs a change as a transaction, or as part of the open one. Returns the value and the changes; no
    /// changes if the outer transaction is still open.
    pub(crate) fn change(
        &mut self,
        edit: impl FnOnce(&mut Self) -> Result<Value>,
    ) -> Result<(Value, Option<Arc<Changes>>)> {
        let mark = self.store.begin();
        match edit(self) {
            Ok(value) => {
                let by = By::user(self.caller.user, self.live.clock());
                let changes = self
                    .store
                    .commit_while(mark, by, &mut || self.live.breathe());
                let changes = changes.map_err(|reason| reason.nowhere())?;
                if let Some(changes) = &changes {
                    self.live.changed(self.store, changes);
                }
                Ok((value, changes))
            }
            Err(stop) => {
                self.store.rollback(mark);
                Err(stop)
            }
        }
    }

    pub(super) fn edit(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<Value> {
        if !menu.filled.iter().any(|(_, fill)| *fill == AutoValue::User) {
            return self.edit_any(menu, name, ready);
        }
        let mut ids = match name {
            "add" => Vec::new(),
            _ => self.selected(menu, ready, "numbers")?,
        };
        ids.iter().try_for_each(|id| self.may_own(menu, *id))?;
        let value = self.edit_any(menu, name, ready)?;
        if let Value::Id(id) = value {
            ids.push(id);
        }
        ids.iter().try_for_each(|id| self.may_own(menu, *id))?;
        Ok(value)
    }

    /// Refuses a script or scheduler item with policies that the user lacks, or with another owner unless the
    /// user has the `policy` right.
    fn may_own(&self, menu: &'static Menu, id: Id) -> Result<()> {
        let Some(item) = self.store.item(menu.path, id) else {
            return Ok(());
        };
        let asked = item.get("policy").map(Policies::from_value);
        let own = item.text("owner") == self.caller.user;
        let may = self.policies.contains(asked.unwrap_or_default())
            && (own || self.policies.contains(Policies::POLICY));
        if may {
            return Ok(());
        }
        Err(Reason::Denied.nowhere())
    }

    fn edit_any(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<Value> {
        if name == "add" {
            return self.add(menu, ready).map(Value::Id);
        }
        if name == "set" && !menu.has_rows() {
            let given = self.given(menu, ready)?;
            self.store
                .set(menu, Id::SETTINGS, &given)
                .map_err(|reason| reason.nowhere())?;
            return Ok(Value::Nothing);
        }
        let whole = name == "set" && !ready.has("numbers");
        // RouterOS: the menu held one set of settings in older versions. `set` without an item changes the item
        // that replaced them.
        let supposed = match menu.supposed.is_empty() || !whole {
            true => None,
            false => {
                let made = self.store.ensure_supposed(menu, "");
                made.map_err(|reason| reason.nowhere())?
            }
        };
        let ids = match supposed {
            Some(id) => vec![id],
            None => self.selected(menu, ready, "numbers")?,
        };
        let given = self.edits(menu, name, ready)?;
        let mut dynamic = Vec::new();
        let place = if name == "move" {
            self.place(menu, ready, "destination")?
        } else {
            None
        };
        for id in ids {
            self.live.breathe();
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

    /// Returns the properties that an editing command sets: `set`, `enable`, `disable`, `comment` and others.
    fn edits(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<PropertyValues> {
        Ok(match name {
            "set" => self.given(menu, ready)?,
            "enable" => vec![("disabled", Some(menu::Value::Bool(false)))],
            "disable" => vec![("disabled", Some(menu::Value::Bool(true)))],
            "comment" => {
                let text = ready.text("comment").unwrap_or_default();
                vec![("comment", Some(menu::Value::text(text)))]
            }
            "unset" | "reset" => {
                let names = ready.text("value-name").unwrap_or_default();
                let find = |name: &str| {
                    let property = menu.property(name).filter(|p| !p.read_only);
                    property.ok_or_else(|| Reason::no_match("value-name").nowhere())
                };
                let names = names.split([',', ';']).map(str::trim);
                names
                    .map(|name| Ok((find(name)?.name, None)))
                    .collect::<Result<_>>()?
            }
            _ => Vec::new(),
        })
    }

    /// Changes dynamic rows, which are not stored items; the router changes them.
    fn edit_dynamic(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ids: &[Id],
        given: PropertyValues,
    ) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let command = ["remove", "enable", "disable", "set", "comment"];
        let Some(command) = command.into_iter().find(|command| *command == name) else {
            return Err(Reason::NoItem.nowhere());
        };
        if ids.iter().any(|id| self.row(menu, *id).is_none()) {
            return Err(Reason::NoItem.nowhere());
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
            made: None,
        };
        self.live
            .action(self.store, &call)
            .map_err(|reason| reason.nowhere())?;
        Ok(())
    }

    fn add(&mut self, menu: &'static Menu, ready: &EvaluatedCommand<'_>) -> Result<Id> {
        let mut given = self.given(menu, ready)?;
        self.make_named(menu, ready, &mut given)?;
        if ready.has("copy-from") {
            let copy = self.selected(menu, ready, "copy-from")?;
            let item = copy
                .first()
                .and_then(|id| self.store.item(menu.path, *id))
                .cloned();
            let item = item.ok_or_else(|| Reason::NoItem.nowhere())?;
            let is_own = |name: &str| menu.filled.contains(&(name, AutoValue::TunnelMac));
            for (property, value) in item.values() {
                let is_given = given.iter().any(|(name, _)| *name == property.name);
                // A copy of a tunnel gets a MAC address of its own.
                if !property.read_only && !is_given && !is_own(property.name) {
                    given.push((property.name, Some(value.clone())));
                }
            }
        }
        for (name, fill) in menu.filled {
            if given.iter().all(|(own, _)| own != name)
                && let Some(value) = self.filled(*fill)?
            {
                given.push((name, Some(value)));
            }
        }
        // RouterOS: by default a script gets no policies beyond those of its creator.
        let given_policy = given.iter().any(|(name, _)| *name == "policy");
        if let Some(property) = menu.property("policy").filter(|_| !given_policy)
            && menu.filled.iter().any(|(_, fill)| *fill == AutoValue::User)
            && let Some(usual) = property.default
        {
            let usual = property.kind.parse(property.name, usual);
            let usual = Policies::from_value(&usual.map_err(Reason::nowhere)?);
            let text = usual.and(self.policies).to_string();
            let value = self.store.parse(property, &text).map_err(Reason::nowhere)?;
            given.push((property.name, value));
        }
        let before = self.place(menu, ready, "place-before")?;
        let added = self.store.add(menu, &given, before);
        let id = added.map_err(|reason| reason.nowhere())?;
        self.make_naming(menu, ready, id)?;
        if menu.clashes_with_rows {
            self.refuse_what_is_a_row(menu, id)?;
        }
        Ok(id)
    }

    /// Refuses an item that duplicates a dynamic row of the router.
    fn refuse_what_is_a_row(&self, menu: &'static Menu, id: Id) -> Result<()> {
        let Some(item) = self.store.item(menu.path, id) else {
            return Ok(());
        };
        for unique in menu.distinct {
            let cells = unique.properties.iter();
            let cells = cells.filter_map(|name| Some((*name, item.get(name)?.clone())));
            let same = RowFilter {
                equals: cells.collect(),
                ..RowFilter::default()
            };
            let first = &mut |_| ControlFlow::Break(());
            if self.live.rows(self.store, menu, &same, first).is_break() {
                return Err(Reason::failure(unique.failure).nowhere());
            }
        }
        Ok(())
    }

    /// Returns the value of a property that a new item is filled with, if any.
    fn filled(&self, fill: AutoValue) -> Result<Option<menu::Value>> {
        let clock = self.live.clock().date_time();
        let (date, time) = clock.split_once(' ').unwrap_or_default();
        Ok(Some(match fill {
            AutoValue::Date => menu::Value::text(date),
            AutoValue::Time => menu::Value::text(time),
            AutoValue::User => menu::Value::text(self.caller.user),
            AutoValue::Key => menu::Value::text(self.new_key()?),
            AutoValue::KeyIfAuto => return Ok(None),
            AutoValue::TunnelMac => {
                let [a, b, c, d, e, ..] = self.live.new_key().map_err(Reason::nowhere)?;
                menu::Value::Mac([0xfe, a, b, c, d, e])
            }
        }))
    }

    /// Resolves an argument that names an item as a position. A dynamic row stands for the next item after it.
    fn place(
        &self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
        name: &'static str,
    ) -> Result<Option<Id>> {
        if !ready.has(name) {
            return Ok(None);
        }
        let named = self.selected(menu, ready, name)?.first().copied();
        match named {
            Some(id)
                if self.store.item(menu.path, id).is_none() && self.row(menu, id).is_some() =>
            {
                Ok(self.behind(menu, id))
            }
            _ => Ok(named),
        }
    }

    /// Returns the first item after a dynamic row in the last printed numbering; `None` at the end. RouterOS:
    /// items placed before the dynamic FastTrack counter row come after all items placed there earlier.
    fn behind(&self, menu: &'static Menu, row: Id) -> Option<Id> {
        let is_item = |id: &Id| self.store.item(menu.path, *id).is_some();
        match self.numbers.get(menu.path) {
            Some(numbers) => {
                let rest = numbers.iter().skip_while(|id| **id != row);
                rest.copied().find(is_item)
            }
            // Without a numbering: dynamic rows precede all items.
            None => self.store.items(menu.path).next().map(|item| item.id),
        }
    }
}
