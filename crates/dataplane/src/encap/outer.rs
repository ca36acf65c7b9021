//! Outer headers of tunnel packets, headroom for them, and the fields that inner and outer headers
//! exchange.

use core::net::IpAddr;

use frame::{Frame, Pool};
use wire::checksum;

use super::ETHERNET;
use crate::bridge::packet_at;
use crate::drop::DropReason;

/// Bytes of an IPv4 header, and of an IPv6 header.
pub(crate) const IP_BYTES: [usize; 2] = [20, 40];
/// Bytes of a UDP header.
pub(crate) const UDP_BYTES: usize = 8;
/// TTL of outer packets.
const TTL: u8 = 64;

/// Fields of an outer IP header without the don't-fragment flag.
pub(crate) struct Outer {
    /// Source and destination, of one family.
    pub(crate) ends: (IpAddr, IpAddr),
    /// Protocol of the payload.
    pub(crate) protocol: u8,
    /// Type of service, or traffic class.
    pub(crate) tos: u8,
    /// Bytes of the whole packet.
    pub(crate) total: usize,
    /// Identification (IPv4).
    pub(crate) id: u16,
}

impl Outer {
    /// Writes the header.
    pub(crate) fn write(&self, header: &mut [u8]) {
        match self.ends {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                if let Some(header) = header.first_chunk_mut::<20>() {
                    *header = [0; 20];
                    (header[0], header[1]) = (0x45, self.tos);
                    header[2..4].copy_from_slice(&(self.total as u16).to_be_bytes());
                    header[4..6].copy_from_slice(&self.id.to_be_bytes());
                    (header[8], header[9]) = (TTL, self.protocol);
                    header[12..16].copy_from_slice(&local.octets());
                    header[16..].copy_from_slice(&remote.octets());
                    let sum = !checksum::sum(&*header);
                    header[10..12].copy_from_slice(&sum.to_be_bytes());
                }
            }
            (local, remote) => {
                if let Some(header) = header.first_chunk_mut::<40>() {
                    *header = [0; 40];
                    (header[0], header[1]) = (0x60 | self.tos >> 4, self.tos << 4);
                    header[4..6].copy_from_slice(&((self.total - 40) as u16).to_be_bytes());
                    (header[6], header[7]) = (self.protocol, TTL);
                    header[8..24].copy_from_slice(&v6(local));
                    header[24..].copy_from_slice(&v6(remote));
                }
            }
        }
    }
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// Writes a UDP header without checksum in front of a datagram of `len` bytes, header included.
pub(crate) fn write_udp(place: &mut [u8], from: u16, to: u16, len: usize) {
    for (place, field) in place.chunks_exact_mut(2).zip([from, to, len as u16, 0]) {
        place.copy_from_slice(&field.to_be_bytes());
    }
}

/// Returns the IP packet in an Ethernet frame, behind its VLAN tags; empty for other frames.
#[inline(always)]
pub(crate) fn packet_of(frame: &[u8]) -> &[u8] {
    let plain = frame.first_chunk::<ETHERNET>();
    let at = match plain.map(|link| [link[12], link[13]]) {
        Some([0x08, 0x00] | [0x86, 0xdd]) => ETHERNET,
        _ => packet_at(frame),
    };
    let kind = frame.get(at - 2..at).unwrap_or_default();
    match *kind {
        [0x08, 0x00] | [0x86, 0xdd] => frame.get(at..).unwrap_or_default(),
        _ => &[],
    }
}

/// Returns the type of service or traffic class of a packet.
pub(crate) fn tos(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    }
}

/// Copies a congestion mark of the outer packet to the inner packet of a frame (RFC 6040, 4.2).
///
/// # Errors
/// The inner packet is not ECN-capable and must be dropped.
pub(crate) fn congest(frame: &mut Frame) -> Result<(), DropReason> {
    let packet = frame.bytes_mut().get_mut(ETHERNET..).unwrap_or_default();
    if tos(packet) & 3 == 0 {
        return Err(DropReason::TunnelCongested);
    }
    match packet {
        [first, second, ..] if *first >> 4 == 6 => *second |= 0x30,
        _ => {
            if let Some(tos) = packet.get_mut(1) {
                *tos |= 3;
            }
            let len = usize::from(packet.first().map_or(0, |first| first & 0xf)) * 4;
            if let Some(header) = packet.get_mut(..len).filter(|header| header.len() >= 20) {
                header[10..12].fill(0);
                let sum = !checksum::sum(header);
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }
    Ok(())
}

/// Returns the packet length in bytes that an IP header states; `None` if the bytes are no IP
/// packet or fewer than that length.
pub(crate) fn total(packet: &[u8]) -> Option<usize> {
    let total = match *packet.first_chunk::<6>()? {
        [first, _, a, b, ..] if first >> 4 == 4 => usize::from(u16::from_be_bytes([a, b])),
        [first, _, _, _, a, b] if first >> 4 == 6 => 40 + usize::from(u16::from_be_bytes([a, b])),
        _ => return None,
    };
    (total <= packet.len()).then_some(total)
}

/// Makes room for `front` bytes before the packet of a frame, a link header included, and `back` bytes behind it. Moves
/// the `total` bytes of the packet into a larger slot if needed.
///
/// # Errors
/// No slot is large enough, or none is free.
pub(crate) fn make_room(
    frame: &mut Frame,
    total: usize,
    front: usize,
    back: usize,
    pool: &mut Pool,
) -> Result<(), DropReason> {
    if frame.headroom() + usize::from(frame.l3) >= front && frame.tailroom() >= back {
        return Ok(());
    }
    let larger = pool.alloc(ETHERNET + total + back);
    let mut larger = larger.ok_or(DropReason::NoBuffer)?;
    let fits = larger.set_len(ETHERNET + total);
    let from = frame.bytes().get(usize::from(frame.l3)..);
    let place = larger.bytes_mut().get_mut(ETHERNET..);
    let (Some(from), Some(place), true) = (from.and_then(|from| from.get(..total)), place, fits)
    else {
        pool.free(larger);
        return Err(DropReason::NoBuffer);
    };
    place.copy_from_slice(from);
    larger.copy_meta(frame);
    larger.l3 = ETHERNET as u16;
    pool.free(core::mem::replace(frame, larger));
    Ok(())
}

/// Cuts a frame down to the packet at offset `start`, behind an Ethernet header with the frame's link addresses.
pub(crate) fn settle(frame: &mut Frame, start: usize, ethertype: [u8; 2]) -> Option<()> {
    let front = start.checked_sub(ETHERNET)?;
    let link = frame.bytes().first_chunk::<12>().copied();
    frame.pull_front(front);
    frame.offload = frame::Offload::FINISHED;
    frame.l3 = ETHERNET as u16;
    let place = frame.bytes_mut().first_chunk_mut::<ETHERNET>()?;
    place[..12].copy_from_slice(&link.unwrap_or_default());
    place[12..].copy_from_slice(&ethertype);
    Some(())
}
