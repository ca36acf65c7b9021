//! PPTP over IPv4: PPP packets of a call in enhanced GRE (RFC 2637, 4).
//!
//! ```text
//! IPv4 | GRE: flags, 880b, length, call, sequence [, acknowledgement] | ff 03 | PPP protocol | packet
//! ```
//! The call number of this end finds the interface. Control messages pass by TCP, and control receives PPP control
//! packets as a service. Packets carry acknowledgements. If many received packets lack an acknowledgement, a GRE packet
//! without a payload carries it.

mod settings;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr};

use frame::{Frame, InterfaceId, Offload, Pool};
use pptp::gre::{self, MAX_HEADER, Packet};

pub use self::settings::{Numbers, Pptp};
use super::next::direct;
use super::session_data::{PPP_ADDRESS, PROTOCOL, SessionPacket, add_front, data_protocol};
use super::{Arrival, DEPTH, ETHERNET, Form, Outer, mark_encapsulated, put};
use crate::agenda::Item;
use crate::drop::DropReason;
use crate::flow::upper4;
use crate::interface::Ends;
use crate::outlet::Outlet;
use crate::packet::protocol::GRE;
use crate::table::Adjacency;
use crate::walk::Context;

/// Bytes of an IPv4 header.
const IPV4: usize = 20;
/// Number of received packets without an acknowledgement after which a GRE packet without a payload carries it: half of
/// the announced window.
const ACKNOWLEDGE_AFTER: u32 = 32;

/// Returns the key of packets to an end of a call.
#[inline(always)]
fn key(local: Ipv4Addr, call: u16) -> Ends {
    Ends {
        form: Form::Plain,
        port: 0,
        number: call.into(),
        local: IpAddr::V4(local),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Classifies a packet for this router. Only data packets and acknowledgements are of a tunnel.
#[inline(always)]
pub(super) fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
    let header = packet.first_chunk::<IPV4>()?;
    if header[0] >> 4 != 4 || header[9] != GRE || !cx.interfaces.has_tunnels_of(Form::Plain) {
        return None;
    }
    let upper = upper4(packet)?;
    if upper.fragment {
        return Some(Arrival::Fragment);
    }
    let behind = packet.get(upper.offset..)?;
    let gre = Packet::parse(behind)?;
    if gre.sequence.is_some() {
        data_protocol(behind.get(gre.start..gre.end)?)?;
    }
    let [.., a, b, c, d] = *header;
    Some(Arrival::Of(key(Ipv4Addr::new(a, b, c, d), gre.call)))
}

/// Returns the GRE packet of a received frame, and its offset in the frame.
#[inline(always)]
fn packet_of(frame: &Frame) -> Option<(Packet, usize)> {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..)?;
    let total = packet.get(2..4)?.first_chunk()?;
    let packet = packet.get(..u16::from_be_bytes(*total).into())?;
    let offset = upper4(packet)?.offset;
    Some((Packet::parse(packet.get(offset..)?)?, l3 + offset))
}

/// Returns the PPP packet in a received frame.
fn ppp_of(frame: &Frame, gre: &Packet, at: usize) -> Option<SessionPacket> {
    let (start, end) = (at + gre.start, at + gre.end);
    let (protocol, header) = data_protocol(frame.bytes().get(start..end)?)?;
    Some(SessionPacket {
        protocol,
        start: start + header,
        end,
    })
}

/// Returns the PPP packet in a received frame; `None` where lengths contradict each other.
pub(super) fn locate(frame: &Frame) -> Option<SessionPacket> {
    let (gre, at) = packet_of(frame)?;
    ppp_of(frame, &gre, at)
}

impl Pptp {
    /// Returns the key of the packets of the call.
    pub(super) fn key(&self) -> Ends {
        key(self.local, self.call)
    }

    /// Admits a received packet of the call. Returns its PPP packet; `None` for an acknowledgement.
    ///
    /// # Errors
    /// The packet came from another address, repeats an earlier one, is too late, or is malformed.
    #[inline(always)]
    pub(super) fn admit(&self, frame: &Frame) -> Result<Option<SessionPacket>, DropReason> {
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        let source = frame.bytes().get(usize::from(frame.l3) + 12..);
        if source.and_then(<[u8]>::first_chunk) != Some(&self.remote.octets()) {
            return Err(DropReason::PptpPeer);
        }
        let (gre, at) = packet_of(frame).ok_or(DropReason::PptpMalformed)?;
        let Some(sequence) = gre.sequence else {
            return Ok(None);
        };
        if !self.numbers.admits(sequence) {
            return Err(DropReason::PptpSequence);
        }
        ppp_of(frame, &gre, at).map_or(Err(DropReason::PptpMalformed), |packet| Ok(Some(packet)))
    }

