//! From text to statements: a recursive descent that knows the menus, because the language does not
//! tell a word from a command without them.
//!
//! Words are read where they are expected; there is no separate pass of tokens, since what a
//! character means depends on what may stand there. `expr.rs` reads values.

use std::sync::Arc;

use menu::{Menu, Position, Reason, Refusal};

use crate::ast::{Bad, Block, Command, Node, Place, Statement, Target, What};
use crate::builtin::{self, Takes};
use crate::highlight::Class;
use crate::source::Source;
use crate::spec::{self, Parameter};
use crate::tree::{Step, Tree};

/// Deepest nesting of braces, brackets and parentheses.
const DEPTH: usize = 100;

/// Commands that menus have in RouterOS: a line that ends with one of them runs something.
const VERBS: &[&str] = &[
    "add",
    "set",
    "remove",
    "print",
    "export",
    "find",
    "get",
    "enable",
    "disable",
    "comment",
    "move",
    "edit",
    "reset",
    "unset",
    "monitor",
    "flush",
    "run",
    "reboot",
    "shutdown",
    "reset-counters",
    "reset-configuration",
    "scan",
    "upgrade",
    "install",
    "download",
    "check-for-updates",
    "renew",
    "release",
    "import",
    "send",
    "save",
    "load",
    "fetch",
    "beep",
    "quit",
    "generate",
    "sign",
    "reset-mac-address",
    "power-reset",
    "torch",
    "cancel",
    "backup",
    "blink",
    "undo",
    "redo",
    "password",
    "traceroute",
    "resolve",
];

pub(crate) struct Parser<'a> {
    pub(crate) source: &'a Source,
    pub(crate) tree: &'a Tree,
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    /// Where the commands that follow are looked up.
    pub(crate) node: usize,
    /// The unknown menu that was entered in place of one.
    pub(crate) lost: Option<Bad>,
    /// The menu whose rows a condition looks at.
    pub(crate) row: Option<&'static Menu>,
    /// What the pieces of the text are, for colours.
    pub(crate) classes: Vec<(usize, usize, Class)>,
    /// What could stand where the text ends, for completion.
    pub(crate) expected: Option<Expected>,
    depth: usize,
}

/// What could stand where the text ends.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// A word of a path or a command, from a place.
    Word(usize, usize),
    /// An argument of a command, with those that stand already.
    Argument(usize, Vec<Parameter>, Vec<String>),
    /// A value of an argument.
    Value(usize, Parameter),
    /// A property in a condition.
    Condition(usize, &'static Menu),
    /// A variable's name.
    Variable(usize),
}

impl<'a> Parser<'a> {
    pub(crate) fn new(source: &'a Source, tree: &'a Tree, node: usize) -> Self {
        let bytes = source.text.as_bytes();
        Self {
            source,
            tree,
            bytes,
            at: 0,
            node,
            lost: None,
            row: None,
            classes: Vec::new(),
            expected: None,
            depth: 0,
        }
    }

    /// Reads all statements.
    pub(crate) fn program(&mut self) -> Result<Block, Refusal> {
        self.block(None)
    }

    /// Reads one statement of the text's top and says where it began; `None` at the text's end.
    pub(crate) fn next(&mut self) -> Option<(usize, Result<Statement, Refusal>)> {
        self.skip_separators();
        (self.at < self.bytes.len()).then(|| (self.at, self.statement()))
    }

