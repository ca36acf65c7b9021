//! PPPoE session data (RFC 2516, 4 and 6): the header in front of a PPP packet.
//!
//! ```text
//! version 1, type 1 (8) | code 0 (8) | session (16) | length (16) | PPP protocol (16) | packet …
//! ```
//!
//! The length counts the PPP protocol and the packet; Ethernet may pad behind that.

use frame::Frame;
use wire::{EtherType, Mac};

use crate::drop::DropReason;

/// The EtherType of session data.
pub(crate) const SESSION_DATA: u16 = EtherType::PPPOE_SESSION.0;
/// Bytes of an Ethernet header without tags.
const ETHERNET: usize = 14;
/// Bytes of the header with the PPP protocol.
pub(crate) const HEADER: usize = 8;
/// Bytes of the PPP protocol.
pub(crate) const PROTOCOL: usize = 2;
/// Version 1, type 1, code 0: session data.
const DATA: u16 = 0x1100;
/// Bytes of flags and sequence number of a multilink fragment, and the flags of a whole packet (RFC 1990, 3).
const SEQUENCE: usize = 4;
const WHOLE: u8 = 0xc0;
/// PPP protocol numbers of IPv4 and IPv6 (RFC 1332, RFC 5072).
pub(crate) const PPP_IPV4: u16 = 0x0021;
pub(crate) const PPP_IPV6: u16 = 0x0057;

/// Key of a PPPoE session on the interface below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    /// The link address of the peer.
    pub peer: Mac,
    /// The number of the session; 0 is reserved for discovery.
    pub number: u16,
}

impl Session {
    /// Bytes of the header in front of a packet of the session, behind the EtherType.
    pub const HEADER: usize = HEADER;

    /// Returns the header in front of a packet of this family. Egress writes the length of each packet into it.
    pub const fn header(&self, ipv6: bool) -> [u8; HEADER] {
        let protocol = if ipv6 { PPP_IPV6 } else { PPP_IPV4 };
        let ([a, b], [c, d]) = (DATA.to_be_bytes(), self.number.to_be_bytes());
        let [g, h] = protocol.to_be_bytes();
        [a, b, c, d, 0, 0, g, h]
    }

    /// Returns the header in front of a packet of this family and length; `None` for a packet beyond the length field.
    pub fn header_with(&self, ipv6: bool, packet_bytes: usize) -> Option<[u8; HEADER]> {
        let mut header = self.header(ipv6);
        let len = u16::try_from(packet_bytes + PROTOCOL).ok()?;
        header[4..6].copy_from_slice(&len.to_be_bytes());
        Some(header)
    }
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    kind: u16,
    pub(crate) number: u16,
    /// Bytes of the PPP protocol and the packet.
    len: u16,
    protocol: u16,
}

impl Header {
    #[inline(always)]
    pub(crate) const fn new([a, b, c, d, e, f, g, h]: [u8; HEADER]) -> Self {
        Self {
            kind: u16::from_be_bytes([a, b]),
            number: u16::from_be_bytes([c, d]),
            len: u16::from_be_bytes([e, f]),
            protocol: u16::from_be_bytes([g, h]),
        }
    }

    /// Returns true if version, type and code are those of session data.
    #[inline(always)]
    pub(crate) const fn is_data(&self) -> bool {
        self.kind == DATA
    }

    /// Returns the PPP protocol.
    pub(crate) const fn protocol(&self) -> u16 {
        self.protocol
    }

    /// Returns the EtherType of the packet; `None` where the PPP protocol is not IP.
    #[inline(always)]
    pub(crate) const fn ethertype(&self) -> Option<u16> {
        ethertype_of(self.protocol)
    }

    /// Returns how many of the `rest` bytes behind the header are the packet; `None` where fewer came than the length
    /// says, or the length does not hold the PPP protocol.
    #[inline(always)]
    pub(crate) fn packet_bytes(&self, rest: usize) -> Option<usize> {
        let bytes = usize::from(self.len).checked_sub(PROTOCOL)?;
        (bytes <= rest).then_some(bytes)
    }
}

