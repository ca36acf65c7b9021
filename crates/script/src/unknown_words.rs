//! Parses unknown menus and commands, and the words after them.
//!
//! RouterOS does not enter an unknown menu: later commands run in the previous menu, and the words after the
//! unknown one are parsed as arguments of a function. A parser in `exact` mode does so too. When a
//! configuration is checked or run, its commands must not be applied to another menu: the unknown menu is
//! entered, and all its commands are refused with its name.

use std::sync::Arc;

use menu::{Reason, Refusal};

use crate::ast::{Block, Node, StatementKind, UnknownWord};
use crate::builtin::{self, ArgumentKind};
use crate::highlight::Class;
use crate::parser::Parser;

/// Commands that RouterOS menus have. A line whose last word is in this list is a command.
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
    "cuu",
    "inkey",
];

impl Parser<'_> {
    /// Parses a statement that begins with a word, inside an unknown menu.
    pub(crate) fn relative_to_lost(
        &mut self,
        lost: &UnknownWord,
    ) -> Result<StatementKind, Refusal> {
        let start = self.at;
        let word = self.word();
        // `set` and `find` belong to the unknown menu, not to the language.
        let known = builtin::ALL.iter().any(|builtin| builtin.name == word);
        self.at = start;
        if known && !VERBS.contains(&word) {
            return self.path(0, false);
        }
        self.word();
        self.rest_of_bad(lost, start, false)
    }

    /// Parses a word that is neither a menu nor a command here.
    pub(crate) fn unknown(&mut self, word: &str, start: usize) -> Result<StatementKind, Refusal> {
        let bad = UnknownWord {
            name: word.to_owned(),
            at: self.position(start),
            enters: false,
            code: Vec::new(),
            arguments: Vec::new(),
        };
        if !self.exact {
            return self.rest_of_bad(&bad, start, true);
        }
        self.mark(start, Class::Error);
        let arguments = self.call_arguments()?;
        Ok(StatementKind::UnknownWord(UnknownWord { arguments, ..bad }))
    }

    /// Parses the words and values after an unknown word.
    fn rest_of_bad(
        &mut self,
        bad: &UnknownWord,
        start: usize,
        path: bool,
    ) -> Result<StatementKind, Refusal> {
        self.mark(start, Class::Error);
        // `[find]` among the values belongs to the unknown menu.
        let outer = self.lost.replace(bad.clone());
        let mut code = Vec::new();
        let enters = self.words_of_bad(bad, path, &mut code);
        self.lost = outer;
        let bad = UnknownWord {
            enters: enters?,
            code,
            ..bad.clone()
        };
        if bad.enters && bad.code.is_empty() {
            self.lost = Some(bad.clone());
        }
        Ok(StatementKind::UnknownWord(bad))
    }

    /// Parses the words after an unknown word. Returns true if all words form a path to enter.
    fn words_of_bad(
        &mut self,
        bad: &UnknownWord,
        path: bool,
        code: &mut Vec<Arc<Block>>,
    ) -> Result<bool, Refusal> {
        let mut plain = path;
        let mut last = bad.name.clone();
        loop {
            // A slash separates words of a path.
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

    /// Parses an argument of an unknown command: `name=value` or a value.
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
            self.skip_to_value();
            let code = ["do", "else", "on-error", "command"].contains(&name);
            let takes = if code && operator == "=" {
                ArgumentKind::Code
            } else {
                ArgumentKind::Value
            };
            return Ok(match self.argument_value(takes)?.node {
                Node::Code(code) => Some(code),
                _ => None,
            });
        }
        self.at = start;
        self.argument_value(ArgumentKind::Value)?;
        if self.at == start {
            return self.refuse(Reason::Syntax, self.at);
        }
        Ok(None)
    }
}

/// True if a word is a command that menus have.
pub(crate) fn is_verb(word: &str) -> bool {
    VERBS.contains(&word)
}
