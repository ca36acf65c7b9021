//! Draws a prompt and an input line on a terminal of known width, and redraws them in place.
//!
//! The line may occupy several rows. To redraw it, the screen moves the cursor to the first of these rows,
//! clears to the end of the screen and draws again; rows above are not changed.

use std::fmt::Write as _;

use crate::{Colour, Span};

/// The drawn state.
#[derive(Debug)]
pub struct Screen {
    columns: usize,
    colours: bool,
    /// True if only a carriage return can move the cursor.
    dumb: bool,
    /// Row of the cursor, counted from the first row of the prompt.
    row: usize,
    /// Prompt and line as drawn; `None` if the row is empty.
    drawn: Option<DrawnLine>,
}

#[derive(Debug)]
struct DrawnLine {
    text: String,
    /// True if the cursor is at the end.
    at_end: bool,
}

impl Screen {
    /// Creates a screen with this width, at least 20 columns.
    pub fn new(columns: usize, colours: bool, dumb: bool) -> Self {
        Self {
            columns: columns.max(20),
            colours: colours && !dumb,
            dumb,
            row: 0,
            drawn: None,
        }
    }

    /// Sets a new width.
    pub fn resize(&mut self, columns: usize) {
        self.columns = columns.max(20);
    }

    /// The width in columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Resets the state: the cursor is at the beginning of an empty row.
    pub fn forget(&mut self) {
        self.row = 0;
        self.drawn = None;
    }

    /// Draws `prompt` and `line`, with the cursor before byte `cursor` of the line.
    ///
    /// Without colours, text appended to the line is written without redrawing: a program that reads the
    /// terminal sees each character once, and no control sequences after the prompt.
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
        self.drawn = Some(DrawnLine {
            text: whole,
            at_end,
        });
    }

    /// Appends new text at the cursor, if that suffices. Returns false otherwise.
    fn write_on(&mut self, whole: &str, at_end: bool, out: &mut Vec<u8>) -> bool {
        let Some(before) = self.drawn.as_ref().filter(|d| d.at_end && at_end) else {
            return false;
        };
        let Some(new) = whole.strip_prefix(&before.text) else {
            return false;
        };
        let (was, is) = (width(&before.text), width(whole));
        // At the end of a row the cursor must be moved to the next one explicitly.
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
        // A terminal wraps only when the next character arrives: a space forces it.
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

    /// On a dumb terminal, rewrites the line from its beginning unless text was only appended.
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

    /// Draws the final line and moves to a new row below.
    pub fn leave(&mut self, prompt: &str, line: &str, spans: &[Span], out: &mut Vec<u8>) {
        self.draw(prompt, line, line.len(), spans, out);
        out.extend_from_slice(b"\r\n");
        self.forget();
    }

    /// Erases prompt and line.
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

/// Returns the number of columns of a text.
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
    fn colours_are_drawn_only_if_enabled() {
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
