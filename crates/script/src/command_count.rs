//! Finds the commands of a text, including unparsable commands.
//!
//! A command is a statement: one line, or a part that `;` ends. Statements inside a code block count
//! separately. Not counted are comments, a path that only enters a menu, the braces of a bare scope, and
//! anything in brackets, parentheses or quotes. The braces of an array hold no statements, nor do those of
//! `:retry`, apart from the code after `do=` and similar arguments.

use crate::tree::{Step, Tree};
use crate::unknown_words::is_verb;

/// Maximum nesting of code blocks that is searched.
const DEPTH: usize = 100;

/// Number of bytes at the beginning and at the end of a statement that are inspected to classify a brace.
const INSPECTED_BYTES: usize = 200;

/// Returns the byte offsets where the commands of a text begin, ascending.
pub(crate) fn commands(text: &str, tree: &Tree) -> Vec<usize> {
    let mut counter = Counter::new(text, tree, 0);
    while counter.peek().is_some() {
        counter.block(0);
        counter.skip(1);
    }
    counter.found.sort_unstable();
    counter.found
}

/// Returns the byte offset of the end of the statement that begins at `start`.
pub(crate) fn end(text: &str, tree: &Tree, start: usize) -> usize {
    let mut counter = Counter::new(text, tree, start);
    counter.statement(0);
    counter.at
}

struct Counter<'a> {
    bytes: &'a [u8],
    tree: &'a Tree,
    at: usize,
    /// Byte offsets of the commands found so far.
    found: Vec<usize>,
}

impl<'a> Counter<'a> {
    const fn new(text: &'a str, tree: &'a Tree, at: usize) -> Self {
        Self {
            bytes: text.as_bytes(),
            tree,
            at,
            found: Vec::new(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Advances by `bytes`, at most to the end.
    fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.bytes.len());
    }

    /// Skips a backslash with the byte that it escapes, or a line continuation with its blanks.
    fn escaped(&mut self) {
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        let blanks = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        let blanks = blanks.count();
        match rest.get(blanks) {
            Some(b'\n') => self.skip(blanks + 2),
            _ => self.skip(2),
        }
    }

    /// Returns the text from byte `start` to the current position, trimmed.
    fn since(&self, start: usize) -> String {
        let bytes = self.bytes.get(start..self.at).unwrap_or_default();
        String::from_utf8_lossy(bytes).trim().to_owned()
    }

    /// Counts statements up to a closing brace.
    fn block(&mut self, depth: usize) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' => self.skip(1),
                b'\\' => self.escaped(),
                b'#' => self.comment(),
                b'}' => return,
                _ => self.statement(depth),
            }
        }
    }

    /// Skips a comment. A backslash at its end continues the comment on the next line.
    fn comment(&mut self) {
        let mut last = b'#';
        while let Some(byte) = self.peek() {
            if byte == b'\n' && last != b'\\' {
                return;
            }
            last = byte;
            self.skip(1);
        }
    }

    /// Skips a statement and counts it, including the statements of its code blocks.
    fn statement(&mut self, depth: usize) {
        let start = self.at;
        let mut head = None;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' | b';' | b'}' => break,
                b'\\' => self.escaped(),
                b'"' => self.quoted(),
                b'[' | b'(' => self.closed(depth),
                b'{' if depth < DEPTH && self.is_code(start) => {
                    head.get_or_insert_with(|| self.since(start));
                    self.skip(1);
                    self.block(depth + 1);
                    self.skip(1);
                }
                b'{' => self.closed(depth),
                _ => self.skip(1),
            }
        }
        let text = self.since(start);
        let scope = head.is_some_and(|head| head.is_empty() || self.is_path(&head));
        // A console prompt that was copied together with the command.
        let prompt = text.starts_with('[') && text.ends_with('>');
        if !scope && !prompt && !self.is_path(&text) {
            self.found.push(start);
        }
    }

    /// True if a statement consists of an absolute path without a command.
    fn is_path(&self, text: &str) -> bool {
        if !text.starts_with('/') {
            return false;
        }
        let mut node = Some(0);
        let mut words = text.split(['/', ' ']).filter(|word| !word.is_empty());
        words.all(|word| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let step = node.and_then(|node| self.step(node, word));
            node = match step {
                Some(Step::Node(child)) => Some(child),
                Some(Step::Command(_)) | None => None,
            };
            match step {
                Some(Step::Node(_)) => true,
                Some(Step::Command(_)) => false,
                None => word.bytes().all(plain) && !is_verb(word),
            }
        })
    }

    /// Follows one word of a path in the current menu tree. Paths of older versions lead nowhere.
    fn step(&self, node: usize, word: &str) -> Option<Step> {
        let step = self.tree.step(node, word)?;
        let Step::Node(child) = step else {
            return Some(step);
        };
        let child = self.tree.nodes.get(child)?;
        let old = child.menu.is_some_and(|menu| menu.path != child.path);
        (!old).then_some(step)
    }

    /// True if the brace at the current position opens a code block: after the name of an argument that takes
    /// code, after a path or a word, or at the beginning of the statement.
    fn is_code(&self, start: usize) -> bool {
        // Only the ends of the statement are inspected: scanning a long statement at each brace would take
        // quadratic time.
        let before = |from: usize, to: usize| {
            let bytes = self.bytes.get(from..to).unwrap_or_default();
            String::from_utf8_lossy(bytes).trim().to_owned()
        };
        let head = before(start, self.at.min(start + INSPECTED_BYTES));
        let tail = before(self.at.saturating_sub(INSPECTED_BYTES).max(start), self.at);
        let word = tail.rsplit([' ', '\t', '\n', ')', '}', ']']).next();
        if let Some(name) = word.unwrap_or_default().strip_suffix('=') {
            return is_code_argument(name) || (name == "in" && head.contains("onerror"));
        }
        match head.strip_prefix(':') {
            Some(command) => {
                let name = command.split([' ', '(']).next().unwrap_or_default();
                ["do", "onerror", "if", "while", "for", "foreach"].contains(&name)
            }
            None => !head.starts_with('$'),
        }
    }

    fn quoted(&mut self) {
        self.skip(1);
        while let Some(byte) = self.peek() {
            self.skip(1);
            match byte {
                b'\\' => self.skip(1),
                b'"' => return,
                _ => {}
            }
        }
    }

    /// Skips brackets, parentheses or an array with their content. Counts the commands in functions that an
    /// array holds.
    fn closed(&mut self, depth: usize) {
        let array = self.peek() == Some(b'{');
        let start = self.at;
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.quoted();
                    continue;
                }
                b'\\' => self.skip(1),
                b'{' if array && open > 0 && depth < DEPTH && self.is_function(start) => {
                    self.skip(1);
                    self.block(depth + 1);
                    self.skip(1);
                    continue;
                }
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

    /// True if the word before the current position is the name of an argument that takes code.
    fn is_function(&self, start: usize) -> bool {
        let from = self.at.saturating_sub(12).max(start);
        let before = self.since(from);
        let word = before.rsplit([' ', ';', '\t']).next().unwrap_or_default();
        word.strip_suffix('=').is_some_and(is_code_argument)
    }
}

