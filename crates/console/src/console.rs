//! The interactive console: turns keys into terminal output, backed by a [`Shell`].

use crate::editor::{EditAction, Editor, LINE_BYTES};
use crate::history::History;
use crate::keys::{Decoder, Key};
use crate::pager::{PIECE, Page, Wire, write_lines};
use crate::screen::Screen;
use crate::{Candidate, Outcome, SafeModeReply, Shell, Span};

/// Properties of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Width in characters.
    pub columns: usize,
    /// Height in rows.
    pub rows: usize,
    /// True if the terminal shows colours.
    pub colours: bool,
    /// True if long output stops after each page.
    pub paging: bool,
    /// True if the terminal is append-only: escape sequences cannot move its cursor.
    pub dumb: bool,
}

/// A console on a byte stream, a [`Wire`]. [`Console::input`] reads and handles the typed bytes.
pub struct Console<S> {
    shell: S,
    settings: Settings,
    decoder: Decoder,
    editor: Editor,
    history: History,
    screen: Screen,
    /// Previous lines of a command that is not complete yet.
    before: String,
    mode: Mode,
    /// True if the last key requested a completion with several candidates.
    ambiguous: bool,
    /// True if the line has changed since it was drawn.
    stale: bool,
}

enum Mode {
    Line,
    /// Ctrl-R: the search text.
    Search(String),
    /// A question that one key answers.
    Ask(QuestionSubject),
}

/// The subject of a question.
enum QuestionSubject {
    /// Whether to run this line.
    Line(String),
    /// Whether to take over another session's safe mode.
    SafeMode,
}

impl<S: Shell> Console<S> {
    /// Creates a console. It draws nothing before [`Console::begin`].
    pub fn new(shell: S, settings: Settings, history: History) -> Self {
        let mut shell = shell;
        shell.resize(settings.columns);
        Self {
            shell,
            settings,
            decoder: Decoder::default(),
            editor: Editor::default(),
            history,
            screen: Screen::new(settings.columns, settings.colours, settings.dumb),
            before: String::new(),
            mode: Mode::Line,
            ambiguous: false,
            stale: false,
        }
    }

