//! Tunnels: encapsulation and decapsulation, of each kind in a file of its own.
//!
//! Encapsulation is a pass over frames for one tunnel. It writes the outer header in front of each, and the outer
//! link header at once where nothing looks at the router's own packets; otherwise each packet takes the way of the
//! router's own. Decapsulation is an exit of `input`: what comes out of packets of one tunnel that follow each other
//! enters the walk together, on the tunnel's interface. The depth of a frame counts its tunnels and ends loops.

mod between;
mod outer;
mod segment_size;
#[cfg(test)]
mod tests;
mod unsealed;
mod vxlan;
mod way;
mod wireguard;

use frame::{Frame, Guarded, InterfaceId, Vector};

pub(crate) use self::outer::{
    IP_BYTES, Outer, UDP_BYTES, congest, make_room, packet_of, settle, tos, write_udp,
};
pub(crate) use self::unsealed::wrap_unsealed;
pub(crate) use self::vxlan::Targets;
pub(crate) use self::way::{Next, Nexts, beside_ipsec};

use self::vxlan::Arrival;
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Tunnel};
use crate::outlet::Outlet;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// Bytes of the Ethernet header that every packet stands behind in the walk.
pub(crate) const ETHERNET: usize = 14;
/// Tunnels within tunnels.
pub(crate) const DEPTH: u8 = 8;

/// Wraps the frames that leave by the tunnel in this slot, and sends them on.
pub(crate) fn leave(
    cx: &Context<'_>,
    slot: u32,
    frames: &mut Vector,
    (nexts, targets): (&mut Nexts, &mut Targets),
    outlet: &mut Outlet,
) {
    if cx.interfaces.taps().any() {
        for frame in frames.frames() {
            let leaves = (frame.egress, Direction::Transmitted);
            tap::show(cx, leaves, (frame, 0), outlet);
        }
    }
    let wrapped = cx.interfaces.tunnel(slot, |tunnel| match tunnel {
        Tunnel::Between(tunnel) => between::leave(cx, tunnel, frames.frames_mut(), nexts, outlet),
        Tunnel::Vxlan(network) => {
            vxlan::leave(cx, network, frames.frames_mut(), (nexts, targets), outlet);
        }
        Tunnel::Wireguard(network) => {
            wireguard::leave(cx, network, frames.frames_mut(), nexts, outlet);
        }
    });
    if wrapped.is_none() {
        nexts.fill(Next::Lost(DropReason::EgressDown));
    }
    nexts.send(cx, frames, outlet);
}

/// A frame goes into a tunnel.
///
/// # Errors
/// It went into too many.
#[inline(always)]
pub(crate) fn descend(frame: &mut Frame) -> Result<(), DropReason> {
    if frame.depth >= DEPTH {
        return Err(DropReason::TunnelDepth);
    }
    frame.depth += 1;
    frame.rise(InterfaceId::NONE, InterfaceId::NONE);
    frame.guarded = Guarded::Clear;
    (frame.walked, frame.priority) = (false, 0);
    Ok(())
}

/// What becomes of a packet for this router that comes out of a tunnel, or is meant to; none of any other.
#[cold]
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    if let Some(ends) = between::ends(packet) {
        return network(cx, &ends).map(Exit::Decapsulate);
    }
    if between::is_piece(cx, packet) {
        return Some(Exit::Collect);
    }
    match wireguard::arrival(cx, packet) {
        Some(wireguard::Arrival::Of(ends)) => return network(cx, &ends).map(Exit::Decapsulate),
        Some(wireguard::Arrival::Malformed) => {
            return Some(Exit::Drop(DropReason::WireguardMalformed));
        }
        Some(wireguard::Arrival::Piece) => return Some(Exit::Collect),
        None => {}
    }
    Some(match vxlan::arrival(cx, packet)? {
        Arrival::Of(ends) => match network(cx, &ends) {
            Some(id) => Exit::Decapsulate(id),
            None => Exit::Drop(DropReason::VxlanUnknown),
        },
        Arrival::Malformed => Exit::Drop(DropReason::TunnelMalformed),
        Arrival::Piece => Exit::Collect,
    })
}

