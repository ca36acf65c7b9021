//! The passes over a vector of packets that the firewall looks at. Pass 1 is that of all walks; then
//! each packet is decided about by itself, in order, because what one begins the next belongs to.

use frame::{Frame, InterfaceId, VECTOR_FRAMES};

use super::{Guard, Onward, Passage, View, commit, fasttrack};
use crate::connection::{Hash, Tracker};
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::punt::Why;
use crate::table::{Adjacency, NextHopId};
use crate::walk::depart::{self, Departed, Speed, Tally, packet};
use crate::walk::passes::{Lane, NO_PORT, Scratch};
use crate::walk::{Context, Exit, Fit, egress, options, source_mac};

/// What the passes tell each other about the frames of a vector, by their place in it.
pub(in crate::walk) struct Ahead {
    fields: [Fields; VECTOR_FRAMES],
    hashes: [Hash; VECTOR_FRAMES],
}

impl Ahead {
    pub(in crate::walk) fn new() -> Self {
        Self {
            fields: [Fields::default(); VECTOR_FRAMES],
            hashes: [Hash::default(); VECTOR_FRAMES],
        }
    }
}

/// Passes 2 and 3 for the frames that pass 1 let in, and for those that it found to be for this
/// router. Fills in `scratch.ports` and `scratch.exits`.
pub(in crate::walk) fn vector(
    cx: &Context<'_>,
    ingress: InterfaceId,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let mut tally = Tally::new(cx, ingress);
    scratch.near.forget();
    look_ahead(cx, frames, scratch, &outlet.memory.tracker);
    for (at, frame) in frames.iter_mut().enumerate().take(VECTOR_FRAMES) {
        scratch.ports[at] = NO_PORT;
        let local = match (scratch.lanes[at], scratch.exits[at]) {
            (Lane::V4 | Lane::V6, _) => None,
            (Lane::Exit, exit @ (Exit::Deliver(_) | Exit::Punt(Why::Local))) => Some(exit),
            (Lane::Exit, _) => continue,
        };
        let fields = &scratch.ahead.fields[at];
        let tracks = cx.snapshot.firewall.tracks(fields.tuple.ipv6);
        let tracker = &mut outlet.memory.tracker;
        let way = match tracks {
            true => tracker.find(scratch.ahead.hashes[at], &fields.tuple),
            false => None,
        };
        let received = frame.len() as u64;
        if let (Some(way), None) = (way, local)
            && fasttrack::is_eligible(cx, fields, frame)
            && let Some(port) =
                fasttrack::forward(cx, frame, fields, way, tracker, &mut scratch.near)
        {
            let ipv6 = fields.tuple.ipv6;
            tally.count(cx, frame, ipv6, Speed::FastTrack, &outlet.counters);
            let own = outlet.counters.interface(frame.ingress);
            own.fp_rx.add(1, received);
            scratch.ports[at] = port;
            continue;
        }
        if way.is_none()
            && tracks
            && let Some(worker) = outlet.memory.tracker.home(fields, packet(frame))
        {
            // It is counted where it is walked.
            let own = outlet.counters.interface(frame.ingress);
            own.rx.take_back(1, received);
            scratch.exits[at] = Exit::HandOver(worker);
            continue;
        }
        match one(cx, frame, fields, local, &mut tally, outlet) {
            Ok(Departed::Whole(port)) => scratch.ports[at] = port,
            Ok(Departed::Unfinished { port, mtu }) => {
                scratch.exits[at] = Exit::Finish { port, mtu };
            }
            Err(exit) => scratch.exits[at] = exit,
        }
    }
    tally.flush(cx, &outlet.counters);
}

