//! What a word is, and the colour that the console shows it in while it is typed.

/// What a stretch of the line is; each has one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Nothing special.
    Plain,
    /// A menu of the path.
    Menu,
    /// A command.
    Command,
    /// An argument's name.
    Argument,
    /// A value.
    Value,
    /// A variable.
    Variable,
    /// An operator or bracket.
    Operator,
    /// A comment.
    Comment,
    /// What the router does not understand.
    Error,
    /// Part of the prompt.
    Prompt,
}

impl Colour {
    /// The escape sequence that begins it (ECMA-48, 8.3.117).
    pub const fn begin(self) -> &'static str {
        match self {
            Self::Plain | Self::Value => "",
            Self::Menu => "\x1b[36m",
            Self::Command => "\x1b[35m",
            Self::Argument => "\x1b[32m",
            Self::Variable | Self::Operator => "\x1b[33m",
            Self::Comment => "\x1b[90m",
            Self::Error => "\x1b[31m",
            Self::Prompt => "\x1b[1m",
        }
    }

    /// The escape sequence that ends any colour.
    pub const END: &'static str = "\x1b[m";
}

/// A stretch of the line in one colour, in bytes of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte and the byte after the last.
    pub range: std::ops::Range<usize>,
    /// What it is.
    pub colour: Colour,
}
