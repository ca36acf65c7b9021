//! Syntax classes for each character of a text, named as in `/console/inspect`.
//!
//! The parser classifies the pieces of the text. This module refines them: the `$` before a variable, quotes,
//! escapes, dots in argument names, and the text between pieces.

use std::collections::BTreeMap;

use crate::highlight::{Class, Piece};

const META: &str = "syntax-meta";
const GLOBAL: &str = "variable-global";
const LOCAL: &str = "variable-local";
const PARAMETER: &str = "variable-parameter";

/// Returns the class of each byte. Nested pieces must follow the enclosing ones.
pub(crate) fn tint(text: &str, pieces: &[Piece]) -> Vec<&'static str> {
    let mut tint = Tint {
        text,
        bytes: text.as_bytes(),
        classes: vec!["none"; text.len()],
        declared: BTreeMap::new(),
        scopes: Vec::new(),
    };
    tint.between(pieces);
    for (at, piece) in pieces.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| pieces[before]);
        tint.piece(*piece, before);
    }
    tint.classes
}

struct Tint<'t> {
    text: &'t str,
    bytes: &'t [u8],
    classes: Vec<&'static str>,
    /// The class of each variable's latest declaration.
    declared: BTreeMap<&'t str, &'static str>,
    /// For each open brace: the variables declared in it, with their previous classes.
    scopes: Vec<Vec<(&'t str, Option<&'static str>)>>,
}

impl<'t> Tint<'t> {
    fn paint(&mut self, from: usize, end: usize, class: &'static str) {
        self.classes[from..end].fill(class);
    }

    /// Classifies text outside all pieces: indentation, and signs between words.
    fn between(&mut self, pieces: &[Piece]) {
        let mut covered = vec![false; self.bytes.len()];
        for (from, end, _) in pieces {
            covered[*from..*end].fill(true);
        }
        // Start of the current line's indentation.
        let mut indent = None;
        for (at, byte) in self.bytes.iter().enumerate() {
            match byte {
                // The newline after a comment belongs to the comment; the following spaces are not indentation.
                b'\n' => indent = (at > 0 && !self.ends_comment(pieces, at)).then_some(at + 1),
                b' ' | b'\t' => {}
                b'#' => indent = None,
                _ => {
                    if let Some(from) = indent.take() {
                        self.classes[from..at].fill(META);
                    }
                }
            }
            let next = self.bytes.get(at + 1);
            let is_sign = match byte {
                b';' | b'=' | b'\\' => true,
                b'$' => matches!(next, Some(b'[' | b'(' | b'"')),
                b'-' => next == Some(&b'>'),
                b'>' => at > 0 && self.bytes[at - 1] == b'-',
                _ => false,
            };
            if is_sign && !covered[at] {
                self.classes[at] = META;
            }
        }
    }

    fn ends_comment(&self, pieces: &[Piece], at: usize) -> bool {
        let before = pieces.partition_point(|(from, ..)| *from < at);
        let last = before.checked_sub(1).map(|last| pieces[last]);
        matches!(last, Some((_, end, Class::Comment)) if end == at)
    }

    fn piece(&mut self, piece: Piece, before: Option<Piece>) {
        let (from, end, class) = piece;
        match class {
            Class::Menu | Class::Command => {
                self.paint(from, end, if class == Class::Menu { "dir" } else { "cmd" });
                self.separators(from);
            }
            Class::Argument => self.argument(from, end),
            Class::Property => self.paint(from, end, LOCAL),
            Class::Value if self.is_name(from, before) => self.variable(from, end, before),
            Class::Value => self.value(from, end),
            Class::Variable => self.variable(from, end, before),
            Class::Operator | Class::Syntax => {
                self.scope(from);
                self.paint(from, end, META);
            }
            Class::Comment => {
                let end = end + usize::from(self.bytes.get(end) == Some(&b'\n'));
                self.paint(from, end, "comment");
            }
            Class::Error => self.error(from, end),
        }
    }

    /// Opens or closes a scope of variables at a brace.
    fn scope(&mut self, at: usize) {
        match self.bytes[at] {
            b'{' => self.scopes.push(Vec::new()),
            b'}' => {
                for (name, class) in self.scopes.pop().into_iter().flatten().rev() {
                    match class {
                        Some(class) => self.declared.insert(name, class),
                        None => self.declared.remove(name),
                    };
                }
            }
            _ => {}
        }
    }

    /// True if the string in quotes is a variable name.
    fn is_name(&self, from: usize, before: Option<Piece>) -> bool {
        let declares = matches!(
            before,
            Some((from, end, Class::Command))
                if ["global", "local", "set"].contains(&&self.text[from..end])
        );
        let named = from > 0 && self.bytes[from - 1] == b'$';
        self.bytes[from] == b'"' && (named || declares)
    }

    /// Classifies text that cannot be parsed. An unknown command word gets a class of its own.
    fn error(&mut self, from: usize, end: usize) {
        self.paint(from, end, "error");
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let word = self.text[from..end].find(|c| !is_word(c));
        let word = from + word.unwrap_or(end - from);
        if word > from && from > 0 && matches!(self.bytes[from - 1], b':' | b'/') {
            self.paint(from, word, "obj-inactive");
            self.separators(from);
        }
    }

    /// Classifies the separators before a word of a path or a command.
    fn separators(&mut self, from: usize) {
        let mut at = from;
        while at > 0 && matches!(self.bytes[at - 1], b':' | b'/') {
            at -= 1;
        }
        self.paint(at, from, "dir");
    }

