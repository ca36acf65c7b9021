//! One packet through the [`Decider`](super::Decider): decision, helper, commit, exit.

use frame::{Frame, InterfaceId};

use super::{
    AcceptedRoute, Decider, EarlyLookup, LastDecision, Memory, PacketView, Passage, PriorResults,
    Watcher, commit, helper,
};
use crate::connection::FlowId;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::packet::{Fields, Fragment};
use crate::table::{Adjacency, NextHopId};
use crate::walk::forward::Fit;
use crate::walk::leave;
use crate::walk::leave::Departed;
use crate::walk::packet::{packet, sender};
use crate::walk::tally::{Tally, received};
use crate::walk::{Context, Exit, egress, gather, options};

/// Returns the other worker that must walk a packet whose connection is not here: the worker that
/// owns the connection, or the worker that collects the fragments of the datagram.
#[inline(always)]
pub(in crate::walk) fn elsewhere(
    cx: &Context<'_>,
    found: Option<FlowId>,
    fields: &Fields,
    frame: &Frame,
    outlet: &Outlet,
) -> Option<u16> {
    if fields.fragment != Fragment::Whole {
        return gather::home(cx, fields, frame, outlet);
    }
    if found.is_some() {
        return None;
    }
    let tracker = &outlet.memory.tracker;
    tracker
        .home(fields, packet(frame))
        .or_else(|| gather::next(cx, frame, outlet))
}

/// Decides about a received packet and commits the decision to its frame. Records the decision in `last`.
#[inline(never)]
pub(in crate::walk) fn one(
    cx: &Context<'_>,
    frame: &mut Frame,
    fields: &Fields,
    before: PriorResults,
    last: &mut LastDecision,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let mut passage = Passage::new(*fields);
    passage.marks.packet = frame.mark;
    let Outlet {
        memory,
        rule_events,
        ..
    } = outlet;
    let decided = forwarded(cx, frame, before, &mut passage, memory, rule_events);
    last.record(cx, frame, &passage, &decided);
    tell(frame, &passage, outlet);
    settle(cx, frame, &mut passage, decided, tally, outlet)
}

/// Decides about a received packet.
///
/// # Errors
/// The packet's exit.
#[inline(always)]
pub(in crate::walk) fn forwarded<W: Watcher>(
    cx: &Context<'_>,
    frame: &Frame,
    before: PriorResults,
    passage: &mut Passage,
    memory: &mut Memory,
    watch: &mut W,
) -> Result<AcceptedRoute, Exit> {
    let view = PacketView {
        packet: packet(frame),
        offload: &frame.offload,
        ingress: frame.ingress,
        port: frame.below,
        guarded: frame.guarded,
        sender: sender(frame),
    };
    let mut guard = Decider {
        cx,
        tables: cx.snapshot.firewall.tables(passage.fields.tuple.ipv6),
        memory,
        view,
        passage,
        lookup: before.lookup,
        early: before.early,
        watch,
    };
    guard.forwarded(before.local)
}

/// Decides about a packet that this router sends, along the route that routing has chosen.
///
/// # Errors
/// The packet's exit.
#[inline(always)]
pub(in crate::walk) fn sent<W: Watcher>(
    cx: &Context<'_>,
    frame: &Frame,
    routed: Result<(NextHopId, Adjacency), Exit>,
    passage: &mut Passage,
    memory: &mut Memory,
    watch: &mut W,
) -> Result<AcceptedRoute, Exit> {
    let view = PacketView {
        packet: packet(frame),
        offload: &frame.offload,
        ingress: InterfaceId::NONE,
        port: InterfaceId::NONE,
        guarded: frame.guarded,
        sender: None,
    };
    let mut guard = Decider {
        cx,
        tables: cx.snapshot.firewall.tables(passage.fields.tuple.ipv6),
        memory,
        view,
        passage,
        lookup: EarlyLookup::Unknown,
        early: None,
        watch,
    };
    guard.sent(routed)
}

