//! Recognition of ESP and AH packets for this router, and the lookup of their associations.

use core::ops::Range;

use frame::Frame;

use super::associations::{Arriving, Protocol};
use crate::drop::DropReason;
use crate::encap::UDP_BYTES;
use crate::flow::{self, Upper};
use crate::numbered::Reader;
use crate::packet::protocol::{AH, ESP, UDP};
use crate::walk::{Context, Exit};

/// The UDP port of ESP with NAT traversal (RFC 3948).
const PORT: u16 = 4500;

/// Returns the exit of an ESP or AH packet for this router; `None` for any other packet.
#[inline]
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    let associations = &cx.snapshot.ipsec.associations;
    if cx.snapshot.ipsec.is_empty() && associations.is_empty() {
        return None;
    }
    let upper = upper(packet)?;
    match upper.protocol {
        ESP | AH if upper.fragment => return Some(Exit::Collect),
        // Only the first fragment has the ports, so any fragment may belong to ESP in UDP and must
        // be reassembled first.
        UDP if upper.fragment => return (!associations.is_empty()).then_some(Exit::Collect),
        ESP | AH | UDP => {}
        _ => return None,
    }
    let (at, kind) = protocol_offset(packet, &upper)?;
    match kind {
        // Multicast packets with AH belong to their protocol, such as VRRP (RFC 2338, 5.3.6.3).
        Kind::Of(Protocol::Ah) if is_to_group(packet) => None,
        Kind::Of(protocol) => Some(match named(cx, packet.get(at..)?, protocol) {
            Some(_) => Exit::Reveal,
            None => Exit::Drop(DropReason::IpsecUnknown),
        }),
        Kind::Keepalive => Some(Exit::Drop(DropReason::IpsecKeepalive)),
        Kind::Other => None,
    }
}

/// Returns true if the destination is a multicast address.
fn is_to_group(packet: &[u8]) -> bool {
    match packet.first().map_or(0, |first| first >> 4) {
        4 => packet.get(16).is_some_and(|first| first >> 4 == 0xe),
        _ => packet.get(24) == Some(&0xff),
    }
}

/// Returns the SPI of bytes that begin with an ESP or AH header.
#[inline(always)]
fn spi(bytes: &[u8], protocol: Protocol) -> Option<u32> {
    let spi = match protocol {
        Protocol::Esp => bytes.first_chunk()?,
        Protocol::Ah => bytes.get(4..)?.first_chunk()?,
    };
    Some(u32::from_be_bytes(*spi))
}

/// Returns the association of bytes that begin with an ESP or AH header.
fn named(cx: &Context<'_>, bytes: &[u8], protocol: Protocol) -> Option<()> {
    let reader = cx.snapshot.ipsec.associations.arriving_reader();
    Arrivals::new(&reader)
        .association(bytes, protocol)
        .map(|_| ())
}

/// Lookup of the associations of consecutive packets. Remembers the last one.
pub(crate) struct Arrivals<'r> {
    reader: &'r Reader<Arriving>,
    last: Option<&'r Arriving>,
}

impl<'r> Arrivals<'r> {
    pub(crate) const fn new(reader: &'r Reader<Arriving>) -> Self {
        Self { reader, last: None }
    }

    /// Returns the association of bytes that begin with an ESP or AH header.
    #[inline(always)]
    fn association(&mut self, bytes: &[u8], protocol: Protocol) -> Option<&'r Arriving> {
        let spi = spi(bytes, protocol)?;
        if self.last.is_none_or(|last| last.sa.spi() != spi) {
            self.last = Some(self.reader.get(spi)?);
        }
        self.last.filter(|last| last.protocol == protocol)
    }

    /// Returns true for a whole ESP packet, in UDP or not, of a known association: [`arrival`] reveals it.
    #[inline(always)]
    pub(crate) fn is_esp(&mut self, packet: &[u8]) -> bool {
        let esp = upper(packet)
            .filter(|upper| !upper.fragment && matches!(upper.protocol, ESP | UDP))
            .and_then(|upper| protocol_offset(packet, &upper));
        let Some((at, Kind::Of(protocol))) = esp else {
            return false;
        };
        let bytes = packet.get(at..).unwrap_or_default();
        self.association(bytes, protocol).is_some()
    }

    /// Returns the association of an ESP or AH packet, and begin and end of the ESP or AH part in the frame.
    #[inline(always)]
    pub(super) fn part(&mut self, frame: &Frame) -> Option<(&'r Arriving, Range<usize>)> {
        let l3 = usize::from(frame.l3);
        let packet = frame.bytes().get(l3..)?;
        let upper = upper(packet)?;
        let (at, Kind::Of(protocol)) = protocol_offset(packet, &upper)? else {
            return None;
        };
        let total = match packet.first()? >> 4 {
            4 => u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]).into(),
            _ => 40 + usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?])),
        };
        let by = self.association(packet.get(at..total)?, protocol)?;
        Some((by, l3 + at..l3 + total))
    }
}

#[inline(always)]
fn upper(packet: &[u8]) -> Option<Upper> {
    match packet.first()? >> 4 {
        4 => flow::upper4(packet),
        _ => flow::upper6_or_ah(packet),
    }
}

/// The protocol behind the headers of a packet.
enum Kind {
    Of(Protocol),
    Keepalive,
    Other,
}

/// Returns the offset of ESP or AH in a packet, and the protocol.
#[inline(always)]
fn protocol_offset(packet: &[u8], upper: &Upper) -> Option<(usize, Kind)> {
    match upper.protocol {
        ESP => return Some((upper.offset, Kind::Of(Protocol::Esp))),
        AH => return Some((upper.offset, Kind::Of(Protocol::Ah))),
        _ => {}
    }
    let datagram = packet.get(upper.offset..)?;
    let [_, _, a, b, ..] = *datagram.first_chunk::<UDP_BYTES>()?;
    if u16::from_be_bytes([a, b]) != PORT {
        return Some((0, Kind::Other));
    }
    let at = upper.offset + UDP_BYTES;
    Some(match datagram.get(UDP_BYTES..)? {
        [0xff] => (at, Kind::Keepalive),
        // A zero SPI marks IKE messages.
        [0, 0, 0, 0, ..] => (at, Kind::Other),
        _ => (at, Kind::Of(Protocol::Esp)),
    })
}
