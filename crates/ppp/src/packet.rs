//! Encoding of PPP packets: protocol field, control header, options (RFC 1661, 2 and 5).

use smallvec::SmallVec;

use crate::reason::Fault;

/// A packet to send. Packets of negotiation and echoes stay within it, without a heap allocation.
pub type Packet = SmallVec<[u8; 40]>;

/// IPv4.
pub const IPV4: u16 = 0x0021;
/// IPv6.
pub const IPV6: u16 = 0x0057;
/// Frames of a bridge (RFC 3518).
pub const BRIDGED: u16 = 0x0031;
/// Encrypted packets (RFC 3078).
pub const ENCRYPTED: u16 = 0x00fd;
/// CCP (RFC 1962).
pub const CCP: u16 = 0x80fd;
/// Multilink fragments (RFC 1990).
pub const MULTILINK: u16 = 0x003d;
/// BCP (RFC 3518).
pub const BCP: u16 = 0x8031;
/// IPCP (RFC 1332).
pub const IPCP: u16 = 0x8021;
/// IPv6CP (RFC 5072).
pub const IPV6CP: u16 = 0x8057;
/// LCP (RFC 1661).
pub const LCP: u16 = 0xc021;
/// PAP (RFC 1334).
pub const PAP: u16 = 0xc023;
/// CHAP (RFC 1994).
pub const CHAP: u16 = 0xc223;

/// Configure-Request.
pub(crate) const CONFIGURE_REQUEST: u8 = 1;
/// Configure-Ack.
pub(crate) const CONFIGURE_ACK: u8 = 2;
/// Configure-Nak.
pub(crate) const CONFIGURE_NAK: u8 = 3;
/// Configure-Reject.
pub(crate) const CONFIGURE_REJECT: u8 = 4;
/// Terminate-Request.
pub(crate) const TERMINATE_REQUEST: u8 = 5;
/// Terminate-Ack.
pub(crate) const TERMINATE_ACK: u8 = 6;
/// Code-Reject.
pub(crate) const CODE_REJECT: u8 = 7;
/// Protocol-Reject of LCP.
pub(crate) const PROTOCOL_REJECT: u8 = 8;
/// Echo-Request of LCP.
pub(crate) const ECHO_REQUEST: u8 = 9;
/// Echo-Reply of LCP.
pub(crate) const ECHO_REPLY: u8 = 10;
/// Discard-Request of LCP.
pub(crate) const DISCARD_REQUEST: u8 = 11;
/// Identification of LCP (RFC 1570).
pub(crate) const IDENTIFICATION: u8 = 12;
/// Time-Remaining of LCP (RFC 1570).
pub(crate) const TIME_REMAINING: u8 = 13;

/// Reset-Request of CCP.
pub(crate) const RESET_REQUEST: u8 = 14;
/// Reset-Ack of CCP.
pub(crate) const RESET_ACK: u8 = 15;

/// Bytes of the header of a control packet: code, identifier, length.
pub(crate) const CONTROL_HEADER: usize = 4;
/// Bytes of the protocol field.
pub(crate) const PROTOCOL_FIELD: usize = 2;

/// Splits a packet into its protocol number and its information field.
///
/// Accepts packets with and without address and control field, and compressed protocol fields of one byte.
pub fn split(packet: &[u8]) -> Result<(u16, &[u8]), Fault> {
    let packet = packet.strip_prefix(&[0xff, 0x03]).unwrap_or(packet);
    match *packet {
        // The last byte of a protocol field is odd, and all before it are even (RFC 1661, 2).
        [byte, ref rest @ ..] if byte & 1 == 1 => Ok((byte.into(), rest)),
        [high, low, ref rest @ ..] => Ok((u16::from_be_bytes([high, low]), rest)),
        _ => Err(Fault::Truncated),
    }
}

/// A packet of a control or authentication protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Control<'a> {
    pub(crate) code: u8,
    pub(crate) id: u8,
    pub(crate) data: &'a [u8],
}

