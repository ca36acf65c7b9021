//! Expressions.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use menu::{Reason, Row, bytes};

use crate::ast::{Binary, Expr, Node, Unary};
use crate::machine::{Machine, Result, Variable};
use crate::regex::Regex;
use crate::value::Value;

impl Machine<'_> {
    /// The value of an expression.
    pub(crate) fn eval(&mut self, expr: &Expr) -> Result<Value> {
        self.step()?;
        let value = match &expr.node {
            Node::Word(word) => Value::of_word(word),
            Node::Text(text) => Value::Str(text.clone()),
            Node::Joined(parts) => {
                let mut text = String::new();
                for part in parts {
                    let piece = self.eval(part)?.to_string();
                    self.charge(piece.len())?;
                    text.push_str(&piece);
                }
                Value::Str(bytes::whole(text))
            }
            Node::Variable(name) => self.variable(name),
            // Outside the condition of a row a property is nothing.
            Node::Property(_) => Value::Nothing,
            Node::Brackets(block) => self.deeper(|machine| machine.block(block))?,
            Node::Code(block) => Value::Code(Arc::clone(block)),
            Node::Array(elements) => self.array(elements)?,
            Node::Group(inner) => self.eval(inner)?,
            Node::Unary(Unary::Quote, inner) => match &inner.node {
                Node::Code(block) | Node::Brackets(block) => Value::Code(Arc::clone(block)),
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

    fn array(&mut self, elements: &[(Option<Expr>, Expr)]) -> Result<Value> {
        let mut values = Vec::with_capacity(elements.len());
        for (key, element) in elements {
            let key = key.as_ref().map(|key| self.eval(key)).transpose()?;
            let value = self.eval(element)?;
            self.charge(size_of::<Value>() * 2)?;
            match key {
                Some(key) => Value::insert(&mut values, key.to_string(), value),
                None => {
                    let keyed = values.iter().position(|(k, _)| k.is_some());
                    values.insert(keyed.unwrap_or(values.len()), (None, value));
                }
            }
        }
        Ok(Value::Array(values))
    }

    fn binary(
        &mut self,
        operator: Binary,
        left: &Expr,
        right: &Expr,
        whole: &Expr,
    ) -> Result<Value> {
        let first = self.eval(left)?;
        // The right side is not looked at where the left decides.
        match (operator, first.to_bool()) {
            (Binary::And | Binary::Both, Some(false)) => return Ok(Value::Bool(false)),
            (Binary::Or, Some(true)) => return Ok(Value::Bool(true)),
            _ => {}
        }
        let second = self.eval(right)?;
        if operator == Binary::Call {
            return self.apply(first, second);
        }
        if matches!(operator, Binary::Concat | Binary::Comma) {
            self.charge(weight(&first).saturating_add(weight(&second)))?;
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
            scope.insert(
                "0".to_owned(),
                Variable::Local(Value::Str(format!("${name}"))),
            );
        }
        // RouterOS: what is called by an expression has its first argument as `$0`.
        let mut number: usize = scope.len();
        for (name, argument) in arguments {
            let argument = Variable::Local(self.eval(argument)?);
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

    /// A function with the elements of an array as its arguments.
    fn apply(&mut self, function: Value, arguments: Value) -> Result<Value> {
        let mut scope = BTreeMap::new();
        for (index, (name, value)) in arguments.to_array().into_iter().enumerate() {
            let name = name.unwrap_or_else(|| index.to_string());
            scope.insert(name, Variable::Local(value));
        }
        self.call_with(function, scope)
    }

    fn call_with(&mut self, value: Value, scope: BTreeMap<String, Variable>) -> Result<Value> {
        match value {
            Value::Code(code) => self.call(&code, scope),
            Value::Op(expr) => {
                let outer = std::mem::replace(&mut self.scopes, vec![scope]);
                let result = self.deeper(|machine| machine.eval(&expr));
                self.scopes = outer;
                result
            }
            // RouterOS: what is no function is its value.
            other => Ok(other),
        }
    }

    /// The condition with everything but the row's cells computed.
    pub(crate) fn prepare(&mut self, expr: &Expr) -> Result<Condition> {
        self.step()?;
        Ok(match &expr.node {
            Node::Property(name) => Condition::Cell(name),
            Node::Group(inner) => self.prepare(inner)?,
            Node::Unary(operator, inner) if *operator != Unary::Quote => {
                Condition::Unary(*operator, Box::new(self.prepare(inner)?))
            }
            Node::Binary(operator, left, right) => {
                let (left, right) = (self.prepare(left)?, self.prepare(right)?);
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

/// A condition that depends on nothing but a row.
pub(crate) enum Condition {
    Value(Value),
    Cell(&'static str),
    Unary(Unary, Box<Self>),
    Binary(Binary, Box<Self>, Box<Self>),
    /// A pattern; `None` matches nothing because it is none.
    Match(Box<Self>, Option<Regex>),
}

impl Condition {
    /// Whether a row fulfils the condition. What cannot be computed is not fulfilled.
    pub(crate) fn holds(&self, row: &Row) -> bool {
        match self {
            // A bare property asks whether it is set, and whether a Boolean is true.
            Self::Cell(name) => match row.get(name) {
                Some(menu::Value::Bool(value)) => *value,
                Some(value) => !value.is_empty(),
                None => *name == ".id" && row.id.is_some(),
            },
            other => other
                .of(row)
                .and_then(|value| value.to_bool())
                .unwrap_or(false),
        }
    }

    fn of(&self, row: &Row) -> Option<Value> {
        Some(match self {
            Self::Value(value) => value.clone(),
            Self::Cell(".id") => row.id.map_or(Value::Nothing, Value::Id),
            Self::Cell(name) => row.get(name).map_or(Value::Nothing, Value::from),
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

    /// The cells that must have certain values for the condition to hold: what providers of many
    /// rows can look up by.
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

/// A cell and a value are equal if they are spelled alike; an unset cell and a flag that is off
/// are `no` and empty.
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

fn weight(value: &Value) -> usize {
    match value {
        Value::Str(text) => text.len(),
        Value::Array(elements) => elements.len() * size_of::<Value>() * 2,
        _ => size_of::<Value>(),
    }
}

fn unary(operator: Unary, value: &Value) -> std::result::Result<Value, Reason> {
    let wrong = |what: &str| Reason::Script(format!("cannot {what} {}", value.type_name()));
    match (operator, value) {
        (Unary::Not, value) => match value.to_bool() {
            Some(value) => Ok(Value::Bool(!value)),
            None if matches!(value, Value::Nothing | Value::Nil) => Ok(Value::Bool(true)),
            None => Err(wrong("negate")),
        },
        (Unary::Minus, Value::Time(nanos)) => Ok(Value::Time(nanos.wrapping_neg())),
        (Unary::Minus, value) => value
            .to_num()
            .map(|n| Value::Num(n.wrapping_neg()))
            .ok_or_else(|| wrong("negate")),
        (Unary::Complement, Value::Ip(IpAddr::V4(ip))) => {
            Ok(Value::Ip(IpAddr::V4(Ipv4Addr::from(!u32::from(*ip)))))
        }
        (Unary::Complement, value) => value
            .to_num()
            .map(|n| Value::Num(!n))
            .ok_or_else(|| wrong("invert")),
        (Unary::Any, value) => Ok(Value::Bool(!value.is_empty())),
        (Unary::Quote, value) => Ok(value.clone()),
    }
}

/// The result of an operator on two values.
pub(crate) fn binary(operator: Binary, a: &Value, b: &Value) -> std::result::Result<Value, Reason> {
    use std::cmp::Ordering::{Greater, Less};
    let order = || a.compare(b);
    Ok(match operator {
        Binary::Equal => Value::Bool(a.equals(b)),
        Binary::Unequal => Value::Bool(!a.equals(b)),
        Binary::Less => Value::Bool(order() == Some(Less)),
        Binary::Greater => Value::Bool(order() == Some(Greater)),
        Binary::AtMost => Value::Bool(order().is_some_and(|order| order != Greater)),
        Binary::AtLeast => Value::Bool(order().is_some_and(|order| order != Less)),
        Binary::And | Binary::Both => Value::Bool(truth(a)? && truth(b)?),
        Binary::Or => Value::Bool(truth(a)? || truth(b)?),
        Binary::Match => {
            let regex = Regex::new(&bytes::to_bytes(&b.to_string()));
            let text = bytes::to_bytes(&a.to_string());
            Value::Bool(regex.is_some_and(|regex| regex.matches(&text)))
        }
        Binary::In => Value::Bool(is_in(a, b)),
        Binary::Concat => concat(a, b),
        Binary::Comma => {
            let mut elements = a.to_array();
            for (key, value) in b.to_array() {
                match key {
                    Some(key) => Value::insert(&mut elements, key, value),
                    None => elements.push((None, value)),
                }
            }
            Value::Array(elements)
        }
        Binary::Index => index(a, b),
        // Only a machine can call.
        Binary::Call => a.clone(),
        _ => arithmetic(operator, a, b)?,
    })
}

fn truth(value: &Value) -> std::result::Result<bool, Reason> {
    match value {
        Value::Nothing | Value::Nil => Ok(false),
        value => value.to_bool().ok_or_else(|| {
            Reason::Script(format!("expected truth value, got {}", value.type_name()))
        }),
    }
}

fn is_in(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Ip(address), Value::Prefix(net)) => net.contains(address),
        (Value::Prefix(inner), Value::Prefix(net)) => net.contains(inner),
        (value, Value::Array(elements)) => {
            elements.iter().any(|(_, element)| element.equals(value))
        }
        _ => false,
    }
}

/// Texts one after the other; an array takes each element for itself.
fn concat(a: &Value, b: &Value) -> Value {
    let join = |x: &Value, y: &Value| Value::Str(format!("{x}{y}"));
    let over = |elements: &[(Option<String>, Value)], f: &dyn Fn(&Value) -> Value| {
        Value::Array(
            elements
                .iter()
                .map(|(key, value)| (key.clone(), f(value)))
                .collect(),
        )
    };
    match (a, b) {
        (Value::Array(elements), other) if !matches!(other, Value::Array(_)) => {
            over(elements, &|element| join(element, other))
        }
        (other, Value::Array(elements)) if !matches!(other, Value::Array(_)) => {
            over(elements, &|element| join(other, element))
        }
        _ => join(a, b),
    }
}

/// The element of an array at a key or number.
fn index(array: &Value, key: &Value) -> Value {
    let Value::Array(elements) = array else {
        return Value::Nothing;
    };
    let name = key.to_string();
    if let Some((_, value)) = elements.iter().find(|(k, _)| k.as_deref() == Some(&name)) {
        return value.clone();
    }
    let number = match key {
        Value::Num(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    number
        .and_then(|number| elements.get(number))
        .map_or(Value::Nothing, |(_, v)| v.clone())
}

fn arithmetic(operator: Binary, a: &Value, b: &Value) -> std::result::Result<Value, Reason> {
    if let (Value::Ip(IpAddr::V4(x)), Value::Ip(IpAddr::V4(y))) = (a, b) {
        return bits(operator, i64::from(u32::from(*x)), i64::from(u32::from(*y))).map(|n| {
            if operator == Binary::Subtract {
                Value::Num(n)
            } else {
                address(n)
            }
        });
    }
    if let (Value::Ip(IpAddr::V4(x)), Some(y)) = (a, b.to_num()) {
        return bits(operator, i64::from(u32::from(*x)), y).map(address);
    }
    if matches!(a, Value::Time(_)) || matches!(b, Value::Time(_)) {
        return spans(operator, a, b);
    }
    let name = format!("{operator:?}").to_lowercase();
    let (Some(x), Some(y)) = (a.to_num(), b.to_num()) else {
        let types = format!("{} and {}", a.type_name(), b.type_name());
        return Err(Reason::Script(format!("cannot {name} {types}")));
    };
    bits(operator, x, y).map(Value::Num)
}

fn address(number: i64) -> Value {
    Value::Ip(IpAddr::V4(Ipv4Addr::from(number as u32)))
}

fn spans(operator: Binary, a: &Value, b: &Value) -> std::result::Result<Value, Reason> {
    let wrong = || Reason::Script("cannot compute with these times".to_owned());
    match operator {
        Binary::Add | Binary::Subtract => {
            let (x, y) = (
                a.to_time().ok_or_else(wrong)?,
                b.to_time().ok_or_else(wrong)?,
            );
            bits(operator, x, y).map(Value::Time)
        }
        Binary::Divide if matches!((a, b), (Value::Time(_), Value::Time(_))) => bits(
            operator,
            a.to_time().ok_or_else(wrong)?,
            b.to_time().ok_or_else(wrong)?,
        )
        .map(Value::Num),
        Binary::Multiply | Binary::Divide => {
            let (time, number) = if matches!(a, Value::Time(_)) {
                (a, b)
            } else {
                (b, a)
            };
            let number = number.to_num().ok_or_else(wrong)?;
            bits(operator, time.to_time().ok_or_else(wrong)?, number).map(Value::Time)
        }
        _ => Err(wrong()),
    }
}

fn bits(operator: Binary, x: i64, y: i64) -> std::result::Result<i64, Reason> {
    let by_zero = || Reason::Script("division by zero".to_owned());
    let shift = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(match operator {
        Binary::Add => x.wrapping_add(y),
        Binary::Subtract => x.wrapping_sub(y),
        Binary::Multiply => x.wrapping_mul(y),
        Binary::Divide => (y != 0).then(|| x.wrapping_div(y)).ok_or_else(by_zero)?,
        Binary::Modulo => (y != 0).then(|| x.wrapping_rem(y)).ok_or_else(by_zero)?,
        Binary::BitAnd => x & y,
        Binary::BitOr => x | y,
        Binary::BitXor => x ^ y,
        Binary::ShiftLeft => x.checked_shl(shift(y)).unwrap_or(0),
        Binary::ShiftRight => x.checked_shr(shift(y)).unwrap_or(0),
        other => return Err(Reason::Script(format!("{other:?} is not for numbers"))),
    })
}
