//! Draws a prompt and a line on a terminal of a known width, and redraws it in place.
//!
//! The line may take several rows. The screen remembers on which of its own rows the cursor stands,
//! goes up to the first one, clears to the end and draws anew; nothing above it is touched.

use std::fmt::Write as _;

use crate::{Colour, Span};

/// What is drawn at the moment.
#[derive(Debug)]
pub struct Screen {
    columns: usize,
    colours: bool,
    /// Nothing moves its cursor but a carriage return.
    dumb: bool,
    /// The row that the cursor stands on, counted from the prompt's first.
    row: usize,
    /// Prompt and line as they stand there, with the cursor behind them; none on a free row.
    drawn: Option<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    text: String,
    /// Whether the cursor stands at the end.
    at_end: bool,
}

impl Screen {
    /// A screen of this many columns; at least 20 are assumed.
    pub fn new(columns: usize, colours: bool, dumb: bool) -> Self {
        Self {
            columns: columns.max(20),
            colours: colours && !dumb,
            dumb,
            row: 0,
            drawn: None,
        }
    }

    /// Takes a new width.
    pub fn resize(&mut self, columns: usize) {
        self.columns = columns.max(20);
    }

    /// The width in columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Forgets what was drawn: the cursor stands at the beginning of a free row.
    pub fn forget(&mut self) {
        self.row = 0;
        self.drawn = None;
    }

    /// Draws `prompt` and `line`, with the cursor before byte `cursor` of the line.
    ///
    /// Without colours, what was only typed on is only written on: a program that reads the screen
    /// sees each character once, and nothing behind the prompt.
    pub fn draw(
        &mut self,
        prompt: &str,
        line: &str,
        cursor: usize,
        spans: &[Span],
        out: &mut Vec<u8>,
    ) {
        let whole = format!("{prompt}{line}");
        let at_end = cursor >= line.len();
        if self.dumb {
            self.draw_dumb(prompt, line, cursor, out);
        } else if !self.write_on(&whole, at_end, out) {
            self.draw_anew(prompt, line, cursor, spans, out);
        }
        self.drawn = Some(Drawn {
            text: whole,
            at_end,
        });
    }

    /// Writes only what is new behind what is there, if that is enough.
    fn write_on(&mut self, whole: &str, at_end: bool, out: &mut Vec<u8>) -> bool {
        let Some(before) = self.drawn.as_ref().filter(|d| d.at_end && at_end) else {
            return false;
        };
        let Some(new) = whole.strip_prefix(&before.text) else {
            return false;
        };
        let (was, is) = (width(&before.text), width(whole));
        // Where a row is full the cursor has to be brought to the next one.
        let same_row = was / self.columns == is / self.columns;
        if self.colours && !new.is_empty() || !same_row {
            return false;
        }
        out.extend_from_slice(new.as_bytes());
        true
    }

    fn draw_anew(
        &mut self,
        prompt: &str,
        line: &str,
        cursor: usize,
        spans: &[Span],
        out: &mut Vec<u8>,
    ) {
        let mut text = String::new();
        if self.drawn.is_some() {
            self.to_first_row(&mut text);
            text.push_str("\x1b[J");
        }
        self.coloured(prompt, Colour::Prompt, &mut text);
        self.line(line, spans, &mut text);

        let end = width(prompt) + width(line);
        let at = width(prompt) + width(line.get(..cursor).unwrap_or(line));
        // A terminal that has filled its last column waits there; a space makes it go on.
        if end > 0 && end.is_multiple_of(self.columns) {
            text.push_str(" \r");
        }
        let (end_row, row) = (end / self.columns, at / self.columns);
        if end_row > row {
            let _ = write!(text, "\x1b[{}A", end_row - row);
        }
        if at < end {
            text.push('\r');
            if !at.is_multiple_of(self.columns) {
                let _ = write!(text, "\x1b[{}C", at % self.columns);
            }
        }
        self.row = row;
        out.extend_from_slice(text.as_bytes());
    }

