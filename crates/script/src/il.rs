//! Code as `:put` shows it: the form between text and run that RouterOS gives for `:parse`.
//!
//! A command is `(evl /path/nameargument=value;…)` with its arguments by name, an expression is its
//! operator before its operands, a call is `(<%% function arguments)`. Statements of a text are
//! apart by `;`, those in braces by a space. A line without a command shows the menu it stands in.

use menu::{Kind, Menu};

use crate::ast::{
    Argument, Bad, Binary, Block, Command, Expr, Node, Statement, Target, Unary, What,
};
use crate::builtin::Takes;
use crate::il_word::{Look, word};

/// The form of a whole text.
pub(crate) fn program(block: &Block) -> String {
    let mut out = String::new();
    statements(block, ";", &mut out);
    out
}

/// Statements on their way out.
///
/// RouterOS: a statement in brackets takes all statements before it into what is called.
struct List {
    /// What has to be put before it all, innermost first.
    before: Vec<&'static str>,
    text: String,
    count: usize,
    /// How many statements in brackets are still to come.
    calls: usize,
    apart: &'static str,
}

fn statements(block: &Block, apart: &'static str, out: &mut String) {
    let mut list = List {
        before: Vec::new(),
        text: String::new(),
        count: 0,
        calls: calls(block),
        apart,
    };
    list.block(block);
    for text in list.before.iter().rev() {
        out.push_str(text);
    }
    out.push_str(&list.text);
}

/// The brackets that a statement is, and the arguments after them.
fn bracketed(statement: &Statement) -> Option<(&Block, &[(Option<String>, Expr)])> {
    match &statement.what {
        What::Value(Expr {
            node: Node::Brackets(block),
            ..
        }) => Some((block, &[])),
        What::Call(Expr {
            node: Node::Call(function, arguments),
            ..
        }) => match &function.node {
            Node::Brackets(block) => Some((block, arguments)),
            _ => None,
        },
        _ => None,
    }
}

fn calls(block: &Block) -> usize {
    let inner = block.statements.iter().filter_map(bracketed);
    inner.map(|(block, _)| 1 + calls(block)).sum()
}

impl List {
    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match bracketed(statement) {
                Some((inner, arguments)) => self.call(inner, arguments),
                None => {
                    if self.count > 0 {
                        let apart = if self.calls > 0 { ";" } else { self.apart };
                        self.text.push_str(apart);
                    }
                    self.count += 1;
                    what(&statement.what, &mut self.text);
                }
            }
        }
    }

    fn call(&mut self, inner: &Block, arguments: &[(Option<String>, Expr)]) {
        self.block(inner);
        self.calls -= 1;
        if self.count > 1 {
            self.before.push("(<%% (evl ");
            self.text.push(')');
        } else {
            self.before.push("(<%% ");
        }
        self.text.push(' ');
        call_arguments(arguments, false, &mut self.text);
        self.text.push(')');
        self.count = 1;
    }
}

fn what(what: &What, out: &mut String) {
    match what {
        What::Empty(place) | What::Enter(place) => {
            out.push_str(&place.path);
            if place.path != "/" {
                out.push('/');
            }
        }
        What::Run(run) => command(run, out),
        What::Scope(_, block) => evaluated(block, out),
        What::Bad(bad) => refused(bad, out),
        What::Call(call) => expr(call, Look::Any, out),
        What::Value(value) => {
            out.push_str("(<%% ");
            expr(value, Look::Any, out);
            out.push_str(" )");
        }
    }
}

/// `(evl …)`
fn evaluated(block: &Block, out: &mut String) {
    out.push_str("(evl ");
    statements(block, " ", out);
    out.push(')');
}

fn refused(bad: &Bad, out: &mut String) {
    out.push_str(&format!("(<%% bad command name {} {} ", bad.name, bad.at));
    out.push_str(&bad.name);
    call_arguments(&bad.arguments, true, out);
    out.push(')');
}

/// Arguments of a call: those without names as they stand, then those with names by their names.
fn call_arguments(arguments: &[(Option<String>, Expr)], more: bool, out: &mut String) {
    let mut named: Vec<_> = arguments
        .iter()
        .filter(|(name, _)| name.is_some())
        .collect();
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    let unnamed = arguments.iter().filter(|(name, _)| name.is_none());
    let mut more = more;
    for (name, value) in unnamed.chain(named) {
        if more {
            out.push(';');
        }
        more = true;
        if let Some(name) = name {
            out.push_str(name);
            out.push('=');
        }
        expr(value, Look::Text, out);
    }
}

