//! PPPoE packets (RFC 2516, 4 and 5; RFC 4638), after their EtherType.
//!
//! ```text
//! version 1, type 1 (8) | code (8) | session (16) | length (16) | payload … | Ethernet padding
//! discovery: the payload is tags: type (16) | length (16) | value
//! session:   code 0, and the payload is a PPP packet, from its protocol field on
//! ```
//! Names and identifiers are raw bytes.

use alloc::vec::Vec;

/// Bytes of the header.
pub const HEADER: usize = 6;
/// Version 1 and type 1.
const VERSION: u8 = 0x11;
/// Bytes in front of a tag's value.
const TAG_HEADER: usize = 4;
/// MRU of a session on an interface with an MTU of 1,500 bytes (RFC 2516, 7).
pub const MRU: u16 = 1_492;
/// Vendor id of the Broadband Forum, whose tag carries the line of a subscriber (TR-101, 3.9.2).
const BROADBAND_FORUM: [u8; 4] = [0, 0, 0x0d, 0xe9];

/// Codes.
pub mod code {
    /// Session data.
    pub const SESSION: u8 = 0x00;
    /// PPPoE Active Discovery Offer.
    pub const PADO: u8 = 0x07;
    /// PPPoE Active Discovery Initiation.
    pub const PADI: u8 = 0x09;
    /// PPPoE Active Discovery Request.
    pub const PADR: u8 = 0x19;
    /// PPPoE Active Discovery Session-confirmation.
    pub const PADS: u8 = 0x65;
    /// PPPoE Active Discovery Terminate.
    pub const PADT: u8 = 0xa7;
}

/// Tag types.
pub mod tag {
    /// End-Of-List
    pub const END: u16 = 0x0000;
    /// Service-Name
    pub const SERVICE_NAME: u16 = 0x0101;
    /// AC-Name
    pub const AC_NAME: u16 = 0x0102;
    /// Host-Uniq
    pub const HOST_UNIQ: u16 = 0x0103;
    /// AC-Cookie
    pub const AC_COOKIE: u16 = 0x0104;
    /// Vendor-Specific
    pub const VENDOR: u16 = 0x0105;
    /// Relay-Session-Id
    pub const RELAY_SESSION: u16 = 0x0110;
    /// PPP-Max-Payload (RFC 4638)
    pub const MAX_PAYLOAD: u16 = 0x0120;
    /// Service-Name-Error
    pub const SERVICE_NAME_ERROR: u16 = 0x0201;
    /// AC-System-Error
    pub const SYSTEM_ERROR: u16 = 0x0202;
    /// Generic-Error
    pub const GENERIC_ERROR: u16 = 0x0203;
}

/// Sub-options of the Broadband Forum's tag.
mod line {
    pub(super) const CIRCUIT_ID: u8 = 1;
    pub(super) const REMOTE_ID: u8 = 2;
}

/// Reason why bytes are no PPPoE packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The header is incomplete.
    Truncated,
    /// Version or type is not 1.
    Version,
    /// The stated length exceeds the frame.
    Length,
    /// A tag exceeds the packet.
    Tag,
}

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Code.
    pub code: u8,
    /// Session number; 0 before the server assigned one.
    pub session: u16,
    /// Payload, without the padding of the frame.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Parses the bytes after the EtherType.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the header is truncated, of another version, or states a length beyond `bytes`.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) = bytes
            .split_first_chunk::<HEADER>()
            .ok_or(Malformed::Truncated)?;
        let [version, code, a, b, c, d] = *header;
        if version != VERSION {
            return Err(Malformed::Version);
        }
        let length = usize::from(u16::from_be_bytes([c, d]));
        Ok(Self {
            code,
            session: u16::from_be_bytes([a, b]),
            payload: rest.get(..length).ok_or(Malformed::Length)?,
        })
    }

    /// Returns the header of a packet with a payload of `length` bytes.
    pub const fn header(code: u8, session: u16, length: u16) -> [u8; HEADER] {
        let ([a, b], [c, d]) = (session.to_be_bytes(), length.to_be_bytes());
        [VERSION, code, a, b, c, d]
    }

    /// Returns the tags of a discovery packet up to End-Of-List. The last item is an error if a tag exceeds the packet.
    pub const fn tags(&self) -> Tags<'a> {
        Tags { rest: self.payload }
    }
}

/// A tag of a discovery packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Type.
    pub kind: u16,
    /// Value.
    pub value: &'a [u8],
}

/// Tags of a discovery packet, in order.
#[derive(Clone, Debug)]
pub struct Tags<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tags<'a> {
    type Item = Result<Tag<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = core::mem::take(&mut self.rest);
        if rest.is_empty() {
            return None;
        }
        let Some(([a, b, c, d], behind)) = rest.split_first_chunk::<TAG_HEADER>() else {
            return Some(Err(Malformed::Tag));
        };
        let length = usize::from(u16::from_be_bytes([*c, *d]));
        let Some((value, rest)) = behind.split_at_checked(length) else {
            return Some(Err(Malformed::Tag));
        };
        let kind = u16::from_be_bytes([*a, *b]);
        if kind == tag::END {
            return None;
        }
        self.rest = rest;
        Some(Ok(Tag { kind, value }))
    }
}

