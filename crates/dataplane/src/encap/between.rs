//! Tunnels between two addresses, over IPv4 and IPv6: IP in IP (RFC 2003, RFC 4213, RFC 2473), GRE
//! (RFC 2784, RFC 7676), and Ethernet frames in EoIP.
//!
//! EoIP over IPv4 resembles GRE version 1 with a key: the first half of the key is the length of
//! the frame, the second half the tunnel id in little endian. Over IPv6 the header has two bytes,
//! with the upper bits of the id first. Empty frames are keepalives.

mod settings;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Range;

use frame::{Frame, InterfaceId, Offload, Pool};
use wire::{Mac, checksum};

pub use self::settings::{Between, Carries, KeepaliveCounter};

use super::next::{Next, Nexts, direct};
use super::source::source;
use super::{
    Arrival, Batch, DEPTH, ETHERNET, Encap, Form, OuterPath, mark_decapsulated, mark_encapsulated,
    packet_of, put, put_edited, segment_size,
};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::flow::{Upper, upper4, upper6};
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::packet::protocol::{EOIP6, GRE, IPIP as IPV4, IPV6};
use crate::table::Adjacency;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// Bytes of an outer IPv4 header, and of an outer IPv6 header.
const OUTER: [usize; 2] = [20, 40];
/// The longest headers behind the link header, in bytes.
const ROOM: usize = 48;
/// First bytes of EoIP over IPv4.
const EOIP: [u8; 4] = [0x20, 0x01, 0x64, 0x00];
/// Version of EoIP over IPv6, in the lower half of the first byte.
const EOIP6_VERSION: u8 = 3;
const TYPES: [[u8; 2]; 2] = [[0x08, 0x00], [0x86, 0xdd]];

/// Bytes between the outer header and the payload.
const fn inner_bytes(carries: Carries, ipv6: bool) -> usize {
    match (carries, ipv6) {
        (Carries::Packets, _) => 0,
        (Carries::Gre, _) => 4,
        (Carries::Frames(_), false) => 8,
        (Carries::Frames(_), true) => 2,
    }
}

impl Encap for Between {
    fn ends(&self) -> [Option<Ends>; 2] {
        [Some(key(self.carries, self.local, self.remote)), None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        let mut ids = outlet.memory.rules.random() as u16;
        let headers = Headers::of(cx, self);
        for (at, frame) in frames.iter_mut().enumerate() {
            ids = ids.wrapping_add(1);
            let next = match &headers {
                Ok(_) if !frame.offload.is_finished() => Next::of_unfinished(self.id, frame),
                Ok(headers) => one(cx, headers, frame, ids, batch.nexts, outlet),
                Err(reason) => Next::Lost(*reason),
            };
            batch.nexts.set(at, next);
        }
    }

    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        _: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        let headers = Headers::of(cx, self).map_err(Exit::Drop)?;
        headers.encapsulate(frame, 0).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: headers.direct,
            copies: 1,
        })
    }

    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        let outer = OuterHeader::parse(packet)?;
        if outer.upper.fragment {
            // A fragment must be reassembled first.
            let any = cx.interfaces.has_tunnels_of(Form::Between);
            return (any && outer.may_be_gathered).then_some(Arrival::Fragment);
        }
        let carries = outer.carries(packet)?;
        Some(Arrival::Of(key(carries, outer.local, outer.remote)))
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let framed = matches!(self.carries, Carries::Frames(_));
        let item = match framed {
            true => Item::Framed(self.id),
            false => Item::Arrived(self.id),
        };
        let mut batch = outlet.agenda.batch(item, count);
        let (mut all, mut inner) = (Traffic::default(), Traffic::default());
        for frame in frames {
            all.packets += 1;
            all.bytes += frame.len() as u64 + u64::from(frame.untagged);
            let ended = put_edited(&mut batch, item, frame, outlet, |frame, outlet| {
                self.open(frame, interface)?;
                if !framed {
                    inner.packets += 1;
                    inner.bytes += frame.len() as u64;
                    tap::show(cx, self.id, Direction::Received, frame, 0, outlet);
                }
                Ok(())
            });
            match ended {
                None => {}
                Some((frame, NotForwarded::Answer)) => answer(frame, outlet),
                Some((frame, NotForwarded::Keepalive)) => {
                    self.heard.add();
                    outlet.pool.free(frame);
                }
                Some((frame, NotForwarded::Lost(reason))) => outlet.discard(frame, reason),
            }
        }
        if let Some(batch) = batch {
            outlet.agenda.put_batch(item, batch);
        }
        let counters = outlet.counters.interface(self.id);
        counters.rx.add(inner.packets, inner.bytes);
        all
    }
}