fn command(command: &Command, out: &mut String) {
    out.push_str("(evl ");
    let (path, name) = match command.target {
        Target::Menu(menu, name) => (menu.path, name),
        Target::Export("/") => ("", "export"),
        Target::Export(path) => (path, "export"),
        Target::Builtin(builtin) => ("", builtin.name),
    };
    out.push_str(path);
    out.push('/');
    out.push_str(name);
    let mut all = Vec::with_capacity(command.arguments.len());
    // RouterOS: a bare name has the value of the argument before it.
    let mut last = None;
    for argument in &command.arguments {
        let mut text = String::new();
        if !value_of(command, argument, last, &mut text) {
            continue;
        }
        if argument.value.is_some() {
            last = Some(argument);
        }
        all.push((argument.name.as_str(), text));
    }
    all.sort_by_key(|(name, _)| *name);
    for (index, (name, value)) in all.iter().enumerate() {
        if index > 0 {
            out.push(';');
        }
        out.push_str(name);
        out.push('=');
        out.push_str(value);
    }
    out.push(')');
}

/// Writes the value of an argument; whether there is any.
fn value_of(
    command: &Command,
    argument: &Argument,
    last: Option<&Argument>,
    out: &mut String,
) -> bool {
    match (&argument.value, last) {
        (None, _) if argument.negated => out.push('!'),
        (None, Some(last)) => {
            let _ = value_of(command, last, None, out);
        }
        (None, None) => out.push_str("true"),
        (Some(value), _) => match (argument.name.as_str(), command.target) {
            ("where", Target::Menu(menu, _)) => condition(menu, value, out),
            _ if is_nothing(value) => return false,
            _ => expr(value, look(command, argument), out),
        },
    }
    true
}

/// Whether there is no value after an argument's `=`.
fn is_nothing(value: &Expr) -> bool {
    matches!(&value.node, Node::Word(text) if text.is_empty())
}

/// How the words of an argument's value look.
fn look(command: &Command, argument: &Argument) -> Look {
    match command.target {
        Target::Menu(menu, name) => {
            let own = menu.commands.iter().find(|own| own.name == name);
            let taken = own.and_then(|own| own.arguments.iter().find(|a| a.name == argument.name));
            let kind = taken.map(|argument| &argument.kind);
            kind.or_else(|| menu.property(&argument.name).map(|p| &p.kind))
                .map_or(Look::Text, Look::Of)
        }
        Target::Export(_) => Look::Text,
        Target::Builtin(builtin) => {
            let parameter = builtin.parameters.iter().find(|p| p.name == argument.name);
            match parameter.map(|parameter| parameter.takes) {
                Some(Takes::Span) => Look::Of(&Kind::SPAN),
                Some(Takes::Text) => Look::Text,
                Some(Takes::Name) => Look::Names,
                _ => Look::Any,
            }
        }
    }
}

/// A condition: the variables that a row has, what is to hold, and how it is to be looked at.
fn condition(menu: &'static Menu, value: &Expr, out: &mut String) {
    for name in columns(menu) {
        out.push('$');
        out.push_str(name);
        out.push(';');
    }
    expr(value, Look::Any, out);
    out.push_str(";5");
}

