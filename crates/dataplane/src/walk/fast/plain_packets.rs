//! The short path: whole TCP segments and UDP datagrams without options, to a next hop of kind
//! forward, either untracked or in the middle of a connection that both ends have confirmed.
//!
//! The short path evaluates the same rules as [`super::Decider`] on the same subject, and omits the
//! checks that plain packets pass by definition: an expiring TTL, a packet larger than the MTU, a
//! new connection. The outcome of one packet affects the next only where a rule marks their
//! connection, so consecutive packets are collected in a [`FlowBatch`]. Other packets are left untouched
//! for the decider.

use frame::Frame;
use frame::shortcut::Rules;

use super::fasttrack::EgressHeader;
use super::flow_batch::{BatchView, BatchedPacket, FlowBatch};
use super::next_hop_cache::{CachedNextHop, NextHopCache};
use super::plain_rules;
use super::plain_rules::PlainEvaluation;
use crate::connection::{NatState, NextHop, Tracker};
use crate::drop::DropReason;
use crate::firewall::{filter, mangle, raw};
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::rule;
use crate::rule::{Chain, ChainId, First, NOBODY, Quick, Table};
use crate::walk::decide::passage::PreroutingResult;
use crate::walk::decide::{CHUNK, EarlyLookup};
use crate::walk::packet::packet;
use crate::walk::{Context, Exit};

/// A chain that has rules.
#[derive(Clone, Copy)]
pub(in crate::walk) struct ActiveChain<'a> {
    pub(in crate::walk) table: &'a Table,
    pub(in crate::walk) id: ChainId,
    pub(in crate::walk) chain: &'a Chain,
}

impl<'a> ActiveChain<'a> {
    fn of(table: &'a Table, id: ChainId) -> Option<Self> {
        let id = table.busy(id)?;
        let chain = table.chain(id)?;
        Some(Self { table, id, chain })
    }
}

/// The chains that plain packets of one family pass.
#[derive(Clone, Copy)]
pub(in crate::walk) struct PlainChains<'a> {
    pub(in crate::walk) raw: Option<ActiveChain<'a>>,
    pub(in crate::walk) filter: Option<ActiveChain<'a>>,
    /// `None` if no `mangle` chain has rules for plain packets.
    pub(in crate::walk) mangle: Option<Mangle<'a>>,
    /// Some rule matches packet marks.
    reads_marks: bool,
    /// A consumer after the walk reads packet marks, but no rule does.
    pub(in crate::walk) keeps_marks: bool,
}

/// The chains of `mangle`, in their order around `filter`.
#[derive(Clone, Copy)]
pub(in crate::walk) struct Mangle<'a> {
    prerouting: Option<ActiveChain<'a>>,
    pub(in crate::walk) forward: Option<ActiveChain<'a>>,
    pub(in crate::walk) postrouting: Option<ActiveChain<'a>>,
}

/// The first candidate rules of each packet in the chains after connection tracking, by the
/// packet's position in the batch.
pub(in crate::walk) struct FirstCandidates {
    pub(in crate::walk) filter: [First; CHUNK],
    prerouting: [First; CHUNK],
    pub(in crate::walk) forward: [First; CHUNK],
    pub(in crate::walk) postrouting: [First; CHUNK],
    /// One bit per packet: mangle's prerouting made changes that must be written when the packet
    /// leaves.
    kept: u64,
}

/// A packet of a batch, and the candidate rules of the batch.
pub(in crate::walk) struct BatchMember<'a> {
    /// Position of the packet in the batch.
    pub(in crate::walk) at: usize,
    pub(in crate::walk) batched: &'a BatchedPacket,
    pub(in crate::walk) firsts: &'a FirstCandidates,
    pub(in crate::walk) batch: &'a FlowBatch,
}

impl FirstCandidates {
    pub(in crate::walk) const fn new() -> Self {
        const NONE: [First; CHUNK] = [First::NOBODY; CHUNK];
        Self {
            filter: NONE,
            prerouting: NONE,
            forward: NONE,
            postrouting: NONE,
            kept: 0,
        }
    }

