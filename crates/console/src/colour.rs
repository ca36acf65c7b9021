//! Word classes of an input line and their colours.

/// The class of a part of the input line; each class has one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
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
    /// Text that the router cannot parse.
    Error,
    /// Part of the prompt.
    Prompt,
}

impl Colour {
    /// The escape sequence that starts the colour (ECMA-48, 8.3.117).
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

    /// The escape sequence that resets the colour.
    pub const END: &'static str = "\x1b[m";
}

/// A part of the input line in one colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Byte range in the line.
    pub range: std::ops::Range<usize>,
    /// The class of the text.
    pub colour: Colour,
}
