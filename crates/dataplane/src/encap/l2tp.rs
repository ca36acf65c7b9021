//! L2TP version 2 over IPv4: packets of a PPP session in UDP datagrams (RFC 2661, 3.1 and 8.1).
//!
//! ```text
//! IPv4 | UDP | flags, tunnel, session [, Ns, Nr] | ff 03 | PPP protocol | packet
//! ```
//! Tunnel and session number of this end find the interface. Control messages and PPP control packets are a service
//! that control receives. Outer datagrams have no UDP checksum, as RFC 2661, 8.1, permits for data.

mod headers;
mod message;
mod settings;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use frame::{Frame, InterfaceId, Pool, Segmentation};

pub(super) use self::headers::Headers;
use self::message::{Data, UDP_BYTES, message};
pub(super) use self::settings::IN_IP;
pub use self::settings::{CallIds, L2tp, Received, Sequence, is_protected};
use super::next::direct;
use super::outer::total;
use super::session_data::{SessionPacket, leave_to_service};
use super::{
    Arrival, Batch, DEPTH, Encap, Form, Next, OuterPath, divide, mark_decapsulated, put, settle,
};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::demux::SessionClass;
use crate::demux::pppoe::ethertype_of;
use crate::drop::DropReason;
use crate::flow::upper4;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::packet::protocol::UDP;
use crate::table::Adjacency;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit, service_of_packet};

impl Encap for L2tp {
    fn ends(&self) -> [Option<Ends>; 2] {
        [Some(self.key()), None]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        if !self.may_pass(&cx.snapshot.ipsec) {
            return batch.nexts.fill(Next::Lost(DropReason::L2tpUnprotected));
        }
        let direct = match self.fast {
            true => batch.direct(cx, IpAddr::V4(*self.remote.ip())),
            false => None,
        };
        let headers = Headers::new(self, direct);
        let mut id = outlet.memory.rules.random() as u16;
        for (at, frame) in frames.iter_mut().enumerate() {
            let next = if frame.offload.is_finished() {
                id = id.wrapping_add(1);
                match headers.encapsulate(frame, id) {
                    Ok(()) => batch.nexts.by(cx, frame, headers.direct.as_ref(), outlet),
                    Err(reason) => Next::Lost(reason),
                }
            } else {
                Next::of_unfinished(self.id, frame)
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
        let headers = Headers::new(self, self.direct(cx));
        headers.trace(frame).map_err(Exit::Drop)?;
        frame.egress = InterfaceId::NONE;
        Ok(OuterPath {
            direct: headers.direct,
            copies: 1,
        })
    }

    /// Only data packets of a session are of a tunnel. Control receives all else.
    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        let header = packet.first_chunk::<20>()?;
        if header[0] >> 4 != 4 || header[9] != UDP || !cx.interfaces.has_tunnels_of(Form::L2tp) {
            return None;
        }
        let upper = upper4(packet)?;
        if upper.fragment {
            return Some(Arrival::Fragment);
        }
        let datagram = packet.get(upper.offset..)?;
        let [_, _, a, b, ..] = *datagram.first_chunk::<UDP_BYTES>()?;
        let port = u16::from_be_bytes([a, b]);
        if !cx.interfaces.has_tunnel_port(Form::L2tp, port) {
            return None;
        }
        let data = Data::parse(datagram.get(UDP_BYTES..)?)?;
        let [.., a, b, c, d] = *header;
        let local = SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port);
        Some(Arrival::Of(key(local.into(), data.ids)))
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        let item = Item::Session(self.id, SessionClass::of(interface));
        let mut all = Traffic::default();
        let may_pass = self.may_pass(&cx.snapshot.ipsec);
        let mut decapsulation = Decapsulation {
            cx,
            tunnel: self,
            interface,
            may_pass,
            item,
            batch: outlet.agenda.batch(item, count),
            inner: Traffic::default(),
        };
        for frame in frames {
            all.packets += 1;
            all.bytes += frame.len() as u64 + u64::from(frame.untagged);
            match frame.offload.segmentation {
                Segmentation::Udp => divide(frame, outlet, |piece, outlet| {
                    decapsulation.receive(piece, outlet);
                }),
                _ => decapsulation.receive(frame, outlet),
            }
        }
        let Decapsulation { batch, inner, .. } = decapsulation;
        if let Some(batch) = batch {
            outlet.agenda.put_batch(item, batch);
        }
        let counters = outlet.counters.interface(self.id);
        counters.rx.add(inner.packets, inner.bytes);
        all
    }
}

impl L2tp {
    /// Returns the key of the packets of the session.
    pub(super) fn key(&self) -> Ends {
        key(self.local.into(), self.local_ids)
    }