    /// Returns the first candidate rule in prerouting.
    #[inline(always)]
    pub(in crate::walk) fn prerouting(&self, at: usize) -> First {
        self.prerouting[at % CHUNK]
    }

    /// Records that all prerouting rules were evaluated for a packet. `keep`: they made changes to
    /// be written later.
    #[inline(always)]
    pub(in crate::walk) fn asked(&mut self, at: usize, keep: bool) {
        self.prerouting[at % CHUNK] = First::NOBODY;
        self.kept |= u64::from(keep) << (at % CHUNK);
    }
}

/// The verdict of all chains, as far as the first candidates decide it. Nothing is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walk) enum Verdict {
    Passes,
    /// This rule of `filter` drops the packet.
    Ends(u32),
    /// The rules must be evaluated one by one.
    Asks,
    /// Prerouting rules must be evaluated before the packet is routed.
    AsksEarly,
}

/// The outcome of the short path for a packet.
pub(in crate::walk) enum Outcome {
    /// The packet leaves by this out.
    Leaves(OutId),
    Ends(Exit),
    /// The packet is left to the decider, with the result of its connection lookup.
    Decider(EarlyLookup),
}

impl<'a> PlainChains<'a> {
    /// Returns `None` if the reverse path of every packet must be checked by routing rules.
    pub(in crate::walk) fn of(cx: &Context<'a>, ipv6: bool) -> Option<Self> {
        let tables = cx.snapshot.firewall.tables(ipv6);
        let mangle = Mangle {
            prerouting: ActiveChain::of(&tables.mangle, mangle::PREROUTING),
            forward: ActiveChain::of(&tables.mangle, mangle::FORWARD),
            postrouting: ActiveChain::of(&tables.mangle, mangle::POSTROUTING),
        };
        let chains = [mangle.prerouting, mangle.forward, mangle.postrouting];
        let filter = ActiveChain::of(&tables.filter, filter::FORWARD);
        let mut all = chains.iter().chain([&filter]).flatten();
        let reads_marks = all.any(|active| active.chain.reads_packet_marks);
        let any = chains.iter().any(Option::is_some);
        let checks = cx.snapshot.family(ipv6).checks_way_back() && !cx.snapshot.rules.is_empty();
        (!checks).then_some(Self {
            raw: ActiveChain::of(&tables.raw, raw::PREROUTING),
            filter,
            mangle: any.then_some(mangle),
            reads_marks,
            keeps_marks: cx.snapshot.firewall.keeps_marks & any & !reads_marks,
        })
    }

    /// Returns true if rules match fields without a column.
    #[inline(always)]
    pub(in crate::walk) fn asks_fields(&self) -> bool {
        let asks =
            |active: Option<ActiveChain<'_>>| active.is_some_and(|active| !active.chain.by_columns);
        let mangle = self.mangle.is_some_and(|mangle| {
            asks(mangle.prerouting) | asks(mangle.forward) | asks(mangle.postrouting)
        });
        asks(self.raw) | asks(self.filter) | mangle
    }

    /// Returns the verdict of `filter` for a packet with this first candidate, if `filter` is the
    /// only chain with rules.
    #[inline(always)]
    pub(in crate::walk) fn ends(&self, first: &First) -> Quick {
        let filter = self.filter.map(|filter| filter.chain.quick(first));
        filter.unwrap_or(Quick::Accept(NOBODY))
    }

    /// Returns the verdict of a chain; a chain without rules accepts.
    #[inline(always)]
    fn says(&self, active: Option<ActiveChain<'_>>, first: &First) -> Quick {
        self.follow(active, first, |_| ())
    }

    /// Returns the verdict of a chain. Calls `passed` for each rule that counts the packet and lets
    /// it continue.
    #[inline(always)]
    fn follow(
        &self,
        active: Option<ActiveChain<'_>>,
        first: &First,
        passed: impl FnMut(u32),
    ) -> Quick {
        let Some(ActiveChain { chain, .. }) = active else {
            return Quick::Accept(NOBODY);
        };
        if !self.reads_marks {
            return chain.follow(first, passed);
        }
        match chain.quick(first) {
            Quick::Pass(_) | Quick::MarkAndPass(_) | Quick::MarkAndAccept(_) => Quick::Ask,
            end => end,
        }
    }

