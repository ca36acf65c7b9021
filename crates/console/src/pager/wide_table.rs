//! Tables wider than the terminal: shows the columns that fit; keys scroll to the others.

use std::ops::ControlFlow;

use super::Page;

/// Width of the gap between two cells.
const BETWEEN: usize = 2;

/// Maximum number of rows kept of a page, more than any terminal shows.
const ROWS: usize = 1_000;

/// Content of the page, and the visible columns.
#[derive(Debug, Default)]
pub(super) struct WideTable {
    /// The first visible column.
    first: usize,
    /// The column widths, from the headings.
    widths: Vec<usize>,
    /// Width in characters of the fixed text at the beginning of each row.
    begin: usize,
    heading: Option<Row>,
    /// The lines of the page, from the top.
    page: Vec<PageLine>,
    /// True if all columns are shown, regardless of the line length.
    dumped: bool,
}

#[derive(Clone, Debug)]
struct Row {
    begin: String,
    cells: Vec<String>,
}

#[derive(Clone, Debug)]
enum PageLine {
    Text(Vec<u8>),
    Row(Row),
}

/// A direction to scroll columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScrollDirection {
    Left,
    Right,
}

impl WideTable {
    /// True if not all columns fit on the terminal.
    pub(super) fn is_wide(&self) -> bool {
        !self.page.is_empty() && self.heading.is_some()
    }

    /// Starts a new page with the same visible columns.
    pub(super) fn restart(&mut self) {
        self.page.clear();
        self.heading = None;
    }

    /// Keeps a text line of the page for redrawing.
    pub(super) fn keep_text(&mut self, line: &[u8]) {
        // Text before the headings is kept too: a table may follow.
        self.keep(PageLine::Text(line.to_vec()));
    }

    fn keep(&mut self, shown: PageLine) {
        if !self.dumped && self.page.len() < ROWS {
            self.page.push(shown);
        }
    }

    /// Returns the number of columns from `first` that fit on the terminal, at least one.
    fn fitting(&self, first: usize, columns: usize) -> usize {
        let mut used = self.begin;
        let mut count = 0;
        for width in self.widths.iter().skip(first) {
            used += width + if count > 0 { BETWEEN } else { 0 };
            if used > columns && count > 0 {
                break;
            }
            count += 1;
        }
        count
    }

    /// Returns the first column of the screen to the left.
    fn left_of(&self, columns: usize) -> usize {
        let ends = |first: &usize| first + self.fitting(*first, columns) >= self.first;
        (0..self.first).find(ends).unwrap_or(0)
    }

    /// Formats a row with the visible columns. The result fits on the terminal unless a single cell is wider.
    fn line(&self, row: &Row, columns: usize) -> String {
        let fitting = match self.dumped {
            true => row.cells.len(),
            false => self.fitting(self.first, columns),
        };
        let from = if self.dumped { 0 } else { self.first };
        let cells: Vec<_> = row.cells.iter().skip(from).take(fitting).collect();
        let cells: Vec<_> = cells.into_iter().map(String::as_str).collect();
        let line = format!("{}{}", row.begin, cells.join("  "));
        // Trailing spaces could wrap into the next line.
        format!("{}\n", line.trim_end_matches(' '))
    }
}