/// Returns the EtherType of packets of a PPP protocol; `None` where the protocol is not IP.
#[inline(always)]
pub(crate) const fn ethertype_of(protocol: u16) -> Option<u16> {
    match protocol {
        PPP_IPV4 => Some(EtherType::IPV4.0),
        PPP_IPV6 => Some(EtherType::IPV6.0),
        _ => None,
    }
}

/// Content of a frame of session data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    /// The EtherType of the packet; `None` for other protocols than IP.
    pub(crate) ethertype: Option<u16>,
    /// Bytes of the packet.
    pub(crate) packet: usize,
}

/// Reads the header at the beginning of `bytes`, which end with their frame.
///
/// # Errors
/// The header is truncated, is not session data, or states a length beyond the frame.
pub(crate) fn read(bytes: &[u8]) -> Result<(u16, Data), DropReason> {
    let header = bytes.first_chunk().ok_or(DropReason::PppoeMalformed)?;
    let header = Header::new(*header);
    if !header.is_data() {
        return Err(DropReason::PppoeMalformed);
    }
    let rest = bytes.len() - HEADER;
    let packet = header.packet_bytes(rest).ok_or(DropReason::PppoeLength)?;
    let data = Data {
        ethertype: header.ethertype(),
        packet,
    };
    Ok((header.number, data))
}

/// Returns true if the header of a PPPoE session ends at offset `l3` of a frame.
#[inline(always)]
pub(crate) fn is_behind(bytes: &[u8], l3: usize) -> bool {
    let at = l3.wrapping_sub(HEADER);
    let kind = bytes
        .get(at.wrapping_sub(2)..)
        .and_then(<[u8]>::first_chunk);
    (ETHERNET..bytes.len()).contains(&at)
        && kind.is_some_and(|kind| u16::from_be_bytes(*kind) == SESSION_DATA)
}

/// Returns the EtherType of an IP packet that begins at `l3`, behind the header of a session.
pub(crate) fn ethertype_of_packet(bytes: &[u8], l3: usize) -> Option<u16> {
    let at = l3.checked_sub(HEADER).filter(|at| *at >= ETHERNET)?;
    let kind = bytes.get(at - 2..at)?.first_chunk()?;
    let header = bytes.get(at..l3)?.first_chunk()?;
    let is_session = u16::from_be_bytes(*kind) == SESSION_DATA;
    is_session.then(|| Header::new(*header).ethertype())?
}

/// Returns true if a multilink fragment, from its flags on, is for the data plane: a part of a packet, or a whole data
/// packet. Control packets arrive whole, and control receives them.
pub(crate) fn is_fragment_of_data(rest: &[u8]) -> bool {
    // Linux compresses the protocol field within fragments, as RFC 1990, 2, permits without negotiation.
    let carried = ppp::split(rest.get(SEQUENCE..).unwrap_or_default());
    let protocol = carried.map_or(0, |(protocol, _)| protocol);
    let is_whole = rest.first().is_some_and(|flags| flags & WHOLE == WHOLE);
    !is_whole
        || ethertype_of(protocol).is_some()
        || matches!(protocol, ppp::ENCRYPTED | ppp::BRIDGED)
}

/// Writes the length of the IP packet of a frame into the header of the PPPoE session in front of it.
#[inline(always)]
pub(crate) fn set_length(frame: &mut Frame) {
    let l3 = usize::from(frame.l3);
    let bytes = frame.bytes_mut();
    let total = match bytes.get(l3..).and_then(<[u8]>::first_chunk) {
        Some([first, _, _, _, a, b]) if first >> 4 == 6 => {
            40u16.wrapping_add(u16::from_be_bytes([*a, *b]))
        }
        Some([_, _, a, b, _, _]) => u16::from_be_bytes([*a, *b]),
        None => return,
    };
    let len = total.wrapping_add(PROTOCOL as u16).to_be_bytes();
    if let Some(field) = bytes.get_mut(l3 - 4..l3 - 2) {
        field.copy_from_slice(&len);
    }
}
