//! Egress: the link header is written, what the port cannot finish is finished, and the frame joins
//! its port's queue.

use frame::{Frame, Segmentation};

use super::Context;
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::table::Adjacency;

const ETHERNET: usize = 14;

/// Replaces the link header by the adjacency's.
///
/// # Errors
/// False when the headroom is too small; the frame is then good for nothing.
#[inline(always)]
#[must_use]
pub(crate) fn rewrite(frame: &mut Frame, adjacency: &Adjacency) -> bool {
    let old = frame.l3;
    let new = u16::from(adjacency.header_len);
    if old != new && !relayer(frame, old, new) {
        return false;
    }
    frame.egress = adjacency.egress;
    // Nearly always the fixed size, which is two stores.
    if new == ETHERNET as u16
        && let (Some(place), Some(header)) = (
            frame.bytes_mut().first_chunk_mut::<ETHERNET>(),
            adjacency.header.first_chunk::<ETHERNET>(),
        )
    {
        *place = *header;
        return true;
    }
    let new = usize::from(new);
    match (
        frame.bytes_mut().get_mut(..new),
        adjacency.header.get(..new),
    ) {
        (Some(place), Some(header)) => {
            place.copy_from_slice(header);
            true
        }
        _ => false,
    }
}

/// Makes the link header as long as it must be.
#[cold]
#[inline(never)]
pub(crate) fn relayer(frame: &mut Frame, old: u16, new: u16) -> bool {
    if new > old {
        if !frame.push_front(usize::from(new - old)) {
            return false;
        }
    } else {
        frame.pull_front(usize::from(old - new));
    }
    frame.offload.shift(new.wrapping_sub(old) as i16);
    frame.l3 = new;
    true
}

/// Sends a frame that does not fit its port as it is: too long for the link, or unfinished.
///
/// `mtu` is the link's layer-3 MTU; merged segments are not measured by it.
#[cold]
#[inline(never)]
pub(crate) fn finish(cx: &Context<'_>, outlet: &mut Outlet, frame: Frame, port: u16, mtu: u32) {
    let taken = cx
        .snapshot
        .port(port)
        .is_some_and(|binding| binding.offloads.take(&frame.offload));
    let merged = frame.offload.segmentation != Segmentation::None;
    let too_long = !merged && frame.len() > usize::from(frame.l3) + mtu as usize;
    if taken && !too_long {
        outlet.send(cx, frame, port);
        return;
    }
    outlet.discard(frame, Drop::OffloadMalformed);
}
