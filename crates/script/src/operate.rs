//! Unary and binary operators on values.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use menu::{Reason, bytes};

use crate::ast::{Binary, Unary};
use crate::regex::Regex;
use crate::value::{Elements, Value};

type Result<T> = std::result::Result<T, Reason>;

fn wrong(text: String) -> Reason {
    Reason::Script(text)
}

/// Applies a unary operator.
pub(crate) fn unary(operator: Unary, value: &Value) -> Result<Value> {
    match (operator, value) {
        (Unary::Not, value) => match value.truth() {
            Some(value) => Ok(Value::Bool(!value)),
            None => Err(wrong(format!("cannot negate {}", value.type_words()))),
        },
        (Unary::Minus, Value::Time(nanos)) => Ok(Value::Time(nanos.wrapping_neg())),
        (Unary::Minus, value) => number(value)
            .map(|n| Value::Num(n.wrapping_neg()))
            .ok_or_else(|| wrong(format!("cannot negate {}", value.type_words()))),
        (Unary::Complement, Value::Ip(IpAddr::V4(ip))) => {
            Ok(Value::Ip(Ipv4Addr::from(!u32::from(*ip)).into()))
        }
        (Unary::Complement, Value::Ip(IpAddr::V6(ip))) => {
            Ok(Value::Ip(Ipv6Addr::from(!u128::from(*ip)).into()))
        }
        (Unary::Complement, value) => number(value)
            .map(|n| Value::Num(!n))
            .ok_or_else(|| wrong(format!("cannot invert {}", value.type_words()))),
        (Unary::Any, value) => Ok(Value::Bool(!value.is_empty())),
        (Unary::Quote, value) => Ok(value.clone()),
    }
}

/// Applies a binary operator.
pub(crate) fn binary(operator: Binary, a: &Value, b: &Value) -> Result<Value> {
    use std::cmp::Ordering::{Greater, Less};
    let order = |words: &str| {
        a.compare(b).ok_or_else(|| {
            let (a, b) = (a.type_words(), b.type_words());
            wrong(format!("cannot compare if {a} is {words} {b}"))
        })
    };
    Ok(match operator {
        Binary::Equal => Value::Bool(a.equals(b)),
        Binary::Unequal => Value::Bool(!a.equals(b)),
        Binary::Less => Value::Bool(order("less than")? == Less),
        Binary::Greater => Value::Bool(order("more than")? == Greater),
        Binary::AtMost => Value::Bool(order("less than or equal to")? != Greater),
        Binary::AtLeast => Value::Bool(order("more than or equal to")? != Less),
        Binary::And | Binary::Both => Value::Bool(truth(a)? && truth(b)?),
        Binary::Or => Value::Bool(truth(a)? || truth(b)?),
        Binary::Match => {
            let regex = Regex::new(&bytes::to_bytes(&b.text()));
            let text = bytes::to_bytes(&a.text());
            Value::Bool(regex.is_some_and(|regex| regex.matches(&text)))
        }
        Binary::In => Value::Bool(is_in(a, b)),
        Binary::Concat => concat(a, b),
        Binary::Comma => {
            let mut elements = operand(a);
            for (key, value) in operand(b) {
                match key {
                    Some(key) => Value::insert(&mut elements, key, value),
                    None => Value::push(&mut elements, value),
                }
            }
            Value::array(elements)
        }
        // Calls are handled by the interpreter.
        Binary::Call => a.clone(),
        Binary::Index => a.element(b).cloned().unwrap_or_default(),
        _ => arithmetic(operator, a, b)?,
    })
}

/// Returns the elements that an operand of the comma operator adds to the array. RouterOS: a string is one
/// element, even if it contains commas.
fn operand(value: &Value) -> Elements {
    match value {
        Value::Str(text) if !text.is_empty() => vec![(None, value.clone())],
        other => other.to_array(),
    }
}

fn truth(value: &Value) -> Result<bool> {
    value
        .truth()
        .ok_or_else(|| wrong(format!("{} is not a truth value", value.type_words())))
}

fn is_in(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Ip(address), Value::Prefix(net)) => net.contains(address),
        (Value::Prefix(inner), Value::Prefix(net)) => net.contains(inner),
        (value, Value::Array(elements)) => {
            elements.iter().any(|(_, element)| element.equals(value))
        }
        // A string that spells an address or prefix is converted first.
        (Value::Str(text), Value::Prefix(_)) => match Value::of_word(text) {
            Value::Str(text) => text
                .parse::<ipnet::IpNet>()
                .is_ok_and(|net| is_in(&Value::Prefix(net), b)),
            typed => is_in(&typed, b),
        },
        (value, Value::Str(text)) => match Value::of_word(text) {
            net @ Value::Prefix(_) => is_in(value, &net),
            _ => false,
        },
        _ => false,
    }
}

