//! Packets in UDP datagrams whose content is encrypted: room and headers around packets, and packets out of decrypted
//! datagrams.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::ops::Range;

use frame::{Frame, InterfaceId, Offload, Pool};
use wire::{Protocol, checksum};

use super::outer::{
    IP_BYTES, Outer, UDP_BYTES, congest, make_room, packet_of, settle, tos, total, write_udp,
};
use super::{ETHERNET, mark_decapsulated, mark_encapsulated};
use crate::drop::DropReason;
use crate::flow::{self, Upper};

/// Bytes around a packet in its datagram.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Between the UDP header and the packet.
    pub(super) front: usize,
    /// Behind the packet.
    pub(super) back: usize,
}

/// Bytes of a frame that are encrypted, from its `l3` on.
#[derive(Clone, Copy)]
pub(super) struct Content {
    /// Length in bytes.
    pub(super) len: usize,
    /// Type of service of the packet in it.
    tos: u8,
}

impl Content {
    /// Returns the IP packet of a frame.
    ///
    /// # Errors
    /// The frame holds no whole packet.
    pub(super) fn of_packet(frame: &Frame) -> Result<Self, DropReason> {
        let packet = { frame.bytes() }
            .get(usize::from(frame.l3)..)
            .unwrap_or_default();
        Ok(Self {
            len: total(packet).ok_or(DropReason::TunnelMalformed)?,
            tos: tos(packet),
        })
    }

    /// Returns an Ethernet frame as a whole.
    pub(super) fn of_frame(frame: &mut Frame) -> Self {
        frame.l3 = 0;
        Self {
            len: frame.len(),
            tos: tos(packet_of(frame.bytes())),
        }
    }

    /// Returns its bytes.
    pub(super) fn bytes(self, frame: &Frame) -> &[u8] {
        let start = usize::from(frame.l3);
        { frame.bytes() }
            .get(start..start + self.len)
            .unwrap_or_default()
    }
}

/// Makes room around the content of a frame, which begins with the room then.
///
/// # Errors
/// No slot is free.
pub(super) fn surround(
    frame: &mut Frame,
    content: Content,
    room: Room,
    pool: &mut Pool,
) -> Result<(), DropReason> {
    let Room { front, back } = room;
    make_room(frame, content.len, front, back, pool)?;
    frame.pull_front(usize::from(frame.l3));
    let total = front + content.len + back;
    let fits = frame.set_len(content.len) && frame.push_front(front) && frame.set_len(total);
    frame.offload = Offload::FINISHED;
    let behind = frame.bytes_mut().get_mut(front + content.len..);
    match behind.filter(|_| fits) {
        Some(behind) => {
            behind.fill(0);
            Ok(())
        }
        None => Err(DropReason::NoBuffer),
    }
}

/// Writes the outer headers of a frame's content for the datagram `ends` (local and remote end), and makes room around
/// the content. Returns the length in bytes of the outer IP header, whose identification is `id` in IPv4.
///
/// # Errors
/// The content is too long, or no slot is free.
pub(super) fn lay_out(
    frame: &mut Frame,
    content: Content,
    ends: (SocketAddr, SocketAddr),
    room: Room,
    id: u16,
    pool: &mut Pool,
) -> Result<usize, DropReason> {
    let ip = IP_BYTES[usize::from(ends.1.is_ipv6())];
    let front = ip + UDP_BYTES + room.front;
    let total = front + content.len + room.back;
    if u16::try_from(total).is_err() {
        return Err(DropReason::TunnelMalformed);
    }
    mark_encapsulated(frame)?;
    let around = Room {
        front: ETHERNET + front,
        back: room.back,
    };
    surround(frame, content, around, pool)?;
    frame.l3 = ETHERNET as u16;
    let bytes = frame.bytes_mut().get_mut(ETHERNET..).unwrap_or_default();
    let (header, datagram) = bytes.split_at_mut(ip);
    let outer = Outer {
        ends: (ends.0.ip(), ends.1.ip()),
        protocol: Protocol::UDP.0,
        // Only the ECN bits are copied (RFC 6040): an observer must not distinguish kinds of
        // packets.
        tos: content.tos & 3,
        total,
        id,
    };
    outer.write(header);
    let place = datagram.get_mut(..UDP_BYTES).unwrap_or_default();
    let (from, to) = (ends.0.port(), ends.1.port());
    write_udp(place, from, to, total - ip);
    Ok(ip)
}

