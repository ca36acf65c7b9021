//! Parses the arguments of function calls and of unknown words: values with or without names.

use menu::{Reason, Refusal};

use crate::ast::{Expr, Node};
use crate::builtin::ArgumentKind;
use crate::parser::Parser;

/// Arguments in source order: optional name and value.
pub(crate) type Arguments = Vec<(Option<String>, Expr)>;

impl Parser<'_> {
    /// Parses the call of a function up to the end of the statement.
    pub(crate) fn call(&mut self, function: Expr) -> Result<Expr, Refusal> {
        let function_height = std::mem::take(&mut self.height);
        let arguments = self.call_arguments()?;
        self.height = self.higher(function_height)?;
        Ok(Expr::call(function, arguments))
    }

    /// Parses arguments, each after a space, up to the end of the statement.
    pub(crate) fn call_arguments(&mut self) -> Result<Arguments, Refusal> {
        let mut arguments = Vec::new();
        let mut tallest = 0;
        loop {
            tallest = self.tallest(tallest);
            let before = self.at;
            self.skip_spaces();
            if self.at_end() {
                self.height = tallest;
                return Ok(arguments);
            }
            if before == self.at {
                return self.refuse(Reason::Syntax, self.at);
            }
            arguments.push(self.call_argument()?);
        }
    }

    fn call_argument(&mut self) -> Result<(Option<String>, Expr), Refusal> {
        let start = self.at;
        let word = self.word().to_owned();
        let equals = self.at;
        let named = !word.is_empty() && self.peek() == Some(b'=');
        self.at = if named { equals + 1 } else { start };
        if named {
            self.skip_to_value();
        }
        let begin = self.at;
        let value = self.call_value(named)?;
        if self.at == begin && !named {
            return self.refuse(Reason::Syntax, self.at);
        }
        if self.exact
            && self.bytes.get(begin) == Some(&b'"')
            && let Node::Joined(parts) = &value.node
        {
            // RouterOS: a string with embedded values or escapes is not accepted as a function argument.
            let variable =
                matches!(parts.first(), Some(first) if matches!(first.node, Node::Variable(_)));
            let at = if variable {
                self.after_variable(begin)
            } else if named {
                equals
            } else {
                begin
            };
            return self.refuse(Reason::Syntax, at);
        }
        Ok((named.then_some(word), value))
    }

    fn call_value(&mut self, named: bool) -> Result<Expr, Refusal> {
        if self.exact && matches!(self.peek(), Some(b'{' | b'\'')) {
            return self.refuse(Reason::Syntax, self.at);
        }
        match self.peek() {
            Some(b'>') => Ok(Expr {
                at: self.position(self.at),
                node: Node::Word(self.bare()),
            }),
            _ if named && !self.exact => self.argument_values(ArgumentKind::Value),
            _ => self.argument_value(ArgumentKind::Value),
        }
    }

    /// Returns the byte offset after the variable at the beginning of a string in quotes.
    fn after_variable(&self, quote: usize) -> usize {
        let rest = self.bytes.get(quote + 2..).unwrap_or_default();
        let length = rest.iter().position(|b| !b.is_ascii_alphanumeric());
        quote + 2 + length.unwrap_or(rest.len())
    }
}
