//! Stations: interfaces that share the link of another interface and are distinguished by
//! destination MAC address (MACVLAN).
//!
//! Frames for a station leave the vector of the interface below, and walk from ingress on as
//! vectors of the station ([`super::Entry::Arrived`]), as fast as frames for the interface itself.
//! Multicast frames stay with the interface, and each running station gets a copy. An interface
//! without stations costs one check per vector.

use frame::{Frame, InterfaceId, Vector};

use super::ingress::{self, ETHERNET, Entrance};
use super::{Context, demux};
use crate::agenda::Item;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::tap::{self, Direction};

/// Moves the frames of stations out of a vector, copies multicast frames for all stations, and
/// queues both as frames of the stations.
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
        // All interfaces below have received the frame.
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

/// Returns the station that receives a frame, and removes the frame's tags; `None` for frames of
/// other interfaces. A multicast frame stays with the interface below.
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

/// Returns true if a frame is for a running station, or for a VLAN above it, and sets the frame's
/// interface.
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
    // An interface that is down receives nothing; ingress names the drop reason.
    let Some((below, id, l3)) = found.filter(|(_, id, _)| runs(*id)) else {
        return false;
    };
    frame.rise(below, id);
    frame.l3 = l3 as u16;
    true
}

/// Copies a multicast frame to all stations of its interface.
fn copy_to_all(cx: &Context<'_>, entrance: &Entrance, frame: &Frame, outlet: &mut Outlet) {
    let bytes = frame.bytes();
    cx.interfaces.each_station(entrance.id, |station| {
        // The tags may name a VLAN on the station.
        if let Some((id, l3)) = ingress::untagged(cx, station, bytes) {
            let below = if id == station { entrance.id } else { station };
            copy_to(cx, below, id, l3, frame, outlet);
        }
    });
    let vlan = ingress::untagged(cx, entrance.id, bytes).filter(|(id, _)| *id != entrance.id);
    if let Some((on, l3)) = vlan {
        cx.interfaces.each_station(on, |station| {
            copy_to(cx, on, station, l3, frame, outlet);
        });
    }
}

/// Copies a frame to the interface `id` on `below`, if that is running. The packet begins at `l3`.
fn copy_to(
    cx: &Context<'_>,
    below: InterfaceId,
    id: InterfaceId,
    l3: usize,
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

/// Sends a frame of the station in this slot by the shared link. A frame for another bridged
/// station on that link goes to it directly; a multicast frame goes to both.
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
                copy_to(cx, on, id, l3, &frame, outlet);
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

/// Queues a frame as one that its station received.
fn arrive(cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
    if cx.interfaces.is_tapped(frame.ingress) {
        let l3 = usize::from(frame.l3);
        tap::show(cx, frame.ingress, Direction::Received, &frame, l3, outlet);
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
