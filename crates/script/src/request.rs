//! A command as another program sends it: a path and named values, not text.
//!
//! API and REST come in here. What a value holds is never read as language; beyond that a request
//! is what a command of the console is: the same menus, checks, transactions and policies.

use std::ops::ControlFlow;

use menu::{Menu, Position, Reason, Refusal};

use crate::ast::{Argument, Command, Expr, Node, Target};
use crate::builtin;
use crate::language::argument as argument_of;
use crate::machine::{self, Machine};
use crate::session::Session;
use crate::site::Site;
use crate::spec;
use crate::tree::{Step, Tree};
use crate::value::Value;

mod action;
mod listen;
mod manner;
mod rows;

pub use listen::Course;

/// A command with its values. Texts hold bytes that are not UTF-8 as [`menu::bytes`] does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The path with the command, such as `/ip/address/print`.
    pub path: String,
    /// Names and values; a flag has any value.
    pub arguments: Vec<(String, String)>,
    /// The words of a query, each without its question mark.
    pub query: Vec<String>,
}

/// How a request ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was done, and all rows were given.
    Nothing,
    /// It was a `print` and there were no rows.
    Empty,
    /// It was done, and this came of it.
    Ret(String),
}

/// Who takes the rows of a request, while the router is free for others.
pub trait Rows {
    /// Takes a row: names and values. A sink may be full for good: who asked has gone away.
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()>;

    /// Hears that nothing follows for a while.
    fn rest(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Commands of the language that are also for programs: those that do something by themselves.
const FOR_PROGRAMS: [&str; 7] = [
    "beep", "execute", "import", "password", "redo", "resolve", "undo",
];

/// Runs a request.
///
/// # Errors
/// The refusal. Rows may have been given before it.
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

/// The menu that has a path for programs.
pub fn menu_at(menus: &'static [&'static Menu], path: &str) -> Option<&'static Menu> {
    let tree = Tree::for_programs(menus);
    tree.nodes[tree.find(path)?].menu
}

/// What a path with a command means. Every word is whole: programs do not abbreviate.
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
        // RouterOS: a path of which nothing is known has no prefix; in a menu it is the command
        // that is missing.
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
                    (menu, name),
                    target,
                    &spec::of_menu(menu, name),
                    request,
                    rows,
                ),
            // RouterOS: the ids of all items, whatever the query; none is an empty text.
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
                    return self.request_action((menu, name), target, &known, request, rows);
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

/// A row's sink may be full for good.
fn taken(flow: ControlFlow<()>) -> machine::Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Reason::Interrupted.nowhere().into()),
    }
}

fn unknown_parameter(name: &str) -> Refusal {
    Reason::Unknown(format!("unknown parameter {name}")).nowhere()
}

/// A request has no text in which something could stand.
const NOWHERE: Position = Position { line: 1, column: 1 };

fn bare(target: Target, arguments: Vec<Argument>) -> Command {
    Command {
        at: NOWHERE,
        target,
        arguments,
    }
}

fn argument(name: &str, text: String) -> Argument {
    Argument {
        at: NOWHERE,
        name: name.to_owned(),
        value: Some(Expr {
            at: NOWHERE,
            node: Node::Text(text),
        }),
        negated: false,
    }
}

/// The command that a request is, its arguments by the names that the command has for them.
fn command(
    target: Target,
    request: &Request,
    known: &[spec::Parameter],
    selects: bool,
) -> Result<Command, Refusal> {
    // A condition is language, which a request has none of.
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
            // Settings are one, and need not be chosen.
            ".id" if !selects => continue,
            name if has(name) => name,
            name => return Err(unknown_parameter(name)),
        };
        let flag = known
            .iter()
            .any(|p| p.name == name && p.takes == builtin::Takes::Flag);
        let mut given = argument(name, text.clone());
        if flag {
            given.value = None;
        }
        given.negated = negated;
        arguments.push(given);
    }
    Ok(bare(target, arguments))
}