fn is_code_argument(name: &str) -> bool {
    ["do", "else", "on-error", "command"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Vec<&str> {
        static ADDRESS: menu::Menu = menu::Menu::new("/ip/address", menu::MenuShape::List, "");
        static MENUS: &[&menu::Menu] = &[&ADDRESS];
        let tree = Tree::new(MENUS);
        let starts = commands(text, &tree);
        let rest = starts.iter().map(|at| text[*at..].split(['\n', ';']));
        rest.map(|mut rest| rest.next().unwrap_or_default())
            .collect()
    }

    #[test]
    fn statements_count_as_commands_and_paths_do_not() {
        let text = "# no\n/ip address\nadd address=1.2.3.4/24;print\n/ip address print\n/ip";

        let found = counted(text);

        assert_eq!(
            found,
            ["add address=1.2.3.4/24", "print", "/ip address print"]
        );
    }

    #[test]
    fn an_unknown_path_counts_as_a_command_if_it_has_a_verb() {
        assert_eq!(counted("/ip moon\n/ip moon print"), ["/ip moon print"]);
    }

    #[test]
    fn code_blocks_count_as_commands_and_strings_and_arrays_do_not() {
        let text = ":if (1) do={:put [print]} else={:put \"a;b\"}\n:local a {1;2;\"x\"={3}}";

        assert_eq!(counted(text).len(), 4);
        assert_eq!(counted("/ip address {\nadd\nremove 0\n}").len(), 2);
        assert_eq!(counted(":retry {:put a;:put b} max=3").len(), 1);
        assert_eq!(counted(":set f {1;g do={:put a}}").len(), 2);
    }

    #[test]
    fn counting_terminates_for_any_text() {
        let deep = "{".repeat(100_000);
        for text in ["\"", "\\", "[{(", "}}}", "#\\", "a={", deep.as_str()] {
            let _ = counted(text);
        }
    }
}