    fn argument(&mut self, from: usize, end: usize) {
        self.paint(from, end, "arg");
        if let Some(dot) = self.text[from..end].rfind('.') {
            self.paint(from, from + dot, "arg-scope");
            self.classes[from + dot] = "arg-dot";
        }
        let sign = from.checked_sub(1).filter(|at| self.bytes[*at] == b'!');
        if let Some(at) = sign {
            self.classes[at] = META;
        }
    }

    /// Classifies a value: in strings, quotes and escapes have classes of their own.
    fn value(&mut self, from: usize, end: usize) {
        self.paint(from, end, "none");
        if self.bytes[from] != b'"' {
            return;
        }
        self.classes[from] = META;
        let mut at = from + 1;
        while at < end {
            let length = match self.bytes[at] {
                b'"' => {
                    self.classes[at] = META;
                    1
                }
                b'\\' => {
                    let length = self.escape(at).min(end - at);
                    self.paint(at, at + length, "escaped");
                    length
                }
                _ => 1,
            };
            at += length;
        }
    }

    /// Returns the length of an escape: two hexadecimal digits, or one character.
    fn escape(&self, at: usize) -> usize {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
        match self.bytes[at + 1..] {
            [first, second, ..] if is_digit(&first) && is_digit(&second) => 3,
            _ => self.text[at + 1..]
                .chars()
                .next()
                .map_or(1, |c| 1 + c.len_utf8()),
        }
    }

    fn variable(&mut self, from: usize, end: usize, before: Option<Piece>) {
        let mut start = from;
        if self.bytes[from] == b'$' {
            self.classes[from] = META;
            start += 1;
        }
        let names = &self.text[start..end];
        let command = match before {
            Some((from, end, Class::Command)) => &self.text[from..end],
            _ => "",
        };
        let declares = match command {
            "global" => Some(GLOBAL),
            "local" | "for" | "foreach" | "onerror" => Some(LOCAL),
            _ => None,
        };
        let mut at = start;
        for name in names.split(',') {
            let bare = name.trim_matches('"');
            if let Some(class) = declares {
                let outer = self.declared.insert(bare, class);
                if let Some(scope) = self.scopes.last_mut() {
                    scope.push((bare, outer));
                }
            }
            let class = self.declared.get(bare).copied().unwrap_or(PARAMETER);
            self.paint(at, at + name.len(), class);
            at += name.len();
            if at < end {
                self.classes[at] = META;
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::highlight::pieces;
    use crate::source::Source;

    /// Returns the text with each change of class marked.
    fn tinted(text: &str) -> String {
        let (store, source) = (schema::store(), Source::new(text));
        let classes = tint(text, &pieces(&store, "/", &source));
        let (mut shown, mut last) = (String::new(), "");
        for (at, c) in text.char_indices() {
            if classes[at] != last {
                last = classes[at];
                let short = last.strip_prefix("variable-").unwrap_or(last);
                shown.push_str(&format!("<{short}>"));
            }
            shown.push(c);
        }
        shown.replace("<syntax-meta>", "<>")
    }

    #[test]
    fn operators_quotes_and_escapes_get_their_own_class() {
        for (text, shown) in [
            ("/ip/route", "<dir>/ip/route"),
            (
                "/ip route add gateway=1.1.1.1;",
                "<dir>/ip<none> <dir>route<none> <cmd>add<none> <arg>gateway<>=<none>1.1.1.1<>;",
            ),
            (
                ":put \"a\\\"b\\0A\"",
                "<dir>:<cmd>put<none> <>\"<none>a<escaped>\\\"<none>b<escaped>\\0A<>\"",
            ),
            (
                "/routing/bgp/evpn/add import.route-targets=1:1",
                "<dir>/routing/bgp/evpn/<cmd>add<none> <arg-scope>import<arg-dot>.\
                 <arg>route-targets<>=<none>1:1",
            ),
            ("# a\n:put 1", "<comment># a\n<dir>:<cmd>put<none> 1"),
            (":foobar", "<dir>:<obj-inactive>foobar"),
        ] {
            assert_eq!(tinted(text), shown, "{text}");
        }
    }

    #[test]
    fn a_variable_is_classified_by_its_declaration_in_scope() {
        assert_eq!(
            tinted(":global a; :put $a; :put $b"),
            "<dir>:<cmd>global<none> <global>a<>;<none> <dir>:<cmd>put<none> <>$<global>a<>;<none> \
             <dir>:<cmd>put<none> <>$<parameter>b"
        );
        let scoped = tinted(":do {:local a; :put $a}; :put $a");
        assert!(scoped.contains("<>$<local>a<>}"), "{scoped}");
        assert!(scoped.ends_with("<>$<parameter>a"), "{scoped}");
        let quoted = tinted(":global \"a-b\"; $\"a-b\"");
        assert!(quoted.ends_with("<>$<global>\"a-b\""), "{quoted}");
        let inside = tinted(":local a; :put \"x $a\"");
        assert!(inside.ends_with("<>\"<none>x <>$<local>a<>\""), "{inside}");
        let condition = tinted("/ip/route/print where distance=$d");
        assert!(
            condition.ends_with("<local>distance<>=$<parameter>d"),
            "{condition}"
        );
    }

    #[test]
    fn every_text_has_a_class_for_each_byte() {
        for text in [
            "",
            "\\",
            "\"\\",
            "$",
            "$\"",
            "{{}}}",
            ":é \"\\é",
            "\n \n#",
            "->",
            "a.=.b",
        ] {
            assert_eq!(tinted(text).is_empty(), text.is_empty(), "{text}");
        }
    }
}
