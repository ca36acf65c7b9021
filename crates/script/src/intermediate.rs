//! The intermediate form of code, as RouterOS prints it for `:put [:parse …]`.
//!
//! A command is `(evl /path/nameargument=value;…)` with its arguments sorted by name, an expression is its
//! operator before its operands, a call is `(<%% function arguments)`. Statements of a text are separated by
//! `;`, those in braces by a space. A line without a command prints the current menu.

use std::collections::BTreeMap;

use menu::{Family, Kind, Menu};

use crate::ast::{
    Argument, Binary, Block, Command, Expr, Node, Statement, StatementKind, Target, Unary,
    UnknownWord,
};
use crate::builtin::ArgumentKind;
use crate::intermediate_word::{WordInterpretation, word};

/// Maximum bytes of output. A bare name repeats the previous value, which may be nested, so the output can grow
/// exponentially.
const LIMIT: usize = 64 << 20;

/// Returns the intermediate form of a whole text; `None` if it is too long.
pub(crate) fn program(block: &Block) -> Option<String> {
    let mut form = Form::default();
    form.statements(block, ";");
    form.finish()
}

/// Returns the intermediate form of a code value; `None` if it is too long.
pub(crate) fn code(block: &Block) -> Option<String> {
    let mut form = Form::default();
    form.put(";");
    form.evaluated(block);
    form.finish()
}

/// Returns the intermediate form of an expression value; `None` if it is too long.
pub(crate) fn expression(value: &Expr) -> Option<String> {
    let mut form = Form::default();
    form.expr(value, WordInterpretation::Any);
    form.finish()
}

/// Arguments of a call.
type Arguments = [(Option<String>, Expr)];

/// The output under construction.
#[derive(Default)]
struct Form {
    text: String,
    /// Bytes written so far, including text that `aside` returned.
    spent: usize,
}

/// State while the statements of a block are written.
///
/// RouterOS: a statement in brackets becomes a call whose callee contains all statements before it.
struct List {
    /// Prefixes to insert before the whole list, innermost first.
    before: Vec<&'static str>,
    count: usize,
    /// Number of bracketed statements still to come.
    calls: usize,
    apart: &'static str,
}

