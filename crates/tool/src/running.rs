//! Traits and types of continuous commands.

use std::task::Waker;
use std::time::Duration;

use menu::{Reason, Row, Store, Value};

use crate::{Column, Invocation, Router};

/// A continuous command.
pub trait Tool: Sync {
    /// Layout of the rows.
    fn form(&self) -> Form;

    /// Reads the arguments and creates the running command, which has no effect on the router before its first
    /// `look`.
    ///
    /// # Errors
    /// Returns why an argument is invalid.
    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason>;
}

/// A running command.
pub trait RunningTool {
    /// Handles due work and returns new rows.
    ///
    /// # Errors
    /// Returns why the command cannot continue.
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason>;

    /// Summary of all updates, which a console shows below the rows; empty for none.
    fn summary(&self) -> String {
        String::new()
    }

    /// Value of the command in a script; `None` for the last update.
    fn value(&self) -> Option<Value> {
        None
    }

    /// Releases the command's resources of the router. Called once, however the command ends.
    fn stop(&mut self, turn: &mut Turn<'_>) {
        let _ = turn;
    }
}

/// Context of one call, with the borrowed router.
pub struct Turn<'a> {
    /// Configuration.
    pub store: &'a Store,
    /// Running router.
    pub router: &'a mut dyn Router,
    /// Monotonic time since an arbitrary start.
    pub now: Duration,
    /// Waker that ends a [`Next::News`] early.
    pub news: &'a Waker,
}

/// Update of a running command.
#[derive(Debug)]
pub struct Look {
    /// Rows, if there is anything to show: new rows or a complete page, depending on [`Form`].
    pub rows: Option<Vec<Row>>,
    /// Time of the next call.
    pub next: Next,
}

/// Time of the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// None: the command has ended.
    Over,
    /// This time, on the clock of [`Turn::now`]. The caller may end the command instead when its duration is over.
    At(Duration),
    /// When the waker is used, at the latest at this time. The caller does not end the command before, because a
    /// request is pending.
    News(Duration),
}

/// Layout of rows.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Appends the rows of each update, in columns of fixed width. The value of `as-value` is all rows.
    Lines(&'static [Column]),
    /// Redraws a table with each update. The value of `as-value` is the last update.
    Table(&'static [Column]),
    /// Redraws a page with each update: one column per row, one line per value. `as-value` takes one update.
    Page,
}
