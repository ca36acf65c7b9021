//! Decapsulation of VXLAN datagrams for this router, and learning of hosts.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use frame::{Frame, Offload, Segmentation};
use wire::{Protocol, vxlan};

use super::{INNER, Vxlan, key};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::encap::{Arrival, DEPTH, ETHERNET, Form, divide, mark_decapsulated, put, put_edited};
use crate::flow::{self, Upper};
use crate::interface::{Interface, Peers};
use crate::outlet::Outlet;
use crate::walk::Context;

/// Bytes of a UDP header.
const UDP: usize = 8;

/// Classifies a packet for this router.
#[inline(always)]
pub(super) fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
    match packet.first()? >> 4 {
        4 if *packet.get(9)? == Protocol::UDP.0 => of(cx, packet, flow::upper4(packet)?),
        6 if *packet.get(6)? == Protocol::UDP.0 => of(cx, packet, upper6()),
        6 if cx.interfaces.has_tunnels_of(Form::Vxlan) => of(cx, packet, flow::upper6(packet)?),
        _ => None,
    }
}

/// Returns the upper layer of an IPv6 packet without extension headers.
const fn upper6() -> Upper {
    Upper {
        protocol: Protocol::UDP.0,
        offset: 40,
        fragment: false,
    }
}

#[inline(always)]
fn of(cx: &Context<'_>, packet: &[u8], upper: Upper) -> Option<Arrival> {
    if upper.fragment {
        let may_be = upper.protocol == Protocol::UDP.0 && cx.interfaces.has_tunnels_of(Form::Vxlan);
        return may_be.then_some(Arrival::Fragment);
    }
    let datagram = packet.get(upper.offset..)?;
    let [_, _, a, b, ..] = *datagram.first_chunk::<UDP>()?;
    let port = u16::from_be_bytes([a, b]);
    if upper.protocol != Protocol::UDP.0 || !cx.interfaces.has_tunnel_port(Form::Vxlan, port) {
        return None;
    }
    let Some(vni) = datagram.get(UDP..).and_then(vxlan::vni) else {
        return Some(Arrival::Malformed(DropReason::TunnelMalformed));
    };
    let local = addresses(packet)?.1;
    Some(Arrival::Of(key(port, vni, local)))
}

/// Returns the source and destination of a packet.
#[inline(always)]
fn addresses(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    match packet.first()? >> 4 {
        4 => {
            let [.., a, b, c, d, e, f, g, h] = *packet.first_chunk::<20>()?;
            let [from, to] = [[a, b, c, d], [e, f, g, h]].map(Ipv4Addr::from);
            Some((from.into(), to.into()))
        }
        _ => {
            let address = |at: usize| Some(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?));
            Some((address(8)?.into(), address(24)?.into()))
        }
    }
}

/// Decapsulates the datagrams of a network. The frames go on as if its interface had received them.
pub(super) fn decapsulate(
    cx: &Context<'_>,
    frames: impl Iterator<Item = Frame>,
    count: usize,
    interface: &Interface,
    network: &Vxlan,
    outlet: &mut Outlet,
) -> Traffic {
    let item = Item::Framed(network.id);
    let mut batch = outlet.agenda.batch(item, count);
    let mut all = Traffic::default();
    let learner = Learner {
        cx,
        network,
        own: number(interface.mac.0),
        now: Peers::second(cx.now),
    };
    for frame in frames {
        all.packets += 1;
        all.bytes += frame.len() as u64 + u64::from(frame.untagged);
        if is_row(&frame) {
            divide(frame, outlet, |mut piece, outlet| {
                match learner.extract(&mut piece) {
                    Ok(()) => put(&mut None, item, piece, outlet),
                    Err(reason) => outlet.discard(piece, reason),
                }
            });
            continue;
        }
        let extract = |frame: &mut Frame, _: &mut Outlet| learner.extract(frame);
        if let Some((frame, reason)) = put_edited(&mut batch, item, frame, outlet, extract) {
            outlet.discard(frame, reason);
        }
    }
    if let Some(batch) = batch {
        outlet.agenda.put_batch(item, batch);
    }
    all
}

/// Returns true if the device merged several datagrams with a frame each: the pending checksum is
/// then that of the outer UDP header, which lies before that of any inner packet.
#[inline(always)]
fn is_row(frame: &Frame) -> bool {
    const NEAR: u16 = 56;
    let offload = &frame.offload;
    offload.segmentation == Segmentation::Udp && offload.checksum_start < frame.l3 + NEAR
}

/// State of the decapsulation of one vector.
struct Learner<'a> {
    cx: &'a Context<'a>,
    network: &'a Vxlan,
    /// The interface's own MAC address.
    own: u64,
    now: u32,
}

impl Learner<'_> {
    /// Cuts a datagram down to its frame, and learns the frame's source.
    ///
    /// # Errors
    /// The datagram holds no frame, this interface sent the frame, or the frame passed too many
    /// tunnels.
    #[inline(always)]
    fn extract(&self, frame: &mut Frame) -> Result<(), DropReason> {
        if frame.depth >= DEPTH {
            return Err(DropReason::TunnelDepth);
        }
        let from = strip_outer(frame).ok_or(DropReason::TunnelMalformed)?;
        let sender = frame.bytes().get(6..).and_then(<[u8]>::first_chunk);
        let sender = sender.map_or(0, |mac| number(*mac));
        if sender == self.own {
            return Err(DropReason::VxlanEcho);
        }
        const GROUP: u64 = 1 << 40;
        if self.network.learning && sender != 0 && sender & GROUP == 0 {
            let peers = self.cx.interfaces.peers();
            let (id, hosts_max) = (self.network.id, self.network.hosts_max);
            peers.learn(id, sender, from, self.now, hosts_max);
        }
        mark_decapsulated(frame, self.network.id);
        (frame.flow, frame.l3) = (0, ETHERNET as u16);
        Ok(())
    }
}

/// Cuts a datagram down to its frame. Returns the outer source; `None` if the datagram holds no frame.
///
/// The checksum of the datagram is not verified, as RFC 7348, 5 permits: the inner packet has its own.
#[inline(always)]
pub(super) fn strip_outer(frame: &mut Frame) -> Option<IpAddr> {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..)?;
    let upper = match packet.first()? >> 4 {
        4 => flow::upper4(packet)?,
        _ if *packet.get(6)? == Protocol::UDP.0 => upper6(),
        _ => flow::upper6(packet)?,
    };
    let (from, _) = addresses(packet)?;
    let datagram = packet.get(upper.offset..)?;
    let [_, _, _, _, a, b, ..] = *datagram.first_chunk::<UDP>()?;
    let len = usize::from(u16::from_be_bytes([a, b]));
    let starts = l3 + upper.offset;
    if len < INNER + ETHERNET || len > datagram.len() || !frame.set_len(starts + len) {
        return None;
    }
    let taken = starts + INNER;
    let offload = frame.offload;
    frame.pull_front(taken);
    // Pending work on the inner frame remains; pending work on the datagram is dropped with its
    // headers.
    match usize::from(offload.checksum_start) >= taken && !offload.is_finished() {
        true => frame.offload.shift(-(taken as i16)),
        false => frame.offload = Offload::FINISHED,
    }
    Some(from)
}

#[inline(always)]
fn number([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