impl Between {
    /// Decapsulates a packet of the tunnel; the inner packet is received by the tunnel's interface.
    ///
    /// # Errors
    /// The packet is not forwarded.
    #[inline(always)]
    fn open(&self, frame: &mut Frame, interface: &Interface) -> Result<(), NotForwarded> {
        if frame.depth >= DEPTH {
            return Err(NotForwarded::Lost(DropReason::TunnelDepth));
        }
        match extract(frame, self, interface.mac).map_err(NotForwarded::Lost)? {
            Extracted::Payload if interface.running => {}
            Extracted::Payload => return Err(NotForwarded::Lost(DropReason::InterfaceDown)),
            Extracted::Answer => return Err(NotForwarded::Answer),
            Extracted::Nothing => return Err(NotForwarded::Keepalive),
        }
        mark_decapsulated(frame, self.id);
        if let Some(mtu) = self.clamp {
            let framed = matches!(self.carries, Carries::Frames(_));
            clamp(frame, framed, mtu);
        }
        Ok(())
    }
}

/// The reason why a packet of the tunnel is not forwarded.
enum NotForwarded {
    /// It is a keepalive's answer, which is sent.
    Answer,
    /// The packet is a keepalive, which is counted.
    Keepalive,
    /// The packet is dropped.
    Lost(DropReason),
}

/// The key of packets between two addresses.
#[inline(always)]
fn key(carries: Carries, local: IpAddr, remote: IpAddr) -> Ends {
    Ends {
        form: Form::Between,
        port: 0,
        number: match carries {
            Carries::Packets => 0,
            Carries::Gre => 1,
            Carries::Frames(number) => 2 + u32::from(number),
        },
        local,
        remote,
    }
}

fn one(
    cx: &Context<'_>,
    headers: &Headers<'_>,
    frame: &mut Frame,
    id: u16,
    nexts: &mut Nexts,
    outlet: &Outlet,
) -> Next {
    match headers.encapsulate(frame, id) {
        Ok(()) if headers.forbids_fragments_of(frame) => Next::Lost(DropReason::TooBig),
        Ok(()) => nexts.by(cx, frame, headers.direct.as_ref(), outlet),
        Err(reason) => Next::Lost(reason),
    }
}

/// Header template of a tunnel: the bytes that all of its packets share.
struct Headers<'a> {
    tunnel: &'a Between,
    bytes: [u8; ROOM],
    /// Bytes of the outer header, and of all headers.
    outer: usize,
    len: usize,
    /// Unfolded sum of the words of an outer IPv4 header.
    sum: u32,
    /// The next hop, if no rule or policy applies to the outer packets.
    direct: Option<Adjacency>,
}

impl<'a> Headers<'a> {
    /// Builds the template.
    ///
    /// # Errors
    /// There is no source address for the remote end.
    fn of(cx: &Context<'_>, tunnel: &'a Between) -> Result<Self, DropReason> {
        let ipv6 = tunnel.remote.is_ipv6();
        let outer = OUTER[usize::from(ipv6)];
        let mut headers = Self {
            tunnel,
            bytes: [0; ROOM],
            outer,
            len: outer + inner_bytes(tunnel.carries, ipv6),
            sum: 0,
            direct: direct(cx, tunnel.remote).filter(|_| tunnel.fast),
        };
        headers.write_outer(tunnel.local);
        if tunnel.local.is_unspecified() {
            let source = source(cx, tunnel.remote, headers.protocol());
            let source = source.ok_or(DropReason::TunnelNoSource)?;
            headers.write_outer(source);
        }
        let inner = headers.bytes.get_mut(outer..).unwrap_or_default();
        match (tunnel.carries, ipv6, inner) {
            (Carries::Frames(number), false, [a, b, c, d, _, _, e, f]) => {
                [*a, *b, *c, *d] = EOIP;
                [*e, *f] = number.to_le_bytes();
            }
            (Carries::Frames(number), true, [a, b, ..]) => {
                let [high, low] = number.to_be_bytes();
                (*a, *b) = (high << 4 | EOIP6_VERSION, low);
            }
            (Carries::Frames(number), false, inner) => {
                if let Some(inner) = inner.first_chunk_mut::<8>() {
                    inner[..4].copy_from_slice(&EOIP);
                    inner[6..].copy_from_slice(&number.to_le_bytes());
                }
            }
            _ => {}
        }
        Ok(headers)
    }

