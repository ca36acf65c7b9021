//! A source text and the places in it.

use menu::{Position, bytes};

/// A text with its lines.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    lines: Vec<usize>,
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        // A carriage return before a line's end is no part of the language.
        let text = if text.contains('\r') {
            text.replace("\r\n", "\n")
        } else {
            text.to_owned()
        };
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0)
            .chain(ends.map(|(index, _)| index + 1))
            .collect();
        Self { text, lines }
    }

    /// The place of a byte: line and column from 1, columns in bytes of the original text.
    ///
    /// RouterOS: a tab leads to the next column that is a multiple of eight.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines[line - 1];
        let before = self.text.get(start..offset).unwrap_or_default();
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut pieces = before.split('\t');
        let first = 1 + pieces.next().map_or(0, bytes::len);
        let column = pieces.fold(first, |at, piece| (at / 8 + 1) * 8 + bytes::len(piece));
        Position {
            line: clamp(line),
            column: clamp(column),
        }
    }
}
