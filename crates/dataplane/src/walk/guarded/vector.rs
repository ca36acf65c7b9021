//! The passes over a vector of packets that the firewall looks at. Pass 1 is that of all walks; then
//! each packet is decided about by itself, in order, because what one begins the next belongs to.

use frame::{Frame, InterfaceId, VECTOR_FRAMES};

use super::plain::{Looked, Outcome, Plain};
use super::{Guard, Met, Onward, Passage, View, commit, fasttrack};
use crate::connection::{Hash, Tracker};
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::punt::Why;
use crate::rule;
use crate::table::{Adjacency, NextHopId};
use crate::walk::depart::{self, Departed, Speed, Tally, packet};
use crate::walk::passes::{Lane, NO_PORT, Scratch};
use crate::walk::{Context, Exit, Fit, egress, options, source_mac};

/// What the passes tell each other about the frames of a vector, by their place in it.
pub(in crate::walk) struct Ahead {
    fields: [Fields; VECTOR_FRAMES],
    hashes: [Hash; VECTOR_FRAMES],
    hops: [NextHopId; VECTOR_FRAMES],
    interfaces: [(InterfaceId, InterfaceId); VECTOR_FRAMES],
    /// The first rules of `filter`'s forward chain that may match.
    places: [u32; VECTOR_FRAMES],
}

impl Ahead {
    pub(in crate::walk) fn new() -> Self {
        Self {
            fields: [Fields::default(); VECTOR_FRAMES],
            hashes: [Hash::default(); VECTOR_FRAMES],
            hops: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            interfaces: [(InterfaceId::NONE, InterfaceId::NONE); VECTOR_FRAMES],
            places: [rule::NONE; VECTOR_FRAMES],
        }
    }
}

/// Passes 2 and 3 for the frames that pass 1 let in, and for those that it found to be for this
/// router. Fills in `scratch.ports` and `scratch.exits`. Beside the vector's interface come the
/// numbers of destinations that pass 1 collected, of IPv4 and of IPv6.
pub(in crate::walk) fn vector(
    cx: &Context<'_>,
    (ingress, count4, count6): (InterfaceId, usize, usize),
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let mut tally = Tally::new(cx, ingress);
    scratch.near.forget();
    look_ahead(cx, frames, scratch, &outlet.memory.tracker);
    let plain = [Plain::of(cx, false), Plain::of(cx, true)];
    // Both families in one vector are rare: then packets are looked up one by one.
    let alone = match (count4, count6) {
        (_, 0) => Some(false),
        (0, _) => Some(true),
        _ => None,
    };
    let untracked = alone.filter(|ipv6| !cx.snapshot.firewall.tracks(*ipv6));
    if let Some(ipv6) = untracked
        && let Some(plain) = plain[usize::from(ipv6)]
    {
        look_up(cx, &plain, ipv6, frames, scratch);
    }
    for (at, frame) in frames.iter_mut().enumerate().take(VECTOR_FRAMES) {
        scratch.ports[at] = NO_PORT;
        let local = match (scratch.lanes[at], scratch.exits[at]) {
            (Lane::V4 | Lane::V6, _) => None,
            (Lane::Exit, exit @ (Exit::Deliver(_) | Exit::Punt(Why::Local))) => Some(exit),
            (Lane::Exit, _) => continue,
        };
        let ipv6 = scratch.ahead.fields[at].tuple.ipv6;
        let received = frame.len() as u64;
        let met = match (local, plain[usize::from(ipv6)]) {
            _ if cx.snapshot.firewall.tracks(ipv6) => {
                known(cx, at, frame, (local, plain), scratch, &mut tally, outlet)
            }
            (None, Some(plain)) if untracked.is_some() => {
                let ahead = &mut scratch.ahead;
                let looked = (ahead.hops[at], rule::Ahead::of(ahead.places[at]));
                let (fields, near) = (&mut ahead.fields[at], &mut scratch.near);
                Some(plain.untracked(cx, frame, fields, looked, near, outlet))
            }
            _ => Some(Outcome::Guard(Met::Unknown)),
        };
        let departed = match met {
            None => continue,
            Some(Outcome::Leaves(port)) => {
                tally.count_guarded(cx, frame, ipv6, received, &outlet.counters);
                Ok(Departed::Whole(port))
            }
            Some(Outcome::Ends(exit)) => Err(exit),
            Some(Outcome::Guard(met)) => {
                let fields = &scratch.ahead.fields[at];
                if met.is_nowhere()
                    && let Some(worker) = outlet.memory.tracker.home(fields, packet(frame))
                {
                    // It is counted where it is walked.
                    let own = outlet.counters.interface(frame.ingress);
                    own.rx.take_back(1, received);
                    scratch.exits[at] = Exit::HandOver(worker);
                    continue;
                }
                one(cx, frame, fields, (local, met), &mut tally, outlet)
            }
        };
        match departed {
            Ok(Departed::Whole(port)) => scratch.ports[at] = port,
            Ok(Departed::Unfinished { port, mtu }) => {
                scratch.exits[at] = Exit::Finish { port, mtu };
            }
            Err(exit) => scratch.exits[at] = exit,
        }
    }
    tally.flush(cx, &outlet.counters);
}

