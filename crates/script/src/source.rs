//! A source text and its line and column positions.

use menu::{Position, bytes};

/// A source text with an index of positions.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// Byte offsets with known positions: the beginnings of lines, and further points within long lines.
    marks: Vec<(usize, Position)>,
    /// Offsets of newlines that followed a carriage return in the original text, ascending.
    returns: Vec<usize>,
}

/// Maximum distance in bytes between known positions within a line.
const MAX_POSITION_GAP: usize = 256;

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        // A carriage return before a newline is removed.
        let ends = text.match_indices("\r\n").enumerate();
        let returns: Vec<_> = ends.map(|(before, (at, _))| at - before).collect();
        let text = if returns.is_empty() {
            text.to_owned()
        } else {
            text.replace("\r\n", "\n")
        };
        let mut at = Position { line: 1, column: 1 };
        let mut marks = vec![(0, at)];
        let mut last = 0;
        for (index, c) in text.char_indices() {
            if index >= last + MAX_POSITION_GAP {
                marks.push((index, at));
                last = index;
            }
            at = after(at, c);
            if c == '\n' {
                last = index + 1;
                marks.push((last, at));
            }
        }
        Self {
            text,
            marks,
            returns,
        }
    }

    /// Creates the source of a file. Removes a leading byte order mark (U+FEFF).
    pub(crate) fn of_file(text: &str) -> Self {
        Self::new(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// Maps an offset to the original text, before carriage returns were removed.
    pub(crate) fn original(&self, offset: usize) -> usize {
        offset + self.returns.partition_point(|end| *end < offset)
    }

    /// Returns the line and column of an offset, both from 1. Columns count bytes of the original text.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let index = self.marks.partition_point(|(start, _)| *start <= offset);
        let (start, at) = self.marks[index.saturating_sub(1)];
        let before = self.text.get(start..offset).unwrap_or_default();
        // Fast path for ASCII without control characters: one byte per column.
        if before.bytes().all(|byte| byte >= b' ' && byte.is_ascii()) {
            let column = u32::try_from(before.len()).unwrap_or(u32::MAX);
            return Position {
                line: at.line,
                column: at.column.saturating_add(column),
            };
        }
        before.chars().fold(at, after)
    }
}

/// Returns the position after a character.
///
/// RouterOS: a tab advances to the next multiple of eight columns.
fn after(at: Position, c: char) -> Position {
    let Position { line, column } = at;
    match c {
        '\n' => Position {
            line: line.saturating_add(1),
            column: 1,
        },
        '\t' => Position {
            line,
            column: (column / 8).saturating_add(1).saturating_mul(8),
        },
        c => {
            let width = if bytes::raw(c).is_some() {
                1
            } else {
                c.len_utf8() as u32
            };
            Position {
                line,
                column: column.saturating_add(width),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_bytes_and_tabs_lead_to_multiples_of_eight() {
        let long = "x".repeat(1_000);
        let text = format!("a\tb\n\t\tc\n\u{e9}!\n{long}\u{ef80}{long}!");
        let source = Source::new(&text);
        let place = |offset| {
            let at = source.position(offset);
            (at.line, at.column)
        };

        assert_eq!(place(2), (1, 8));
        assert_eq!(place(6), (2, 16));
        assert_eq!(place(10), (3, 3));
        assert_eq!(place(text.len() - 1), (4, 2_002));
    }

    #[test]
    fn positions_are_correct_with_carriage_returns() {
        let text = "a\r\n\r\n\rb\r\r\nc";
        let source = Source::new(text);

        assert_eq!(source.text, "a\n\n\rb\r\nc");
        for (offset, byte) in source.text.bytes().enumerate() {
            let stood = &text[source.original(offset)..];
            let stood = stood
                .strip_prefix('\r')
                .filter(|rest| rest.starts_with('\n'))
                .unwrap_or(stood);
            assert_eq!(stood.as_bytes()[0], byte, "{offset}");
        }
        assert_eq!(source.original(source.text.len()), text.len());
    }
}