    /// Sends a GRE packet that only acknowledges, if many received packets lack an acknowledgement.
    #[inline(always)]
    pub(super) fn acknowledge(&self, outlet: &mut Outlet) {
        if let Some(number) = self.numbers.overdue(ACKNOWLEDGE_AFTER) {
            self.send_acknowledgement(number, outlet);
        }
    }

    #[cold]
    fn send_acknowledgement(&self, number: u32, outlet: &mut Outlet) {
        let id = outlet.memory.rules.random() as u16;
        let Some(mut frame) = outlet.pool.alloc(ETHERNET) else {
            return outlet.counters.dropped(DropReason::NoBuffer);
        };
        frame.bytes_mut().fill(0);
        frame.l3 = ETHERNET as u16;
        let mut header = [0; MAX_HEADER];
        let length = gre::write(&mut header, self.remote_call, 0, None, Some(number));
        let total = IPV4 + length;
        if !frame.set_len(ETHERNET + total) {
            outlet.counters.dropped(DropReason::NoBuffer);
            return outlet.pool.free(frame);
        }
        self.write_outer(&mut frame, total, id);
        frame.bytes_mut()[ETHERNET + IPV4..].copy_from_slice(&header[..length]);
        frame.offload = Offload::FINISHED;
        frame.egress = InterfaceId::NONE;
        put(&mut None, Item::Own, frame, outlet);
    }

    fn write_outer(&self, frame: &mut Frame, total: usize, id: u16) {
        let outer = Outer {
            ends: (self.local.into(), self.remote.into()),
            protocol: GRE,
            tos: 0,
            total,
            id,
        };
        if let Some(place) = frame.bytes_mut().get_mut(ETHERNET..) {
            outer.write(place);
        }
    }
}

/// Headers of the packets of a call.
pub(super) struct Headers<'a> {
    call: &'a Pptp,
    /// The next hop, if no rule or policy applies to the outer packets.
    pub(super) direct: Option<Adjacency>,
}

impl<'a> Headers<'a> {
    pub(super) fn new(cx: &Context<'_>, call: &'a Pptp) -> Self {
        Self {
            call,
            direct: direct(cx, call.remote.into()),
        }
    }

    /// Writes the headers in front of a frame in PPP form, behind room for an Ethernet header.
    ///
    /// # Errors
    /// The frame passed too many tunnels, has no headroom, or is too long for an outer packet.
    pub(super) fn encapsulate(
        &self,
        frame: &mut Frame,
        id: u16,
        pool: &mut Pool,
    ) -> Result<(), DropReason> {
        let numbers = &self.call.numbers;
        let (sequence, acknowledged) = (numbers.next(), numbers.unacknowledged());
        self.write(frame, id, [Some(sequence), acknowledged], pool)
    }

    /// Writes the headers in front of a frame in PPP form for a trace: takes no sequence number.
    ///
    /// # Errors
    /// Errors of [`Self::encapsulate`].
    pub(super) fn trace(&self, frame: &mut Frame, pool: &mut Pool) -> Result<(), DropReason> {
        self.write(frame, 0, [Some(0), None], pool)
    }

    fn write(
        &self,
        frame: &mut Frame,
        id: u16,
        numbers: [Option<u32>; 2],
        pool: &mut Pool,
    ) -> Result<(), DropReason> {
        mark_encapsulated(frame)?;
        frame.pull_front(usize::from(frame.l3).saturating_sub(PROTOCOL));
        let payload = PPP_ADDRESS.len() + frame.len();
        let payload = u16::try_from(payload).map_err(|_| DropReason::TooBig)?;
        let mut header = [0; MAX_HEADER];
        let [sequence, acknowledged] = numbers;
        let length = gre::write(
            &mut header,
            self.call.remote_call,
            payload,
            sequence,
            acknowledged,
        );
        let total = IPV4 + length + usize::from(payload);
        if total > usize::from(u16::MAX) {
            return Err(DropReason::TooBig);
        }
        let front = ETHERNET + IPV4 + length + PPP_ADDRESS.len();
        add_front(frame, front, pool)?;
        frame.l3 = ETHERNET as u16;
        frame.offload = Offload::FINISHED;
        self.call.write_outer(frame, total, id);
        let place = frame.bytes_mut().get_mut(ETHERNET + IPV4..front);
        if let Some((gre, address)) = place.and_then(|place| place.split_at_mut_checked(length)) {
            gre.copy_from_slice(&header[..length]);
            address.copy_from_slice(&PPP_ADDRESS);
        }
        Ok(())
    }
}
