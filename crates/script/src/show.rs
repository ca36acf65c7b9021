//! `print` and `export`.

use std::ops::ControlFlow;

use menu::{Clock, Menu, Output, Policies, Reason, RowFilter, export, print, stream_rows};

use crate::ast::Command;
use crate::items::{row_value, with_filter};
use crate::language::argument;
use crate::machine::{Machine, Result, Stop};
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
        let flag = |name: &str| argument(command, name).is_some_and(|argument| !argument.negated);
        let condition = self.condition(command)?;
        let from = match argument(command, "from") {
            Some(_) => Some(self.selected(menu, command, "from")?),
            None => None,
        };
        let proplist = self.proplist(menu, command)?;
        for name in NOT_YET {
            if let Some(argument) = argument(command, name) {
                let text = format!("print {name} is not supported");
                return Err(Reason::failure(text).at(argument.at).into());
            }
        }
        let style = style(&flag);
        let hidden = !self.sees_secrets();
        with_filter(menu, condition.as_ref(), hidden, |filter| {
            let wanted = |row: &menu::Row| {
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
            if flag("count-only") {
                return self.count_rows(menu, &filter);
            }
            if flag("as-value") {
                return self.rows_as_value(menu, &filter);
            }
            let options = print::Options {
                style,
                proplist,
                show_ids: flag("show-ids"),
                filter,
            };
            let (numbers, flow) = print::print(self.store, self.live, menu, &options, self.out);
            if menu.has_rows() {
                self.session.numbers.insert(menu.path, numbers);
            }
            match flow {
                ControlFlow::Continue(()) => Ok(Value::Nothing),
                ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
            }
        })
    }

    /// The properties that `proplist` names.
    pub(crate) fn proplist(
        &mut self,
        menu: &'static Menu,
        command: &Command,
    ) -> Result<Vec<&'static str>> {
        let Some(text) = self.text(command, "proplist")? else {
            return Ok(Vec::new());
        };
        let find = |name: &str| {
            let property = menu.property(name.trim());
            property
                .map(|property| property.name)
                .ok_or_else(|| Reason::no_match("proplist"))
        };
        let names = text
            .split(',')
            .filter(|name| !name.is_empty() && *name != ".id")
            .map(find);
        names
            .collect::<std::result::Result<_, _>>()
            .map_err(|reason| reason.nowhere().into())
    }

    fn count_rows(&mut self, menu: &'static Menu, filter: &RowFilter<'_>) -> Result<Value> {
        let mut count = 0;
        let _ = stream_rows(self.store, self.live, menu, filter, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        self.print(&format!("{count}\n"))?;
        Ok(Value::Num(count))
    }

    fn rows_as_value(&mut self, menu: &'static Menu, filter: &RowFilter<'_>) -> Result<Value> {
        let mut rows = Vec::new();
        // A row with its cells; what does not fit is refused below.
        let limit = self.session.limits.bytes / 1_024;
        let _ = stream_rows(self.store, self.live, menu, filter, &mut |row| {
            rows.push((None, row_value(&row)));
            if rows.len() > limit {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        self.charge(rows.len() * 1_024)?;
        match rows.pop() {
            Some((_, row)) if !menu.has_rows() => Ok(row),
            last => {
                rows.extend(last);
                Ok(Value::Array(rows))
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
        let options = export::Options {
            style,
            under: path,
            sensitive: flag("show-sensitive") && self.sees_secrets(),
            version: VERSION,
            clock: self.live.clock(),
        };
        match export::export(self.store, &options, self.out) {
            ControlFlow::Continue(()) => Ok(Value::Nothing),
            ControlFlow::Break(()) => Err(Stop::from(Reason::Interrupted.nowhere())),
        }
    }
}

fn style(flag: &dyn Fn(&str) -> bool) -> print::Style {
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
