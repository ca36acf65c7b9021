//! The short way of plain packets past the firewall, where only the forward chain of `filter` is
//! asked: whole TCP segments and UDP datagrams without options, to a next hop that is simply
//! forwarded to, of a family that is not tracked, or in the midst of a connection that both ends know
//! of.
//!
//! It asks the same rules as [`super::Guard`] about the same subject, and leaves out what is decided
//! before it looks: a lifetime that ends, a packet that does not fit, hooks without rules, a new
//! connection. Nothing that it does to one packet is asked by the next; so those that follow each
//! other wait in a [`Run`] until then. Whatever is not plain, it leaves untouched for the guard.

use frame::Frame;

use super::chains::{Known, Menu};
use super::run::{Looked, Run, Waiting};
use super::{CHUNK, Met, connection, fasttrack};
use crate::connection::{NatState, Track, Tracker, Way};
use crate::drop::Drop;
use crate::firewall::{filter, mangle, raw};
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::rule::{
    Ahead, Chain, ChainId, Changes, First, Ipsec, Marks, Quick, Subject, Table, Verdict,
};
use crate::walk::depart::{self, Near, Next, packet};
use crate::walk::{Context, Exit, source_mac};

/// What plain packets of one family meet.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    filter: Option<(&'a Table, ChainId, &'a Chain)>,
}

/// What the short way made of a packet.
pub(super) enum Outcome {
    /// It leaves by this port.
    Leaves(u16),
    Ends(Exit),
    /// Nothing yet; what was found out about its connection.
    Guard(Met),
}

impl<'a> Plain<'a> {
    /// None where something else is to be asked about every packet.
    pub(super) fn of(cx: &Context<'a>, ipv6: bool) -> Option<Self> {
        let tables = cx.snapshot.firewall.tables(ipv6);
        let others = [
            tables.raw.busy(raw::PREROUTING),
            tables.mangle.busy(mangle::PREROUTING),
            tables.mangle.busy(mangle::FORWARD),
            tables.mangle.busy(mangle::POSTROUTING),
        ];
        let busy = tables.filter.busy(filter::FORWARD);
        let filter = busy.and_then(|id| Some((&*tables.filter, id, tables.filter.chain(id)?)));
        let plain = cx.snapshot.rules.is_empty() && others.iter().all(Option::is_none);
        plain.then_some(Self { filter })
    }

    /// Looks up which rules the packets of a run may hit.
    #[inline(always)]
    pub(super) fn look_up(&self, run: &Run, fields: &[Fields; CHUNK], firsts: &mut [First; CHUNK]) {
        if let Some((table, chain, _)) = self.filter {
            let len = run.len().min(CHUNK);
            table.ahead(chain, &Looked { run, fields }, &mut firsts[..len]);
        }
    }

    /// Asks the rules about a packet of a run, and writes what they let pass.
    #[inline(always)]
    pub(super) fn leave(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &mut Fields,
        waiting: &Waiting,
        near: &mut Near,
        outlet: &mut Outlet,
    ) -> Outcome {
        let next = near.get(cx, waiting.hop, frame.ingress);
        if !takes(next, fields, frame) {
            return Outcome::Guard(give_up(fields, waiting, &outlet.memory.tracker));
        }
        if let Some((table, id, chain)) = self.filter {
            let exit = match chain.quick(&waiting.first) {
                Quick::Accept(rule) => {
                    outlet.memory.rules.count(rule, fields.len);
                    None
                }
                Quick::Drop(rule) => {
                    outlet.memory.rules.count(rule, fields.len);
                    Menu::Filter.exit(Verdict::Drop(rule))
                }
                Quick::Ask => ask(cx, frame, (table, id), fields, next, waiting, outlet),
            };
            if let Some(exit) = exit {
                return Outcome::Ends(exit);
            }
        }
        match write(frame, fields, next, waiting, &outlet.memory.tracker) {
            Some(true) => Outcome::Leaves(next.adjacency.port),
            Some(false) => Outcome::Ends(Exit::Drop(Drop::NoBuffer)),
            None => Outcome::Ends(Exit::Drop(Drop::FirewallTruncated)),
        }
    }
}

