//! The arguments of functions, and of words that name nothing: values with names or without.

use menu::{Reason, Refusal};

use crate::ast::{Expr, Node};
use crate::builtin::Takes;
use crate::parser::Parser;

/// Arguments as they stand: each with its name, where it has one.
pub(crate) type Arguments = Vec<(Option<String>, Expr)>;

impl Parser<'_> {
    /// The call of a function up to the statement's end.
    pub(crate) fn call(&mut self, function: Expr) -> Result<Expr, Refusal> {
        let function_height = std::mem::take(&mut self.height);
        let arguments = self.call_arguments()?;
        self.height = self.higher(function_height)?;
        Ok(Expr::call(function, arguments))
    }

    /// Arguments up to the statement's end, each after a space.
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
            // RouterOS: a text with values or escapes in it is no argument of a function.
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
            _ if named && !self.exact => self.argument_values(Takes::Value),
            _ => self.argument_value(Takes::Value),
        }
    }

    /// The byte after the variable with which a text in quotes begins.
    fn after_variable(&self, quote: usize) -> usize {
        let rest = self.bytes.get(quote + 2..).unwrap_or_default();
        let length = rest.iter().position(|b| !b.is_ascii_alphanumeric());
        quote + 2 + length.unwrap_or(rest.len())
    }
}
