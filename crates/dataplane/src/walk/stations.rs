//! Stations: interfaces that share the link of another one, and are told by the link address that a frame is sent to.
//!
//! Frames for a station leave the vector of the interface that it lies on, and walk behind ingress as vectors of
//! their own ([`super::Entry::Arrived`]): so they are looked at as fast as those for the interface itself. Frames
//! for a group are for the interface, and a copy of each is for every station that runs. An interface without
//! stations is asked once for each vector.

use frame::{Frame, InterfaceId, Vector};

use super::ingress::{self, ETHERNET, Entrance};
use super::{Context, demux};
use crate::agenda::Item;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::tap::{self, Direction};

/// Takes the frames of stations out of a vector, and leaves them, and copies of what is for all, to be walked as
/// theirs.
#[cold]
#[inline(never)]
pub(super) fn rise(
    cx: &Context<'_>,
    entrance: &Entrance,
    vector: &mut Vector,
    outlet: &mut Outlet,
) {
    let own = entrance.interface.mac.0;
    let is_own = |frame: &Frame| frame.bytes().first_chunk() == Some(&own);
    if vector.frames().iter().all(is_own) {
        return;
    }
    let is_group = |frame: &&Frame| frame.bytes().first().is_some_and(|first| first & 1 != 0);
    for frame in vector.frames().iter().filter(is_group) {
        copy_to_all(cx, entrance, frame, outlet);
    }
    for frame in vector.extract(|frame| !is_own(frame) && claim(cx, entrance, frame)) {
        // All that carry it have received it.
        let received = frame.len() as u64;
        let carrier = outlet.counters.interface(entrance.id);
        carrier.rx.add(1, received);
        if frame.below != entrance.id {
            let vlan = outlet.counters.interface(frame.below);
            vlan.rx.add(1, received);
        }
        arrive(cx, frame, outlet);
    }
}

/// Returns the interface of a station that receives a frame, whose tags are taken off then; `None` for frames of
/// other interfaces. A frame for a group stays with the interface that the stations lie on.
pub(super) fn receiver(
    cx: &Context<'_>,
    entrance: &Entrance,
    frame: &mut Frame,
) -> Option<InterfaceId> {
    let own = entrance.interface.mac.0;
    let is_own = frame.bytes().first_chunk() == Some(&own);
    if !entrance.interface.stations || is_own || !claim(cx, entrance, frame) {
        return None;
    }
    demux::untag(frame);
    frame.l3 = ETHERNET as u16;
    Some(frame.ingress)
}

/// Whether a frame is for a station; it is the station's then, or of what lies on that.
fn claim(cx: &Context<'_>, entrance: &Entrance, frame: &mut Frame) -> bool {
    let bytes = frame.bytes();
    let direct = ingress::station_of(cx, entrance.id, bytes).and_then(|station| {
        let (id, l3) = ingress::untagged(cx, station, bytes)?;
        let below = if id == station { entrance.id } else { station };
        Some((below, id, l3))
    });
    let found = direct.or_else(|| {
        let (on, l3) = ingress::untagged(cx, entrance.id, bytes)?;
        Some((on, ingress::station_of(cx, on, bytes)?, l3))
    });
    let runs = |id| { cx.interfaces.get(id) }.is_some_and(|interface| interface.running);
    // What does not run receives nothing: ingress says so of each frame.
    let Some((below, id, l3)) = found.filter(|(_, id, _)| runs(*id)) else {
        return false;
    };
    frame.rise(below, id);
    frame.l3 = l3 as u16;
    true
}

/// Copies a frame for a group to the stations of the interface that it is of.
fn copy_to_all(cx: &Context<'_>, entrance: &Entrance, frame: &Frame, outlet: &mut Outlet) {
    let bytes = frame.bytes();
    cx.interfaces.each_station(entrance.id, |station| {
        // Its tags may be of what lies on the station.
        if let Some((id, l3)) = ingress::untagged(cx, station, bytes) {
            let below = if id == station { entrance.id } else { station };
            copy_to(cx, (below, id, l3), frame, outlet);
        }
    });
    let vlan = ingress::untagged(cx, entrance.id, bytes).filter(|(id, _)| *id != entrance.id);
    if let Some((on, l3)) = vlan {
        cx.interfaces.each_station(on, |station| {
            copy_to(cx, (on, station, l3), frame, outlet);
        });
    }
}

/// Copies a frame to an interface that lies on this one, if it runs; its packet begins there.
fn copy_to(
    cx: &Context<'_>,
    (below, id, l3): (InterfaceId, InterfaceId, usize),
    frame: &Frame,
    outlet: &mut Outlet,
) {
    let line = cx.interfaces.get(id);
    if !line.is_some_and(|line| line.running) {
        return;
    }
    let Some(mut copy) = outlet.pool.copy(frame) else {
        outlet.counters.dropped(DropReason::NoBuffer);
        return;
    };
    copy.rise(below, id);
    copy.l3 = l3 as u16;
    arrive(cx, copy, outlet);
}

/// Sends a frame of the station in this slot by the link that it shares. What is for another station there that
/// sends so, too, goes to that; what is for a group goes to both.
pub(crate) fn leave(cx: &Context<'_>, mut frame: Frame, slot: u32, outlet: &mut Outlet) {
    let on = cx.interfaces.station_on(slot);
    let Some(below) = cx.interfaces.get(on) else {
        return outlet.lose(frame, DropReason::EgressDown);
    };
    let is_bridged = |id: InterfaceId| {
        let line = cx.interfaces.get(id);
        id.slot() as u32 != slot && line.is_some_and(|line| line.out == OutId::station(id))
    };
    let tags = cx.interfaces.details(on, |details| details.tags.len());
    let l3 = ETHERNET + 4 * tags.unwrap_or(0);
    if frame.bytes().first().is_some_and(|first| first & 1 != 0) {
        cx.interfaces.each_station(on, |id| {
            if is_bridged(id) {
                copy_to(cx, (on, id, l3), &frame, outlet);
            }
        });
    } else if let Some(id) = ingress::station_of(cx, on, frame.bytes()).filter(|id| is_bridged(*id))
    {
        frame.rise(on, id);
        frame.l3 = l3 as u16;
        return arrive(cx, frame, outlet);
    }
    outlet.dispatch(cx, frame, below.out);
}

/// Leaves a frame to be walked as its station's.
fn arrive(cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
    let at = (frame.ingress, Direction::Received);
    if cx.interfaces.is_tapped(frame.ingress) {
        let l3 = usize::from(frame.l3);
        tap::show(cx, at, (&frame, l3), outlet);
    }
    let counters = outlet.counters.interface(frame.ingress);
    counters.rx.add(1, frame.len() as u64);
    demux::untag(&mut frame);
    frame.l3 = ETHERNET as u16;
    let item = Item::Arrived(frame.ingress);
    if let Err(frame) = outlet.agenda.put(item, frame) {
        outlet.discard(frame, DropReason::AgendaFull);
    }
}