    /// Returns the combined verdict of all chains for a packet of a batch.
    #[inline(always)]
    pub(in crate::walk) fn verdict(&self, firsts: &FirstCandidates, at: usize) -> Verdict {
        let at = at % CHUNK;
        let filter = self.says(self.filter, &firsts.filter[at]);
        if let Some(mangle) = self.mangle {
            let early = self.says(mangle.prerouting, &firsts.prerouting[at]);
            let forward = self.says(mangle.forward, &firsts.forward[at]);
            let late = self.says(mangle.postrouting, &firsts.postrouting[at]);
            // Prerouting may change the route, so its rules cannot be evaluated this late.
            if early == Quick::Ask {
                return Verdict::AsksEarly;
            }
            let kept = firsts.kept >> at & 1 != 0;
            if (forward == Quick::Ask) | (late == Quick::Ask) | kept {
                return Verdict::Asks;
            }
        }
        match filter {
            Quick::Ask => Verdict::Asks,
            Quick::Drop(rule) => Verdict::Ends(rule),
            _ => Verdict::Passes,
        }
    }

    /// Returns the packet mark after prerouting. If no rule was evaluated, the mark is known only
    /// where `keeps_marks` is set.
    fn early_mark(
        &self,
        firsts: &FirstCandidates,
        at: usize,
        early: Option<&PreroutingResult>,
    ) -> u32 {
        let asked = early.map_or(0, |early| early.marks.packet);
        let chain = self.mangle.and_then(|mangle| mangle.prerouting);
        let mark = chain.and_then(|active| active.chain.mark(&firsts.prerouting[at % CHUNK]));
        mark.unwrap_or(asked)
    }