/// A packet of a family that is tracked: the ways of those whose connection is there. None where it
/// has left by FastTrack.
#[inline(always)]
fn known(
    cx: &Context<'_>,
    at: usize,
    frame: &mut Frame,
    (local, plain): (Option<Exit>, [Option<Plain<'_>>; 2]),
    scratch: &mut Scratch,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Option<Outcome> {
    let fields = &mut scratch.ahead.fields[at];
    let ipv6 = fields.tuple.ipv6;
    let tracker = &mut outlet.memory.tracker;
    let found = tracker.find(scratch.ahead.hashes[at], &fields.tuple);
    let (Some(way), None) = (found, local) else {
        return Some(Outcome::Guard(Met::Found(found)));
    };
    let received = frame.len() as u64;
    if fasttrack::is_eligible(cx, fields, frame)
        && let Some(port) = fasttrack::forward(cx, frame, fields, way, tracker, &mut scratch.near)
    {
        tally.count(cx, frame, ipv6, Speed::FastTrack, &outlet.counters);
        let own = outlet.counters.interface(frame.ingress);
        own.fp_rx.add(1, received);
        scratch.ports[at] = port;
        return None;
    }
    Some(match plain[usize::from(ipv6)] {
        Some(plain) => plain.tracked(cx, frame, fields, way, &mut scratch.near, outlet),
        None => Outcome::Guard(Met::Found(found)),
    })
}

/// Passes 2 and 3 ahead, for a vector of a family that is not tracked: where packets are routed, and
/// which rules may match.
#[inline(never)]
fn look_up(
    cx: &Context<'_>,
    plain: &Plain<'_>,
    ipv6: bool,
    frames: &[Frame],
    scratch: &mut Scratch,
) {
    let main = cx.fib.main();
    let count = frames.len().min(VECTOR_FRAMES);
    let routed = scratch.lanes[..count]
        .iter()
        .filter(|lane| **lane != Lane::Exit)
        .count();
    let hops = match ipv6 {
        true => {
            let hops = &mut scratch.hops6[..routed];
            main.ipv6.lookup_vector(&scratch.keys6[..routed], hops);
            hops
        }
        false => {
            let hops = &mut scratch.hops4[..routed];
            main.ipv4.lookup_vector(&scratch.keys4[..routed], hops);
            hops
        }
    };
    let mut hops = hops.iter();
    for (at, frame) in frames.iter().enumerate().take(count) {
        let hop = match scratch.lanes[at] {
            Lane::Exit => NextHopId::NO_ROUTE,
            _ => hops.next().copied().unwrap_or(NextHopId::NO_ROUTE),
        };
        let next = scratch.near.get(cx, hop, frame.ingress);
        scratch.ahead.hops[at] = hop;
        scratch.ahead.interfaces[at] = (frame.ingress, next.adjacency.egress);
    }
    let ahead = &mut scratch.ahead;
    let looked = Looked {
        fields: &ahead.fields[..count],
        interfaces: &ahead.interfaces[..count],
    };
    plain.look_up(&looked, &mut ahead.places);
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
    (local, met): (Option<Exit>, Met),
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
        met,
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
        met: Met::Unknown,
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
                commit(frame, passage).map_err(Exit::Drop)?;
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
    let received = frame.len() as u64;
    commit(frame, passage).map_err(Exit::Drop)?;
    if !ipv6 && frame.ingress != InterfaceId::NONE {
        options::commit(cx, frame, adjacency.egress);
    }
    if !egress::rewrite(frame, adjacency) {
        return Err(Exit::Drop(Drop::NoBuffer));
    }
    tally.count_guarded(cx, frame, ipv6, received, &outlet.counters);
    Ok(depart::departed(frame, adjacency, onward.fit == Fit::Whole))
}