impl Page<'_> {
    /// Shows a table row: fixed leading text, and cells padded to the column width. The first row of a table
    /// holds the headings.
    pub fn row(&mut self, begin: &str, cells: &[String]) -> ControlFlow<()> {
        let columns = self.columns;
        if !self.stops || !self.is_terminal() {
            let line = format!("{begin}{}\n", cells.join("  "));
            return self.write(line.as_bytes());
        }
        let row = Row {
            begin: begin.to_owned(),
            cells: cells.to_vec(),
        };
        if self.wide.widths.len() != cells.len() {
            self.wide.first = 0;
            self.wide.begin = begin.chars().count();
            self.wide.widths = cells.iter().map(|cell| cell.chars().count()).collect();
            self.wide.heading = None;
        }
        if self.wide.fitting(0, columns) == cells.len() {
            let line = format!("{begin}{}\n", cells.join("  "));
            return self.write(line.as_bytes());
        }
        if self.quit {
            return ControlFlow::Break(());
        }
        if self.wide.heading.is_none() {
            self.wide.heading = Some(row.clone());
        }
        if self.left == 0 {
            self.stop()?;
        }
        let line = self.wide.line(&row, columns);
        self.wide.keep(PageLine::Row(row));
        self.line(line.as_bytes());
        match self.ready.len() >= super::PIECE {
            true => self.flush(),
            false => ControlFlow::Continue(()),
        }
    }

    /// Returns the prompt below a page, with the valid keys.
    pub(super) fn legend(&self, more: bool) -> String {
        let mut keys = vec!["Q quit", "D dump"];
        if self.wide.is_wide() {
            let shown = self.wide.fitting(self.wide.first, self.columns);
            if self.wide.first + shown < self.wide.widths.len() {
                keys.push("right");
            }
            if self.wide.first > 0 {
                keys.push("left");
            }
        }
        if more {
            keys.push("down");
        }
        format!("-- [{}]", keys.join("|"))
    }

    /// Scrolls to the next columns in one direction, if there are any.
    pub(super) fn turn_columns(&mut self, turn: ScrollDirection) {
        let shown = self.wide.fitting(self.wide.first, self.columns);
        let first = match turn {
            ScrollDirection::Right if self.wide.first + shown < self.wide.widths.len() => {
                self.wide.first + shown
            }
            ScrollDirection::Left if self.wide.first > 0 => self.wide.left_of(self.columns),
            _ => return,
        };
        let height = self.page_height();
        self.wide.first = first;
        self.draw_page(height);
    }

    /// Shows all columns, on this page and from now on.
    pub(super) fn dump_columns(&mut self) {
        if self.wide.is_wide() && !self.wide.dumped {
            let height = self.page_height();
            self.wide.dumped = true;
            self.draw_page(height);
        }
    }

    /// Starts a page that continues the table below repeated headings.
    pub(super) fn next_page(&mut self) -> ControlFlow<()> {
        if !self.wide.is_wide() || self.left <= 1 || self.wide.dumped {
            // Only one more line is shown: the page continues.
            let excess = self
                .wide
                .page
                .len()
                .saturating_sub(self.rows.unwrap_or(usize::MAX));
            self.wide.page.drain(..excess);
            return ControlFlow::Continue(());
        }
        self.wide.page.clear();
        if let Some(heading) = self.wide.heading.clone() {
            let line = self.wide.line(&heading, self.columns);
            self.wide.keep(PageLine::Row(heading));
            self.line(line.as_bytes());
        }
        ControlFlow::Continue(())
    }

    /// Returns the number of terminal rows that the page occupies.
    fn page_height(&self) -> usize {
        let height = |line: &[u8]| {
            let shown = line.iter().filter(|byte| **byte & 0xc0 != 0x80);
            let characters = shown.filter(|byte| **byte != b'\n').count();
            characters.saturating_sub(1) / self.columns + 1
        };
        let heights = self.wide.page.iter().map(|shown| match shown {
            PageLine::Text(line) => height(line),
            PageLine::Row(row) => height(self.wide.line(row, self.columns).as_bytes()),
        });
        heights.sum()
    }

    /// Redraws the page, which occupies `height` rows.
    fn draw_page(&mut self, height: usize) {
        let page = std::mem::take(&mut self.wide.page);
        let (left, painted) = (self.left, self.painted);
        let up = height.min(self.rows.unwrap_or(0));
        if up > 0 {
            self.ready
                .extend_from_slice(format!("\x1b[{up}A\r\x1b[J").as_bytes());
        }
        for shown in &page {
            match shown {
                PageLine::Text(line) => self.line(line),
                PageLine::Row(row) => {
                    let line = self.wide.line(row, self.columns);
                    self.line(line.as_bytes());
                }
            }
        }
        (self.left, self.painted) = (left, painted);
        self.wide.page = page;
    }

    /// Ends paging: if the table has hidden columns, asks the user once more.
    pub(super) fn end_table(&mut self) {
        if self.wide.is_wide() && !self.wide.dumped && !self.quit {
            self.answer(false);
        }
        self.wide = WideTable::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;
    use crate::pager::RecordingWire;

    /// Prints a table of `rows` rows with three columns of 10 characters on a terminal of 30 columns and 6
    /// rows.
    fn table(rows: usize, keys: &[u8]) -> String {
        let (mut wire, mut decoder) = (RecordingWire::new(keys), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 30, Some(6));
        let cells =
            |name: &str| ["a", "b", "c"].map(|column| format!("{:<10}", format!("{column}{name}")));
        let mut flow = page.row("#  ", &cells(""));
        for row in 0..rows {
            if flow.is_continue() {
                flow = page.row(&format!("{row}  "), &cells(&row.to_string()));
            }
        }
        page.stop_at_pages(false);
        let _ = page.finish();
        wire.text()
    }

    #[test]
    fn a_wide_table_shows_fitting_columns_and_keys_scroll() {
        let text = table(2, b"\x1b[C\x1b[Dq");

        let pages: Vec<_> = text.split("-- [").collect();
        assert_eq!(pages.len(), 4, "{text:?}");
        assert_eq!(
            pages[0],
            "#  a           b\r\n0  a0          b0\r\n1  a1          b1\r\n"
        );
        assert!(
            pages[1].starts_with("Q quit|D dump|right]\r\x1b[K\x1b[3A"),
            "{text:?}"
        );
        assert!(pages[1].ends_with("#  c\r\n0  c0\r\n1  c1\r\n"), "{text:?}");
        assert!(pages[2].starts_with("Q quit|D dump|left]"), "{text:?}");
        assert!(pages[2].ends_with("1  a1          b1\r\n"), "{text:?}");
    }

    #[test]
    fn each_page_repeats_the_headings() {
        let text = table(6, b" q");

        let pages: Vec<_> = text.split("-- [").collect();
        assert!(
            pages[1].starts_with("Q quit|D dump|right|down]"),
            "{text:?}"
        );
        assert!(pages[1].contains("#  a           b\r\n4  a4"), "{text:?}");
        assert!(pages[2].starts_with("Q quit|D dump|right]"), "{text:?}");
    }

    #[test]
    fn a_dump_shows_all_columns() {
        let text = table(6, b"d");

        assert!(
            text.contains("0  a0          b0          c0\r\n"),
            "{text:?}"
        );
        assert!(
            text.contains("5  a5          b5          c5\r\n"),
            "{text:?}"
        );
    }

    #[test]
    fn the_key_help_is_below_a_redrawn_table() {
        let (mut wire, mut decoder) = (RecordingWire::new(b""), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(10));

        for n in 0..2 {
            let _ = page.repaint();
            let _ = page.write(format!("a: {n}\n").as_bytes());
            let _ = page.linger();
        }
        let _ = page.finish();

        assert_eq!(
            wire.text(),
            "\r\x1b[Ja: 0\r\n-- [Q quit]\r\x1b[K\x1b[1A\r\x1b[Ja: 1\r\n-- [Q quit]\r\x1b[K"
        );
    }
}
