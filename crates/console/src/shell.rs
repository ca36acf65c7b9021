//! What the console needs to know of the router: what a line means.

use std::time::Duration;

use crate::{Page, Span};

/// One way to go on at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What would stand there.
    pub text: String,
    /// What follows it when it is the only one: a space, `=`, or nothing.
    pub suffix: &'static str,
    /// Whether it can be put into the line; what only describes a value cannot.
    pub inserts: bool,
    /// What it is for, in a sentence.
    pub help: String,
}

/// What became of a submitted line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The console goes on.
    Continue,
    /// The user asked to leave.
    Quit,
}

/// What comes of a key or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// It is done; this is to be shown.
    Done(String),
    /// The user has to choose first, by a key.
    Ask(String),
}

/// The router, as a console sees it.
pub trait Shell {
    /// The prompt, such as `[admin@ferroute] /ip/address> `.
    fn prompt(&self) -> String;

    /// Whether `line` has open brackets or quotes and goes on in the next line; then what the
    /// continuation's prompt shows.
    fn continuation(&self, line: &str) -> Option<String>;

    /// Hears of the terminal's width in columns.
    fn resize(&mut self, columns: usize) {
        let _ = columns;
    }

    /// What the user is asked before a line is run, to be answered by `y` or not; `None` if it just
    /// runs.
    fn question(&self, line: &str) -> Option<String> {
        let _ = line;
        None
    }

    /// The key for safe mode: takes it, or releases it.
    fn safe_mode(&mut self) -> Said {
        Said::Done(String::from("safe mode is not supported"))
    }

    /// The answer to what [`Shell::safe_mode`] asked.
    fn take_over(&mut self, key: char) -> String {
        let _ = key;
        String::new()
    }

    /// What the user is to be told of what others did, once.
    fn notice(&mut self) -> Option<String> {
        None
    }

    /// What the log says to consoles and was not shown here yet.
    fn echoes(&mut self) -> Option<String> {
        None
    }

    /// Runs a whole line; what it prints goes to the page while it runs, an error included.
    fn execute(&mut self, line: &str, page: &mut Page<'_>) -> Outcome;

    /// Whether the console is to close: somebody has ended the session, or nothing was typed for
    /// too long.
    fn is_over(&self, idle: Duration) -> bool {
        let _ = idle;
        false
    }

    /// What could stand at byte `cursor` of `line`, and from which byte on it would be replaced.
    fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<Candidate>);

    /// The colours of `line`, in order, not overlapping.
    fn highlight(&self, line: &str) -> Vec<Span>;
}