/// Returns the block and the arguments of a statement that is a pair of brackets.
fn bracketed(statement: &Statement) -> Option<(&Block, &Arguments)> {
    match &statement.what {
        StatementKind::Value(Expr {
            node: Node::Brackets(block),
            ..
        }) => Some((block, &[])),
        StatementKind::Call(Expr {
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

impl Form {
    fn finish(self) -> Option<String> {
        (self.spent <= LIMIT).then_some(self.text)
    }

    fn put(&mut self, text: &str) {
        self.spent = self.spent.saturating_add(text.len());
        if self.spent <= LIMIT {
            self.text.push_str(text);
        }
    }

    /// Runs `write` and returns its output instead of appending it.
    fn aside(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let text = std::mem::take(&mut self.text);
        write(self);
        std::mem::replace(&mut self.text, text)
    }

    fn statements(&mut self, block: &Block, apart: &'static str) {
        let mut list = List {
            before: Vec::new(),
            count: 0,
            calls: calls(block),
            apart,
        };
        if list.calls == 0 {
            self.list(block, &mut list);
            return;
        }
        let text = self.aside(|form| form.list(block, &mut list));
        for before in list.before.iter().rev() {
            self.put(before);
        }
        self.put(&text);
    }

    fn list(&mut self, block: &Block, list: &mut List) {
        for statement in &block.statements {
            match bracketed(statement) {
                Some((inner, arguments)) => self.called(inner, arguments, list),
                None => {
                    if list.count > 0 {
                        self.put(if list.calls > 0 { ";" } else { list.apart });
                    }
                    list.count += 1;
                    self.what(&statement.what);
                }
            }
        }
    }

    fn called(&mut self, inner: &Block, arguments: &Arguments, list: &mut List) {
        self.list(inner, list);
        list.calls = list.calls.saturating_sub(1);
        if list.count > 1 {
            list.before.push("(<%% (evl ");
            self.put(")");
        } else {
            list.before.push("(<%% ");
        }
        self.put(" ");
        self.arguments(arguments, false);
        self.put(")");
        list.count = 1;
    }

    fn what(&mut self, what: &StatementKind) {
        match what {
            StatementKind::Empty(place) | StatementKind::Enter(place) => {
                self.put(&place.path);
                if place.path != "/" {
                    self.put("/");
                }
            }
            StatementKind::Run(run) => self.command(run),
            StatementKind::Scope(_, block) => self.evaluated(block),
            StatementKind::UnknownWord(bad) => self.refused(bad),
            StatementKind::Call(call) => self.expr(call, WordInterpretation::Any),
            StatementKind::Value(value) => {
                self.put("(<%% ");
                self.expr(value, WordInterpretation::Any);
                self.put(" )");
            }
        }
    }

    /// `(evl …)`
    fn evaluated(&mut self, block: &Block) {
        self.put("(evl ");
        self.statements(block, " ");
        self.put(")");
    }

    fn refused(&mut self, bad: &UnknownWord) {
        self.put(&format!("(<%% bad command name {} {} ", bad.name, bad.at));
        self.put(&bad.name);
        self.arguments(&bad.arguments, true);
        self.put(")");
    }

    /// Writes call arguments: first those without names in source order, then the named ones sorted by name.
    fn arguments(&mut self, arguments: &Arguments, mut more: bool) {
        let mut named: Vec<_> = arguments
            .iter()
            .filter(|(name, _)| name.is_some())
            .collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        let unnamed = arguments.iter().filter(|(name, _)| name.is_none());
        for (name, value) in unnamed.chain(named) {
            if std::mem::replace(&mut more, true) {
                self.put(";");
            }
            if let Some(name) = name {
                self.put(name);
                self.put("=");
            }
            self.expr(value, WordInterpretation::Text);
        }
    }

    fn command(&mut self, command: &Command) {
        self.put("(evl ");
        let (path, name) = match command.target {
            Target::Menu(menu, name) => (menu.path, name),
            Target::Export("/") => ("", "export"),
            Target::Export(path) => (path, "export"),
            Target::Builtin(builtin) => ("", builtin.name),
        };
        self.put(path);
        self.put("/");
        self.put(name);
        let mut all: BTreeMap<&str, String> = BTreeMap::new();
        // RouterOS: a bare name has the value of the argument before it.
        let mut last = None;
        for argument in &command.arguments {
            if matches!(&argument.value, Some(value) if is_nothing(value)) {
                continue;
            }
            let text = match &argument.value {
                Some(value) => self.aside(|form| form.value_of(command, argument, value)),
                None if argument.negated => "!".to_owned(),
                None => last
                    .and_then(|last| all.get(last).cloned())
                    .unwrap_or_else(|| "true".to_owned()),
            };
            if argument.value.is_some() {
                last = Some(argument.name.as_str());
            }
            all.insert(argument.name.as_str(), text);
        }
        for (index, (name, value)) in all.iter().enumerate() {
            if index > 0 {
                self.put(";");
            }
            self.put(name);
            self.put("=");
            self.put(value);
        }
        self.put(")");
    }

    fn value_of(&mut self, command: &Command, argument: &Argument, value: &Expr) {
        match (argument.name.as_str(), command.target) {
            ("where", Target::Menu(menu, _)) => self.condition(menu, value),
            _ => self.expr(value, look(command, argument)),
        }
    }

    /// Writes a condition: the variables that a row has, the expression, and RouterOS's marker 5.
    fn condition(&mut self, menu: &'static Menu, value: &Expr) {
        for name in columns(menu) {
            self.put("$");
            self.put(name);
            self.put(";");
        }
        self.expr(value, WordInterpretation::Any);
        self.put(";5");
    }

    fn expr(&mut self, value: &Expr, look: WordInterpretation) {
        match &value.node {
            Node::Word(text) => self.put(&word(text, look)),
            Node::Text(text) => {
                if matches!(look, WordInterpretation::Names) {
                    self.put("$");
                }
                self.put(text);
            }
            Node::Joined(parts) => match &parts[..] {
                [single] => self.expr(single, WordInterpretation::Any),
                parts => self.operation(".", parts.iter()),
            },
            Node::Variable(names) => {
                for (index, name) in names.split(',').enumerate() {
                    self.put(if index > 0 { ";$" } else { "$" });
                    self.put(name);
                }
            }
            Node::Property(name) => {
                self.put("$");
                self.put(name);
            }
            Node::Brackets(block) => self.evaluated(block),
            Node::Code(block) => {
                self.put(";");
                self.evaluated(block);
            }
            Node::Array(elements) => self.array(elements),
            Node::Group(inner) => self.expr(inner, WordInterpretation::Any),
            Node::Unary(operator, inner) => {
                self.operation(unary(*operator), [&**inner].into_iter());
            }
            Node::Binary(operator, left, right) => self.binary(*operator, left, right),
            Node::Call(function, arguments) => self.call(function, arguments),
        }
    }

    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) {
        let mut operands = Vec::new();
        // Flatten chains of one associative operator: only the order of the operands matters.
        if operator.is_associative() {
            flatten(operator, left, &mut operands);
            flatten(operator, right, &mut operands);
        } else {
            operands.extend([left, right]);
        }
        self.operation(binary(operator), operands.into_iter());
    }

    fn call(&mut self, function: &Expr, arguments: &Arguments) {
        self.put("(<%% ");
        self.expr(function, WordInterpretation::Any);
        self.put(" ");
        // RouterOS: the name of the called variable is passed as the first argument.
        let named = matches!(function.node, Node::Variable(_));
        if named {
            self.operation(">", [function].into_iter());
        }
        self.arguments(arguments, named);
        self.put(")");
    }

    /// `(operator operand …)`
    fn operation<'e>(&mut self, operator: &str, operands: impl Iterator<Item = &'e Expr>) {
        self.put("(");
        self.put(operator);
        for operand in operands {
            self.put(" ");
            self.expr(operand, WordInterpretation::Any);
        }
        self.put(")");
    }

    /// Writes elements without keys, then those with keys sorted by key.
    fn array(&mut self, elements: &[(Option<Expr>, Expr)]) {
        let mut keyed = BTreeMap::new();
        let mut more = false;
        for (key, value) in elements {
            match key {
                Some(key) => {
                    let key = self.aside(|form| form.expr(key, WordInterpretation::Any));
                    keyed.insert(key, value);
                }
                None => {
                    if std::mem::replace(&mut more, true) {
                        self.put(";");
                    }
                    self.expr(value, WordInterpretation::Any);
                }
            }
        }
        for (key, value) in keyed {
            if std::mem::replace(&mut more, true) {
                self.put(";");
            }
            self.put(&key);
            self.put("=");
            self.expr(value, WordInterpretation::Any);
        }
    }
}

/// True if nothing follows the `=` of an argument.
fn is_nothing(value: &Expr) -> bool {
    matches!(&value.node, Node::Word(text) if text.is_empty())
}

/// Returns how to write bare words in an argument's value.
fn look(command: &Command, argument: &Argument) -> WordInterpretation {
    match command.target {
        Target::Menu(menu, name) => {
            let own = menu.commands.iter().find(|own| own.name == name);
            let taken = own.and_then(|own| own.arguments.iter().find(|a| a.name == argument.name));
            let kind = taken.map(|argument| &argument.kind);
            let kind = kind.or_else(|| menu.property(&argument.name).map(|p| &p.kind));
            match (menu.path, argument.name.as_str()) {
                // RouterOS: the property is a network, but is shown in the parts of an address.
                ("/ip/dhcp-server/network", "address") => {
                    WordInterpretation::Of(&Kind::Local(Family::V4))
                }
                (_, "duration" | "interval" | "freeze-frame-interval") if kind.is_none() => {
                    WordInterpretation::Of(&Kind::SPAN)
                }
                _ => kind.map_or(WordInterpretation::Text, WordInterpretation::Of),
            }
        }
        Target::Export(_) => WordInterpretation::Text,
        Target::Builtin(builtin) => {
            let parameter = builtin.parameters.iter().find(|p| p.name == argument.name);
            match parameter.map(|parameter| parameter.takes) {
                Some(ArgumentKind::Span) => WordInterpretation::Of(&Kind::SPAN),
                Some(ArgumentKind::Text) => WordInterpretation::Text,
                Some(ArgumentKind::Name) => WordInterpretation::Names,
                _ => WordInterpretation::Any,
            }
        }
    }
}

/// Returns the variables of a condition, in RouterOS's order.
fn columns(menu: &'static Menu) -> Vec<&'static str> {
    const LAST: [&str; 2] = ["disabled", "comment"];
    const ALWAYS: [&str; 4] = [".id", ".nextid", ".dead", ".about"];
    if !menu.conditions.is_empty() {
        return [menu.conditions, &ALWAYS].concat();
    }
    let all: Vec<_> = menu
        .properties()
        .map(|property| property.name)
        .chain(menu.flags.iter().map(|flag| flag.name))
        .collect();
    let last = LAST.into_iter().filter(|name| all.contains(name));
    let first = all.iter().copied().filter(|name| !LAST.contains(name));
    first.chain(last).chain(ALWAYS).collect()
}

/// Collects the operands of a chain of one associative operator, in order.
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
        Binary::Call => "<%%",
    }
}
