//! Full-screen text editor without I/O: takes keys and returns screen output.

use std::fmt::Write as _;

use crate::keys::Key;

/// Maximum text length in bytes.
pub const TEXT_BYTES: usize = 1 << 20;

/// The state of editing after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditStep {
    /// Editing continues.
    Goes,
    /// Save the text (Ctrl-O).
    Saved,
    /// Discard the changes (Ctrl-C).
    Left,
}

/// A text, the cursor and the visible part.
#[derive(Debug)]
pub struct TextEditor {
    title: String,
    note: String,
    lines: Vec<Vec<char>>,
    /// The line end of the text.
    line_end: &'static str,
    bytes: usize,
    row: usize,
    column: usize,
    /// The first visible line and column.
    top: usize,
    left: usize,
    columns: usize,
    /// Rows for the text; one more row shows the keys.
    rows: usize,
    cut: Vec<char>,
}

impl TextEditor {
    /// Creates an editor for a screen of this many columns and rows, with the cursor at the beginning.
    pub fn new(title: &str, text: &str, columns: usize, rows: usize) -> Self {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let lines = text.split(line_end).map(|line| line.chars().collect());
        Self {
            title: title.to_owned(),
            note: String::new(),
            lines: lines.collect(),
            line_end,
            bytes: text.len(),
            row: 0,
            column: 0,
            top: 0,
            left: 0,
            columns: columns.max(20),
            rows: rows.max(3) - 1,
            cut: Vec::new(),
        }
    }

    /// Shows a note below the text until the next key.
    pub fn note(&mut self, note: &str) {
        note.clone_into(&mut self.note);
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        let lines = self
            .lines
            .iter()
            .map(|line| line.iter().collect::<String>());
        lines.collect::<Vec<_>>().join(self.line_end)
    }

    /// Handles a key.
    pub fn key(&mut self, key: Key) -> EditStep {
        self.note.clear();
        let length = self.line().len();
        match key {
            Key::Ctrl('o') => return EditStep::Saved,
            Key::Ctrl('c') => return EditStep::Left,
            Key::Char(character) => self.insert(character),
            Key::Tab => self.insert('\t'),
            Key::Enter => self.split(),
            Key::Backspace if self.column > 0 => {
                self.column -= 1;
                self.delete();
            }
            Key::Backspace if self.row > 0 => {
                self.row -= 1;
                self.column = self.line().len();
                self.delete();
            }
            Key::Delete | Key::Ctrl('d') => self.delete(),
            Key::Left | Key::Ctrl('b') if self.column > 0 => self.column -= 1,
            Key::Left | Key::Ctrl('b') if self.row > 0 => {
                self.row -= 1;
                self.column = self.line().len();
            }
            Key::Right | Key::Ctrl('f') if self.column < length => self.column += 1,
            Key::Right | Key::Ctrl('f') if self.row + 1 < self.lines.len() => {
                (self.row, self.column) = (self.row + 1, 0);
            }
            Key::Up | Key::Ctrl('p') => self.go(self.row.saturating_sub(1)),
            Key::Down | Key::Ctrl('n') => self.go(self.row + 1),
            Key::PageUp => self.go(self.row.saturating_sub(self.rows)),
            Key::PageDown => self.go(self.row + self.rows),
            Key::Home | Key::Ctrl('a') => self.column = 0,
            Key::End | Key::Ctrl('e') => self.column = length,
            Key::Ctrl('k') => {
                let at = self.column;
                self.cut = self.line_mut().split_off(at);
                self.bytes -= self.cut.iter().map(|c| c.len_utf8()).sum::<usize>();
            }
            Key::Ctrl('y') => self.cut.clone().into_iter().for_each(|c| self.insert(c)),
            _ => {}
        }
        EditStep::Goes
    }

    /// Returns the output that draws the screen and places the cursor.
    pub fn draw(&mut self) -> String {
        let last = self.rows - 1;
        self.top = self.top.clamp(self.row.saturating_sub(last), self.row);
        let last = self.columns - 1;
        self.left = self
            .left
            .clamp(self.column.saturating_sub(last), self.column);
        let mut out = String::from("\x1b[?25l\x1b[H");
        for row in self.top..self.top + self.rows {
            if let Some(line) = self.lines.get(row) {
                let shown = line.iter().skip(self.left).take(self.columns);
                out.extend(shown.map(|c| if c.is_control() { ' ' } else { *c }));
            }
            out.push_str("\x1b[K\r\n");
        }
        let legend = match self.note.as_str() {
            "" => format!("-- {} [C-o save|C-c quit]", self.title),
            note => format!("-- {note} [C-o save|C-c quit]"),
        };
        let legend = legend.chars().map(|c| if c.is_control() { ' ' } else { c });
        out.extend(legend.take(self.columns - 1));
        let (row, column) = (self.row - self.top + 1, self.column - self.left + 1);
        let _ = write!(out, "\x1b[K\x1b[{row};{column}H\x1b[?25h");
        out
    }