/// The interface of a tunnel with these ends, or with those without an address.
fn network(cx: &Context<'_>, ends: &Ends) -> Option<InterfaceId> {
    let found = cx.interfaces.tunnel_of(ends);
    found.or_else(|| cx.interfaces.tunnel_of(&ends.without_address()))
}

/// The tunnels that packets come out of, with the last one at hand.
#[derive(Default)]
pub(crate) struct Arrivals {
    last: Option<(Ends, InterfaceId)>,
}

impl Arrivals {
    /// As [`arrival`], of packets that follow each other: none where more is to be decided.
    #[inline(always)]
    pub(crate) fn of(&mut self, cx: &Context<'_>, packet: &[u8]) -> Option<InterfaceId> {
        let ends = ends(cx, packet)?;
        match self.last {
            Some((last, id)) if last == ends => Some(id),
            _ => {
                let id = network(cx, &ends)?;
                self.last = Some((ends, id));
                Some(id)
            }
        }
    }
}

/// The ends of a tunnel's whole packet.
#[inline(always)]
fn ends(cx: &Context<'_>, packet: &[u8]) -> Option<Ends> {
    if let Some(ends) = between::ends(packet) {
        return Some(ends);
    }
    if let Some(wireguard::Arrival::Of(ends)) = wireguard::arrival(cx, packet) {
        return Some(ends);
    }
    match vxlan::arrival(cx, packet)? {
        Arrival::Of(ends) => Some(ends),
        Arrival::Malformed | Arrival::Piece => None,
    }
}

/// Takes what is in the packets of a tunnel out of them, and leaves it to be walked. Returns what they were.
pub(crate) fn arrive(
    cx: &Context<'_>,
    (frames, count): (impl Iterator<Item = Frame>, usize),
    id: InterfaceId,
    outlet: &mut Outlet,
) -> Traffic {
    let interface = cx.interfaces.get(id);
    let mut frames = frames.take(count);
    let arrived = interface.and_then(|interface| {
        cx.interfaces.tunnel(id.slot() as u32, |tunnel| {
            let frames = (&mut frames, count);
            match tunnel {
                Tunnel::Between(tunnel) => {
                    between::emerge(cx, frames, (tunnel, &interface), outlet)
                }
                Tunnel::Vxlan(network) if interface.running => {
                    vxlan::emerge(cx, frames, (id, &interface, network), outlet)
                }
                Tunnel::Vxlan(_) => Traffic::default(),
                Tunnel::Wireguard(network) => {
                    wireguard::emerge(cx, frames, (&interface, network), outlet)
                }
            }
        })
    });
    arrived.unwrap_or_else(|| {
        let mut all = Traffic::default();
        for frame in frames {
            all.packets += 1;
            all.bytes += frame.len() as u64 + u64::from(frame.untagged);
            outlet.discard(frame, DropReason::InterfaceDown);
        }
        all
    })
}

/// A frame has come out of the tunnel of this interface.
#[inline(always)]
fn ascend(frame: &mut Frame, id: InterfaceId) {
    frame.depth += 1;
    frame.rise(frame.ingress, id);
    frame.egress = InterfaceId::NONE;
    frame.guarded = Guarded::Clear;
    (frame.walked, frame.priority) = (false, 0);
    (frame.untagged, frame.came_priority) = (0, 0);
}

/// Leaves a frame to be walked, with those that it came with if there is room for all of them.
#[inline(always)]
pub(crate) fn put(batch: &mut Option<Vec<Frame>>, item: Item, frame: Frame, outlet: &mut Outlet) {
    match batch {
        Some(batch) => batch.push(frame),
        None => {
            if let Err(frame) = outlet.agenda.put(item, frame) {
                outlet.discard(frame, DropReason::AgendaFull);
            }
        }
    }
}
