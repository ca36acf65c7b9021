//! Patterns for names.

/// A pattern with `*`, `?` and `[]` for names. Upper and lower case are alike (RFC 4343).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Box<[u8]>);

impl Glob {
    /// The pattern as it is written in the configuration.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_ascii_lowercase().into_bytes().into())
    }

    /// Whether the whole name fits. After a mismatch only the last `*` takes one byte more, so the
    /// time is at most the product of both lengths.
    pub fn fits(&self, name: &[u8]) -> bool {
        let (mut pattern, mut rest) = (&*self.0, name);
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
