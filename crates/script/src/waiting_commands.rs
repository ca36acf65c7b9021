//! Detects commands that wait or contact other hosts. A file with such a command runs command by command; all
//! others run as one transaction.
//!
//! The search covers code in braces, brackets and expressions, files that the file imports, and functions in
//! global variables that the file names. Code that exists only at run time (`:parse`, `/system/script/run`)
//! cannot be searched and counts as waiting.

use std::collections::BTreeSet;

use crate::ast::{Block, Command, Expr, Node, Statement, StatementKind, Target};
use crate::builtin::WAITING;
use crate::environment::Environment;
use crate::language::argument;
use crate::spec;
use crate::value::Value;

/// Menu commands that run code that is not part of the text.
const RUNNING: &[(&str, &str)] = &[("/system/script", "run")];

/// Parses an imported file.
type Import<'a> = dyn FnMut(&str) -> Option<Block> + 'a;

/// A search for commands that wait.
pub(crate) struct Waits<'a> {
    globals: &'a Environment,
    import: &'a mut Import<'a>,
    /// Global variables and imported files that were searched already.
    searched: BTreeSet<String>,
}

impl<'a> Waits<'a> {
    pub(crate) fn new(globals: &'a Environment, import: &'a mut Import<'a>) -> Self {
        Self {
            globals,
            import,
            searched: BTreeSet::new(),
        }
    }

    /// True if a statement of the block waits.
    pub(crate) fn in_block(&mut self, block: &Block) -> bool {
        let mut statements = block.statements.iter();
        statements.any(|statement| self.in_statement(statement))
    }

    fn in_statement(&mut self, statement: &Statement) -> bool {
        match &statement.what {
            StatementKind::Empty(_) | StatementKind::Enter(_) => false,
            StatementKind::Run(command) => self.in_command(command),
            StatementKind::Scope(_, block) => self.in_block(block),
            StatementKind::Call(expr) | StatementKind::Value(expr) => self.in_expr(expr),
            StatementKind::UnknownWord(bad) => {
                WAITING.contains(&bad.name.as_str())
                    || bad.code.iter().any(|block| self.in_block(block))
                    || bad.arguments.iter().any(|(_, expr)| self.in_expr(expr))
            }
        }
    }

    fn in_command(&mut self, command: &Command) -> bool {
        let waiting = match command.target {
            Target::Builtin(builtin) if builtin.name == "import" => self.in_import(command),
            Target::Builtin(builtin) => {
                let name = builtin.name;
                builtin.of.is_some() || name == "parse" || WAITING.contains(&name)
            }
            Target::Menu(menu, name) => {
                let goes_on = spec::repeats(menu, name) && !menu.is_idle(name);
                let runs = RUNNING.contains(&(menu.path, name));
                goes_on || runs || menu.path == crate::terminal::MENU
            }
            Target::Export(_) => false,
        };
        let mut arguments = command.arguments.iter();
        waiting
            || arguments.any(|argument| {
                let value = argument.value.as_ref();
                argument.name == "while" || value.is_some_and(|expr| self.in_expr(expr))
            })
    }

    /// Searches an imported file. A file whose name is computed counts as waiting.
    fn in_import(&mut self, command: &Command) -> bool {
        let name = ["file-name", "file"];
        let mut name = name.iter().filter_map(|name| argument(command, name));
        let Some(Node::Word(name) | Node::Text(name)) = name
            .next()
            .and_then(|argument| argument.value.as_ref())
            .map(|expr| &expr.node)
        else {
            return true;
        };
        // The slash distinguishes file names from variable names.
        if !self.searched.insert(format!("/{name}")) {
            return false;
        }
        (self.import)(name).is_some_and(|block| self.in_block(&block))
    }

    fn in_expr(&mut self, expr: &Expr) -> bool {
        match &expr.node {
            Node::Word(_) | Node::Text(_) | Node::Property(_) => false,
            Node::Variable(name) => self.in_variable(name),
            Node::Joined(parts) => parts.iter().any(|part| self.in_expr(part)),
            Node::Brackets(block) | Node::Code(block) => self.in_block(block),
            Node::Array(elements) => elements.iter().any(|(key, element)| {
                key.as_ref().is_some_and(|key| self.in_expr(key)) || self.in_expr(element)
            }),
            Node::Group(inner) | Node::Unary(_, inner) => self.in_expr(inner),
            Node::Binary(_, left, right) => self.in_expr(left) || self.in_expr(right),
            Node::Call(function, arguments) => {
                self.in_expr(function) || arguments.iter().any(|(_, expr)| self.in_expr(expr))
            }
        }
    }

    /// Searches the functions held in a global variable.
    fn in_variable(&mut self, name: &str) -> bool {
        if self.searched.contains(name) {
            return false;
        }
        self.searched.insert(name.to_owned());
        let value = self.globals.get(name);
        value.is_some_and(|value| self.in_value(&value))
    }

    fn in_value(&mut self, value: &Value) -> bool {
        match value {
            Value::Code(block) => self.in_block(block),
            Value::Op(expr) => self.in_expr(expr),
            Value::Array(elements) => elements.iter().any(|(_, value)| self.in_value(value)),
            _ => false,
        }
    }
}