impl<'a> Control<'a> {
    /// Parses the information field of a packet. Padding behind the length is cut off.
    pub(crate) fn parse(information: &'a [u8]) -> Result<Self, Fault> {
        let Some((&[code, id, high, low], rest)) = information.split_first_chunk() else {
            return Err(Fault::Truncated);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let data = { length.checked_sub(CONTROL_HEADER) }.and_then(|length| rest.get(..length));
        let data = data.ok_or(Fault::Length)?;
        Ok(Self { code, id, data })
    }

    /// Builds the packet with its protocol field. Data beyond 65531 bytes are cut off.
    pub(crate) fn build(self, protocol: u16) -> Packet {
        let data = &self.data[..self.data.len().min(0xffff - CONTROL_HEADER)];
        let length = (CONTROL_HEADER + data.len()) as u16;
        let mut packet = Packet::with_capacity(PROTOCOL_FIELD + usize::from(length));
        packet.extend_from_slice(&protocol.to_be_bytes());
        packet.extend_from_slice(&[self.code, self.id]);
        packet.extend_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(data);
        packet
    }
}

/// An option of a Configure packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConfigureOption<'a> {
    pub(crate) kind: u8,
    pub(crate) value: &'a [u8],
    /// Type, length and value.
    pub(crate) bytes: &'a [u8],
}

/// Iterates over options; a malformed option gives an error and ends the list.
pub(crate) fn options(mut rest: &[u8]) -> impl Iterator<Item = Result<ConfigureOption<'_>, Fault>> {
    core::iter::from_fn(move || {
        let &[kind, ref tail @ ..] = rest else {
            return None;
        };
        let length = tail.first().copied().map_or(0, usize::from);
        let Some((bytes, behind)) = rest.split_at_checked(length).filter(|_| length >= 2) else {
            rest = &[];
            return Some(Err(Fault::Option));
        };
        rest = behind;
        let value = &bytes[2..];
        Some(Ok(ConfigureOption { kind, value, bytes }))
    })
}

/// Appends an option.
pub(crate) fn push_option(options: &mut Packet, kind: u8, value: &[u8]) {
    options.extend_from_slice(&[kind, value.len() as u8 + 2]);
    options.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_fields_are_read_in_every_form() {
        assert_eq!(split(&[0xc0, 0x21, 1]), Ok((LCP, &[1][..])));
        assert_eq!(split(&[0xff, 0x03, 0xc0, 0x21, 1]), Ok((LCP, &[1][..])));
        assert_eq!(split(&[0x21, 0x45]), Ok((IPV4, &[0x45][..])));
        assert_eq!(split(&[0xff, 0x03, 0x3d]), Ok((MULTILINK, &[][..])));
        assert_eq!(split(&[0xc0]), Err(Fault::Truncated));
        assert_eq!(split(&[]), Err(Fault::Truncated));
    }

    #[test]
    fn a_control_packet_ends_at_its_length() {
        let echo = Control {
            code: ECHO_REQUEST,
            id: 7,
            data: &[1, 2, 3, 4],
        };
        let packet = echo.build(LCP);
        assert_eq!(packet[..], [0xc0, 0x21, 9, 7, 0, 8, 1, 2, 3, 4]);
        let padded = [&packet[2..], &[0; 9]].concat();
        assert_eq!(Control::parse(&padded), Ok(echo));
        assert_eq!(Control::parse(&[9, 7, 0, 9, 1]), Err(Fault::Length));
        assert_eq!(Control::parse(&[9, 7, 0, 3, 1]), Err(Fault::Length));
        assert_eq!(Control::parse(&[9, 7, 0]), Err(Fault::Truncated));
    }

    #[test]
    fn a_malformed_option_ends_the_list() {
        let read = |bytes| options(bytes).map(|option| option.map(|option| option.kind));
        assert!(read(&[1, 4, 5, 0xdc, 7, 2]).eq([Ok(1), Ok(7)]));
        assert!(read(&[7, 2, 1, 4, 5]).eq([Ok(7), Err(Fault::Option)]));
        assert!(read(&[7, 1, 7, 2]).eq([Err(Fault::Option)]));
        assert!(read(&[7]).eq([Err(Fault::Option)]));
    }
}
