//! Data messages in datagrams (RFC 2661, 3.1).

use core::ops::Range;

use super::settings::CallIds;
use crate::encap::session_data::data_protocol;
use crate::flow::upper4;

/// Bytes of a UDP header.
pub(super) const UDP_BYTES: usize = 8;
/// Bits of the first word of a header (RFC 2661, 3.1).
const CONTROL: u16 = 0x8000;
const LENGTH: u16 = 0x4000;
pub(super) const SEQUENCE: u16 = 0x0800;
const OFFSET: u16 = 0x0200;
pub(super) const VERSION: u16 = 2;
const VERSION_MASK: u16 = 0x000f;

/// A data message with a packet for the data plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Data {
    /// Numbers of the receiver.
    pub(super) ids: CallIds,
    /// Sequence number, if the other end numbers its packets.
    pub(super) ns: Option<u16>,
    /// PPP protocol of the packet.
    pub(super) protocol: u16,
    /// Offset of the packet in the message, behind its protocol field.
    pub(super) at: usize,
    /// End of the message: its length field, or the end of the datagram.
    pub(super) end: usize,
}

impl Data {
    /// Parses a message; `None` for control messages, PPP control packets, and malformed messages.
    #[inline(always)]
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let bytes = message.get(at..)?.first_chunk()?;
            Some(u16::from_be_bytes(*bytes))
        };
        let flags = word(0)?;
        if flags & (CONTROL | VERSION_MASK) != VERSION {
            return None;
        }
        let (mut at, mut end) = (2, message.len());
        if flags & LENGTH != 0 {
            end = usize::from(word(at)?);
            at += 2;
        }
        let ids = CallIds {
            tunnel: word(at)?,
            session: word(at + 2)?,
        };
        at += 4;
        let mut ns = None;
        if flags & SEQUENCE != 0 {
            ns = Some(word(at)?);
            at += 4;
        }
        if flags & OFFSET != 0 {
            at += 2 + usize::from(word(at)?);
        }
        let (protocol, length) = data_protocol(message.get(at..)?)?;
        at += length;
        (at <= end && end <= message.len()).then_some(Self {
            ids,
            ns,
            protocol,
            at,
            end,
        })
    }
}

/// Returns the range of the L2TP message in an IPv4 packet.
#[inline(always)]
pub(super) fn message(packet: &[u8]) -> Option<Range<usize>> {
    let upper = upper4(packet)?;
    let [_, _, _, _, a, b, ..] = *packet.get(upper.offset..)?.first_chunk::<UDP_BYTES>()?;
    let end = upper.offset + usize::from(u16::from_be_bytes([a, b]));
    let start = upper.offset + UDP_BYTES;
    (start <= end && end <= packet.len()).then_some(start..end)
}