/// The guard is to see the packet as it came.
#[cold]
#[inline(never)]
fn give_up(fields: &mut Fields, waiting: &Waiting, tracker: &Tracker) -> Met {
    match waiting.way {
        Some(way) => {
            fields.tuple = tracker.tuple(way);
            Met::Tracked(waiting.passed.track(way))
        }
        None => Met::Unknown,
    }
}

/// Lifetime, translation, link header. None where the packet is too short for its translation; false
/// where its end cannot be cut off.
#[inline(always)]
fn write(
    frame: &mut Frame,
    fields: &Fields,
    next: &Next,
    waiting: &Waiting,
    tracker: &Tracker,
) -> Option<bool> {
    let ipv6 = fields.tuple.ipv6;
    if let Some(way) = waiting
        .way
        .filter(|_| waiting.passed.nat != NatState::default())
    {
        fasttrack::rewrite(frame, ipv6, way, true, tracker)?;
        return Some(fasttrack::relink(frame, fields, &next.adjacency));
    }
    Some(match ipv6 {
        true => depart::straight::<true>(frame, &next.adjacency),
        false => depart::straight::<false>(frame, &next.adjacency),
    })
}

/// Asks rules whose bits do not say all: how the packet ends by them, if it does. `filter` can
/// FastTrack a connection, and count it.
#[inline(never)]
fn ask(
    cx: &Context<'_>,
    frame: &Frame,
    (table, chain): (&Table, ChainId),
    fields: &mut Fields,
    next: &Next,
    waiting: &Waiting,
    outlet: &mut Outlet,
) -> Option<Exit> {
    let track = match waiting.way {
        Some(way) => waiting.passed.track(way),
        None => Track::default(),
    };
    let received = fields.tuple;
    fields.ttl -= 1;
    let mut subject = Subject {
        source_mac: source_mac(frame.bytes(), frame.l3),
        egress: next.adjacency.egress,
        state: track.state,
        nat: track.nat,
        ipsec: Ipsec::default(),
        marks: Marks {
            connection: waiting.passed.mark,
            ..Marks::default()
        },
        ..Subject::new(fields, packet(frame), frame.ingress)
    };
    let memory = &mut outlet.memory;
    let facts = Known {
        cx,
        tracker: &memory.tracker,
        track: &track,
        // Of a packet whose connection is known, that is asked.
        received: &received,
        bytes: fields.len,
    };
    let (worker, told) = (&mut memory.rules, &mut outlet.told);
    let ahead = Ahead::of(waiting.first);
    let verdict = ahead.run(table, chain, &mut subject, &facts, worker, told);
    let changes = subject.changes;
    if outlet.told.has_events() {
        outlet.tell(frame);
    }
    let exit = Menu::Filter.exit(verdict);
    if let (Some(way), None) = (waiting.way, exit) {
        keep(
            cx,
            &mut outlet.memory.tracker,
            (way, &track),
            &changes,
            waiting,
        );
    }
    exit
}

/// What rules said about a connection whose packet they let pass.
fn keep(
    cx: &Context<'_>,
    tracker: &mut Tracker,
    (way, track): (Way, &Track),
    changes: &Changes,
    waiting: &Waiting,
) {
    if changes.counted {
        tracker.set_counted(way);
    }
    if changes.fasttrack {
        connection::stay(cx, tracker, track, true, waiting.hop);
    }
}

/// Whether a next hop takes the packet as it is.
#[inline(always)]
fn takes(next: &Next, fields: &Fields, frame: &Frame) -> bool {
    next.straight & (next.adjacency.egress != frame.ingress) & (fields.len <= next.adjacency.mtu)
}
