//! The headers of L2TP packets: version 2 (RFC 2661, 3.1), and control messages of version 3 (RFC 3931, 3.2.1).
//!
//! ```text
//! flags and version (16) | [length (16)] | tunnel (16) | session (16) | [Ns (16) | Nr (16)] | [offset (16), pad] | …
//! flags and version (16) | length (16) | tunnel (32) | Ns (16) | Nr (16) | …
//! ```
//! Tunnel and session are the numbers that the receiver assigned.

use crate::event::{CallIds, Fault};

/// Bits of the first word.
const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
const VERSION_MASK: u16 = 0x000f;
/// Bytes of the header of a control message, of either version.
pub(crate) const CONTROL_BYTES: usize = 12;
/// Address and control field of PPP in HDLC-like framing (RFC 1662, 3.1), which L2TP keeps.
pub const PPP_ADDRESS: [u8; 2] = [0xff, 0x03];

/// Version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 2661.
    Two = 2,
    /// RFC 3931.
    Three = 3,
}

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
    /// Version of the message.
    pub version: Version,
    /// Tunnel number of the receiver; 0 in SCCRQ.
    pub tunnel: u32,
    /// Session number of the receiver; 0 for messages of the tunnel, and in version 3.
    pub session: u32,
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
    /// Parses a packet from its header on. Bytes behind the length of the header are ignored.
    ///
    /// # Errors
    /// The packet has neither version 2 nor 3, is a data message of version 3, or its fields contradict each other.
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader(datagram);
        let flags = reader.word()?;
        match flags & VERSION_MASK {
            2 => {}
            // Sessions of version 3 are found by workers.
            3 if flags & CONTROL == 0 => return Err(Fault::Session),
            3 => return parse_version_3(flags, datagram).map(Self::Control),
            _ => return Err(Fault::Version),
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
                version: Version::Two,
                tunnel: tunnel.into(),
                session: session.into(),
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
            ids: CallIds {
                tunnel: tunnel.into(),
                session: session.into(),
            },
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
        let flags = CONTROL | LENGTH | SEQUENCE | self.version as u16;
        let receiver = match self.version {
            Version::Two => self.tunnel << 16 | self.session & 0xffff,
            Version::Three => self.tunnel,
        };
        let mut bytes = [flags, length].map(u16::to_be_bytes).concat();
        bytes.extend(receiver.to_be_bytes());
        bytes.extend([self.ns, self.nr].map(u16::to_be_bytes).concat());
        bytes.extend_from_slice(self.body);
        bytes
    }
}

/// Parses a control message of version 3.
fn parse_version_3(flags: u16, datagram: &[u8]) -> Result<Control<'_>, Fault> {
    if flags & (LENGTH | SEQUENCE) != LENGTH | SEQUENCE {
        return Err(Fault::Malformed);
    }
    let mut reader = Reader(datagram.get(2..).ok_or(Fault::Malformed)?);
    let length = usize::from(reader.word()?);
    let all = datagram.get(..length).ok_or(Fault::Malformed)?;
    reader.0 = all.get(4..).ok_or(Fault::Malformed)?;
    let tunnel = u32::from(reader.word()?) << 16 | u32::from(reader.word()?);
    Ok(Control {
        version: Version::Three,
        tunnel,
        session: 0,
        ns: reader.word()?,
        nr: reader.word()?,
        body: reader.0,
    })
}

/// Returns the header of version 2 in front of a PPP packet, up to its protocol field. With `ns`, the packet is
/// numbered.
pub fn data_header(ids: CallIds, ns: Option<u16>) -> Vec<u8> {
    let flags = Version::Two as u16 | ns.map_or(0, |_| SEQUENCE);
    // Numbers of version 2 have 16 bits.
    let mut words = vec![flags, ids.tunnel as u16, ids.session as u16];
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
        for (version, tunnel, session) in [(Version::Two, 7, 9), (Version::Three, 0x7000_0001, 0)] {
            let message = Control {
                version,
                tunnel,
                session,
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
        assert_eq!(Header::parse(&[0xc8, 4, 0, 12]), Err(Fault::Version));
        assert_eq!(Header::parse(&[0xc8, 3, 0, 12]), Err(Fault::Malformed));
        let data = [0, 3, 0, 0, 0, 0, 0, 1];
        assert_eq!(Header::parse(&data), Err(Fault::Session));
        assert_eq!(Header::parse(&[0, 1, 0, 0, 0, 0]), Err(Fault::Version));
        let unnumbered = [0xc0, 2, 0, 8, 0, 0, 0, 0];
        assert_eq!(Header::parse(&unnumbered), Err(Fault::Malformed));
    }
}
