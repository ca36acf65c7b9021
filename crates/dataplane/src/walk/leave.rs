//! How a frame with its new link header departs.

use frame::{Frame, InterfaceId};

use super::packet::packet;
use super::{Context, Exit, postrouting};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::table::{Adjacency, NextHopId};

/// A frame with its new link header.
pub(super) enum Departed {
    /// The out takes the frame as it is.
    Whole(OutId),
    /// The frame needs fragmentation, segmentation or checksums before the out takes it.
    Unfinished { out: OutId, mtu: u32 },
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
