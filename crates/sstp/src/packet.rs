//! Cuts the HTTP head and the packets from the bytes of a connection ([MS-SSTP], 2.2.1).
//!
//! ```text
//! version 10 | reserved, C | reserved, length (12 bits, with this header) | PPP packet or control message
//! ```

use crate::fault::Fault;
use crate::http;

/// Bytes of the header of a packet.
pub const HEADER: usize = 4;
/// Maximum length of a packet in bytes.
pub const MAX_PACKET: usize = 4095;
/// Version 1.0.
const VERSION: u8 = 0x10;
/// Bit of a control packet.
pub(crate) const CONTROL: u8 = 1;

/// Returns the header of a data packet with a PPP packet of `payload` bytes; `None` if the packet is too long.
pub fn data_header(payload: usize) -> Option<[u8; HEADER]> {
    header(0, payload)
}

/// Returns the header of a packet with `payload` bytes; `None` if the packet is too long.
pub(crate) fn header(kind: u8, payload: usize) -> Option<[u8; HEADER]> {
    let length = payload.checked_add(HEADER)?;
    let [high, low] = u16::try_from(length).ok()?.to_be_bytes();
    (length <= MAX_PACKET).then_some([VERSION, kind, high, low])
}

/// A part of the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The head of the HTTP request or response, with its empty line.
    Head(&'a [u8]),
    /// A whole control packet, with its header.
    Control(&'a [u8]),
    /// The PPP packet of a data packet.
    Data(&'a [u8]),
}

/// Cuts the bytes of a connection: an HTTP head, then packets. Holds the bytes of one incomplete piece.
#[derive(Debug, Default)]
pub struct Cutter {
    bytes: Vec<u8>,
    /// The head was cut: packets follow.
    is_behind_head: bool,
    /// The held bytes were returned as a piece.
    is_returned: bool,
}

impl Cutter {
    /// Takes the next piece from the front of `input`; `None` means that all bytes were taken. A piece that lies in
    /// `input` as a whole is not copied.
    ///
    /// # Errors
    /// The head is too long, or a packet has an invalid header: nothing behind it can be understood.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Piece<'a>>, Fault> {
        if core::mem::take(&mut self.is_returned) {
            self.bytes.clear();
        }
        match self.is_behind_head {
            true => self.next_packet(input),
            false => self.next_head(input),
        }
    }

    fn next_head<'a>(&'a mut self, input: &mut &[u8]) -> Result<Option<Piece<'a>>, Fault> {
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes.push(*byte);
            if self.bytes.ends_with(http::END) {
                (self.is_behind_head, self.is_returned) = (true, true);
                return Ok(Some(Piece::Head(&self.bytes)));
            }
            if self.bytes.len() >= http::MAX_HEAD {
                return Err(Fault::Http);
            }
        }
        Ok(None)
    }

    fn next_packet<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Piece<'a>>, Fault> {
        if self.bytes.is_empty() {
            let all = *input;
            let length = all.first_chunk().map(length).transpose()?;
            if let Some((packet, rest)) = length.and_then(|length| all.split_at_checked(length)) {
                *input = rest;
                return Ok(Some(piece(packet)));
            }
        }
        for _ in 0..2 {
            let expected = match self.bytes.first_chunk() {
                Some(header) => length(header)?,
                None => HEADER,
            };
            let missing = expected.saturating_sub(self.bytes.len());
            let (taken, rest) = input.split_at(missing.min(input.len()));
            self.bytes.extend_from_slice(taken);
            *input = rest;
            if self.bytes.len() < expected {
                return Ok(None);
            }
        }
        // A header alone is a whole packet.
        self.is_returned = true;
        Ok(Some(piece(&self.bytes)))
    }
}

/// Returns the length of a packet in bytes.
fn length(header: &[u8; HEADER]) -> Result<usize, Fault> {
    let [version, _, high, low] = *header;
    let length = usize::from(u16::from_be_bytes([high & 0x0f, low]));
    match version == VERSION && length >= HEADER {
        true => Ok(length),
        false => Err(Fault::Malformed),
    }
}

fn piece(packet: &[u8]) -> Piece<'_> {
    match packet.get(1).is_some_and(|kind| kind & CONTROL != 0) {
        true => Piece::Control(packet),
        false => Piece::Data(packet.get(HEADER..).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cuts chunks of bytes. Returns the pieces as text, and the fault that ended them.
    fn cut<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Option<Fault>) {
        let mut cutter = Cutter::default();
        let mut pieces = Vec::new();
        for mut chunk in chunks {
            loop {
                match cutter.next(&mut chunk) {
                    Ok(Some(piece)) => pieces.push(format!("{piece:?}")),
                    Ok(None) => break,
                    Err(fault) => return (pieces, Some(fault)),
                }
            }
        }
        (pieces, None)
    }

    fn packet(kind: u8, payload: &[u8]) -> Vec<u8> {
        let header = header(kind, payload.len()).expect("a short payload");
        [&header[..], payload].concat()
    }

    proptest! {
        #[test]
        fn pieces_do_not_depend_on_the_division_of_the_bytes(
            packets in prop::collection::vec((0..2_u8, prop::collection::vec(any::<u8>(), 0..300)), 0..8),
            tail in prop::collection::vec(any::<u8>(), 0..8),
            size in 1..700_usize,
        ) {
            let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
            for (kind, payload) in &packets {
                bytes.extend(packet(*kind, payload));
            }
            bytes.extend(&tail);
            let (whole, fault) = cut(core::iter::once(&bytes[..]));
            prop_assert!(whole.len() > packets.len());
            prop_assert_eq!((whole, fault), cut(bytes.chunks(size)));
        }
    }

    #[test]
    fn a_piece_is_bounded() {
        let endless = [b'a'; 100];
        let (pieces, fault) = cut((0..1000).map(|_| &endless[..]));
        assert_eq!((pieces.len(), fault), (0, Some(Fault::Http)));
        assert_eq!(
            data_header(MAX_PACKET - HEADER),
            Some([0x10, 0, 0x0f, 0xff])
        );
        assert_eq!(data_header(MAX_PACKET - HEADER + 1), None);
    }

    #[test]
    fn a_wrong_version_or_length_is_an_error_at_once() {
        for header in [[0x11, 0, 0, 8], [0x10, 1, 0, 3], [0, 0, 0, 0]] {
            let bytes = [b"\r\n\r\n", &header[..]].concat();
            let (pieces, fault) = cut(bytes.chunks(1));
            assert_eq!(
                (pieces.len(), fault),
                (1, Some(Fault::Malformed)),
                "{header:?}"
            );
        }
    }
}
