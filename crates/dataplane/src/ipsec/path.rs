//! Paths of protected packets: the association of a policy, the headers that all of its packets share, and the next
//! hop.

use core::net::IpAddr;

use smallvec::SmallVec;
use wire::checksum;

use super::associations::{Leaving, Mode, Protocol};
use crate::encap::{self, IP_BYTES, Outer, UDP_BYTES, write_udp};
use crate::numbered::Reader;
use crate::packet::protocol::{AH, ESP, UDP};
use crate::table::Adjacency;
use crate::walk::Context;

/// Packets that are encrypted together.
pub(super) const BATCH: usize = 64;
/// Bytes of the longest headers: IPv6 and UDP.
const HEADER_BYTES: usize = 48;

/// The paths of a batch of packets, found by slot.
pub(super) struct Paths<'a, 'r> {
    cx: &'a Context<'a>,
    reader: &'r Reader<Leaving>,
    paths: SmallVec<[Path<'r>; BATCH]>,
    /// Positions in `paths` by the low bits of the slot; [`NOWHERE`] where there is none.
    positions: [u8; BATCH],
    /// Next hops of the current batch, and of earlier batches of the vector.
    hops: SmallVec<[Hop; 2 * BATCH]>,
}

/// The next hop to a remote end, if no rule applies to the outer packets.
struct Hop {
    remote: IpAddr,
    direct: Option<Adjacency>,
}

const NOWHERE: u8 = u8::MAX;

impl<'a, 'r> Paths<'a, 'r> {
    pub(super) fn new(cx: &'a Context<'a>, reader: &'r Reader<Leaving>) -> Self {
        Self {
            cx,
            reader,
            paths: SmallVec::new(),
            positions: [NOWHERE; BATCH],
            hops: SmallVec::new(),
        }
    }

    /// Begins another batch.
    pub(super) fn next_batch(&mut self) {
        self.paths.clear();
        self.positions = [NOWHERE; BATCH];
        // A batch adds at most one next hop per packet.
        if self.hops.len() > BATCH {
            self.hops.clear();
        }
    }

    /// Returns the position of a policy's path; `None` if the policy has no association. A batch of at most [`BATCH`]
    /// packets calls it once per packet.
    #[inline(always)]
    pub(super) fn find(&mut self, slot: u32) -> Option<u8> {
        let position = self.positions[slot as usize % BATCH];
        match self.paths.get(usize::from(position)) {
            Some(path) if path.slot == slot => Some(position),
            _ => self.add(slot),
        }
    }

    #[inline(never)]
    fn add(&mut self, slot: u32) -> Option<u8> {
        let leaving = self.reader.get(slot)?;
        let position = self.paths.len() as u8;
        let hop = self.hop_to(leaving.remote.ip());
        self.paths.push(Path {
            slot,
            hop,
            prepared: PreparedLeaving::new(leaving),
        });
        self.positions[slot as usize % BATCH] = position;
        Some(position)
    }

    /// Returns the position of the next hop to a remote end. Looks the next hop up unless the path before has the same
    /// remote end.
    #[inline(always)]
    fn hop_to(&mut self, remote: IpAddr) -> u16 {
        if self.hops.last().is_none_or(|last| last.remote != remote) {
            let direct = encap::beside_ipsec(self.cx, remote);
            self.hops.push(Hop { remote, direct });
        }
        (self.hops.len() - 1) as u16
    }

    /// Returns the path at a position that [`Self::find`] returned.
    #[inline(always)]
    pub(super) fn get(&self, position: u8) -> &Path<'r> {
        &self.paths[usize::from(position)]
    }

    /// Returns the next hop of a path, if no rule applies to the outer packets.
    #[inline(always)]
    pub(super) fn direct(&self, path: &Path<'_>) -> Option<&Adjacency> {
        self.hops[usize::from(path.hop)].direct.as_ref()
    }
}

/// The path of the packets of one policy.
pub(super) struct Path<'r> {
    slot: u32,
    /// Position of the next hop.
    hop: u16,
    pub(super) prepared: PreparedLeaving<'r>,
}

/// An association, and the headers that all of its packets share.
pub(super) struct PreparedLeaving<'r> {
    pub(super) leaving: &'r Leaving,
    pub(super) header: HeaderTemplate,
}

