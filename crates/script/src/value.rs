//! Script values and conversions between their types.

use std::cmp::Ordering;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use ipnet::IpNet;
use menu::{Id, bytes, time};

use crate::ast::{Block, Expr};
use crate::intermediate;

/// Array elements: those without keys first, then those with keys, sorted.
pub type Elements = Vec<(Option<String>, Value)>;

/// A script value. Cloning is cheap: texts and arrays are shared.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// No value, as of an unset variable.
    #[default]
    Nothing,
    /// An absent result, such as that of an unsuccessful search.
    Nil,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Num(i64),
    /// A duration in nanoseconds.
    Time(i64),
    /// A string.
    Str(Arc<str>),
    /// An IP address.
    Ip(IpAddr),
    /// An IP prefix.
    Prefix(IpNet),
    /// The id of an item.
    Id(Id),
    /// An array; elements may have keys, and are sorted as in [`Elements`].
    Array(Arc<Elements>),
    /// A code block.
    Code(Arc<Block>),
    /// An unevaluated expression.
    Op(Arc<Expr>),
}

impl Value {
    /// Converts a bare word; its spelling decides the type.
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
        if let Some(address) = address(word) {
            return Self::Ip(address);
        }
        if let Some(net) = network(word) {
            return Self::Prefix(net);
        }
        let begins = word.bytes().next().is_some_and(|b| b.is_ascii_digit());
        match time::parse(word).filter(|_| begins) {
            Some(nanos) => Self::Time(nanos),
            None => Self::str(word),
        }
    }

    /// Creates a string.
    pub fn str(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    /// Creates an array.
    pub fn array(elements: Elements) -> Self {
        Self::Array(Arc::new(elements))
    }

    /// Creates an array of values without keys.
    pub fn list(values: impl IntoIterator<Item = Self>) -> Self {
        Self::array(values.into_iter().map(|value| (None, value)).collect())
    }

    /// Creates a function. RouterOS: a function is an array of nil and its code.
    pub fn function(code: Arc<Block>) -> Self {
        Self::list([Self::Nil, Self::Code(code)])
    }

    /// Returns the code of a function or of a `:parse` result.
    pub fn code(&self) -> Option<&Arc<Block>> {
        match self {
            Self::Code(code) => Some(code),
            Self::Array(elements) => match &elements[..] {
                [(None, Self::Nil), (None, Self::Code(code))] => Some(code),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type name that `:typeof` returns.
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

    /// The type name used in error messages.
    pub(crate) const fn type_words(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Nil => "nil",
            Self::Bool(_) => "truth value",
            Self::Num(_) => "integer number",
            Self::Time(_) => "time interval",
            Self::Str(_) => "string",
            Self::Ip(IpAddr::V4(_)) => "ip address",
            Self::Ip(IpAddr::V6(_)) => "ip6 address",
            Self::Prefix(IpNet::V4(_)) => "ip prefix",
            Self::Prefix(IpNet::V6(_)) => "ip6 prefix",
            Self::Id(_) => "internal number",
            Self::Array(_) => "array",
            Self::Code(_) => "code",
            Self::Op(_) => "operation",
        }
    }

    /// True for `Nothing` and `Nil`.
    pub const fn is_none(&self) -> bool {
        matches!(self, Self::Nothing | Self::Nil)
    }

    /// Number of elements of an array, otherwise number of characters.
    pub fn len(&self) -> usize {
        match self {
            Self::Array(elements) => elements.len(),
            Self::Str(text) => bytes::len(text),
            other => bytes::len(&other.to_string()),
        }
    }

    /// True if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Maximum nesting of arrays.
    pub(crate) const NESTED: usize = 100;

    /// Nesting depth of arrays.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Array(elements) => {
                let inner = elements.iter().map(|(_, value)| value.depth());
                1 + inner.max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Memory of the value in bytes, including nested values.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Str(text) => text.len(),
                Self::Array(elements) => elements
                    .iter()
                    .map(|(key, value)| {
                        let key = key.as_ref().map_or(0, String::len);
                        size_of::<String>() + key + value.weight()
                    })
                    .sum(),
                _ => 0,
            }
    }

    /// Returns the value as text; a string is not copied.
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            Self::Str(text) => Arc::clone(text),
            other => other.to_string().into(),
        }
    }

    /// Converts to an integer. A duration becomes seconds.
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

    /// Converts to a Boolean.
    pub fn to_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Num(value) => Some(*value != 0),
            Self::Str(text) => match &**text {
                "true" | "yes" => Some(true),
                "false" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the truth value in a condition; `None` if the value is not allowed as a condition.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self {
            Self::Nothing | Self::Nil => Some(false),
            Self::Id(_) => Some(true),
            // The result of a search for a single item, or an empty result.
            Self::Array(elements) => match &elements[..] {
                [] => Some(false),
                [(None, single)] => single.truth(),
                _ => None,
            },
            Self::Str(text) if text.is_empty() => Some(false),
            other => other.to_bool(),
        }
    }

    /// Converts to a duration in nanoseconds. A date becomes the time since 1970.
    pub fn to_time(&self) -> Option<i64> {
        match self {
            Self::Time(nanos) => Some(*nanos),
            Self::Num(seconds) => seconds.checked_mul(time::SECOND),
            Self::Str(text) => time::parse(text).or_else(|| date(text)),
            _ => None,
        }
    }

    /// Returns the elements of an array. A string is split at commas; any other value becomes the only element.
    pub fn to_array(&self) -> Elements {
        match self {
            Self::Array(elements) => elements.to_vec(),
            other => other.split(","),
        }
    }

    /// Splits a string at a delimiter. The spelling of each part decides its type.
    pub(crate) fn split(&self, delimiter: &str) -> Elements {
        match self {
            Self::Nothing | Self::Nil => Vec::new(),
            Self::Str(text) if text.is_empty() => Vec::new(),
            Self::Str(text) => text
                .split(delimiter)
                .map(|part| (None, Self::of_word(part)))
                .collect(),
            other => vec![(None, other.clone())],
        }
    }

    /// Inserts or replaces an element with a key.
    pub fn insert(elements: &mut Elements, key: String, value: Self) {
        let keyed = elements.partition_point(|(key, _)| key.is_none());
        match elements[keyed..].binary_search_by(|(k, _)| k.as_deref().cmp(&Some(&key))) {
            Ok(index) => elements[keyed + index].1 = value,
            Err(index) => elements.insert(keyed + index, (Some(key), value)),
        }
    }

    /// Appends an element without a key.
    pub fn push(elements: &mut Elements, value: Self) {
        let keyed = elements.partition_point(|(key, _)| key.is_none());
        elements.insert(keyed, (None, value));
    }

    /// Returns the element with a key, or at an index.
    pub(crate) fn element(&self, key: &Self) -> Option<&Self> {
        let Self::Array(elements) = self else {
            return None;
        };
        let keyed = elements.partition_point(|(key, _)| key.is_none());
        if keyed < elements.len() {
            let name = key.text();
            let found =
                elements[keyed..].binary_search_by(|(k, _)| k.as_deref().cmp(&Some(&*name)));
            if let Ok(index) = found {
                return elements.get(keyed + index).map(|(_, value)| value);
            }
        }
        let Self::Num(number) = key else { return None };
        let index = usize::try_from(*number).ok()?;
        elements.get(index).map(|(_, value)| value)
    }

    /// Returns the element with a key or at an index, and creates it if missing.
    pub(crate) fn element_mut(&mut self, key: &Self) -> Option<&mut Self> {
        if !matches!(self, Self::Array(_)) {
            *self = Self::array(self.to_array());
        }
        let Self::Array(shared) = self else {
            return None;
        };
        let elements = Arc::make_mut(shared);
        if let Self::Num(number) = key {
            let index = usize::try_from(*number).unwrap_or(usize::MAX);
            if index >= elements.len() {
                Self::push(elements, Self::Nothing);
                let last = elements.partition_point(|(key, _)| key.is_none());
                return elements.get_mut(last.wrapping_sub(1)).map(|(_, v)| v);
            }
            return elements.get_mut(index).map(|(_, value)| value);
        }
        let name = key.text();
        let keyed = elements.partition_point(|(key, _)| key.is_none());
        let index =
            match elements[keyed..].binary_search_by(|(k, _)| k.as_deref().cmp(&Some(&*name))) {
                Ok(index) => keyed + index,
                Err(index) => {
                    elements.insert(keyed + index, (Some(name.to_string()), Self::Nothing));
                    keyed + index
                }
            };
        elements.get_mut(index).map(|(_, value)| value)
    }

    /// Compares two values as conditions do: by type, otherwise by spelling.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Num(a), Self::Num(b)) | (Self::Time(a), Self::Time(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bool(_), _) | (_, Self::Bool(_)) => {
                self.to_bool().is_some() && self.to_bool() == other.to_bool()
            }
            (Self::Time(_), _) | (_, Self::Time(_)) => {
                self.to_time().is_some() && self.to_time() == other.to_time()
            }
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .zip(&**b)
                        .all(|((k, x), (l, y))| k == l && x.equals(y))
            }
            (Self::Nothing | Self::Nil, Self::Nothing | Self::Nil) => true,
            (Self::Code(a), Self::Code(b)) => Arc::ptr_eq(a, b),
            (Self::Op(a), Self::Op(b)) => Arc::ptr_eq(a, b),
            _ => self.text() == other.text(),
        }
    }

    /// Orders two values; `None` if they cannot be compared.
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

