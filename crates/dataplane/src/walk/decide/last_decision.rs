//! Repeats a decision for consecutive packets of one connection that begin or end at this router, such as the outer
//! packets of a tunnel.
//!
//! The decider decides about the first packet. Later packets with the same addresses, protocol and ports get the same
//! decision if rules examine only fields that these packets share, and if the connection has neither a translation nor
//! a helper. They are still counted by their connection, rules and interfaces.

use core::mem::discriminant;

use frame::{Frame, InterfaceId, IpsecState, Segmentation};
use smallvec::SmallVec;

use super::chains::ipsec_state;
use super::passage::{AcceptedRoute, EarlyLookup, Passage, PriorResults};
use crate::connection::{FlowId, NatState, State, Tick, Track};
use crate::drop::DropReason;
use crate::firewall::{Tables, filter, mangle, raw};
use crate::ipsec;
use crate::outlet::Outlet;
use crate::packet::{Fields, Fragment, Tuple, protocol};
use crate::rule;
use crate::rule::{ChainId, Changes, First, Marks, NOBODY, Quick, Subject, Table};
use crate::table::Kind;
use crate::walk::forward::Fit;
use crate::walk::leave;
use crate::walk::leave::Departed;
use crate::walk::packet::packet;
use crate::walk::tally::{Tally, received};
use crate::walk::{Context, Exit, Leaving, egress, routing};

/// The decision about the last packet, if later packets may share it.
#[derive(Default)]
pub(in crate::walk) struct LastDecision(Option<Decision>);

/// A decision of the decider, and the packet properties that it holds for.
struct Decision {
    shared: SharedProperties,
    /// The connection; `None` if connections are not tracked.
    way: Option<FlowId>,
    /// The connection's mark.
    mark: u32,
    outcome: Outcome,
    rules: CountingRules,
}

/// The properties that packets of one decision share. Rules that match another property are evaluated for each packet.
#[derive(Clone, Copy, PartialEq, Eq)]
struct SharedProperties {
    tuple: Tuple,
    ingress: InterfaceId,
    /// The packet mark on arrival.
    mark: u32,
    guarded: IpsecState,
}

/// What happens to the packets.
enum Outcome {
    /// The packets leave by this route.
    Leaves(AcceptedRoute),
    /// The router receives them, with exits of this kind.
    Arrives(Exit),
}

/// The rules that count each packet, by their ids.
enum CountingRules {
    /// No second packet has come yet.
    Unknown,
    Known {
        /// Of `raw`.
        raw: SmallVec<[u32; 4]>,
        /// Of the later chains.
        later: SmallVec<[u32; 8]>,
    },
    /// Rules must be evaluated for each packet.
    Differ,
}

impl SharedProperties {
    /// Returns the properties of a packet; `None` if its connection has more state than a datagram's, or if the packet
    /// is no whole packet.
    #[inline(always)]
    fn of(frame: &Frame, fields: &Fields) -> Option<Self> {
        use protocol::{ICMP, ICMPV6, TCP};
        let is_datagram = !matches!(fields.tuple.protocol, TCP | ICMP | ICMPV6);
        let is_whole = fields.fragment == Fragment::Whole && !fields.truncated;
        let is_single = frame.offload.segmentation == Segmentation::None;
        (is_datagram && is_whole && is_single).then_some(Self {
            tuple: fields.tuple,
            ingress: frame.ingress,
            mark: frame.mark,
            guarded: frame.guarded,
        })
    }
}

impl LastDecision {
    /// Returns true if there is no decision to repeat.
    #[inline(always)]
    pub(in crate::walk) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Forgets the decision: another packet may have changed the connection table.
    pub(in crate::walk) fn forget(&mut self) {
        self.0 = None;
    }

    /// Records the decider's decision about a packet that has not been changed yet.
    pub(in crate::walk) fn record(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        passage: &Passage,
        decided: &Result<AcceptedRoute, Exit>,
    ) {
        self.0 = decision(cx, frame, passage, decided);
    }

    /// Applies the decision to a packet that this router sends. Returns `None`, without changes, if the decider must
    /// decide.
    pub(in crate::walk) fn repeat_departure(
        &mut self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &Fields,
        tally: &mut Tally,
        outlet: &Outlet,
    ) -> Option<Result<Departed, Exit>> {
        let decision = self.0.as_mut()?;
        let Outcome::Leaves(route) = decision.outcome else {
            return None;
        };
        let end = usize::from(frame.l3) + fields.len as usize;
        if !decision.applies(frame, fields)
            || !fits(cx, frame, fields, &route)
            || end != frame.len()
        {
            return None;
        }
        decision.count(cx, frame, fields, EarlyLookup::Unknown, outlet)?;
        frame.priority = 0;
        let received = received(frame);
        if !egress::rewrite(frame, &route.adjacency) {
            return Some(Err(Exit::Drop(DropReason::NoBuffer)));
        }
        if route.adjacency.out.is_protect() {
            return Some(Ok(Departed::Whole(route.adjacency.out)));
        }
        tally.count_decided(cx, frame, fields.tuple.ipv6, received, &outlet.counters);
        Some(Ok(leave::departed(frame, &route.adjacency, true)))
    }