    /// Protocol of the outer header; 0 if the inner packet decides it.
    const fn protocol(&self) -> u8 {
        match (self.tunnel.carries, self.tunnel.remote) {
            (Carries::Packets, _) => 0,
            (Carries::Frames(_), IpAddr::V6(_)) => EOIP6,
            _ => GRE,
        }
    }

    /// Returns true if an encapsulated frame exceeds the MTU of the next hop and must not be
    /// fragmented. Without `direct`, the router's output path checks the size.
    #[inline(always)]
    fn forbids_fragments_of(&self, frame: &Frame) -> bool {
        let Some(next) = self.direct.filter(|_| self.tunnel.inherits_dont_fragment) else {
            return false;
        };
        let flags = frame.bytes().get(ETHERNET + 6);
        let forbids = self.tunnel.remote.is_ipv4() && flags.is_some_and(|flags| flags & 0x40 != 0);
        forbids && frame.len() > next.mtu as usize + usize::from(frame.l3)
    }

    fn write_outer(&mut self, source: IpAddr) {
        let (tunnel, protocol) = (self.tunnel, self.protocol());
        match (source, tunnel.remote) {
            (IpAddr::V4(source), IpAddr::V4(to)) => {
                let header = &mut self.bytes[..OUTER[0]];
                (header[0], header[3], header[8], header[9]) = (0x45, 20, tunnel.ttl, protocol);
                header[12..16].copy_from_slice(&source.octets());
                header[16..].copy_from_slice(&to.octets());
                self.sum = u32::from(checksum::sum(header)) + u32::from(!20u16);
            }
            (IpAddr::V6(source), IpAddr::V6(to)) => {
                let header = &mut self.bytes[..OUTER[1]];
                (header[0], header[6], header[7]) = (0x60, protocol, tunnel.ttl);
                header[8..24].copy_from_slice(&source.octets());
                header[24..].copy_from_slice(&to.octets());
            }
            // Control configures both ends with one family.
            _ => {}
        }
    }

    /// Encapsulates a frame.
    ///
    /// # Errors
    /// The frame passed too many tunnels, or an error of [`Self::write`].
    #[inline(always)]
    fn encapsulate(&self, frame: &mut Frame, id: u16) -> Result<(), DropReason> {
        mark_encapsulated(frame)?;
        self.write(frame, id)
    }

