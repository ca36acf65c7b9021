//! Cuts control messages from the bytes of a TCP connection.

use crate::event::Fault;
use crate::message::{HEADER, LONGEST, length};

/// Received bytes of an incomplete message, at most as many as the longest message has.
#[derive(Debug, Default)]
pub struct Stream {
    bytes: Vec<u8>,
}

impl Stream {
    /// Takes bytes from the front of `input` until they complete a message, which is returned; `None` means that all
    /// bytes were taken.
    ///
    /// # Errors
    /// The bytes begin no message: nothing behind them can be understood.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        loop {
            let expected = match self.bytes.first_chunk::<HEADER>() {
                Some(header) => length(header)?,
                None => HEADER,
            };
            debug_assert!(expected <= LONGEST, "a bounded buffer");
            let missing = expected.saturating_sub(self.bytes.len());
            let (taken, rest) = input.split_at(missing.min(input.len()));
            self.bytes.extend(taken);
            *input = rest;
            if self.bytes.len() < expected {
                return Ok(None);
            }
            if expected > HEADER || self.is_whole() {
                return Ok(Some(core::mem::take(&mut self.bytes)));
            }
        }
    }

    /// Whether the bytes are a message without fields.
    fn is_whole(&self) -> bool {
        let header = self.bytes.first_chunk::<HEADER>();
        header.is_some_and(|header| length(header) == Ok(self.bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn messages_are_cut_at_any_division_of_the_bytes() {
        let messages = [
            Message::EchoRequest(1),
            Message::Clear(2),
            Message::StopReply,
        ];
        let bytes: Vec<u8> = { messages.iter() }.flat_map(|of| of.build("")).collect();
        for size in 1..bytes.len() {
            let mut stream = Stream::default();
            let mut found = Vec::new();
            for mut piece in bytes.chunks(size) {
                while let Some(message) = stream.next(&mut piece).expect("messages") {
                    found.push(Message::parse(&message).expect("a message"));
                }
            }
            assert_eq!(found, messages, "{size}");
        }
    }

    #[test]
    fn a_wrong_cookie_or_length_is_an_error_at_once() {
        for (at, value) in [(4, 0), (3, 2), (1, 11), (0, 1)] {
            let mut bytes = Message::Clear(2).build("");
            bytes[at] = value;
            assert_eq!(
                Stream::default().next(&mut &bytes[..]),
                Err(Fault::Malformed)
            );
        }
    }
}
