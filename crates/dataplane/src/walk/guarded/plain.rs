//! The short way of plain packets past the firewall, where only the forward chain of `filter` is
//! asked: whole TCP segments and UDP datagrams without options, to a next hop that is simply
//! forwarded to, of a family that is not tracked, or of a connection that both ends know of.
//!
//! It asks the same rules as [`super::Guard`] about the same subject, and leaves out what is decided
//! before it looks: a lifetime that ends, a packet that does not fit, hooks without rules, a new
//! connection. Whatever is not plain, it leaves untouched for the guard.

use frame::{Frame, InterfaceId, VECTOR_FRAMES};

use super::chains::{Known, Menu, state};
use super::{Met, Translation, connection, fasttrack, translation};
use crate::connection::{NatState, State, Tick, Track, Tracker, Way};
use crate::drop::Drop;
use crate::firewall::{filter, mangle, raw};
use crate::nat::Side;
use crate::outlet::Outlet;
use crate::packet::{Fields, Tuple};
use crate::rule::{self, Ahead, ChainId, Changes, Marks, Packets, Subject, Table, Verdict};
use crate::table::NextHopId;
use crate::walk::depart::{self, Near, Next, packet};
use crate::walk::{Context, Exit, routing, source_mac};

/// What plain packets of one family meet.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    filter: Option<(&'a Table, ChainId)>,
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
        let filter = tables.filter.busy(filter::FORWARD);
        let plain = cx.snapshot.rules.is_empty() && others.iter().all(Option::is_none);
        plain.then(|| Self {
            filter: filter.map(|chain| (&*tables.filter, chain)),
        })
    }

    /// Looks up a vector of packets of a family that is not tracked: where their next hops lead, and
    /// which rules they may hit. They are not asked for by packets that are not plain.
    pub(super) fn look_up(&self, looked: &Looked<'_>, places: &mut [u32; VECTOR_FRAMES]) {
        if let Some((table, chain)) = self.filter {
            table.ahead(chain, looked, places);
        }
    }

    /// Decides about a packet whose connection is not tracked.
    #[inline(always)]
    pub(super) fn untracked(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &mut Fields,
        (hop, ahead): (NextHopId, Ahead),
        near: &mut Near,
        outlet: &mut Outlet,
    ) -> Outcome {
        let next = near.get(cx, hop, frame.ingress);
        if !fasttrack::is_plain(fields, frame) || !takes(next, fields, frame) {
            return Outcome::Guard(Met::Unknown);
        }
        let asking = Asking {
            received: fields.tuple,
            track: Track::default(),
            marks: Marks::default(),
            hop,
            ahead,
        };
        self.filter(cx, frame, fields, next, asking, outlet)
    }

    /// Decides about a packet of this connection.
    #[inline(always)]
    pub(super) fn tracked(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &mut Fields,
        way: Way,
        near: &mut Near,
        outlet: &mut Outlet,
    ) -> Outcome {
        if !fasttrack::is_plain(fields, frame) {
            return Outcome::Guard(Met::Found(Some(way)));
        }
        let tracker = &mut outlet.memory.tracker;
        let track = tracker.track(Some(way), fields, packet(frame), Tick::of(cx.now));
        if track.state != State::Established || track.quoted {
            return Outcome::Guard(Met::Tracked(track));
        }
        let received = fields.tuple;
        let mut turned = received;
        if let Some(Translation { after, .. }) = translation::known(tracker, &track) {
            translation::turn(&mut turned, &after, Side::Destination);
        }
        let destination = routing::Address::of(turned.destination, turned.ipv6);
        let hop = routing::lookup(cx, routing::MAIN, destination);
        let next = near.get(cx, hop, frame.ingress);
        if !takes(next, fields, frame) {
            return Outcome::Guard(Met::Tracked(track));
        }
        fields.tuple = turned;
        let connection = tracker.mark(way);
        let asking = Asking {
            received,
            track,
            marks: Marks {
                connection,
                ..Marks::default()
            },
            hop,
            ahead: Ahead::default(),
        };
        self.filter(cx, frame, fields, next, asking, outlet)
    }

    /// Asks the rules, and writes what they let pass.
    #[inline(always)]
    fn filter(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &mut Fields,
        next: &Next,
        asking: Asking,
        outlet: &mut Outlet,
    ) -> Outcome {
        fields.ttl -= 1;
        let mut fasttrack = false;
        if let Some((table, chain)) = self.filter
            && !asking.ahead.is_none()
        {
            let (verdict, marked) = ask(cx, frame, (table, chain), fields, next, &asking, outlet);
            if outlet.told.has_events() {
                outlet.tell(frame);
            }
            if let Some(exit) = Menu::Filter.exit(verdict) {
                return Outcome::Ends(exit);
            }
            fasttrack = marked;
        }
        let (tracker, track) = (&mut outlet.memory.tracker, &asking.track);
        if fasttrack || track.fasttrack {
            connection::stay(cx, tracker, track, fasttrack, asking.hop);
        }
        match write(frame, fields, next, track, tracker) {
            Some(true) => Outcome::Leaves(next.adjacency.port),
            Some(false) => Outcome::Ends(Exit::Drop(Drop::NoBuffer)),
            None => Outcome::Ends(Exit::Drop(Drop::FirewallTruncated)),
        }
    }
}