    /// Writes the headers in front of a frame, behind room for an Ethernet header.
    ///
    /// # Errors
    /// The frame has no headroom, holds no IP packet, or is too long for an outer packet.
    #[inline(always)]
    fn write(&self, frame: &mut Frame, id: u16) -> Result<(), DropReason> {
        let l3 = usize::from(frame.l3);
        // `l3` of a bridged frame is not set.
        let (from, packet) = match self.tunnel.carries {
            Carries::Frames(_) => (0, packet_of(frame.bytes())),
            Carries::Packets | Carries::Gre => (l3, frame.bytes().get(l3..).unwrap_or_default()),
        };
        let carried = InnerFields::of(packet);
        if from > 0 && carried.version == 0 {
            return Err(DropReason::TunnelMalformed);
        }
        let len = frame.len() - from;
        let total = u16::try_from(len + self.len).map_err(|_| DropReason::TunnelMalformed)?;
        frame.pull_front(from);
        if !frame.push_front(self.len + ETHERNET) {
            return Err(DropReason::NoBuffer);
        }
        frame.l3 = ETHERNET as u16;
        frame.offload = Offload::FINISHED;
        let place = frame.bytes_mut().get_mut(ETHERNET..ETHERNET + self.len);
        let Some(place) = place else {
            return Err(DropReason::NoBuffer);
        };
        match self.len {
            20 => copy::<20>(place, &self.bytes),
            24 => copy::<24>(place, &self.bytes),
            28 => copy::<28>(place, &self.bytes),
            len => place.copy_from_slice(&self.bytes[..len.min(ROOM)]),
        }
        let protocol = match (self.tunnel.carries, carried.version) {
            (Carries::Packets, 6) => IPV6,
            (Carries::Packets, _) => IPV4,
            _ => 0,
        };
        let (outer, inner) = place.split_at_mut(self.outer.min(self.len));
        match (self.tunnel.carries, inner) {
            (Carries::Gre, [_, _, a, b]) => [*a, *b] = TYPES[usize::from(carried.version == 6)],
            (Carries::Frames(_), [_, _, _, _, a, b, _, _]) => [*a, *b] = (len as u16).to_be_bytes(),
            _ => {}
        }
        self.complete(outer, total, id, protocol, &carried);
        Ok(())
    }

    /// Writes the fields of the outer header that differ between packets.
    #[inline(always)]
    fn complete(&self, outer: &mut [u8], total: u16, id: u16, protocol: u8, carried: &InnerFields) {
        let tos = match self.tunnel.dscp {
            Some(dscp) => dscp << 2 | carried.tos & 3,
            None => carried.tos,
        };
        if let Some(header) = outer.first_chunk_mut::<40>() {
            (header[0], header[1]) = (0x60 | tos >> 4, tos << 4);
            header[4..6].copy_from_slice(&(total - 40).to_be_bytes());
            header[6] |= protocol;
            return;
        }
        let Some(header) = outer.first_chunk_mut::<20>() else {
            return;
        };
        let flags = u16::from(carried.dont_fragment && self.tunnel.inherits_dont_fragment) << 14;
        header[1] = tos;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&id.to_be_bytes());
        header[6..8].copy_from_slice(&flags.to_be_bytes());
        header[9] |= protocol;
        let sum = self.sum
            + u32::from(tos)
            + u32::from(total)
            + u32::from(id)
            + u32::from(flags)
            + u32::from(protocol);
        let folded = (sum >> 16) + (sum & 0xffff);
        let sum = !((folded >> 16) + folded) as u16;
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

#[inline(always)]
fn copy<const N: usize>(place: &mut [u8], from: &[u8; ROOM]) {
    if let (Some(place), Some(from)) = (place.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *place = *from;
    }
}

/// Fields of the inner packet that the outer header copies.
struct InnerFields {
    /// 4 or 6; 0 if the frame holds no IP packet.
    version: u8,
    tos: u8,
    dont_fragment: bool,
}

impl InnerFields {
    #[inline(always)]
    fn of(packet: &[u8]) -> Self {
        let none = Self {
            version: 0,
            tos: 0,
            dont_fragment: false,
        };
        match packet.first_chunk::<20>() {
            Some([first, second, _, _, _, _, flags, ..]) if first >> 4 == 4 => Self {
                version: 4,
                tos: *second,
                dont_fragment: flags & 0x40 != 0,
            },
            Some([first, second, ..]) if first >> 4 == 6 => Self {
                version: 6,
                tos: first << 4 | second >> 4,
                dont_fragment: true,
            },
            _ => none,
        }
    }
}

/// The outer header of a packet that may belong to a tunnel.
struct OuterHeader {
    upper: Upper,
    /// The destination: an address of this router.
    local: IpAddr,
    /// The source.
    remote: IpAddr,
    /// True if a fragment can be reassembled: over IPv6 only without other extension headers.
    may_be_gathered: bool,
}

impl OuterHeader {
    /// Parses the header; `None` for packets of other protocols.
    #[inline(always)]
    fn parse(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<20>()?;
        if header[0] >> 4 != 4 {
            return Self::parse6(packet);
        }
        if !is_of_tunnel(header[9]) {
            return None;
        }
        let address = |at: usize| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
        Some(Self {
            upper: upper4(packet)?,
            local: address(16)?.into(),
            remote: address(12)?.into(),
            may_be_gathered: true,
        })
    }