    /// Returns the packet mark with which an accepted packet leaves. Valid where `keeps_marks` is
    /// set.
    #[inline(never)]
    pub(in crate::walk) fn mark(
        &self,
        firsts: &FirstCandidates,
        at: usize,
        batch: &FlowBatch,
    ) -> u32 {
        let at = at % CHUNK;
        let of = |active: Option<ActiveChain<'_>>, first| {
            active.and_then(|active| active.chain.mark(first))
        };
        let (forward, late) = match self.mangle {
            Some(mangle) => (
                of(mangle.forward, &firsts.forward[at]),
                of(mangle.postrouting, &firsts.postrouting[at]),
            ),
            None => (None, None),
        };
        late.or(forward)
            .unwrap_or_else(|| self.early_mark(firsts, at, batch.early(at)))
    }

    /// Counts a packet for the rules of a chain that accept it.
    #[inline(always)]
    fn count(
        &self,
        active: Option<ActiveChain<'_>>,
        first: &First,
        len: u32,
        rules: &rule::Worker,
    ) {
        if let Quick::Accept(rule) = self.follow(active, first, |rule| rules.count(rule, len)) {
            rules.count(rule, len);
        }
    }

    /// Counts a packet of `len` bytes for the rules of all chains up to its verdict.
    #[inline(always)]
    pub(in crate::walk) fn count_all(
        &self,
        firsts: &FirstCandidates,
        at: usize,
        len: u32,
        verdict: Verdict,
        rules: &rule::Worker,
    ) {
        let at = at % CHUNK;
        if let Some(mangle) = self.mangle {
            self.count(mangle.prerouting, &firsts.prerouting[at], len, rules);
            self.count(mangle.forward, &firsts.forward[at], len, rules);
            if verdict == Verdict::Passes {
                self.count(mangle.postrouting, &firsts.postrouting[at], len, rules);
            }
        }
        self.count(self.filter, &firsts.filter[at], len, rules);
        if let Verdict::Ends(rule) = verdict {
            rules.count(rule, len);
        }
    }

    /// Returns the rules that count an accepted packet; `None` if there are more than [`Rules`]
    /// holds.
    pub(in crate::walk) fn counting(&self, firsts: &FirstCandidates, at: usize) -> Option<Rules> {
        let at = at % CHUNK;
        let mangle = |chain: fn(&Mangle<'a>) -> Option<ActiveChain<'a>>| {
            self.mangle.as_ref().and_then(chain)
        };
        let chains = [
            (mangle(|mangle| mangle.prerouting), &firsts.prerouting[at]),
            (mangle(|mangle| mangle.forward), &firsts.forward[at]),
            (mangle(|mangle| mangle.postrouting), &firsts.postrouting[at]),
            (self.filter, &firsts.filter[at]),
        ];
        let (mut rules, mut fits) = (Rules::default(), true);
        let mut count = |rule| fits &= rule == NOBODY || rules.push(rule);
        for (active, first) in chains {
            if let Quick::Accept(rule) = self.follow(active, first, &mut count) {
                count(rule);
            }
        }
        fits.then_some(rules)
    }

    /// Returns the prerouting chain if its rules may have to be evaluated, and affect routing by
    /// marks only.
    #[inline(always)]
    pub(in crate::walk) fn early(&self) -> Option<ActiveChain<'a>> {
        let early = self.mangle?.prerouting?;
        let asks = early.chain.has_to_ask | self.reads_marks;
        (asks & !early.table.decides).then_some(early)
    }

    /// Returns true if the prerouting rules must be evaluated for a packet of a batch.
    #[inline(always)]
    pub(in crate::walk) fn has_to_ask(&self, firsts: &FirstCandidates, at: usize) -> bool {
        let early = self.mangle.and_then(|mangle| mangle.prerouting);
        self.says(early, &firsts.prerouting[at % CHUNK]) == Quick::Ask
    }

    /// Looks up the candidate rules of prerouting for the packets of a batch, before routing.
    #[inline(always)]
    pub(in crate::walk) fn look_up_early(
        &self,
        batch: &FlowBatch,
        fields: &[Fields; CHUNK],
        firsts: &mut FirstCandidates,
    ) {
        firsts.kept = 0;
        if let Some(mangle) = self.mangle {
            let looked = BatchView {
                batch,
                fields,
                routed: false,
            };
            look_up(mangle.prerouting, &looked, &mut firsts.prerouting);
        }
    }

    /// Looks up the candidate rules of the later chains for the packets of a batch, after routing.
    #[inline(always)]
    pub(in crate::walk) fn look_up(
        &self,
        batch: &FlowBatch,
        fields: &[Fields; CHUNK],
        firsts: &mut FirstCandidates,
    ) {
        let looked = BatchView {
            batch,
            fields,
            routed: true,
        };
        look_up(self.filter, &looked, &mut firsts.filter);
        if let Some(mangle) = self.mangle {
            look_up(mangle.forward, &looked, &mut firsts.forward);
            look_up(mangle.postrouting, &looked, &mut firsts.postrouting);
        }
    }

    /// Decides about a packet of a batch, and writes it if the rules accept it.
    #[inline(always)]
    pub(in crate::walk) fn leave(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &mut Fields,
        member: &BatchMember<'_>,
        next_hops: &mut NextHopCache,
        outlet: &mut Outlet,
    ) -> Outcome {
        let BatchMember {
            at,
            batched,
            firsts,
            batch,
        } = *member;
        let next = next_hops.get(cx, batched.hop);
        let tracker = &outlet.memory.tracker;
        if !takes(next, fields, frame) || !keeps_to(next, batched, tracker) {
            return Outcome::Decider(leave_to_guard(frame, fields, batched, tracker));
        }
        let Ok(protects) = batch.protects(at) else {
            return Outcome::Decider(leave_to_guard(frame, fields, batched, tracker));
        };
        let verdict = self.verdict(firsts, at);
        match verdict {
            // Rules may change what the policy has to match.
            Verdict::Asks if protects != OutId::NONE => {
                Outcome::Decider(leave_to_guard(frame, fields, batched, tracker))
            }
            Verdict::AsksEarly => Outcome::Decider(leave_to_guard(frame, fields, batched, tracker)),
            // The changed TTL may expire here.
            Verdict::Asks if batch.early(at).is_some_and(PreroutingResult::sets_ttl) => {
                Outcome::Decider(leave_to_guard(frame, fields, batched, tracker))
            }
            Verdict::Asks => {
                if let Some(mangle) = self.mangle {
                    let first = &firsts.prerouting[at % CHUNK];
                    self.count(mangle.prerouting, first, fields.len, &outlet.memory.rules);
                }
                let early = batch.early(at).copied();
                let mut early = early.unwrap_or_else(|| PreroutingResult::of(batched));
                if self.keeps_marks {
                    early.marks.packet = self.early_mark(firsts, at, batch.early(at));
                }
                let evaluation = PlainEvaluation {
                    batched,
                    next,
                    at,
                    early,
                };
                plain_rules::evaluate(self, cx, frame, fields, &evaluation, firsts, outlet)
            }
            Verdict::Ends(_) => {
                self.count_all(firsts, at, fields.len, verdict, &outlet.memory.rules);
                Outcome::Ends(Exit::Drop(DropReason::FirewallFilter))
            }
            Verdict::Passes => {
                self.count_all(firsts, at, fields.len, verdict, &outlet.memory.rules);
                if self.keeps_marks {
                    frame.mark = self.mark(firsts, at, batch);
                }
                let mut shape = EgressHeader::of(&next.adjacency, fields.tuple.ipv6);
                if protects != OutId::NONE {
                    shape.out = protects;
                }
                write(frame, &shape, batched, &outlet.memory.tracker)
            }
        }
    }
}

