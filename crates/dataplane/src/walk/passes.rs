//! The passes over a vector: entry, choice of the way (fast path, routed, firewall), and pass 4,
//! which dispatches frames to their outs and settles exits.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::demux::{Counting, demultiplex};
use super::fast::depart;
use super::fast::enter::{IgnoreHeaders, pass1};
use super::ingress::Entrance;
use super::scratch::{Decapsulating, Scratch};
use super::settle::settle;
use super::tally::received;
use super::{Context, Exit, fast, slaves, stations};
use crate::bond;
use crate::bridge;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::encap;
use crate::interface::Above;
use crate::ipsec;
use crate::meter::Facility;
use crate::out::{Out, OutId};
use crate::outlet::{Dispatch, Outlet};
use crate::profile::Subject;
use crate::queueing;
use crate::tap;

/// Entry point of a vector's frames into the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// At the port with this number.
    Wire(u16),
    /// As frames received by this interface: its tunnel decapsulated them.
    Framed(InterfaceId),
    /// At this bridge, whose ports passed them up to the router.
    Risen(InterfaceId),
    /// After ingress: the frames are untagged, belong to this interface, and have been counted.
    Arrived(InterfaceId),
    /// As `Arrived`, each frame on its own point-to-point interface; these interfaces are alike.
    Sessions,
}

/// Walks a vector of frames from this entry on. The vector is empty afterwards.
pub(crate) fn vector(
    cx: &Context<'_>,
    entry: Entry,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let id = match entry {
        Entry::Wire(port) => {
            let binding = cx.snapshot.port(port);
            binding.map_or(InterfaceId::NONE, |binding| binding.interface)
        }
        Entry::Framed(id) | Entry::Risen(id) | Entry::Arrived(id) => id,
        Entry::Sessions => (vector.frames().first()).map_or(InterfaceId::NONE, |one| one.ingress),
    };
    if outlet.meter.samples(Subject::Interface) {
        hit_ingress(entry, id, vector, outlet);
    }
    let Some(mut entrance) = Entrance::new(cx.interfaces, id) else {
        for frame in vector.drain() {
            outlet.discard(frame, DropReason::InterfaceDown);
        }
        return;
    };
    if entry == Entry::Sessions {
        entrance.serves_sessions();
        return packets(cx, &entrance, vector, scratch, outlet);
    }
    if cx.interfaces.taps().any() && !matches!(entry, Entry::Arrived(_)) {
        tap::received(cx, id, vector.frames(), outlet);
    }
    if matches!(entry, Entry::Arrived(_)) {
        entrance.is_behind();
    }
    if entrance.interface.above == Above::Bond && !matches!(entry, Entry::Arrived(_)) {
        match bond::rise(cx, &entrance, vector, outlet) {
            Some(of_bond) => entrance = of_bond,
            None => return,
        }
    }
    if entrance.interface.above == Above::Bridge {
        let before = outlet.meter.turn(Facility::Bridging);
        let up = bridge::receive(cx, &entrance, vector, outlet);
        if let Entry::Wire(port) = entry {
            bridge::spread(cx, port, vector, outlet);
        }
        outlet.meter.turn(before);
        let Some(up) = up else { return };
        entrance = up;
        if cx.interfaces.taps().any() {
            tap::received(cx, entrance.id, vector.frames(), outlet);
        }
    }
    if entrance.interface.slaves {
        slaves::rise(cx, &entrance, vector, outlet);
    }
    if entrance.interface.stations {
        stations::rise(cx, &entrance, vector, outlet);
    }
    if entrance.demuxes() {
        let frames = vector.frames_mut();
        let counting = Counting {
            counters: &outlet.counters,
            later: cx.snapshot.is_fast_path(),
        };
        demultiplex(cx, &entrance, frames, &mut scratch.tags, counting);
    }
    packets(cx, &entrance, vector, scratch, outlet);
}

/// Adds the frames of a vector to the current span of a profile, under their ingress interface `id`.
#[cold]
fn hit_ingress(entry: Entry, id: InterfaceId, vector: &Vector, outlet: &mut Outlet) {
    match entry {
        Entry::Sessions => outlet.hit_each(vector, |frame| frame.ingress.slot() as u32),
        _ => outlet.meter.hit(id.slot() as u64, vector.len() as u32),
    }
}