pub(crate) fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u64::from_str_radix(hex, 16).ok().map(u64::cast_signed)
        }
        Some(_) => None,
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    }
}

/// Parses an IP address. RouterOS: `10.1` is `10.0.0.1`.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let parts: Vec<u8> = text
        .split('.')
        .map(|part| part.parse().ok().filter(|_| !part.starts_with('+')))
        .collect::<Option<_>>()?;
    match parts[..] {
        [a, d] => Some(Ipv4Addr::new(a, 0, 0, d).into()),
        [a, b, d] => Some(Ipv4Addr::new(a, b, 0, d).into()),
        _ => None,
    }
}

/// Parses an IP prefix. RouterOS: an address with host bits and a prefix length is a string.
pub(crate) fn network(text: &str) -> Option<IpNet> {
    let net: IpNet = text.parse().ok()?;
    (net.addr() == net.network()).then_some(net)
}

/// Parses `2024-02-29` or `2024-02-29 12:30:00` to nanoseconds since 1970.
fn date(text: &str) -> Option<i64> {
    let (day, clock) = text
        .split_once([' ', 'T'])
        .map_or((text, None), |(day, clock)| (day, Some(clock)));
    let of_day = match clock {
        Some(clock) if clock.contains(':') => time::parse(clock)?,
        Some(_) => return None,
        None => 0,
    };
    time::date(day)?
        .checked_mul(86_400 * time::SECOND)?
        .checked_add(of_day)
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
            Self::Code(code) => f.write_str(&intermediate::code(code).unwrap_or_default()),
            Self::Op(value) => f.write_str(&intermediate::expression(value).unwrap_or_default()),
        }
    }
}