    /// Applies the decision to a received packet for this router. Returns `None`, without changes, if the decider must
    /// decide.
    pub(in crate::walk) fn repeat_arrival(
        &mut self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &Fields,
        before: &PriorResults,
        outlet: &Outlet,
    ) -> Option<Exit> {
        let decision = self.0.as_mut()?;
        let Outcome::Arrives(exit) = decision.outcome else {
            return None;
        };
        if before.local.is_some() || before.early.is_some() || !decision.applies(frame, fields) {
            return None;
        }
        // The interface of a tunnel depends on more than the shared properties, such as a key.
        let arrives = routing::arrives(cx, packet(frame), frame.ingress);
        let end = usize::from(frame.l3) + fields.len as usize;
        if discriminant(&arrives) != discriminant(&exit) || end > frame.len() {
            return None;
        }
        decision.count(cx, frame, fields, before.lookup, outlet)?;
        // Padding of the ingress link is cut off.
        if !leave::trim(frame, end) {
            return Some(Exit::Drop(DropReason::NoBuffer));
        }
        (frame.priority, frame.walked) = (0, true);
        Some(arrives)
    }
}

/// Returns a decision that later packets may share.
fn decision(
    cx: &Context<'_>,
    frame: &Frame,
    passage: &Passage,
    decided: &Result<AcceptedRoute, Exit>,
) -> Option<Decision> {
    let shared = SharedProperties::of(frame, &passage.fields)?;
    let marks = Marks {
        packet: frame.mark,
        connection: passage.marks.connection,
        ..Marks::default()
    };
    let is_unchanged = passage.changes == Changes::default()
        && passage.marks == marks
        && passage.translation.is_none()
        && passage.draft.is_none();
    if !passage.accepted || !is_unchanged {
        return None;
    }
    let outcome = match *decided {
        Ok(route) if route.fit == Fit::Whole && route.adjacency.kind == Kind::Forward => {
            Outcome::Leaves(route)
        }
        // A packet without a routing mark arrives before routing rules are examined.
        Err(exit) if exit.is_local() => {
            let arrives = routing::arrives(cx, packet(frame), frame.ingress);
            (arrives == exit).then_some(Outcome::Arrives(exit))?
        }
        _ => return None,
    };
    let tracks = cx.snapshot.firewall.tracks(shared.tuple.ipv6);
    let track = &passage.track;
    let is_known = match track.way {
        Some(_) => track.state == State::Established,
        None => !tracks,
    };
    let is_special = track.fasttrack || track.quoted || track.helped;
    (is_known && !is_special && track.nat == NatState::default()).then_some(Decision {
        shared,
        way: passage.track.way,
        mark: passage.marks.connection,
        outcome,
        rules: CountingRules::Unknown,
    })
}

/// Returns true if a packet of this router fits its route unchanged, also once protected.
fn fits(cx: &Context<'_>, frame: &Frame, fields: &Fields, route: &AcceptedRoute) -> bool {
    let leaving = Leaving {
        packet: packet(frame),
        offload: &frame.offload,
        own: true,
        guarded: frame.guarded,
    };
    fields.len <= route.adjacency.mtu && ipsec::fits(cx, route.adjacency.out, &leaving).is_ok()
}

impl Decision {
    /// Returns true if a packet has the properties of the decision.
    #[inline(always)]
    fn applies(&self, frame: &Frame, fields: &Fields) -> bool {
        SharedProperties::of(frame, fields).is_some_and(|shared| shared == self.shared)
    }

