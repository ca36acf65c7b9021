//! Egress: writes the link header, finishes what the port cannot (checksums, segments, fragments), and
//! dispatches the frame to its out.

use frame::{Frame, InterfaceId, Offload, Pool, Segmentation, Unfinishable, Unfragmentable};

use super::Context;
use crate::counters::Counters;
use crate::demux::pppoe;
use crate::drop::DropReason;
use crate::out::{Out, OutId};
use crate::outlet::{Dispatch, Outlet};
use crate::table::Adjacency;
use crate::table::adjacency::HEADER_BYTES;

const ETHERNET: usize = 14;
/// Bytes of an Ethernet header with one tag, and of one with the header of a PPPoE session.
const ONE_TAG: usize = ETHERNET + 4;
const SESSION: usize = ETHERNET + pppoe::HEADER;

/// Replaces the link header by the adjacency's.
///
/// # Errors
/// Returns false when the headroom is too small; the frame must then be discarded.
#[inline(always)]
#[must_use]
pub(crate) fn rewrite(frame: &mut Frame, adjacency: &Adjacency) -> bool {
    let old = frame.l3;
    let new = u16::from(adjacency.header_len);
    if old != new && !relayer(frame, old, new) {
        return false;
    }
    frame.egress = adjacency.egress;
    // The usual case has a fixed size and compiles to two stores.
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
            complete(frame);
            true
        }
        _ => false,
    }
}

/// Replaces an Ethernet header without tags by a longer one, with tags or the header of a PPPoE
/// session.
///
/// # Errors
/// Returns false and changes nothing when the headroom is too small.
#[inline(always)]
#[must_use]
pub(crate) fn tag(frame: &mut Frame, header: &[u8; HEADER_BYTES], len: u8) -> bool {
    let more = usize::from(len).saturating_sub(ETHERNET);
    if !frame.push_front(more) {
        return false;
    }
    frame.l3 = len.into();
    // Copies of a fixed length compile to a few moves.
    let place = frame.bytes_mut();
    let written = match usize::from(len) {
        ONE_TAG => {
            let written = put::<ONE_TAG>(place, header);
            prioritise(frame);
            return written;
        }
        SESSION => put::<SESSION>(place, header),
        len => match (place.get_mut(..len), header.get(..len)) {
            (Some(place), Some(header)) => {
                place.copy_from_slice(header);
                true
            }
            _ => false,
        },
    };
    complete(frame);
    written
}

#[inline(always)]
fn put<const LEN: usize>(place: &mut [u8], header: &[u8; HEADER_BYTES]) -> bool {
    match (place.first_chunk_mut::<LEN>(), header.first_chunk()) {
        (Some(place), Some(header)) => {
            *place = *header;
            true
        }
        _ => false,
    }
}

/// Completes a link header longer than Ethernet's: the priority in its tags, and the length in a
/// PPPoE session header.
#[inline(always)]
fn complete(frame: &mut Frame) {
    prioritise(frame);
    if pppoe::is_behind(frame.bytes(), frame.l3.into()) {
        pppoe::set_length(frame);
    }
}

/// Writes the frame's priority into its VLAN tags (IEEE 802.1Q, 9.6).
#[inline]
pub(crate) fn prioritise(frame: &mut Frame) {
    let (priority, mut end) = (frame.priority << 5, usize::from(frame.l3));
    if priority == 0 {
        return;
    }
    if pppoe::is_behind(frame.bytes(), end) {
        end -= pppoe::HEADER;
    }
    // Each tag is followed by the EtherType of its content.
    for at in (ETHERNET..end).step_by(4) {
        if let Some(byte) = frame.bytes_mut().get_mut(at) {
            *byte = *byte & 0x1f | priority;
        }
    }
}

/// Resizes the link header from `old` to `new` bytes.
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

