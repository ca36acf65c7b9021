//! Values of matchers in rules: values with optional parts, and values that may be negated.

use std::net::IpAddr;

use crate::parse::{address, prefix};
use crate::{Family, Kind, Reason, Value};

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The separator before the part; empty for the first.
    pub before: &'static str,
    /// The type of the part.
    pub kind: Kind,
    /// The meaning of a missing part.
    pub absent: Absent,
}

/// The meaning of a missing part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The value is refused.
    Refused,
    /// The part has no value.
    Left,
    /// The part has this value; output includes the value.
    Is(&'static str),
    /// The part has this value; output omits the value.
    Hidden(&'static str),
}

impl Part {
    /// Declares a required part.
    pub const fn new(before: &'static str, kind: Kind) -> Self {
        Self {
            before,
            kind,
            absent: Absent::Refused,
        }
    }

    /// Sets the meaning of a missing part.
    #[must_use]
    pub const fn or(mut self, absent: Absent) -> Self {
        self.absent = absent;
        self
    }
}

/// Parses a value that `!` may negate.
pub(crate) fn not(name: &str, text: &str, kind: &Kind) -> Result<Value, Reason> {
    match text.strip_prefix('!') {
        Some(rest) => Ok(Value::Not(Box::new(kind.parse(name, rest.trim_start())?))),
        None => kind.parse(name, text),
    }
}

/// Parses the parts of a value. Each part ends at the separator of a following part.
pub(crate) fn parts(name: &str, text: &str, parts: &[Part]) -> Result<Value, Reason> {
    let invalid = || Reason::BadValue(format!("invalid value for argument {name}"));
    let mut rest = text;
    let mut values = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let Some(tail) = rest.strip_prefix(part.before) else {
            match part.absent {
                Absent::Refused => return Err(invalid()),
                Absent::Left | Absent::Hidden(_) => {}
                Absent::Is(text) => values.push((part.before, part.kind.parse(name, text)?)),
            }
            continue;
        };
        let end = end_of(tail, parts.get(index + 1..).unwrap_or_default());
        let value = part.kind.parse(name, &tail[..end])?;
        rest = &tail[end..];
        // A hidden default is not stored, so that equal values have one spelling.
        if !matches!(part.absent, Absent::Hidden(text) if value.to_string() == text) {
            values.push((part.before, value));
        }
    }
    if rest.is_empty() {
        Ok(Value::Parts(values.into()))
    } else {
        Err(invalid())
    }
}

/// Returns the end of a part: the first separator of the following parts, up to the next required one.
fn end_of(text: &str, next: &[Part]) -> usize {
    let needed = next.iter().position(|part| part.absent == Absent::Refused);
    let next = next.get(..=needed.unwrap_or(next.len())).unwrap_or(next);
    let ends = next.iter().filter_map(|part| text.find(part.before));
    ends.min().unwrap_or(text.len())
}

/// Parses `10.0.0.1`, `10.0.0.0/24` or `10.0.0.1-10.0.0.9`. An IPv6 address without a length becomes a /128
/// prefix.
///
/// # Errors
/// RouterOS: one message for all texts that are not a range of IPv4 addresses.
pub(crate) fn addresses(name: &str, text: &str, family: Family) -> Result<Value, Reason> {
    let invalid = || {
        Reason::BadValue(match family {
            Family::V6 => format!("invalid value for argument {name}"),
            Family::V4 | Family::Any => "value of range expects range of ip addresses".to_owned(),
        })
    };
    if let Some((first, last)) = text.split_once('-') {
        let (first, last) = (address(first, family), address(last, family));
        let (first, last) = first.zip(last).ok_or_else(invalid)?;
        return match first.cmp(&last) {
            _ if first.is_ipv4() != last.is_ipv4() => Err(invalid()),
            std::cmp::Ordering::Less => {
                let ends = [Value::Address(first), Value::Address(last)];
                Ok(Value::Tuple("-", Box::new(ends)))
            }
            std::cmp::Ordering::Equal => Ok(one(first)),
            std::cmp::Ordering::Greater => Err(invalid()),
        };
    }
    let net = prefix(text, family).ok_or_else(invalid)?;
    let whole = net.prefix_len() == net.max_prefix_len();
    Ok(if whole {
        one(net.addr())
    } else {
        Value::Prefix(net.trunc())
    })
}

fn one(address: IpAddr) -> Value {
    match address {
        IpAddr::V4(_) => Value::Address(address),
        IpAddr::V6(_) => Value::Prefix(address.into()),
    }
}

