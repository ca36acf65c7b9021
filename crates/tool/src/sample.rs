//! An action of the router, done again and again: what monitors are that need no tool of their own.

use std::time::Duration;

use menu::{Call, Id, Menu, Reason, Value};

use crate::{Form, Given, Look, Next, Run, Tool, Turn};

/// The tool of commands without one of their own.
pub(crate) struct Sample;

struct Sampling {
    menu: &'static Menu,
    command: &'static str,
    items: Vec<Id>,
    arguments: Vec<(&'static str, Value)>,
    interval: Duration,
    /// Whether there has been anything to see.
    seen: bool,
}

impl Tool for Sample {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Given<'_>) -> Result<Box<dyn Run>, Reason> {
        Ok(Box::new(Sampling {
            menu: given.menu,
            command: given.command,
            items: std::mem::take(&mut given.items),
            arguments: std::mem::take(&mut given.arguments),
            interval: given.interval,
            seen: false,
        }))
    }
}

impl Run for Sampling {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let call = Call {
            menu: self.menu,
            command: self.command,
            items: &self.items,
            arguments: &self.arguments,
            made: None,
        };
        let rows = turn.router.action(turn.store, &call)?.rows;
        // What was watched has been removed.
        if rows.is_empty() && self.seen {
            return Err(Reason::NoItem);
        }
        self.seen |= !rows.is_empty();
        Ok(Look {
            rows: Some(rows),
            next: Next::At(turn.now.saturating_add(self.interval)),
        })
    }
}