/// Writes the checksum of a frame with an encrypted datagram behind IPv6; the outer IP header has `ip` bytes. Returns
/// the length of the datagram's content in bytes.
///
/// # Errors
/// The frame is shorter than the headers.
pub(super) fn finish(
    frame: &mut Frame,
    ends: (SocketAddr, SocketAddr),
    ip: usize,
) -> Result<u64, DropReason> {
    let datagram = { frame.bytes_mut() }
        .get_mut(ETHERNET + ip..)
        .filter(|datagram| datagram.len() >= UDP_BYTES)
        .ok_or(DropReason::NoBuffer)?;
    if let (IpAddr::V6(from), IpAddr::V6(to)) = (ends.0.ip(), ends.1.ip()) {
        // UDP over IPv6 requires a checksum (RFC 8200, 8.1).
        let pseudo = checksum::pseudo_v6(from, to, Protocol::UDP, datagram.len() as u32);
        let sum = checksum::combine(pseudo, checksum::sum(datagram));
        datagram[6..8].copy_from_slice(&checksum::udp(!sum).to_be_bytes());
    }
    Ok((datagram.len() - UDP_BYTES) as u64)
}

/// Returns the source and destination of a packet.
#[inline]
pub(super) fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let header = packet.first_chunk::<20>()?;
            let address = |at: usize| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
            Some((address(12)?.into(), address(16)?.into()))
        }
        6 => {
            let header = packet.first_chunk::<40>()?;
            let address = |at: usize| Some(Ipv6Addr::from(*header.get(at..)?.first_chunk::<16>()?));
            Some((address(8)?.into(), address(24)?.into()))
        }
        _ => None,
    }
}

/// Returns the upper-layer header of a packet.
pub(super) fn upper(packet: &[u8]) -> Option<Upper> {
    match packet.first()? >> 4 {
        4 => flow::upper4(packet),
        _ => flow::upper6(packet),
    }
}

/// Returns the sender of a datagram, and the range of its payload in the packet.
pub(super) fn datagram(packet: &[u8]) -> Option<(SocketAddr, Range<usize>)> {
    let upper = upper(packet)?;
    let (from, _) = addresses(packet)?;
    let datagram = packet.get(upper.offset..total(packet)?)?;
    let [a, b, _, _, c, d, ..] = *datagram.first_chunk::<UDP_BYTES>()?;
    let len = usize::from(u16::from_be_bytes([c, d]));
    let from = SocketAddr::new(from, u16::from_be_bytes([a, b]));
    let whole = len >= UDP_BYTES && len <= datagram.len();
    whole.then_some((from, upper.offset + UDP_BYTES..upper.offset + len))
}

/// Where a decrypted packet goes.
pub(super) struct Delivery {
    /// Interface of the tunnel.
    pub(super) interface: InterfaceId,
    /// Its link address.
    pub(super) mac: [u8; 6],
    /// Type of service of the outer packet.
    pub(super) tos: u8,
}

/// Cuts a frame down to a decrypted IP packet at `at`, behind an Ethernet header to the interface. `malformed` names
/// packets whose lengths are wrong.
///
/// # Errors
/// The packet is malformed, or must be dropped for congestion.
pub(super) fn deliver(
    frame: &mut Frame,
    at: Range<usize>,
    ethertype: [u8; 2],
    to: &Delivery,
    malformed: DropReason,
) -> Result<(), DropReason> {
    let start = at.start;
    let inner = frame.bytes().get(at).ok_or(malformed)?;
    let len = total(inner).ok_or(malformed)?;
    if !frame.set_len(start + len) {
        return Err(malformed);
    }
    settle(frame, start, ethertype).ok_or(malformed)?;
    if let Some(link) = frame.bytes_mut().first_chunk_mut::<12>() {
        link[..6].copy_from_slice(&to.mac);
        link[6..].fill(0);
    }
    if to.tos & 3 == 3 {
        congest(frame)?;
    }
    mark_decapsulated(frame, to.interface);
    frame.flow = 0;
    Ok(())
}
