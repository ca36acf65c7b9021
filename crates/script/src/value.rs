//! Values of scripts, and how they become each other.

use std::cmp::Ordering;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use menu::{Id, bytes, time};

use crate::ast::{Block, Expr};
use crate::il;

/// A value of a script.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing: a variable without a value.
    #[default]
    Nothing,
    /// The absence of a result, such as that of a search.
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Num(i64),
    /// A span of time in nanoseconds.
    Time(i64),
    /// Text.
    Str(String),
    /// An address.
    Ip(IpAddr),
    /// A network.
    Prefix(IpNet),
    /// The id of an item.
    Id(Id),
    /// Values with keys or without; those with keys are sorted by them.
    Array(Vec<(Option<String>, Self)>),
    /// Code.
    Code(Arc<Block>),
    /// An expression as a value.
    Op(Arc<Expr>),
}

impl Value {
    /// The value that a bare word stands for, by its looks.
    pub fn of_word(word: &str) -> Self {
        match word {
            "true" => return Self::Bool(true),
            "false" => return Self::Bool(false),
            _ => {}
        }
        if let Some(number) = number(word) {
            return Self::Num(number);
        }
        if let Some(id) = Id::parse(word) {
            return Self::Id(id);
        }
        if let Ok(address) = word.parse::<IpAddr>() {
            return Self::Ip(address);
        }
        if let Ok(net) = word.parse::<IpNet>() {
            return Self::Prefix(net);
        }
        let begins = word.bytes().next().is_some_and(|b| b.is_ascii_digit());
        match time::parse(word).filter(|_| begins) {
            Some(nanos) => Self::Time(nanos),
            None => Self::Str(word.to_owned()),
        }
    }

    /// Text as a value.
    pub fn str(text: impl Into<String>) -> Self {
        Self::Str(text.into())
    }

    /// The name of the value's type, as `:typeof` gives it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Num(_) => "num",
            Self::Time(_) => "time",
            Self::Str(_) => "str",
            Self::Ip(IpAddr::V4(_)) => "ip",
            Self::Ip(IpAddr::V6(_)) => "ip6",
            Self::Prefix(IpNet::V4(_)) => "ip-prefix",
            Self::Prefix(IpNet::V6(_)) => "ip6-prefix",
            Self::Id(_) => "id",
            Self::Array(_) => "array",
            Self::Code(_) => "code",
            Self::Op(_) => "op",
        }
    }

    /// Elements of an array, characters of anything else.
    pub fn len(&self) -> usize {
        match self {
            Self::Array(elements) => elements.len(),
            Self::Str(text) => bytes::len(text),
            other => bytes::len(&other.to_string()),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integer that the value is or spells; seconds of a span.
    pub fn to_num(&self) -> Option<i64> {
        match self {
            Self::Num(value) => Some(*value),
            Self::Bool(value) => Some(i64::from(*value)),
            Self::Time(nanos) => Some(nanos / time::SECOND),
            Self::Id(id) => i64::try_from(id.0).ok(),
            Self::Str(text) => number(text.trim()),
            Self::Ip(IpAddr::V4(address)) => Some(i64::from(u32::from(*address))),
            Self::Array(elements) => match &elements[..] {
                [(None, single)] => single.to_num(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The truth that the value is or spells.
    pub fn to_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Num(value) => Some(*value != 0),
            Self::Str(text) => match text.as_str() {
                "true" | "yes" => Some(true),
                "false" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// The span in nanoseconds that the value is or spells.
    pub fn to_time(&self) -> Option<i64> {
        match self {
            Self::Time(nanos) => Some(*nanos),
            Self::Num(seconds) => seconds.checked_mul(time::SECOND),
            Self::Str(text) => time::parse(text),
            _ => None,
        }
    }

    /// The elements of an array; a text is split at commas, anything else is alone.
    pub fn to_array(&self) -> Vec<(Option<String>, Self)> {
        match self {
            Self::Array(elements) => elements.clone(),
            Self::Nothing | Self::Nil => Vec::new(),
            Self::Str(text) if text.is_empty() => Vec::new(),
            Self::Str(text) => text
                .split(',')
                .map(|part| (None, Self::of_word(part)))
                .collect(),
            other => vec![(None, other.clone())],
        }
    }

    /// Puts an element under a key into an array; those with keys are sorted.
    pub fn insert(elements: &mut Vec<(Option<String>, Self)>, key: String, value: Self) {
        let keyed = elements
            .iter()
            .position(|(k, _)| k.is_some())
            .unwrap_or(elements.len());
        match elements[keyed..].binary_search_by(|(k, _)| k.as_deref().cmp(&Some(&key))) {
            Ok(index) => elements[keyed + index].1 = value,
            Err(index) => elements.insert(keyed + index, (Some(key), value)),
        }
    }

    /// Whether two values are equal as conditions see it: of one type, or spelled alike.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Num(a), Self::Num(b)) | (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bool(_), _) | (_, Self::Bool(_)) => {
                self.to_bool().is_some() && self.to_bool() == other.to_bool()
            }
            (Self::Time(_), _) | (_, Self::Time(_)) => self.to_time() == other.to_time(),
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .all(|((k, x), (l, y))| k == l && x.equals(y))
            }
            (Self::Nothing | Self::Nil, Self::Nothing | Self::Nil) => true,
            _ => self.to_string() == other.to_string(),
        }
    }

    /// Which of two values is greater; `None` if they cannot be compared.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Ip(a), Self::Ip(b)) => Some(a.cmp(b)),
            (Self::Time(_), _) | (_, Self::Time(_)) => Some(self.to_time()?.cmp(&other.to_time()?)),
            (Self::Str(a), Self::Str(b)) => match (number(a), number(b)) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => Some(a.cmp(b)),
            },
            _ => match (self.to_num(), other.to_num()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => None,
            },
        }
    }
}

fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing | Self::Nil => Ok(()),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Num(value) => write!(f, "{value}"),
            Self::Time(nanos) => f.write_str(&time::clock_text(*nanos)),
            Self::Str(text) => f.write_str(text),
            Self::Ip(address) => write!(f, "{address}"),
            Self::Prefix(net) => write!(f, "{net}"),
            Self::Id(id) => write!(f, "{id}"),
            Self::Array(elements) => {
                for (index, (key, value)) in elements.iter().enumerate() {
                    if index > 0 {
                        f.write_str(";")?;
                    }
                    if let Some(key) = key {
                        write!(f, "{key}=")?;
                    }
                    write!(f, "{value}")?;
                }
                Ok(())
            }
            Self::Code(code) => f.write_str(&il::code(code).unwrap_or_default()),
            Self::Op(value) => f.write_str(&il::expression(value).unwrap_or_default()),
        }
    }
}

impl From<&menu::Value> for Value {
    fn from(value: &menu::Value) -> Self {
        match value {
            menu::Value::Bool(value) => Self::Bool(*value),
            menu::Value::Number(value) => Self::Num(*value),
            menu::Value::Time(nanos) => Self::Time(*nanos),
            menu::Value::Address(address) => Self::Ip(*address),
            menu::Value::List(values)
                if !values.iter().any(|v| matches!(v, menu::Value::Gateway(_))) =>
            {
                Self::Array(
                    values
                        .iter()
                        .map(|value| (None, Self::from(value)))
                        .collect(),
                )
            }
            // RouterOS: an address with a length is text, a network is a prefix.
            menu::Value::Prefix(net) if net.addr() == net.network() => Self::Prefix(*net),
            other => Self::Str(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_the_type_that_it_looks_like() {
        let kinds = [
            ("5", "num"),
            ("0x1f", "num"),
            ("1d2h", "time"),
            ("00:00:05", "time"),
            ("10.0.0.1", "ip"),
            ("10.0.0.0/8", "ip-prefix"),
            ("fe80::1", "ip6"),
            ("2001:db8::/32", "ip6-prefix"),
            ("*1F", "id"),
            ("true", "bool"),
            ("ether1", "str"),
            ("-3", "num"),
        ];
        for (word, kind) in kinds {
            assert_eq!(Value::of_word(word).type_name(), kind, "{word}");
        }
    }

    #[test]
    fn keys_of_an_array_are_sorted_and_unique() {
        let mut elements = vec![(None, Value::Num(0))];
        for key in ["b", "a", "c", "b"] {
            Value::insert(&mut elements, key.to_owned(), Value::str(key));
        }

        assert_eq!(Value::Array(elements).to_string(), "0;a=a;b=b;c=c");
    }
}
