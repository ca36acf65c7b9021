//! Framing of SIP messages in a TCP stream (RFC 3261, 18.3), by their content length.

use core::ops::Range;

use super::super::text::{LINE, Lines, number};
use super::{LINES, MESSAGES, Name, header, is_first};

/// Maximum length in bytes of a message whose beginning is kept.
const MESSAGE: usize = 4096;

/// Returns the text to keep for the next segment: an incomplete message.
pub(in super::super) fn rest(text: &[u8]) -> &[u8] {
    let mut start = 0;
    for _ in 0..MESSAGES {
        match Next::of(text, start) {
            Next::Whole(message) => start = message.end,
            Next::Cut(from) => return keep(&text[from..]),
            Next::Nothing => break,
        }
    }
    &[]
}

/// Returns the text if it is the beginning of a message and short enough, else nothing.
fn keep(text: &[u8]) -> &[u8] {
    let begins = match Lines::of(text, 0).next_whole() {
        Some(first) => is_first(&text[first]),
        None => text.len() <= LINE && text.first().is_some_and(u8::is_ascii_alphabetic),
    };
    match begins && text.len() <= MESSAGE {
        true => text,
        false => &[],
    }
}

/// The next element of a stream.
pub(super) enum Next {
    /// A complete message.
    Whole(Range<usize>),
    /// An incomplete message that begins at this offset.
    Cut(usize),
    /// The end of the text, or data whose length is unknown.
    Nothing,
}

impl Next {
    /// Parses the element at `from` (RFC 3261, 18.3). Empty lines before a message are keep-alives (RFC 5626,
    /// 4.4.1).
    pub(super) fn of(text: &[u8], from: usize) -> Self {
        let blank = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
        let start = from + text[from..].iter().take_while(blank).count();
        if start == text.len() {
            return Self::Nothing;
        }
        let mut lines = Lines::of(text, start);
        let mut length = None;
        for _ in 0..LINES {
            let Some(line) = lines.next_whole() else {
                return Self::Cut(start);
            };
            if line.is_empty() {
                let end = length.and_then(|length| lines.at.checked_add(length));
                return match end {
                    None => Self::Nothing,
                    Some(end) if end > text.len() => Self::Cut(start),
                    Some(end) => Self::Whole(start..end),
                };
            }
            if let Some((Name::Length, value)) = header(text, &line) {
                let Some((value, _)) = number(text[value].trim_ascii()) else {
                    return Self::Nothing;
                };
                length = Some(value as usize);
            }
        }
        Self::Nothing
    }
}
