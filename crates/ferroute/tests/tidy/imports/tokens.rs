//! Splits a Rust source into tokens.

/// A lexical token. Comments, lifetimes, numbers and character literals are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// An identifier or a keyword.
    Word(&'a str),
    /// The content of a string literal without prefix.
    Text(&'a str),
    /// `::`.
    Separator,
    /// Any other character.
    Sign(u8),
}

/// Returns the tokens of a source that compiles.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, token) = match rest {
            [b'/', b'/', ..] => (line_length(rest), None),
            [b'/', b'*', ..] => (comment_length(rest), None),
            [b'\'', ..] => (quote_length(rest), None),
            [b'"', ..] => {
                let length = string_length(rest);
                let content = source.get(at + 1..at + length - 1);
                (length, content.map(Token::Text))
            }
            [b':', b':', ..] => (2, Some(Token::Separator)),
            [b'0'..=b'9', ..] => (word_length(rest), None),
            [byte, ..] if is_word(*byte) => match prefixed_length(rest) {
                Some(length) => (length, None),
                None => {
                    let length = word_length(rest);
                    (length, Some(Token::Word(&source[at..at + length])))
                }
            },
            [b' ' | b'\n', ..] => (1, None),
            _ => (1, Some(Token::Sign(rest[0]))),
        };
        found.extend(token);
        at += length;
    }
    found
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn length_until(rest: &[u8], ends: impl Fn(u8) -> bool) -> usize {
    let end = rest.iter().position(|byte| ends(*byte));
    end.unwrap_or(rest.len())
}

fn word_length(rest: &[u8]) -> usize {
    length_until(rest, |byte| !is_word(byte))
}

fn line_length(rest: &[u8]) -> usize {
    length_until(rest, |byte| byte == b'\n')
}

/// Returns the length of a block comment, with the comments nested in it.
fn comment_length(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    at
}

/// Returns the length of a string literal with both its quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

/// Returns the length of a character literal, or 1 for the quote of a lifetime.
fn quote_length(rest: &[u8]) -> usize {
    match rest {
        [_, b'\\', _, after @ ..] => 4 + length_until(after, |byte| byte == b'\''),
        [_, first, b'\'', ..] if first.is_ascii() => 3,
        [_, first, ..] if first.is_ascii() => 1,
        _ => 2 + length_until(&rest[1..], |byte| byte == b'\''),
    }
}

/// Returns the length of a literal with a prefix, such as `r#"…"#`, `b"…"` and `b'…'`.
fn prefixed_length(rest: &[u8]) -> Option<usize> {
    let prefix = length_until(rest, |byte| !b"rbc".contains(&byte)).min(3);
    let is_raw = rest[..prefix].contains(&b'r');
    let literal = &rest[prefix..];
    let hashes = length_until(literal, |byte| byte != b'#');
    match literal.get(hashes)? {
        b'"' if prefix > 0 && is_raw => {
            let end = ["\"", &"#".repeat(hashes)].concat();
            let body = &literal[hashes + 1..];
            let length = body
                .windows(end.len())
                .position(|window| window == end.as_bytes())?;
            Some(prefix + hashes + 1 + length + end.len())
        }
        b'"' if prefix > 0 && hashes == 0 => Some(prefix + string_length(literal)),
        b'\'' if rest[..prefix] == *b"b" && hashes == 0 => Some(prefix + quote_length(literal)),
        _ => None,
    }
}

#[test]
fn comments_and_literals_are_no_words() {
    let source = r##"
        a /* b /* c */ d */ ::e('f', '\'', b'g', "h\"", r#"i"#, br"j", 'k: 1u8) // l
        r#type
    "##;
    let words: Vec<_> = tokens(source)
        .into_iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word),
            _ => None,
        })
        .collect();

    assert_eq!(words, ["a", "e", "k", "r", "type"]);
}