/// The tags of a discovery packet as fields: the first of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discovery<'a> {
    /// Service-Name; empty requests any service.
    pub service_name: Option<&'a [u8]>,
    /// AC-Name.
    pub ac_name: Option<&'a [u8]>,
    /// Host-Uniq.
    pub host_uniq: Option<&'a [u8]>,
    /// AC-Cookie.
    pub cookie: Option<&'a [u8]>,
    /// Relay-Session-Id.
    pub relay_session: Option<&'a [u8]>,
    /// PPP-Max-Payload in bytes.
    pub max_payload: Option<u16>,
    /// Agent Circuit ID of the subscriber's line (TR-101).
    pub circuit_id: Option<&'a [u8]>,
    /// Agent Remote ID of the subscriber's line (TR-101).
    pub remote_id: Option<&'a [u8]>,
    /// The first error tag.
    pub error: Option<Tag<'a>>,
}

impl<'a> Discovery<'a> {
    /// Reads the tags of a packet. Tags of unknown types, and a PPP-Max-Payload of another length than 2, are skipped.
    ///
    /// # Errors
    /// Returns [`Malformed::Tag`] if a tag exceeds the packet.
    pub fn parse(packet: &Packet<'a>) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        for tag in packet.tags() {
            let tag = tag?;
            let slot = match tag.kind {
                tag::SERVICE_NAME => &mut fields.service_name,
                tag::AC_NAME => &mut fields.ac_name,
                tag::HOST_UNIQ => &mut fields.host_uniq,
                tag::AC_COOKIE => &mut fields.cookie,
                tag::RELAY_SESSION => &mut fields.relay_session,
                tag::MAX_PAYLOAD => {
                    let bytes = <[u8; 2]>::try_from(tag.value).ok();
                    fields.max_payload = fields.max_payload.or(bytes.map(u16::from_be_bytes));
                    continue;
                }
                tag::VENDOR => {
                    fields.parse_line(tag.value);
                    continue;
                }
                tag::SERVICE_NAME_ERROR | tag::SYSTEM_ERROR | tag::GENERIC_ERROR => {
                    fields.error = fields.error.or(Some(tag));
                    continue;
                }
                _ => continue,
            };
            *slot = slot.or(Some(tag.value));
        }
        Ok(fields)
    }

    /// Reads the sub-options of the Broadband Forum's tag: type (8), length (8), value.
    fn parse_line(&mut self, value: &'a [u8]) {
        let Some((&BROADBAND_FORUM, mut rest)) = value.split_first_chunk() else {
            return;
        };
        while let Some(([kind, length], behind)) = rest.split_first_chunk() {
            let Some((value, behind)) = behind.split_at_checked(usize::from(*length)) else {
                return;
            };
            match *kind {
                line::CIRCUIT_ID => self.circuit_id = self.circuit_id.or(Some(value)),
                line::REMOTE_ID => self.remote_id = self.remote_id.or(Some(value)),
                _ => {}
            }
            rest = behind;
        }
    }
}

/// Builds a discovery packet.
#[derive(Clone, Debug)]
pub struct Builder {
    bytes: Vec<u8>,
}

impl Builder {
    /// Starts a packet without tags.
    pub fn new(code: u8, session: u16) -> Self {
        Self {
            bytes: Packet::header(code, session, 0).to_vec(),
        }
    }

    /// Appends a tag; skips a tag that would make the packet longer than its length field can state.
    #[must_use]
    pub fn tag(mut self, kind: u16, value: &[u8]) -> Self {
        let after = self.bytes.len() - HEADER + TAG_HEADER + value.len();
        if after <= usize::from(u16::MAX) {
            self.bytes.extend(kind.to_be_bytes());
            self.bytes.extend((value.len() as u16).to_be_bytes());
            self.bytes.extend(value);
        }
        self
    }

