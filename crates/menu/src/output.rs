//! Where commands print, and the terminal that they may find there.

use std::ops::ControlFlow;
use std::time::Duration;

/// Where commands print. A sink may be full for good: the user has broken the command off.
pub trait Output {
    /// Takes a piece of text; lines end with `\n`.
    fn write(&mut self, text: &str) -> ControlFlow<()>;

    /// Lets the reader have what was written: nothing may follow for a while.
    fn flush(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Draws what follows over what was written since this was last called, where that can be
    /// done; elsewhere one page follows the other.
    fn repaint(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes a row of a table: what always stands at its beginning, and its cells. A terminal that is too
    /// narrow shows those that fit and lets its user reach the others.
    fn row(&mut self, begin: &str, cells: &[String]) -> ControlFlow<()> {
        self.write(&format!("{begin}{}\n", cells.join(BETWEEN)))
    }

    /// What was written stays for a while and is then drawn over, or something follows: a terminal
    /// shows the keys that end it.
    fn linger(&mut self) -> ControlFlow<()> {
        self.flush()
    }

    /// Whether what follows stops at each full page of a terminal, and waits for a key there.
    fn stop_at_pages(&mut self, stops: bool) {
        let _ = stops;
    }

    /// What follows is read as it comes, for as long as it does: no page waits for a key.
    fn go_on(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Takes a remark about what a command did, a line that is no part of its output. Most sinks ignore it.
    fn remark(&mut self, line: &str) -> ControlFlow<()> {
        let _ = line;
        ControlFlow::Continue(())
    }

    /// The width of the terminal in characters; lines of details and exports are folded there.
    fn width(&self) -> usize {
        80
    }

    /// The terminal at which somebody reads this and can answer; none where nobody does.
    fn terminal(&mut self) -> Option<&mut dyn Terminal> {
        None
    }
}

/// What stands between two cells of a row.
pub const BETWEEN: &str = "  ";

impl Output for String {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.push_str(text);
        ControlFlow::Continue(())
    }
}

/// A terminal with somebody in front of it.
pub trait Terminal {
    /// Waits for a key, for so long at most, or as long as it takes. Gives its number: that of its
    /// character, or what RouterOS numbers the keys by that have none. None if no key came, or the
    /// command is to stop.
    fn key(&mut self, span: Option<Duration>) -> Option<u32>;

    /// Asks for a line. None if the command is to stop.
    fn ask(&mut self, question: &Question<'_>) -> Option<String>;

    /// Shows a text in an editor. None if it was left without saving, or the command is to stop.
    fn edit(&mut self, editing: &Editing<'_>) -> Option<String>;

    /// Does something to the screen that is no text; nothing, where the terminal cannot.
    fn draw(&mut self, drawing: Drawing) -> ControlFlow<()>;
}

/// What a user is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// What stands before the cursor.
    pub prompt: &'a str,
    /// What stands there already, to be changed.
    pub preinput: &'a str,
    /// Whether what is typed is not to be read on the screen.
    pub hidden: bool,
}

/// A text to be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Editing<'a> {
    /// What it is.
    pub title: &'a str,
    /// The text as it is.
    pub text: &'a str,
    /// What is to be said of it; nothing if empty.
    pub note: &'a str,
}

/// What is done to a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// The cursor goes up so many lines.
    Up(u16),
    /// What stands behind the cursor in its line goes.
    EraseLine,
    /// What follows is written as words of this kind are while they are typed.
    Style(TextStyle),
}

/// What words of a line are, as far as they look different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// Nothing special.
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
    /// What is not understood.
    Error,
}
