//! Evaluation of expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use menu::{Reason, Row, bytes};

use crate::ast::{Binary, Block, Expr, Node, StatementKind, Unary};
use crate::machine::{Machine, Result, Scope, Variable};
use crate::operate::{binary, unary};
use crate::regex::Regex;
use crate::value::Value;

impl Machine<'_> {
    /// Evaluates an expression.
    pub(crate) fn eval(&mut self, expr: &Expr) -> Result<Value> {
        self.step()?;
        let value = match &expr.node {
            Node::Word(word) => Value::of_word(word),
            Node::Text(text) => Value::str(text.as_str()),
            Node::Joined(parts) => self.joined(parts)?,
            Node::Variable(name) => return Ok(self.variable(name)),
            // Properties have a value only in the condition of a row.
            Node::Property(_) => Value::Nothing,
            // RouterOS: `[]` yields nil, not the value of a command.
            Node::Brackets(block) if runs_nothing(block) => Value::Nil,
            Node::Brackets(block) => self.deeper(|machine| machine.block(block))?,
            Node::Code(block) => Value::Code(Arc::clone(block)),
            Node::Array(elements) => self.array(elements)?,
            Node::Group(inner) => self.eval(inner)?,
            Node::Unary(Unary::Quote, inner) => match &inner.node {
                Node::Code(block) => Value::Code(Arc::clone(block)),
                _ => Value::Op(Arc::new((**inner).clone())),
            },
            Node::Unary(operator, inner) => {
                let value = self.eval(inner)?;
                unary(*operator, &value).map_err(|reason| reason.at(expr.at))?
            }
            Node::Binary(operator, left, right) => self.binary(*operator, left, right, expr)?,
            Node::Call(function, arguments) => self.call_value(function, arguments)?,
        };
        if let Value::Str(text) = &value {
            self.charge(text.len())?;
        }
        Ok(value)
    }

    fn joined(&mut self, parts: &[Expr]) -> Result<Value> {
        let mut text = String::new();
        for part in parts {
            let piece = self
                .holding(text.len(), |machine| machine.eval(part))?
                .text();
            self.charge(piece.len())?;
            text.push_str(&piece);
        }
        Ok(Value::str(bytes::whole(text)))
    }

    fn array(&mut self, elements: &[(Option<Expr>, Expr)]) -> Result<Value> {
        let mut values = Vec::with_capacity(elements.len());
        let mut held = 0;
        for (key, element) in elements {
            let (key, value) = self.holding(held, |machine| {
                let key = key.as_ref().map(|key| machine.eval(key)).transpose()?;
                Ok((key, machine.eval(element)?))
            })?;
            self.charge(size_of::<Value>() * 2)?;
            held += value.weight();
            if value.depth() >= Value::NESTED {
                return Err(Reason::Limit("nesting").at(element.at).into());
            }
            match key {
                Some(key) => Value::insert(&mut values, key.to_string(), value),
                None => Value::push(&mut values, value),
            }
        }
        Ok(Value::array(values))
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        whole: &Expr,
    ) -> Result<Value> {
        let first = self.eval(left)?;
        // Short-circuit: skip the right operand if the left one decides.
        match (operator, first.truth()) {
            (Binary::And | Binary::Both, Some(false)) => return Ok(Value::Bool(false)),
            (Binary::Or, Some(true)) => return Ok(Value::Bool(true)),
            _ => {}
        }
        let joins = matches!(operator, Binary::Concat | Binary::Comma);
        let weight = if joins {
            first.weight()
        } else {
            size_of::<Value>()
        };
        let second = self.holding(weight, |machine| machine.eval(right))?;
        if operator == Binary::Call {
            return self.apply(first, second);
        }
        if joins {
            self.charge(weight.saturating_add(second.weight()))?;
        }
        binary(operator, &first, &second).map_err(|reason| reason.at(whole.at).into())
    }

    fn call_value(
        &mut self,
        function: &Expr,
        arguments: &[(Option<String>, Expr)],
    ) -> Result<Value> {
        let value = self.eval(function)?;
        let mut scope = BTreeMap::new();
        if let Node::Variable(name) = &function.node {
            let own = Value::str(format!("${name}"));
            scope.insert("0".to_owned(), Variable::Local(own));
        }
        // RouterOS: a function called within an expression gets its first argument as `$0`.
        let mut number: usize = scope.len();
        let mut held = 0;
        for (name, argument) in arguments {
            let argument = self.holding(held, |machine| machine.eval(argument))?;
            held += argument.weight();
            let argument = Variable::Local(argument);
            match name {
                Some(name) => scope.insert(name.clone(), argument),
                None => {
                    let name = number.to_string();
                    number += 1;
                    scope.insert(name, argument)
                }
            };
        }
        self.call_with(value, scope)
    }

    /// Calls a function with the elements of an array as arguments.
    fn apply(&mut self, function: Value, arguments: Value) -> Result<Value> {
        let mut scope = Scope::new();
        for (index, (name, value)) in arguments.to_array().into_iter().enumerate() {
            let name = name.unwrap_or_else(|| index.to_string());
            scope.insert(name, Variable::Local(value));
        }
        self.call_with(function, scope)
    }

    fn call_with(&mut self, value: Value, scope: Scope) -> Result<Value> {
        if let Some(code) = value.code() {
            return self.call(&Arc::clone(code), scope);
        }
        match value {
            Value::Op(expr) => self.apart(scope, |machine| machine.eval(&expr)),
            // RouterOS: calling a value that is not a function yields the value.
            other => Ok(other),
        }
    }

    /// Prepares a condition for many rows: evaluates all parts that do not depend on a row.
    pub(crate) fn prepare(&mut self, menu: &'static menu::Menu, expr: &Expr) -> Result<Condition> {
        self.step()?;
        let is_flag = |name: &str| {
            let flag = menu.flags.iter().any(|flag| flag.name == name);
            flag && menu.property(name).is_none()
        };
        Ok(match &expr.node {
            Node::Property(name) if is_flag(name) => Condition::Flag(name),
            Node::Property(name) => Condition::Cell(name),
            Node::Group(inner) => self.prepare(menu, inner)?,
            Node::Unary(operator, inner) if *operator != Unary::Quote => {
                Condition::Unary(*operator, Box::new(self.prepare(menu, inner)?))
            }
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.prepare(menu, left)?, self.prepare(menu, right)?);
                match (*operator, right) {
                    (Binary::Match, Condition::Value(pattern)) => {
                        let pattern = bytes::to_bytes(&pattern.to_string());
                        Condition::Match(Box::new(left), Regex::new(&pattern))
                    }
                    (operator, right) => {
                        Condition::Binary(operator, Box::new(left), Box::new(right))
                    }
                }
            }
            _ => Condition::Value(self.eval(expr)?),
        })
    }
}

