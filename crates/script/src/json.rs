//! A command with its answer in the shape of REST: for machines.

use std::ops::ControlFlow;

use menu::{Live, Menu, Output, Reason, Refusal, RowFilter, Store, json, stream_rows};

use crate::ast::{Block, Command, Statement, Target, What};
use crate::items::with_filter;
use crate::language::argument;
use crate::machine::Machine;
use crate::parser::Parser;
use crate::session::Session;
use crate::source::Source;
use crate::tree::Tree;

/// Runs a text and writes its answer as JSON: a `print` gives an array of objects whose values are
/// strings, that of settings one object; anything else gives `{"ret":…}` with what it printed.
///
/// # Errors
/// The first refusal, as of [`crate::run`].
pub fn run_json(
    store: &mut Store,
    live: &mut dyn Live,
    session: &mut Session,
    source: &str,
    out: &mut dyn Output,
) -> Result<(), Refusal> {
    let source = Source::new(source);
    let tree = Tree::new(store.menus());
    let node = tree.find(&session.path).unwrap_or(0);
    let mut parser = Parser::new(&source, &tree, node);
    session
        .variables()
        .for_each(|name| parser.names.declare(name));
    let block = parser.program()?;
    session.ready();
    if let Some((menu, command)) = printed(&block) {
        return Machine::new(store, live, session, out).print_json(menu, command);
    }
    let mut text = String::new();
    Machine::new(store, live, session, &mut text).program(&block)?;
    let mut answer = String::from("{\"ret\":");
    json::string(text.trim_end_matches('\n'), &mut answer);
    answer.push_str("}\n");
    written(out.write(&answer))
}

/// The menu and the command of a text that does nothing but print rows.
fn printed(block: &Block) -> Option<(&'static Menu, &Command)> {
    let [
        Statement {
            what: What::Run(command),
            ..
        },
    ] = &block.statements[..]
    else {
        return None;
    };
    let Target::Menu(menu, "print") = command.target else {
        return None;
    };
    argument(command, "count-only")
        .is_none()
        .then_some((menu, command))
}

fn written(flow: ControlFlow<()>) -> Result<(), Refusal> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere()),
    }
}

impl Machine<'_> {
    fn print_json(&mut self, menu: &'static Menu, command: &Command) -> Result<(), Refusal> {
        let wanted = self.proplist(menu, command).map_err(refusal)?;
        let condition = self.condition(command).map_err(refusal)?;
        let flow = with_filter(menu, condition.as_ref(), |filter| {
            self.rows_as_json(menu, filter, &wanted)
        });
        written(flow)
    }

    fn rows_as_json(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        wanted: &[&str],
    ) -> ControlFlow<()> {
        let list = menu.has_rows();
        let out = &mut *self.out;
        let mut separator = if list { "[" } else { "" };
        stream_rows(self.store, self.live, menu, filter, &mut |row| {
            out.write(separator)?;
            separator = ",\n";
            out.write(&json::object(menu, &row, wanted))
        })?;
        out.write(match (list, separator) {
            (true, "[") => "[]\n",
            (true, _) => "]\n",
            (false, _) => "\n",
        })
    }
}

fn refusal(stop: crate::machine::Stop) -> Refusal {
    match stop {
        crate::machine::Stop::Refused(refusal) => refusal,
        // Nothing but an error ends the reading of arguments.
        _ => Reason::Interrupted.nowhere(),
    }
}