    /// Returns the next hop of outer packets that take the fast path.
    pub(super) fn direct(&self, cx: &Context<'_>) -> Option<Adjacency> {
        direct(cx, IpAddr::V4(*self.remote.ip())).filter(|_| self.fast)
    }

    /// Admits a received datagram of the session. Returns its PPP packet.
    ///
    /// # Errors
    /// The datagram is not protected as the session needs it, came from another address or through another association,
    /// repeats an earlier one, or holds no whole packet.
    #[inline(always)]
    pub(super) fn admit(
        &self,
        frame: &Frame,
        is_protected: bool,
    ) -> Result<SessionPacket, DropReason> {
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        if !is_protected {
            return Err(DropReason::L2tpUnprotected);
        }
        let source = frame.bytes().get(usize::from(frame.l3) + 12..);
        let source = source.and_then(<[u8]>::first_chunk);
        if source != Some(&self.remote.ip().octets()) {
            return Err(DropReason::L2tpPeer);
        }
        let located = locate(frame).ok_or(DropReason::L2tpMalformed)?;
        // The source port names the association.
        if self.protected && located.source_port != self.remote.port() {
            return Err(DropReason::L2tpAssociation);
        }
        if let Some(ns) = located.ns
            && !self.received.admits(ns)
        {
            return Err(DropReason::L2tpSequence);
        }
        Ok(located.packet)
    }
}

/// The PPP packet of a received datagram.
pub(super) struct Located {
    pub(super) packet: SessionPacket,
    /// UDP port of the sender.
    source_port: u16,
    /// Sequence number.
    ns: Option<u16>,
}

/// Returns the PPP packet in a received datagram; `None` where lengths contradict each other.
#[inline(always)]
pub(super) fn locate(frame: &Frame) -> Option<Located> {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..)?;
    let message = message(packet)?;
    let data = Data::parse(packet.get(message.clone())?)?;
    let port = packet.get(message.start.checked_sub(UDP_BYTES)?..)?;
    let start = l3 + message.start;
    let packet = SessionPacket {
        protocol: data.protocol,
        start: start + data.at,
        end: start + data.end,
    };
    Some(Located {
        packet,
        source_port: u16::from_be_bytes(*port.first_chunk()?),
        ns: data.ns,
    })
}

/// Returns the key of packets to an end of a session.
#[inline(always)]
fn key(local: SocketAddr, ids: CallIds) -> Ends {
    Ends {
        form: Form::L2tp,
        port: local.port(),
        number: u32::from(ids.tunnel) << 16 | u32::from(ids.session),
        local: local.ip(),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// State of the decapsulation of one vector.
struct Decapsulation<'a> {
    cx: &'a Context<'a>,
    tunnel: &'a L2tp,
    interface: &'a Interface,
    /// The session needs no protection by IPsec, or has it.
    may_pass: bool,
    item: Item,
    batch: Option<Vec<Frame>>,
    inner: Traffic,
}

impl Decapsulation<'_> {
    #[inline(always)]
    fn receive(&mut self, mut frame: Frame, outlet: &mut Outlet) {
        match self.extract(&mut frame) {
            Ok(()) => {
                self.inner.packets += 1;
                self.inner.bytes += frame.len() as u64;
                let id = self.tunnel.id;
                tap::show(self.cx, id, Direction::Received, &frame, 0, outlet);
                put(&mut self.batch, self.item, frame, outlet);
            }
            Err(DropReason::PppProtocol) => {
                let exit = service_of_packet(self.cx, &frame);
                leave_to_service(exit, frame, DropReason::PppProtocol, outlet);
            }
            Err(reason) => outlet.discard(frame, reason),
        }
    }

    /// Cuts a datagram down to its packet, behind an Ethernet header to the interface.
    ///
    /// # Errors
    /// Errors of [`L2tp::admit`]; the packet belongs to control.
    #[inline(always)]
    fn extract(&self, frame: &mut Frame) -> Result<(), DropReason> {
        let malformed = DropReason::L2tpMalformed;
        if !self.interface.running {
            return Err(DropReason::InterfaceDown);
        }
        let data = self.tunnel.admit(frame, self.may_pass)?;
        let ethertype = ethertype_of(data.protocol).ok_or(DropReason::PppProtocol)?;
        let inner = frame.bytes().get(data.start..data.end);
        let total = total(inner.ok_or(malformed)?).ok_or(malformed)?;
        if !frame.set_len(data.start + total) {
            return Err(malformed);
        }
        settle(frame, data.start, ethertype.to_be_bytes()).ok_or(malformed)?;
        if let Some(link) = frame.bytes_mut().first_chunk_mut::<12>() {
            link[..6].copy_from_slice(&self.interface.mac.0);
            link[6..].fill(0);
        }
        mark_decapsulated(frame, self.tunnel.id);
        frame.flow = 0;
        Ok(())
    }
}
