//! Ethernet frames in sessions of L2TP version 3 (RFC 3931, 4.1; RFC 4719) over IPv4, in IP (protocol 115) or UDP.
//!
//! ```text
//! IPv4 |                      session | cookie (0, 4, 8 bytes) | sublayer (0, 4 bytes) | frame
//! IPv4 | UDP | 0003, reserved | session | cookie | sublayer | frame
//! ```
//! The session number of this end finds the interface. The sublayer is the default one (RFC 3931, 4.6). Packets are
//! sent without sequence numbers, and received ones are not put in order.

mod settings;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use frame::{Frame, InterfaceId, Offload, Pool, Segmentation};

pub use self::settings::{Cookie, L2tpEther};

use super::l2tp::{IN_IP as L2TP, is_protected};
use super::next::{Next, direct};
use super::source::source;
use super::{
    Arrival, Batch, DEPTH, ETHERNET, Encap, Form, IP_BYTES, Outer, OuterPath, UDP_BYTES, divide,
    mark_decapsulated, mark_encapsulated, packet_of, put, put_edited, tos, write_udp,
};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::flow::{Upper, upper4};
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::packet::protocol::UDP;
use crate::table::Adjacency;
use crate::walk::{Context, Exit};

/// UDP port of both ends.
const PORT: u16 = 1701;
/// First word of a data message in UDP: version 3 (RFC 3931, 4.1.2.1).
const DATA: [u8; 4] = [0, 3, 0, 0];
/// Bit of control messages in the first byte.
const CONTROL: u8 = 0x80;
/// Bytes of a session number.
const SESSION: usize = 4;
/// Bytes of the sublayer.
const SUBLAYER: usize = 4;
/// Bytes of the longest headers: IPv4, UDP, data word, session, cookie of 8 bytes, sublayer.
const ROOM: usize = IP_BYTES[0] + UDP_BYTES + DATA.len() + SESSION + 8 + SUBLAYER;

impl Encap for L2tpEther {
    const UNKNOWN: Option<DropReason> = Some(DropReason::L2tpUnknown);

    fn ends(&self) -> [Option<Ends>; 2] {
        [Some(key(self.in_udp, self.local_session, self.local)), None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        let Some(headers) = Headers::new(cx, self) else {
            return batch.nexts.fill(Next::Lost(DropReason::TunnelNoSource));
        };
        if !self.may_pass(cx, headers.local) {
            return batch.nexts.fill(Next::Lost(DropReason::L2tpUnprotected));
        }
        let mut id = outlet.memory.rules.random() as u16;
        for (at, frame) in frames.iter_mut().enumerate() {
            id = id.wrapping_add(1);
            let next = if !frame.offload.is_finished() {
                Next::of_unfinished(self.id, frame)
            } else {
                match headers.encapsulate(frame, id) {
                    Ok(()) => batch.nexts.by(cx, frame, headers.direct.as_ref(), outlet),
                    Err(reason) => Next::Lost(reason),
                }
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
        let headers = Headers::new(cx, self).ok_or(Exit::Drop(DropReason::TunnelNoSource))?;
        headers.encapsulate(frame, 0).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: headers.direct,
            copies: 1,
        })
    }

    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        let header = packet.first_chunk::<20>()?;
        let is_possible = header[0] >> 4 == 4 && matches!(header[9], UDP | L2TP);
        if !is_possible || !cx.interfaces.has_tunnels_of(Form::L2tpEther) {
            return None;
        }
        let upper = upper4(packet)?;
        if upper.fragment {
            return Some(Arrival::Fragment);
        }
        let in_udp = upper.protocol == UDP;
        if in_udp
            && !cx
                .interfaces
                .has_tunnel_port(Form::L2tpEther, port(packet, &upper)?)
        {
            return None;
        }
        let session = *packet
            .get(session_offset(packet, &upper)?..)?
            .first_chunk()?;
        // Session 0 is the control connection's.
        let session = Some(u32::from_be_bytes(session)).filter(|session| *session != 0)?;
        let [.., a, b, c, d] = *header;
        let local = Ipv4Addr::new(a, b, c, d);
        Some(Arrival::Of(key(in_udp, session, local)))
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let item = Item::Framed(self.id);
        let mut batch = outlet.agenda.batch(item, count);
        let mut all = Traffic::default();
        let may_pass = self
            .source(cx)
            .is_some_and(|local| self.may_pass(cx, local));
        for frame in frames {
            all.packets += 1;
            all.bytes += frame.len() as u64 + u64::from(frame.untagged);
            if !may_pass {
                outlet.discard(frame, DropReason::L2tpUnprotected);
                continue;
            }
            if frame.offload.segmentation == Segmentation::Udp {
                divide(frame, outlet, |mut piece, outlet| {
                    match self.extract(&mut piece, interface) {
                        Ok(()) => put(&mut None, item, piece, outlet),
                        Err(reason) => outlet.discard(piece, reason),
                    }
                });
                continue;
            }
            let extract = |frame: &mut Frame, _: &mut Outlet| self.extract(frame, interface);
            if let Some((frame, reason)) = put_edited(&mut batch, item, frame, outlet, extract) {
                outlet.discard(frame, reason);
            }
        }
        if let Some(batch) = batch {
            outlet.agenda.put_batch(item, batch);
        }
        all
    }
}

