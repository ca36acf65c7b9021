//! RouterOS's ping by MAC address: a broadcast UDP datagram that contains sender and receiver MAC address.
//!
//! ```text
//! version 1 (8) | type (8) | sender (48) | receiver (48) | zeros (32) | data
//! ```
//! The same port carries MAC sessions (such as MAC telnet), whose messages have other types and a longer header.

use crate::{Mac, bytes_at, put_at};

/// Source and destination port.
pub const PORT: u16 = 20_561;
/// Length of the header.
pub const HEADER_LEN: usize = 18;

const VERSION: u8 = 1;
const REQUEST: u8 = 4;
const REPLY: u8 = 5;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header.
    Truncated,
    /// Unsupported version (not 1).
    Version,
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr<'a> {
    /// True for a reply.
    pub is_reply: bool,
    /// MAC address of the sender.
    pub from: Mac,
    /// MAC address of the receiver.
    pub to: Mac,
    /// Data, returned unchanged in the reply.
    pub data: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Parses the payload of a datagram; `Ok(None)` for other message types.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the message is truncated or has an unsupported version.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let [version, kind, ..] = bytes else {
            return Err(Malformed::Truncated);
        };
        if *version != VERSION {
            return Err(Malformed::Version);
        }
        if !matches!(*kind, REQUEST | REPLY) {
            return Ok(None);
        }
        let (header, data) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(Malformed::Truncated)?;
        Ok(Some(Self {
            is_reply: *kind == REPLY,
            from: Mac(bytes_at(header, 2)),
            to: Mac(bytes_at(header, 8)),
            data,
        }))
    }

    /// Encodes the header before the data.
    pub fn header(&self) -> [u8; HEADER_LEN] {
        let kind = if self.is_reply { REPLY } else { REQUEST };
        let mut header = [0; HEADER_LEN];
        put_at(&mut header, 0, [VERSION, kind]);
        put_at(&mut header, 2, self.from.0);
        put_at(&mut header, 8, self.to.0);
        header
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn messages_round_trip_and_faults_have_names() {
        for is_reply in [false, true] {
            let message = Repr {
                is_reply,
                from: Mac([2, 0, 0, 0, 0, 1]),
                to: Mac([2, 0, 0, 0, 0, 2]),
                data: b"data",
            };
            let bytes: Vec<_> = [&message.header()[..], message.data].concat();
            assert_eq!(Repr::parse(&bytes), Ok(Some(message)));
            assert_eq!(Repr::parse(&bytes[..17]), Err(Malformed::Truncated));
        }
        assert_eq!(Repr::parse(&[1]), Err(Malformed::Truncated));
        assert_eq!(Repr::parse(&[2, 4]), Err(Malformed::Version));
        // Start of a MAC session.
        assert_eq!(Repr::parse(&[1, 0, 9]), Ok(None));
    }
}
