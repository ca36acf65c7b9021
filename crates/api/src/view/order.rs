//! Order of values: numbers with their units and times by size, addresses and names by their parts.

use std::cmp::Ordering;

/// A value in the order of people: `9` before `10`, `90s` before `2m`, `10.0.0.9` before `10.0.0.10`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SortKey {
    /// A number or a time, in its base unit.
    Number(f64),
    /// Other texts, as runs of digits and runs of other characters.
    Text(Vec<Part>),
    /// No value.
    Empty,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Digits(u128),
    Other(String),
}

/// Units with their factors; of units with a common beginning the longer first.
const UNITS: [(&str, f64); 20] = [
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
    ("bps", 1.0),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("w", 604_800.0),
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("m", 60.0),
    ("s", 1.0),
    ("k", 1e3),
    ("g", 1e9),
    ("%", 1.0),
    ("b", 1.0),
];

impl SortKey {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim().to_lowercase();
        if text.is_empty() {
            return Self::Empty;
        }
        match number(&text) {
            Some(number) => Self::Number(number),
            None => Self::Text(parts(&text)),
        }
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let rank = |key: &Self| match key {
            Self::Empty => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        };
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => Some(one.total_cmp(other)),
            (Self::Text(one), Self::Text(other)) => one.partial_cmp(other),
            _ => rank(self).partial_cmp(&rank(other)),
        }
    }
}

/// Sorts rows by their keys; equal rows keep their order.
pub(super) fn sort<T>(rows: &mut Vec<T>, keys: Vec<SortKey>) {
    let mut keyed: Vec<_> = keys.into_iter().zip(rows.drain(..)).collect();
    keyed.sort_by(|(one, _), (other, _)| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

/// Parses `12`, `1.5Mbps`, `1w2d03:04:05`, `5m10s`: a sum of numbers with units.
fn number(text: &str) -> Option<f64> {
    let mut sum = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(seconds) = clock(rest) {
            return Some(sum + seconds);
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (digits, after) = rest.split_at(end.unwrap_or(rest.len()));
        let value: f64 = digits.parse().ok()?;
        let unit = UNITS.iter().find(|(unit, _)| after.starts_with(unit));
        match unit {
            Some((unit, factor)) => {
                sum += value * factor;
                rest = after.get(unit.len()..)?;
            }
            None if after.is_empty() && rest.len() == text.len() => return Some(value),
            None => return None,
        }
    }
    Some(sum)
}

/// Parses `03:04:05`.
fn clock(text: &str) -> Option<f64> {
    let mut fields = text.split(':');
    let mut field = || fields.next()?.parse::<f64>().ok();
    let (hours, minutes, seconds) = (field()?, field()?, field()?);
    let is_clock = fields.next().is_none() && minutes < 60.0 && seconds < 60.0;
    is_clock.then_some(hours * 3_600.0 + minutes * 60.0 + seconds)
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_digits = c.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != is_digits);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(match part.parse() {
            Ok(digits) if is_digits => Part::Digits(digits),
            _ => Part::Other(part.to_owned()),
        });
        rest = after;
    }
    parts
}
