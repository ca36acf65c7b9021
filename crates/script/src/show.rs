//! `print` and `export`.

use std::ops::ControlFlow;
use std::sync::Arc;

use menu::{
    Clock, Item, Menu, Output, Policies, Reason, Refusal, Row, RowFilter, bytes, compare_rows,
    export, item_row, print,
};

use crate::ast::{Block, Command};
use crate::evaluated_command::{EvaluatedCommand, RouterAccess};
use crate::follow::{Following, interval};
use crate::items::{SLICE, row_value, with_filter};
use crate::machine::{CollectedOutput, Machine, Result};
use crate::rule_filter::Rules;
use crate::value::Value;

/// The RouterOS version named in exports.
pub(crate) const VERSION: &str = "7.22.1";

/// Options of `print` apart from row selection and style.
struct RowOptions {
    /// Sort order.
    order: Vec<&'static str>,
    /// Code of the `on-event` argument.
    event: Option<Arc<Block>>,
}

impl Machine<'_> {
    /// Runs `print` of a menu.
    pub(crate) fn print_menu(&mut self, menu: &'static Menu, command: &Command) -> Result<Value> {
        let ready = self.ready(command)?;
        let condition = self.condition(menu, command)?;
        let from = match ready.has("from") {
            true => Some(self.with(|access| access.selected(menu, &ready, "from"))?),
            false => None,
        };
        let options = print::Options {
            style: style(&ready),
            proplist: proplist(menu, &ready)?,
            show_ids: ready.flag("show-ids"),
            grouped: names_of(menu, &ready, "group-by")?.first().copied(),
        };
        let row_options = self.row_options(menu, &ready, command, options.grouped)?;
        let rules = Rules::of(menu, &ready);
        let all = condition.is_none() && from.is_none() && rules.is_all();
        if ready.flag("count-only")
            && all
            && let Some(count) = self.with(|access| Ok(access.live.count(menu)))?
        {
            return self.print_count(count);
        }
        let hidden = !self.sees_secrets();
        self.out.stop_at_pages(!ready.flag("without-paging"));
        let shown = with_filter(menu, condition.as_ref(), hidden, |filter| {
            let wanted = |row: &Row| {
                let id = row.id;
                from.as_ref()
                    .is_none_or(|ids| id.is_some_and(|id| ids.contains(&id)))
                    && rules.has(row)
                    && filter.test.is_none_or(|test| test(row))
            };
            let filter = RowFilter {
                equals: filter.equals.clone(),
                test: Some(&wanted),
                without_secrets: filter.without_secrets,
            };
            self.print_as_asked(menu, options, &ready, &row_options, &filter)
        });
        self.out.stop_at_pages(false);
        shown
    }

    /// Parses the options of `print`.
    fn row_options(
        &mut self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
        command: &Command,
        grouped: Option<&'static str>,
    ) -> Result<RowOptions> {
        let unfit = |name: &str, text: &str| match ready.argument(name) {
            Some((argument, _)) => Err(Reason::failure(text).at(argument.at)),
            None => Ok(()),
        };
        // Rows that arrive one by one, or are only counted, cannot be grouped.
        let again = follows(ready) || ready.has("interval") || ready.flag("count-only");
        if again {
            unfit("group-by", "group-by requires rows that are printed once")?;
        }
        if !follows(ready) {
            unfit("on-event", "on-event requires follow or follow-only")?;
        }
        let mut order = names_of(menu, ready, "order-by")?;
        order.splice(..0, grouped);
        let event = match ready.has("on-event") {
            true => Some(self.code_of(command, "on-event")?),
            false => None,
        };
        Ok(RowOptions { order, event })
    }

    fn print_as_asked(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        ready: &EvaluatedCommand<'_>,
        row_options: &RowOptions,
        filter: &RowFilter<'_>,
    ) -> Result<Value> {
        let order = &row_options.order[..];
        if ready.flag("count-only") {
            return self.count_rows(menu, filter);
        }
        if ready.flag("as-value") {
            return self.rows_as_value(menu, order, options.grouped, filter);
        }
        if let Some(name) = ready.text("file") {
            let append = ready.flag("append");
            return self.print_to_file(menu, options, &name, append, filter);
        }
        if let Some(interval) = interval(ready)? {
            let timed = ready.flag("timestamp");
            return self.print_again(menu, &options, filter, interval, timed);
        }
        if follows(ready) {
            let following = Following {
                from_now_on: ready.flag("follow-only"),
                timed: ready.flag("timestamp"),
                event: row_options.event.clone(),
            };
            return self.follow(menu, options, filter, &following);
        }
        self.print_time(ready.flag("timestamp"))?;
        if !order.is_empty() {
            return self.print_in_order(menu, options, order, filter);
        }
        self.print_rows(menu, options, filter)
    }

    /// Collects all rows and sorts them.
    fn in_order(
        &mut self,
        menu: &'static Menu,
        order: &[&'static str],
        filter: &RowFilter<'_>,
    ) -> Result<Vec<Row>> {
        let mut all = Vec::new();
        self.each_slice(menu, filter, |machine, rows| {
            // Estimated size of a row with its cells.
            machine.charge(rows.len() * 1_024)?;
            all.extend(rows);
            Ok(())
        })?;
        if !order.is_empty() {
            all.sort_by(|a, b| compare_rows(order, a, b));
        }
        Ok(all)
    }

    fn print_in_order(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        order: &[&'static str],
        filter: &RowFilter<'_>,
    ) -> Result<Value> {
        let rows = self.in_order(menu, order, filter)?;
        let mut printer = print::Printer::new(menu, options);
        let flow = printer.rows(rows, self.out);
        self.session.numbers.insert(menu.path, printer.numbers);
        match flow {
            ControlFlow::Continue(()) => Ok(Value::Nothing),
            ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
        }
    }

    /// Writes the output of `print file=` to a file.
    fn print_to_file(
        &mut self,
        menu: &'static Menu,
        options: print::Options,
        name: &str,
        append: bool,
        filter: &RowFilter<'_>,
    ) -> Result<Value> {
        let mut text = CollectedOutput::new(80);
        let mut printer = print::Printer::new(menu, options);
        self.each_slice(menu, filter, |_, rows| {
            match printer.rows(rows, &mut text) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Reason::Limit("output").nowhere().into()),
            }
        })?;
        if self.checking {
            return Ok(Value::Nothing);
        }
        let contents = bytes::to_bytes(&text.text);
        self.with(|access| write_text(access, name, append, &contents))?;
        Ok(Value::Nothing)
    }

    pub(crate) fn print_rows(
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
            count += rows.len() as u64;
            Ok(())
        })?;
        self.print_count(count)
    }

    fn print_count(&mut self, count: u64) -> Result<Value> {
        self.print(&format!("{count}\n"))?;
        Ok(Value::Num(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    fn rows_as_value(
        &mut self,
        menu: &'static Menu,
        order: &[&'static str],
        grouped: Option<&'static str>,
        filter: &RowFilter<'_>,
    ) -> Result<Value> {
        let rows = self.in_order(menu, order, filter)?;
        if let Some(name) = grouped {
            return Ok(groups(name, &rows));
        }
        let mut all: Vec<_> = rows.iter().map(|row| (None, row_value(row))).collect();
        match all.pop() {
            Some((_, row)) if !menu.has_rows() => Ok(row),
            last => {
                all.extend(last);
                Ok(Value::array(all))
            }
        }
    }

    /// Exports a menu, or all menus below a path, to the output or to a file.
    pub(crate) fn export(
        &mut self,
        path: &str,
        menu: Option<&'static Menu>,
        command: &Command,
    ) -> Result<Value> {
        self.demand(Policies::READ)?;
        let ready = self.ready(command)?;
        let condition = match menu {
            Some(menu) => self.condition(menu, command)?,
            None => None,
        };
        let sensitive = ready.flag("show-sensitive") && self.sees_secrets();
        let (file, paths) = (ready.text("file"), ready.text("path").unwrap_or_default());
        let options = export::Options {
            style: export_style(&ready),
            under: path,
            paths: &paths,
            sensitive,
            header: Some(export::Header {
                version: VERSION,
                clock: self.clock()?,
            }),
        };
        let mut exporter = export::Exporter::new(self.site.menus(), options);
        let width = file.as_ref().map_or_else(|| self.out.width(), |_| 80);
        let mut all = CollectedOutput::new(width);
        loop {
            // Output is collected, and printed once the router is released.
            let mut text = CollectedOutput::new(width);
            let flow = self.with(|access| {
                let wanted = |item: &Item| match (menu, &condition) {
                    (Some(menu), Some(condition)) => {
                        condition.holds(&item_row(access.store, access.live, menu, item))
                    }
                    _ => true,
                };
                Ok(exporter.write(access.store, &wanted, SLICE, &mut text))
            })?;
            self.step()?;
            let whole = match file {
                Some(_) => all.write(&text.text),
                None => self.out.write(&text.text),
            };
            match (flow, whole) {
                (ControlFlow::Continue(more), ControlFlow::Continue(())) if more => {}
                (ControlFlow::Continue(_), ControlFlow::Continue(())) => break,
                (ControlFlow::Continue(_), _) if file.is_none() => {
                    return Err(Reason::Interrupted.nowhere().into());
                }
                _ => return Err(Reason::Limit("output").nowhere().into()),
            }
        }
        let Some(name) = file.filter(|_| !self.checking) else {
            return Ok(Value::Nothing);
        };
        self.with(|access| {
            let files = access.live.files();
            let files =
                files.ok_or_else(|| Reason::failure("files need a running router").nowhere())?;
            let (name, text) = (with_ending(&name, ".rsc"), bytes::to_bytes(&all.text));
            match sensitive {
                true => files.write(&name, &text)?,
                false => files.write_plain(&name, &text)?,
            }
            Ok(Value::Nothing)
        })
    }
}

fn follows(ready: &EvaluatedCommand<'_>) -> bool {
    ready.flag("follow") || ready.flag("follow-only")
}

/// Writes text to a file, or appends it.
pub(crate) fn write_text(
    access: &mut RouterAccess<'_>,
    name: &str,
    append: bool,
    text: &[u8],
) -> std::result::Result<(), Refusal> {
    let files = access.live.files();
    let files = files.ok_or_else(|| Reason::failure("files need a running router").nowhere())?;
    let name = with_ending(name, ".txt");
    let mut contents = match append {
        // RouterOS: `append` creates a missing file.
        true => match files.read(&name) {
            Err(Reason::Denied) => return Err(Reason::Denied.nowhere()),
            read => read.unwrap_or_default(),
        },
        false => Vec::new(),
    };
    contents.extend_from_slice(text);
    files.write(&name, &contents).map_err(Reason::nowhere)
}

/// Groups rows sorted by a property: returns an array with the property values as keys and lists of rows.
fn groups(name: &str, rows: &[Row]) -> Value {
    let same = |a: &Row, b: &Row| a.get(name) == b.get(name);
    let groups = rows.chunk_by(same).map(|group| {
        let value = group[0].get(name).map(ToString::to_string);
        (
            value.unwrap_or_default(),
            Value::list(group.iter().map(row_value)),
        )
    });
    Value::array(groups.map(|(value, rows)| (Some(value), rows)).collect())
}

/// Appends a file name extension unless the name has it.
pub(crate) fn with_ending(name: &str, ending: &str) -> String {
    let given = name.ends_with(ending);
    format!("{name}{}", if given { "" } else { ending })
}

fn export_style(ready: &EvaluatedCommand<'_>) -> export::Style {
    match () {
        () if ready.flag("verbose") => export::Style::Verbose,
        () if ready.flag("terse") => export::Style::Terse,
        () => export::Style::Compact,
    }
}

/// Returns the properties that `proplist` lists.
pub(crate) fn proplist(
    menu: &'static Menu,
    ready: &EvaluatedCommand<'_>,
) -> std::result::Result<Vec<&'static str>, Refusal> {
    names_of(menu, ready, "proplist")
}

/// Returns the properties that an argument lists.
fn names_of(
    menu: &'static Menu,
    ready: &EvaluatedCommand<'_>,
    argument: &str,
) -> std::result::Result<Vec<&'static str>, Refusal> {
    let Some(text) = ready.text(argument) else {
        return Ok(Vec::new());
    };
    let find = |name: &str| {
        let property = menu.property(name.trim());
        property
            .map(|property| property.name)
            .ok_or_else(|| Reason::no_match(argument).nowhere())
    };
    let names = text
        .split(',')
        .filter(|name| !name.is_empty() && *name != ".id");
    names.map(find).collect()
}

fn style(ready: &EvaluatedCommand<'_>) -> print::Style {
    let flag = |name| ready.flag(name);
    match () {
        () if flag("stats-detail") || flag("detail") && flag("stats") => print::Style::StatsDetail,
        () if flag("detail") => print::Style::Detail,
        () if flag("stats") => print::Style::Stats,
        () if flag("terse") => print::Style::Terse,
        () if flag("value-list") => print::Style::ValueList,
        () => print::Style::Brief,
    }
}

/// Writes an export of the whole configuration.
pub fn export_all(store: &menu::Store, clock: Clock, out: &mut dyn Output) -> ControlFlow<()> {
    let header = export::Header {
        version: VERSION,
        clock,
    };
    let options = export::Options {
        header: Some(header),
        ..export::Options::default()
    };
    export::export(store, &options, out)
}
