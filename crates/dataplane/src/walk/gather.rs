//! Fragments, where connections are tracked: connections and rules behind raw see whole datagrams (RouterOS:
//! connection tracking reassembles fragments first, and raw comes before it).
//!
//! A fragment that raw lets pass is held ([`Exit::Collect`]) on the worker that all fragments of its datagram come
//! to. With the last one, the whole datagram walks on behind raw, on the worker of its connection; where no index
//! says which worker that is, each is asked in turn. The packet carries the sizes of its fragments
//! (`Segmentation::Fragments`), by which egress makes fragments again. A datagram that stays incomplete is dropped
//! without a message: reporting that is up to its receiver.
//!
//! [`Exit::Collect`]: super::Exit::Collect

use frame::{Frame, Offload, Segmentation};
use machine::Instant;

use super::Context;
use super::packet::packet;
use crate::handover;
use crate::outlet::Outlet;
use crate::packet::{Fields, Fragment};

/// Whether a packet was put together here, or on another worker of this router.
#[inline(always)]
pub(super) fn is_gathered(offload: &Offload) -> bool {
    offload.segmentation == Segmentation::Fragments
}

/// The other worker that the fragments of this packet's datagram come to, where it is one of some
/// and connections are tracked.
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

/// The other worker that packets like this one are steered to.
#[cold]
fn by_hash(frame: &Frame, outlet: &Outlet) -> Option<u16> {
    let (index, workers) = outlet.place_among();
    let home = handover::home(packet(frame), false, workers);
    home.filter(|home| *home != index)
}

/// The other worker to ask for the connection of a packet that was put together, which this one does
/// not have: the next one, until it is back where its fragments met. Those of a port that is steered
/// live where that sends them.
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

/// Whether frames of the port that it came by are spread over workers by their flows' hash.
fn is_steered(cx: &Context<'_>, frame: &Frame) -> bool {
    let interface = cx.interfaces.get(frame.ingress);
    let port = interface.and_then(|interface| cx.snapshot.port(interface.out.as_port()?));
    port.is_some_and(|port| port.steer)
}

/// A packet ends in this router: nobody needs to know what it was made of.
pub(super) fn stays(frame: &mut Frame) {
    if is_gathered(&frame.offload) {
        frame.offload = Offload::FINISHED;
    }
}

/// Holds a fragment. Returns the datagram if it is whole now.
#[cold]
pub(super) fn collect(cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) -> Option<Frame> {
    let ipv6 = packet(&frame).first().is_some_and(|first| first >> 4 == 6);
    let held = &mut outlet.fragments[usize::from(ipv6)];
    let whole = held.collect(&mut outlet.pool, frame, (), cx.now);
    outlet.discard_lost_fragments();
    whole.map(|(frame, ())| frame)
}

/// Gives up datagrams whose time is over.
pub(crate) fn expire(now: Instant, outlet: &mut Outlet) {
    let mut deadlines = outlet.fragments.iter().filter_map(|held| held.deadline());
    if deadlines.any(|at| at <= now) {
        for held in &mut outlet.fragments {
            held.expire(now);
        }
        outlet.discard_lost_fragments();
    }
}

/// The other worker that has the connection of a packet that was put together here, or that is asked
/// for it first.
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
