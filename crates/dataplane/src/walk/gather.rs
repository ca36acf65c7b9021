//! Reassembly of fragments for connection tracking: connections and rules behind raw see whole
//! datagrams (RouterOS: connection tracking reassembles fragments, and raw precedes it).
//!
//! A fragment that raw accepts is held ([`Exit::Collect`]) on the worker that receives all
//! fragments of its datagram. When the datagram is complete, it continues its walk behind raw, on
//! the worker of its connection; if no index names that worker, the datagram visits all workers in
//! turn. The packet carries the sizes of its fragments (`Segmentation::Fragments`), and egress
//! fragments it again. A datagram that stays incomplete is dropped without a message: reporting it
//! is up to the receiver.
//!
//! [`Exit::Collect`]: super::Exit::Collect

use frame::{Frame, Offload, Segmentation};
use machine::Instant;

use super::Context;
use super::packet::packet;
use crate::handover;
use crate::outlet::Outlet;
use crate::packet::{Fields, Fragment};

/// Returns true if a packet was reassembled by this router, on any worker.
#[inline(always)]
pub(super) fn is_gathered(offload: &Offload) -> bool {
    offload.segmentation == Segmentation::Fragments
}

/// Returns the other worker that collects the fragments of this packet's datagram. `None` for whole
/// packets and without connection tracking.
#[inline(always)]
pub(super) fn home(
    cx: &Context<'_>,
    fields: &Fields,
    frame: &Frame,
    outlet: &Outlet,
) -> Option<u16> {
    if fields.fragment == Fragment::Whole || !cx.snapshot.firewall.tracks(fields.tuple.ipv6) {
        return None;
    }
    by_hash(frame, outlet)
}

/// Returns the other worker that receive steering assigns to packets of this flow.
#[cold]
fn by_hash(frame: &Frame, outlet: &Outlet) -> Option<u16> {
    let (index, workers) = outlet.place_among();
    let home = handover::home(packet(frame), false, workers);
    home.filter(|home| *home != index)
}

/// Returns the next worker to search for the connection of a reassembled packet that this worker
/// does not know. `None` when all workers have been visited, or if the ingress port steers flows:
/// its connections live on the worker that steering names.
#[inline(always)]
pub(super) fn next(cx: &Context<'_>, frame: &Frame, outlet: &Outlet) -> Option<u16> {
    if !is_gathered(&frame.offload) || is_steered(cx, frame) {
        return None;
    }
    let (index, workers) = outlet.place_among();
    let met = handover::home_of_fragments(packet(frame), workers);
    met.filter(|met| *met != index)
        .map(|_| following(index, workers))
}

const fn following(index: u16, workers: usize) -> u16 {
    match index as usize + 1 < workers {
        true => index + 1,
        false => 0,
    }
}

/// Returns true if the ingress port spreads frames over workers by the hash of their flows.
fn is_steered(cx: &Context<'_>, frame: &Frame) -> bool {
    let interface = cx.interfaces.get(frame.ingress);
    let port = interface.and_then(|interface| cx.snapshot.port(interface.out.as_port()?));
    port.is_some_and(|port| port.steer)
}

/// Clears the fragment sizes of a packet that ends in this router.
pub(super) fn stays(frame: &mut Frame) {
    if is_gathered(&frame.offload) {
        frame.offload = Offload::FINISHED;
    }
}

/// Holds a fragment. Returns the datagram if this fragment completes it.
#[cold]
pub(super) fn collect(cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) -> Option<Frame> {
    let ipv6 = packet(&frame).first().is_some_and(|first| first >> 4 == 6);
    let held = &mut outlet.fragments[usize::from(ipv6)];
    let whole = held.collect(&mut outlet.pool, frame, (), cx.now);
    outlet.discard_lost_fragments();
    whole.map(|(frame, ())| frame)
}

/// Drops datagrams that were not completed in time.
pub(crate) fn expire(now: Instant, outlet: &mut Outlet) {
    let mut deadlines = outlet.fragments.iter().filter_map(|held| held.deadline());
    if deadlines.any(|at| at <= now) {
        for held in &mut outlet.fragments {
            held.expire(now);
        }
        outlet.discard_lost_fragments();
    }
}

/// Returns the other worker that owns the connection of a packet reassembled here, or the first
/// worker to search for it.
pub(super) fn elsewhere(cx: &Context<'_>, frame: &Frame, outlet: &Outlet) -> Option<u16> {
    let fields = Fields::of(packet(frame));
    let tracker = &outlet.memory.tracker;
    if tracker.lookup(&fields.tuple).is_some() {
        return None;
    }
    let claimed = tracker.home(&fields, packet(frame));
    claimed.or_else(|| {
        let (index, workers) = outlet.place_among();
        match is_steered(cx, frame) {
            true => by_hash(frame, outlet),
            false => (workers > 1).then(|| following(index, workers)),
        }
    })
}