    /// On a dumb terminal the line is written over from its beginning when it does not just grow.
    fn draw_dumb(&mut self, prompt: &str, line: &str, cursor: usize, out: &mut Vec<u8>) {
        let whole = format!("{prompt}{line}");
        let before = self.drawn.as_ref();
        if let Some(new) = before
            .filter(|before| before.at_end && cursor >= line.len())
            .and_then(|before| whole.strip_prefix(&before.text))
        {
            out.extend_from_slice(new.as_bytes());
            return;
        }
        let blank = before.map_or(0, |before| {
            width(&before.text).saturating_sub(width(&whole))
        });
        if before.is_some() {
            out.push(b'\r');
        }
        out.extend_from_slice(whole.as_bytes());
        out.extend(std::iter::repeat_n(b' ', blank));
        if blank > 0 || cursor < line.len() {
            out.push(b'\r');
            let upto = line.get(..cursor).unwrap_or(line);
            out.extend_from_slice(prompt.as_bytes());
            out.extend_from_slice(upto.as_bytes());
        }
    }

    /// Leaves the line as it stands and goes to a new row below it.
    pub fn leave(&mut self, prompt: &str, line: &str, spans: &[Span], out: &mut Vec<u8>) {
        self.draw(prompt, line, line.len(), spans, out);
        out.extend_from_slice(b"\r\n");
        self.forget();
    }

    /// Takes prompt and line off the screen.
    pub fn erase(&mut self, out: &mut Vec<u8>) {
        if self.dumb {
            out.extend_from_slice(b"\r\n");
        } else {
            let mut text = String::new();
            self.to_first_row(&mut text);
            text.push_str("\x1b[J");
            out.extend_from_slice(text.as_bytes());
        }
        self.forget();
    }

    fn to_first_row(&self, text: &mut String) {
        if self.row > 0 {
            let _ = write!(text, "\x1b[{}A", self.row);
        }
        text.push('\r');
    }

    fn line(&self, line: &str, spans: &[Span], text: &mut String) {
        let mut at = 0;
        for span in spans {
            let (Some(gap), Some(part)) =
                (line.get(at..span.range.start), line.get(span.range.clone()))
            else {
                continue;
            };
            text.push_str(gap);
            self.coloured(part, span.colour, text);
            at = span.range.end;
        }
        text.push_str(line.get(at..).unwrap_or_default());
    }

    fn coloured(&self, part: &str, colour: Colour, text: &mut String) {
        let begin = if self.colours { colour.begin() } else { "" };
        text.push_str(begin);
        text.push_str(part);
        if !begin.is_empty() {
            text.push_str(Colour::END);
        }
    }
}

/// Columns that a text takes.
fn width(text: &str) -> usize {
    text.chars().filter(|c| !c.is_control()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(screen: &mut Screen, line: &str, cursor: usize) -> String {
        let mut out = Vec::new();
        screen.draw("> ", line, cursor, &[], &mut out);
        String::from_utf8(out).expect("what is drawn is text")
    }

    #[test]
    fn a_long_line_is_redrawn_from_its_first_row() {
        let mut screen = Screen::new(20, false, false);

        let first = drawn(&mut screen, &"x".repeat(30), 30);
        let second = drawn(&mut screen, &"x".repeat(30), 0);

        assert!(first.ends_with('x'), "{first:?}");
        assert!(second.starts_with("\x1b[1A\r\x1b[J"), "{second:?}");
        assert!(second.ends_with("\x1b[1A\r\x1b[2C"), "{second:?}");
    }

    #[test]
    fn colours_are_drawn_only_where_wanted() {
        let spans = [Span {
            range: 0..2,
            colour: Colour::Menu,
        }];
        for (colours, expected) in [(true, true), (false, false)] {
            let mut out = Vec::new();
            Screen::new(80, colours, false).draw("", "ip address", 10, &spans, &mut out);
            assert_eq!(out.windows(5).any(|w| w == b"\x1b[36m"), expected);
        }
    }
}