    /// Appends a tag if there is a value.
    #[must_use]
    pub fn optional(self, kind: u16, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.tag(kind, value),
            None => self,
        }
    }

    /// Appends the tag with the subscriber's line, if either id is given. Ids are cut to 63 bytes (TR-101, R-124).
    #[must_use]
    pub fn line(self, circuit_id: Option<&[u8]>, remote_id: Option<&[u8]>) -> Self {
        if circuit_id.is_none() && remote_id.is_none() {
            return self;
        }
        let mut value = BROADBAND_FORUM.to_vec();
        for (kind, id) in [(line::CIRCUIT_ID, circuit_id), (line::REMOTE_ID, remote_id)] {
            if let Some(id) = id {
                let id = id.get(..63).unwrap_or(id);
                value.extend([kind, id.len() as u8]);
                value.extend(id);
            }
        }
        self.tag(tag::VENDOR, &value)
    }

    /// Returns the packet.
    pub fn finish(mut self) -> Vec<u8> {
        let length = (self.bytes.len() - HEADER) as u16;
        if let Some(field) = self.bytes.get_mut(HEADER - 2..HEADER) {
            field.copy_from_slice(&length.to_be_bytes());
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The PADO of RFC 2516, appendix B, after its EtherType.
    const PADO: [u8; 38] = [
        0x11, 0x07, 0x00, 0x00, 0x00, 0x20, 0x01, 0x01, 0x00, 0x00, 0x01, 0x02, 0x00, 0x18, 0x47,
        0x6f, 0x20, 0x52, 0x65, 0x64, 0x42, 0x61, 0x63, 0x6b, 0x20, 0x2d, 0x20, 0x65, 0x73, 0x68,
        0x73, 0x68, 0x65, 0x73, 0x68, 0x6f, 0x6f, 0x74,
    ];

    #[test]
    fn the_offer_of_rfc_2516_appendix_b_is_read_and_built() {
        let packet = Packet::new_checked(&PADO).expect("well formed");
        assert_eq!((packet.code, packet.session), (code::PADO, 0));
        let fields = Discovery::parse(&packet).expect("well formed");
        let expected = Discovery {
            service_name: Some(b""),
            ac_name: Some(b"Go RedBack - eshsheshoot"),
            ..Discovery::default()
        };
        assert_eq!(fields, expected);

        let built = Builder::new(code::PADO, 0)
            .tag(tag::SERVICE_NAME, b"")
            .optional(tag::AC_NAME, fields.ac_name)
            .optional(tag::HOST_UNIQ, None)
            .line(None, None)
            .finish();
        assert_eq!(built, PADO);
    }

    #[test]
    fn all_tags_are_read_as_fields_and_padding_is_not() {
        let error = Tag {
            kind: tag::SYSTEM_ERROR,
            value: b"full",
        };
        let expected = Discovery {
            service_name: Some(b"isp"),
            ac_name: Some(b"bras"),
            host_uniq: Some(&[1, 2]),
            cookie: Some(&[3]),
            relay_session: Some(&[4]),
            max_payload: Some(1500),
            circuit_id: Some(b"slot 1"),
            remote_id: Some(b"anna"),
            error: Some(error),
        };
        let mut bytes = Builder::new(code::PADS, 7)
            .tag(tag::SERVICE_NAME, b"isp")
            .tag(tag::SERVICE_NAME, b"second")
            .tag(tag::AC_NAME, b"bras")
            .tag(0x7777, b"unknown")
            .tag(tag::HOST_UNIQ, &[1, 2])
            .tag(tag::AC_COOKIE, &[3])
            .tag(tag::RELAY_SESSION, &[4])
            .tag(tag::MAX_PAYLOAD, &[1])
            .tag(tag::MAX_PAYLOAD, &1500u16.to_be_bytes())
            .tag(tag::VENDOR, &[0, 0, 0, 1, 1, 1, 9])
            .line(Some(b"slot 1"), Some(b"anna"))
            .tag(tag::SYSTEM_ERROR, b"full")
            .tag(tag::END, b"")
            .tag(tag::AC_NAME, b"behind the end")
            .finish();
        bytes.extend([0xff; 9]);
        let packet = Packet::new_checked(&bytes).expect("well formed");
        assert_eq!((packet.code, packet.session), (code::PADS, 7));
        assert_eq!(Discovery::parse(&packet), Ok(expected));
    }

    #[test]
    fn each_fault_has_its_name_and_no_truncation_or_bit_flip_panics() {
        let read = |bytes: &[u8]| {
            let packet = Packet::new_checked(bytes)?;
            Discovery::parse(&packet).map(drop)
        };
        assert_eq!(read(&PADO[..5]), Err(Malformed::Truncated));
        assert_eq!(read(&[0x21, 9, 0, 0, 0, 0]), Err(Malformed::Version));
        assert_eq!(read(&PADO[..37]), Err(Malformed::Length));
        for payload in [&[1, 1, 0][..], &[1, 1, 0, 1], &[1, 1, 0xff, 0xff, 0]] {
            let header = Packet::header(code::PADI, 0, payload.len() as u16);
            let bytes = [&header[..], payload].concat();
            assert_eq!(read(&bytes), Err(Malformed::Tag));
        }
        for len in 0..PADO.len() {
            assert!(read(&PADO[..len]).is_err());
        }
        for at in 0..PADO.len() * 8 {
            let mut bytes = PADO;
            bytes[at / 8] ^= 1 << (at % 8);
            let _ = read(&bytes);
        }
    }

    #[test]
    fn tags_beyond_the_length_field_are_left_out() {
        let long = alloc::vec![7; 40_000];
        let bytes = Builder::new(code::PADI, 0)
            .tag(tag::AC_NAME, &long)
            .tag(tag::AC_COOKIE, &long)
            .finish();
        assert_eq!(bytes.len(), HEADER + TAG_HEADER + long.len());
        assert!(Packet::new_checked(&bytes).is_ok());
    }
}