impl From<&menu::Value> for Value {
    fn from(value: &menu::Value) -> Self {
        match value {
            menu::Value::Bool(value) => Self::Bool(*value),
            menu::Value::Number(value)
            | menu::Value::Rate(value)
            | menu::Value::BitRate(value)
            | menu::Value::Kib(value) => Self::Num(*value),
            menu::Value::Time(nanos) => Self::Time(*nanos),
            menu::Value::Address(address) => Self::Ip(*address),
            menu::Value::List(values)
                if !values.iter().any(|v| matches!(v, menu::Value::Gateway(_))) =>
            {
                Self::list(values.iter().map(Self::from))
            }
            // RouterOS: an address with host bits and a prefix length is a string, not a prefix.
            menu::Value::Prefix(net) if net.addr() == net.network() => Self::Prefix(*net),
            other => Self::str(format!("{other:#}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_shows_rates_as_numbers_and_measured_values_without_units() {
        let rate = Value::from(&menu::Value::BitRate(446_600));
        assert_eq!(
            (rate.type_name(), rate.to_string()),
            ("num", "446600".to_owned())
        );
        let drift = Value::from(&menu::Value::Measured(-177, " PPM"));
        assert_eq!(
            (drift.type_name(), drift.to_string()),
            ("str", "-0.177".to_owned())
        );
    }

    #[test]
    fn a_word_gets_its_type_from_its_form() {
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
            ("10.1", "ip"),
            ("10.0.0.1/24", "str"),
            ("0xffffffffffffffff", "num"),
            ("0x+1", "str"),
            ("+1", "str"),
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

        assert_eq!(Value::array(elements).to_string(), "0;a=a;b=b;c=c");
    }

    #[test]
    fn elements_are_found_and_made_by_key_and_number() {
        let mut array = Value::Nothing;
        for (key, value) in [(Value::str("b"), 1), (Value::Num(0), 2), (Value::Num(9), 3)] {
            *array.element_mut(&key).expect("a place") = Value::Num(value);
        }

        // An index also counts elements with keys, and a new element goes after those without keys.
        assert_eq!(array.to_string(), "3;b=2");
        let copy = array.clone();
        *array.element_mut(&Value::str("b")).expect("a place") = Value::Num(7);
        let of_copy = copy.element(&Value::str("b")).map(Value::to_string);
        assert_eq!(of_copy.as_deref(), Some("2"), "a copy is another value");
        assert!(array.element(&Value::str("c")).is_none());
    }

    #[test]
    fn a_date_is_the_time_since_1970() {
        let seconds = |text: &str| Value::str(text).to_time().map(|n| n / time::SECOND);

        assert_eq!(seconds("1970-01-02"), Some(86_400));
        assert_eq!(seconds("2026-11-21 18:57:57"), Some(1_795_287_477));
        assert_eq!(seconds("2000-02-29"), Some(951_782_400));
        for bad in [
            "2000-13-01",
            "2000-1-1",
            "2000-01-01 x",
            "99999-01-01",
            "-1-01-01",
        ] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
