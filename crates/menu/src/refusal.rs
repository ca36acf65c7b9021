//! Refused commands: reasons with the console's messages.

use std::fmt;

use crate::without_error_numbers;

/// A position in a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in bytes, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(line {} column {})", self.line, self.column)
    }
}

/// A refused command. It has had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// The position in the source text, if the command came from one.
    pub at: Option<Position>,
}

/// The reason why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Unexpected text after the end of the command, or an unknown parameter.
    ExpectedEnd,
    /// A command name is missing.
    ExpectedCommand,
    /// A value is missing.
    ExpectedValue,
    /// A brace, bracket or parenthesis must be closed here.
    ExpectedClosing(&'static str),
    /// The text ends inside a brace.
    MissingClosing(&'static str),
    /// A syntax error.
    Syntax,
    /// A word that names no menu or command in this menu.
    BadCommand(String),
    /// An unknown path or argument in a request of a program; holds the complete message.
    Unknown(String),
    /// A value that the property's type does not accept; holds the complete message.
    BadValue(String),
    /// Missing required arguments.
    Missing(Vec<&'static str>),
    /// A number, name or id that does not refer to an item.
    NoItem,
    /// The item conflicts with another item or violates a rule of the menu. Text without the prefix `failure:
    /// `.
    Failure(String),
    /// A script raised this error, or cannot continue.
    Script(String),
    /// A limit on steps, depth or memory was reached.
    Limit(&'static str),
    /// The user interrupted the command.
    Interrupted,
    /// The user lacks a policy that the command requires.
    Denied,
    /// The change could not be made durable.
    Storage(String),
}

impl Reason {
    /// Creates a refusal without a position.
    pub const fn nowhere(self) -> Refusal {
        Refusal {
            reason: self,
            at: None,
        }
    }

    /// Creates a refusal with a position.
    pub const fn at(self, at: Position) -> Refusal {
        Refusal {
            reason: self,
            at: Some(at),
        }
    }

    /// True if the console prints the position: it does for errors of the parser.
    pub const fn is_located(&self) -> bool {
        matches!(
            self,
            Self::ExpectedEnd
                | Self::ExpectedCommand
                | Self::ExpectedValue
                | Self::ExpectedClosing(_)
                | Self::MissingClosing(_)
                | Self::Syntax
                | Self::BadCommand(_)
        )
    }

    /// The error category of the API (0: missing item or command … 4: general failure).
    pub const fn category(&self) -> u8 {
        match self {
            Self::BadCommand(_) | Self::NoItem | Self::ExpectedCommand | Self::Unknown(_) => 0,
            Self::BadValue(_) | Self::Missing(_) | Self::ExpectedValue => 1,
            Self::Interrupted => 2,
            Self::ExpectedEnd
            | Self::ExpectedClosing(_)
            | Self::MissingClosing(_)
            | Self::Syntax
            | Self::Script(_)
            | Self::Limit(_) => 3,
            Self::Failure(_) | Self::Storage(_) | Self::Denied => 4,
        }
    }

    /// Returns the argument whose value was refused, if the message names it.
    pub fn argument(&self) -> Option<&str> {
        let Self::BadValue(sentence) = self else {
            return None;
        };
        let named = [
            "input does not match any value of ",
            "invalid value for argument ",
        ];
        let rest = named
            .iter()
            .find_map(|begin| sentence.strip_prefix(begin))?;
        rest.split([' ', ':']).next()
    }

    /// Creates a failure, such as `already have …`. Removes the numbers of operating system errors.
    pub fn failure(text: impl Into<String>) -> Self {
        Self::Failure(without_error_numbers(text))
    }

    /// Creates the refusal for a word that is not a value of the property.
    pub fn no_match(property: &str) -> Self {
        Self::BadValue(format!("input does not match any value of {property}"))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExpectedEnd => f.write_str("expected end of command"),
            Self::ExpectedCommand => f.write_str("expected command name"),
            Self::ExpectedValue => f.write_str("expected input value"),
            Self::ExpectedClosing(what) => write!(f, "expected closing {what}"),
            Self::MissingClosing(what) => write!(f, "missing closing {what}"),
            Self::Syntax => f.write_str("syntax error"),
            Self::BadCommand(name) => write!(f, "bad command name {name}"),
            Self::BadValue(text) | Self::Script(text) | Self::Unknown(text) => f.write_str(text),
            Self::Missing(names) => {
                write!(f, "missing value(s) of argument(s) {}", names.join(" "))
            }
            Self::NoItem => f.write_str("no such item"),
            Self::Failure(text) => write!(f, "failure: {text}"),
            Self::Limit(what) => write!(f, "script stopped: too much {what}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Denied => f.write_str("not enough permissions (9)"),
            Self::Storage(text) => write!(f, "failure: not stored: {text}"),
        }
    }
}

impl Refusal {
    /// Sets the position unless the refusal has one.
    #[must_use]
    pub fn or_at(mut self, at: Position) -> Self {
        self.at.get_or_insert(at);
        self
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        reason.nowhere()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        match self.at {
            Some(at) if self.reason.is_located() => write!(f, " {at}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_console_texts() {
        let at = Position {
            line: 1,
            column: 12,
        };

        assert_eq!(
            Reason::ExpectedEnd.at(at).to_string(),
            "expected end of command (line 1 column 12)"
        );
        assert_eq!(
            Reason::BadCommand("foo".into()).at(at).to_string(),
            "bad command name foo (line 1 column 12)"
        );
        assert_eq!(
            Reason::failure("already have such address")
                .at(at)
                .to_string(),
            "failure: already have such address"
        );
        assert_eq!(
            Reason::no_match("action").nowhere().to_string(),
            "input does not match any value of action"
        );
    }
}