/// Looks up the candidate rules of one chain for the packets of a batch.
#[inline(always)]
fn look_up(active: Option<ActiveChain<'_>>, looked: &BatchView<'_>, firsts: &mut [First; CHUNK]) {
    if let Some(ActiveChain { table, id, .. }) = active {
        let len = looked.batch.len().min(CHUNK);
        table.ahead(id, looked, &mut firsts[..len]);
    }
}

/// Leaves a packet to the decider: restores its received tuple and returns the evaluation results
/// that the decider must not repeat. If the connection ended while the packet waited in the batch, the
/// guard looks it up anew.
#[cold]
#[inline(never)]
fn leave_to_guard(
    frame: &Frame,
    fields: &mut Fields,
    batched: &BatchedPacket,
    tracker: &Tracker,
) -> EarlyLookup {
    match batched.way {
        Some(way) if !tracker.is_live(way) => {
            *fields = Fields::of(packet(frame));
            EarlyLookup::Ended
        }
        Some(way) => {
            fields.tuple = tracker.tuple(way);
            EarlyLookup::Tracked(batched.passed.track(way))
        }
        None => EarlyLookup::Untracked,
    }
}

/// Writes an accepted packet to a next hop of kind forward.
#[inline(always)]
pub(in crate::walk) fn write(
    frame: &mut Frame,
    shape: &EgressHeader,
    batched: &BatchedPacket,
    tracker: &Tracker,
) -> Outcome {
    let translated = batched
        .way
        .filter(|_| batched.passed.nat != NatState::default());
    match shape.depart(frame, batched.len, translated, tracker) {
        Some(()) => Outcome::Leaves(shape.out),
        None => Outcome::Ends(Exit::Drop(DropReason::FirewallTruncated)),
    }
}

/// Returns true if the connection may leave by this next hop without a check of its egress
/// interface ([`Tracker::keeps_to`]). Connections without source translation need no such check.
#[inline(always)]
pub(in crate::walk) fn keeps_to(
    next: &CachedNextHop,
    batched: &BatchedPacket,
    tracker: &Tracker,
) -> bool {
    let translated = batched.passed.nat.intersects(NatState::SRCNAT);
    let way = batched.way.filter(|_| translated);
    way.is_none_or(|way| {
        let next_hop = NextHop {
            id: batched.hop,
            generation: next.generation,
        };
        tracker.keeps_to(way, next_hop)
    })
}

/// Returns true if the packet fits the next hop unchanged and does not leave by its ingress
/// interface.
#[inline(always)]
fn takes(next: &CachedNextHop, fields: &Fields, frame: &Frame) -> bool {
    next.simple & (next.adjacency.egress != frame.ingress) & (fields.len <= next.adjacency.mtu)
}
