//! Patterns for names.

use super::dialect::literal;
use super::layer7::number;

/// A pattern with `*`, `?` and `[]` for names. Upper and lower case are alike (RFC 4343).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pattern: Box<[u8]>,
    /// Of the pattern: where two rules have the same one, it is looked for once.
    pub(super) number: u64,
}

impl Glob {
    /// The pattern as it is written in the configuration.
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.to_ascii_lowercase();
        Self {
            number: number(&pattern),
            pattern: pattern.into_bytes().into(),
        }
    }

    /// What it stands for.
    pub(super) fn shape(&self) -> Shape<'_> {
        let plain = |bytes: &[u8]| !bytes.iter().any(|byte| b"*?[".contains(byte));
        match &*self.pattern {
            pattern if plain(pattern) => Shape::Exact(pattern),
            pattern if pattern.iter().all(|byte| *byte == b'*') => Shape::Any,
            [b'*', b'.', rest @ ..] if plain(rest) => Shape::Below(&self.pattern[1..]),
            _ => Shape::Other(self.expression()),
        }
    }

    /// An expression that finds what fits, in names of lower case.
    fn expression(&self) -> String {
        let mut rest = &*self.pattern;
        let open = |byte: u8| byte == b'*';
        let (first, last) = (rest.first().copied(), rest.last().copied());
        // A star at an end means that the expression may stand anywhere there.
        while let [b'*', behind @ ..] = rest {
            rest = behind;
        }
        // A class has its bracket at its end, so this one is never a class's member.
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

    /// Whether the whole name fits. After a mismatch only the last `*` takes one byte more, so the
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

/// What is left of the pattern behind one byte that fits.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (first, behind) = pattern.split_first()?;
    match first {
        b'?' => Some(behind),
        b'[' => match class(behind) {
            Some((negated, members, behind)) => (has(members, byte) != negated).then_some(behind),
            // Without an end it is a byte like others.
            None => (byte == b'[').then_some(behind),
        },
        other => (*other == byte).then_some(behind),
    }
}

/// A class: whether it is negated, its members, and what stands behind it.
fn class(pattern: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let (negated, members) = match pattern {
        [b'!' | b'^', members @ ..] => (true, members),
        members => (false, members),
    };
    // A bracket that comes first is a member.
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

/// What a pattern stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape<'a> {
    /// Every name.
    Any,
    /// This name alone.
    Exact(&'a [u8]),
    /// All names that end in this, which begins with a dot.
    Below(&'a [u8]),
    /// What this expression finds.
    Other(String),
}

/// A class as an expression.
fn set(negated: bool, mut members: &[u8]) -> String {
    let mut out = String::from(if negated { "[^" } else { "[" });
    loop {
        match members {
            [first, b'-', last, rest @ ..] => {
                // What is the wrong way round has no member.
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
    fn names_fit_as_a_shell_would_say() {
        let fits = |pattern: &str, name: &str| Glob::new(pattern).fits(name.as_bytes());
        assert!(fits("*.example.com", "WWW.example.com") && !fits("*.example.com", "example.com"));
        assert!(fits("*", "") && fits("a*b*c", "a-b-b-c") && !fits("a*b*c", "a-b-b"));
        assert!(fits("?[a-c][!x]", "zbw") && !fits("?[a-c][!x]", "zbx"));
        assert!(fits("[]a]", "]") && fits("[a", "[a") && !fits("", "a") && fits("", ""));
        assert!(fits("[a-]", "-"));
    }
}