/// Lifetime, translation, link header. None where the packet is too short for its translation; false
/// where its end cannot be cut off.
#[inline(always)]
fn write(
    frame: &mut Frame,
    fields: &Fields,
    next: &Next,
    track: &Track,
    tracker: &Tracker,
) -> Option<bool> {
    let ipv6 = fields.tuple.ipv6;
    if let Some(way) = track.way.filter(|_| track.nat != NatState::default()) {
        fasttrack::rewrite(frame, ipv6, way, true, tracker)?;
        return Some(fasttrack::relink(frame, fields, &next.adjacency));
    }
    Some(match ipv6 {
        true => depart::straight::<true>(frame, &next.adjacency),
        false => depart::straight::<false>(frame, &next.adjacency),
    })
}

/// What is known when rules are asked.
struct Asking {
    /// Between whom the packet travelled when it came.
    received: Tuple,
    track: Track,
    marks: Marks,
    hop: NextHopId,
    ahead: Ahead,
}

/// The verdict, and whether the connection is to be FastTracked: all that `filter` can change about
/// a packet.
#[inline(always)]
fn ask(
    cx: &Context<'_>,
    frame: &Frame,
    (table, chain): (&Table, ChainId),
    fields: &Fields,
    next: &Next,
    asking: &Asking,
    outlet: &mut Outlet,
) -> (Verdict, bool) {
    let track = &asking.track;
    let mut subject = Subject {
        fields,
        packet: packet(frame),
        source_mac: source_mac(frame.bytes(), frame.l3),
        ingress: frame.ingress,
        egress: next.adjacency.egress,
        bridge_ingress: InterfaceId::NONE,
        bridge_egress: InterfaceId::NONE,
        state: state(track.state),
        nat: rule::NatState(track.nat.0),
        marks: asking.marks,
        changes: Changes::default(),
    };
    let memory = &mut outlet.memory;
    let facts = Known {
        cx,
        tracker: &memory.tracker,
        track,
        received: &asking.received,
        bytes: fields.len,
    };
    let (worker, told) = (&mut memory.rules, &mut outlet.told);
    let verdict = asking
        .ahead
        .run(table, chain, &mut subject, &facts, worker, told);
    (verdict, subject.changes.fasttrack)
}

/// Whether a next hop takes the packet as it is.
#[inline(always)]
fn takes(next: &Next, fields: &Fields, frame: &Frame) -> bool {
    next.straight & (next.adjacency.egress != frame.ingress) & (fields.len <= next.adjacency.mtu)
}

/// The packets of a vector that are not tracked, as rules are to see them.
pub(super) struct Looked<'a> {
    pub(super) fields: &'a [Fields],
    /// The interfaces that they came by and leave by.
    pub(super) interfaces: &'a [(InterfaceId, InterfaceId)],
}

impl Packets for Looked<'_> {
    fn len(&self) -> usize {
        self.fields.len()
    }

    #[inline(always)]
    fn fields(&self, at: usize) -> &Fields {
        &self.fields[at]
    }

    #[inline(always)]
    fn interfaces(&self, at: usize) -> (InterfaceId, InterfaceId) {
        self.interfaces[at]
    }

    #[inline(always)]
    fn state(&self, _at: usize) -> (rule::State, rule::NatState) {
        let track = Track::default();
        (state(track.state), rule::NatState(track.nat.0))
    }

    #[inline(always)]
    fn marks(&self, _at: usize) -> Marks {
        Marks::default()
    }
}
