//! Frames that the router sends by a bridge.

use frame::{Frame, Vector};

use super::decide::Source;
use super::passes;
use super::scratch::{Bridging, Passes};
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::tap::{self, Direction};
use crate::walk::Context;

/// Maximum number of nested bridges that a frame passes.
const DEPTH: u8 = 8;

/// Sends all frames of a vector by the bridge in this slot.
pub(crate) fn all(cx: &Context<'_>, slot: u32, vector: &mut Vector, outlet: &mut Outlet) {
    match outlet.bridging.take() {
        Some(mut scratch) => {
            send(cx, slot, vector, &mut scratch.passes, outlet);
            outlet.bridging = Some(scratch);
        }
        // Called from within a bridge: one of its ports leads into this bridge.
        None => vector.drain().for_each(|frame| later(frame, slot, outlet)),
    }
}

/// Sends the next `count` frames by the bridge in this slot.
pub(crate) fn some(
    cx: &Context<'_>,
    slot: u32,
    frames: &mut dyn Iterator<Item = Frame>,
    count: usize,
    outlet: &mut Outlet,
) {
    let Some(mut scratch) = outlet.bridging.take() else {
        return frames
            .take(count)
            .for_each(|frame| later(frame, slot, outlet));
    };
    let Bridging { some, passes } = &mut *scratch;
    for frame in frames.take(count) {
        if let Err(frame) = some.push(frame) {
            send(cx, slot, some, passes, outlet);
            if let Err(frame) = some.push(frame) {
                outlet.lose(frame, DropReason::EgressDown);
            }
        }
    }
    send(cx, slot, some, passes, outlet);
    outlet.bridging = Some(scratch);
}

/// Queues a frame until the current vector is done: a walk never begins within a walk.
fn later(mut frame: Frame, slot: u32, outlet: &mut Outlet) {
    if frame.depth >= DEPTH {
        return outlet.lose(frame, DropReason::BridgeDepth);
    }
    frame.depth += 1;
    if let Err(frame) = outlet
        .agenda
        .put(crate::agenda::Item::Bridging(slot), frame)
    {
        outlet.lose(frame, DropReason::AgendaFull);
    }
}

fn send(
    cx: &Context<'_>,
    slot: u32,
    vector: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) {
    let bridge = cx.interfaces.bridges().get(slot as usize);
    let bridge = bridge.as_ref().and_then(|bridge| bridge.as_ref());
    let Some(bridge) = bridge.filter(|bridge| cx.interfaces.get(bridge.id).is_some()) else {
        for frame in vector.drain() {
            outlet.lose(frame, DropReason::EgressDown);
        }
        return;
    };
    if cx.interfaces.taps().any() {
        for frame in vector.frames() {
            show(cx, bridge.id, frame, outlet);
        }
    }
    passes::run(cx, &Source::router(bridge), vector, passes, outlet);
    for frame in vector.drain() {
        outlet.lose(frame, DropReason::BridgeNowhere);
    }
}

/// Shows a frame to taps of its egress interface, and of the bridge below.
fn show(cx: &Context<'_>, bridge: frame::InterfaceId, frame: &Frame, outlet: &mut Outlet) {
    if frame.egress != bridge {
        let l3 = usize::from(frame.l3);
        tap::show(cx, frame.egress, Direction::Transmitted, frame, l3, outlet);
    }
    tap::show(cx, bridge, Direction::Transmitted, frame, 0, outlet);
}
