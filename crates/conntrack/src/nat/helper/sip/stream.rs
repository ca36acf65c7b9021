//! Messages of SIP in a stream of TCP (RFC 3261, 18.3), which says how long each is.

use core::ops::Range;

use super::super::text::{LINE, Lines, number};
use super::{LINES, MESSAGES, Name, header, is_first};

/// The longest message of which a beginning is kept, in bytes.
const MESSAGE: usize = 4096;

/// What has to be kept of a stream's text for the next one: a message that is not all there.
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

/// What is kept of the beginning of a message; nothing of what is none, or too long.
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

/// What comes next in a stream.
pub(super) enum Next {
    /// A message.
    Whole(Range<usize>),
    /// One that begins here and is not all there.
    Cut(usize),
    /// Nothing, or nothing that could be told from what comes behind it.
    Nothing,
}

impl Next {
    /// What comes from `from` on (RFC 3261, 18.3). Empty lines before a message keep the connection open
    /// (RFC 5626, 4.4.1).
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
