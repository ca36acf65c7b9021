//! Why a command was not run, in the console's own words.

use std::fmt;

use crate::without_error_numbers;

/// A place in a source text. Both count from 1; columns count bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The byte in the line, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(line {} column {})", self.line, self.column)
    }
}

/// A refused command: why, and where. Nothing of the command has had an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// Where in the source, if the command came from one.
    pub at: Option<Position>,
}

/// Why a command was not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Text where the command should have ended; also a parameter that the command does not have.
    ExpectedEnd,
    /// No command where one should have been.
    ExpectedCommand,
    /// No value where one should have been.
    ExpectedValue,
    /// A brace, bracket or parenthesis that should have been closed here.
    ExpectedClosing(&'static str),
    /// The text ended within a brace.
    MissingClosing(&'static str),
    /// Text that is no part of the language.
    Syntax,
    /// A word that names no menu and no command here.
    BadCommand(String),
    /// A path or argument of a program's request that there is not; the whole sentence.
    Unknown(String),
    /// A value that the type of its property does not take; the whole sentence.
    BadValue(String),
    /// Arguments without which the command does nothing.
    Missing(Vec<&'static str>),
    /// A number, name or id of an item that is not there.
    NoItem,
    /// The item clashes with another or with a rule of its menu; without `failure: `.
    Failure(String),
    /// A script raised this error itself, or could not go on.
    Script(String),
    /// A limit of steps, depth or memory was reached.
    Limit(&'static str),
    /// The user broke the command off.
    Interrupted,
    /// The user's group does not have the policies that the command needs.
    Denied,
    /// The change could not be made durable.
    Storage(String),
}

impl Reason {
    /// The refusal without a place.
    pub const fn nowhere(self) -> Refusal {
        Refusal {
            reason: self,
            at: None,
        }
    }

    /// The refusal at a place.
    pub const fn at(self, at: Position) -> Refusal {
        Refusal {
            reason: self,
            at: Some(at),
        }
    }

    /// Whether the console prints the place with the reason: it does for what the parser finds.
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

    /// The category that the API reports (0 missing item or command … 4 general).
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

    /// The argument whose value is refused, where the sentence names it.
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

    /// `failure: already have …` and its like. Errors of the system are told in words, without their numbers.
    pub fn failure(text: impl Into<String>) -> Self {
        Self::Failure(without_error_numbers(text))
    }

    /// The sentence for a word that is none of a property's values.
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
    /// The refusal with this place, unless it knows its own.
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
    fn a_refusal_reads_as_the_console_prints_it() {
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