impl<'r> PreparedLeaving<'r> {
    pub(super) fn new(leaving: &'r Leaving) -> Self {
        Self {
            leaving,
            header: HeaderTemplate::of(leaving),
        }
    }
}

/// The headers that protection adds in front of ESP or AH: in tunnel mode an IP header, and a UDP header if ESP is sent
/// in UDP.
pub(super) struct HeaderTemplate {
    bytes: [u8; HEADER_BYTES],
    /// Bytes of all headers, and of the IP header.
    pub(super) len: usize,
    ip: usize,
    /// Sum of the words of an IPv4 header, without type of service, length and identification.
    sum: u32,
    /// Protocol behind the IP header.
    pub(super) protocol: u8,
}

impl HeaderTemplate {
    fn of(leaving: &Leaving) -> Self {
        let protocol = match leaving.protocol {
            _ if leaving.in_udp => UDP,
            Protocol::Esp => ESP,
            Protocol::Ah => AH,
        };
        let ip = match leaving.mode {
            Mode::Transport => 0,
            Mode::Tunnel => IP_BYTES[usize::from(leaving.remote.is_ipv6())],
        };
        let udp = if leaving.in_udp { UDP_BYTES } else { 0 };
        let mut bytes = [0; HEADER_BYTES];
        let (header, rest) = bytes.split_at_mut(ip);
        let outer = Outer {
            ends: (leaving.local.ip(), leaving.remote.ip()),
            protocol,
            tos: 0,
            total: ip,
            id: 0,
        };
        outer.write(header);
        if let Some(header) = header.first_chunk_mut::<12>().filter(|_| ip == IP_BYTES[0]) {
            (header[2], header[3]) = (0, 0);
            (header[10], header[11]) = (0, 0);
        }
        if udp > 0
            && let Some(place) = rest.get_mut(..udp)
        {
            // The checksum is "transmitted as a zero value" (RFC 3948, 2.1).
            write_udp(place, leaving.local.port(), leaving.remote.port(), 0);
        }
        Self {
            sum: u32::from(checksum::sum(&bytes[..ip])),
            bytes,
            len: ip + udp,
            ip,
            protocol,
        }
    }

    /// Writes the headers of a packet, which has `total` bytes from these headers on, to the beginning of `place`.
    ///
    /// ECN bits are part of `tos` and are copied (RFC 6040, 4.1). The outer packet may be fragmented: the sender of an
    /// inner packet that does not fit has already got an ICMP error.
    #[inline(always)]
    pub(super) fn write(&self, place: &mut [u8], total: usize, tos: u8, id: u16) {
        match (self.len, self.ip) {
            (20, 20) => self.write_ipv4::<20>(place, total, tos, id),
            (28, 20) => self.write_ipv4::<28>(place, total, tos, id),
            _ => self.write_other(place, total, tos),
        }
        if self.len > self.ip
            && let Some(udp) = place.get_mut(self.ip + 4..self.ip + 6)
        {
            udp.copy_from_slice(&((total - self.ip) as u16).to_be_bytes());
        }
    }

    #[inline(always)]
    fn write_ipv4<const LEN: usize>(&self, place: &mut [u8], total: usize, tos: u8, id: u16) {
        let template = self.bytes.first_chunk::<LEN>();
        let (Some(place), Some(template)) = (place.first_chunk_mut::<LEN>(), template) else {
            return;
        };
        *place = *template;
        place[1] = tos;
        [place[2], place[3]] = (total as u16).to_be_bytes();
        [place[4], place[5]] = id.to_be_bytes();
        let sum = self.sum + u32::from(tos) + total as u32 + u32::from(id);
        let sum = (sum >> 16) + (sum & 0xffff);
        let sum = (sum >> 16) + (sum & 0xffff);
        [place[10], place[11]] = (!(sum as u16)).to_be_bytes();
    }

    #[inline(never)]
    fn write_other(&self, place: &mut [u8], total: usize, tos: u8) {
        if let (Some(place), Some(template)) =
            (place.get_mut(..self.len), self.bytes.get(..self.len))
        {
            place.copy_from_slice(template);
        }
        if let Some(header) = place
            .first_chunk_mut::<40>()
            .filter(|_| self.ip == IP_BYTES[1])
        {
            (header[0], header[1]) = (0x60 | tos >> 4, tos << 4);
            let payload = total - IP_BYTES[1];
            [header[4], header[5]] = (payload as u16).to_be_bytes();
        }
    }
}