    fn parse6(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<40>()?;
        let upper = match header[6] {
            protocol if is_of_tunnel(protocol) => Upper {
                protocol,
                offset: 40,
                fragment: false,
            },
            0 | 43 | 44 | 60 => upper6(packet).filter(|upper| is_of_tunnel(upper.protocol))?,
            _ => return None,
        };
        let address = |at: usize| Some(Ipv6Addr::from(*header.get(at..)?.first_chunk::<16>()?));
        Some(Self {
            upper,
            local: address(24)?.into(),
            remote: address(8)?.into(),
            may_be_gathered: header[6] == 44,
        })
    }

    /// Returns the payload type of the packet; `None` for a fragment.
    #[inline(always)]
    fn carries(&self, packet: &[u8]) -> Option<Carries> {
        let is_v4 = self.local.is_ipv4();
        if self.upper.fragment || is_v4 && self.upper.protocol == EOIP6 {
            return None;
        }
        carries(self.upper.protocol, packet.get(self.upper.offset..)?)
    }
}

/// Returns true for the protocols of these tunnels.
#[inline(always)]
const fn is_of_tunnel(protocol: u8) -> bool {
    matches!(protocol, IPV4 | IPV6 | GRE | EOIP6)
}

/// Returns the payload type of a packet from its protocol and the bytes behind its header.
#[inline(always)]
fn carries(protocol: u8, behind: &[u8]) -> Option<Carries> {
    match (protocol, behind) {
        (IPV4 | IPV6, _) => Some(Carries::Packets),
        (GRE, [0, 0, _, _, ..]) => Some(Carries::Gre),
        (GRE, [a, b, c, d, _, _, e, f, ..]) if [*a, *b, *c, *d] == EOIP => {
            Some(Carries::Frames(u16::from_le_bytes([*e, *f])))
        }
        (EOIP6, [high, low, ..]) if high & 0xf == EOIP6_VERSION => {
            Some(Carries::Frames(u16::from_be_bytes([high >> 4, *low])))
        }
        _ => None,
    }
}

fn clamp(frame: &mut Frame, framed: bool, mtu: u32) {
    let bytes = frame.bytes_mut();
    let is_ip = bytes
        .get(12..14)
        .is_some_and(|kind| TYPES.iter().any(|ip| ip == kind));
    if let Some(packet) = bytes.get_mut(ETHERNET..).filter(|_| is_ip || !framed) {
        segment_size::clamp(packet, mtu);
    }
}

/// The content of a tunnel's packet.
enum Extracted {
    /// An IP packet or a frame.
    Payload,
    /// An empty keepalive.
    Nothing,
    /// A keepalive that contains its own answer, a packet to the other end (Cisco's GRE keepalive,
    /// which RouterOS sends).
    Answer,
}

/// Cuts a frame down to the payload of its packet. Payload IP packets get an Ethernet header to
/// `mac`.
///
/// # Errors
/// The payload is of another type, or truncated.
#[inline(always)]
fn extract(frame: &mut Frame, tunnel: &Between, mac: Mac) -> Result<Extracted, DropReason> {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..).unwrap_or_default();
    let found = find(packet, tunnel).ok_or(DropReason::TunnelMalformed)?;
    let Range { start, end } = found.at;
    if !frame.set_len(l3 + end) {
        return Err(DropReason::TunnelMalformed);
    }
    frame.offload = Offload::FINISHED;
    match found.what {
        PayloadKind::Nothing => return Ok(Extracted::Nothing),
        PayloadKind::Frame => {
            frame.pull_front(l3 + start);
            frame.flow = 0;
        }
        PayloadKind::Answer => frame.pull_front(l3 + start - ETHERNET),
        PayloadKind::Packet(kind) => {
            frame.pull_front(l3 + start - ETHERNET);
            if let Some(link) = frame.bytes_mut().first_chunk_mut::<ETHERNET>() {
                link[..6].copy_from_slice(&mac.0);
                link[6..12].fill(0);
                link[12..].copy_from_slice(&kind);
            }
        }
    }
    frame.l3 = ETHERNET as u16;
    Ok(match found.what {
        PayloadKind::Answer => Extracted::Answer,
        _ => Extracted::Payload,
    })
}

