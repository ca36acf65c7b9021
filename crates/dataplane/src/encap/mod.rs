//! Tunnels: encapsulation and decapsulation, of each kind in a file of its own.
//!
//! Encapsulation is a pass over frames for one tunnel. It writes the outer header in front of each, and the outer
//! link header at once where nothing looks at the router's own packets; otherwise each packet takes the way of the
//! router's own. Decapsulation is an exit of `input`: what comes out of packets of one tunnel that follow each other
//! enters the walk together, on the tunnel's interface. The depth of a frame counts its tunnels and ends loops.

mod ipip;
#[cfg(test)]
mod tests;
mod vxlan;
mod way;

use frame::{Frame, InterfaceId, Vector};

pub(crate) use self::vxlan::Targets;
pub(crate) use self::way::Nexts;

use self::vxlan::Arrival;
use self::way::Next;
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface, Tunnel};
use crate::outlet::Outlet;
use crate::tap::{self, Direction};
use crate::walk::{Context, Exit};

/// Bytes of the Ethernet header that every packet stands behind in the walk.
const ETHERNET: usize = 14;
/// Tunnels within tunnels.
const DEPTH: u8 = 8;

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
        Tunnel::Ip4(tunnel) => ipip::leave(cx, tunnel, frames.frames_mut(), nexts, outlet),
        Tunnel::Vxlan(network) => {
            vxlan::leave(cx, network, frames.frames_mut(), (nexts, targets), outlet);
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
fn descend(frame: &mut Frame) -> Result<(), DropReason> {
    if frame.depth >= DEPTH {
        return Err(DropReason::TunnelDepth);
    }
    frame.depth += 1;
    frame.rise(InterfaceId::NONE, InterfaceId::NONE);
    (frame.walked, frame.priority) = (false, 0);
    Ok(())
}

/// What becomes of a packet for this router that comes out of a tunnel, or is meant to; none of any other.
#[cold]
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    if let Some(ends) = ipip::ends(packet) {
        return cx.interfaces.tunnel_of(&ends).map(Exit::Decapsulate);
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

/// The interface of a network with these ends, or with those without an address.
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
        let ends = match ipip::ends(packet) {
            Some(ends) => ends,
            None => match vxlan::arrival(cx, packet)? {
                Arrival::Of(ends) => ends,
                Arrival::Malformed | Arrival::Piece => return None,
            },
        };
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

/// Takes what is in the packets of a tunnel out of them, and leaves it to be walked. Returns what they were.
pub(crate) fn arrive(
    cx: &Context<'_>,
    (frames, count): (impl Iterator<Item = Frame>, usize),
    id: InterfaceId,
    outlet: &mut Outlet,
) -> Traffic {
    let interface = cx.interfaces.get(id).filter(|interface| interface.running);
    let mut frames = frames.take(count);
    let arrived = interface.and_then(|interface| {
        cx.interfaces.tunnel(id.slot() as u32, |tunnel| {
            let frames = (&mut frames, count);
            match tunnel {
                Tunnel::Ip4(_) => emerge(cx, frames, (id, &interface), outlet),
                Tunnel::Vxlan(network) => {
                    vxlan::emerge(cx, frames, (id, &interface, network), outlet)
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

/// Takes IP packets out of the packets of a tunnel: they go on behind ingress.
fn emerge(
    cx: &Context<'_>,
    (frames, count): (impl Iterator<Item = Frame>, usize),
    (id, interface): (InterfaceId, &Interface),
    outlet: &mut Outlet,
) -> Traffic {
    let item = Item::Arrived(id);
    let mut batch = outlet.agenda.batch(item, count);
    let (mut all, mut inner) = (Traffic::default(), Traffic::default());
    for mut frame in frames {
        all.packets += 1;
        all.bytes += frame.len() as u64 + u64::from(frame.untagged);
        let unwrapped = match frame.depth < DEPTH {
            true => ipip::unwrap(&mut frame, interface.mac),
            false => Err(DropReason::TunnelDepth),
        };
        if let Err(reason) = unwrapped {
            outlet.discard(frame, reason);
            continue;
        }
        ascend(&mut frame, id);
        inner.packets += 1;
        inner.bytes += frame.len() as u64;
        tap::show(cx, (id, Direction::Received), (&frame, 0), outlet);
        put(&mut batch, item, frame, outlet);
    }
    if let Some(batch) = batch {
        outlet.agenda.put_batch(item, batch);
    }
    let counters = outlet.counters.interface(id);
    counters.rx.add(inner.packets, inner.bytes);
    all
}

/// A frame has come out of the tunnel of this interface.
#[inline(always)]
fn ascend(frame: &mut Frame, id: InterfaceId) {
    frame.depth += 1;
    frame.rise(frame.ingress, id);
    frame.egress = InterfaceId::NONE;
    (frame.walked, frame.priority) = (false, 0);
    (frame.untagged, frame.came_priority) = (0, 0);
}

/// Leaves a frame to be walked, with those that it came with if there is room for all of them.
#[inline(always)]
fn put(batch: &mut Option<Vec<Frame>>, item: Item, frame: Frame, outlet: &mut Outlet) {
    match batch {
        Some(batch) => batch.push(frame),
        None => {
            if let Err(frame) = outlet.agenda.put(item, frame) {
                outlet.discard(frame, DropReason::AgendaFull);
            }
        }
    }
}