    /// Goes to the beginning of the next line that is not a continuation.
    pub(crate) fn skip_line(&mut self) {
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\n' => break,
                _ => {}
            }
        }
        self.at = self.at.min(self.bytes.len());
    }

    pub(crate) fn position(&self, offset: usize) -> Position {
        self.source.position(offset)
    }

    pub(crate) fn refuse<T>(&self, reason: Reason, offset: usize) -> Result<T, Refusal> {
        Err(reason.at(self.position(offset)))
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(crate) fn looking_at(&self, text: &str) -> bool {
        self.bytes[self.at..].starts_with(text.as_bytes())
    }

    pub(crate) fn mark(&mut self, from: usize, class: Class) {
        if self.at > from {
            self.classes.push((from, self.at, class));
        }
    }

    /// One level deeper; refuses what nests without end.
    pub(crate) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.depth >= DEPTH {
            return self.refuse(Reason::Limit("nesting"), self.at);
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Reads the statements up to a closing byte, or to the end of the text.
    pub(crate) fn block(&mut self, close: Option<u8>) -> Result<Block, Refusal> {
        let mut block = Block::default();
        loop {
            self.skip_separators();
            match (self.peek(), close) {
                (None, None) => return Ok(block),
                (None, Some(_)) => return self.refuse(Reason::MissingClosing("brace"), self.at),
                (Some(byte), Some(close)) if byte == close => {
                    self.at += 1;
                    self.mark(self.at - 1, Class::Syntax);
                    return Ok(block);
                }
                _ => block.statements.push(self.statement()?),
            }
        }
    }

    /// Reads code in braces; the menu that is entered within is left again.
    pub(crate) fn braces(&mut self) -> Result<Arc<Block>, Refusal> {
        let (node, lost, row) = (self.node, self.lost.clone(), self.row.take());
        self.at += 1;
        self.mark(self.at - 1, Class::Syntax);
        let block = self.nested(|parser| parser.block(Some(b'}')));
        (self.node, self.lost, self.row) = (node, lost, row);
        block.map(Arc::new)
    }

    /// Reads commands in brackets.
    pub(crate) fn brackets(&mut self) -> Result<Arc<Block>, Refusal> {
        let (node, lost, row) = (self.node, self.lost.clone(), self.row.take());
        self.at += 1;
        self.mark(self.at - 1, Class::Syntax);
        let block = self.nested(|parser| parser.block(Some(b']')));
        (self.node, self.lost, self.row) = (node, lost, row);
        block.map(Arc::new)
    }

    fn statement(&mut self) -> Result<Statement, Refusal> {
        let start = self.at;
        let what = self.statement_body()?;
        self.skip_spaces();
        if !self.at_end() {
            let reason = if matches!(what, What::Bad(_)) {
                Reason::Syntax
            } else {
                Reason::ExpectedEnd
            };
            return self.refuse(reason, self.at);
        }
        Ok(Statement {
            at: self.position(start),
            what,
            span: (start, self.at),
        })
    }

    fn statement_body(&mut self) -> Result<What, Refusal> {
        match self.peek() {
            Some(b'{') => Ok(What::Scope(None, self.braces()?)),
            Some(b':') => {
                self.at += 1;
                self.global()
            }
            Some(b'/') => {
                self.at += 1;
                self.path(0, true)
            }
            Some(b'$') => {
                let function = self.variable()?;
                Ok(What::Call(self.call(function)?))
            }
            Some(b'[' | b'(') => {
                let value = self.value()?;
                self.skip_spaces();
                // `($functions->"name") argument` calls what the parentheses give.
                let whole = self.at_end() || matches!(value.node, Node::Brackets(_));
                Ok(if whole {
                    What::Value(value)
                } else {
                    What::Call(self.call(value)?)
                })
            }
            Some(b'.') if self.looking_at("..") => self.path(self.node, false),
            // Names of commands have no capitals.
            Some(byte) if is_word(byte) && !byte.is_ascii_uppercase() => self.relative(),
            _ => {
                self.expected
                    .get_or_insert(Expected::Word(self.at, self.node));
                self.refuse(Reason::ExpectedCommand, self.at)
            }
        }
    }

    /// A command of the language, after its colon.
    fn global(&mut self) -> Result<What, Refusal> {
        let start = self.at;
        let word = self.word();
        if self.at == self.bytes.len() {
            self.expected = Some(Expected::Word(start, 0));
        }
        if word.is_empty() {
            return self.refuse(Reason::ExpectedCommand, start);
        }
        match builtin::find(word) {
            Some(builtin) => {
                self.mark(start - 1, Class::Command);
                let arguments = self.arguments(&spec::of_builtin(builtin), None)?;
                let at = self.position(start);
                Ok(What::Run(Command {
                    at,
                    target: Target::Builtin(builtin),
                    arguments,
                }))
            }
            // `:log info` and `:ip address` are paths from the root.
            None => {
                self.at = start;
                self.path(0, true)
            }
        }
    }

    /// A statement that begins with a word, in the menu that was entered.
    fn relative(&mut self) -> Result<What, Refusal> {
        let Some(lost) = self.lost.clone() else {
            return self.path(self.node, false);
        };
        let start = self.at;
        let word = self.word();
        // `set` and `find` are of the menu that is not known.
        let known = builtin::ALL.iter().any(|builtin| builtin.name == word);
        self.at = start;
        if known && !VERBS.contains(&word) {
            return self.path(0, false);
        }
        self.word();
        self.rest_of_bad(&lost, start, false)
    }

    /// A path and what follows it.
    fn path(&mut self, from: usize, absolute: bool) -> Result<What, Refusal> {
        let mut node = from;
        let mut moved = absolute;
        loop {
            if !(self.at == 0 || self.bytes[self.at - 1] == b'/') {
                self.skip_spaces();
            }
            if self.at_end() {
                if self.at == self.bytes.len() {
                    self.expected.get_or_insert(Expected::Word(self.at, node));
                }
                self.enter(node);
                return Ok(What::Enter(self.place(node)));
            }
            if self.peek() == Some(b'{') && moved {
                return self.scope_at(node);
            }
            let start = self.at;
            if self.looking_at("..") {
                self.at += 2;
                node = self.tree.nodes[node].parent;
                moved = true;
                self.skip_slash();
                continue;
            }
            let word = self.word();
            if self.at == self.bytes.len() {
                self.expected = Some(Expected::Word(start, node));
            }
            if word.is_empty() {
                return self.refuse(Reason::ExpectedCommand, self.at);
            }
            match self.tree.step(node, word) {
                Some(Step::Node(next)) => {
                    self.mark(start, Class::Menu);
                    node = next;
                    moved = true;
                    self.skip_slash();
                }
                Some(Step::Command(name)) => {
                    self.mark(start, Class::Command);
                    return self.command(node, name, start);
                }
                None => return self.unknown(node, from, word, start),
            }
        }
    }

    fn scope_at(&mut self, node: usize) -> Result<What, Refusal> {
        let (old, lost) = (std::mem::replace(&mut self.node, node), self.lost.take());
        let block = self.braces();
        (self.node, self.lost) = (old, lost);
        Ok(What::Scope(Some(self.place(node)), block?))
    }

    fn command(&mut self, node: usize, name: &'static str, start: usize) -> Result<What, Refusal> {
        let at = self.position(start);
        let Some(menu) = self.tree.has(node, name) else {
            let arguments = self.arguments(&spec::export(), None)?;
            let target = Target::Export(self.tree.nodes[node].path);
            return Ok(What::Run(Command {
                at,
                target,
                arguments,
            }));
        };
        let parameters = spec::of_menu(menu, name);
        // `[find]` among the arguments is of the command's menu.
        let (outer, lost) = (std::mem::replace(&mut self.node, node), self.lost.take());
        let arguments = if name == "find" {
            self.condition_argument(menu)
        } else {
            self.arguments(&parameters, Some(menu))
        };
        (self.node, self.lost) = (outer, lost);
        Ok(What::Run(Command {
            at,
            target: Target::Menu(menu, name),
            arguments: arguments?,
        }))
    }

    /// A word that is neither menu nor command at its place.
    fn unknown(
        &mut self,
        node: usize,
        from: usize,
        word: &str,
        start: usize,
    ) -> Result<What, Refusal> {
        // Commands of the language need no colon where no menu has a word like theirs.
        if node == from
            && let Some(builtin) = builtin::find(word)
        {
            self.mark(start, Class::Command);
            let arguments = self.arguments(&spec::of_builtin(builtin), None)?;
            let at = self.position(start);
            return Ok(What::Run(Command {
                at,
                target: Target::Builtin(builtin),
                arguments,
            }));
        }
        let bad = Bad {
            name: word.to_owned(),
            at: self.position(start),
            enters: false,
            code: Vec::new(),
        };
        self.rest_of_bad(&bad, start, true)
    }

    /// Reads what follows a word that names nothing: words and values, whatever they are.
    fn rest_of_bad(&mut self, bad: &Bad, start: usize, path: bool) -> Result<What, Refusal> {
        self.mark(start, Class::Error);
        // `[find]` among them is of the menu that is not known.
        let outer = self.lost.replace(bad.clone());
        let mut code = Vec::new();
        let enters = self.words_of_bad(bad, path, &mut code);
        self.lost = outer;
        let bad = Bad {
            enters: enters?,
            code,
            ..bad.clone()
        };
        if bad.enters && bad.code.is_empty() {
            self.lost = Some(bad.clone());
        }
        Ok(What::Bad(bad))
    }

    /// The words after one that names nothing; whether all is a path to enter.
    fn words_of_bad(
        &mut self,
        bad: &Bad,
        path: bool,
        code: &mut Vec<Arc<Block>>,
    ) -> Result<bool, Refusal> {
        let mut plain = path;
        let mut last = bad.name.clone();
        loop {
            // Words of a path follow each other by a slash.
            if self.peek() == Some(b'/') && plain {
                self.at += 1;
            } else {
                let spaces = self.at;
                self.skip_spaces();
                if self.at_end() {
                    break;
                }
                if self.at == spaces {
                    return self.refuse(Reason::Syntax, self.at);
                }
            }
            let begin = self.at;
            let word = self.word().to_owned();
            let apart = self.at_end() || self.at_space() || self.peek() == Some(b'/');
            let scope = plain && self.peek() == Some(b'{');
            if word.is_empty() && scope {
                code.push(self.braces()?);
            } else if word.is_empty() || !apart || !plain {
                plain = false;
                self.at = begin;
                code.extend(self.bad_argument()?);
            } else {
                last = word;
            }
        }
        Ok(plain && path && !VERBS.contains(&last.as_str()))
    }

    /// An argument of a command that is not known: `name=value` or a value.
    fn bad_argument(&mut self) -> Result<Option<Arc<Block>>, Refusal> {
        let start = self.at;
        if self.peek() == Some(b'{') {
            return self.braces().map(Some);
        }
        if self.peek() == Some(b'!') {
            self.at += 1;
        }
        let name = self.name();
        let operators = ["=", "~", "!=", "<=", ">=", "<", ">"];
        let operator = operators.into_iter().find(|text| self.looking_at(text));
        if let Some(operator) = operator.filter(|_| !name.is_empty()) {
            self.at += operator.len();
            let code = ["do", "else", "on-error", "command"].contains(&name);
            let takes = if code && operator == "=" {
                Takes::Code
            } else {
                Takes::Value
            };
            return Ok(match self.argument_value(takes)?.node {
                Node::Code(code) => Some(code),
                _ => None,
            });
        }
        self.at = start;
        self.argument_value(Takes::Value)?;
        if self.at == start {
            return self.refuse(Reason::Syntax, self.at);
        }
        Ok(None)
    }

    fn place(&self, node: usize) -> Place {
        Place {
            path: self.tree.nodes[node].path.to_owned(),
        }
    }

    fn enter(&mut self, node: usize) {
        self.node = node;
        self.lost = None;
    }

    /// Letters, digits and what joins them in names.
    pub(crate) fn word(&mut self) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
        &self.text()[start..self.at]
    }

    /// The name of an argument: a word, with dots between those of a group.
    pub(crate) fn name(&mut self) -> &'a str {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| is_word(byte) || byte == b'.')
        {
            self.at += 1;
        }
        &self.text()[start..self.at]
    }

    fn text(&self) -> &'a str {
        &self.source.text
    }

    fn skip_slash(&mut self) {
        if self.peek() == Some(b'/') {
            self.at += 1;
        }
    }

    /// Whether the statement ends here.
    pub(crate) fn at_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b';' | b'}' | b']'))
    }

    pub(crate) fn at_space(&self) -> bool {
        matches!(self.peek(), Some(b' ' | b'\t')) || self.continuation() > 0
    }

    /// The length of a continuation: a backslash at the end of a line.
    pub(crate) fn continuation(&self) -> usize {
        match &self.bytes[self.at..] {
            [b'\\', b'\n', ..] => 2,
            _ => 0,
        }
    }

    /// Skips spaces and continuations.
    pub(crate) fn skip_spaces(&mut self) {
        while self.at_space() {
            self.at += self.continuation().max(1);
        }
    }

    /// Skips what stands between statements: spaces, line ends, semicolons, comments.
    fn skip_separators(&mut self) {
        loop {
            self.skip_spaces();
            match self.peek() {
                Some(b'\n' | b';') => self.at += 1,
                Some(b'#') => {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                    self.mark(start, Class::Comment);
                }
                _ => return,
            }
        }
    }
}

/// Whether a statement is but a path: it enters a menu and runs nothing.
pub(crate) fn is_path(statement: &str) -> bool {
    let plain = |byte: u8| is_word(byte) || matches!(byte, b'/' | b' ');
    let mut words = statement.split(['/', ' ']).filter(|word| !word.is_empty());
    statement.starts_with('/')
        && statement.bytes().all(plain)
        && words.next_back().is_none_or(|last| !VERBS.contains(&last))
}

pub(crate) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
