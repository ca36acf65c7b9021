//! Text columns of tables and of appended lines.

use menu::Row;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left.
    Left,
    /// Right.
    Right,
}

/// Column of a console table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name of the value; empty for the row number.
    pub name: &'static str,
    /// Heading.
    pub heading: &'static str,
    /// Width in appended lines; tables compute it.
    pub width: usize,
    /// Alignment in appended lines; tables compute it.
    pub align: Align,
    /// Format function of a cell; `None` shows the value itself.
    pub cell: Option<fn(&Row) -> String>,
    /// Omit the column from a table if it would be empty.
    pub optional: bool,
}

impl Column {
    /// Creates a column that shows a value.
    pub const fn new(name: &'static str, heading: &'static str) -> Self {
        Self {
            name,
            heading,
            width: 0,
            align: Align::Left,
            cell: None,
            optional: false,
        }
    }

    /// Sets width and alignment in appended lines.
    pub const fn at(mut self, width: usize, align: Align) -> Self {
        (self.width, self.align) = (width, align);
        self
    }

    /// Sets the format function of the cells.
    pub const fn showing(mut self, cell: fn(&Row) -> String) -> Self {
        self.cell = Some(cell);
        self
    }

    /// Omits the column from a table if it would be empty.
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    fn text(&self, number: usize, row: &Row) -> String {
        match (self.cell, self.name) {
            (Some(cell), _) => cell(row),
            (None, "") => number.to_string(),
            (None, name) => row.get(name).map(ToString::to_string).unwrap_or_default(),
        }
    }
}

fn padded(text: &str, width: usize, align: Align) -> String {
    match align {
        Align::Left => format!("{text:<width$}"),
        Align::Right => format!("{text:>width$}"),
    }
}

/// Formats a row as a line; without a row, the headings.
pub fn line<'c>(columns: impl Iterator<Item = &'c Column>, row: Option<&Row>) -> String {
    let cell = |column: &Column| match row {
        Some(row) => padded(&column.text(0, row), column.width, column.align),
        None => padded(column.heading, column.width, column.align),
    };
    let cells: Vec<_> = columns.map(cell).collect();
    format!("{}\n", cells.join(" ").trim_end())
}

/// Formats a table with headings. RouterOS: columns of integers are right-aligned.
pub fn table<'c>(columns: impl Iterator<Item = &'c Column>, rows: &[Row]) -> String {
    let texts = |column: &'c Column| {
        let rows = (1..).zip(rows);
        let texts: Vec<_> = rows.map(|(number, row)| column.text(number, row)).collect();
        (column, texts)
    };
    let shown = |(column, texts): &(&Column, Vec<String>)| {
        !column.optional || texts.iter().any(|text| !text.is_empty())
    };
    let columns: Vec<_> = columns.map(texts).filter(shown).collect();
    let named = columns.iter().filter(|(column, _)| !column.name.is_empty());
    let headings: Vec<_> = named.map(|(column, _)| column.heading).collect();
    let layout = |(column, texts): &(&Column, Vec<String>)| {
        let widths = texts.iter().map(String::len);
        let width = widths.fold(column.heading.len(), usize::max);
        let whole = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let numbers = !column.name.is_empty() && texts.iter().all(whole);
        (width, if numbers { Align::Right } else { Align::Left })
    };
    let layouts: Vec<_> = columns.iter().map(layout).collect();
    let mut page = format!("Columns: {}\n", headings.join(", "));
    for number in 0..=rows.len() {
        let text = |(column, texts): &(&Column, Vec<String>)| match number.checked_sub(1) {
            Some(row) => texts[row].clone(),
            None => column.heading.to_owned(),
        };
        let cells = columns.iter().map(text).zip(&layouts);
        let cells: Vec<_> = cells
            .map(|(text, (width, align))| padded(&text, *width, *align))
            .collect();
        page.push_str(&cells.join("  "));
        page.push('\n');
    }
    page
}
