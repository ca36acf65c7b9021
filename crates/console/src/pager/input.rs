//! Input from the terminal for commands: a key, a line, a text. Also moves the cursor and sets colours.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::Colour;
use crate::editor::{EditAction, Editor};
use crate::keys::Key;
use crate::screen::Screen;
use crate::text_editor::{EditStep, TextEditor};

use super::Page;

/// Maximum time between the bytes of an escape sequence; a later byte is a separate key.
const SEQUENCE: Duration = Duration::from_millis(50);

/// Switch to the alternate screen, which leaves the terminal's content untouched, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

impl Page<'_> {
    /// Waits at most `span` after the last byte for a key. Returns `None` after a timeout or if the command
    /// must stop. Reads one byte at a time, because input after the key is not for the command.
    pub fn key(&mut self, span: Option<Duration>) -> Option<Key> {
        if self.flush().is_break() {
            return None;
        }
        let mut keys = Vec::new();
        loop {
            let begun = self.decoder.may_be_escape();
            let wait = if begun { Some(SEQUENCE) } else { span };
            match self.wire.wait(wait) {
                Some(byte) => self.decoder.decode(&[byte], &mut keys),
                None if begun => return Some(self.decoder.escape()),
                None => return None,
            }
            // A byte completes at most one key.
            if let Some(key) = keys.pop() {
                return Some(key);
            }
        }
    }

    /// Asks for a line after a prompt, with `text` as editable initial content. With `hidden`, each character
    /// is shown as a star. Returns `None` if the command must stop.
    pub fn ask(&mut self, prompt: &str, text: &str, hidden: bool) -> Option<String> {
        if !self.ended {
            self.line(b"\n");
        }
        let mut editor = Editor::default();
        editor.set(text);
        let mut screen = Screen::new(self.columns, false, !self.is_terminal());
        let shown = |editor: &Editor| match hidden {
            false => (editor.text().to_owned(), editor.cursor()),
            true => {
                let before = editor.text()[..editor.cursor()].chars().count();
                ("*".repeat(editor.text().chars().count()), before)
            }
        };
        let line = loop {
            let (line, cursor) = shown(&editor);
            screen.draw(prompt, &line, cursor, &[], &mut self.ready);
            let edit = match self.key(None) {
                Some(Key::Char(character)) => editor.insert(character),
                Some(key) => editor.key(key),
                None => break None,
            };
            match edit {
                EditAction::Submit => break Some(editor.take()),
                EditAction::Interrupt | EditAction::EndOfInput => break None,
                EditAction::Repaint => screen.forget(),
                _ => {}
            }
        };
        self.ready.extend_from_slice(b"\r\n");
        self.took_rows(1);
        self.flush().is_continue().then_some(line?)
    }

    /// Opens a text in a full-screen editor. Returns `None` if the user leaves without saving, or the terminal
    /// cannot show the editor.
    pub fn edit(&mut self, title: &str, text: &str, note: &str) -> Option<String> {
        let rows = self.rows? + 1;
        let mut editor = TextEditor::new(title, text, self.columns, rows);
        editor.note(note);
        self.ready.extend_from_slice(ENTER.as_bytes());
        let saved = loop {
            // Draw pasted input once.
            let key = self.key(Some(Duration::ZERO)).or_else(|| {
                self.ready.extend_from_slice(editor.draw().as_bytes());
                self.key(None)
            });
            match key.map(|key| editor.key(key)) {
                Some(EditStep::Goes) => {}
                Some(EditStep::Saved) => break Some(editor.text()),
                Some(EditStep::Left) | None => break None,
            }
        };
        self.ready.extend_from_slice(LEAVE.as_bytes());
        let _ = self.flush();
        saved
    }

    /// Moves the cursor up, if the terminal can, so that further output overwrites the rows.
    pub fn up(&mut self, lines: usize) -> ControlFlow<()> {
        if !self.is_terminal() || lines == 0 {
            return ControlFlow::Continue(());
        }
        self.ready
            .extend_from_slice(format!("\x1b[{lines}A").as_bytes());
        self.left = self.left.saturating_add(lines);
        self.painted = self.painted.saturating_sub(lines);
        self.flush()
    }

    /// Erases from the cursor to the end of the line, if the terminal can.
    pub fn erase_line(&mut self) -> ControlFlow<()> {
        if self.is_terminal() {
            self.ready.extend_from_slice(b"\x1b[K");
        }
        self.flush()
    }

    /// Sets the colour of further output, if the terminal shows colours. `finish` resets it.
    pub fn colour(&mut self, colour: Colour) {
        if self.colours {
            self.ready.extend_from_slice(Colour::END.as_bytes());
            self.ready.extend_from_slice(colour.begin().as_bytes());
            self.dyed = !colour.begin().is_empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;
    use crate::pager::RecordingWire;

    fn asked(keys: &[u8], text: &str, hidden: bool) -> (Option<String>, RecordingWire) {
        let (mut wire, mut decoder) = (RecordingWire::new(keys), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(24));
        let line = page.ask("value: ", text, hidden);
        (line, wire)
    }

    #[test]
    fn input_after_an_edited_line_is_kept() {
        let (line, wire) = asked(b"\x7fwhy?\rnext", "no!", false);

        assert_eq!(line.as_deref(), Some("nowhy?"));
        assert_eq!(wire.keys, b"next");
        assert!(wire.text().starts_with("value: no!"), "{}", wire.text());
        assert!(wire.text().ends_with("?\r\n"), "{}", wire.text());
    }

    #[test]
    fn hidden_input_is_not_displayed() {
        let (line, wire) = asked(b"secret\r", "", true);

        assert_eq!(line.as_deref(), Some("secret"));
        assert!(wire.text().contains("******"));
        assert!(!wire.text().contains("se"), "{}", wire.text());
    }

    #[test]
    fn a_text_is_edited_full_screen() {
        for (keys, saved) in [(&b"x\x0frest"[..], Some("xab")), (b"x\x03rest", None)] {
            let (mut wire, mut decoder) = (RecordingWire::new(keys), Decoder::default());
            let mut page = Page::new(&mut wire, &mut decoder, 80, Some(24));

            assert_eq!(page.edit("title", "ab", "").as_deref(), saved);
            assert_eq!(wire.keys, b"rest");
            let text = wire.text();
            assert!(text.starts_with(ENTER) && text.ends_with(LEAVE), "{text:?}");
        }
    }

    #[test]
    fn a_question_ends_when_the_terminal_closes_or_ctrl_c_is_pressed() {
        for keys in [&b"half"[..], b"half\x03", b"\x04"] {
            assert_eq!(asked(keys, "", false).0, None, "{keys:?}");
        }
    }

    #[test]
    fn keys_are_read_singly_including_escape() {
        let (mut wire, mut decoder) = (RecordingWire::new(b"a\x1b[D\x1b"), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(24));

        let keys: Vec<_> = std::iter::from_fn(|| page.key(None)).collect();

        assert_eq!(keys, [Key::Char('a'), Key::Left, Key::Escape]);
        let numbers: Vec<_> = keys.iter().filter_map(|key| key.number()).collect();
        assert_eq!(numbers, [97, 60_929, 27]);
    }

    #[test]
    fn overwritten_lines_are_cleared_and_colours_end_with_the_page() {
        let (mut wire, mut decoder) = (RecordingWire::new(b""), Decoder::default());
        let mut page = Page::new(&mut wire, &mut decoder, 80, Some(24)).coloured(true);

        let _ = page.write(b"1%\n");
        let _ = page.up(1);
        page.colour(Colour::Error);
        let _ = page.write(b"2%\n");
        let _ = page.finish();

        assert_eq!(wire.text(), "1%\r\n\x1b[1A\x1b[m\x1b[31m2%\r\n\x1b[m");
    }
}