/// Reads all packets and asks for what their connections lie in: the index for the whole vector,
/// then the entries.
#[inline(never)]
fn look_ahead(cx: &Context<'_>, frames: &[Frame], scratch: &mut Scratch, tracker: &Tracker) {
    let firewall = &cx.snapshot.firewall;
    let tracks = firewall.tracks4 || firewall.tracks6;
    let count = frames.len().min(VECTOR_FRAMES);
    for (at, frame) in frames.iter().enumerate().take(count) {
        let fields = Fields::of(packet(frame));
        if tracks {
            let hash = tracker.hash(&fields.tuple);
            tracker.prefetch(hash, fields.tuple.ipv6);
            scratch.ahead.hashes[at] = hash;
        }
        scratch.ahead.fields[at] = fields;
    }
    if tracks {
        for at in 0..count {
            let ipv6 = scratch.ahead.fields[at].tuple.ipv6;
            if let Some(way) = tracker.candidate(scratch.ahead.hashes[at], ipv6) {
                tracker.prefetch_entry(way);
            }
        }
    }
}

/// Decides about a packet that came in, and writes into it what was decided.
#[inline(never)]
pub(in crate::walk) fn one(
    cx: &Context<'_>,
    frame: &mut Frame,
    fields: &Fields,
    local: Option<Exit>,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let mut passage = Passage::new(*fields);
    let view = View {
        packet: packet(frame),
        offload: &frame.offload,
        ingress: frame.ingress,
        source_mac: source_mac(frame.bytes(), frame.l3),
    };
    let mut guard = Guard {
        cx,
        tables: cx.snapshot.firewall.tables(passage.fields.tuple.ipv6),
        memory: &mut outlet.memory,
        view,
        passage: &mut passage,
        watch: &mut outlet.told,
    };
    let decided = guard.forwarded(local);
    outlet.tell(frame);
    settle(cx, frame, &passage, decided, tally, outlet)
}

/// The same for a packet of this router's own, which routing sends this way.
pub(in crate::walk) fn own(
    cx: &Context<'_>,
    frame: &mut Frame,
    routed: Result<(NextHopId, Adjacency), Exit>,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let mut passage = Passage::new(Fields::of(packet(frame)));
    let view = View {
        packet: packet(frame),
        offload: &frame.offload,
        ingress: InterfaceId::NONE,
        source_mac: None,
    };
    let mut guard = Guard {
        cx,
        tables: cx.snapshot.firewall.tables(passage.fields.tuple.ipv6),
        memory: &mut outlet.memory,
        view,
        passage: &mut passage,
        watch: &mut outlet.told,
    };
    let decided = guard.sent(routed);
    outlet.tell(frame);
    settle(cx, frame, &passage, decided, tally, outlet)
}

/// Writes what was decided.
fn settle(
    cx: &Context<'_>,
    frame: &mut Frame,
    passage: &Passage,
    decided: Result<Onward, Exit>,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let ipv6 = passage.fields.tuple.ipv6;
    let onward = match decided {
        Ok(onward) => onward,
        Err(exit) => {
            if passage.changes.counted && passage.draft.is_some() && !passage.accepted {
                cx.snapshot.firewall.tables(ipv6).leave(&passage.received);
            }
            if passage.accepted {
                commit(frame, passage, u32::MAX).map_err(Exit::Drop)?;
                frame.walked = true;
            }
            return Err(exit);
        }
    };
    let adjacency = &onward.adjacency;
    // Back where it came from: control may owe its sender a redirect. One per vector says it.
    if tally.owes_redirect(adjacency.egress, frame.ingress) {
        outlet.redirect(frame, onward.hop);
    }
    let came = cx.snapshot.interface(frame.ingress);
    let mtu = came
        .map_or(u32::MAX, |interface| interface.mtu)
        .min(adjacency.mtu);
    commit(frame, passage, mtu).map_err(Exit::Drop)?;
    if !ipv6 && frame.ingress != InterfaceId::NONE {
        options::commit(cx, frame, adjacency.egress);
    }
    if !egress::rewrite(frame, adjacency) {
        return Err(Exit::Drop(Drop::NoBuffer));
    }
    tally.count(cx, frame, ipv6, Speed::Slow, &outlet.counters);
    Ok(depart::departed(frame, adjacency, onward.fit == Fit::Whole))
}
