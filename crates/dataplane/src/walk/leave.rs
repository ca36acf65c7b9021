//! The departure of one frame: decides where it goes, and writes lifetime, options and link header.

use frame::{Frame, InterfaceId};

use super::forward::{self, Fit};
use super::packet::{Leaving, packet};
use super::{Context, Exit, decide, egress, options, postrouting};
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::punt::PuntReason;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::trace::Silent;

/// The route of a packet.
pub(super) struct PacketRoute<'a> {
    pub(super) hop: NextHopId,
    pub(super) adjacency: &'a Adjacency,
    pub(super) ipv6: bool,
    /// The packet is the router's own.
    pub(super) own: bool,
}

/// A frame with its new link header.
pub(super) enum Departed {
    /// The out takes the frame as it is.
    Whole(OutId),
    /// The frame needs fragmentation, segmentation or checksums before the out takes it.
    Unfinished { out: OutId, mtu: u32 },
}

impl Departed {
    /// Returns true if IPsec takes the frame before it leaves by its interface.
    pub(super) const fn is_protected(&self) -> bool {
        matches!(self, Self::Whole(out) if out.is_protect())
    }
}

/// Pass 3 for one frame: decides, and writes the decision into the frame.
pub(super) fn depart(
    cx: &Context<'_>,
    frame: &mut Frame,
    route: &PacketRoute<'_>,
    redirects: &mut bool,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let leaving = Leaving {
        packet: packet(frame),
        offload: &frame.offload,
        ipv6: route.ipv6,
        own: route.own,
        guarded: frame.guarded,
    };
    let followed;
    let adjacency = if route.adjacency.kind == Kind::Forward {
        route.adjacency
    } else {
        followed = decide::follow(cx, leaving.packet, frame.ingress, route.hop, &mut Silent);
        match &followed {
            Ok(adjacency) => adjacency,
            Err(exit) => {
                if let Some(hop) = waits_to_go_back(cx, frame, exit).filter(|_| *redirects) {
                    *redirects = false;
                    outlet.redirect(frame, hop);
                }
                return match exit.is_local() && *exit != Exit::Reveal {
                    true => Err(admitted(cx, frame, true).err().unwrap_or(*exit)),
                    false => Err(*exit),
                };
            }
        }
    };
    admitted(cx, frame, false)?;
    let (fit, protects) = decide::leave(cx, &leaving, adjacency, &mut Silent)?;
    // The packet leaves by its ingress interface: its sender may need a redirect, at most one per vector.
    if (adjacency.egress == frame.ingress) & *redirects & protects.is_none() {
        *redirects = false;
        outlet.redirect(frame, route.hop);
    }
    write(cx, frame, adjacency, route.own)?;
    Ok(match protects {
        Some(out) => Departed::Whole(out),
        None => departed(frame, adjacency, fit == Fit::Whole),
    })
}

/// Writes the decision about a packet without firewall: lifetime and options, unless the packet is the router's own,
/// and the link header of the next hop.
///
/// # Errors
/// The frame has no room for the link header.
#[inline(always)]
pub(super) fn write(
    cx: &Context<'_>,
    frame: &mut Frame,
    adjacency: &Adjacency,
    own: bool,
) -> Result<(), Exit> {
    let ipv6 = packet(frame).first().is_some_and(|first| first >> 4 == 6);
    let aged = match (own, ipv6) {
        (true, _) => true,
        (false, false) => {
            options::commit(cx, frame, adjacency.egress);
            age4(frame)
        }
        (false, true) => age6(frame),
    };
    match aged && egress::rewrite(frame, adjacency) {
        true => Ok(()),
        false => Err(Exit::Drop(DropReason::NoBuffer)),
    }
}

/// Checks a received packet against the IPsec policies. The router's own packets always pass.
#[inline(always)]
pub(super) fn admitted(cx: &Context<'_>, frame: &Frame, local: bool) -> Result<(), Exit> {
    match frame.ingress == InterfaceId::NONE {
        true => Ok(()),
        false => postrouting::admit(cx, packet(frame), frame.guarded, local),
    }
}

/// Returns the next hop of a packet that waits for a neighbour on its ingress interface. Its sender gets a redirect at
/// once, because the waiting packet is not examined again.
pub(super) fn waits_to_go_back(cx: &Context<'_>, frame: &Frame, exit: &Exit) -> Option<NextHopId> {
    match *exit {
        Exit::Punt(PuntReason::Unresolved(hop)) if frame.ingress != InterfaceId::NONE => {
            let leaves_by = cx.fib.adjacencies.read(hop).egress;
            (leaves_by == frame.ingress).then_some(hop)
        }
        _ => None,
    }
}

/// Returns how a frame with its new link header leaves. `whole`: the packet fits the link.
#[inline(always)]
pub(super) fn departed(frame: &Frame, adjacency: &Adjacency, whole: bool) -> Departed {
    let out = adjacency.out;
    if whole & frame.offload.is_finished() {
        Departed::Whole(out)
    } else {
        let mtu = adjacency.mtu;
        Departed::Unfinished { out, mtu }
    }
}

/// Cuts off the padding of the ingress link.
#[inline(always)]
pub(super) fn trim(frame: &mut Frame, len: usize) -> bool {
    len == frame.len() || frame.set_len(len)
}

/// Decrements the lifetime and cuts off the padding of the ingress link.
#[inline(always)]
fn age4(frame: &mut Frame) -> bool {
    let l3 = usize::from(frame.l3);
    let header = frame.bytes_mut().get_mut(l3..);
    let Some(header) = header.and_then(|packet| packet.first_chunk_mut::<20>()) else {
        return false;
    };
    forward::age4(header);
    let total = forward::total4(header) as usize;
    trim(frame, l3 + total)
}

#[inline(always)]
fn age6(frame: &mut Frame) -> bool {
    let l3 = usize::from(frame.l3);
    let header = frame.bytes_mut().get_mut(l3..);
    let Some(header) = header.and_then(|packet| packet.first_chunk_mut::<40>()) else {
        return false;
    };
    forward::age6(header);
    let total = forward::total6(header) as usize;
    trim(frame, l3 + total)
}