/// Walks the frames of an IP interface after demux.
fn packets(
    cx: &Context<'_>,
    entrance: &Entrance,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    if outlet.queueing.looks_at_packets() {
        scratch.note_sources(vector);
    }
    if cx.snapshot.is_short() {
        let before = outlet.meter.turn(Facility::Networking);
        fast_path(cx, entrance, vector, scratch, outlet);
        outlet.meter.turn(before);
        return;
    }
    let before = outlet.meter.turn(match cx.snapshot.has_firewall() {
        true => Facility::Firewall,
        false => Facility::Networking,
    });
    let frames = vector.len() as u32;
    let is_sampled = outlet.meter.begin_span(Subject::Rule);
    if is_sampled {
        outlet.memory.rules.begin_sample();
    }
    fast::vector(cx, entrance, vector.frames_mut(), scratch, outlet);
    if is_sampled {
        outlet.end_rule_span(frames);
    }
    pass4(cx, vector, scratch, outlet);
    outlet.meter.turn(before);
}

/// Walks a vector on the fast path: passes 1 to 4 in sequence.
fn fast_path(
    cx: &Context<'_>,
    entrance: &Entrance,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let frames = vector.frames_mut();
    let Scratch {
        entered,
        hops4,
        hops6,
        next_hops,
        ..
    } = scratch;
    entered.begin();
    let all = 0..frames.len();
    let counters = &outlet.counters;
    pass1::<true, _>(
        cx,
        entrance,
        frames,
        all,
        entered,
        &mut IgnoreHeaders,
        counters,
    );
    let came = entered.count(entrance, &outlet.counters);
    let main = cx.fib.main();
    main.ipv4.lookup_vector(entered.destinations4(), hops4);
    main.ipv6.lookup_vector(entered.destinations6(), hops6);
    if next_hops.was_crowded() {
        let counts = [entered.destinations4().len(), entered.destinations6().len()];
        for (hops, count) in [&hops4[..], &hops6[..]].into_iter().zip(counts) {
            let hops = hops.get(..count).unwrap_or_default();
            depart::prefetch(cx, hops, &outlet.counters);
        }
    }
    depart::pass3(cx, entrance, frames, scratch, outlet);
    let ended = pass4(cx, vector, scratch, outlet);
    if cx.snapshot.is_routing_only() && entrance.id != InterfaceId::NONE {
        let packets = came.packets.wrapping_sub(ended.packets);
        let bytes = came.bytes.wrapping_sub(ended.bytes);
        let counters = outlet.counters.interface(entrance.id);
        counters.fp_rx.add(packets, bytes);
    }
}

/// Dispatches frames to their outs and settles exits, in order. Returns the frames that ended here,
/// and their bytes.
fn pass4(
    cx: &Context<'_>,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) -> Traffic {
    if outlet.queueing.looks_at_packets() && ask_queues(cx, vector, scratch, outlet) {
        return pass4_held(cx, vector, scratch, outlet);
    }
    let mut ended = Traffic::default();
    let outs = &scratch.outs[..vector.len().min(VECTOR_FRAMES)];
    let first = outs.first().copied().unwrap_or_default();
    let others = outs
        .iter()
        .fold(0, |others, out| others | (out.bits() ^ first.bits()));
    if others == 0 && first != OutId::NONE && outlet.dispatch_vector(cx, vector, first) {
        return ended;
    }
    if first.is_protect() && outlet.protect_vector(vector, outs) {
        return ended;
    }
    if matches!(first.out(), Out::Tunnel(_)) && outlet.encapsulate_vector(vector, outs) {
        return ended;
    }
    let Scratch {
        entered,
        decapsulating,
        ..
    } = scratch;
    let mut frames = vector.drain();
    let mut at = 0;
    while at < outs.len() {
        let out = outs[at];
        if out == OutId::NONE {
            let exit = entered.exits[at];
            if exit.decapsulates() {
                let exits = outs[at..].iter().zip(&entered.exits[at..]);
                let run = exits.take_while(|alike| *alike == (&OutId::NONE, &exit));
                let run = run.count();
                match decapsulating.must_wait(exit, run) {
                    true => decapsulating.take(&mut frames, run, exit),
                    false => decapsulate(cx, &mut frames, run, exit, &mut ended, outlet),
                }
                at += run;
                continue;
            }
            if let Some(frame) = frames.next() {
                if !matches!(exit, Exit::Finish { .. }) {
                    ended.packets += 1;
                    ended.bytes += received(&frame);
                }
                settle(cx, frame, exit, outlet);
            }
            at += 1;
            continue;
        }
        let alike = outs[at..].iter();
        let run = alike.take_while(|other| **other == out).count();
        outlet.dispatch_run(cx, &mut frames, run, out);
        at += run;
    }
    drop(frames);
    if !decapsulating.is_empty() {
        decapsulate_gathered(cx, decapsulating, &mut ended, outlet);
    }
    ended
}