/// Sends a frame that needs work before its port can take it: it is too long for the link, or has
/// pending offload work.
///
/// `mtu` is the link's layer-3 MTU; merged segments may exceed it. Frames to a port that takes
/// merged segments are not split.
#[cold]
#[inline(never)]
pub(crate) fn finish(
    cx: &Context<'_>,
    outlet: &mut Outlet,
    mut frame: Frame,
    out: OutId,
    mtu: u32,
) {
    let port = out.as_port().and_then(|port| cx.snapshot.port(port));
    let segmentation = frame.offload.segmentation;
    let gathered = segmentation == Segmentation::Fragments;
    let of_session = pppoe::is_behind(frame.bytes(), frame.l3.into());
    let taken = match out.out() {
        // Each segment has its own length in its PPPoE header, which no device writes.
        _ if of_session && segmentation != Segmentation::None => false,
        // Each port of the bridge finishes the frame as it needs.
        Out::Bridge(_) => !gathered,
        _ => port.is_some_and(|binding| binding.offloads.take(&frame.offload)),
    };
    let merged = !gathered && segmentation != Segmentation::None;
    let too_long = !merged && frame.len() > usize::from(frame.l3).saturating_add(mtu as usize);
    let limit = match gathered {
        true => Some(mtu.min(piece_bytes(&frame))),
        false => too_long.then_some(mtu),
    };
    if taken && !too_long {
        return outlet.dispatch(cx, frame, out);
    }
    let mut pieces = core::mem::take(&mut outlet.pieces);
    let made = if merged {
        frame::segment(&mut outlet.pool, &frame, &mut pieces)
            .map(|_| ())
            .map_err(unfinishable)
    } else {
        let id = match (limit, is_ipv6(&frame)) {
            (Some(_), true) => outlet.memory.rules.random() as u32,
            _ => 0,
        };
        finish_whole(
            &mut outlet.pool,
            &mut frame,
            limit.map(|mtu| (mtu, id)),
            &mut pieces,
        )
    };
    match made {
        Err(reason) => outlet.discard(frame, reason),
        Ok(()) if pieces.is_empty() => outlet.dispatch(cx, frame, out),
        Ok(()) => {
            let bytes: usize = pieces.iter().map(Frame::len).sum();
            let more = (pieces.len() as u64 - 1, bytes.saturating_sub(frame.len()));
            count_sent(cx, &outlet.counters, frame.egress, more.0, more.1 as u64);
            outlet.pool.free(frame);
            for mut piece in pieces.drain(..) {
                if of_session {
                    pppoe::set_length(&mut piece);
                }
                outlet.dispatch(cx, piece, out);
            }
        }
    }
    outlet.pieces = pieces;
}

/// Returns the largest fragment size for a reassembled packet in bytes: that of the largest
/// received fragment, but at least the minimum MTU of the family.
fn piece_bytes(frame: &Frame) -> u32 {
    let every = match is_ipv6(frame) {
        true => u32::from(wire::ipv6::MTU_MIN),
        false => frame::MTU_MIN as u32,
    };
    every.max(frame.offload.segment_bytes.into())
}

fn is_ipv6(frame: &Frame) -> bool {
    let packet = frame.bytes().get(usize::from(frame.l3)..);
    packet
        .and_then(<[u8]>::first)
        .is_some_and(|first| first >> 4 == 6)
}

/// Completes the checksum. If `limit` is given, splits the packet into fragments for its layer-3
/// MTU in bytes; IPv6 fragments get its identification.
pub(super) fn finish_whole(
    pool: &mut Pool,
    frame: &mut Frame,
    limit: Option<(u32, u32)>,
    pieces: &mut Vec<Frame>,
) -> Result<(), DropReason> {
    let offload = frame.offload;
    frame::finish_checksum(frame.bytes_mut(), &offload).map_err(unfinishable)?;
    frame.offload = Offload::FINISHED;
    let Some((mtu, id)) = limit else {
        return Ok(());
    };
    let made = match is_ipv6(frame) {
        true => frame::fragment6(pool, frame, mtu as usize, id, pieces),
        false => frame::fragment(pool, frame, mtu as usize, pieces),
    };
    match made {
        Ok(_) => Ok(()),
        Err(Unfragmentable::NoBuffer) => Err(DropReason::NoBuffer),
        Err(Unfragmentable::Mtu) => Err(DropReason::TooBig),
        Err(Unfragmentable::Option(_)) => Err(DropReason::Ipv4Options),
        Err(Unfragmentable::Ipv6(_)) => Err(DropReason::Ipv6ExtensionHeader),
        Err(_) => Err(DropReason::Ipv4Length),
    }
}

fn unfinishable(error: Unfinishable) -> DropReason {
    match error {
        Unfinishable::NoBuffer => DropReason::NoBuffer,
        _ => DropReason::OffloadMalformed,
    }
}

/// Counts frames on their egress interface, and on the interface below a VLAN or session. Returns the interface below.
pub(crate) fn count_sent(
    cx: &Context<'_>,
    counters: &Counters,
    egress: InterfaceId,
    packets: u64,
    bytes: u64,
) -> Option<InterfaceId> {
    counters.interface(egress).tx.add(packets, bytes);
    let under = cx.interfaces.get(egress)?.under;
    (under != egress).then(|| {
        counters.interface(under).tx.add(packets, bytes);
        under
    })
}

/// Sends a complete frame by its egress interface.
pub(crate) fn transmit(cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
    let Some(interface) = cx.interfaces.get(frame.egress) else {
        return outlet.discard(frame, DropReason::EgressDown);
    };
    if !interface.running {
        return outlet.discard(frame, DropReason::EgressDown);
    }
    count_sent(cx, &outlet.counters, frame.egress, 1, frame.len() as u64);
    finish(cx, outlet, frame, interface.out, u32::MAX);
}