/// Walks a packet that this router sends: decides about it and commits the decision to its frame. Records the decision
/// in `last`.
pub(in crate::walk) fn own(
    cx: &Context<'_>,
    frame: &mut Frame,
    routed: Result<(NextHopId, Adjacency), Exit>,
    last: &mut LastDecision,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let mut passage = Passage::new(Fields::of(packet(frame)));
    passage.marks.packet = frame.mark;
    let Outlet {
        memory,
        rule_events,
        ..
    } = outlet;
    let decided = sent(cx, frame, routed, &mut passage, memory, rule_events);
    last.record(cx, frame, &passage, &decided);
    tell(frame, &passage, outlet);
    settle(cx, frame, &mut passage, decided, tally, outlet)
}

/// Sends control the events that rules requested for a packet.
#[inline(always)]
fn tell(frame: &Frame, passage: &Passage, outlet: &mut Outlet) {
    if outlet.rule_events.has_events() {
        // In an ICMP error only the quoted packet is translated, not the error's own addresses.
        let translation = passage.translation.filter(|_| !passage.track.quoted);
        outlet.rule_events.explain(translation);
        outlet.send_rule_events(frame);
    }
}

/// Commits the decision to the frame and returns how the frame leaves.
fn settle(
    cx: &Context<'_>,
    frame: &mut Frame,
    passage: &mut Passage,
    decided: Result<AcceptedRoute, Exit>,
    tally: &mut Tally,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let ipv6 = passage.fields.tuple.ipv6;
    let mut accepted = match decided {
        Ok(accepted) => accepted,
        Err(exit) => {
            if passage.translation.is_none()
                && let Some(hop) = leave::waits_to_go_back(cx, frame, &exit)
                && tally.owes_redirect(frame.ingress, frame.ingress)
            {
                outlet.redirect(frame, hop);
            }
            if passage.changes.counted && passage.draft.is_some() && !passage.accepted {
                cx.snapshot.firewall.tables(ipv6).leave(&passage.received);
            }
            if passage.accepted {
                helper::treat(cx, frame, passage, None, outlet)?;
                commit(frame, passage).map_err(Exit::Drop)?;
                frame.walked = true;
            }
            return Err(exit);
        }
    };
    // The packet leaves by its ingress interface, so its sender may be owed a redirect, at most
    // once per vector. Translated packets cause none: after a redirect the sender would bypass the
    // translation.
    let as_it_came = passage.translation.is_none();
    let protected = accepted.adjacency.out.is_protect();
    if as_it_came && !protected && tally.owes_redirect(accepted.adjacency.egress, frame.ingress) {
        outlet.redirect(frame, accepted.hop);
    }
    let received = received(frame);
    helper::treat(cx, frame, passage, Some(&mut accepted), outlet)?;
    let adjacency = &accepted.adjacency;
    depart(cx, frame, passage, adjacency)?;
    if protected {
        return Ok(Departed::Whole(adjacency.out));
    }
    tally.count_decided(cx, frame, ipv6, received, &outlet.counters);
    Ok(leave::departed(
        frame,
        adjacency,
        accepted.fit == Fit::Whole,
    ))
}

/// Writes the decision about a packet that leaves into its frame, and replaces the link header.
///
/// # Errors
/// The frame must be discarded.
pub(in crate::walk) fn depart(
    cx: &Context<'_>,
    frame: &mut Frame,
    passage: &Passage,
    adjacency: &Adjacency,
) -> Result<(), Exit> {
    commit(frame, passage).map_err(Exit::Drop)?;
    if !passage.fields.tuple.ipv6 && frame.ingress != InterfaceId::NONE {
        options::commit(cx, frame, adjacency.egress);
    }
    match egress::rewrite(frame, adjacency) {
        true => Ok(()),
        false => Err(Exit::Drop(DropReason::NoBuffer)),
    }
}
