//! Runs a command and returns its answer as JSON in the format of the REST API.

use std::ops::ControlFlow;

use menu::{Menu, Output, Reason, Refusal, json};

use crate::ast::{Block, Command, Statement, StatementKind, Target};
use crate::items::with_filter;
use crate::language::argument;
use crate::machine::{Machine, Result, finish};
use crate::parser::Parser;
use crate::session::Session;
use crate::show::proplist;
use crate::site::Site;
use crate::source::Source;
use crate::tree::Tree;

/// Runs a text and writes its answer as JSON: for `print` an array of objects with string values, for settings
/// one object, otherwise `{"ret":…}` with the printed output, or with the value if nothing was printed.
///
/// # Errors
/// The first refusal, as of [`crate::run_at`].
pub fn run_json_at(
    site: &mut dyn Site,
    session: &mut Session,
    source: &str,
    out: &mut dyn Output,
) -> std::result::Result<(), Refusal> {
    let source = Source::new(source);
    let tree = Tree::of(site.menus());
    let node = tree.find(&session.path).unwrap_or(0);
    let mut parser = Parser::new(&source, &tree, node);
    let variables = session.variables();
    variables.for_each(|name| parser.names.declare(name));
    let block = parser.program()?;
    let _running = session.interrupt.running();
    if let Some((menu, command)) = printed(&block) {
        return Machine::new(site, session, out)
            .print_json(menu, command)
            .or_else(finish);
    }
    let mut printed = JsonOutput {
        text: String::new(),
        out,
    };
    let value = Machine::new(site, session, &mut printed).program(&block)?;
    let mut text = printed.text;
    // As in the REST API: `add` returns the id of the new item although it prints nothing.
    if text.is_empty() {
        text.push_str(&value.text());
    }
    let mut answer = String::from("{\"ret\":");
    json::string(text.trim_end_matches('\n'), &mut answer);
    answer.push_str("}\n");
    written(printed.out.write(&answer))
}

/// Collects the output of commands and passes remarks on to the client.
struct JsonOutput<'a> {
    text: String,
    out: &'a mut dyn Output,
}

impl Output for JsonOutput<'_> {
    fn write(&mut self, text: &str) -> ControlFlow<()> {
        self.text.write(text)
    }

    fn remark(&mut self, line: &str) -> ControlFlow<()> {
        self.out.remark(line)
    }
}

/// Returns the menu and the command if the text is a single `print` of rows.
fn printed(block: &Block) -> Option<(&'static Menu, &Command)> {
    let [
        Statement {
            what: StatementKind::Run(command),
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

fn written(flow: ControlFlow<()>) -> std::result::Result<(), Refusal> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere()),
    }
}

impl Machine<'_> {
    fn print_json(&mut self, menu: &'static Menu, command: &Command) -> Result<()> {
        self.permit(menu, "print")?;
        let ready = self.ready(command)?;
        let wanted = proplist(menu, &ready)?;
        let condition = self.condition(menu, command)?;
        let list = menu.has_rows();
        let mut separator = if list { "[" } else { "" };
        let hidden = !self.sees_secrets();
        with_filter(menu, condition.as_ref(), hidden, |filter| {
            self.each_slice(menu, filter, |machine, rows| {
                rows.iter().try_for_each(|row| {
                    machine.print(separator)?;
                    separator = ",\n";
                    machine.print(&json::object(menu, row, &wanted))
                })
            })
        })?;
        self.print(match (list, separator) {
            (true, "[") => "[]\n",
            (true, _) => "]\n",
            (false, _) => "\n",
        })
    }
}
