//! Writes bare words of the intermediate form as the values that they denote.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use menu::{Kind, time};

use crate::value::Value;

/// How to interpret a bare word.
#[derive(Clone, Copy)]
pub(crate) enum WordInterpretation {
    /// By its spelling.
    Any,
    /// As a string.
    Text,
    /// As a list of variable names.
    Names,
    /// As a value of the kind.
    Of(&'static Kind),
}

/// Writes a word by its interpretation.
pub(crate) fn word(text: &str, look: WordInterpretation) -> Cow<'_, str> {
    let mut out = String::new();
    match look {
        WordInterpretation::Any => any(text, &mut out),
        WordInterpretation::Text | WordInterpretation::Names => return text.into(),
        WordInterpretation::Of(kind) => of_kind(text, kind, &mut out),
    }
    out.into()
}

/// Writes a word whose spelling decides its type.
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
        // A prefix is shown as written.
        Value::Prefix(_) | Value::Str(_) => out.push_str(text),
        value => out.push_str(&value.to_string()),
    }
}

/// Parses an integer. A number beyond 64 bits becomes the largest one.
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

/// RouterOS: `10.1` is `10.0.0.1`, as with the C function `inet_aton`.
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
            // RouterOS: shows the negation first, then the value.
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
        // RouterOS: a tuple of a word and a value is shown as two values, a tuple of two numbers as one.
        Kind::Tuple(apart, kinds) if matches!(kinds, [Kind::Words(_), ..]) => {
            let apart = apart.chars().next().unwrap_or(',');
            let kind = |index| kinds.get(index).unwrap_or(&Kind::Text);
            parts(text, apart, &kind, out);
        }
        Kind::Text | Kind::Name | Kind::Filled | Kind::Sized { .. } | Kind::Reference(_) => {
            out.push_str(text)
        }
        // `yes` and `no` become Boolean values in all word types.
        _ => out.push_str(match text {
            "yes" => "true",
            "no" => "false",
            other => other,
        }),
    }
}

/// Writes an address with its prefix length.
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

/// Writes the parts of a value, each by its kind, separated by semicolons.
fn parts(text: &str, apart: char, kind: &dyn Fn(usize) -> &'static Kind, out: &mut String) {
    for (index, part) in text.split(apart).enumerate() {
        if index > 0 {
            out.push(';');
        }
        of_kind(part, kind(index), out);
    }
}
