//! What a command is that goes on: begun, looked at, stopped.

use std::task::Waker;
use std::time::Duration;

use menu::{Reason, Row, Store, Value};

use crate::{Column, Given, Router};

/// A command that goes on until it is stopped.
pub trait Tool: Sync {
    /// How its rows are shown.
    fn form(&self) -> Form;

    /// Reads the arguments. Nothing happens at the router before the first look.
    ///
    /// # Errors
    /// What is wrong with an argument.
    fn start(&self, given: &mut Given<'_>) -> Result<Box<dyn Run>, Reason>;
}

/// A command that runs.
pub trait Run {
    /// Does what is due, and says what there is to see.
    ///
    /// # Errors
    /// Why it cannot go on.
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason>;

    /// What all looks so far come to, as a console shows it below the rows; empty if that is nothing.
    fn summary(&self) -> String {
        String::new()
    }

    /// The command's value in a script, where it is not what was seen last.
    fn value(&self) -> Option<Value> {
        None
    }

    /// Gives back what it has of the router. It is called once, however the command ends.
    fn stop(&mut self, turn: &mut Turn<'_>) {
        let _ = turn;
    }
}

/// The router, lent for one look.
pub struct Turn<'a> {
    /// The configuration.
    pub store: &'a Store,
    /// What runs of it.
    pub router: &'a mut dyn Router,
    /// The time on a clock that never jumps, from any beginning.
    pub now: Duration,
    /// What ends a [`Next::News`] early.
    pub news: &'a Waker,
}

/// What a look has found.
#[derive(Debug)]
pub struct Look {
    /// The rows, if there is anything to see: new ones, or the whole page anew, as [`Form`] says.
    pub rows: Option<Vec<Row>>,
    /// When to look again.
    pub next: Next,
}

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Never: it is done.
    Over,
    /// At this time, on the clock of [`Turn::now`]. Here it may be ended from outside: its time is up.
    At(Duration),
    /// When there is news, and at this time at the latest: an answer is waited for, and what was begun is finished.
    News(Duration),
}

/// How rows are shown.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Each look's rows go below those before, in columns of fixed width. The value of `as-value` is all rows.
    Lines(&'static [Column]),
    /// Each look's rows are a table that is drawn over the one before. The value of `as-value` is the last.
    Table(&'static [Column]),
    /// Each look's rows stand side by side, a line for each value, drawn over those before. For `as-value` one
    /// look is enough.
    Page,
}
