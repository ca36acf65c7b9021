//! How bare words look in the form between text and run: as the values that they mean.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use menu::{Kind, time};

use crate::value::Value;

/// How a word is looked at.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    /// By its own looks.
    Any,
    /// As text.
    Text,
    /// As names of variables.
    Names,
    /// As a value of a type.
    Of(&'static Kind),
}

/// A word as it is looked at.
pub(crate) fn word(text: &str, look: Look) -> Cow<'_, str> {
    let mut out = String::new();
    match look {
        Look::Any => any(text, &mut out),
        Look::Text | Look::Names => return text.into(),
        Look::Of(kind) => of_kind(text, kind, &mut out),
    }
    out.into()
}

/// A word whose type follows from its looks.
fn any(text: &str, out: &mut String) {
    if let Some(number) = number(text) {
        out.push_str(&number.to_string());
        return;
    }
    if let Some(address) = short_address(text) {
        out.push_str(&address.to_string());
        return;
    }
    match Value::of_word(text) {
        // An address with a length is shown as it was written.
        Value::Prefix(_) | Value::Str(_) => out.push_str(text),
        value => out.push_str(&value.to_string()),
    }
}

/// An integer; what is too large is the largest.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (digits, radix) = match digits.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let number = i64::from_str_radix(digits, radix).unwrap_or(i64::MAX);
    Some(if text.starts_with('-') {
        number.saturating_neg()
    } else {
        number
    })
}

/// RouterOS: `10.1` is `10.0.0.1`, as in the C library of old.
fn short_address(text: &str) -> Option<Ipv4Addr> {
    let parts: Option<Vec<u8>> = text.split('.').map(|part| part.parse().ok()).collect();
    match parts?.as_slice() {
        [a, d] => Some(Ipv4Addr::new(*a, 0, 0, *d)),
        [a, b, d] => Some(Ipv4Addr::new(*a, *b, 0, *d)),
        [a, b, c, d] => Some(Ipv4Addr::new(*a, *b, *c, *d)),
        _ => None,
    }
}

fn of_kind(text: &str, kind: &'static Kind, out: &mut String) {
    match kind {
        Kind::Time { .. } => match time::parse(text) {
            Some(nanos) => out.push_str(&time::clock_text(nanos)),
            None => out.push_str(text),
        },
        Kind::Number { .. } | Kind::Hex { .. } => match number(text) {
            Some(number) => out.push_str(&number.to_string()),
            None => out.push_str(text),
        },
        Kind::Local(_) => network(text, out),
        Kind::Not(inner) => {
            // RouterOS: whether it must not be, then what.
            let (not, text) = match text.strip_prefix('!') {
                Some(text) => ("true;", text),
                None => (";", text),
            };
            out.push_str(not);
            of_kind(text, inner, out);
        }
        Kind::Or(words, inner) if !words.contains(&text) => of_kind(text, inner, out),
        Kind::List(inner) => parts(text, ',', &|_| *inner, out),
        Kind::Set(_) => parts(text, ',', &|_| &Kind::Name, out),
        // RouterOS: a word and a value are two, two numbers are one.
        Kind::Tuple(apart, kinds) if matches!(kinds, [Kind::Words(_), ..]) => {
            let apart = apart.chars().next().unwrap_or(',');
            let kind = |index| kinds.get(index).unwrap_or(&Kind::Text);
            parts(text, apart, &kind, out);
        }
        Kind::Text | Kind::Name | Kind::Filled | Kind::Sized { .. } | Kind::Reference(_) => {
            out.push_str(text)
        }
        // `yes` and `no` are Boolean wherever they are words of a type.
        _ => out.push_str(match text {
            "yes" => "true",
            "no" => "false",
            other => other,
        }),
    }
}

/// An address with the length of its network's prefix.
fn network(text: &str, out: &mut String) {
    let Some((address, length)) = text.split_once('/') else {
        out.push_str(text);
        return;
    };
    match short_address(address) {
        Some(address) => out.push_str(&address.to_string()),
        None => out.push_str(address),
    }
    out.push(';');
    out.push_str(length);
}

/// Values of types, one after the other.
fn parts(text: &str, apart: char, kind: &dyn Fn(usize) -> &'static Kind, out: &mut String) {
    for (index, part) in text.split(apart).enumerate() {
        if index > 0 {
            out.push(';');
        }
        of_kind(part, kind(index), out);
    }
}
