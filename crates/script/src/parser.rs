//! Recursive-descent parser. It needs the menu tree, because only the menus tell whether a word is a path or a
//! command.
//!
//! There is no separate lexer: the meaning of a character depends on what may stand at its position.
//! `arguments.rs` parses command arguments, `expr.rs` and `text.rs` parse values, `unknown_words.rs` parses unknown
//! menus and commands.

use std::sync::Arc;

use menu::{Menu, Position, Reason, Refusal};

use crate::ast::{
    Block, Command, Expr, MenuPath, Node, Statement, StatementKind, Target, UnknownWord,
};
use crate::builtin::{self, Builtin};
use crate::declared_variables::Names;
use crate::highlight::Class;
use crate::source::Source;
use crate::spec::{self, Parameter};
use crate::tree::{Step, Tree};

/// Maximum nesting of braces, brackets and parentheses.
const DEPTH: usize = 100;

/// Maximum height of the expression tree. A long chain of operators makes a high tree without nesting.
const HEIGHT: usize = 400;

pub(crate) struct Parser<'a> {
    pub(crate) source: &'a Source,
    pub(crate) tree: &'a Tree,
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    /// The node of the menu tree where commands are looked up.
    pub(crate) node: usize,
    /// The unknown menu that was entered, if any.
    pub(crate) lost: Option<UnknownWord>,
    /// True to treat unknown menus as RouterOS does, which does not enter them.
    pub(crate) exact: bool,
    /// The menu whose rows the current condition applies to.
    pub(crate) row: Option<&'static Menu>,
    /// The declared variables.
    pub(crate) names: Names,
    /// The class of each piece of text, for highlighting.
    pub(crate) classes: Vec<(usize, usize, Class)>,
    /// Literal argument values: start and end byte, and the parameter.
    pub(crate) constants: Vec<(usize, usize, Parameter)>,
    /// What may follow at the end of the text, for completion.
    pub(crate) expected: Option<Expected>,
    /// The byte that closes the current block.
    close: Option<u8>,
    /// True if the current path began with a colon.
    colon: bool,
    depth: usize,
    /// Height of the expression tree that was parsed last.
    pub(crate) height: usize,
    started: bool,
}

