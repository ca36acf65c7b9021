//! Targets of a network's frames: a header template per peer, with the next hop that `path.rs`
//! finds.

use core::net::IpAddr;

use frame::{Frame, InterfaceId, Offload};
use wire::{Protocol, checksum, vxlan};

use super::{INNER, Vxlan, entropy};
use crate::drop::DropReason;
use crate::encap::{ETHERNET, packet_of};
use crate::table::Adjacency;

/// Bytes of an IPv4 header, and of an IPv6 header.
const IPV4: usize = 20;
const IPV6: usize = 40;
/// The longest headers in bytes: a link header with tags, IPv6, UDP, VXLAN.
const ROOM: usize = 96;
/// Bytes of the headers behind a link header without tags.
const PLAIN4: usize = ETHERNET + IPV4 + INNER;
const PLAIN6: usize = ETHERNET + IPV6 + INNER;
/// Default TTL of packets to peers, and to multicast groups.
const LIFETIMES: [u8; 2] = [64, 1];

/// Address of a peer or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct To {
    pub(super) address: IpAddr,
    pub(super) port: u16,
    /// Egress interface for a multicast group.
    pub(super) by: InterfaceId,
}

/// The path of encapsulated frames to a target.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path {
    /// This next hop; the template includes its link header.
    By(Adjacency),
    /// The output path of the router; packets to a multicast group leave by this interface.
    Own(InterfaceId),
    /// Dropped for this reason.
    Lost(DropReason),
}

/// The header template of a peer, and the path to it.
pub(super) struct Target {
    headers: [u8; ROOM],
    /// Bytes of the link header, and of all headers.
    link: usize,
    len: usize,
    /// Unfolded sum of the words of an IPv4 header, or of an IPv6 pseudo header.
    sum: u32,
    pub(super) path: Path,
}

/// The targets of one vector, cached.
pub(crate) struct Targets {
    /// Address of the target in each line; address bits select the line.
    pub(super) of: [Option<To>; Self::PLACES],
    pub(super) targets: [Target; Self::PLACES],
}

impl Targets {
    pub(super) const PLACES: usize = 16;

    pub(crate) fn new() -> Self {
        let none = || Target {
            headers: [0; ROOM],
            link: 0,
            len: 0,
            sum: 0,
            path: Path::Lost(DropReason::VxlanNoPeer),
        };
        Self {
            of: [None; Self::PLACES],
            targets: core::array::from_fn(|_| none()),
        }
    }

    /// Empties the cache for a new vector: routes, neighbours and settings may have changed.
    pub(super) fn forget(&mut self) {
        self.of = [None; Self::PLACES];
    }

    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> &Target {
        &self.targets[place % Self::PLACES]
    }
}

impl Target {
    /// Writes the headers of an empty datagram behind room for a plain link header. Returns the
    /// outer packet.
    pub(super) fn write_packet(&mut self, network: &Vxlan, to: To, source: IpAddr) -> &[u8] {
        let lifetime = LIFETIMES[usize::from(to.address.is_multicast())];
        let lifetime = network.ttl.unwrap_or(lifetime);
        let ip = match (source, to.address) {
            (IpAddr::V6(source), IpAddr::V6(to)) => {
                let header = &mut self.headers[ETHERNET..ETHERNET + IPV6];
                header.fill(0);
                (header[0], header[6], header[7]) = (0x60, Protocol::UDP.0, lifetime);
                header[5] = INNER as u8;
                header[8..24].copy_from_slice(&source.octets());
                header[24..].copy_from_slice(&to.octets());
                self.sum = checksum::pseudo_v6(source, to, Protocol::UDP, 0).into();
                IPV6
            }
            (IpAddr::V4(source), IpAddr::V4(to)) => {
                let header = &mut self.headers[ETHERNET..ETHERNET + IPV4];
                header.fill(0);
                (header[0], header[8], header[9]) = (0x45, lifetime, Protocol::UDP.0);
                header[12..16].copy_from_slice(&source.octets());
                header[16..].copy_from_slice(&to.octets());
                self.sum = checksum::sum(header).into();
                header[3] = (IPV4 + INNER) as u8;
                IPV4
            }
            // Control configures peers of the network's own family.
            _ => 0,
        };
        let [high, low] = to.port.to_be_bytes();
        let udp = [0xc0, 0, high, low, 0, 0, 0, 0];
        let rest = &mut self.headers[ETHERNET + ip..ETHERNET + ip + INNER];
        rest[..8].copy_from_slice(&udp);
        rest[8..].copy_from_slice(&vxlan::to_bytes(network.vni));
        (self.link, self.len) = (ETHERNET, ETHERNET + ip + INNER);
        &self.headers[ETHERNET..self.len]
    }

