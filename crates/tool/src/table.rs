//! Rows in columns: those of a table that is drawn as a whole, and those of lines that go on.

use menu::Row;

/// Where the cells of a column begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At one place on the left.
    Left,
    /// At one place on the right.
    Right,
}

/// A column of rows as a console shows them.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The value that it shows; empty for the row's number.
    pub name: &'static str,
    /// What stands above it.
    pub heading: &'static str,
    /// Its width among lines that go on, and where its cells are; a table finds both by itself.
    pub place: (usize, Align),
    /// The text of a row's cell, where it is not the value's own.
    pub cell: Option<fn(&Row) -> String>,
    /// Whether it is left out of a table in which it would be empty.
    pub optional: bool,
}

impl Column {
    /// A column that shows a value as it is.
    pub const fn new(name: &'static str, heading: &'static str) -> Self {
        Self {
            name,
            heading,
            place: (0, Align::Left),
            cell: None,
            optional: false,
        }
    }

    /// It has this width among lines that go on.
    pub const fn at(mut self, width: usize, align: Align) -> Self {
        self.place = (width, align);
        self
    }

    /// Its cells are made of the row.
    pub const fn showing(mut self, cell: fn(&Row) -> String) -> Self {
        self.cell = Some(cell);
        self
    }

    /// It is left out of a table in which it would be empty.
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

fn padded(text: &str, (width, align): (usize, Align)) -> String {
    match align {
        Align::Left => format!("{text:<width$}"),
        Align::Right => format!("{text:>width$}"),
    }
}

/// A line of rows that go on; the one of headings, where there is no row.
pub fn line<'c>(columns: impl Iterator<Item = &'c Column>, row: Option<&Row>) -> String {
    let cell = |column: &Column| match row {
        Some(row) => padded(&column.text(0, row), column.place),
        None => padded(column.heading, column.place),
    };
    let cells: Vec<_> = columns.map(cell).collect();
    format!("{}\n", cells.join(" ").trim_end())
}

/// A table of all rows below its headings. RouterOS: a column of whole numbers is aligned to the right.
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
    let place = |(column, texts): &(&Column, Vec<String>)| {
        let widths = texts.iter().map(String::len);
        let width = widths.fold(column.heading.len(), usize::max);
        let whole = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let numbers = !column.name.is_empty() && texts.iter().all(whole);
        (width, if numbers { Align::Right } else { Align::Left })
    };
    let places: Vec<_> = columns.iter().map(place).collect();
    let mut page = format!("Columns: {}\n", headings.join(", "));
    for number in 0..=rows.len() {
        let text = |(column, texts): &(&Column, Vec<String>)| match number.checked_sub(1) {
            Some(row) => texts[row].clone(),
            None => column.heading.to_owned(),
        };
        let cells = columns.iter().map(text).zip(&places);
        let cells: Vec<_> = cells.map(|(text, place)| padded(&text, *place)).collect();
        page.push_str(&cells.join("  "));
        page.push('\n');
    }
    page
}
