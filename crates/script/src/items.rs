//! Commands of menus. This module finds items; its submodules change them and run the router's own commands.

mod edit;
pub(crate) mod no_effect;
pub(crate) mod older_versions;
mod property_values;
pub(crate) mod router_commands;

use std::ops::ControlFlow;

use menu::{Kind, Menu, Reason, Refusal, Row, RowFilter, Slices, stream_rows};

use crate::ast::Command;
use crate::eval::Condition;
use crate::evaluated_command::{EvaluatedCommand, RouterAccess};
use crate::language::argument;
use crate::machine::{self, Machine};
use crate::value::Value;

type Result<T> = std::result::Result<T, Refusal>;

/// Number of rows read before other tasks may use the router.
pub(crate) const SLICE: usize = 500;

impl Machine<'_> {
    /// Runs a command of a menu.
    pub(crate) fn menu_command(
        &mut self,
        menu: &'static Menu,
        name: &'static str,
        command: &Command,
    ) -> machine::Result<Value> {
        self.permit(menu, name)?;
        match name {
            "print" => self.print_menu(menu, command),
            "find" => self.find(menu, command),
            "export" => self.export(menu.path, Some(menu), command),
            "get" => {
                let ready = self.ready(command)?;
                self.with(|access| access.get(menu, &ready))
            }
            crate::edit::NAME => self.edit_at_terminal(menu, command),
            _ if menu.commands.iter().any(|own| own.name == name) => self.act(menu, name, command),
            _ => {
                let ready = self.ready(command)?;
                let told = std::mem::take(&mut self.lacking);
                let (checking, groups) = (self.checking, self.groups);
                let done = self.with(|access| {
                    access.store.set_deferring(groups);
                    let changed = access.change(|access| access.edit(menu, name, &ready));
                    access.store.set_deferring(false);
                    let (value, changes) = changed?;
                    let fresh = match &changes {
                        Some(changes) if !checking => access.log_in_vain(changes, &told),
                        _ => Vec::new(),
                    };
                    Ok((value, changes, fresh))
                });
                self.lacking = told;
                let (value, changes, fresh) = done?;
                self.unsettled |= groups && changes.is_some();
                if let Some(changes) = changes.filter(|_| self.checking) {
                    let changed_items = changes.list.iter().map(|change| (change.menu, change.id));
                    self.changed_items
                        .extend(changed_items.map(|one| (command.at, one)));
                }
                self.note_in_vain(fresh)?;
                Ok(value)
            }
        }
    }

    /// Prepares the condition of `find` or `print` for evaluation on rows.
    pub(crate) fn condition(
        &mut self,
        menu: &'static Menu,
        command: &Command,
    ) -> machine::Result<Option<Condition>> {
        let expr = argument(command, "where").and_then(|argument| argument.value.as_ref());
        expr.map(|expr| self.prepare(menu, expr)).transpose()
    }

    /// Passes the rows of a menu to `each`, slice by slice. Other tasks may use the router between slices.
    pub(crate) fn each_slice(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        mut each: impl FnMut(&mut Self, Vec<Row>) -> machine::Result<()>,
    ) -> machine::Result<()> {
        let mut slices = Slices::new(menu);
        loop {
            let rows =
                self.with(|access| Ok(slices.next(access.store, access.live, filter, SLICE)))?;
            if !rows.is_empty() || !slices.is_over() {
                self.step()?;
            }
            if !rows.is_empty() {
                each(self, rows)?;
            }
            if slices.is_over() {
                return Ok(());
            }
        }
    }

    fn find(&mut self, menu: &'static Menu, command: &Command) -> machine::Result<Value> {
        let condition = self.condition(menu, command)?;
        let mut found = Vec::new();
        let hidden = !self.sees_secrets();
        with_filter(menu, condition.as_ref(), hidden, |filter| {
            self.each_slice(menu, filter, |machine, rows| {
                machine.charge(rows.len() * 2 * size_of::<Value>())?;
                found.extend(
                    rows.iter()
                        .filter_map(|row| row.id)
                        .map(|id| (None, Value::Id(id))),
                );
                Ok(())
            })
        })?;
        Ok(Value::array(found))
    }
}