/// What may follow at the end of the text. The first field is the byte offset where it begins.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// A word of a path or a command, in this node of the menu tree.
    Word(usize, usize),
    /// An argument: the parameters of the command, and the names already given.
    Argument(usize, Vec<Parameter>, Vec<String>),
    /// A value of this parameter.
    Value(usize, Parameter),
    /// A property in a condition on rows of this menu.
    Condition(usize, &'static Menu),
    /// The name of a variable.
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
            exact: false,
            row: None,
            names: Names::default(),
            classes: Vec::new(),
            constants: Vec::new(),
            expected: None,
            close: None,
            colon: false,
            depth: 0,
            height: 0,
            started: false,
        }
    }

    /// Parses all statements.
    pub(crate) fn program(&mut self) -> Result<Block, Refusal> {
        self.block(None, Reason::Syntax)
    }

    /// Parses one top-level statement. Returns its start offset and the result; `None` at the end of the text.
    pub(crate) fn next(&mut self) -> Option<(usize, Result<Statement, Refusal>)> {
        if std::mem::replace(&mut self.started, true) {
            self.skip_separators();
            if self.at >= self.bytes.len() {
                return None;
            }
        }
        // A refused statement may have left brackets open: start from the top level.
        (self.close, self.depth) = (None, 0);
        self.names.close_all();
        self.skip_comments();
        Some((self.at, self.statement()))
    }

    /// Goes to the beginning of the next line that is not a continuation.
    pub(crate) fn skip_line(&mut self) {
        while let Some(byte) = self.peek() {
            self.at += self.continuation().max(1);
            match byte {
                b'\\' if self.peek() == Some(b'\\') => self.at += 1,
                b'\n' => break,
                _ => {}
            }
        }
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

    /// Runs `inner` one nesting level deeper.
    ///
    /// # Errors
    /// The nesting exceeds its limit.
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

    /// Returns the maximum of `so_far` and the height of the tree parsed last.
    pub(crate) fn tallest(&mut self, so_far: usize) -> usize {
        so_far.max(std::mem::take(&mut self.height))
    }

    /// Returns the height of a node above the tree parsed last and trees of height `so_far`.
    ///
    /// # Errors
    /// The tree exceeds its maximum height.
    pub(crate) fn higher(&mut self, so_far: usize) -> Result<usize, Refusal> {
        let height = self.tallest(so_far) + 1;
        if height > HEIGHT {
            return self.refuse(Reason::Limit("nesting"), self.at);
        }
        Ok(height)
    }

    /// Parses the statements up to a closing byte, or to the end of the text.
    ///
    /// The result always has at least one statement, which may be empty.
    fn block(&mut self, close: Option<u8>, missing: Reason) -> Result<Block, Refusal> {
        let outer = std::mem::replace(&mut self.close, close);
        self.names.open();
        let mut block = Block::default();
        let mut tallest = 0;
        loop {
            self.skip_comments();
            self.height = 0;
            block.statements.push(self.statement()?);
            tallest = self.tallest(tallest);
            self.skip_separators();
            match (self.peek(), close) {
                (None, None) => break,
                (None, Some(_)) => return self.refuse(missing, self.at),
                (Some(byte), Some(close)) if byte == close => {
                    self.at += 1;
                    self.mark(self.at - 1, Class::Syntax);
                    break;
                }
                _ => {}
            }
        }
        self.names.close();
        self.close = outer;
        self.height = tallest + 1;
        Ok(block)
    }

    /// Parses statements in braces or brackets. The current menu is restored afterwards.
    fn enclosed(&mut self, close: u8, missing: Reason) -> Result<Arc<Block>, Refusal> {
        let (node, lost, row) = (self.node, self.lost.clone(), self.row.take());
        self.at += 1;
        self.mark(self.at - 1, Class::Syntax);
        let block = self.nested(|parser| parser.block(Some(close), missing));
        (self.node, self.lost, self.row) = (node, lost, row);
        block.map(Arc::new)
    }

    /// Parses code in braces.
    pub(crate) fn braces(&mut self) -> Result<Arc<Block>, Refusal> {
        self.enclosed(b'}', Reason::ExpectedClosing("brace"))
    }

    /// Parses commands in brackets.
    pub(crate) fn brackets(&mut self) -> Result<Arc<Block>, Refusal> {
        self.enclosed(b']', Reason::ExpectedClosing("bracket"))
    }

    /// Parses a scope: braces in the position of a statement.
    pub(crate) fn scope(&mut self) -> Result<Arc<Block>, Refusal> {
        self.enclosed(b'}', Reason::MissingClosing("brace"))
    }

    fn statement(&mut self) -> Result<Statement, Refusal> {
        let start = self.at;
        let what = self.statement_body()?;
        self.skip_spaces();
        if !self.at_end() {
            let reason = if matches!(what, StatementKind::UnknownWord(_)) {
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

    fn statement_body(&mut self) -> Result<StatementKind, Refusal> {
        match self.peek() {
            None => {
                self.expected
                    .get_or_insert(Expected::Word(self.at, self.node));
                Ok(StatementKind::Empty(self.place(self.node)))
            }
            Some(_) if self.at_end() => Ok(StatementKind::Empty(self.place(self.node))),
            Some(b'{') => Ok(StatementKind::Scope(None, self.scope()?)),
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
                Ok(StatementKind::Call(self.call(function)?))
            }
            Some(b'[' | b'(') => self.value_statement(),
            Some(b'.') if self.goes_up(self.node) => self.path(self.node, false),
            Some(byte) if is_command(byte) => self.relative(),
            _ => {
                self.expected
                    .get_or_insert(Expected::Word(self.at, self.node));
                self.refuse(Reason::ExpectedCommand, self.at)
            }
        }
    }

    /// Parses `[…]` or `(…)` as a statement. With arguments, the resulting value is called as a function.
    fn value_statement(&mut self) -> Result<StatementKind, Refusal> {
        let start = self.at;
        let mut value = self.value()?;
        if self.bytes.get(start) == Some(&b'(') {
            let at = value.at;
            value = Expr {
                at,
                node: Node::Group(Box::new(value)),
            };
        }
        let after = self.at;
        self.skip_spaces();
        if self.at_end() {
            return Ok(StatementKind::Value(value));
        }
        self.at = after;
        Ok(StatementKind::Call(self.call(value)?))
    }

    /// Parses a path from the root after a colon; built-in commands are there as well.
    fn global(&mut self) -> Result<StatementKind, Refusal> {
        let start = self.at;
        let word = self.command_word();
        if self.at == self.bytes.len() {
            self.expected = Some(Expected::Word(start, 0));
        }
        if word.is_empty() {
            return self.refuse(Reason::ExpectedCommand, start);
        }
        self.at = start;
        self.colon = true;
        let what = self.path(0, true);
        self.colon = false;
        what
    }

    fn builtin(
        &mut self,
        builtin: &'static Builtin,
        start: usize,
    ) -> Result<StatementKind, Refusal> {
        self.colon = false;
        self.mark(start, Class::Command);
        self.names.open();
        let arguments = self.arguments(&spec::of_builtin(builtin), None, Some(builtin));
        let declared = self.names.close();
        // `:for` and similar commands declare variables inside their scope, all other commands in the current
        // scope.
        if !matches!(builtin.name, "for" | "foreach" | "onerror") {
            declared.iter().for_each(|name| self.names.declare(name));
        }
        let at = self.position(start);
        Ok(StatementKind::Run(Command {
            at,
            target: Target::Builtin(builtin),
            arguments: arguments?,
        }))
    }

    /// Parses a statement that begins with a word, in the current menu.
    fn relative(&mut self) -> Result<StatementKind, Refusal> {
        match self.lost.clone() {
            Some(lost) => self.relative_to_lost(&lost),
            None => self.path(self.node, false),
        }
    }

    /// Parses a path and the command after it.
    pub(crate) fn path(&mut self, from: usize, absolute: bool) -> Result<StatementKind, Refusal> {
        let mut node = from;
        let mut moved = absolute;
        loop {
            self.skip_spaces();
            if self.at_end() {
                if self.at == self.bytes.len() {
                    self.expected.get_or_insert(Expected::Word(self.at, node));
                }
                self.enter(node);
                return Ok(StatementKind::Enter(self.place(node)));
            }
            if self.peek() == Some(b'{') && moved {
                return self.scope_at(node);
            }
            let start = self.at;
            if self.goes_up(node) {
                self.at += 2;
                node = self.tree.nodes[node].parent;
                moved = true;
                self.skip_slash();
                continue;
            }
            let word = self.command_word();
            if self.at == self.bytes.len() {
                self.expected = Some(Expected::Word(start, node));
            }
            if word.is_empty() {
                return self.refuse(Reason::ExpectedCommand, self.at);
            }
            match self.step(node, node == from, word) {
                WordMeaning::Node(next) => {
                    self.mark(start, Class::Menu);
                    node = next;
                    moved = true;
                    self.skip_slash();
                }
                WordMeaning::Command(name) => {
                    self.mark(start, Class::Command);
                    return self.command(node, name, start);
                }
                WordMeaning::Builtin(builtin) => return self.builtin(builtin, start),
                WordMeaning::Nothing => return self.unknown(word, start),
            }
        }
    }

    /// Looks up a word in a node of the menu tree. At the beginning of a path, built-in commands need no colon.
    fn step(&self, node: usize, begins: bool, word: &str) -> WordMeaning {
        let of_language = || builtin::find(word).filter(|_| begins);
        let exact = || of_language().filter(|builtin| builtin.name == word);
        if !self.tree.is_exact(node, word)
            && let Some(builtin) = exact()
        {
            return WordMeaning::Builtin(builtin);
        }
        let below = self.tree.step(node, word);
        if node == 0 && !self.tree.is_exact(0, word) {
            // At the root, menus and built-in commands share one name space: an abbreviation must be unique
            // among both.
            match (below, self.tree.begins(0, word), builtin::begins(word)) {
                (Some(_), _, false) => {}
                (None, false, true) => {
                    return of_language().map_or(WordMeaning::Nothing, WordMeaning::Builtin);
                }
                _ => return WordMeaning::Nothing,
            }
        }
        match below {
            Some(Step::Node(next)) => WordMeaning::Node(next),
            Some(Step::Command(name)) => WordMeaning::Command(name),
            None => of_language().map_or(WordMeaning::Nothing, WordMeaning::Builtin),
        }
    }

    fn scope_at(&mut self, node: usize) -> Result<StatementKind, Refusal> {
        self.colon = false;
        let (old, lost) = (std::mem::replace(&mut self.node, node), self.lost.take());
        let block = self.scope();
        (self.node, self.lost) = (old, lost);
        Ok(StatementKind::Scope(Some(self.place(node)), block?))
    }

    fn command(
        &mut self,
        node: usize,
        name: &'static str,
        start: usize,
    ) -> Result<StatementKind, Refusal> {
        let at = self.position(start);
        let Some(menu) = self.tree.has(node, name) else {
            let arguments = self.arguments(&spec::export(), None, None)?;
            let target = Target::Export(self.tree.nodes[node].path);
            return Ok(StatementKind::Run(Command {
                at,
                target,
                arguments,
            }));
        };
        let parameters = if self.exact {
            spec::of_menu_exactly(menu, name)
        } else {
            spec::of_menu_shown(menu, name)
        };
        // `[find]` among the arguments belongs to the command's menu, except in `:log info [find]`.
        let context = if std::mem::take(&mut self.colon) {
            self.node
        } else {
            node
        };
        let (outer, lost) = (std::mem::replace(&mut self.node, context), self.lost.take());
        let arguments = if name == "find" {
            self.condition_argument(menu)
        } else {
            self.arguments(&parameters, Some(menu), None)
        };
        (self.node, self.lost) = (outer, lost);
        Ok(StatementKind::Run(Command {
            at,
            target: Target::Menu(menu, name),
            arguments: arguments?,
        }))
    }

    fn place(&self, node: usize) -> MenuPath {
        MenuPath {
            path: self.tree.nodes[node].path.to_owned(),
        }
    }

    fn enter(&mut self, node: usize) {
        self.node = node;
        self.lost = None;
    }

    /// True at `..` in a node that has a parent.
    fn goes_up(&self, node: usize) -> bool {
        node != 0 && self.looking_at("..")
    }

    /// Reads a word of a path; it has no capital letters.
    fn command_word(&mut self) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(is_command) {
            self.at += 1;
        }
        &self.text()[start..self.at]
    }

    /// Reads a word: letters, digits, `-` and `_`.
    pub(crate) fn word(&mut self) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
        &self.text()[start..self.at]
    }

    /// Reads an argument name: a word that may contain dots, as in `group.name`.
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

    /// True at the end of the statement.
    pub(crate) fn at_end(&self) -> bool {
        match self.peek() {
            None | Some(b'\n' | b';') => true,
            byte => self.close.is_some() && byte == self.close,
        }
    }

    pub(crate) fn at_space(&self) -> bool {
        self.peek().is_some_and(is_blank) || self.continuation() > 0
    }

    /// Returns the length of a line continuation: a backslash, blanks and the line end; 0 if there is none.
    pub(crate) fn continuation(&self) -> usize {
        let Some((b'\\', rest)) = self.bytes[self.at..].split_first() else {
            return 0;
        };
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        match rest.get(blanks) {
            Some(b'\n') => blanks + 2,
            _ => 0,
        }
    }

    /// Skips spaces and continuations.
    pub(crate) fn skip_spaces(&mut self) {
        while self.at_space() {
            self.at += self.continuation().max(1);
        }
    }

    /// Skips spaces, line ends and comments between the parts of a value in parentheses or braces. A condition for
    /// rows ends with its line.
    pub(crate) fn skip_blank(&mut self) {
        self.skip_spaces();
        while self.row.is_none() {
            match self.peek() {
                Some(b'\n') => self.at += 1,
                Some(b'#') => self.skip_comment(),
                _ => return,
            }
            self.skip_spaces();
        }
    }

    /// Skips spaces between the `=` of an argument and its value. Where the statement ends, or another `name=`
    /// follows, the value is empty and nothing is skipped.
    pub(crate) fn skip_to_value(&mut self) {
        let start = self.at;
        self.skip_spaces();
        let value = self.at;
        let is_name = !self.name().is_empty() && self.peek() == Some(b'=');
        self.at = value;
        if is_name || self.at_end() {
            self.at = start;
        }
    }

    /// Skips spaces and comment lines before a statement.
    fn skip_comments(&mut self) {
        loop {
            self.skip_spaces();
            if self.peek() != Some(b'#') {
                return;
            }
            self.skip_comment();
            if self.peek() == Some(b'\n') {
                self.at += 1;
            }
        }
    }

    /// Skips the separators between statements: a semicolon, newlines with the spaces after them, and comments
    /// at the beginning of a line. The rest of a line is a statement, possibly an empty one.
    fn skip_separators(&mut self) {
        if self.peek() == Some(b';') {
            self.at += 1;
        }
        while self.peek() == Some(b'\n') {
            self.at += 1;
            match self.peek() {
                Some(b'#') => self.skip_comment(),
                _ => self.skip_spaces(),
            }
        }
    }

    fn skip_comment(&mut self) {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        self.mark(start, Class::Comment);
    }
}

/// The meaning of a word.
enum WordMeaning {
    Node(usize),
    Command(&'static str),
    Builtin(&'static Builtin),
    Nothing,
}

/// True for characters of a path word or command name.
const fn is_command(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
}

/// True for spaces within a line. [`Source`] has removed carriage returns before newlines.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(crate) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
