//! The syntax tree of a script. Menus, commands and properties are resolved while parsing, so that the run
//! needs no lookup by name.

use std::sync::Arc;

use menu::{Menu, Position};

use crate::builtin::Builtin;

/// A sequence of statements that forms a scope.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements in source order.
    pub statements: Vec<Statement>,
}

/// One statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Position of the first character.
    pub at: Position,
    /// The kind of statement.
    pub what: StatementKind,
    /// Byte range in the source.
    pub span: (usize, usize),
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// A line without a command, in the current menu.
    Empty(MenuPath),
    /// A path on a line of its own: changes the menu of the statements that follow.
    Enter(MenuPath),
    /// A command.
    Run(Command),
    /// A block in braces, run in the given menu if a path precedes it.
    Scope(Option<MenuPath>, Arc<Block>),
    /// A call of a function held in a variable, with arguments.
    Call(Expr),
    /// A value, or a command in brackets.
    Value(Expr),
    /// A word that names neither a menu nor a command. Refused when the statement runs.
    UnknownWord(UnknownWord),
}

/// An unknown menu or command word.
#[derive(Clone, Debug)]
pub struct UnknownWord {
    /// The word.
    pub name: String,
    /// Position of the word.
    pub at: Position,
    /// True if the statement only enters a menu and has no command.
    pub enters: bool,
    /// The code blocks in braces after the word.
    pub code: Vec<Arc<Block>>,
    /// The text after the word, parsed as function arguments: optional name and value.
    pub arguments: Vec<(Option<String>, Expr)>,
}

/// A node of the menu tree: a menu or a folder of menus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuPath {
    /// The path; `/` for the root.
    pub path: String,
}

/// A command and its arguments.
#[derive(Clone, Debug)]
pub struct Command {
    /// Position of the command word.
    pub at: Position,
    /// The command to run.
    pub target: Target,
    /// The arguments in source order.
    pub arguments: Vec<Argument>,
}

/// The command that a command statement runs.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A command of a menu: the menu and the command name.
    Menu(&'static Menu, &'static str),
    /// `export` of a folder. Holds the path of the folder.
    Export(&'static str),
    /// A built-in command of the scripting language.
    Builtin(&'static Builtin),
}

/// An argument of a command.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Position of the first character.
    pub at: Position,
    /// The full name, abbreviations expanded.
    pub name: String,
    /// The value; `None` for a bare name.
    pub value: Option<Expr>,
    /// True for `!name`.
    pub negated: bool,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Position of the first character.
    pub at: Position,
    /// The kind of expression.
    pub node: Node,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum Node {
    /// A bare word; its spelling decides its type.
    Word(String),
    /// A string in quotes.
    Text(String),
    /// A string in quotes with embedded variables or expressions.
    Joined(Vec<Expr>),
    /// A variable.
    Variable(String),
    /// A property of the row that a condition is evaluated against.
    Property(&'static str),
    /// Commands in brackets; evaluates to the value of the last command.
    Brackets(Arc<Block>),
    /// A code block as a value.
    Code(Arc<Block>),
    /// An array; elements may have keys.
    Array(Vec<(Option<Expr>, Expr)>),
    /// A statement in parentheses. The node distinguishes `([…])` from `[…]` in the output of `:parse`.
    Group(Box<Expr>),
    /// A unary operator and its operand.
    Unary(Unary, Box<Expr>),
    /// A binary operator and its operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// A call of a function held in a variable, with arguments.
    Call(Box<Expr>, Vec<(Option<String>, Expr)>),
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `~`
    Complement,
    /// `any`: true if the operand has a value.
    Any,
    /// `>`: yields the expression itself, unevaluated.
    Quote,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the operations")]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    Unequal,
    Less,
    Greater,
    AtMost,
    AtLeast,
    And,
    /// Two conditions side by side without an operator: both must hold.
    Both,
    Or,
    Match,
    In,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Concat,
    Comma,
    Index,
    /// `<%%`: calls a function with the elements of an array as arguments.
    Call,
}

impl Binary {
    /// True if `a op (b op c)` equals `(a op b) op c`.
    pub const fn is_associative(self) -> bool {
        matches!(
            self,
            Self::Add
                | Self::Multiply
                | Self::And
                | Self::Both
                | Self::Or
                | Self::BitAnd
                | Self::BitOr
                | Self::BitXor
                | Self::Concat
                | Self::Comma
        )
    }
}
