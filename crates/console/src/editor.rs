//! Line editor: text, cursor and cut buffer. It draws nothing.

use crate::keys::Key;

/// Maximum length in bytes of a typed or pasted line.
pub const LINE_BYTES: usize = 64 << 10;

/// The action that the caller must take after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditAction {
    /// Nothing changed.
    Nothing,
    /// Redraw: the line or the cursor changed.
    Changed,
    /// Submit the line.
    Submit,
    /// Complete at the cursor.
    Complete,
    /// Show help at the cursor.
    Help,
    /// Show the previous history line.
    Older,
    /// Show the next history line.
    Newer,
    /// Discard the line (Ctrl-C).
    Interrupt,
    /// End of input: Ctrl-D on an empty line.
    EndOfInput,
    /// Clear and redraw the screen.
    Repaint,
    /// Toggle safe mode (Ctrl-X, F4).
    SafeMode,
    /// Search the history (Ctrl-R).
    Search,
}

/// A line of text with a cursor.
#[derive(Debug, Default)]
pub struct Editor {
    text: String,
    /// Byte offset, on a character boundary.
    cursor: usize,
    cut: String,
    /// True if characters were refused because the line is full: the line is incomplete.
    overflown: bool,
}

impl Editor {
    /// The text of the line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The cursor as a byte offset.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Replaces the line and moves the cursor to its end.
    pub fn set(&mut self, text: &str) {
        self.overflown = false;
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    /// True if more was typed or pasted than a line can hold.
    pub fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// Clears the line and returns its text.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        self.overflown = false;
        std::mem::take(&mut self.text)
    }

    /// Replaces the bytes from `from` to the cursor.
    pub fn replace(&mut self, from: usize, with: &str) {
        if from <= self.cursor && self.text.is_char_boundary(from) {
            self.text.replace_range(from..self.cursor, with);
            self.cursor = from + with.len();
        }
    }

    /// Applies a key.
    pub fn key(&mut self, key: Key) -> EditAction {
        match key {
            Key::Char('?') if !self.in_quotes() => EditAction::Help,
            Key::Char(character) => self.insert(character),
            Key::Enter => EditAction::Submit,
            Key::Tab => EditAction::Complete,
            Key::Function(1) => EditAction::Help,
            Key::Function(4) | Key::Ctrl('x') => EditAction::SafeMode,
            Key::Function(5) | Key::Ctrl('l') => EditAction::Repaint,
            Key::Up | Key::Ctrl('p') => EditAction::Older,
            Key::Down | Key::Ctrl('n') => EditAction::Newer,
            Key::Ctrl('c') => EditAction::Interrupt,
            Key::Ctrl('d') if self.text.is_empty() => EditAction::EndOfInput,
            Key::Ctrl('r') => EditAction::Search,
            Key::Left | Key::Ctrl('b') => self.go(self.before(self.cursor)),
            Key::Right | Key::Ctrl('f') => self.go(self.after(self.cursor)),
            Key::Home | Key::Ctrl('a') => self.go(0),
            Key::End | Key::Ctrl('e') => self.go(self.text.len()),
            Key::WordLeft => self.go(self.word_left()),
            Key::WordRight => self.go(self.word_right()),
            Key::Backspace => self.remove(self.before(self.cursor), self.cursor),
            Key::Delete | Key::Ctrl('d') => self.remove(self.cursor, self.after(self.cursor)),
            Key::Ctrl('k') => self.cut(self.cursor, self.text.len()),
            Key::Ctrl('u') => self.cut(0, self.cursor),
            Key::Ctrl('w') => self.cut(self.word_left(), self.cursor),
            Key::Ctrl('y') => {
                let cut = self.cut.clone();
                cut.chars()
                    .map(|c| self.insert(c))
                    .last()
                    .unwrap_or(EditAction::Nothing)
            }
            _ => EditAction::Nothing,
        }
    }

