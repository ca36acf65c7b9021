//! Quotes strings in the syntax of the configuration language.

use crate::bytes;

/// Formats a value for export: bare if all characters allow it, otherwise in quotes.
pub fn quote(text: &str) -> String {
    // A leading `>` would turn the value into code.
    if !text.is_empty() && !text.starts_with('>') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    quote_always(text)
}

/// Formats a string in quotes and escapes special characters.
pub fn quote_always(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' | '$' | '?' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0b' => out.push_str("\\v"),
            '\x0c' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            other => {
                for byte in bytes::to_bytes(other.encode_utf8(&mut [0; 4])) {
                    out.push_str(&format!("\\{byte:02X}"));
                }
            }
        }
    }
    out.push('"');
    out
}

/// True for characters that need no quotes.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._,:/*%@+!<>|&^".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_where_it_must_be() {
        assert_eq!(quote("ether1.trunk"), "ether1.trunk");
        assert_eq!(quote("fe80::1%ether1"), "fe80::1%ether1");
        assert_eq!(quote(""), "\"\"");
        assert_eq!(quote("LAN Access"), "\"LAN Access\"");
        assert_eq!(quote("really?"), "\"really\\?\"");
        assert_eq!(quote("a\"b$c\\"), "\"a\\\"b\\$c\\\\\"");
        assert_eq!(quote("#x"), "\"#x\"");
        assert_eq!(quote("a=b"), "\"a=b\"");
        assert_eq!(quote("Tamás"), "\"Tam\\C3\\A1s\"");
    }
}
