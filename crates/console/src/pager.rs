//! Pager: shows the output of a running command page by page.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::Colour;
use crate::keys::{Decoder, Key};

mod input;
mod wide_table;

/// RouterOS: the footer below output that is redrawn until the user quits.
const FOOTER: &[u8] = b"-- [Q quit]";

/// Erases the footer or prompt line.
const ERASE: &[u8] = b"\r\x1b[K";

/// The connection to the terminal.
pub trait Wire {
    /// Sends bytes to the terminal. Returns `Break` if the terminal is gone.
    fn send(&mut self, bytes: &[u8]) -> ControlFlow<()>;

    /// Returns the next pending input byte, if any. Bytes not yet read stay with the terminal, which may
    /// discard them.
    fn typed(&mut self) -> Option<u8>;

    /// Waits at most `span` for the next byte. Returns `None` after a timeout or if the command must stop.
    fn wait(&mut self, span: Option<Duration>) -> Option<u8>;
}

/// The output page of a command.
pub struct Page<'a> {
    wire: &'a mut dyn Wire,
    /// The console's decoder: a sequence may span the border between line and page.
    decoder: &'a mut Decoder,
    columns: usize,
    /// Rows per page; `None` if the terminal has no pager.
    rows: Option<usize>,
    /// True if output stops at full pages.
    stops: bool,
    /// True if the terminal shows colours.
    colours: bool,
    /// True while text is written in a colour.
    dyed: bool,
    /// Rows left on the page.
    left: usize,
    /// Number of characters in the current row.
    column: usize,
    /// Rows written since the last [`Page::repaint`].
    painted: usize,
    ready: Vec<u8>,
    /// True if the last output ended a line, or nothing was written.
    ended: bool,
    quit: bool,
    /// Content of the page, for tables wider than the terminal.
    wide: wide_table::WideTable,
    /// True if the footer is shown.
    footed: bool,
}

/// Bytes per write to the terminal.
pub(crate) const PIECE: usize = 32 << 10;

impl<'a> Page<'a> {
    /// Creates the output page for a terminal of this size.
    pub fn new(
        wire: &'a mut dyn Wire,
        decoder: &'a mut Decoder,
        columns: usize,
        rows: Option<usize>,
    ) -> Self {
        let rows = rows.map(|rows| rows.max(3) - 1);
        Self {
            wire,
            decoder,
            columns: columns.max(1),
            rows,
            stops: true,
            colours: false,
            dyed: false,
            left: rows.unwrap_or(usize::MAX),
            column: 0,
            painted: 0,
            ready: Vec::new(),
            ended: true,
            quit: false,
            wide: wide_table::WideTable::default(),
            footed: false,
        }
    }

    /// Enables or disables colours.
    #[must_use]
    pub const fn coloured(mut self, colours: bool) -> Self {
        self.colours = colours;
        self
    }

    /// Enables or disables stopping at full pages; initially enabled.
    ///
    /// Disabling it at the end of a wide table asks the user once more for hidden columns.
    pub fn stop_at_pages(&mut self, stops: bool) {
        if !stops && self.stops {
            self.end_table();
        }
        if stops && !self.stops {
            self.left = self.rows.unwrap_or(usize::MAX);
        }
        self.stops = stops;
    }

