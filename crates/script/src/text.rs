//! Texts in quotes: escapes, and values within.

use menu::{Reason, Refusal, bytes};

use crate::ast::{Expr, Node};
use crate::highlight::Class;
use crate::parser::Parser;

impl Parser<'_> {
    /// A text in quotes.
    pub(crate) fn quoted(&mut self) -> Result<Expr, Refusal> {
        let at = self.position(self.at);
        let start = self.at;
        self.at += 1;
        let mut parts = Vec::new();
        let mut raw = Vec::new();
        loop {
            let Some(byte) = self.peek() else {
                return self.refuse(Reason::MissingClosing("quote"), self.at);
            };
            match byte {
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' => self.escape(&mut raw)?,
                b'$' if self.interpolates() => {
                    let text = Node::Text(bytes::from_bytes(&std::mem::take(&mut raw)));
                    parts.push(Expr { at, node: text });
                    let row = self.row.take();
                    let value = self.nested(Self::variable);
                    self.row = row;
                    parts.push(value?);
                }
                _ => {
                    raw.push(byte);
                    self.at += 1;
                }
            }
        }
        self.mark(start, Class::Value);
        let text = Expr {
            at,
            node: Node::Text(bytes::from_bytes(&raw)),
        };
        if parts.is_empty() {
            return Ok(text);
        }
        parts.push(text);
        Ok(Expr {
            at,
            node: Node::Joined(parts),
        })
    }

    fn interpolates(&self) -> bool {
        let next = self.bytes.get(self.at + 1);
        next.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'(' | b'[' | b'"'))
    }

    fn escape(&mut self, raw: &mut Vec<u8>) -> Result<(), Refusal> {
        if self.continuation() > 0 {
            self.at += self.continuation();
            while matches!(self.peek(), Some(b' ' | b'\t')) {
                self.at += 1;
            }
            return Ok(());
        }
        let code = self.bytes.get(self.at + 1).copied();
        let hex = |index: usize| {
            let byte = self
                .bytes
                .get(self.at + index)
                .copied()
                .filter(|b| !b.is_ascii_lowercase());
            byte.and_then(|b| (b as char).to_digit(16))
        };
        if let (Some(high), Some(low)) = (hex(1), hex(2)) {
            raw.push((high * 16 + low) as u8);
            self.at += 3;
            return Ok(());
        }
        let byte = match code {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'_') => b' ',
            Some(same @ (b'"' | b'\\' | b'$' | b'?')) => same,
            _ => return self.refuse(Reason::Syntax, self.at + 1),
        };
        raw.push(byte);
        self.at += 2;
        Ok(())
    }

    /// Skips spaces, continuations and line ends, in parentheses and arrays.
    pub(crate) fn skip_blank(&mut self) {
        self.skip_spaces();
        while self.row.is_none() && self.peek() == Some(b'\n') {
            self.at += 1;
            self.skip_spaces();
        }
    }
}