/// The payload type of a packet, and the range of the payload in it.
struct ParsedPacket {
    what: PayloadKind,
    at: Range<usize>,
}

#[derive(Clone, Copy)]
enum PayloadKind {
    Nothing,
    Answer,
    Frame,
    /// An IP packet, with its EtherType.
    Packet([u8; 2]),
}

/// Parses a packet of a tunnel; `None` if the payload is of another type, or truncated.
#[inline(always)]
fn find(packet: &[u8], tunnel: &Between) -> Option<ParsedPacket> {
    let (upper, total) = match packet {
        [first, _, a, b, ..] if first >> 4 == 4 => {
            let total = u16::from_be_bytes([*a, *b]);
            (upper4(packet)?, usize::from(total))
        }
        [_, _, _, _, a, b, ..] => {
            let payload = u16::from_be_bytes([*a, *b]);
            (upper6(packet)?, 40 + usize::from(payload))
        }
        _ => return None,
    };
    let start = upper.offset + inner_bytes(tunnel.carries, tunnel.remote.is_ipv6());
    let packet = packet.get(..total)?;
    let behind = packet.get(upper.offset..)?;
    let carried = packet.get(start..)?;
    let found = |what, len: usize| ParsedPacket {
        what,
        at: start..start + len,
    };
    if let Carries::Frames(_) = tunnel.carries {
        let len = match behind {
            [_, _, _, _, a, b, ..] if upper.protocol == GRE => u16::from_be_bytes([*a, *b]).into(),
            _ => carried.len(),
        };
        return match len {
            0 => Some(found(PayloadKind::Nothing, 0)),
            len if len < ETHERNET || len > carried.len() => None,
            len => Some(found(PayloadKind::Frame, len)),
        };
    }
    let kind = match (behind, tunnel.carries) {
        (_, Carries::Gre) if carried.is_empty() => return Some(found(PayloadKind::Nothing, 0)),
        (_, Carries::Gre) if is_answer(carried, tunnel) => {
            return Some(found(PayloadKind::Answer, carried.len()));
        }
        ([_, _, a, b, ..], Carries::Gre) => [*a, *b],
        _ => TYPES[usize::from(upper.protocol == IPV6)],
    };
    let version = carried.first()? >> 4;
    let fits = matches!((kind, version), ([0x08, 0x00], 4) | ([0x86, 0xdd], 6));
    fits.then(|| found(PayloadKind::Packet(kind), carried.len()))
}

/// Returns true if the packet inside a GRE packet answers a keepalive: GRE without payload, from
/// the tunnel's local end to its remote end.
#[inline(always)]
fn is_answer(packet: &[u8], tunnel: &Between) -> bool {
    let empty = match packet.first().map(|first| first >> 4) {
        Some(4) => packet.len() == OUTER[0] + 4,
        _ => packet.len() == OUTER[1] + 4,
    };
    empty && returns(packet, tunnel)
}

/// Returns true if a packet is GRE from the local to the remote end of the tunnel.
#[cold]
#[inline(never)]
fn returns(packet: &[u8], tunnel: &Between) -> bool {
    let outer = OuterHeader::parse(packet);
    let outer = outer.filter(|outer| outer.carries(packet) == Some(Carries::Gre));
    let Some(OuterHeader { local, remote, .. }) = outer else {
        return false;
    };
    let from_here = remote == tunnel.local || tunnel.local.is_unspecified();
    local == tunnel.remote && from_here
}

/// Sends the answer that a keepalive contains, as a packet of this router.
fn answer(mut frame: Frame, outlet: &mut Outlet) {
    if let Err(reason) = mark_encapsulated(&mut frame) {
        return outlet.discard(frame, reason);
    }
    frame.egress = InterfaceId::NONE;
    put(&mut None, Item::Own, frame, outlet);
}
