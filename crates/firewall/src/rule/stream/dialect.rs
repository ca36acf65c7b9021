//! Translates expressions of `layer7-protocol`, Henry Spencer's V8 syntax with `\xHH` as in l7-filter, into
//! the syntax of the regex library.

/// Translates an expression; returns the reason if it is malformed.
pub(super) fn translate(regexp: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), unescaped(regexp).into_iter().peekable());
    while let Some((byte, quoted)) = rest.next() {
        match byte {
            _ if quoted => out.push_str(&literal(byte)),
            b'[' => {
                out.push('[');
                if rest.next_if(|next| *next == (b'^', false)).is_some() {
                    out.push('^');
                }
                let mut first = true;
                loop {
                    // V8 has no escapes inside a class, and a bracket in first position is a member.
                    match rest.next() {
                        None => return Err("a class has no end".to_owned()),
                        Some((b']', false)) if !first => break,
                        Some((b'-', false))
                            if !first && rest.peek().is_some_and(|next| next.0 != b']') =>
                        {
                            out.push('-');
                        }
                        Some((byte, _)) => out.push_str(&literal(byte)),
                    }
                    first = false;
                }
                out.push(']');
            }
            b'^' | b'$' | b'.' | b'(' | b')' | b'|' | b'*' | b'+' | b'?' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&literal(byte)),
        }
    }
    Ok(out)
}

/// Returns the bytes of an expression, and whether each was escaped: by `\xHH` or a backslash.
fn unescaped(regexp: &str) -> Vec<(u8, bool)> {
    let (mut out, mut rest) = (Vec::new(), regexp.as_bytes());
    loop {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        rest = match rest {
            [] => return out,
            [b'\\', b'x', high, low, behind @ ..]
                if digit(high).is_some() && digit(low).is_some() =>
            {
                let value = digit(high).unwrap_or(0) << 4 | digit(low).unwrap_or(0);
                out.push((value as u8, true));
                behind
            }
            [b'\\', byte, behind @ ..] => {
                out.push((*byte, true));
                behind
            }
            [byte, behind @ ..] => {
                out.push((*byte, false));
                behind
            }
        };
    }
}

/// Returns the library's syntax for a literal byte, inside or outside of a class.
pub(super) fn literal(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    }
}
