//! Stations: interfaces that share the link of another one, and are told by the link address that a frame is sent to.
//!
//! Frames for a station leave the vector of the interface that it lies on, and walk behind ingress as vectors of
//! their own ([`super::Entry::Arrived`]): so they are looked at as fast as those for the interface itself. Frames
//! for a group are for the interface, and a copy of each is for every station that runs. An interface without
//! stations is asked once for each vector.

use frame::{Frame, InterfaceId, Vector};
use wire::Mac;

use super::ingress::{self, ETHERNET, Entrance};
use super::{Context, demux};
use crate::agenda::Item;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::tap::{self, Direction};

/// The station on an interface that a frame is sent to.
#[inline]
pub(super) fn of(cx: &Context<'_>, on: InterfaceId, bytes: &[u8]) -> Option<InterfaceId> {
    let to = Mac(*bytes.first_chunk()?);
    cx.interfaces.station(on, to)
}

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

/// Whether a frame is for a station; it is the station's then.
fn claim(cx: &Context<'_>, entrance: &Entrance, frame: &mut Frame) -> bool {
    let found = ingress::untagged(cx, entrance.id, frame.bytes());
    let Some((on, l3)) = found else { return false };
    let Some(station) = of(cx, on, frame.bytes()) else {
        return false;
    };
    frame.rise(on, station);
    frame.l3 = l3 as u16;
    true
}

/// Copies a frame for a group to the stations of the interface that it is of.
fn copy_to_all(cx: &Context<'_>, entrance: &Entrance, frame: &Frame, outlet: &mut Outlet) {
    let Some((on, l3)) = ingress::untagged(cx, entrance.id, frame.bytes()) else {
        return;
    };
    cx.interfaces.each_station(on, |station| {
        let line = cx.interfaces.get(station);
        if !line.is_some_and(|line| line.running) {
            return;
        }
        let Some(mut copy) = outlet.pool.copy(frame) else {
            outlet.counters.dropped(DropReason::NoBuffer);
            return;
        };
        copy.rise(on, station);
        copy.l3 = l3 as u16;
        arrive(cx, copy, outlet);
    });
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
