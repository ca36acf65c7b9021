//! `print` and `export`.

use std::ops::ControlFlow;

use menu::{Clock, Menu, Output, Policies, Reason, Refusal, Row, RowFilter, export, print};

use crate::ast::Command;
use crate::items::{row_value, with_filter};
use crate::language::argument;
use crate::machine::{Collected, Machine, Result};
use crate::ready::Ready;
use crate::value::Value;

/// The version that exports name: the language's.
pub(crate) const VERSION: &str = "7.22.1";

/// Ways to print that there are none of here.
const NOT_YET: [&str; 9] = [
    "file",
    "group-by",
    "order-by",
    "on-event",
    "interval",
    "follow",
    "follow-only",
    "append",
    "timestamp",
];

impl Machine<'_> {
    /// `print` of a menu.
    pub(crate) fn print_menu(&mut self, menu: &'static Menu, command: &Command) -> Result<Value> {
        let ready = self.ready(command)?;
        let condition = self.condition(command)?;
        let from = match ready.has("from") {
            true => Some(self.with(|loan| loan.selected(menu, &ready, "from"))?),
            false => None,
        };
        for name in NOT_YET {
            if let Some((argument, _)) = ready.argument(name) {
                let text = format!("print {name} is not supported");
                return Err(Reason::failure(text).at(argument.at).into());
            }
        }
        let options = print::Options {
            style: style(&ready),
            proplist: proplist(menu, &ready)?,
            show_ids: ready.flag("show-ids"),
        };
        let hidden = !self.sees_secrets();
        with_filter(menu, condition.as_ref(), hidden, |filter| {
            let wanted = |row: &Row| {
                let id = row.id;
                from.as_ref()
                    .is_none_or(|ids| id.is_some_and(|id| ids.contains(&id)))
                    && filter.test.is_none_or(|test| test(row))
            };
            let filter = RowFilter {
                equals: filter.equals.clone(),
                test: Some(&wanted),
                without_secrets: filter.without_secrets,
            };
            if ready.flag("count-only") {
                return self.count_rows(menu, &filter);
            }
            if ready.flag("as-value") {
                return self.rows_as_value(menu, &filter);
            }
            self.print_rows(menu, options, &filter)
        })
    }

    fn print_rows(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        filter: &RowFilter<'_>,
    ) -> Result<Value> {
        let mut printer = print::Printer::new(menu, options);
        let done = self.each_slice(menu, filter, |machine, rows| {
            match printer.rows(rows, machine.out) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
            }
        });
        if menu.has_rows() {
            self.session.numbers.insert(menu.path, printer.numbers);
        }
        done.map(|()| Value::Nothing)
    }

    fn count_rows(&mut self, menu: &'static Menu, filter: &RowFilter<'_>) -> Result<Value> {
        let mut count = 0;
        self.each_slice(menu, filter, |_, rows| {
            count += i64::try_from(rows.len()).unwrap_or(0);
            Ok(())
        })?;
        self.print(&format!("{count}\n"))?;
        Ok(Value::Num(count))
    }

    fn rows_as_value(&mut self, menu: &'static Menu, filter: &RowFilter<'_>) -> Result<Value> {
        let mut all = Vec::new();
        self.each_slice(menu, filter, |machine, rows| {
            // A row with its cells.
            machine.charge(rows.len() * 1_024)?;
            all.extend(rows.iter().map(|row| (None, row_value(row))));
            Ok(())
        })?;
        match all.pop() {
            Some((_, row)) if !menu.has_rows() => Ok(row),
            last => {
                all.extend(last);
                Ok(Value::array(all))
            }
        }
    }

    /// `export` of a menu or of all menus below a path.
    pub(crate) fn export(&mut self, path: &str, command: &Command) -> Result<Value> {
        if !self.session.policies.contains(Policies::READ) {
            return Err(Reason::Denied.nowhere().into());
        }
        let flag = |name| argument(command, name).is_some();
        if let Some(argument) = argument(command, "file") {
            return Err(Reason::failure("there are no files here")
                .at(argument.at)
                .into());
        }
        let style = match () {
            () if flag("verbose") => export::Style::Verbose,
            () if flag("terse") => export::Style::Terse,
            () => export::Style::Compact,
        };
        let sensitive = flag("show-sensitive") && self.sees_secrets();
        // One state of the configuration, and it goes out when the router is free again.
        let mut text = Collected::new(self.out.width());
        let flow = self.with(|loan| {
            let options = export::Options {
                style,
                under: path,
                sensitive,
                version: VERSION,
                clock: loan.live.clock(),
            };
            Ok(export::export(loan.store, &options, &mut text))
        })?;
        self.print(&text.text)?;
        match flow {
            ControlFlow::Continue(()) => Ok(Value::Nothing),
            ControlFlow::Break(()) => Err(Reason::Limit("output").nowhere().into()),
        }
    }
}

/// The properties that `proplist` names.
pub(crate) fn proplist(
    menu: &'static Menu,
    ready: &Ready<'_>,
) -> std::result::Result<Vec<&'static str>, Refusal> {
    let Some(text) = ready.text("proplist") else {
        return Ok(Vec::new());
    };
    let find = |name: &str| {
        let property = menu.property(name.trim());
        property
            .map(|property| property.name)
            .ok_or_else(|| Reason::no_match("proplist").nowhere())
    };
    let names = text
        .split(',')
        .filter(|name| !name.is_empty() && *name != ".id");
    names.map(find).collect()
}

fn style(ready: &Ready<'_>) -> print::Style {
    let flag = |name| ready.flag(name);
    match () {
        () if flag("detail") || flag("stats-detail") => print::Style::Detail,
        () if flag("stats") => print::Style::Stats,
        () if flag("terse") => print::Style::Terse,
        () if flag("value-list") => print::Style::ValueList,
        () => print::Style::Brief,
    }
}

/// The whole configuration as an export writes it.
pub fn export_all(store: &menu::Store, clock: Clock, out: &mut dyn Output) -> ControlFlow<()> {
    let options = export::Options {
        version: VERSION,
        clock,
        ..export::Options::default()
    };
    export::export(store, &options, out)
}
