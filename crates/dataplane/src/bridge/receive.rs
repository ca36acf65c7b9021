//! Reception by a bridge port: frames are bridged, or go up to the router as received by the bridge
//! interface.

use frame::{Frame, Vector};

use super::decide::{Source, head};
use super::{filter, passes};
use crate::drop::DropReason;
use crate::handover;
use crate::outlet::{Dispatch, Outlet};
use crate::punt::PuntReason;
use crate::rings::Handed;
use crate::walk::{Context, Entrance, Exit};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Bridges the frames of a port. Frames for the router stay in the vector. Returns the entrance of
/// the bridge interface for them; `None` if none remain.
pub(crate) fn receive(
    cx: &Context<'_>,
    port: &Entrance,
    vector: &mut Vector,
    outlet: &mut Outlet,
) -> Option<Entrance> {
    let id = cx.interfaces.above(port.id);
    let bridge = cx.interfaces.bridges().get(id.slot());
    let bridge = bridge.as_ref().and_then(|bridge| bridge.as_ref());
    let source = bridge
        .filter(|bridge| bridge.id == id && port.interface.running)
        .and_then(|bridge| Source::port(bridge, port.id, cx.interfaces));
    let ready = source.and_then(|source| Some((source, outlet.bridging.take()?)));
    let Some((source, mut scratch)) = ready else {
        for mut frame in vector.drain() {
            frame.ingress = port.id;
            outlet.discard(frame, DropReason::InterfaceDown);
        }
        return None;
    };
    let came = passes::run(cx, &source, vector, &mut scratch.passes, outlet);
    outlet.bridging = Some(scratch);
    if port.counts {
        let counters = outlet.counters.interface(port.id);
        counters.rx.add(came.packets, came.bytes);
    }
    match vector.is_empty() {
        true => None,
        false => Entrance::new(cx.interfaces, id),
    }
}

/// Hands frames for the router to the workers of their flows, if the port's frames are spread by
/// steering.
pub(crate) fn spread(cx: &Context<'_>, port: u16, vector: &mut Vector, outlet: &mut Outlet) {
    let (index, workers) = outlet.place_among();
    let steers = cx.snapshot.port(port).is_some_and(|binding| binding.steer);
    if vector.is_empty() || !steers || workers < 2 {
        return;
    }
    let elsewhere = |frame: &mut Frame| {
        let flow = handover::hash(frame.bytes(), true);
        frame.flow = flow.unwrap_or(0);
        flow.is_some_and(|flow| handover::place(flow, workers) != index)
    };
    for frame in vector.extract(elsewhere) {
        let home = handover::place(frame.flow, workers);
        if let Some((frame, reason)) = outlet.hand(home, Handed::Risen(frame)) {
            outlet.discard(frame, reason);
        }
    }
}

/// Sends copies of forwarded multicast frames to the services that receive them on this port.
#[cold]
#[inline(never)]
pub(super) fn hear(cx: &Context<'_>, source: &Source<'_>, frames: &[Frame], outlet: &mut Outlet) {
    for frame in frames {
        let head = head(frame.bytes());
        if !head.is_some_and(|head| head.is_to_group() && !source.keeps(&head)) {
            continue;
        }
        let Some(exit) = heard(cx, source, frame.bytes()) else {
            continue;
        };
        match outlet.pool.copy(frame) {
            Some(mut copy) => {
                copy.l3 = ETHERNET as u16;
                outlet.settle(cx, copy, exit);
            }
            None => outlet.counters.dropped(DropReason::NoBuffer),
        }
    }
}

/// Settles a frame to a reserved bridge address: a service of the port may receive it, whether the
/// port forwards or not.
#[cold]
pub(super) fn reserved(
    cx: &Context<'_>,
    source: &Source<'_>,
    mut frame: Frame,
    outlet: &mut Outlet,
) {
    frame.l3 = ETHERNET as u16;
    if let Err(reason) = filter::one_rises(cx, source, &mut frame, outlet) {
        return outlet.discard(frame, reason);
    }
    let exit = heard(cx, source, frame.bytes());
    let exit = exit.unwrap_or(Exit::Drop(DropReason::BridgeReserved));
    outlet.settle(cx, frame, exit);
}

/// Returns the punt of a frame to a service of its port. Services without an interface list receive
/// forwarded frames on the bridge interface instead.
pub(super) fn heard(cx: &Context<'_>, source: &Source<'_>, bytes: &[u8]) -> Option<Exit> {
    let kind = bytes
        .get(ETHERNET - 2..)
        .and_then(|rest| rest.first_chunk());
    let kind = u16::from_be_bytes(*kind.unwrap_or(&[0; 2]));
    let asked = cx.interfaces.services(source.interface);
    let services = &cx.snapshot.services;
    let found = services.frame(bytes, ETHERNET, kind, asked);
    let kept = head(bytes).is_some_and(|head| source.keeps(&head));
    let id = found.filter(|id| kept || asked.has(*id))?;
    Some(Exit::Punt(PuntReason::Service {
        id,
        meets_rules: false,
    }))
}