impl L2tpEther {
    /// Returns the protocol of outer packets.
    const fn protocol(&self) -> u8 {
        if self.in_udp { UDP } else { L2TP }
    }

    /// Returns the local address of outer packets; `None` without a route to the other end.
    fn source(&self, cx: &Context<'_>) -> Option<Ipv4Addr> {
        if !self.local.is_unspecified() {
            return Some(self.local);
        }
        match source(cx, self.remote.into(), self.protocol())? {
            IpAddr::V4(local) => Some(local),
            IpAddr::V6(_) => None,
        }
    }

    /// Returns true if packets between a local address and the other end may pass: they need no protection, or a
    /// policy protects them.
    fn may_pass(&self, cx: &Context<'_>, local: Ipv4Addr) -> bool {
        let ports = if self.in_udp {
            [PORT, self.remote_port]
        } else {
            [0; 2]
        };
        let [local, remote] = [(local, ports[0]), (self.remote, ports[1])]
            .map(|(address, port)| SocketAddrV4::new(address, port));
        !self.protected || is_protected(&cx.snapshot.ipsec.policies, local, remote)
    }

    /// Cuts a packet down to its frame.
    ///
    /// # Errors
    /// The packet came from another address, has another cookie, or holds no frame.
    #[inline(always)]
    fn extract(&self, frame: &mut Frame, interface: &Interface) -> Result<(), DropReason> {
        let malformed = DropReason::L2tpMalformed;
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        if !interface.running {
            return Err(DropReason::InterfaceDown);
        }
        let l3 = usize::from(frame.l3);
        let packet = frame.bytes().get(l3..).ok_or(malformed)?;
        let header = packet.first_chunk::<20>().ok_or(malformed)?;
        if header[12..16] != self.remote.octets() {
            return Err(DropReason::L2tpPeer);
        }
        let upper = upper4(packet).ok_or(malformed)?;
        // The source port names the association.
        if self.protected && self.in_udp && source_port(packet, &upper) != Some(self.remote_port) {
            return Err(DropReason::L2tpAssociation);
        }
        let end = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let at = session_offset(packet, &upper).ok_or(malformed)? + SESSION;
        let packet = packet.get(..end).ok_or(malformed)?;
        let cookie = self.local_cookie.bytes();
        let behind = packet.get(at..).ok_or(malformed)?;
        if !behind.starts_with(cookie) {
            return Err(DropReason::L2tpCookie);
        }
        let start = at + cookie.len() + if self.local_sublayer { SUBLAYER } else { 0 };
        if start + ETHERNET > end || !frame.set_len(l3 + end) {
            return Err(malformed);
        }
        frame.pull_front(l3 + start);
        frame.offload = Offload::FINISHED;
        mark_decapsulated(frame, self.id);
        (frame.flow, frame.l3) = (0, ETHERNET as u16);
        Ok(())
    }
}

