//! Frames of a bridge's port: bridged, or handed up to the router as those of the bridge's interface.

use frame::{Frame, Vector};

use super::decide::Source;
use super::passes;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::punt::Why;
use crate::walk::{self, Context, Entrance, Exit};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Bridges the frames of a port. Those that go up stay in the vector: the entrance by which they do, if there is one.
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

/// A frame to an address that bridges keep for their own protocols: a service of the port may hear it, whether the
/// port forwards or not.
#[cold]
pub(super) fn reserved(cx: &Context<'_>, source: &Source<'_>, frame: Frame, outlet: &mut Outlet) {
    let bytes = frame.bytes();
    let kind = bytes
        .get(ETHERNET - 2..)
        .and_then(|rest| rest.first_chunk());
    let kind = u16::from_be_bytes(*kind.unwrap_or(&[0; 2]));
    let asked = cx.interfaces.services(source.interface);
    let services = &cx.snapshot.services;
    let exit = match services.frame(bytes, (ETHERNET, kind), asked) {
        Some(id) => Exit::Punt(Why::Service {
            id,
            meets_rules: false,
        }),
        None => Exit::Drop(DropReason::BridgeReserved),
    };
    walk::settle(cx, frame, exit, outlet);
}
