//! The header of L2TP packets (RFC 2661, 3.1).
//!
//! ```text
//! flags and version (16) | [length (16)] | tunnel (16) | session (16) | [Ns (16) | Nr (16)] | [offset (16), pad] | …
//! ```
//! Tunnel and session are the numbers that the receiver assigned.

use crate::event::{CallIds, Fault};

/// Bits of the first word.
const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const VERSION_MASK: u16 = 0x000f;
const VERSION: u16 = 2;
/// Bytes of the header of a control message.
pub(crate) const CONTROL_BYTES: usize = 12;
/// Address and control field of PPP in HDLC-like framing (RFC 1662, 3.1), which L2TP keeps.
pub const PPP_ADDRESS: [u8; 2] = [0xff, 0x03];

/// A parsed L2TP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header<'a> {
    /// A control message.
    Control(Control<'a>),
    /// A PPP packet of a session.
    Data(Data<'a>),
}

/// A control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control<'a> {
    /// Tunnel number of the receiver; 0 in SCCRQ.
    pub tunnel: u16,
    /// Session number of the receiver; 0 for messages of the tunnel.
    pub session: u16,
    /// Number of this message.
    pub ns: u16,
    /// Number of the message that the sender expects next.
    pub nr: u16,
    /// AVPs; empty for a mere acknowledgement (ZLB).
    pub body: &'a [u8],
}

/// A data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Tunnel and session number of the receiver.
    pub ids: CallIds,
    /// Sequence number, if the sender numbers its packets.
    pub ns: Option<u16>,
    /// PPP packet from its protocol field on: address and control field are removed.
    pub packet: &'a [u8],
}

impl<'a> Header<'a> {
    /// Parses the payload of a UDP datagram. Bytes behind the length of the header are ignored.
    ///
    /// # Errors
    /// The datagram is no L2TP version 2, or its fields contradict each other.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader(datagram);
        let flags = reader.word()?;
        if flags & VERSION_MASK != VERSION {
            return Err(Fault::Version);
        }
        if flags & LENGTH != 0 {
            let length = usize::from(reader.word()?);
            let all = datagram.get(..length).ok_or(Fault::Malformed)?;
            reader.0 = all.get(4..).ok_or(Fault::Malformed)?;
        }
        let (tunnel, session) = (reader.word()?, reader.word()?);
        let numbers = match flags & SEQUENCE {
            0 => None,
            _ => Some((reader.word()?, reader.word()?)),
        };
        if flags & CONTROL != 0 {
            let (ns, nr) = numbers.ok_or(Fault::Malformed)?;
            if flags & LENGTH == 0 || flags & OFFSET != 0 {
                return Err(Fault::Malformed);
            }
            return Ok(Self::Control(Control {
                tunnel,
                session,
                ns,
                nr,
                body: reader.0,
            }));
        }
        if flags & OFFSET != 0 {
            let pad = usize::from(reader.word()?);
            reader.0 = reader.0.get(pad..).ok_or(Fault::Malformed)?;
        }
        Ok(Self::Data(Data {
            ids: CallIds { tunnel, session },
            ns: numbers.map(|(ns, _)| ns),
            packet: reader.0.strip_prefix(&PPP_ADDRESS).unwrap_or(reader.0),
        }))
    }
}

impl Control<'_> {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        // Bodies are built here, and far below 65,535 bytes.
        let length = (CONTROL_BYTES + self.body.len()) as u16;
        let words = [
            CONTROL | LENGTH | SEQUENCE | VERSION,
            length,
            self.tunnel,
            self.session,
            self.ns,
            self.nr,
        ];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u16::to_be_bytes).collect();
        bytes.extend_from_slice(self.body);
        bytes
    }
}

/// Returns the header in front of a PPP packet, up to its protocol field. With `ns`, the packet is numbered.
pub fn data_header(ids: CallIds, ns: Option<u16>) -> Vec<u8> {
    let flags = VERSION | ns.map_or(0, |_| SEQUENCE);
    let mut words = vec![flags, ids.tunnel, ids.session];
    // Nr of data messages is reserved (RFC 2661, 5.4).
    words.extend(ns.into_iter().flat_map(|ns| [ns, 0]));
    let bytes = words.into_iter().flat_map(u16::to_be_bytes);
    bytes.chain(PPP_ADDRESS).collect()
}

/// Reads words from the front of bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Result<u16, Fault> {
        let (word, rest) = self.0.split_first_chunk().ok_or(Fault::Malformed)?;
        self.0 = rest;
        Ok(u16::from_be_bytes(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_message_survives_its_encoding_and_no_truncation_of_it() {
        let message = Control {
            tunnel: 7,
            session: 9,
            ns: 1,
            nr: 2,
            body: &[0x80, 8, 0, 0, 0, 0, 0, 6],
        };
        let mut bytes = message.encode();
        assert_eq!(Header::parse(&bytes), Ok(Header::Control(message)));
        for length in 0..bytes.len() {
            assert!(Header::parse(&bytes[..length]).is_err(), "{length}");
        }
        bytes.extend([0; 6]);
        assert_eq!(
            Header::parse(&bytes),
            Ok(Header::Control(message)),
            "padded"
        );
    }

    #[test]
    fn data_messages_may_have_length_sequence_offset_and_address() {
        let ids = CallIds {
            tunnel: 1,
            session: 2,
        };
        let parsed = |bytes: &[u8]| match Header::parse(bytes) {
            Ok(Header::Data(data)) => (data.ids, data.ns, data.packet.to_vec()),
            other => panic!("{other:?}"),
        };
        let plain = [data_header(ids, None), vec![0, 0x21, 0x45]].concat();
        assert_eq!(plain.len(), 11);
        assert_eq!(parsed(&plain), (ids, None, vec![0, 0x21, 0x45]));
        let numbered = [data_header(ids, Some(5)), vec![0, 0x21]].concat();
        assert_eq!(parsed(&numbered), (ids, Some(5), vec![0, 0x21]));
        let full = [
            0x4a, 2, 0, 18, 0, 1, 0, 2, 0, 9, 0, 0, 0, 2, 0xaa, 0xaa, 0, 0x21, 0xee,
        ];
        assert_eq!(parsed(&full), (ids, Some(9), vec![0, 0x21]));
    }

    #[test]
    fn other_versions_and_control_messages_without_numbers_are_refused() {
        assert_eq!(Header::parse(&[0xc8, 3, 0, 12]), Err(Fault::Version));
        assert_eq!(Header::parse(&[0, 1, 0, 0, 0, 0]), Err(Fault::Version));
        let unnumbered = [0xc0, 2, 0, 8, 0, 0, 0, 0];
        assert_eq!(Header::parse(&unnumbered), Err(Fault::Malformed));
    }
}