    /// Writes the link header of a next hop in front of the template.
    pub(super) fn write_link(&mut self, adjacency: &Adjacency) {
        let link = usize::from(adjacency.header_len).min(adjacency.header.len());
        self.headers.copy_within(self.link..self.len, link);
        self.headers[..link].copy_from_slice(&adjacency.header[..link]);
        self.len = self.len - self.link + link;
        self.link = link;
    }

    /// Writes the headers in front of a frame.
    ///
    /// # Errors
    /// The frame has no headroom, or is too long for an outer packet.
    #[inline(always)]
    pub(super) fn write(
        &self,
        frame: &mut Frame,
        id: u16,
        dont_fragment: bool,
        sums: bool,
    ) -> Result<(), DropReason> {
        match self.len {
            PLAIN4 if self.link == ETHERNET => {
                let headers = self.headers.first_chunk::<PLAIN4>();
                self.write_as(
                    frame,
                    headers.map(|headers| &headers[..]),
                    id,
                    dont_fragment,
                    sums,
                )
            }
            PLAIN6 if self.link == ETHERNET => {
                let headers = self.headers.first_chunk::<PLAIN6>();
                self.write_as(
                    frame,
                    headers.map(|headers| &headers[..]),
                    id,
                    dont_fragment,
                    sums,
                )
            }
            len => self.write_as(frame, self.headers.get(..len), id, dont_fragment, sums),
        }
    }

    /// Writes these headers in front of a frame. Inlined, so that a constant header length compiles
    /// to a few moves.
    #[inline(always)]
    fn write_as(
        &self,
        frame: &mut Frame,
        headers: Option<&[u8]>,
        id: u16,
        dont_fragment: bool,
        sums: bool,
    ) -> Result<(), DropReason> {
        let headers = headers.unwrap_or_default();
        let source = entropy(frame);
        let udp = frame.len() + INNER;
        let total = u16::try_from(udp + IPV4).map_err(|_| DropReason::TunnelMalformed)?;
        if !frame.push_front(headers.len()) {
            return Err(DropReason::NoBuffer);
        }
        frame.l3 = self.link as u16;
        frame.offload = Offload::FINISHED;
        let Some(place) = frame.bytes_mut().get_mut(..headers.len()) else {
            return Err(DropReason::NoBuffer);
        };
        place.copy_from_slice(headers);
        let Some(packet) = place.get_mut(self.link..) else {
            return Err(DropReason::NoBuffer);
        };
        match packet {
            [0x45, ..] => self.complete4(packet, total, id, dont_fragment),
            _ => put(packet, 4, udp as u16),
        }
        let at = packet.len() - INNER;
        put(packet, at, source);
        put(packet, at + 4, udp as u16);
        if sums || at == IPV6 {
            self.complete_udp(frame, at);
        }
        Ok(())
    }

    /// Completes an IPv4 header: length, identification, don't-fragment flag, checksum.
    #[inline(always)]
    fn complete4(&self, packet: &mut [u8], total: u16, id: u16, dont_fragment: bool) {
        let flags = u16::from(dont_fragment) << 14;
        let id = if dont_fragment { 0 } else { id };
        let sum = self.sum + u32::from(total) + u32::from(id) + u32::from(flags);
        let folded = (sum >> 16) + (sum & 0xffff);
        put(packet, 2, total);
        put(packet, 4, id);
        put(packet, 6, flags);
        put(packet, 10, !((folded >> 16) + folded) as u16);
    }

    /// Writes the checksum of the datagram whose UDP header begins at offset `at` of the packet.
    #[cold]
    #[inline(never)]
    fn complete_udp(&self, frame: &mut Frame, at: usize) {
        let start = self.link + at;
        let Some(datagram) = frame.bytes().get(start..) else {
            return;
        };
        let len = datagram.len() as u16;
        let pseudo = match at {
            IPV4 => {
                let header = frame.bytes().get(self.link + 12..self.link + IPV4);
                let addresses = checksum::sum(header.unwrap_or_default());
                checksum::combine(addresses, u16::from(Protocol::UDP.0))
            }
            _ => checksum::combine(self.sum as u16, 0),
        };
        let sum = checksum::combine(checksum::combine(pseudo, len), checksum::sum(datagram));
        let checksum = checksum::udp(!sum);
        if let Some(datagram) = frame.bytes_mut().get_mut(start..) {
            put(datagram, 6, checksum);
        }
    }
}

/// Returns true if the frame carries an IPv4 packet with the don't-fragment flag.
#[inline]
pub(super) fn forbids_fragments(bytes: &[u8]) -> bool {
    let head = packet_of(bytes).first_chunk::<7>();
    head.is_some_and(|head| head[0] >> 4 == 4 && head[6] & 0x40 != 0)
}

#[inline(always)]
fn put(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(place) = bytes.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *place = value.to_be_bytes();
    }
}
