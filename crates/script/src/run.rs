//! Entry points: run a console line, import a file.

use menu::{Menu, Output, Refusal, Store};
use tool::Router;

use crate::ast::{Argument, Block, Expr, Node, Statement, StatementKind, Target};
use crate::import::{Options, import_with};
use crate::machine::Machine;
use crate::parser::Parser;
use crate::session::Session;
use crate::site::{ExclusiveSite, Site};
use crate::source::Source;
use crate::tree::Tree;

/// Runs a console line or a script. Each command is a transaction of its own, and other tasks may use the
/// router between commands. A text with a syntax error is refused before any of it runs.
///
/// # Errors
/// The first refusal; commands before it stay applied.
pub fn run_at(
    site: &mut dyn Site,
    session: &mut Session,
    source: &str,
    out: &mut dyn Output,
) -> Result<(), Refusal> {
    let source = Source::new(source);
    let tree = Tree::of(site.menus());
    let node = tree.find(&session.path).unwrap_or(0);
    let mut parser = Parser::new(&source, &tree, node);
    let variables = session.variables();
    variables.for_each(|name| parser.names.declare(name));
    let block = parser.program()?;
    let _running = session.interrupt.running();
    let mut machine = Machine::new(site, session, out);
    match block.statements.len() {
        // A single command waits for the disk on its own.
        1 if !has_code(&block) => machine.program(&block).map(drop),
        _ => machine.in_groups(|machine| machine.program(&block).map(drop)),
    }
}

/// True if the statements contain nested code: loops, conditions, brackets or calls.
fn has_code(block: &Block) -> bool {
    let mut found = 0;
    each_statement(block, &mut |_| found += 1);
    let calls = |statement: &Statement| {
        matches!(
            statement.what,
            StatementKind::Call(_) | StatementKind::Value(_)
        )
    };
    found > block.statements.len() || block.statements.iter().any(calls)
}

/// Runs a console line or a script on a router that no other task uses. See [`run_at`].
///
/// # Errors
/// As for [`run_at`].
pub fn run(
    store: &mut Store,
    live: &mut dyn Router,
    session: &mut Session,
    source: &str,
    out: &mut dyn Output,
) -> Result<(), Refusal> {
    run_at(&mut ExclusiveSite::new(store, live), session, source, out)
}

/// Imports a configuration file. A file without commands that wait is one atomic transaction, which holds the
/// router until its end. Ports that the file names are created.
///
/// # Errors
/// The first refusal, with its position. A file that is one transaction has changed nothing.
pub fn import_at(
    site: &mut dyn Site,
    session: &mut Session,
    source: &str,
    out: &mut dyn Output,
) -> Result<(), Refusal> {
    let done = import_with(site, session, source, out, Options::default());
    done.map_err(|failed| failed.refusal)
}

/// Imports a configuration file on a router that no other task uses. See [`import_at`].
///
/// # Errors
/// As for [`import_at`].
pub fn import(
    store: &mut Store,
    live: &mut dyn Router,
    session: &mut Session,
    source: &str,
    out: &mut dyn Output,
) -> Result<(), Refusal> {
    import_at(&mut ExclusiveSite::new(store, live), session, source, out)
}

/// Returns the menu commands of a line, with the paths of their menus, including commands in braces. Returns an
/// empty list if the line cannot be parsed.
pub fn commands(
    menus: &'static [&'static Menu],
    session: &Session,
    line: &str,
) -> Vec<(&'static str, &'static str)> {
    let source = Source::new(line);
    let tree = Tree::new(menus);
    let node = tree.find(&session.path).unwrap_or(0);
    let mut found = Vec::new();
    if let Ok(block) = Parser::new(&source, &tree, node).program() {
        each_statement(&block, &mut |statement| {
            if let StatementKind::Run(command) = &statement.what
                && let Target::Menu(menu, name) = command.target
            {
                found.push((menu.path, name));
            }
        });
    }
    found
}

/// Returns the ports that a file uses as interfaces, in the order of first use.
pub(crate) fn named_ports(store: &Store, block: &Block) -> Vec<String> {
    let mut names = Vec::new();
    each_statement(block, &mut |statement| {
        ports_of(store, statement, &mut names)
    });
    names
}

/// Collects the ports that one statement names, without its nested statements.
fn ports_of(store: &Store, statement: &Statement, names: &mut Vec<String>) {
    let mut take = |text: &str| {
        for word in text.trim_start_matches('!').split([',', '%', '@', ';']) {
            if store.port_kind(word).is_some() && !names.iter().any(|name| name == word) {
                names.push(word.to_owned());
            }
        }
    };
    if let StatementKind::Run(command) = &statement.what {
        let refers = |argument: &&Argument| {
            let property = match command.target {
                Target::Menu(menu, _) => menu.property(&argument.name),
                _ => None,
            };
            let selects = matches!(argument.name.as_str(), "numbers" | "where");
            selects || property.is_some_and(|property| property.kind.refers())
        };
        for argument in command.arguments.iter().filter(refers) {
            if let Some(value) = &argument.value {
                each_word(value, &mut take);
            }
        }
    }
}

/// Calls `f` for each word and string of an expression, and of the conditions in its brackets.
pub(crate) fn each_word(expr: &Expr, f: &mut dyn FnMut(&str)) {
    match &expr.node {
        Node::Word(text) | Node::Text(text) => f(text),
        Node::Joined(parts) => parts.iter().for_each(|part| each_word(part, f)),
        Node::Array(elements) => elements
            .iter()
            .for_each(|(_, element)| each_word(element, f)),
        Node::Unary(_, inner) | Node::Group(inner) => each_word(inner, f),
        Node::Binary(_, left, right) => {
            each_word(left, f);
            each_word(right, f);
        }
        Node::Brackets(block) => {
            for statement in &block.statements {
                if let StatementKind::Run(command) = &statement.what {
                    let selects = ["where", "number", "numbers"];
                    let values = command.arguments.iter();
                    let values = values.filter(|a| selects.contains(&a.name.as_str()));
                    values
                        .filter_map(|a| a.value.as_ref())
                        .for_each(|value| each_word(value, f));
                }
            }
        }
        Node::Variable(_) | Node::Property(_) | Node::Code(_) | Node::Call(..) => {}
    }
}

/// Calls `f` for each statement, including those in braces, not those in brackets.
pub(crate) fn each_statement(block: &Block, f: &mut dyn FnMut(&Statement)) {
    for statement in &block.statements {
        f(statement);
        match &statement.what {
            StatementKind::Scope(_, inner) => each_statement(inner, f),
            StatementKind::UnknownWord(bad) => {
                bad.code.iter().for_each(|inner| each_statement(inner, f))
            }
            StatementKind::Run(command) => {
                let values = command.arguments.iter().filter_map(|a| a.value.as_ref());
                for value in values {
                    if let Node::Code(inner) = &value.node {
                        each_statement(inner, f);
                    }
                }
            }
            _ => {}
        }
    }
}
