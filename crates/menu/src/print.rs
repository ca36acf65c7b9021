//! `print`: shows rows as tables, details and lists, in the layouts of RouterOS v7.
//!
//! Rows are printed as they arrive: the first rows determine the layout of a table.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::{Id, Kind, Menu, MenuShape, Output, Property, Row, Value, quote_always, visible};

mod table;

/// The print style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Style {
    /// A table with the menu's main columns.
    #[default]
    Brief,
    /// All properties, wrapped to the width of the terminal.
    Detail,
    /// A table of counters.
    Stats,
    /// All properties and counters, wrapped to the width of the terminal.
    StatsDetail,
    /// All properties of a row on one line.
    Terse,
    /// One property per line.
    ValueList,
}

/// Print options.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The style.
    pub style: Style,
    /// Show these properties in this order; the default ones if empty.
    pub proplist: Vec<&'static str>,
    /// Show ids instead of numbers.
    pub show_ids: bool,
    /// Property to group rows by: a heading precedes the rows of each value.
    pub grouped: Option<&'static str>,
}

/// The items that a `print` numbered, in order of their numbers.
pub type Numbers = Vec<Id>;

/// State of a running `print`.
pub struct Printer {
    menu: &'static Menu,
    options: Options,
    layout: Option<table::Layout>,
    /// The items numbered so far.
    pub numbers: Numbers,
    begun: bool,
    /// The value of the grouping property in the previous row.
    group: Option<String>,
    /// For `follow`: the number assigned to each row.
    followed: Option<BTreeMap<Id, usize>>,
}

impl Printer {
    /// Creates a printer.
    pub const fn new(menu: &'static Menu, options: Options) -> Self {
        Self {
            menu,
            options,
            layout: None,
            numbers: Vec::new(),
            begun: false,
            group: None,
            followed: None,
        }
    }

    /// Switches to `follow`: a changed row keeps its number, and the table has room for all flags.
    #[must_use]
    pub fn following(mut self) -> Self {
        self.followed = Some(BTreeMap::new());
        self
    }