/// Concatenates two values as strings. For an array, concatenates element by element.
fn concat(a: &Value, b: &Value) -> Value {
    let join = |x: &Value, y: &Value| Value::str(format!("{x}{y}"));
    let over = |elements: &[(Option<String>, Value)], f: &dyn Fn(&Value) -> Value| {
        let each = elements.iter().map(|(key, value)| (key.clone(), f(value)));
        Value::array(each.collect())
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

/// Returns the integer value of an operand; an unset value is 0.
fn number(value: &Value) -> Option<i64> {
    if value.is_none() {
        return Some(0);
    }
    value.to_num()
}

fn arithmetic(operator: Binary, a: &Value, b: &Value) -> Result<Value> {
    if let (Value::Ip(IpAddr::V4(x)), Value::Ip(IpAddr::V4(y))) = (a, b) {
        let bits = bits(operator, i64::from(u32::from(*x)), i64::from(u32::from(*y)))?;
        return Ok(if operator == Binary::Subtract {
            Value::Num(bits)
        } else {
            address(bits)
        });
    }
    if matches!(a, Value::Ip(IpAddr::V6(_))) || matches!(b, Value::Ip(IpAddr::V6(_))) {
        return wide(operator, a, b).ok_or_else(|| refused(operator, a, b));
    }
    if let (Value::Ip(IpAddr::V4(x)), Some(y)) = (a, number(b)) {
        return bits(operator, i64::from(u32::from(*x)), y).map(address);
    }
    if let (Some(x), Value::Ip(IpAddr::V4(y)), Binary::Add) = (number(a), b, operator) {
        return bits(operator, x, i64::from(u32::from(*y))).map(address);
    }
    if matches!(a, Value::Time(_)) || matches!(b, Value::Time(_)) {
        return spans(operator, a, b);
    }
    let (Some(x), Some(y)) = (number(a), number(b)) else {
        return Err(refused(operator, a, b));
    };
    bits(operator, x, y).map(Value::Num)
}

/// Error message for operands that an operator does not accept.
fn refused(operator: Binary, a: &Value, b: &Value) -> Reason {
    let (a, b) = (a.type_words(), b.type_words());
    wrong(match operator {
        Binary::Add => format!("cannot add {b} to {a}"),
        Binary::Subtract => format!("cannot subtract {b} from {a}"),
        Binary::Multiply => format!("cannot multiply {a} by {b}"),
        Binary::Divide => format!("cannot divide {a} by {b}"),
        Binary::Modulo => format!("cannot divide {a} by {b} with remainder"),
        Binary::ShiftLeft | Binary::ShiftRight => format!("cannot shift {a} by {b}"),
        _ => format!("cannot combine bits of {a} and {b}"),
    })
}

/// RouterOS: address arithmetic wraps around after the last address.
fn address(number: i64) -> Value {
    Value::Ip(Ipv4Addr::from(number as u32).into())
}

/// Bit operations on IPv6 addresses, and addition of an offset.
fn wide(operator: Binary, a: &Value, b: &Value) -> Option<Value> {
    let wide = |value: &Value| match value {
        Value::Ip(IpAddr::V6(ip)) => Some(u128::from(*ip)),
        _ => None,
    };
    let result = match (operator, wide(a), wide(b)) {
        (Binary::BitAnd, Some(x), Some(y)) => x & y,
        (Binary::BitOr, Some(x), Some(y)) => x | y,
        (Binary::BitXor, Some(x), Some(y)) => x ^ y,
        (Binary::Add, Some(x), None) => x.wrapping_add_signed(number(b)?.into()),
        (Binary::Subtract, Some(x), None) => x.wrapping_sub(i128::from(number(b)?).cast_unsigned()),
        (Binary::Subtract, Some(x), Some(y)) => {
            return i64::try_from(x.wrapping_sub(y).cast_signed())
                .ok()
                .map(Value::Num);
        }
        _ => return None,
    };
    Some(Value::Ip(Ipv6Addr::from(result).into()))
}

fn spans(operator: Binary, a: &Value, b: &Value) -> Result<Value> {
    let nanos = |value: &Value| {
        if value.is_none() {
            Some(0)
        } else {
            value.to_time()
        }
    };
    let both = nanos(a).zip(nanos(b));
    match (operator, a, b) {
        (Binary::Add | Binary::Subtract | Binary::Modulo, ..) => {
            let (x, y) = both.ok_or_else(|| refused(operator, a, b))?;
            bits(operator, x, y).map(Value::Time)
        }
        (Binary::Divide, Value::Time(x), Value::Time(y)) => bits(operator, *x, *y).map(Value::Num),
        (Binary::Multiply | Binary::Divide, Value::Time(nanos), other)
        | (Binary::Multiply, other, Value::Time(nanos)) => {
            let number = number(other).ok_or_else(|| refused(operator, a, b))?;
            bits(operator, *nanos, number).map(Value::Time)
        }
        _ => Err(refused(operator, a, b)),
    }
}

fn bits(operator: Binary, x: i64, y: i64) -> Result<i64> {
    let by_zero = || wrong("division by zero".to_owned());
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
        other => return Err(wrong(format!("cannot apply {other:?} to numbers"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the type and value of the result, or the error message.
    fn of(a: &str, operator: Binary, b: &str) -> String {
        match binary(operator, &Value::of_word(a), &Value::of_word(b)) {
            Ok(value) => format!("{} {value}", value.type_name()),
            Err(reason) => reason.to_string(),
        }
    }

    #[test]
    fn every_operator_works_on_every_supported_type() {
        use Binary::*;
        let cases = [
            ("3", Add, "4", "num 7"),
            ("1", Subtract, "6", "num -5"),
            ("4", Multiply, "5", "num 20"),
            ("7", Divide, "2", "num 3"),
            ("5", Modulo, "3", "num 2"),
            ("1", Divide, "0", "division by zero"),
            ("9223372036854775807", Add, "1", "num -9223372036854775808"),
            ("192.168.88.77", BitAnd, "255.255.255.0", "ip 192.168.88.0"),
            ("192.168.88.0", BitOr, "0.0.0.255", "ip 192.168.88.255"),
            ("1.1.1.1", BitXor, "255.255.0.0", "ip 254.254.1.1"),
            ("2001::1111", BitAnd, "ffff::", "ip6 2001::"),
            ("2001::1", BitOr, "::ffff", "ip6 2001::ffff"),
            ("2001:db8::ffff", Add, "1", "ip6 2001:db8::1:0"),
            ("192.168.88.77", ShiftRight, "24", "ip 0.0.0.192"),
            ("192.168.88.77", ShiftLeft, "8", "ip 168.88.77.0"),
            ("10.0.0.250", Add, "10", "ip 10.0.1.4"),
            ("10.0.1.4", Subtract, "10.0.0.250", "num 10"),
            ("255.255.255.255", Add, "1", "ip 0.0.0.0"),
            ("1h", Add, "30m", "time 01:30:00"),
            ("1m", Subtract, "90s", "time -00:00:30"),
            ("10s", Multiply, "3", "time 00:00:30"),
            ("3", Multiply, "10s", "time 00:00:30"),
            ("1m", Divide, "7s", "num 8"),
            ("1m", Divide, "4", "time 00:00:15"),
            ("1m", Add, "5", "time 00:01:05"),
            ("6", BitAnd, "3", "num 2"),
            ("1", ShiftLeft, "70", "num 0"),
            ("10.0.0.1", In, "10.0.0.0/8", "bool true"),
            ("1.1.1.1/32", In, "1.0.0.0/8", "bool true"),
            ("2001:db8::1", In, "2001:db8::/32", "bool true"),
            ("10.0.0.1", In, "11.0.0.0/8", "bool false"),
            ("abc", Match, "b.$", "bool true"),
            ("abc", Add, "1", "cannot add integer number to string"),
            (
                "abc",
                Less,
                "1",
                "cannot compare if string is less than integer number",
            ),
            ("10.0.0.2", Greater, "10.0.0.1", "bool true"),
            ("90s", AtMost, "1m30s", "bool true"),
            ("a", Concat, "1", "str a1"),
            ("5", Equal, "5", "bool true"),
        ];
        for (a, operator, b, expected) in cases {
            assert_eq!(of(a, operator, b), expected, "{a} {operator:?} {b}");
        }
        let inverted = unary(Unary::Complement, &Value::of_word("0.0.0.255"));
        assert_eq!(inverted.map(|v| v.to_string()), Ok("255.255.255.0".into()));
    }
}
