//! Command output and the interactive terminal.

use std::ops::ControlFlow;
use std::time::Duration;

/// The output of commands. `Break` means that the user has interrupted the command; further output is ignored.
pub trait Output {
    /// Writes text; lines end with `\n`.
    fn write(&mut self, text: &str) -> ControlFlow<()>;

    /// Delivers the output written so far: the next may take a while.
    fn flush(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Draws the following output over the output since the previous call, if the terminal can; otherwise pages
    /// follow each other.
    fn repaint(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Writes a table row: fixed leading text, and cells. A terminal that is too narrow shows the cells that
    /// fit and lets the user scroll.
    fn row(&mut self, begin: &str, cells: &[String]) -> ControlFlow<()> {
        self.write(&format!("{begin}{}\n", cells.join(BETWEEN)))
    }

    /// Keeps the output on the screen until it is redrawn. A terminal shows the keys that end the command.
    fn linger(&mut self) -> ControlFlow<()> {
        self.flush()
    }

    /// Enables or disables the pager, which waits for a key after each full page.
    fn stop_at_pages(&mut self, stops: bool) {
        let _ = stops;
    }

    /// Disables the pager for output that continues indefinitely.
    fn go_on(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Writes a remark about a command, which is not part of its output. Most implementations ignore it.
    fn remark(&mut self, line: &str) -> ControlFlow<()> {
        let _ = line;
        ControlFlow::Continue(())
    }

    /// Width of the terminal in characters, at which details and exports are wrapped.
    fn width(&self) -> usize {
        80
    }

    /// The interactive terminal; `None` if no user can answer.
    fn terminal(&mut self) -> Option<&mut dyn Terminal> {
        None
    }
}

/// Separator between two cells of a row.
pub const BETWEEN: &str = "  ";

impl Output for String {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.push_str(text);
        ControlFlow::Continue(())
    }
}

/// An interactive terminal.
pub trait Terminal {
    /// Waits for a key, at most for `span`. Returns the code of the character, or RouterOS's code for a key
    /// without a character; `None` after a timeout or if the command must stop.
    fn key(&mut self, span: Option<Duration>) -> Option<u32>;

    /// Asks for a line; `None` if the command must stop.
    fn ask(&mut self, question: &Question<'_>) -> Option<String>;

    /// Opens a text in an editor; `None` if the user leaves without saving or the command must stop.
    fn edit(&mut self, editing: &Editing<'_>) -> Option<String>;

    /// Performs a screen operation, if the terminal supports it.
    fn draw(&mut self, drawing: Drawing) -> ControlFlow<()>;
}

/// A question to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The prompt.
    pub prompt: &'a str,
    /// Editable initial text of the answer.
    pub preinput: &'a str,
    /// True to hide the typed text.
    pub hidden: bool,
}

/// A text to edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Editing<'a> {
    /// The title.
    pub title: &'a str,
    /// The initial text.
    pub text: &'a str,
    /// A note for the user; none if empty.
    pub note: &'a str,
}

/// A screen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Moves the cursor up by so many lines.
    Up(u16),
    /// Erases the line from the cursor to its end.
    EraseLine,
    /// Sets the style of the following text.
    Style(TextStyle),
}

/// Text styles of console words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// Plain text.
    Plain,
    /// A menu.
    Menu,
    /// A command.
    Command,
    /// An argument's name.
    Argument,
    /// A variable.
    Variable,
    /// An operator or an escape.
    Operator,
    /// A comment.
    Comment,
    /// Text that cannot be parsed.
    Error,
}