    /// Writes text, and waits for a key when the page is full. Returns `Break` when the user quits.
    pub fn write(&mut self, text: &[u8]) -> ControlFlow<()> {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if self.quit {
                return ControlFlow::Break(());
            }
            if self.left == 0 && self.stops {
                self.stop()?;
            }
            if self.stops && self.is_terminal() {
                self.wide.keep_text(line);
            }
            self.line(line);
            if self.ready.len() >= PIECE {
                self.flush()?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Writes a line or a part of a line.
    fn line(&mut self, line: &[u8]) {
        self.lift_footer();
        let (body, end) = match line.strip_suffix(b"\n") {
            Some(body) => (body.strip_suffix(b"\r").unwrap_or(body), true),
            None => (line, false),
        };
        self.ready.extend_from_slice(body);
        // Count the first byte of each UTF-8 character.
        self.column += body.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.ended = false;
        if end {
            self.ready.extend_from_slice(b"\r\n");
            self.took_rows(self.column.saturating_sub(1) / self.columns + 1);
        }
    }

    /// Shows the footer with the keys that end the command, until further output.
    pub fn linger(&mut self) -> ControlFlow<()> {
        if self.is_terminal() && self.ended && !self.footed {
            self.footed = true;
            self.ready.extend_from_slice(FOOTER);
        }
        self.flush()
    }

    fn lift_footer(&mut self) {
        if std::mem::take(&mut self.footed) {
            self.ready.extend_from_slice(ERASE);
        }
    }

    /// Accounts for `rows` filled rows; the cursor is at the beginning of the next row.
    fn took_rows(&mut self, rows: usize) {
        self.left = self.left.saturating_sub(rows);
        self.painted += rows;
        self.column = 0;
        self.ended = true;
    }

    /// Completes an unfinished line and sends pending output.
    pub fn finish(&mut self) -> ControlFlow<()> {
        self.lift_footer();
        if !self.ended && !self.quit {
            self.line(b"\n");
        }
        if std::mem::take(&mut self.dyed) {
            self.ready.extend_from_slice(Colour::END.as_bytes());
        }
        self.flush()
    }

    /// Sends pending output.
    pub fn flush(&mut self) -> ControlFlow<()> {
        if self.ready.is_empty() {
            return ControlFlow::Continue(());
        }
        let ready = std::mem::take(&mut self.ready);
        self.wire.send(&ready)
    }

    /// Moves the cursor back to the position of the last [`Page::repaint`] or [`Page::mark`], so that further
    /// output overwrites the rows since then. Rows that scrolled off the screen stay.
    pub fn repaint(&mut self) -> ControlFlow<()> {
        self.lift_footer();
        self.wide.restart();
        let up = std::mem::take(&mut self.painted);
        if let Some(rows) = self.rows {
            self.left = rows;
            let up = up.min(rows);
            let back = match up {
                0 => "\r\x1b[J".to_owned(),
                up => format!("\x1b[{up}A\r\x1b[J"),
            };
            self.ready.extend_from_slice(back.as_bytes());
        }
        self.column = 0;
        self.flush()
    }

    /// Sets the position for [`Page::repaint`].
    pub fn mark(&mut self) {
        self.painted = 0;
    }

    /// True if the terminal has a pager and a movable cursor.
    pub const fn is_terminal(&self) -> bool {
        self.rows.is_some()
    }

    /// The width of the terminal.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Stops at a full page and waits for a key that says how much to show next.
    fn stop(&mut self) -> ControlFlow<()> {
        let lines = self.answer(true);
        self.left = lines.unwrap_or(0);
        self.quit = lines.is_none();
        match lines {
            Some(_) => self.next_page(),
            None => ControlFlow::Break(()),
        }
    }

    /// Asks for a key. Returns the number of rows to show; `None` to quit.
    fn answer(&mut self, more: bool) -> Option<usize> {
        loop {
            self.ready.extend_from_slice(self.legend(more).as_bytes());
            let answer = self.answering_key();
            self.ready.extend_from_slice(ERASE);
            let lines = match answer {
                Answer::Scroll(turn) => {
                    self.turn_columns(turn);
                    continue;
                }
                Answer::Dump => {
                    self.dump_columns();
                    Some(usize::MAX)
                }
                Answer::Quit => None,
                Answer::Line => Some(1),
                Answer::Page => self.rows,
            };
            return self.flush().is_continue().then_some(lines?);
        }
    }

    /// Waits for the next valid key below a page. Reads one byte at a time, because input after the answer is
    /// not for the pager.
    fn answering_key(&mut self) -> Answer {
        loop {
            let wide = self.wide.is_wide();
            return match self.key(None) {
                None | Some(Key::Char('q' | 'Q') | Key::Ctrl('c') | Key::Escape) => Answer::Quit,
                Some(Key::Char('d' | 'D')) => Answer::Dump,
                Some(Key::Enter | Key::Down) => Answer::Line,
                Some(Key::Right) if wide => Answer::Scroll(wide_table::ScrollDirection::Right),
                Some(Key::Left) if wide => Answer::Scroll(wide_table::ScrollDirection::Left),
                Some(Key::Char(' ') | Key::PageDown | Key::Right) => Answer::Page,
                Some(_) => continue,
            };
        }
    }
}

/// The meaning of a key below a page.
enum Answer {
    Quit,
    /// Show the rest with all columns.
    Dump,
    Line,
    Page,
    /// Show other columns.
    Scroll(wide_table::ScrollDirection),
}

/// Writes text with CR LF line ends, as a terminal in raw mode needs.
pub(crate) fn write_lines(text: &[u8], out: &mut Vec<u8>) {
    let mut last = 0;
    for byte in text {
        if *byte == b'\n' && last != b'\r' {
            out.push(b'\r');
        }
        out.push(*byte);
        last = *byte;
    }
}

/// A recording wire for tests, with prepared input.
#[cfg(test)]
pub(crate) struct RecordingWire {
    pub(crate) sent: Vec<u8>,
    pub(crate) keys: std::collections::VecDeque<u8>,
}

#[cfg(test)]
impl RecordingWire {
    pub(crate) fn new(keys: &[u8]) -> Self {
        Self {
            sent: Vec::new(),
            keys: keys.iter().copied().collect(),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.sent).into_owned()
    }
}

#[cfg(test)]
impl Wire for RecordingWire {
    fn send(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        self.sent.extend_from_slice(bytes);
        ControlFlow::Continue(())
    }

    fn typed(&mut self) -> Option<u8> {
        self.keys.pop_front()
    }

    fn wait(&mut self, _: Option<Duration>) -> Option<u8> {
        self.keys.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Vec<u8> {
        (0..count)
            .flat_map(|n| format!("{n}\n").into_bytes())
            .collect()
    }

    fn shown(count: usize, keys: &[u8]) -> (ControlFlow<()>, RecordingWire) {
        let (mut wire, mut decoder) = (RecordingWire::new(keys), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(10));
        let flow = page.write(&lines(count));
        let _ = page.finish();
        (flow, wire)
    }

    #[test]
    fn output_that_fits_is_shown_without_a_prompt() {
        let (flow, wire) = shown(9, b"");

        assert!(flow.is_continue());
        assert!(wire.text().ends_with("8\r\n"));
    }

    #[test]
    fn pager_keys_show_a_page_a_line_or_the_rest() {
        let (flow, wire) = shown(100, b"\rx d");
        let text = wire.text();

        assert!(flow.is_continue());
        let pages: Vec<_> = text.split("-- [Q quit|D dump|down]").collect();
        assert_eq!(pages.len(), 4, "{text:?}");
        assert!(pages[0].ends_with("8\r\n"));
        assert_eq!(pages[1], "\r\x1b[K9\r\n");
        assert!(pages[2].starts_with("\r\x1b[K10\r\n") && pages[2].ends_with("18\r\n"));
        assert!(pages[3].ends_with("99\r\n"));
    }

    #[test]
    fn quitting_the_pager_stops_the_command() {
        for keys in [&b"q"[..], b"\x03", b""] {
            let (flow, wire) = shown(100, keys);

            assert!(flow.is_break());
            assert!(
                wire.text()
                    .ends_with("8\r\n-- [Q quit|D dump|down]\r\x1b[K")
            );
        }
    }

    #[test]
    fn input_after_the_answer_is_kept() {
        for answer in [&b"q"[..], b"\x03", b"xd", b"\x1b[6~q"] {
            let (_, wire) = shown(100, &[answer, b"rest"].concat());

            assert_eq!(wire.keys, b"rest", "{answer:?}");
        }
    }

    #[test]
    fn an_escape_sequence_begun_before_the_prompt_ends_there() {
        let (mut wire, mut decoder) = (RecordingWire::new(b"[6~q"), Decoder::default());
        decoder.decode(b"\x1b", &mut Vec::new());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(10));

        let flow = page.write(&lines(100));

        assert!(flow.is_break());
        assert!(wire.text().contains("\n17\r\n--"), "{:?}", wire.text());
    }

    #[test]
    fn unpaged_output_shows_no_prompt() {
        let (mut wire, mut decoder) = (RecordingWire::new(b"rest"), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(10));

        let _ = page.write(&lines(9));
        page.stop_at_pages(false);
        let _ = page.write(b"interrupted\n");
        let _ = page.finish();

        assert!(wire.text().ends_with("8\r\ninterrupted\r\n"));
        assert_eq!(wire.keys, b"rest");
    }

    #[test]
    fn a_long_line_takes_several_rows() {
        let (mut wire, mut decoder) = (RecordingWire::new(b"q"), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 20, Some(4));

        let flow = page.write(format!("{}\nmore\n", "x".repeat(41)).as_bytes());

        assert!(flow.is_break());
        assert!(!wire.text().contains("more"));
    }

    #[test]
    fn redrawn_output_replaces_the_previous_one() {
        let (mut wire, mut decoder) = (RecordingWire::new(b""), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(10));

        for n in 0..2 {
            let _ = page.repaint();
            let _ = page.write(format!("a: {n}\nb: {n}\n").as_bytes());
        }
        let _ = page.finish();

        assert_eq!(
            wire.text(),
            "\r\x1b[Ja: 0\r\nb: 0\r\n\x1b[2A\r\x1b[Ja: 1\r\nb: 1\r\n"
        );
    }
}
