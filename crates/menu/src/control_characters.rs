//! Makes control characters in untrusted text visible before it is written to a terminal.

use std::borrow::Cow;

use crate::bytes;

/// Escapes all characters that move the cursor, change the state of the terminal or override the text
/// direction, in RouterOS's notation: `\1B`, `\n`, `\E2\80\AE`.
///
/// For values and log lines, before the layout adds line breaks. API and REST clients get unescaped values.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(commands) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if commands(c) => {
                for byte in bytes::to_bytes(c.encode_utf8(&mut [0; 4])) {
                    out.push_str(&format!("\\{byte:02X}"));
                }
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Escapes control characters in a text of several lines; newlines are kept.
pub fn visible_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(visible).collect();
    lines.join("\n")
}

/// Escapes control characters in laid-out text; newlines and tabs are kept.
pub fn visible_layout(text: &str) -> Cow<'_, str> {
    let is_layout = |c: char| matches!(c, '\n' | '\t');
    if !text.chars().any(|c| commands(c) && !is_layout(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let text = text.replace("\r\n", "\n");
    for piece in text.split_inclusive(is_layout) {
        match piece
            .char_indices()
            .next_back()
            .filter(|(_, last)| is_layout(*last))
        {
            Some((at, last)) => {
                out.push_str(&visible(&piece[..at]));
                out.push(last);
            }
            None => out.push_str(&visible(piece)),
        }
    }
    Cow::Owned(out)
}

/// True for characters that control a terminal: C0 and C1 controls (C1 also as raw bytes), and overrides of the
/// text direction.
fn commands(c: char) -> bool {
    c.is_control()
        || matches!(bytes::raw(c), Some(0x80..=0x9f))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_keeps_line_ends_and_tabs() {
        let text = "a\tb\r\n\x1b[2Jc\rd\n";
        assert_eq!(visible_layout(text), "a\tb\n\\1B[2Jc\\rd\n");
        assert!(matches!(visible_layout("a\tb\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_characters_are_escaped() {
        let shown = [
            ("Tamás \\ \u{4e2d}", "Tamás \\ \u{4e2d}"),
            ("\x1b[2J\x07\x7f", "\\1B[2J\\07\\7F"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\u{9b}31m", "\\C2\\9B31m"),
            ("a\u{202e}b\u{2066}", "a\\E2\\80\\AEb\\E2\\81\\A6"),
        ];
        for (text, wanted) in shown {
            assert_eq!(visible(text), wanted);
        }
        let byte = bytes::from_bytes(b"\x9b31m \xe4");
        let sent = bytes::to_bytes(&visible(&byte));
        assert_eq!(sent, b"\\9B31m \xe4");
        assert_eq!(visible_lines("a\x1b\nb"), "a\\1B\nb");
    }

    #[test]
    fn a_character_cannot_be_assembled_from_bytes() {
        let pieces = [b"\xc2", b"\x9b"].map(|piece| bytes::from_bytes(piece));
        let sent = bytes::to_bytes(&visible(&pieces.concat()));

        assert_eq!(sent, b"\xc2\\9B");
    }
}
