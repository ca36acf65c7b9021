//! The interface to the router: interprets input lines.

use std::time::Duration;

use crate::{Page, Span};

/// A completion candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The complete word.
    pub text: String,
    /// Text appended after an unambiguous completion: a space, `=`, or nothing.
    pub suffix: &'static str,
    /// True if the candidate can be inserted; descriptions of values cannot.
    pub inserts: bool,
    /// One-sentence help.
    pub help: String,
}

/// The result of a submitted line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The console continues.
    Continue,
    /// The user quits.
    Quit,
}

/// The result of a safe mode key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SafeModeReply {
    /// Done; show this text.
    Done(String),
    /// Ask the user this question, which one key answers.
    Ask(String),
}

/// The router as seen by a console.
pub trait Shell {
    /// Returns the prompt, such as `[admin@ferroute] /ip/address> `.
    fn prompt(&self) -> String;

    /// Returns the continuation prompt if `line` has open brackets or quotes and continues on the next line.
    fn continuation(&self, line: &str) -> Option<String>;

    /// Called with the width of the terminal in columns.
    fn resize(&mut self, columns: usize) {
        let _ = columns;
    }

    /// Returns a question to confirm with `y` before the line runs; `None` if no confirmation is needed.
    fn question(&self, line: &str) -> Option<String> {
        let _ = line;
        None
    }

    /// Handles the safe mode key: enters or leaves safe mode.
    fn safe_mode(&mut self) -> SafeModeReply {
        SafeModeReply::Done(String::from("safe mode is not supported"))
    }

    /// Handles the answer to a question of [`Shell::safe_mode`].
    fn take_over(&mut self, key: char) -> String {
        let _ = key;
        String::new()
    }

    /// Returns a pending notice about another user's action, once.
    fn notice(&mut self) -> Option<String> {
        None
    }

    /// Returns pending log entries for consoles.
    fn echoes(&mut self) -> Option<String> {
        None
    }

    /// Runs a complete line. Output and errors go to the page as they arrive.
    fn execute(&mut self, line: &str, page: &mut Page<'_>) -> Outcome;

    /// True if the console must close: the session was ended, or was idle for too long.
    fn is_over(&self, idle: Duration) -> bool {
        let _ = idle;
        false
    }

    /// Returns the candidates at byte `cursor`, and the byte offset from which a candidate replaces the line.
    fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<Candidate>);

    /// Returns the highlighted parts of a line, ordered and without overlap.
    fn highlight(&self, line: &str) -> Vec<Span>;
}