/// What a condition may name, in RouterOS's order.
fn columns(menu: &'static Menu) -> impl Iterator<Item = &'static str> {
    const LAST: [&str; 2] = ["disabled", "comment"];
    let properties = menu.properties().map(|property| property.name);
    let flags = menu.flags.iter().map(|flag| flag.name);
    let first = properties.chain(flags).filter(|name| !LAST.contains(name));
    let has = move |name: &&str| {
        menu.property(name).is_some() || menu.flags.iter().any(|flag| flag.name == *name)
    };
    let last = LAST.into_iter().filter(has);
    first
        .chain(last)
        .chain([".id", ".nextid", ".dead", ".about"])
}

fn expr(value: &Expr, look: Look, out: &mut String) {
    match &value.node {
        Node::Word(text) => word(text, look, out),
        Node::Text(text) if matches!(look, Look::Names) => {
            out.push('$');
            out.push_str(text);
        }
        Node::Text(text) => out.push_str(text),
        Node::Joined(parts) => match &parts[..] {
            [single] => expr(single, Look::Any, out),
            parts => prefixed(".", parts.iter(), out),
        },
        Node::Variable(names) => {
            for (index, name) in names.split(',').enumerate() {
                out.push_str(if index > 0 { ";$" } else { "$" });
                out.push_str(name);
            }
        }
        Node::Property(name) => {
            out.push('$');
            out.push_str(name);
        }
        Node::Brackets(block) => evaluated(block, out),
        Node::Code(block) => {
            out.push(';');
            evaluated(block, out);
        }
        Node::Array(elements) => array(elements, out),
        Node::Group(inner) => expr(inner, Look::Any, out),
        Node::Unary(operator, inner) => prefixed(unary(*operator), [&**inner].into_iter(), out),
        Node::Binary(operator, left, right) => {
            let mut operands = Vec::new();
            // What stands in a row with one operator is one operation, where order is all.
            if operator.is_associative() {
                flatten(*operator, left, &mut operands);
                flatten(*operator, right, &mut operands);
            } else {
                operands.extend([&**left, &**right]);
            }
            prefixed(binary(*operator), operands.into_iter(), out);
        }
        Node::Call(function, arguments) => {
            out.push_str("(<%% ");
            expr(function, Look::Any, out);
            out.push(' ');
            let named = matches!(function.node, Node::Variable(_));
            if named {
                prefixed(">", [&**function].into_iter(), out);
            }
            call_arguments(arguments, named, out);
            out.push(')');
        }
    }
}

/// The operands of an operator for which parentheses tell nothing, in order.
fn flatten<'e>(operator: Binary, value: &'e Expr, operands: &mut Vec<&'e Expr>) {
    match &value.node {
        Node::Binary(own, left, right) if *own == operator => {
            flatten(operator, left, operands);
            flatten(operator, right, operands);
        }
        Node::Joined(parts) if operator == Binary::Concat => operands.extend(parts),
        _ => operands.push(value),
    }
}

/// `(operator operand …)`
fn prefixed<'e>(operator: &str, operands: impl Iterator<Item = &'e Expr>, out: &mut String) {
    out.push('(');
    out.push_str(operator);
    for operand in operands {
        out.push(' ');
        expr(operand, Look::Any, out);
    }
    out.push(')');
}

/// Elements without keys, then those with keys by their keys.
fn array(elements: &[(Option<Expr>, Expr)], out: &mut String) {
    let mut keyed = std::collections::BTreeMap::new();
    let mut more = false;
    for (key, value) in elements {
        let mut text = String::new();
        let Some(key) = key else {
            out.push_str(if std::mem::replace(&mut more, true) {
                ";"
            } else {
                ""
            });
            expr(value, Look::Any, out);
            continue;
        };
        expr(key, Look::Any, &mut text);
        keyed.insert(text, value);
    }
    for (key, value) in keyed {
        out.push_str(if std::mem::replace(&mut more, true) {
            ";"
        } else {
            ""
        });
        out.push_str(&key);
        out.push('=');
        expr(value, Look::Any, out);
    }
}

const fn unary(operator: Unary) -> &'static str {
    match operator {
        Unary::Not => "!",
        Unary::Minus => "-",
        Unary::Complement => "~",
        Unary::Any => "any",
        Unary::Quote => ">",
    }
}

const fn binary(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Subtract => "-",
        Binary::Multiply => "*",
        Binary::Divide => "/",
        Binary::Modulo => "%",
        Binary::Equal => "=",
        Binary::Unequal => "!=",
        Binary::Less => "<",
        Binary::Greater => ">",
        Binary::AtMost => "<=",
        Binary::AtLeast => ">=",
        Binary::And => "and",
        Binary::Both => " ",
        Binary::Or => "or",
        Binary::Match => "~",
        Binary::In => "in",
        Binary::BitAnd => "&",
        Binary::BitOr => "|",
        Binary::BitXor => "^",
        Binary::ShiftLeft => "<<",
        Binary::ShiftRight => ">>",
        Binary::Concat => ".",
        Binary::Comma => ",",
        Binary::Index => "->",
    }
}
