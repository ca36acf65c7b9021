//! Glob patterns for host names.

use super::dialect::literal;
use super::layer7::number;

/// A pattern with `*`, `?` and `[]`. Case is ignored (RFC 4343).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: Box<[u8]>,
    /// Hash of the pattern: rules with the same pattern share one search.
    pub(super) number: u64,
}

impl Glob {
    /// Creates a pattern as written in the configuration.
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.to_ascii_lowercase();
        Self {
            number: number(&pattern),
            pattern: pattern.into_bytes().into(),
        }
    }

    /// Returns how the pattern is searched for.
    pub(super) fn shape(&self) -> GlobKind<'_> {
        let plain = |bytes: &[u8]| !bytes.iter().any(|byte| b"*?[".contains(byte));
        match &*self.pattern {
            pattern if plain(pattern) => GlobKind::Exact(pattern),
            pattern if pattern.iter().all(|byte| *byte == b'*') => GlobKind::Any,
            [b'*', b'.', rest @ ..] if plain(rest) => GlobKind::Below(&self.pattern[1..]),
            _ => GlobKind::Other(self.expression()),
        }
    }

    /// Returns an expression that finds matching lower-case names.
    fn expression(&self) -> String {
        let mut rest = &*self.pattern;
        let open = |byte: u8| byte == b'*';
        let (first, last) = (rest.first().copied(), rest.last().copied());
        // A star at an end removes the anchor there.
        while let [b'*', behind @ ..] = rest {
            rest = behind;
        }
        // A class ends with a bracket, so a final star is never a class member.
        let ends = last.is_some_and(open);
        while let ([before @ .., b'*'], true) = (rest, ends) {
            rest = before;
        }
        let mut out = String::new();
        out.push_str(if first.is_some_and(open) { "" } else { "^" });
        while let Some((byte, behind)) = rest.split_first() {
            rest = behind;
            match byte {
                b'*' => out.push_str(".*"),
                b'?' => out.push('.'),
                b'[' => match class(behind) {
                    Some((negated, members, behind)) => {
                        out.push_str(&set(negated, members));
                        rest = behind;
                    }
                    None => out.push_str(&literal(b'[')),
                },
                byte => out.push_str(&literal(*byte)),
            }
        }
        out.push_str(if ends { "" } else { "$" });
        out
    }

    /// Returns true if the whole name matches. After a mismatch only the last `*` takes one more byte, so the
    /// time is at most the product of both lengths.
    pub fn fits(&self, name: &[u8]) -> bool {
        let (mut pattern, mut rest) = (&*self.pattern, name);
        let mut last: Option<(&[u8], &[u8])> = None;
        loop {
            match (pattern, rest) {
                ([], []) => return true,
                ([b'*', behind @ ..], _) => {
                    (pattern, last) = (behind, Some((behind, rest)));
                    continue;
                }
                ([_, ..], [byte, after @ ..]) => {
                    if let Some(behind) = one(pattern, byte.to_ascii_lowercase()) {
                        (pattern, rest) = (behind, after);
                        continue;
                    }
                }
                _ => {}
            }
            let Some((star, [_, after @ ..])) = last else {
                return false;
            };
            (pattern, rest, last) = (star, after, Some((star, after)));
        }
    }
}

/// Returns the pattern after one element that matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (first, behind) = pattern.split_first()?;
    match first {
        b'?' => Some(behind),
        b'[' => match class(behind) {
            Some((negated, members, behind)) => (has(members, byte) != negated).then_some(behind),
            // Without a closing bracket it is an ordinary byte.
            None => (byte == b'[').then_some(behind),
        },
        other => (*other == byte).then_some(behind),
    }
}

/// Parses a class: negation, members, and the rest of the pattern.
fn class(pattern: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (negated, members) = match pattern {
        [b'!' | b'^', members @ ..] => (true, members),
        members => (false, members),
    };
    // A bracket in first position is a member.
    let end = members.iter().skip(1).position(|byte| *byte == b']')? + 1;
    Some((negated, &members[..end], &members[end + 1..]))
}

fn has(mut members: &[u8], byte: u8) -> bool {
    loop {
        match members {
            [first, b'-', last, rest @ ..] => {
                if (*first..=*last).contains(&byte) {
                    return true;
                }
                members = rest;
            }
            [one, rest @ ..] => {
                if *one == byte {
                    return true;
                }
                members = rest;
            }
            [] => return false,
        }
    }
}

/// Kind of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GlobKind<'a> {
    /// Matches every name.
    Any,
    /// Matches this name only.
    Exact(&'a [u8]),
    /// Matches all names with this suffix, which begins with a dot.
    Below(&'a [u8]),
    /// Matches names in which this expression is found.
    Other(String),
}

/// Returns a class in the library's syntax.
fn set(negated: bool, mut members: &[u8]) -> String {
    let mut out = String::from(if negated { "[^" } else { "[" });
    loop {
        match members {
            [first, b'-', last, rest @ ..] => {
                // A reversed range has no members.
                if first <= last {
                    out.push_str(&format!("{}-{}", literal(*first), literal(*last)));
                }
                members = rest;
            }
            [one, rest @ ..] => {
                out.push_str(&literal(*one));
                members = rest;
            }
            [] => break,
        }
    }
    match out.as_str() {
        "[" => r"[^\x00-\xff]".to_owned(),
        "[^" => ".".to_owned(),
        _ => out + "]",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_patterns_follow_shell_globs() {
        let fits = |pattern: &str, name: &str| Glob::new(pattern).fits(name.as_bytes());
        assert!(fits("*.example.com", "WWW.example.com") && !fits("*.example.com", "example.com"));
        assert!(fits("*", "") && fits("a*b*c", "a-b-b-c") && !fits("a*b*c", "a-b-b"));
        assert!(fits("?[a-c][!x]", "zbw") && !fits("?[a-c][!x]", "zbx"));
        assert!(fits("[]a]", "]") && fits("[a", "[a") && !fits("", "a") && fits("", ""));
        assert!(fits("[a-]", "-"));
    }
}
