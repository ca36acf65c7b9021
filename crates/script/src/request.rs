//! Requests of programs: a path with named values instead of command text.
//!
//! The API and the REST API enter here. Values are never parsed as script language. In all other respects a
//! request equals a console command: menus, checks, transactions and policies.

use std::ops::ControlFlow;

use menu::{Menu, Position, Reason, Refusal};

use crate::ast::{Argument, Command, Expr, Node, Target};
use crate::builtin;
use crate::language::argument as argument_of;
use crate::machine::{self, Machine};
use crate::session::Session;
use crate::site::Site;
use crate::spec;
use crate::tools::MenuCommand;
use crate::tree::{Step, Tree};
use crate::value::Value;

mod action;
mod answer_options;
mod listen;
mod rows;

pub use listen::ListenRequest;

/// A command with its values. Bytes that are not UTF-8 are mapped as in [`menu::bytes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Path and command, such as `/ip/address/print`.
    pub path: String,
    /// Argument names and values. A flag may have any value.
    pub arguments: Vec<(String, String)>,
    /// The words of a query, without their leading question marks.
    pub query: Vec<String>,
}

/// The result of a successful request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// Done; all rows were passed on.
    Nothing,
    /// A `print` without any rows.
    Empty,
    /// Done, with this return value.
    Ret(String),
}

/// Receives the rows of a request, while other tasks may use the router.
pub trait Rows {
    /// Receives a row as names and values. Returns `Break` if the client has disconnected.
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()>;

    /// Called when no more rows follow for now.
    fn rest(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Built-in commands that programs may use: those that act on the router.
const FOR_PROGRAMS: [&str; 7] = [
    "beep", "execute", "import", "password", "redo", "resolve", "undo",
];

/// Runs a request.
///
/// # Errors
/// The refusal. Some rows may have been passed on before.
pub fn request_at(
    site: &mut dyn Site,
    session: &mut Session,
    request: &Request,
    rows: &mut dyn Rows,
) -> Result<Done, Refusal> {
    let tree = Tree::for_programs(site.menus());
    let target = target(&tree, &request.path)?;
    let _running = session.interrupter().running();
    let mut text = String::new();
    let done = Machine::new(site, session, &mut text).request(target, request, rows);
    match done {
        Ok(Done::Nothing) if !text.is_empty() => {
            Ok(Done::Ret(text.trim_end_matches('\n').to_owned()))
        }
        Ok(done) => Ok(done),
        Err(machine::Stop::Return(value)) => Ok(returned(&value)),
        Err(machine::Stop::Refused(refusal)) => Err(refusal),
        Err(machine::Stop::Break | machine::Stop::Continue | machine::Stop::Exit) => {
            Ok(Done::Nothing)
        }
    }
}

/// Returns the menu at a path, as programs may name it.
pub fn menu_at(menus: &'static [&'static Menu], path: &str) -> Option<&'static Menu> {
    let tree = Tree::for_programs(menus);
    tree.nodes[tree.find(path)?].menu
}

/// Resolves a path with a command. Programs must not abbreviate words.
fn target(tree: &Tree, path: &str) -> Result<Target, Refusal> {
    let unknown = |text: &str| Reason::Unknown(text.to_owned()).nowhere();
    let Some(path) = path.strip_prefix('/') else {
        return Err(unknown("no such command prefix"));
    };
    let (menu, name) = path.rsplit_once('/').unwrap_or(("", path));
    let node = tree
        .find(menu)
        .ok_or_else(|| unknown("no such command prefix"))?;
    let name = if name == "getall" { "print" } else { name };
    let known = match tree.step(node, name) {
        Some(Step::Command(known)) if known == name => Some(known),
        _ => None,
    };
    let has_rows = tree.has(node, "print");
    match (known, known.and_then(|known| tree.has(node, known))) {
        (Some(known), Some(menu)) => return Ok(Target::Menu(menu, known)),
        (Some("export"), None) => return Ok(Target::Export(tree.nodes[node].path)),
        _ => {}
    }
    if let Some(menu) = has_rows.filter(|_| name == "listen") {
        return Ok(Target::Menu(menu, "listen"));
    }
    match builtin::find(name) {
        Some(builtin) if node == 0 && builtin.name == name && is_for_programs(builtin) => {
            Ok(Target::Builtin(builtin))
        }
        // RouterOS: in an unknown menu the error is "no such command prefix", in a known menu "no such
        // command".
        _ if menu.is_empty() => Err(unknown("no such command prefix")),
        _ => Err(unknown("no such command")),
    }
}

