//! What a source text says, resolved against the menus: no name is looked up again at run time.

use std::sync::Arc;

use menu::{Menu, Position};

use crate::builtin::Builtin;

/// Statements in a scope.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

/// One statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub what: What,
    /// The bytes of the source that it spans.
    pub span: (usize, usize),
}

/// What a statement is.
#[derive(Clone, Debug)]
pub enum What {
    /// Nothing: a line without a command, in the menu where it stands.
    Empty(Place),
    /// A path on a line of its own: the commands that follow are of that menu.
    Enter(Place),
    /// A command.
    Run(Command),
    /// A scope, at a menu where a path stands before it.
    Scope(Option<Place>, Arc<Block>),
    /// A function that a variable holds, with arguments.
    Call(Expr),
    /// A value, or a command in brackets.
    Value(Expr),
    /// A word that names neither menu nor command; refused when it is run.
    Bad(Bad),
}

/// A word that names nothing here.
#[derive(Clone, Debug)]
pub struct Bad {
    /// The word.
    pub name: String,
    /// Where it stands.
    pub at: Position,
    /// Whether it is a menu to enter: there is no command in the statement.
    pub enters: bool,
    /// The code in braces among what follows the word.
    pub code: Vec<Arc<Block>>,
    /// What follows the word, where it is read as the arguments of a function.
    pub arguments: Vec<(Option<String>, Expr)>,
}

/// A node of the tree of menus: a menu or a folder of menus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The path, `/` at the root.
    pub path: String,
}

/// A command with its arguments.
#[derive(Clone, Debug)]
pub struct Command {
    /// Where the command's word stands.
    pub at: Position,
    /// What is run.
    pub target: Target,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// What a command runs.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A command of a menu.
    Menu(&'static Menu, &'static str),
    /// `export` of a folder, by the length of its path in `path`.
    Export(&'static str),
    /// A command of the language.
    Builtin(&'static Builtin),
}

/// An argument of a command.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Where it begins.
    pub at: Position,
    /// Its full name.
    pub name: String,
    /// Its value; `None` for a bare name.
    pub value: Option<Expr>,
    /// Whether it is `!name`.
    pub negated: bool,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub node: Node,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Node {
    /// A bare word: its type follows from its looks.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// A text in quotes with values within.
    Joined(Vec<Expr>),
    /// A variable.
    Variable(String),
    /// A property of the row that a condition looks at.
    Property(&'static str),
    /// Commands in brackets: the value of the last.
    Brackets(Arc<Block>),
    /// Code as a value.
    Code(Arc<Block>),
    /// An array; keys where given.
    Array(Vec<(Option<Expr>, Expr)>),
    /// An expression in parentheses whose parentheses tell it from the same without them.
    Group(Box<Expr>),
    /// An operator before a value.
    Unary(Unary, Box<Expr>),
    /// An operator between two values.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// A function that a variable holds, with arguments.
    Call(Box<Expr>, Vec<(Option<String>, Expr)>),
}

/// Operators before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `~`
    Complement,
    /// `any`: whether there is a value.
    Any,
    /// `>`: the expression itself as a value.
    Quote,
}

/// Operators between two values.
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
    /// One condition after the other, without a word between: both must hold.
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
    /// `<%%`: a function with the elements of an array as its arguments.
    Call,
}

impl Binary {
    /// Whether parentheses among several of it change nothing.
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
