//! Decodes terminal input to keys (ECMA-48 control sequences as sent by xterm; UTF-8).

use vte::{Params, Parser, Perform};

/// A key, possibly with Ctrl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A printable character.
    Char(char),
    /// Ctrl with a letter, in lower case.
    Ctrl(char),
    /// Return.
    Enter,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Beginning of the line.
    Home,
    /// End of the line.
    End,
    /// One word to the left.
    WordLeft,
    /// One word to the right.
    WordRight,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key, 1 to 12.
    Function(u8),
    /// The Escape key alone.
    Escape,
}

impl Key {
    /// RouterOS's key code for scripts; `None` if the code is unknown.
    pub fn number(self) -> Option<u32> {
        Some(match self {
            Self::Char(character) => character.into(),
            Self::Ctrl(letter) => u32::from(letter) & 0x1f,
            Self::Backspace => 8,
            Self::Tab => 9,
            Self::Enter => 13,
            Self::Escape => 27,
            Self::Delete => 127,
            Self::Left => 0xee01,
            Self::Right => 0xee02,
            Self::Up => 0xee03,
            Self::Down => 0xee04,
            _ => return None,
        })
    }
}

/// The byte that Ctrl-C sends.
pub const INTERRUPT: u8 = 3;

/// Decodes a byte stream to keys. Sequences may be split at any byte.
pub struct Decoder {
    parser: Parser,
    collected: Collected,
    /// True if the last byte was Escape, which is a key or starts a sequence.
    escape: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            parser: Parser::new(),
            collected: Collected::default(),
            escape: false,
        }
    }
}

impl Decoder {
    /// Appends the keys completed by `bytes` to `out`. Unknown sequences are ignored.
    pub fn decode(&mut self, bytes: &[u8], out: &mut Vec<Key>) {
        for byte in bytes {
            self.escape = *byte == ESCAPE;
            match *byte {
                // Ctrl-C aborts any sequence: a stray `ESC ]` or `ESC P` opens a string that would swallow all
                // further input.
                INTERRUPT => {
                    self.parser = Parser::new();
                    self.collected.ss3 = false;
                    self.collected.key(Key::Ctrl('c'));
                }
                // The parser does not treat DEL as a control character, but Backspace sends it.
                0x7f => self.collected.key(Key::Backspace),
                byte => self.parser.advance(&mut self.collected, &[byte]),
            }
        }
        // A carriage return is Enter; a line feed right after it belongs to the same key.
        out.append(&mut self.collected.keys);
    }

    /// True if only the next byte tells whether Escape or another key was pressed.
    pub const fn may_be_escape(&self) -> bool {
        self.escape
    }

    /// Returns Escape, if no byte followed in time.
    pub fn escape(&mut self) -> Key {
        *self = Self::default();
        Key::Escape
    }
}

/// The byte of Escape, which also starts the sequences of other keys.
const ESCAPE: u8 = 0x1b;

#[derive(Default)]
struct Collected {
    keys: Vec<Key>,
    after_return: bool,
    ss3: bool,
}

impl Collected {
    fn key(&mut self, key: Key) {
        self.after_return = false;
        self.keys.push(key);
    }
}