/// Decapsulates the gathered frames. Adds them and their bytes to `ended`.
#[inline(never)]
fn decapsulate_gathered(
    cx: &Context<'_>,
    gathered: &mut Decapsulating,
    ended: &mut Traffic,
    outlet: &mut Outlet,
) {
    let Decapsulating {
        protected,
        tunnelled,
        tunnels,
    } = gathered;
    if !tunnels.is_empty() {
        let is_sampled = outlet.meter.begin_span(Subject::Tunnel);
        if is_sampled {
            tunnels
                .iter()
                .for_each(|id| outlet.meter.hit(id.slot() as u64, 1));
        }
        let came = encap::arrive_by_many(cx, &mut tunnelled.drain(..), tunnels, outlet);
        outlet.end_span(is_sampled);
        ended.packets += came.packets;
        ended.bytes += came.bytes;
        tunnels.clear();
    }
    let (count, mut frames) = (protected.len(), protected.drain(..));
    if count > 0 {
        decapsulate(cx, &mut frames, count, Exit::Reveal, ended, outlet);
    }
}

/// Decapsulates the next `count` frames, which have this exit. Adds them and their bytes to `ended`.
#[inline(always)]
fn decapsulate(
    cx: &Context<'_>,
    frames: &mut impl Iterator<Item = Frame>,
    count: usize,
    exit: Exit,
    ended: &mut Traffic,
    outlet: &mut Outlet,
) {
    let came = if let Exit::Decapsulate(id) = exit {
        let is_sampled = outlet.meter.begin_span(Subject::Tunnel);
        if is_sampled {
            outlet.meter.hit(id.slot() as u64, count as u32);
        }
        let came = encap::arrive(cx, frames, count, id, outlet);
        outlet.end_span(is_sampled);
        came
    } else {
        let before = outlet.meter.turn(Facility::Encrypting);
        let came = ipsec::decapsulate(cx, frames, count, outlet);
        outlet.meter.turn(before);
        came
    };
    ended.packets += came.packets;
    ended.bytes += came.bytes;
}

/// Passes packets to the queues behind postrouting and input. Returns true if `scratch.held` has
/// packets that must wait.
fn ask_queues(
    cx: &Context<'_>,
    vector: &Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) -> bool {
    let before = outlet.meter.turn(Facility::Queuing);
    let Scratch {
        outs,
        entered,
        sources,
        held,
        ..
    } = scratch;
    let meets = |at: usize| outs[at] != OutId::NONE || queueing::meets(entered.exits[at]);
    let is_sampled = outlet.meter.begin_span(Subject::Queue);
    outlet
        .queueing
        .ask_all(cx, vector.frames(), sources, meets, held);
    if is_sampled {
        let Outlet {
            queueing, meter, ..
        } = outlet;
        meter.stop_clock();
        let mut hit = |node| meter.hit(node, 1);
        queueing.note_all(vector.frames(), sources, meets, &mut hit);
        outlet.end_span(true);
    }
    outlet.meter.turn(before);
    !held.is_empty()
}

/// Runs pass 4 with packets that wait in queues. Such packets never count as fast path.
fn pass4_held(
    cx: &Context<'_>,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) -> Traffic {
    let mut held = scratch.held.drain(..).peekable();
    let exits = scratch.outs.iter().zip(&scratch.entered.exits);
    for ((at, frame), (out, exit)) in vector.drain().enumerate().zip(exits) {
        match held.next_if(|held| held.at == at) {
            Some(held) => {
                let source = scratch.sources[at];
                queueing::hold(cx, frame, held, source, *out, *exit, outlet);
            }
            None if *out == OutId::NONE => settle(cx, frame, *exit, outlet),
            None => outlet.dispatch(cx, frame, *out),
        }
    }
    Traffic::default()
}
