//! Connection helpers: assigns the helper of its port to a new connection, parses each packet of
//! the connection, and edits it before it leaves.
//!
//! A message is either processed completely or dropped. A message that was forwarded once must be
//! forwarded in the same form again, or both ends of a TCP connection would disagree about sequence
//! numbers; a dropped message is retransmitted and parsed anew. The segments of a longer message
//! are forwarded as they arrive, and the first part is stored for parsing. If a part that was
//! already forwarded would have needed an edit, the message passes unedited and is counted: the
//! ends may cope, whereas a drop would stall them.

use std::borrow::Cow;

use frame::{Frame, Segmentation};

use super::{AcceptedRoute, Passage};
use crate::connection::{Altered, Draft, FlowId, Helper, Tick, Tracker};
use crate::drop::DropReason;
use crate::nat::PacketLayout;
use crate::nat::helper;
use crate::nat::helper::{Findings, View};
use crate::outlet::Outlet;
use crate::packet::{Fragment, protocol};
use crate::punt::PuntReason;
use crate::walk::forward::Fit;
use crate::walk::packet::packet;
use crate::walk::{Context, Exit};

/// Assigns a helper to a connection that is about to enter the table.
///
/// The server's own port decides, behind any translation: a forwarded port need not be listed.
pub(in crate::walk) fn assign(cx: &Context<'_>, draft: &mut Draft) {
    if draft.is_expected() {
        return;
    }
    let reply = &draft.reply;
    let services = &cx.snapshot.firewall.services;
    draft.helper = services.find(reply.protocol, reply.source_port, reply.ipv6);
    draft.fasttrack &= !draft.is_helped();
}

/// Parses a forwarded packet with its helper and edits it. `onward` is its route, if it leaves this
/// router.
///
/// # Errors
/// The packet's exit, if the helper's edit is impossible. A packet that is punted to control is
/// unchanged.
pub(in crate::walk) fn treat(
    cx: &Context<'_>,
    frame: &mut Frame,
    passage: &mut Passage,
    accepted: Option<&mut AcceptedRoute>,
    outlet: &mut Outlet,
) -> Result<(), Exit> {
    let Some(way) = passage.helped else {
        return Ok(());
    };
    let tracker = &mut outlet.memory.tracker;
    let shape = PacketLayout::of(&passage.fields, &frame.offload, frame.l3);
    let known = tracker.altered(way.slot());
    let unshifted = known.shifts.iter().all(|shift| shift.is_none());
    let payload = helper::payload(packet(frame), shape);
    let Some(payload) = payload else {
        // A packet without a whole header has no payload to parse.
        return match unshifted {
            true => Ok(()),
            false => Err(Exit::Drop(DropReason::FirewallTruncated)),
        };
    };
    let number = helper::number(packet(frame), shape);
    let Reading { findings, rest } = read(cx, way, number, payload, &known, tracker);
    let quiet = findings.edits.is_empty() && findings.calls.is_none() && unshifted;
    if let Some(accepted) = accepted {
        fit(frame, shape, passage, &findings, accepted)?;
    }
    for tuple in findings.outlived() {
        if let Some(other) = tracker.lookup(tuple) {
            tracker.forget(other);
        }
    }
    for expectation in findings.expectations() {
        if !tracker.expect(*expectation, Tick::of(cx.now)) {
            return Err(Exit::Drop(DropReason::HelperFull));
        }
    }
    if !quiet {
        write(frame, shape, passage, way, &findings, known, tracker).map_err(Exit::Drop)?;
    }
    let kept = rest.is_none_or(|(number, text)| tracker.keep(way, number, text));
    if findings.is_cut() || !kept {
        outlet.counters.cut(tracker.helper(way));
    }
    Ok(())
}

/// The parsed payload of a packet.
#[derive(Default)]
struct Reading {
    findings: Findings,
    /// The unfinished message at the end of the payload, and the sequence number at which it
    /// continues.
    rest: Option<(u32, Box<[u8]>)>,
}

