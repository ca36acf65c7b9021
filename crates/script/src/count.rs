//! How far a statement reaches and which commands it has, where it cannot be read: statements,
//! those in the braces of code too, but for comments, paths on a line of their own, and what
//! stands in brackets, parentheses and quotes.

use crate::lost::is_path;

/// Where the statement that begins at a byte ends, and where its commands begin.
pub(crate) fn statement(text: &str, start: usize) -> (usize, Vec<usize>) {
    let mut counter = Counter {
        bytes: text.as_bytes(),
        at: start,
        found: Vec::new(),
    };
    counter.statement(0);
    counter.found.sort_unstable();
    (counter.at.min(text.len()), counter.found)
}

struct Counter<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the commands begin.
    found: Vec<usize>,
}

impl Counter<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Goes on by bytes, not beyond the end.
    fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.bytes.len());
    }

    /// Counts statements up to a closing brace.
    fn block(&mut self, depth: usize) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' => self.at += 1,
                b'\\' => self.skip(2),
                b'#' => self.skip_comment(),
                b'}' => return,
                _ => self.statement(depth),
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Goes over a statement; counts it, and the statements of its code.
    fn statement(&mut self, depth: usize) {
        let start = self.at;
        let mut code = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' | b';' | b'}' => break,
                b'\\' => self.skip(2),
                b'"' => self.quoted(),
                b'[' | b'(' => self.closed(),
                b'{' if self.is_code(start) && depth < 100 => {
                    code = true;
                    self.at += 1;
                    self.block(depth + 1);
                    self.skip(1);
                }
                b'{' => self.closed(),
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.bytes.len());
        let text = String::from_utf8_lossy(&self.bytes[start..end]);
        let text = text.trim();
        let scope = text.starts_with('{') || (code && text.starts_with('/') && !text.contains('='));
        if !scope && !text.starts_with('[') && !is_path(text) {
            self.found.push(start);
        }
    }

    /// Whether a brace here opens code: after the name of an argument that takes code, after a path
    /// or a word, and at the beginning.
    fn is_code(&self, start: usize) -> bool {
        let before = String::from_utf8_lossy(&self.bytes[start..self.at]);
        let before = before.trim_end();
        let word = before
            .rsplit([' ', '\t', '\n', ')', '}', ']'])
            .next()
            .unwrap_or_default();
        match word.strip_suffix('=') {
            Some(name) => {
                ["do", "else", "on-error", "command", "in"].contains(&name)
                    && (name != "in" || before.contains("onerror"))
            }
            None => match before.trim_start().strip_prefix(':') {
                Some(command) => {
                    let name = command.split([' ', '(']).next().unwrap_or_default();
                    ["do", "onerror", "retry", "if", "while", "for", "foreach"].contains(&name)
                }
                None => !before.trim_start().starts_with('$'),
            },
        }
    }

    fn quoted(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.skip(1),
                b'"' => return,
                _ => {}
            }
        }
    }

    /// Goes over brackets, parentheses or an array with all that is within.
    fn closed(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.quoted();
                    continue;
                }
                b'\\' => self.skip(1),
                b'[' | b'(' | b'{' => open += 1,
                b']' | b')' | b'}' => open -= 1,
                _ => {}
            }
            self.skip(1);
            if open == 0 {
                return;
            }
        }
    }
}