impl Perform for Collected {
    fn print(&mut self, character: char) {
        if self.ss3 {
            // SS3 sequences (ESC O x): application cursor keys, F1 to F4.
            self.ss3 = false;
            if let Some(key) = final_key(character) {
                self.key(key);
                return;
            }
        }
        self.key(Key::Char(character));
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => {
                self.key(Key::Enter);
                self.after_return = true;
            }
            b'\n' if self.after_return => self.after_return = false,
            b'\n' => self.key(Key::Enter),
            b'\t' => self.key(Key::Tab),
            0x08 => self.key(Key::Backspace),
            0x01..=0x1a => self.key(Key::Ctrl(char::from(byte - 1 + b'a'))),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _: &[u8], ignore: bool, action: char) {
        if ignore {
            return;
        }
        let mut numbers = params.iter().map(|p| p.first().copied().unwrap_or(0));
        let first = numbers.next().unwrap_or(0);
        let modified = matches!(numbers.next(), Some(3 | 5));
        let key = match (action, first) {
            ('C', _) if modified => Some(Key::WordRight),
            ('D', _) if modified => Some(Key::WordLeft),
            ('~', 1 | 7) => Some(Key::Home),
            ('~', 3) => Some(Key::Delete),
            ('~', 4 | 8) => Some(Key::End),
            ('~', 5) => Some(Key::PageUp),
            ('~', 6) => Some(Key::PageDown),
            ('~', number @ 11..=15) => Some(Key::Function(number as u8 - 10)),
            ('~', number @ 17..=21) => Some(Key::Function(number as u8 - 11)),
            ('~', number @ 23..=24) => Some(Key::Function(number as u8 - 12)),
            (letter, _) => final_key(letter),
        };
        if let Some(key) = key {
            self.key(key);
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        match byte {
            b'O' => self.ss3 = true,
            b'b' => self.key(Key::WordLeft),
            b'f' => self.key(Key::WordRight),
            _ => {}
        }
    }
}

fn final_key(letter: char) -> Option<Key> {
    Some(match letter {
        'A' => Key::Up,
        'B' => Key::Down,
        'C' => Key::Right,
        'D' => Key::Left,
        'F' => Key::End,
        'H' => Key::Home,
        'P' => Key::Function(1),
        'Q' => Key::Function(2),
        'R' => Key::Function(3),
        'S' => Key::Function(4),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut out = Vec::new();
        Decoder::default().decode(bytes, &mut out);
        out
    }

    #[test]
    fn split_escape_sequences_become_keys() {
        let all = b"a\x1b[A\x1bOB\x1b[3~\x1b[1;5C\x1b[15~\x1bOP\xc3\xa9\x7f\x18\t\r";
        let whole = keys(all);
        let mut decoder = Decoder::default();
        let mut cut = Vec::new();
        for byte in all {
            decoder.decode(&[*byte], &mut cut);
        }

        assert_eq!(whole, cut);
        assert_eq!(
            whole,
            [
                Key::Char('a'),
                Key::Up,
                Key::Down,
                Key::Delete,
                Key::WordRight,
                Key::Function(5),
                Key::Function(1),
                Key::Char('é'),
                Key::Backspace,
                Key::Ctrl('x'),
                Key::Tab,
                Key::Enter
            ]
        );
    }

    #[test]
    fn a_line_feed_after_a_return_is_one_enter() {
        assert_eq!(keys(b"\r\n\n"), [Key::Enter, Key::Enter]);
    }

    #[test]
    fn ctrl_c_ends_any_escape_sequence() {
        let open = [
            "\x1b", "\x1b[", "\x1b[1;", "\x1bO", "\x1b]", "\x1bP", "\x1bPq", "\x1b_", "\x1b^",
        ];
        for open in open {
            let typed = format!("{open}\x03[A");

            assert_eq!(
                keys(typed.as_bytes()),
                [Key::Ctrl('c'), Key::Char('['), Key::Char('A')],
                "{open:?}"
            );
        }
        assert_eq!(keys(b"\xc3\x03\xa9").first(), Some(&Key::Ctrl('c')));
    }

    #[test]
    fn a_lone_escape_is_a_key() {
        let (mut decoder, mut out) = (Decoder::default(), Vec::new());
        decoder.decode(b"\x1b", &mut out);
        assert!(out.is_empty() && decoder.may_be_escape());

        assert_eq!(decoder.escape(), Key::Escape);

        decoder.decode(b"[A", &mut out);
        assert_eq!(out, [Key::Char('['), Key::Char('A')]);
        assert!(!decoder.may_be_escape());
    }

    #[test]
    fn random_input_gives_keys_or_nothing() {
        let mut rng = 1u64;
        let bytes: Vec<u8> = (0..100_000)
            .map(|_| {
                rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (rng >> 56) as u8
            })
            .collect();

        assert!(keys(&bytes).len() <= bytes.len());
    }
}