    fn line(&self) -> &Vec<char> {
        &self.lines[self.row]
    }

    fn line_mut(&mut self) -> &mut Vec<char> {
        &mut self.lines[self.row]
    }

    /// Reserves space for more bytes. Returns false and shows a note if the text is full.
    fn has_room(&mut self, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= TEXT_BYTES;
        if fits {
            self.bytes += bytes;
        } else {
            self.note("the text is too long");
        }
        fits
    }

    fn insert(&mut self, character: char) {
        if (character == '\t' || !character.is_control()) && self.has_room(character.len_utf8()) {
            let at = self.column;
            self.line_mut().insert(at, character);
            self.column += 1;
        }
    }

    fn split(&mut self) {
        if self.has_room(self.line_end.len()) {
            let at = self.column;
            let rest = self.line_mut().split_off(at);
            self.lines.insert(self.row + 1, rest);
            (self.row, self.column) = (self.row + 1, 0);
        }
    }

    /// Deletes the character after the cursor.
    fn delete(&mut self) {
        if self.column < self.line().len() {
            let at = self.column;
            self.bytes -= self.line_mut().remove(at).len_utf8();
        } else if self.row + 1 < self.lines.len() {
            let next = self.lines.remove(self.row + 1);
            self.line_mut().extend(next);
            self.bytes -= self.line_end.len();
        }
    }

    /// Moves the cursor to another line, in the same column if the line is long enough.
    fn go(&mut self, row: usize) {
        self.row = row.min(self.lines.len() - 1);
        self.column = self.column.min(self.line().len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn editor(text: &str) -> TextEditor {
        TextEditor::new("/system/script/source", text, 20, 4)
    }

    fn typed(editor: &mut TextEditor, keys: &[Key]) -> EditStep {
        keys.iter()
            .map(|key| editor.key(*key))
            .last()
            .unwrap_or(EditStep::Goes)
    }

    #[test]
    fn keys_edit_the_text_at_the_cursor() {
        use Key::{Backspace, Char, Ctrl, Delete, Down, End, Enter, Left, Tab, Up};
        let mut editor = editor(":put 1\n:put 2");

        typed(
            &mut editor,
            &[End, Backspace, Char('3'), Enter, Tab, Char('x')],
        );
        assert_eq!(editor.text(), ":put 3\n\tx\n:put 2");
        typed(&mut editor, &[Down, Delete, Up, Ctrl('a'), Backspace]);
        assert_eq!(editor.text(), ":put 3\tx\n:pt 2");
        typed(
            &mut editor,
            &[Ctrl('k'), Down, End, Ctrl('y'), Left, Left, Delete],
        );
        assert_eq!(editor.text(), ":put 3\n:pt 2x");
        assert_eq!(typed(&mut editor, &[Ctrl('o')]), EditStep::Saved);
        assert_eq!(typed(&mut editor, &[Ctrl('c')]), EditStep::Left);
    }

    #[test]
    fn the_screen_follows_the_cursor_and_shows_the_keys() {
        let mut editor = editor(&"a line that is longer than the screen\n".repeat(9));

        let first = editor.draw();
        assert!(
            first.starts_with("\x1b[?25l\x1b[Ha line that is longe\x1b[K\r\n"),
            "{first:?}"
        );
        assert!(first.contains("\r\n-- /system/script/"), "{first:?}");
        assert!(first.ends_with("\x1b[K\x1b[1;1H\x1b[?25h"), "{first:?}");
        typed(&mut editor, &[Key::PageDown, Key::End]);
        let other = editor.draw();
        assert!(other.contains("er than the screen"), "{other:?}");
        assert!(other.ends_with("\x1b[3;20H\x1b[?25h"), "{other:?}");
    }

    #[test]
    fn a_text_is_bounded() {
        let mut editor = editor(&"x".repeat(TEXT_BYTES));

        assert_eq!(editor.key(Key::Char('y')), EditStep::Goes);
        assert_eq!(editor.text().len(), TEXT_BYTES);
        assert!(editor.draw().contains("the text is"));
        let windows = TextEditor::new("", "a\r\nb", 80, 24);
        assert_eq!(windows.text(), "a\r\nb");
    }
}