/// Parses the payload, whose first byte has this TCP sequence number. Returns `None` if the helper
/// has been disabled.
fn read(
    cx: &Context<'_>,
    way: FlowId,
    number: Option<u32>,
    payload: &[u8],
    known: &Altered,
    tracker: &mut Tracker,
) -> Reading {
    let services = &cx.snapshot.firewall.services;
    let view = View {
        id: tracker.id(way),
        helper: tracker.helper(way),
        forth: tracker.tuple(way),
        back: tracker.tuple(way.reversed()),
        reply: way.reply(),
        direct_media: services.sip_direct_media,
        calls: known.calls,
    };
    if payload.is_empty() || !services.is_enabled(view.helper) {
        return Reading::default();
    }
    // TCP connections have their own timeout.
    if view.helper == Helper::Sip && view.forth.protocol == protocol::UDP {
        tracker.set_timeout(way, services.sip_timeout_secs);
    }
    match number {
        Some(number) => read_on(way, number, payload, &view, tracker),
        None => Reading {
            findings: helper::read(payload, 0, &view, tracker),
            rest: None,
        },
    }
}

/// Parses a segment as the continuation of the stored part of its message. Retransmitted segments
/// that arrive merged are parsed one by one, so that the same edits result.
fn read_on(way: FlowId, number: u32, payload: &[u8], view: &View, tracker: &Tracker) -> Reading {
    let mut reading = Reading::default();
    let mut from = 0;
    while from < payload.len() {
        let number = number.wrapping_add(from as u32);
        let len = tracker.together(way, number, payload.len() - from);
        let (kept, part) = (tracker.remainder(way, number), &payload[from..from + len]);
        let text = match kept {
            [] => Cow::Borrowed(part),
            _ => Cow::Owned([kept, part].concat()),
        };
        let findings = helper::read(&text, kept.len(), view, tracker);
        match from {
            0 => reading.findings = findings,
            _ => reading.findings.append(&findings, from),
        }
        let rest = helper::rest(&text, view).concat();
        reading.rest = Some((number.wrapping_add(len as u32), rest.into()));
        from += len;
    }
    reading
}

/// Checks that an edited packet still fits its link. If not, the error to the sender reports an MTU that leaves room
/// for the added bytes.
fn fit(
    frame: &Frame,
    shape: PacketLayout,
    passage: &Passage,
    findings: &Findings,
    accepted: &mut AcceptedRoute,
) -> Result<(), Exit> {
    let growth = findings.edits.growth(0).max(0).unsigned_abs();
    let mtu = accepted.adjacency.mtu;
    let merged = frame.offload.segmentation != Segmentation::None;
    if growth == 0 || merged || shape.len + growth <= mtu || shape.fragment != Fragment::Whole {
        return Ok(());
    }
    let flags = packet(frame).get(6).copied().unwrap_or_default();
    let whole = flags & 0x40 != 0 && !passage.changes.clear_df;
    if passage.fields.tuple.ipv6 || whole {
        return Err(Exit::Punt(PuntReason::TooBig(mtu.saturating_sub(growth))));
    }
    accepted.fit = Fit::Fragments;
    Ok(())
}

/// Edits the payload and shifts the TCP sequence numbers.
fn write(
    frame: &mut Frame,
    shape: PacketLayout,
    passage: &mut Passage,
    way: FlowId,
    findings: &Findings,
    known: Altered,
    tracker: &mut Tracker,
) -> Result<(), DropReason> {
    let l3 = usize::from(frame.l3);
    let mut altered = known;
    altered.calls = findings.calls.unwrap_or(known.calls);
    if !frame.set_len(l3 + shape.len as usize + findings.edits.reach()) {
        return Err(DropReason::HelperRoom);
    }
    let room = frame.bytes_mut().get_mut(l3..).unwrap_or_default();
    let treated = helper::treat(
        room,
        shape,
        &findings.edits,
        way.reply(),
        &mut altered.shifts,
    );
    let len = treated.map_err(|_| DropReason::HelperRoom)?;
    if altered != known && !tracker.alter(way.slot(), altered) {
        return Err(DropReason::HelperFull);
    }
    passage.fields.len = len;
    match frame.set_len(l3 + len as usize) {
        true => Ok(()),
        false => Err(DropReason::HelperRoom),
    }
}