    /// Prints that rows were removed.
    pub fn gone(&mut self, ids: &[Id], out: &mut dyn Output) -> ControlFlow<()> {
        for id in ids {
            let number = self.followed.as_mut().and_then(|known| known.remove(id));
            let name = match (self.options.show_ids, number) {
                (true, _) => id.to_string(),
                (false, Some(number)) => number.to_string(),
                (false, None) => continue,
            };
            let line = match &self.layout {
                Some(layout) => layout.gone(&name),
                None => format!("{name:>2} removed\n"),
            };
            out.write(&line)?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the number of a row: the assigned one, or the next.
    fn number(&mut self, id: Id) -> usize {
        let next = self.numbers.len();
        let number = match &mut self.followed {
            Some(known) => *known.entry(id).or_insert(next),
            None => next,
        };
        if number == next {
            self.numbers.push(id);
        }
        number
    }

    /// Prints the next rows. The first call determines the column widths.
    pub fn rows(&mut self, rows: Vec<Row>, out: &mut dyn Output) -> ControlFlow<()> {
        let mut batch = Vec::with_capacity(rows.len());
        for row in rows {
            let mut number = None;
            if let Some(id) = row.id
                && !(self.menu.unnumbered_dynamic && row.is("dynamic"))
            {
                number = Some(self.number(id));
            }
            batch.push((number, row));
        }
        self.show(&batch, out)
    }

    fn show(&mut self, batch: &[(Option<usize>, Row)], out: &mut dyn Output) -> ControlFlow<()> {
        if !self.menu.has_rows() {
            return batch
                .iter()
                .try_for_each(|(_, row)| self.settings(row, out));
        }
        if batch.is_empty() {
            return ControlFlow::Continue(());
        }
        match self.options.style {
            Style::Brief if self.menu.lines => {
                batch.iter().try_for_each(|(_, row)| self.line(row, out))
            }
            Style::Brief if self.menu.columns.is_empty() => self.details(batch, out),
            Style::Brief | Style::Stats => self.table(batch, out),
            Style::Detail | Style::StatsDetail => self.details(batch, out),
            Style::Terse => batch.iter().try_for_each(|(number, row)| {
                self.heading(row, out)?;
                self.terse(*number, row, out)
            }),
            Style::ValueList => batch.iter().try_for_each(|(_, row)| {
                self.heading(row, out)?;
                self.value_list(row, out)
            }),
        }
    }

    /// Prints the heading before the first row of a group.
    fn heading(&mut self, row: &Row, out: &mut dyn Output) -> ControlFlow<()> {
        let Some(name) = self.options.grouped else {
            return ControlFlow::Continue(());
        };
        let value = row.get(name).map(text_of).unwrap_or_default();
        if self.group.as_ref() == Some(&value) {
            return ControlFlow::Continue(());
        }
        let line = format!("{name}: {value}\n");
        self.group = Some(value);
        out.write(&line)
    }

    fn table(&mut self, batch: &[(Option<usize>, Row)], out: &mut dyn Output) -> ControlFlow<()> {
        let layout = match self.layout.take() {
            Some(layout) => layout,
            None => {
                let follows = self.followed.is_some();
                let layout = table::Layout::of(self.menu, &self.options, batch, follows);
                out.write(&layout.legend())?;
                let table::Line { begin, cells } = layout.headings();
                out.row(&begin, &cells)?;
                layout
            }
        };
        for (number, row) in batch {
            self.heading(row, out)?;
            for remark in row.remarks() {
                out.write(&format!(";;; {remark}\n"))?;
            }
            let table::Line { begin, cells } = layout.row(self.menu, &self.options, *number, row);
            out.row(&begin, &cells)?;
        }
        self.layout = Some(layout);
        ControlFlow::Continue(())
    }

    fn details(&mut self, batch: &[(Option<usize>, Row)], out: &mut dyn Output) -> ControlFlow<()> {
        if !std::mem::replace(&mut self.begun, true) && !self.menu.flags.is_empty() {
            out.write(&fold_words(&legend(self.menu), 0, out.width()))?;
        }
        for (number, row) in batch {
            self.heading(row, out)?;
            let head = head(self.menu, &self.options, *number, row);
            let indent = head.len();
            let mut text = head;
            for remark in row.remarks() {
                text.push_str(&format!(";;; {remark}\n{}", " ".repeat(indent)));
            }
            let words: Vec<_> = shown(self.menu, &self.options, row)
                .filter(|(p, _)| p.name != "comment" && !self.is_flag(p.name))
                .map(|(property, value)| assignment(property, &value))
                .collect();
            text.push_str(&fold_words(&words, indent, out.width()));
            text.push('\n');
            out.write(&text)?;
        }
        ControlFlow::Continue(())
    }

    fn terse(&self, number: Option<usize>, row: &Row, out: &mut dyn Output) -> ControlFlow<()> {
        let mut text = head(self.menu, &self.options, number, row);
        let comment = row.get("comment").filter(|comment| !comment.is_empty());
        if let Some(comment) = comment {
            text.push_str(&format!("comment={} ", text_of(comment)));
        }
        let about = row.get(Row::ABOUT).filter(|about| !about.is_empty());
        if let Some(about) = about {
            text.push_str(&format!("{}={} ", Row::ABOUT, text_of(about)));
        }
        for (property, value) in shown(self.menu, &self.options, row) {
            if property.name == "comment" || self.is_flag(property.name) {
                continue;
            }
            match property.kind {
                Kind::Presence => text.push_str(&format!("{} ", property.name)),
                _ => text.push_str(&format!("{}={} ", property.name, text_of(&value))),
            }
        }
        text.push('\n');
        out.write(&text)
    }

    fn line(&self, row: &Row, out: &mut dyn Output) -> ControlFlow<()> {
        let mut text = String::new();
        for value in self.menu.columns.iter().filter_map(|name| row.get(name)) {
            text.push_str(&format!(" {}", text_of(value)));
        }
        text.push('\n');
        out.write(&text)
    }

    fn value_list(&mut self, row: &Row, out: &mut dyn Output) -> ControlFlow<()> {
        if std::mem::replace(&mut self.begun, true) {
            out.write("\n")?;
        }
        self.settings(row, out)
    }

    /// Prints settings as `name: value` with right-aligned names.
    fn settings(&self, row: &Row, out: &mut dyn Output) -> ControlFlow<()> {
        let cells: Vec<_> = shown(self.menu, &self.options, row).collect();
        let width = cells.iter().map(|(p, _)| p.name.len()).max().unwrap_or(0) + 2;
        let mut text = String::new();
        if self.options.proplist.is_empty() {
            for remark in row.remarks() {
                text.push_str(&format!(";;; {remark}\n"));
            }
        }
        for (property, value) in &cells {
            text.push_str(&format!(
                "{:>width$}: {}\n",
                property.name,
                measured(property, value)
            ));
        }
        out.write(&text)
    }

    fn is_flag(&self, name: &str) -> bool {
        self.menu.flags.iter().any(|flag| flag.name == name)
    }
}

/// Returns the text of a value with control characters made visible.
pub(crate) fn text_of(value: &Value) -> String {
    let text = value.to_string();
    match visible(&text) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => text,
    }
}

/// Returns the cells to show, in order.
pub(crate) fn shown<'a>(
    menu: &'static Menu,
    options: &'a Options,
    row: &'a Row,
) -> impl Iterator<Item = (&'static Property, Value)> + 'a {
    let stats = matches!(options.style, Style::Stats | Style::StatsDetail);
    let usual = menu
        .properties()
        .filter(move |p| !p.stats || stats || !menu.has_rows());
    let wanted = options
        .proplist
        .iter()
        .filter_map(|name| menu.property(name));
    let asked = !options.proplist.is_empty();
    let properties: Vec<_> = if asked {
        wanted.collect()
    } else {
        usual.collect()
    };
    properties.into_iter().filter_map(|property| {
        let value = row.get(property.name)?;
        Some((property, value.clone()))
    })
}

/// Returns the legend of all flags, in words between which a line may be broken. The flag `~` is left out: a
/// letter that RouterOS does not have would confuse programs that parse the output.
fn legend(menu: &Menu) -> Vec<String> {
    let mut words = vec!["Flags:".to_owned()];
    let flags = menu.flags;
    for (index, flag) in flags.iter().enumerate() {
        let next = flags.get(index + 1).map(|next| next.group);
        let mark = match next {
            Some(group) if group == flag.group => ",",
            Some(_) => ";",
            None => "",
        };
        words.push(format!("{} - {}{mark}", flag.letter, flag.name));
    }
    words
}

/// Returns the number or id and the flags that precede a row outside tables.
fn head(menu: &Menu, options: &Options, number: Option<usize>, row: &Row) -> String {
    let name = match (options.show_ids, row.id, number) {
        (true, Some(id), _) => id.to_string(),
        (false, _, Some(number)) => number.to_string(),
        _ => String::new(),
    };
    let groups = menu
        .flags
        .iter()
        .map(|flag| flag.group)
        .max()
        .map_or(0, |last| last + 1);
    let mut text = format!("{name:>2} ");
    text.extend((0..groups).map(|group| letter(menu, row, group).unwrap_or(' ')));
    text.push(' ');
    text
}

/// Returns the flag letter of a row in one column.
pub(crate) fn letter(menu: &Menu, row: &Row, group: u8) -> Option<char> {
    let mut flags = menu.flags.iter().filter(|flag| flag.group == group);
    flags.find(|flag| row.is(flag.name)).map(|flag| flag.letter)
}

/// Formats `name=value` with strings in quotes.
fn assignment(property: &Property, value: &Value) -> String {
    match value {
        _ if property.kind == Kind::Presence => property.name.to_owned(),
        Value::Text(text) if !property.bare => {
            format!("{}={}", property.name, quote_always(text))
        }
        Value::List(values) if values.is_empty() => format!("{}=\"\"", property.name),
        value if property.stats => format!("{}={}", property.name, grouped(&text_of(value))),
        value if property.unit == "B" => format!("{}={}", property.name, measured(property, value)),
        value => format!("{}={}", property.name, text_of(value)),
    }
}

/// Formats a value with its unit.
fn measured(property: &Property, value: &Value) -> String {
    match (property.unit, value) {
        _ if property.kind == Kind::Presence => String::new(),
        ("B", Value::Number(bytes)) => size(*bytes),
        (unit, value) => format!("{}{unit}", text_of(value)),
    }
}

/// Formats a size as `512B`, `12.5KiB`, `892.4MiB`.
fn size(bytes: i64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let Some((unit, shift)) = units.iter().find(|(_, shift)| bytes >= 1 << shift) else {
        return format!("{bytes}B");
    };
    let tenths = (i128::from(bytes) * 10) >> shift;
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

/// Joins words with spaces, wrapped to the width; continuation lines are indented.
fn fold_words(words: &[String], indent: usize, width: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for word in words {
        let length = word.chars().count() + 1;
        if column > indent && column + length > width {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(word);
        text.push(' ');
        column += length;
    }
    text.push('\n');
    text
}

/// Groups the digits of a counter in threes; other text is unchanged.
pub(crate) fn grouped(digits: &str) -> String {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.to_owned();
    }
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, c) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(c);
    }
    text
}

/// True if rows of a menu are numbered.
pub(crate) const fn is_numbered(menu: &Menu) -> bool {
    match menu.shape {
        MenuShape::Settings | MenuShape::Status | MenuShape::Folder => false,
        // Menus that number only configured items and have none are not numbered.
        MenuShape::Rows => !menu.unnumbered_dynamic,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digit_grouping_applies_to_numbers_only() {
        let shown = ["7", "1234567", "2026-11-22 04:19:21"].map(grouped);

        assert_eq!(shown, ["7", "1 234 567", "2026-11-22 04:19:21"]);
    }
}
