//! Acts on the exits of walks.

use frame::Frame;

use super::challenge::challenge;
use super::{Context, Exit, demux, egress, gather, single};
use crate::drop::DropReason;
use crate::encap;
use crate::gate::Admission;
use crate::ipsec;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::punt::PuntReason;
use crate::rings::Handed;
use crate::service::Received;
use crate::snapshot::Role;
use crate::zone;

/// Returns true if a port is the device that point-to-point interfaces share.
fn is_shared(cx: &Context<'_>, port: u16) -> bool {
    let binding = cx.snapshot.port(port);
    binding.is_some_and(|binding| binding.role == Role::Shared)
}

/// Writes the ingress interface into the link-local addresses of a packet. Returns false if they name one already.
fn write_zone(cx: &Context<'_>, frame: &mut Frame) -> bool {
    let ingress = frame.ingress;
    let own = cx.interfaces.details(ingress, zone::own_of).flatten();
    zone::enter(frame, ingress, own)
}

/// Acts on the exit of a frame's walk.
#[cold]
pub(crate) fn settle(cx: &Context<'_>, mut frame: Frame, exit: Exit, outlet: &mut Outlet) {
    match exit {
        Exit::Drop(reason) => outlet.discard(frame, reason),
        Exit::Punt(PuntReason::Service { id, meets_rules }) => {
            gather::stays(&mut frame);
            demux::untag(&mut frame);
            // Control needs complete packets.
            let offload = frame.offload;
            if frame::finish_checksum(frame.bytes_mut(), &offload).is_ok() {
                frame.offload.needs_checksum = false;
            }
            let received = Received {
                interface: frame.ingress,
                frame: frame.bytes(),
                l3: frame.l3.into(),
                now: cx.now,
            };
            let services = &cx.snapshot.services;
            match services.admit(&mut outlet.limits, id, &received) {
                Admission::Heard => outlet.punt(frame, PuntReason::Service { id, meets_rules }),
                Admission::Challenged(reason) => challenge(cx, frame, id, reason, outlet),
                Admission::Dropped(reason) => {
                    if reason == DropReason::ServiceLimit {
                        outlet.counters.service(id).lost.add(1);
                    }
                    outlet.discard(frame, reason);
                }
            }
        }
        Exit::Punt(why) => {
            if why == PuntReason::Local {
                gather::stays(&mut frame);
            }
            outlet.punt(frame, why);
        }
        Exit::Collect => {
            if let Some(whole) = gather::collect(cx, frame, outlet) {
                single::walk_on(cx, whole, outlet);
            }
        }
        // Both exits occur in traces only.
        Exit::Stream => outlet.pool.free(frame),
        Exit::Flood => outlet.discard(frame, DropReason::BridgeNowhere),
        Exit::HandOver(worker) => {
            if let Some((frame, reason)) = outlet.hand(worker, Handed::Arrived(frame)) {
                outlet.discard(frame, reason);
            }
        }
        Exit::Finish { out, mtu } => egress::finish(cx, outlet, frame, out, mtu),
        Exit::Decapsulate(id) | Exit::Join(id) => {
            encap::arrive(cx, core::iter::once(frame), 1, id, outlet);
        }
        Exit::Reveal => {
            ipsec::decapsulate(cx, core::iter::once(frame), 1, outlet);
        }
        Exit::Deliver(port) => {
            gather::stays(&mut frame);
            let l3 = frame.l3;
            if l3 == 0 || egress::relayer(&mut frame, l3, 0) {
                if is_shared(cx, port) && !write_zone(cx, &mut frame) {
                    return outlet.discard(frame, DropReason::Ipv6Zone);
                }
                egress::finish(cx, outlet, frame, OutId::port(port), u32::MAX);
            }
        }
    }
}