    /// Draws the first prompt.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.draw(out);
    }

    /// Returns the shell.
    pub fn shell(&mut self) -> &mut S {
        &mut self.shell
    }

    /// Returns the history of submitted lines at the end of the session.
    pub fn into_history(self) -> History {
        self.history
    }

    /// Handles a change of the terminal size.
    pub fn resize(&mut self, columns: usize, rows: usize, out: &mut Vec<u8>) {
        self.settings.columns = columns;
        self.settings.rows = rows;
        self.screen.resize(columns);
        self.shell.resize(columns);
        if matches!(self.mode, Mode::Line) {
            self.draw(out);
        }
    }

    /// Shows a message, such as a log entry, above the line being edited.
    pub fn announce(&mut self, message: &str, out: &mut Vec<u8>) {
        if matches!(self.mode, Mode::Line) {
            self.screen.erase(out);
            write_lines(message.as_bytes(), out);
            out.extend_from_slice(b"\r\n");
            self.draw(out);
        }
    }

    /// Shows pending notices and log echoes above the line being edited.
    pub fn hear(&mut self, out: &mut Vec<u8>) {
        if !matches!(self.mode, Mode::Line) {
            return;
        }
        // A program that reads command output would mistake a log entry for output, so plain terminals get
        // none.
        let echoes = match self.settings.colours {
            true => self.shell.echoes(),
            false => None,
        };
        for notice in self.shell.notice().into_iter().chain(echoes) {
            self.announce(&notice, out);
        }
    }

    /// Handles all pending input. Reads one byte at a time: the bytes after the key that runs a command may be
    /// input for that command's pager, or be discarded by an interrupt.
    pub fn input(&mut self, wire: &mut dyn Wire) -> Outcome {
        let mut out = Vec::new();
        self.hear(&mut out);
        let outcome = self.keys(&mut out, wire);
        // Drawing after each key of a pasted block would take quadratic time.
        if self.stale && matches!(self.mode, Mode::Line) {
            self.draw(&mut out);
        }
        // Ignore the error: the caller notices a lost terminal on the next read.
        let _ = wire.send(&out);
        outcome
    }

    fn keys(&mut self, out: &mut Vec<u8>, wire: &mut dyn Wire) -> Outcome {
        let mut keys = Vec::new();
        while let Some(byte) = wire.typed() {
            self.decoder.decode(&[byte], &mut keys);
            for key in keys.drain(..) {
                if self.key(key, out, wire) == Outcome::Quit {
                    return Outcome::Quit;
                }
            }
            if out.len() >= PIECE {
                let _ = wire.send(&std::mem::take(out));
            }
        }
        Outcome::Continue
    }

    fn key(&mut self, key: Key, out: &mut Vec<u8>, wire: &mut dyn Wire) -> Outcome {
        match &mut self.mode {
            Mode::Search(_) => {
                self.search_key(key, out);
                Outcome::Continue
            }
            Mode::Ask(_) => self.answer(key, out, wire),
            Mode::Line => self.line_key(key, out, wire),
        }
    }

    /// Ctrl-X: enters or leaves safe mode.
    fn safe_mode(&mut self, out: &mut Vec<u8>) {
        self.leave_line(out);
        match self.shell.safe_mode() {
            SafeModeReply::Done(text) => self.tell(&text, out),
            SafeModeReply::Ask(question) => self.ask(&question, QuestionSubject::SafeMode, out),
        }
    }

    fn ask(&mut self, question: &str, about: QuestionSubject, out: &mut Vec<u8>) {
        write_lines(question.as_bytes(), out);
        self.mode = Mode::Ask(about);
    }

    /// Handles the key that answers a question. RouterOS: any key that is not a valid answer means no.
    fn answer(&mut self, key: Key, out: &mut Vec<u8>, wire: &mut dyn Wire) -> Outcome {
        let Mode::Ask(about) = std::mem::replace(&mut self.mode, Mode::Line) else {
            return Outcome::Continue;
        };
        let key = match key {
            Key::Char(character) => character.to_ascii_lowercase(),
            _ => 'n',
        };
        write_lines(format!("{key}\n").as_bytes(), out);
        match about {
            QuestionSubject::Line(line) if key == 'y' => return self.run(&line, out, wire),
            QuestionSubject::Line(_) => self.tell("action cancelled", out),
            QuestionSubject::SafeMode => {
                let text = self.shell.take_over(key);
                self.tell(&text, out);
            }
        }
        Outcome::Continue
    }

    /// Shows a text, then the prompt and line again.
    fn tell(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            write_lines(format!("{text}\n").as_bytes(), out);
        }
        self.draw(out);
    }

    fn line_key(&mut self, key: Key, out: &mut Vec<u8>, wire: &mut dyn Wire) -> Outcome {
        let again = std::mem::take(&mut self.ambiguous);
        let edit = match key {
            Key::Tab if self.is_text() => self.editor.insert(' '),
            Key::Char('?') if self.is_comment() => self.editor.insert('?'),
            key => self.editor.key(key),
        };
        match edit {
            EditAction::Nothing => {}
            EditAction::SafeMode => self.safe_mode(out),
            EditAction::Changed => self.stale = true,
            EditAction::Submit => return self.submit(out, wire),
            EditAction::Complete => self.complete(again, out),
            EditAction::Help => self.help(out, wire),
            EditAction::Older => {
                if let Some(line) = self.history.older(self.editor.text()) {
                    self.editor.set(line);
                    self.draw(out);
                }
            }
            EditAction::Newer => {
                if let Some(line) = self.history.newer() {
                    self.editor.set(line);
                    self.draw(out);
                }
            }
            EditAction::Interrupt => {
                self.leave_line(out);
                self.before.clear();
                self.editor.take();
                self.draw(out);
            }
            EditAction::EndOfInput => {
                self.leave_line(out);
                return Outcome::Quit;
            }
            EditAction::Repaint => {
                if !self.settings.dumb {
                    out.extend_from_slice(b"\x1b[H\x1b[2J");
                }
                self.screen.forget();
                self.draw(out);
            }
            EditAction::Search => {
                self.mode = Mode::Search(String::new());
                self.draw_search("", out);
            }
        }
        Outcome::Continue
    }

    /// True if the line is a comment, which has no completion.
    fn is_comment(&self) -> bool {
        self.editor.text().trim_start().starts_with('#')
    }

    /// True if Tab inserts a space: in a comment, and before the first word of a line within a block, for
    /// pasted indented scripts.
    fn is_text(&self) -> bool {
        let indents = !self.before.is_empty() && self.editor.text().trim().is_empty();
        indents || self.is_comment()
    }

    fn submit(&mut self, out: &mut Vec<u8>, wire: &mut dyn Wire) -> Outcome {
        self.leave_line(out);
        if self.editor.is_overflown() {
            return self.refuse_line(out);
        }
        let line = self.editor.take();
        self.history.push(line.clone());
        self.before.push_str(&line);
        if self.shell.continuation(&self.before).is_some() {
            self.before.push('\n');
            self.draw(out);
            return Outcome::Continue;
        }
        let command = std::mem::take(&mut self.before);
        if let Some(question) = self.shell.question(&command) {
            self.ask(&question, QuestionSubject::Line(command), out);
            return Outcome::Continue;
        }
        self.run(&command, out, wire)
    }

    /// Refuses an overlong line. Its beginning alone could have another meaning.
    fn refuse_line(&mut self, out: &mut Vec<u8>) -> Outcome {
        self.editor.take();
        self.before.clear();
        let text = format!(
            "line is too long: the limit is {LINE_BYTES} bytes; use /import for longer lines"
        );
        self.tell(&text, out);
        Outcome::Continue
    }

    /// Runs a line and shows its output as it arrives.
    fn run(&mut self, command: &str, out: &mut Vec<u8>, wire: &mut dyn Wire) -> Outcome {
        let rows = self.page_rows();
        if wire.send(&std::mem::take(out)).is_break() {
            return Outcome::Quit;
        }
        let page = Page::new(wire, &mut self.decoder, self.settings.columns, rows);
        let mut page = page.coloured(self.settings.colours);
        let outcome = self.shell.execute(command, &mut page);
        let _ = page.finish();
        if outcome == Outcome::Continue {
            self.draw(out);
        }
        outcome
    }

    /// Rows per page, if the terminal uses the pager.
    fn page_rows(&self) -> Option<usize> {
        (self.settings.paging && !self.settings.dumb).then_some(self.settings.rows)
    }

    fn complete(&mut self, again: bool, out: &mut Vec<u8>) {
        let (from, candidates) = self
            .shell
            .complete(self.editor.text(), self.editor.cursor());
        // Descriptions of values are only shown by help.
        let candidates: Vec<_> = candidates.into_iter().filter(|c| c.inserts).collect();
        match candidates.as_slice() {
            [] => {}
            [only] => {
                let text = format!("{}{}", only.text, only.suffix);
                self.editor.replace(from, &text);
                self.draw(out);
            }
            several => {
                let common = common_start(several);
                let typed = self.editor.cursor().saturating_sub(from);
                if common.len() > typed {
                    self.editor.replace(from, &common);
                    self.draw(out);
                } else if again {
                    self.list(several, out);
                }
                self.ambiguous = true;
            }
        }
    }

    /// RouterOS: a second Tab lists the names in columns, without descriptions.
    fn list(&mut self, candidates: &[Candidate], out: &mut Vec<u8>) {
        self.leave_line(out);
        let width = candidates
            .iter()
            .map(|c| c.text.chars().count())
            .max()
            .unwrap_or(0)
            + 2;
        let per_row = (self.screen.columns() / width).max(1);
        let mut text = String::new();
        for row in candidates.chunks(per_row) {
            for candidate in row {
                text.push_str(&format!("{:<width$}", candidate.text));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        write_lines(text.as_bytes(), out);
        self.draw(out);
    }

    fn help(&mut self, out: &mut Vec<u8>, wire: &mut dyn Wire) {
        let (_, candidates) = self
            .shell
            .complete(self.editor.text(), self.editor.cursor());
        self.leave_line(out);
        let width = candidates
            .iter()
            .map(|c| c.text.chars().count())
            .max()
            .unwrap_or(0);
        let mut text = String::new();
        for candidate in &candidates {
            match candidate.help.as_str() {
                "" => text.push_str(&candidate.text),
                help => text.push_str(&format!("{:<width$} -- {help}", candidate.text)),
            }
            text.push('\n');
        }
        let rows = self.page_rows();
        let _ = wire.send(&std::mem::take(out));
        let mut page = Page::new(wire, &mut self.decoder, self.settings.columns, rows);
        let _ = page.write(text.as_bytes());
        let _ = page.finish();
        self.draw(out);
    }

    fn search_key(&mut self, key: Key, out: &mut Vec<u8>) {
        let Mode::Search(text) = &mut self.mode else {
            return;
        };
        match key {
            Key::Char(character) => text.push(character),
            Key::Backspace => {
                text.pop();
            }
            other => {
                let found = self
                    .history
                    .search(text, usize::MAX)
                    .map(|(_, line)| line.to_owned());
                self.mode = Mode::Line;
                if let (Some(line), false) = (found, other == Key::Ctrl('c')) {
                    self.editor.set(&line);
                }
                self.draw(out);
                return;
            }
        }
        let text = text.clone();
        self.draw_search(&text, out);
    }

    fn draw_search(&mut self, text: &str, out: &mut Vec<u8>) {
        let found = self
            .history
            .search(text, usize::MAX)
            .map_or("", |(_, line)| line);
        let prompt = format!("(search)`{text}': ");
        self.screen.draw(&prompt, found, found.len(), &[], out);
    }

    fn prompt(&self) -> String {
        match self.before.as_str() {
            "" => self.shell.prompt(),
            before => self
                .shell
                .continuation(before)
                .unwrap_or_else(|| self.shell.prompt()),
        }
    }

    fn spans(&self) -> Vec<Span> {
        if self.settings.colours {
            self.shell.highlight(self.editor.text())
        } else {
            Vec::new()
        }
    }

    fn draw(&mut self, out: &mut Vec<u8>) {
        self.stale = false;
        let (prompt, spans) = (self.prompt(), self.spans());
        self.screen.draw(
            &prompt,
            self.editor.text(),
            self.editor.cursor(),
            &spans,
            out,
        );
    }

    fn leave_line(&mut self, out: &mut Vec<u8>) {
        self.stale = false;
        let (prompt, spans) = (self.prompt(), self.spans());
        self.screen.leave(&prompt, self.editor.text(), &spans, out);
    }
}

fn common_start(candidates: &[Candidate]) -> String {
    let mut common = candidates.first().map_or("", |c| c.text.as_str());
    for candidate in candidates {
        let same = common
            .char_indices()
            .zip(candidate.text.chars())
            .find(|((_, a), b)| a != b)
            .map_or(common.len().min(candidate.text.len()), |((at, _), _)| at);
        common = &common[..same];
    }
    common.to_owned()
}

#[cfg(test)]
mod tests;