    /// Counts a packet in its connection and its rules. `lookup` has the results that were counted before. Returns
    /// `None`, without changes, if the decider must decide.
    #[inline(always)]
    fn count(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        fields: &Fields,
        lookup: EarlyLookup,
        outlet: &Outlet,
    ) -> Option<()> {
        if matches!(self.rules, CountingRules::Unknown) {
            self.rules = self.counting_rules(cx, frame, fields);
        }
        let CountingRules::Known { raw, later } = &self.rules else {
            return None;
        };
        let raw_is_counted = match lookup {
            EarlyLookup::Unknown | EarlyLookup::Found(_) => {
                self.count_in_connection(cx, fields, outlet)?;
                false
            }
            EarlyLookup::Tracked(track) => {
                let same = track.way == self.way && track.nat == NatState::default();
                same.then_some(true)?
            }
            EarlyLookup::Untracked => self.way.is_none().then_some(true)?,
            EarlyLookup::Admitted(_) | EarlyLookup::Ended => return None,
        };
        let raw = if raw_is_counted { &[] } else { &raw[..] };
        let rules = &outlet.memory.rules;
        for rule in raw.iter().chain(later) {
            rules.count(*rule, fields.len);
        }
        Some(())
    }

    /// Counts a packet in its connection, if connections are tracked.
    #[inline(always)]
    fn count_in_connection(
        &self,
        cx: &Context<'_>,
        fields: &Fields,
        outlet: &Outlet,
    ) -> Option<()> {
        let Some(way) = self.way else {
            return Some(());
        };
        let (tracker, now) = (&outlet.memory.tracker, Tick::of(cx.now));
        let passed = match fields.tuple.ipv6 {
            true => tracker.pass::<true>(way, fields.len, now),
            false => tracker.pass::<false>(way, fields.len, now),
        };
        passed.map(|_| ())
    }

    /// Returns the rules that count each packet of this decision.
    #[inline(never)]
    fn counting_rules(&self, cx: &Context<'_>, frame: &Frame, fields: &Fields) -> CountingRules {
        let tables = cx.snapshot.firewall.tables(fields.tuple.ipv6);
        let leaves_by = match &self.outcome {
            Outcome::Leaves(route) => route.adjacency.egress,
            Outcome::Arrives(_) => InterfaceId::NONE,
        };
        let marks = Marks {
            packet: self.shared.mark,
            connection: self.mark,
            ..Marks::default()
        };
        let early = Subject {
            egress: cx.class(leaves_by),
            leaves_by,
            state: Track::default().state,
            ipsec: ipsec_state(cx, &fields.tuple, frame.guarded),
            marks: Marks {
                connection: 0,
                ..marks
            },
            ..Subject::new(fields, packet(frame), cx.class(frame.ingress))
        };
        let state = match self.way {
            Some(_) => State::Established,
            None => early.state,
        };
        let late = Subject {
            state,
            marks,
            ..Subject { ..early }
        };
        let (raw_chain, chains) = chains(tables, &self.outcome);
        let (mut raw, mut later) = (SmallVec::new(), SmallVec::new());
        let is_shared = append_counting(&tables.raw, raw_chain, &early, &mut raw)
            && (chains.iter())
                .all(|(table, chain)| append_counting(table, *chain, &late, &mut later));
        match is_shared {
            true => CountingRules::Known { raw, later },
            false => CountingRules::Differ,
        }
    }
}

/// Returns the chains that packets of an outcome pass: that of `raw`, and the later ones. Nat has no rules for packets
/// in the middle of a connection.
fn chains<'a>(tables: &'a Tables, outcome: &Outcome) -> (ChainId, [(&'a Table, ChainId); 3]) {
    let (mangle, filter) = (&*tables.mangle, &*tables.filter);
    match outcome {
        Outcome::Leaves(_) => (
            raw::OUTPUT,
            [
                (mangle, mangle::OUTPUT),
                (filter, filter::OUTPUT),
                (mangle, mangle::POSTROUTING),
            ],
        ),
        Outcome::Arrives(_) => (
            raw::PREROUTING,
            [
                (mangle, mangle::PREROUTING),
                (mangle, mangle::INPUT),
                (filter, filter::INPUT),
            ],
        ),
    }
}

/// Appends the rules of a chain that count a packet. Returns false if the chain does not accept the packet by fields
/// that packets of a decision share.
fn append_counting<const N: usize>(
    table: &Table,
    chain: ChainId,
    subject: &Subject<'_>,
    rules: &mut SmallVec<[u32; N]>,
) -> bool {
    let Some((id, chain)) = table
        .busy(chain)
        .and_then(|id| table.chain(id).map(|chain| (id, chain)))
    else {
        return true;
    };
    if !chain.by_columns {
        return false;
    }
    let mut first = [First::NOBODY];
    table.ahead(id, subject, &mut first);
    match chain.follow(&first[0], |rule| rules.push(rule)) {
        Quick::Accept(NOBODY) => {}
        Quick::Accept(rule) => rules.push(rule),
        _ => return false,
    }
    rules.len() <= rule::TOGETHER
}