/// Returns the key of packets to a session of this router.
#[inline(always)]
const fn key(in_udp: bool, session: u32, local: Ipv4Addr) -> Ends {
    Ends {
        form: Form::L2tpEther,
        port: if in_udp { PORT } else { 0 },
        number: session,
        local: IpAddr::V4(local),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Returns the destination port of a datagram.
#[inline(always)]
fn port(packet: &[u8], upper: &Upper) -> Option<u16> {
    let [_, _, a, b, ..] = *packet.get(upper.offset..)?.first_chunk::<UDP_BYTES>()?;
    Some(u16::from_be_bytes([a, b]))
}

/// Returns the source port of a datagram.
#[inline(always)]
fn source_port(packet: &[u8], upper: &Upper) -> Option<u16> {
    let port = packet.get(upper.offset..)?.first_chunk()?;
    Some(u16::from_be_bytes(*port))
}

/// Returns the offset of the session number; `None` for control messages and other versions.
#[inline(always)]
fn session_offset(packet: &[u8], upper: &Upper) -> Option<usize> {
    if upper.protocol != UDP {
        return Some(upper.offset);
    }
    let at = upper.offset + UDP_BYTES;
    let [flags, version, ..] = *packet.get(at..)?.first_chunk::<4>()?;
    let is_data = flags & CONTROL == 0 && version & 0xf == DATA[1];
    is_data.then_some(at + DATA.len())
}

/// Header template of a session: the bytes that all of its packets share, behind the IPv4 header.
struct Headers<'a> {
    session: &'a L2tpEther,
    local: Ipv4Addr,
    bytes: [u8; ROOM],
    /// Bytes of all headers, with the IPv4 header.
    len: usize,
    /// The next hop, if no rule or policy applies to the outer packets.
    direct: Option<Adjacency>,
}

impl<'a> Headers<'a> {
    /// Builds the template; `None` without a source address.
    fn new(cx: &Context<'_>, session: &'a L2tpEther) -> Option<Self> {
        let remote = IpAddr::V4(session.remote);
        let local = session.source(cx)?;
        let mut bytes = [0; ROOM];
        let mut len = IP_BYTES[0];
        let mut append = |part: &[u8]| {
            if let Some(place) = bytes.get_mut(len..len + part.len()) {
                place.copy_from_slice(part);
            }
            len += part.len();
        };
        if session.in_udp {
            append(&[0; UDP_BYTES]);
            append(&DATA);
        }
        append(&session.remote_session.to_be_bytes());
        append(session.remote_cookie.bytes());
        if session.remote_sublayer {
            append(&[0; SUBLAYER]);
        }
        Some(Self {
            session,
            local,
            bytes,
            len,
            direct: direct(cx, remote).filter(|_| session.fast),
        })
    }

    /// Writes the headers in front of a frame, behind room for an Ethernet header.
    ///
    /// # Errors
    /// The frame passed too many tunnels, has no headroom, or is too long for an outer packet.
    #[inline(always)]
    fn encapsulate(&self, frame: &mut Frame, id: u16) -> Result<(), DropReason> {
        mark_encapsulated(frame)?;
        let tos = tos(packet_of(frame.bytes()));
        let total = frame.len() + self.len;
        if total > usize::from(u16::MAX) {
            return Err(DropReason::TooBig);
        }
        if !frame.push_front(self.len + ETHERNET) {
            return Err(DropReason::NoBuffer);
        }
        frame.l3 = ETHERNET as u16;
        frame.offload = Offload::FINISHED;
        let place = frame.bytes_mut().get_mut(ETHERNET..ETHERNET + self.len);
        let place = place.ok_or(DropReason::NoBuffer)?;
        place.copy_from_slice(self.bytes.get(..self.len).unwrap_or_default());
        let (ip, behind) = place.split_at_mut(IP_BYTES[0]);
        let in_udp = self.session.in_udp;
        let outer = Outer {
            ends: (self.local.into(), self.session.remote.into()),
            protocol: self.session.protocol(),
            tos,
            total,
            id,
        };
        outer.write(ip);
        if let Some(place) = behind.get_mut(..UDP_BYTES).filter(|_| in_udp) {
            write_udp(place, PORT, self.session.remote_port, total - IP_BYTES[0]);
        }
        Ok(())
    }
}