    /// RouterOS: `?` shows help, except inside a quoted string.
    fn in_quotes(&self) -> bool {
        let mut quoted = false;
        let mut escaped = false;
        for character in self.text[..self.cursor].chars() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => quoted = !quoted,
                _ => {}
            }
        }
        quoted
    }

    /// Inserts a character literally.
    pub(crate) fn insert(&mut self, character: char) -> EditAction {
        if character.is_control() {
            return EditAction::Nothing;
        }
        if self.text.len() + character.len_utf8() > LINE_BYTES {
            self.overflown = true;
            return EditAction::Nothing;
        }
        self.text.insert(self.cursor, character);
        self.cursor += character.len_utf8();
        EditAction::Changed
    }

    fn go(&mut self, to: usize) -> EditAction {
        if to == self.cursor {
            return EditAction::Nothing;
        }
        self.cursor = to;
        EditAction::Changed
    }

    fn remove(&mut self, from: usize, to: usize) -> EditAction {
        // A user who deletes from an overlong line has seen that its end is missing.
        self.overflown &= from == to;
        if from == to {
            return EditAction::Nothing;
        }
        self.text.replace_range(from..to, "");
        self.cursor = from;
        EditAction::Changed
    }

    fn cut(&mut self, from: usize, to: usize) -> EditAction {
        if from < to {
            self.text[from..to].clone_into(&mut self.cut);
        }
        self.remove(from, to)
    }

    fn before(&self, at: usize) -> usize {
        self.text[..at]
            .char_indices()
            .next_back()
            .map_or(0, |(start, _)| start)
    }

    fn after(&self, at: usize) -> usize {
        self.text[at..]
            .chars()
            .next()
            .map_or(at, |c| at + c.len_utf8())
    }

    fn word_left(&self) -> usize {
        let head = self.text[..self.cursor].trim_end_matches(is_gap);
        head.rfind(is_gap).map_or(0, |gap| {
            gap + head[gap..].chars().next().map_or(1, char::len_utf8)
        })
    }

    fn word_right(&self) -> usize {
        let tail = &self.text[self.cursor..];
        let word = tail.find(|c| !is_gap(c)).unwrap_or(tail.len());
        let end = tail[word..]
            .find(is_gap)
            .map_or(tail.len(), |gap| word + gap);
        self.cursor + end
    }
}

fn is_gap(character: char) -> bool {
    character.is_whitespace() || matches!(character, '/' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[Key]) -> Editor {
        let mut editor = Editor::default();
        for key in keys {
            editor.key(*key);
        }
        editor
    }

    fn chars(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn killed_words_can_be_yanked() {
        let mut editor = typed(&chars("ip address add"));

        editor.key(Key::Ctrl('w'));
        editor.key(Key::Home);
        editor.key(Key::Ctrl('y'));

        assert_eq!(editor.text(), "addip address ");
    }

    #[test]
    fn a_question_mark_shows_help_outside_quotes_only() {
        let mut editor = typed(&chars("comment=\"who"));
        assert_eq!(editor.key(Key::Char('?')), EditAction::Changed);
        editor.key(Key::Char('"'));
        assert_eq!(editor.key(Key::Char('?')), EditAction::Help);
    }

    #[test]
    fn the_cursor_stays_on_character_boundaries() {
        let mut editor = typed(&chars("aé漢"));

        for key in [
            Key::Left,
            Key::Left,
            Key::Backspace,
            Key::Delete,
            Key::WordRight,
            Key::WordLeft,
        ] {
            editor.key(key);
        }

        assert_eq!(editor.text(), "漢");
    }

    #[test]
    fn a_line_is_bounded() {
        let mut editor = Editor::default();
        editor.set(&"x".repeat(LINE_BYTES));

        assert!(!editor.is_overflown());
        assert_eq!(editor.key(Key::Char('y')), EditAction::Nothing);
        assert!(editor.is_overflown());
        editor.key(Key::Backspace);
        assert!(!editor.is_overflown());
    }
}