fn is_for_programs(builtin: &builtin::Builtin) -> bool {
    builtin.of.is_some() || FOR_PROGRAMS.contains(&builtin.name)
}

fn returned(value: &Value) -> Done {
    match value {
        Value::Nothing | Value::Nil => Done::Nothing,
        value => Done::Ret(value.to_string()),
    }
}

impl Machine<'_> {
    fn request(
        &mut self,
        target: Target,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        match target {
            Target::Menu(menu, "print" | "listen") => {
                self.request_rows(menu, target, request, rows)
            }
            Target::Menu(menu, name) if menu.path == crate::terminal::MENU => {
                let command = command(target, request, &spec::of_menu(menu, name), false)?;
                let value = self.at_terminal(menu, name, &command)?;
                Ok(returned(&value))
            }
            Target::Menu(menu, name) if menu.commands.iter().any(|own| own.name == name) => self
                .request_action(
                    MenuCommand { menu, name },
                    target,
                    &spec::of_menu(menu, name),
                    request,
                    rows,
                ),
            // RouterOS: `find` ignores the query and returns the ids of all items; an empty text if there are
            // none.
            Target::Menu(menu, "find") => {
                let found = self.menu_command(menu, "find", &bare(target, Vec::new()))?;
                Ok(Done::Ret(found.to_string()))
            }
            Target::Menu(menu, name) => {
                let known = spec::of_menu(menu, name);
                let command = command(target, request, &known, menu.has_rows())?;
                let value = self.menu_command(menu, name, &command)?;
                Ok(returned(&value))
            }
            Target::Export(path) => {
                let command = command(target, request, &spec::export(), false)?;
                self.export(path, None, &command)
                    .map(|value| returned(&value))
            }
            Target::Builtin(builtin) => {
                let known = spec::of_builtin(builtin);
                if let Some(menu) = self.stands_for(builtin) {
                    let name = builtin.name;
                    let invoked = MenuCommand { menu, name };
                    return self.request_action(invoked, target, &known, request, rows);
                }
                let command = command(target, request, &known, false)?;
                if builtin.name == "execute" && argument_of(&command, "as-string").is_some() {
                    self.permit_builtin(builtin.name)?;
                    return self.execute_to_text(&command).map(Done::Ret);
                }
                self.command(&command).map(|value| returned(&value))
            }
        }
    }
}

/// Converts the answer of a row receiver to a result.
fn taken(flow: ControlFlow<()>) -> machine::Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
    }
}

fn unknown_parameter(name: &str) -> Refusal {
    Reason::Unknown(format!("unknown parameter {name}")).nowhere()
}

/// Position for errors: a request has no source text.
const NO_POSITION: Position = Position { line: 1, column: 1 };

fn bare(target: Target, arguments: Vec<Argument>) -> Command {
    Command {
        at: NO_POSITION,
        target,
        arguments,
    }
}

fn argument(name: &str, text: String) -> Argument {
    Argument {
        at: NO_POSITION,
        name: name.to_owned(),
        value: Some(Expr {
            at: NO_POSITION,
            node: Node::Text(text),
        }),
        negated: false,
    }
}

/// Builds the command for a request, and maps argument names to those of the command.
fn command(
    target: Target,
    request: &Request,
    known: &[spec::Parameter],
    selects: bool,
) -> Result<Command, Refusal> {
    // Requests must not contain script conditions.
    let has = |name: &str| name != "where" && known.iter().any(|known| known.name == name);
    let mut arguments = Vec::with_capacity(request.arguments.len());
    for (name, text) in &request.arguments {
        let (name, negated) = match name.strip_prefix('!') {
            Some(name) => (name, true),
            None => (name.as_str(), false),
        };
        let name = match name {
            ".id" | "numbers" | "number" if has("numbers") => "numbers",
            ".id" | "numbers" | "number" if has("number") => "number",
            // Settings need no selection of items.
            ".id" if !selects => continue,
            name if has(name) => name,
            name => return Err(unknown_parameter(name)),
        };
        let flag = known
            .iter()
            .any(|p| p.name == name && p.takes == builtin::ArgumentKind::Flag);
        let mut given = argument(name, text.clone());
        if flag {
            given.value = None;
        }
        given.negated = negated;
        arguments.push(given);
    }
    Ok(bare(target, arguments))
}
