//! Stops output that is taller than the terminal, a page at a time.

use crate::keys::Key;

/// What RouterOS shows under a page.
const LEGEND: &str = "-- [Q quit|D dump|down]";

/// Output that waits to be shown.
#[derive(Debug)]
pub struct Pager {
    waiting: Vec<u8>,
    shown: usize,
    rows: usize,
}

/// Whether there is more to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// A page is on the screen, and the legend under it.
    Yes,
    /// All is shown, or the user has had enough.
    No,
}

impl Pager {
    /// A pager for `output` (lines ended by `\n`) on a terminal of `rows` rows.
    pub fn new(output: Vec<u8>, rows: usize) -> Self {
        Self {
            waiting: output,
            shown: 0,
            rows: rows.max(3),
        }
    }

    /// Shows the first page.
    pub fn begin(&mut self, out: &mut Vec<u8>) -> More {
        self.show(self.rows - 1, out)
    }

    /// Takes a key and shows what it asks for.
    pub fn key(&mut self, key: Key, out: &mut Vec<u8>) -> More {
        let lines = match key {
            Key::Char('q' | 'Q') | Key::Ctrl('c') | Key::Escape => 0,
            Key::Char('d' | 'D') => usize::MAX,
            Key::Enter | Key::Down => 1,
            Key::Char(' ') | Key::PageDown | Key::Right => self.rows - 1,
            _ => return More::Yes,
        };
        out.extend_from_slice(b"\r\x1b[K");
        if lines == 0 {
            More::No
        } else {
            self.show(lines, out)
        }
    }

    fn show(&mut self, lines: usize, out: &mut Vec<u8>) -> More {
        let rest = &self.waiting[self.shown..];
        let mut ends = rest
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'\n')
            .map(|(at, _)| at + 1);
        let end = ends.nth(lines.saturating_sub(1)).unwrap_or(rest.len());
        write_lines(&rest[..end], out);
        self.shown += end;
        if self.shown == self.waiting.len() {
            return More::No;
        }
        out.extend_from_slice(LEGEND.as_bytes());
        More::Yes
    }
}

/// Writes text with the line ends of a terminal in raw mode.
pub(crate) fn write_lines(text: &[u8], out: &mut Vec<u8>) {
    let mut last = 0;
    for byte in text {
        if *byte == b'\n' && last != b'\r' {
            out.push(b'\r');
        }
        out.push(*byte);
        last = *byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Vec<u8> {
        (0..count)
            .flat_map(|n| format!("{n}\n").into_bytes())
            .collect()
    }

    #[test]
    fn what_fits_is_shown_at_once() {
        let mut out = Vec::new();

        assert_eq!(Pager::new(lines(9), 10).begin(&mut out), More::No);
        assert!(out.ends_with(b"8\r\n"));
    }

    #[test]
    fn pages_lines_and_the_rest() {
        let mut out = Vec::new();
        let mut pager = Pager::new(lines(100), 10);

        assert_eq!(pager.begin(&mut out), More::Yes);
        assert!(out.ends_with(b"8\r\n-- [Q quit|D dump|down]"));
        assert_eq!(pager.key(Key::Enter, &mut out), More::Yes);
        assert!(out.ends_with(b"\r\x1b[K9\r\n-- [Q quit|D dump|down]"));
        assert_eq!(pager.key(Key::Char('x'), &mut out), More::Yes);
        assert_eq!(pager.key(Key::Char('d'), &mut out), More::No);
        assert!(out.ends_with(b"99\r\n"));
    }

    #[test]
    fn quitting_shows_no_more() {
        let mut out = Vec::new();
        let mut pager = Pager::new(lines(100), 10);
        pager.begin(&mut out);
        let before = out.len();

        assert_eq!(pager.key(Key::Char('q'), &mut out), More::No);
        assert_eq!(&out[before..], b"\r\x1b[K");
    }
}