impl RouterAccess<'_> {
    pub(crate) fn get(
        &mut self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
    ) -> Result<Value> {
        let mut name = ready.text("value-name");
        let row = if menu.has_rows() {
            let ids = match self.selected(menu, ready, "number") {
                Err(refusal) if menu.passes && refusal.reason == Reason::NoItem => {
                    return Ok(Value::Nil);
                }
                ids => ids?,
            };
            let id = match ids[..] {
                [] => return Err(Reason::NoItem.nowhere()),
                [id] => id,
                // RouterOS: `get` of several items is ambiguous.
                _ => {
                    let text = "invalid internal item number".to_owned();
                    return Err(Reason::BadValue(text).nowhere());
                }
            };
            match self.row(menu, id) {
                Some(row) => row,
                None if menu.passes => return Ok(Value::Nil),
                None => return Err(Reason::NoItem.nowhere()),
            }
        } else {
            let mut row = None;
            let all = RowFilter {
                without_secrets: self.without_secrets,
                ..RowFilter::default()
            };
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
        let known = full_name(menu, &name);
        let flag = menu
            .flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| flag.name);
        match (known, flag) {
            (Some(name), _) => Ok(row.get(name).map_or(Value::Nothing, Value::from)),
            (None, Some(flag)) => Ok(Value::Bool(row.is(flag))),
            (None, None) => Err(Reason::no_match("value-name").nowhere()),
        }
    }
}

/// Returns the property with this name or with this unique prefix. RouterOS: `get` takes both.
fn full_name(menu: &'static Menu, name: &str) -> Option<&'static str> {
    if let Some(property) = menu.property(name) {
        return Some(property.name);
    }
    let is_flag = menu.flags.iter().any(|flag| flag.name == name);
    let mut begin = menu
        .properties()
        .filter(|property| property.name.starts_with(name));
    match (begin.next(), begin.next()) {
        (Some(property), None) if !is_flag && !name.is_empty() => Some(property.name),
        _ => None,
    }
}

/// Calls `run` with the row filter of a condition. The filter lists equalities for lookup, and hides secrets if
/// `without_secrets` is set.
pub(crate) fn with_filter<T>(
    menu: &'static Menu,
    condition: Option<&Condition>,
    without_secrets: bool,
    run: impl FnOnce(&RowFilter<'_>) -> T,
) -> T {
    let Some(condition) = condition else {
        return run(&RowFilter {
            without_secrets,
            ..RowFilter::default()
        });
    };
    let mut pairs = Vec::new();
    condition.equalities(&mut pairs);
    let typed = pairs
        .into_iter()
        .filter_map(|(name, value)| looked_up(menu, name, &value.to_string()));
    let equals = typed.collect();
    let test = |row: &Row| condition.holds(row);
    run(&RowFilter {
        equals,
        test: Some(&test),
        without_secrets,
    })
}

/// Returns the cell to look rows up by, if the property's type allows a lookup by exact value.
pub(crate) fn looked_up(
    menu: &'static Menu,
    name: &str,
    text: &str,
) -> Option<(&'static str, menu::Value)> {
    let property = menu.property(name)?;
    // Types with one spelling per value, so that equal text means equal value.
    let exact = matches!(
        property.kind,
        Kind::Address(_)
            | Kind::Prefix(_)
            | Kind::Mac
            | Kind::Reference(_)
            | Kind::Name
            | Kind::Filled
    );
    let value = exact.then(|| property.kind.parse(name, text).ok())??;
    Some((property.name, value))
}

/// Converts a row to an array with keys.
pub(crate) fn row_value(row: &Row) -> Value {
    let mut elements = Vec::new();
    if let Some(id) = row.id {
        Value::insert(&mut elements, ".id".to_owned(), Value::Id(id));
    }
    for (name, value) in &row.cells {
        Value::insert(&mut elements, (*name).to_owned(), Value::from(value));
    }
    Value::array(elements)
}
