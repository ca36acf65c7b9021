//! Forward: checks and decrements the TTL of forwarded packets, and checks their size against the
//! egress MTU. IPv4 options are in `options.rs`.

use frame::{Offload, Segmentation};

use super::Exit;
use super::packet::Leaving;
use crate::drop::DropReason;
use crate::packet::protocol;
use crate::punt::PuntReason;

/// How a packet fits the egress link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The packet fits unchanged.
    Whole,
    /// The packet must be split into fragments.
    Fragments,
}

/// Decides how a packet, from its network header on, fits a link with this layer-3 MTU in bytes.
/// `own`: the packet is from this router.
pub(super) fn fit(packet: &[u8], own: bool, offload: &Offload, mtu: u32) -> Result<Fit, Exit> {
    match (packet.first_chunk::<20>(), packet.first_chunk::<40>()) {
        (_, Some(header)) if header[0] >> 4 == 6 => match own {
            true => own6(header, packet, mtu, offload),
            false => fit6(header, packet, mtu, offload),
        },
        (Some(header), _) => fit4(header, packet, mtu, offload),
        _ => Err(Exit::Drop(DropReason::Ipv4Length)),
    }
}

/// Checks whether a packet fits a link with this layer-3 MTU in bytes.
pub(crate) fn fit_link(leaving: &Leaving<'_>, mtu: u32) -> Result<Fit, Exit> {
    fit(leaving.packet, leaving.own, leaving.offload, mtu)
}

/// Returns true if an IPv4 packet needs TTL decrement only: no options, a TTL above 1, and at most
/// `mtu` bytes of layer 3.
#[inline(always)]
pub(crate) fn is_plain4(header: &[u8; 20], mtu: u32) -> bool {
    (header[0] == 0x45) & (header[8] > 1) & (total4(header) <= mtu)
}

/// Returns the total length of an IPv4 packet in bytes.
#[inline(always)]
pub(crate) fn total4(header: &[u8; 20]) -> u32 {
    u32::from(u16::from_be_bytes([header[2], header[3]]))
}

/// Checks whether an IPv4 packet fits a link with this layer-3 MTU in bytes (RFC 1812, 5.3.1 and 4.2.2.7). `header` is
/// the packet's first 20 bytes.
///
/// # Errors
/// A punt; the packet is unchanged, because the ICMP error quotes it as it arrived.
pub(crate) fn fit4(
    header: &[u8; 20],
    packet: &[u8],
    mtu: u32,
    offload: &Offload,
) -> Result<Fit, Exit> {
    if total4(header) <= mtu {
        return Ok(Fit::Whole);
    }
    too_big4(packet, mtu, offload)
}

#[cold]
#[inline(never)]
fn too_big4(packet: &[u8], mtu: u32, offload: &Offload) -> Result<Fit, Exit> {
    if segments_fit(packet, usize::from(packet[0] & 0xf) * 4, mtu, offload) {
        return Ok(Fit::Whole);
    }
    // Merged segments are never fragmented: TCP sets DF, and a merged run of datagrams that does
    // not fit gets the same ICMP error.
    let dont_fragment = packet[6] & 0x40 != 0;
    let merged = !matches!(
        offload.segmentation,
        Segmentation::None | Segmentation::Fragments
    );
    if dont_fragment || merged {
        return Err(Exit::Punt(PuntReason::TooBig(mtu)));
    }
    Ok(Fit::Fragments)
}

/// Like [`is_plain4`], for IPv6.
#[inline(always)]
pub(crate) fn is_plain6(header: &[u8; 40], mtu: u32) -> bool {
    (header[7] > 1) & (total6(header) <= mtu)
}

/// Returns the length of an IPv6 packet in bytes, including its header.
#[inline(always)]
pub(crate) fn total6(header: &[u8; 40]) -> u32 {
    u32::from(u16::from_be_bytes([header[4], header[5]])) + 40
}

/// Checks whether an IPv6 packet fits a link (RFC 8200, 5; RFC 4443, 3.2). Routers fragment only IPv6 packets that they
/// have reassembled; the sender of any other packet gets an ICMP error.
pub(crate) fn fit6(
    header: &[u8; 40],
    packet: &[u8],
    mtu: u32,
    offload: &Offload,
) -> Result<Fit, Exit> {
    if total6(header) <= mtu || segments_fit(packet, 40, mtu, offload) {
        return Ok(Fit::Whole);
    }
    Err(Exit::Punt(PuntReason::TooBig(mtu)))
}

/// The size check for the router's own IPv6 packets. Messages from control are fragmented at
/// egress, because control does not retransmit them; the host stack gets an ICMP error and
/// fragments by itself.
pub(crate) fn own6(
    header: &[u8; 40],
    packet: &[u8],
    mtu: u32,
    offload: &Offload,
) -> Result<Fit, Exit> {
    let is_message = header[6] == protocol::ICMPV6 && offload.segmentation == Segmentation::None;
    match fit6(header, packet, mtu, offload) {
        Err(Exit::Punt(PuntReason::TooBig(_))) if is_message => Ok(Fit::Fragments),
        fit => fit,
    }
}

/// Returns true if each segment of a merged packet fits, or each fragment of a reassembled one.
#[cold]
#[inline(never)]
fn segments_fit(packet: &[u8], network_header: usize, mtu: u32, offload: &Offload) -> bool {
    let transport = match offload.segmentation {
        Segmentation::None => return false,
        Segmentation::Fragments => return u32::from(offload.segment_bytes) <= mtu,
        Segmentation::Udp => 8,
        Segmentation::Tcp4 | Segmentation::Tcp6 => packet
            .get(network_header + 12)
            .map_or(20, |offset| usize::from(offset >> 4) * 4),
    };
    network_header + transport + usize::from(offload.segment_bytes) <= mtu as usize
}

/// Decrements the TTL and updates the header checksum (RFC 1141, RFC 1624).
#[inline(always)]
pub(crate) fn age4(header: &mut [u8; 20]) {
    header[8] = header[8].wrapping_sub(1);
    // The word of TTL and protocol decreased by 0x0100, so the complemented sum increases by the
    // same amount; a carry is added at the low end.
    let sum = u32::from(u16::from_be_bytes([header[10], header[11]])) + 0x0100;
    let sum = (sum + u32::from(sum >= 0xffff)) as u16;
    [header[10], header[11]] = sum.to_be_bytes();
}

/// Decrements the hop limit; IPv6 has no header checksum.
#[inline(always)]
pub(crate) fn age6(header: &mut [u8; 40]) {
    header[7] = header[7].wrapping_sub(1);
}