/// Parses a host name: labels of letters, digits, `-` and `_`.
pub(crate) fn host(text: &str) -> Result<Value, Reason> {
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let bare = text.strip_suffix('.').unwrap_or(text);
    let mut labels = bare.split('.');
    let good = labels
        .clone()
        .all(|label| (1..=63).contains(&label.len()) && label.chars().all(plain));
    // A text that ends in a number is an invalid address, not a name.
    let named = labels
        .next_back()
        .is_some_and(|last| !last.bytes().all(|b| b.is_ascii_digit()));
    // 255 bytes including the length bytes of the labels (RFC 1035, 2.3.4).
    if good && named && bare.len() <= 253 {
        return Ok(Value::text(text));
    }
    Err(Reason::failure(format!("{text} is not a valid dns name")))
}

/// Parses hexadecimal digits, with or without the prefix `0x`.
pub(crate) fn digits(name: &str, text: &str) -> Result<Value, Reason> {
    let bare = text.strip_prefix("0x").unwrap_or(text);
    if bare.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(Value::text(text));
    }
    Err(Reason::BadValue(format!(
        "invalid value for argument {name}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Kind = Kind::Not(&Kind::Parts(&[
        Part::new("", Kind::Rate),
        Part::new("/", Kind::SPAN).or(Absent::Hidden("1s")),
        Part::new(",", Kind::COUNTER),
        Part::new(":", Kind::Words(&["bit", "packet"])).or(Absent::Is("packet")),
    ]));
    const ADDRESSES: Kind = Kind::Not(&Kind::Addresses(Family::Any));

    fn shown(kind: &Kind, text: &str) -> String {
        match kind.parse("x", text) {
            Ok(value) => {
                let text = value.to_string();
                assert_eq!(kind.parse("x", &text), Ok(value), "{text} is read back");
                text
            }
            Err(reason) => reason.to_string(),
        }
    }

    #[test]
    fn omitted_parts_are_filled_in() {
        assert_eq!(shown(&LIMIT, "50,100"), "50,100:packet");
        assert_eq!(shown(&LIMIT, "10/1m,5:bit"), "10/1m,5:bit");
        assert_eq!(shown(&LIMIT, "!10M/1s,5:packet"), "!10M,5:packet");
        for bad in [
            "50", "50,", ",5", "50,5:", "50,5:x", "50/,5", "50,5,5", "!!50,5", "",
        ] {
            assert!(LIMIT.parse("x", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_list_is_turned_around_as_a_whole_or_by_its_elements() {
        let ports = Kind::Not(&Kind::List(&Kind::COUNTER));
        let flags = Kind::List(&Kind::Not(&Kind::Words(&["ack", "fin", "syn"])));

        assert_eq!(shown(&ports, "!80,443"), "!80,443");
        assert_eq!(shown(&flags, "fin,!syn,!a"), "fin,!syn,!ack");
        const STATES: Kind = Kind::Not(&Kind::Set(&["invalid", "new", "related"]));
        assert_eq!(shown(&STATES, "!related,new,related"), "!new,related");
        assert!(ports.parse("x", "80,!443").is_err());
        assert_eq!(shown(&flags, "!x"), "input does not match any value of x");
    }

    #[test]
    fn address_values_are_single_prefix_or_range() {
        assert_eq!(shown(&ADDRESSES, "!10.1.2.3/24"), "!10.1.2.0/24");
        assert_eq!(shown(&ADDRESSES, "10.1.2.3/32"), "10.1.2.3");
        assert_eq!(shown(&ADDRESSES, "10.0.0.1-10.0.0.9"), "10.0.0.1-10.0.0.9");
        assert_eq!(shown(&ADDRESSES, "10.0.0.1-10.0.0.1"), "10.0.0.1");
        assert_eq!(shown(&ADDRESSES, "2001:db8::1"), "2001:db8::1/128");
        for bad in [
            "10.0.0.9-10.0.0.1",
            "10.0.0.1-::1",
            "10.0.0",
            "10.0.0.0/33",
            "a-b",
            "-",
        ] {
            assert_eq!(
                shown(&ADDRESSES, bad),
                "value of range expects range of ip addresses",
                "{bad}"
            );
        }
    }

    #[test]
    fn a_host_is_named_by_labels() {
        assert_eq!(shown(&Kind::Host, "time.example.com"), "time.example.com");
        for bad in ["1.2.3.300", "a..b", "", "a b", "10.0.0.0/8", "http://x"] {
            assert!(
                shown(&Kind::Host, bad).ends_with("is not a valid dns name"),
                "{bad}"
            );
        }
        assert_eq!(shown(&Kind::Digits, "0x01ff"), "0x01ff");
        assert_eq!(shown(&Kind::Digits, "xyz"), "invalid value for argument x");
    }
}
