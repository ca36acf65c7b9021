//! The table of `print brief` and `print stats`.

use super::{Options, Style, grouped, is_numbered, letter, text_of};
use crate::{Menu, Row};

/// The columns of a table and their widths.
pub(crate) struct Layout {
    /// Width of the number column; `None` if no row is numbered.
    number: Option<usize>,
    /// The flag columns in use.
    groups: Vec<u8>,
    legend: Vec<(u8, String)>,
    columns: Vec<Column>,
}

/// A line of the table.
pub(crate) struct Line {
    /// Number and flags.
    pub(crate) begin: String,
    /// The cells, padded to the column width.
    pub(crate) cells: Vec<String>,
}

struct Column {
    name: &'static str,
    width: usize,
    right: bool,
    counter: bool,
}

impl Layout {
    pub(crate) fn of(
        menu: &'static Menu,
        options: &Options,
        rows: &[(Option<usize>, Row)],
        follows: bool,
    ) -> Self {
        // A row that changes later may get any flag.
        let flags = menu.flags.iter();
        let flags: Vec<_> = flags
            .filter(|flag| follows || rows.iter().any(|(_, row)| row.is(flag.name)))
            .collect();
        let mut groups: Vec<_> = flags.iter().map(|flag| flag.group).collect();
        groups.dedup();
        let legend = flags
            .iter()
            .map(|flag| {
                (
                    flag.group,
                    format!("{} - {}", flag.letter, flag.name.to_uppercase()),
                )
            })
            .collect();
        let names: &[&'static str] = match options.style {
            _ if !options.proplist.is_empty() => &options.proplist,
            Style::Stats => menu.stats,
            _ => menu.columns,
        };
        let columns = names
            .iter()
            .filter_map(|name| Column::of(menu, name, rows))
            .collect();
        let numbers = rows
            .iter()
            .filter_map(|(number, row)| name(options, *number, row));
        let number = numbers
            .map(|name| name.len())
            .max()
            .filter(|_| is_numbered(menu));
        Self {
            number,
            groups,
            legend,
            columns,
        }
    }

    /// Returns the legends of flags and columns.
    pub(crate) fn legend(&self) -> String {
        let mut text = String::new();
        if !self.legend.is_empty() {
            text.push_str("Flags: ");
            for (index, (group, flag)) in self.legend.iter().enumerate() {
                let before = index.checked_sub(1).map(|before| self.legend[before].0);
                text.push_str(match before {
                    None => "",
                    Some(before) if before == *group => ", ",
                    Some(_) => "; ",
                });
                text.push_str(flag);
            }
            text.push('\n');
        }
        let names: Vec<_> = self.names().collect();
        text.push_str(&format!("Columns: {}\n", names.join(", ")));
        text
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.columns.iter().map(|column| column.name.to_uppercase())
    }

    /// Returns the heading line.
    pub(crate) fn headings(&self) -> Line {
        let mut begin = String::new();
        if let Some(width) = self.number {
            begin.push_str(&format!("{:>width$} ", "#"));
        }
        if !self.groups.is_empty() {
            begin.push_str(&" ".repeat(self.groups.len() + 1));
        }
        let cells = self.columns.iter().zip(self.names());
        let cells = cells.map(|(column, name)| column.pad(&name)).collect();
        Line { begin, cells }
    }

    pub(crate) fn row(
        &self,
        menu: &Menu,
        options: &Options,
        number: Option<usize>,
        row: &Row,
    ) -> Line {
        let mut text = String::new();
        if let Some(width) = self.number {
            let name = name(options, number, row).unwrap_or_default();
            text.push_str(&format!("{name:>width$} "));
        }
        if !self.groups.is_empty() {
            text.extend(
                self.groups
                    .iter()
                    .map(|group| letter(menu, row, *group).unwrap_or(' ')),
            );
            text.push(' ');
        }
        let cells = self.columns.iter();
        let cells = cells.map(|column| column.pad(&column.text(row))).collect();
        Line { begin: text, cells }
    }

    /// Returns the line for a removed row.
    pub(crate) fn gone(&self, name: &str) -> String {
        let width = self.number.unwrap_or(0);
        format!("{name:>width$} removed\n")
    }
}

impl Column {
    /// Creates a column, or `None` if it is empty in all rows.
    fn of(menu: &'static Menu, name: &'static str, rows: &[(Option<usize>, Row)]) -> Option<Self> {
        let property = menu.property(name);
        let mut column = Self {
            name,
            width: name.len(),
            right: true,
            counter: property.is_some_and(|property| property.stats),
        };
        let mut filled = false;
        for (_, row) in rows {
            let Some(value) = row.get(name).filter(|value| !value.is_empty()) else {
                continue;
            };
            filled = true;
            column.right &= value.is_numeric();
            column.width = column.width.max(column.text(row).chars().count());
        }
        filled.then_some(column)
    }

    fn text(&self, row: &Row) -> String {
        match row.get(self.name) {
            Some(value) if self.counter => grouped(&text_of(value)),
            value => value.map(text_of).unwrap_or_default(),
        }
    }

    fn pad(&self, text: &str) -> String {
        let width = self.width;
        if self.right {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    }
}

/// Returns the content of the first column.
fn name(options: &Options, number: Option<usize>, row: &Row) -> Option<String> {
    if options.show_ids {
        return row.id.map(|id| id.to_string());
    }
    number.map(|number| number.to_string())
}