/// True if the brackets contain no command.
fn runs_nothing(block: &Block) -> bool {
    let mut statements = block.statements.iter();
    statements.all(|statement| {
        matches!(
            statement.what,
            StatementKind::Enter(_) | StatementKind::Empty(_)
        )
    })
}

/// A condition that depends on the cells of one row only.
pub(crate) enum Condition {
    Value(Value),
    Cell(&'static str),
    /// A flag of the menu; rows that do not report the flag have it off.
    Flag(&'static str),
    Unary(Unary, Box<Self>),
    Binary(Binary, Box<Self>, Box<Self>),
    /// A regular expression; `None` if it is invalid, which matches nothing.
    Match(Box<Self>, Option<Regex>),
}

impl Condition {
    /// True if a row meets the condition. A condition that cannot be computed is false.
    pub(crate) fn holds(&self, row: &Row) -> bool {
        match self {
            // A bare property is true if it is set; a Boolean property is true if its value is true.
            Self::Cell(name) => match row.get(name) {
                Some(menu::Value::Bool(value)) => *value,
                Some(value) => !value.is_empty(),
                None => *name == ".id" && row.id.is_some(),
            },
            Self::Flag(name) => row.is(name),
            other => other
                .of(row)
                .and_then(|value| value.truth())
                .unwrap_or(false),
        }
    }

    fn of(&self, row: &Row) -> Option<Value> {
        Some(match self {
            Self::Value(value) => value.clone(),
            Self::Cell(".id") => row.id.map_or(Value::Nothing, Value::Id),
            Self::Cell(name) => row.get(name).map_or(Value::Nothing, Value::from),
            Self::Flag(name) => Value::Bool(row.is(name)),
            Self::Unary(Unary::Not, inner) => Value::Bool(!inner.holds(row)),
            Self::Unary(operator, inner) => unary(*operator, &inner.of(row)?).ok()?,
            Self::Binary(Binary::And | Binary::Both, a, b) => {
                Value::Bool(a.holds(row) && b.holds(row))
            }
            Self::Binary(Binary::Or, a, b) => Value::Bool(a.holds(row) || b.holds(row)),
            Self::Binary(operator @ (Binary::Equal | Binary::Unequal), a, b) => {
                let equal = cell_equals(&a.of(row)?, &b.of(row)?);
                Value::Bool(equal == (*operator == Binary::Equal))
            }
            Self::Binary(operator, a, b) => binary(*operator, &a.of(row)?, &b.of(row)?).ok()?,
            Self::Match(inner, pattern) => {
                let text = inner.of(row)?.to_string();
                let matches = pattern
                    .as_ref()
                    .is_some_and(|p| p.matches(&bytes::to_bytes(&text)));
                Value::Bool(matches)
            }
        })
    }

    /// Collects the equality comparisons that must hold for the condition to hold, so that large tables can
    /// look rows up.
    pub(crate) fn equalities<'c>(&'c self, found: &mut Vec<(&'static str, &'c Value)>) {
        match self {
            Self::Binary(Binary::And | Binary::Both, a, b) => {
                a.equalities(found);
                b.equalities(found);
            }
            Self::Binary(Binary::Equal, a, b) => {
                if let (Self::Cell(name), Self::Value(value)) = (&**a, &**b) {
                    found.push((name, value));
                }
            }
            _ => {}
        }
    }
}

/// Compares a cell with a value by spelling. An unset cell and a flag that is off equal `no` and the empty
/// string.
fn cell_equals(cell: &Value, value: &Value) -> bool {
    match (cell, value) {
        (Value::Nothing, Value::Bool(value)) | (Value::Bool(value), Value::Nothing) => !value,
        (Value::Nothing, other) | (other, Value::Nothing) => other.is_empty(),
        (Value::Array(values), other) if !matches!(other, Value::Array(_)) => {
            let texts: Vec<_> = values.iter().map(|(_, value)| value.to_string()).collect();
            texts.join(",") == other.to_string().replace(';', ",")
        }
        (a, b) => a.equals(b),
    }
}
