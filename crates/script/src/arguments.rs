//! Parses command arguments: `name=value`, bare names, and values without a name.

use menu::{Menu, Position, Reason, Refusal};

use crate::ast::{Argument, Binary, Expr, Node};
use crate::builtin::{ArgumentKind, Builtin};
use crate::declared_variables::Names;
use crate::highlight::Class;
use crate::parser::{Expected, Parser};
use crate::spec::Parameter;

impl Parser<'_> {
    /// Reads the arguments of a command up to its end.
    pub(crate) fn arguments(
        &mut self,
        parameters: &[Parameter],
        menu: Option<&'static Menu>,
        builtin: Option<&'static Builtin>,
    ) -> Result<Vec<Argument>, Refusal> {
        let mut arguments: Vec<Argument> = Vec::new();
        let begins = |byte| {
            matches!(
                byte,
                b' ' | b'\t' | b'\\' | b'"' | b'(' | b'[' | b'{' | b'$'
            )
        };
        if !self.at_end() && !self.peek().is_some_and(begins) {
            return self.refuse(Reason::ExpectedEnd, self.at);
        }
        let mut tallest = 0;
        loop {
            tallest = self.tallest(tallest);
            self.skip_spaces();
            let given = || {
                arguments
                    .iter()
                    .map(|argument| argument.name.clone())
                    .collect()
            };
            // With no space before the cursor, the word itself may still be continued.
            let apart = matches!(self.bytes.last(), Some(b' ' | b'\t'));
            let in_condition =
                matches!(self.expected, Some(Expected::Condition(at, _)) if at == self.at);
            if self.at == self.bytes.len() && apart && !in_condition {
                let given = given();
                self.expected = Some(Expected::Argument(self.at, parameters.to_vec(), given));
            }
            if self.at_end() {
                self.height = tallest;
                return Ok(arguments);
            }
            let argument = self.argument(parameters, menu, &arguments)?;
            if let Some(builtin) = builtin {
                self.name_variables(builtin, parameters, &argument)?;
            }
            arguments.push(argument);
            // A space must separate arguments, unless the first one ends with a quote or a closing bracket.
            let ended = self.bytes.get(self.at.wrapping_sub(1)).copied();
            if !self.at_end()
                && !self.at_space()
                && !matches!(ended, Some(b'"' | b')' | b']' | b'}'))
            {
                return self.refuse(Reason::ExpectedEnd, self.at);
            }
        }
    }

    fn argument(
        &mut self,
        parameters: &[Parameter],
        menu: Option<&'static Menu>,
        before: &[Argument],
    ) -> Result<Argument, Refusal> {
        let start = self.at;
        let at = self.position(start);
        let negated = self.peek() == Some(b'!');
        if negated {
            self.at += 1;
        }
        let mut word = self.name().to_owned();
        // `.role` after `group.name=…` is short for `group.role`.
        if word.starts_with('.')
            && let Some((group, _)) = before.last().and_then(|last| last.name.rsplit_once('.'))
        {
            word.insert_str(0, group);
        }
        let has_value = self.peek() == Some(b'=') && !word.is_empty();
        if self.at == self.bytes.len() {
            let given = before
                .iter()
                .map(|argument| argument.name.clone())
                .collect();
            self.expected = Some(Expected::Argument(start, parameters.to_vec(), given));
        }
        if let (Some(menu), "where", false) = (menu, word.as_str(), has_value)
            && parameters.iter().any(|parameter| parameter.name == "where")
        {
            self.mark(start, Class::Argument);
            let word_end = self.at;
            self.skip_spaces();
            let value = if self.at_end() {
                if self.at == self.bytes.len() && self.at > word_end {
                    self.expected = Some(Expected::Condition(self.at, menu));
                }
                None
            } else {
                Some(self.condition(menu)?)
            };
            return Ok(Argument {
                at,
                name: word,
                value,
                negated: false,
            });
        }
        self.named(parameters, before, start, &word, negated)
    }

    /// Parses an argument whose name `word` was already read, with its value if there is one.
    fn named(
        &mut self,
        parameters: &[Parameter],
        before: &[Argument],
        start: usize,
        word: &str,
        negated: bool,
    ) -> Result<Argument, Refusal> {
        let at = self.position(start);
        let has_value = self.peek() == Some(b'=') && !word.is_empty();
        let found = find(parameters, word).filter(|p| has_value || negated || takes_bare(p, word));
        if let Some(parameter) = found.filter(|_| !word.is_empty()) {
            self.mark(start, Class::Argument);
            let name = parameter.name.to_owned();
            if has_value {
                self.at += 1;
            } else if !self.code_follows(parameter) {
                return Ok(Argument {
                    at,
                    name,
                    value: None,
                    negated,
                });
            }
            self.expected = Some(Expected::Value(self.at, *parameter));
            if has_value {
                self.skip_to_value();
            }
            let begin = self.at;
            let braced = self.peek() == Some(b'{');
            let is_script = parameter.property.is_some_and(|property| property.script);
            let mut value = if braced && is_script {
                self.script()
            } else {
                self.argument_values(parameter.takes)
            };
            // RouterOS: where text is expected, braces that hold no array are a syntax error.
            if value.is_err()
                && braced
                && !is_script
                && (parameter.property.is_some() || parameter.takes == ArgumentKind::Text)
            {
                value = self.refuse(Reason::Syntax, begin);
            }
            let value = Some(value?);
            if let Some(Node::Word(_) | Node::Text(_)) = value.as_ref().map(|value| &value.node) {
                self.constants.push((begin, self.at, *parameter));
            }
            if self.at < self.bytes.len() {
                self.expected = None;
            }
            return Ok(Argument {
                at,
                name,
                value,
                negated: false,
            });
        }
        if negated {
            return self.refuse(Reason::ExpectedEnd, start);
        }
        let equals = self.at;
        self.at = start;
        let value = self.unnamed(parameters, before, at)?;
        if has_value {
            // RouterOS: the unknown name is read as a value, and a value cannot be followed by `=`.
            return self.refuse(Reason::ExpectedEnd, equals);
        }
        Ok(value)
    }

    /// Parses the value after an argument's name. Several values may be joined by commas:
    /// `servers=$first,$second`.
    pub(crate) fn argument_values(&mut self, takes: ArgumentKind) -> Result<Expr, Refusal> {
        let mut all = self.argument_value(takes)?;
        if !matches!(takes, ArgumentKind::Value | ArgumentKind::Text) {
            return Ok(all);
        }
        let mut height = self.height;
        while self.goes_on_behind_comma(&mut all) {
            self.height = 0;
            let next = self.value()?;
            height = self.higher(height)?;
            all = Expr {
                at: all.at,
                node: Node::Binary(Binary::Comma, Box::new(all), Box::new(next)),
            };
        }
        self.height = height;
        Ok(all)
    }

    /// True if a comma after the value is followed by another value. Removes the comma from the word before.
    fn goes_on_behind_comma(&mut self, before: &mut Expr) -> bool {
        let word = match &mut before.node {
            Node::Binary(Binary::Comma, _, last) => &mut last.node,
            node => node,
        };
        match word {
            Node::Word(word) => {
                let begins = matches!(self.peek(), Some(b'$' | b'(' | b'[' | b'"'));
                begins && word.ends_with(',') && word.pop().is_some()
            }
            _ if self.peek() == Some(b',') => {
                self.at += 1;
                true
            }
            _ => false,
        }
    }

    /// Parses a script in braces and returns its source text unchanged, spaces and newlines included. RouterOS:
    /// the script is parsed right away, so that syntax errors show now.
    fn script(&mut self) -> Result<Expr, Refusal> {
        let begin = self.at;
        let at = self.position(begin);
        // The script runs on its own from the root menu: it sees no variables of the surrounding code.
        let mut alone = Names::default();
        alone.any = self.names.any;
        let names = std::mem::replace(&mut self.names, alone);
        let (node, lost) = (std::mem::take(&mut self.node), self.lost.take());
        let code = self.braces();
        (self.names, self.node, self.lost) = (names, node, lost);
        code?;
        self.height = 0;
        let text = self.source.text.get(begin + 1..self.at - 1);
        Ok(Expr {
            at,
            node: Node::Text(text.unwrap_or_default().to_owned()),
        })
    }

    /// True if a code block follows an argument's name without `=`: `else {…}`.
    fn code_follows(&mut self, parameter: &Parameter) -> bool {
        let after = self.at;
        self.skip_spaces();
        let follows = parameter.takes == ArgumentKind::Code && self.peek() == Some(b'{');
        if !follows {
            self.at = after;
        }
        follows
    }

    /// Parses a value without an argument name, for the first parameter that may stand unnamed.
    fn unnamed(
        &mut self,
        parameters: &[Parameter],
        before: &[Argument],
        at: Position,
    ) -> Result<Argument, Refusal> {
        let start = self.at;
        let free = |p: &&Parameter| p.unnamed && before.iter().all(|a| a.name != p.name);
        let code = self.peek() == Some(b'{');
        let Some(parameter) = parameters
            .iter()
            .filter(free)
            .find(|p| !code || p.takes == ArgumentKind::Code)
            .or_else(|| parameters.iter().find(free))
        else {
            return self.refuse(Reason::ExpectedEnd, start);
        };
        let value = Some(self.argument_value(parameter.takes)?);
        if self.at == start {
            return self.refuse(Reason::ExpectedEnd, start);
        }
        Ok(Argument {
            at,
            name: parameter.name.to_owned(),
            value,
            negated: false,
        })
    }

    /// Declares the variables that an argument names. An argument that assigns to variables requires them to be
    /// declared.
    fn name_variables(
        &mut self,
        builtin: &Builtin,
        parameters: &[Parameter],
        argument: &Argument,
    ) -> Result<(), Refusal> {
        let names = |p: &Parameter| p.takes == ArgumentKind::Name && p.name == argument.name;
        let Some(value) = &argument.value else {
            return Ok(());
        };
        let (Node::Variable(names) | Node::Text(names), true) =
            (&value.node, parameters.iter().any(names))
        else {
            return Ok(());
        };
        if builtin.name != "set" {
            names.split(',').for_each(|name| self.names.declare(name));
            return Ok(());
        }
        if self.names.is_declared(names) {
            return Ok(());
        }
        Err(Reason::Syntax.at(value.at))
    }

    /// Parses the condition of `find` or `print`, with or without the word `where`.
    pub(crate) fn condition_argument(
        &mut self,
        menu: &'static Menu,
    ) -> Result<Vec<Argument>, Refusal> {
        self.skip_spaces();
        let start = self.at;
        if self.word() == "where" {
            self.mark(start, Class::Argument);
            self.skip_spaces();
        } else {
            self.at = start;
        }
        if self.at_end() {
            if self.at == self.bytes.len() {
                self.expected = Some(Expected::Condition(self.at, menu));
            }
            return Ok(Vec::new());
        }
        let at = self.position(self.at);
        let value = Some(self.condition(menu)?);
        Ok(vec![Argument {
            at,
            name: "where".to_owned(),
            value,
            negated: false,
        }])
    }
}

/// Returns the parameter with this name or with this unique prefix.
fn find<'p>(parameters: &'p [Parameter], word: &str) -> Option<&'p Parameter> {
    if let Some(exact) = parameters.iter().find(|parameter| parameter.name == word) {
        return Some(exact);
    }
    let mut matches = parameters
        .iter()
        .filter(|parameter| parameter.name.starts_with(word));
    match (matches.next(), matches.next()) {
        (Some(parameter), None) if !word.is_empty() => Some(parameter),
        _ => None,
    }
}

/// True if the name alone is a valid argument: a flag, a Boolean or presence property, or the full name of a
/// code argument.
fn takes_bare(parameter: &Parameter, word: &str) -> bool {
    let kind = parameter.property.map(|property| property.kind);
    match parameter.takes {
        ArgumentKind::Flag => true,
        ArgumentKind::Code => parameter.name == word,
        _ => {
            parameter.name == word && matches!(kind, Some(menu::Kind::Bool | menu::Kind::Presence))
        }
    }
}
