//! Parses strings in quotes: escapes, embedded variables and expressions.

use menu::{Reason, Refusal, bytes};

use crate::ast::{Expr, Node};
use crate::highlight::Class;
use crate::parser::Parser;

impl Parser<'_> {
    /// Parses a string in quotes. RouterOS: an escape is a separate part, like an embedded value, and a line
    /// continuation begins a new part.
    pub(crate) fn quoted(&mut self) -> Result<Expr, Refusal> {
        let at = self.position(self.at);
        let start = self.at;
        self.at += 1;
        let mut parts = Vec::new();
        let mut tallest = 0;
        let mut raw = Vec::new();
        let piece = |raw: &mut Vec<u8>, parts: &mut Vec<Expr>| {
            if !raw.is_empty() {
                let text = Node::Text(bytes::from_pieces(&std::mem::take(raw)));
                parts.push(Expr { at, node: text });
            }
        };
        loop {
            let Some(byte) = self.peek() else {
                return self.refuse(Reason::MissingClosing("quote"), self.at);
            };
            match byte {
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' if self.continuation() > 0 => {
                    piece(&mut raw, &mut parts);
                    self.skip_spaces();
                }
                b'\\' => {
                    piece(&mut raw, &mut parts);
                    raw.push(self.escape()?);
                    piece(&mut raw, &mut parts);
                }
                b'$' if self.interpolates() => {
                    piece(&mut raw, &mut parts);
                    let row = self.row.take();
                    let value = self.nested(Self::variable);
                    self.row = row;
                    parts.push(value?);
                    tallest = self.tallest(tallest);
                }
                _ => {
                    raw.push(byte);
                    self.at += 1;
                }
            }
        }
        self.mark(start, Class::Value);
        self.height = tallest + 1;
        piece(&mut raw, &mut parts);
        Ok(match parts.len() {
            0 => Expr {
                at,
                node: Node::Text(String::new()),
            },
            1 => match parts.remove(0) {
                Expr {
                    node: node @ Node::Text(_),
                    ..
                } => Expr { at, node },
                single => Expr {
                    at,
                    node: Node::Joined(vec![single]),
                },
            },
            _ => Expr {
                at,
                node: Node::Joined(parts),
            },
        })
    }

    fn interpolates(&self) -> bool {
        let next = self.bytes.get(self.at + 1);
        next.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'(' | b'[' | b'"'))
    }

    /// Returns the byte that an escape stands for.
    fn escape(&mut self) -> Result<u8, Refusal> {
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
            self.at += 3;
            return Ok((high * 16 + low) as u8);
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
            _ => return self.refuse(Reason::ExpectedValue, self.at + 1),
        };
        self.at += 2;
        Ok(byte)
    }
}
