//! Output of a console command on its terminal, with pages and questions.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use console::{Colour, Page};
use menu::{Drawing, Editing, Output, Question, Terminal, TextStyle};

/// Output of a command on a terminal.
pub(crate) struct CommandOutput<'a, 'b> {
    page: &'a mut Page<'b>,
    written: Instant,
}

impl<'a, 'b> CommandOutput<'a, 'b> {
    /// Creates the output. RouterOS: only `print` stops at each full page.
    pub(crate) fn new(page: &'a mut Page<'b>) -> Self {
        page.stop_at_pages(false);
        Self {
            page,
            written: Instant::now(),
        }
    }
}

/// Converts text to the bytes for the terminal.
fn as_shown(text: &str) -> String {
    String::from_utf8_lossy(&menu::bytes::to_bytes(text)).into_owned()
}

/// Maximum delay of amounts below one piece.
const MAX_DELAY: Duration = Duration::from_millis(20);

impl Output for CommandOutput<'_, '_> {
    /// Escape sequences in values are made visible: the terminal must not execute them.
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        let text = menu::visible_layout(text);
        self.page.write(&menu::bytes::to_bytes(&text))?;
        if self.written.elapsed() < MAX_DELAY {
            return ControlFlow::Continue(());
        }
        self.flush()
    }

    fn flush(&mut self) -> ControlFlow<()> {
        self.written = Instant::now();
        self.page.flush()
    }

    fn repaint(&mut self) -> ControlFlow<()> {
        self.page.repaint()
    }

    fn row(&mut self, begin: &str, cells: &[String]) -> ControlFlow<()> {
        let cells: Vec<_> = cells.iter().map(|cell| as_shown(cell)).collect();
        self.page.row(&as_shown(begin), &cells)?;
        if self.written.elapsed() < MAX_DELAY {
            return ControlFlow::Continue(());
        }
        self.flush()
    }

    fn linger(&mut self) -> ControlFlow<()> {
        self.written = Instant::now();
        self.page.linger()
    }

    fn stop_at_pages(&mut self, stops: bool) {
        self.page.stop_at_pages(stops);
    }

    fn go_on(&mut self) -> ControlFlow<()> {
        // A page that begins here has room, and nothing below it to overwrite.
        self.page.mark();
        self.page.repaint()
    }

    fn width(&self) -> usize {
        self.page.columns()
    }

    fn terminal(&mut self) -> Option<&mut dyn Terminal> {
        Some(self)
    }
}

impl Terminal for CommandOutput<'_, '_> {
    fn key(&mut self, span: Option<Duration>) -> Option<u32> {
        // Scripts do not see keys without a number.
        while let Some(key) = self.page.key(span) {
            if let Some(number) = key.number() {
                return Some(number);
            }
        }
        None
    }

    fn ask(&mut self, question: &Question<'_>) -> Option<String> {
        let Question {
            prompt,
            preinput,
            hidden,
        } = *question;
        self.page.ask(prompt, preinput, hidden)
    }

    fn edit(&mut self, editing: &Editing<'_>) -> Option<String> {
        let Editing { title, text, note } = *editing;
        self.page.edit(title, text, note)
    }

    fn draw(&mut self, drawing: Drawing) -> ControlFlow<()> {
        match drawing {
            Drawing::Up(lines) => self.page.up(lines.into()),
            Drawing::EraseLine => self.page.erase_line(),
            Drawing::Style(style) => {
                self.page.colour(colour(style));
                ControlFlow::Continue(())
            }
        }
    }
}

fn colour(style: TextStyle) -> Colour {
    match style {
        TextStyle::Plain => Colour::Plain,
        TextStyle::Menu => Colour::Menu,
        TextStyle::Command => Colour::Command,
        TextStyle::Argument => Colour::Argument,
        TextStyle::Variable => Colour::Variable,
        TextStyle::Operator => Colour::Operator,
        TextStyle::Comment => Colour::Comment,
        TextStyle::Error => Colour::Error,
    }
}
