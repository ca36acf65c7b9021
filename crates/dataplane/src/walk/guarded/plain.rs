//! The short way: whole TCP segments and UDP datagrams without options, to a next hop of kind
//! forward, either untracked or in the middle of a connection that both ends have confirmed.
//!
//! The short way evaluates the same rules as [`super::Guard`] on the same subject, and omits the
//! checks that plain packets pass by definition: an expiring TTL, a packet larger than the MTU, a
//! new connection. The outcome of one packet affects the next only where a rule marks their
//! connection, so consecutive packets are collected in a [`Run`]. Other packets are left untouched
//! for the guard.

use frame::Frame;
use frame::shortcut::Rules;

use super::ask::{self, Asking};
use super::fasttrack::Shape;
use super::passage::Early;
use super::run::{Looked, Run, Waiting};
use super::{CHUNK, Met};
use crate::connection::{NatState, NextHop, Tracker};
use crate::drop::DropReason;
use crate::firewall::{filter, mangle, raw};
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::rule::{self, Chain, ChainId, First, NOBODY, Quick, Table};
use crate::walk::near::{Near, Next};
use crate::walk::packet::packet;
use crate::walk::{Context, Exit};

/// A chain that has rules.
#[derive(Clone, Copy)]
pub(super) struct Busy<'a> {
    pub(super) table: &'a Table,
    pub(super) id: ChainId,
    pub(super) chain: &'a Chain,
}

impl<'a> Busy<'a> {
    fn of(table: &'a Table, id: ChainId) -> Option<Self> {
        let id = table.busy(id)?;
        let chain = table.chain(id)?;
        Some(Self { table, id, chain })
    }
}

/// The chains that plain packets of one family pass.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a> {
    pub(super) raw: Option<Busy<'a>>,
    pub(super) filter: Option<Busy<'a>>,
    /// `None` if no `mangle` chain has rules for plain packets.
    pub(super) mangle: Option<Mangle<'a>>,
    /// Some rule matches packet marks.
    reads_marks: bool,
    /// A consumer after the walk reads packet marks, but no rule does.
    pub(super) keeps_marks: bool,
}

/// The chains of `mangle`, in their order around `filter`.
#[derive(Clone, Copy)]
pub(super) struct Mangle<'a> {
    prerouting: Option<Busy<'a>>,
    pub(super) forward: Option<Busy<'a>>,
    pub(super) postrouting: Option<Busy<'a>>,
}

/// The first candidate rules of each packet in the chains after connection tracking, by the
/// packet's position in the run.
pub(super) struct Firsts {
    pub(super) filter: [First; CHUNK],
    prerouting: [First; CHUNK],
    pub(super) forward: [First; CHUNK],
    pub(super) postrouting: [First; CHUNK],
    /// One bit per packet: mangle's prerouting made changes that must be written when the packet
    /// leaves.
    kept: u64,
}

/// A packet of a run, and the candidate rules of the run.
pub(super) struct InRun<'a> {
    /// Position of the packet in the run.
    pub(super) at: usize,
    pub(super) waiting: &'a Waiting,
    pub(super) firsts: &'a Firsts,
    pub(super) run: &'a Run,
}

impl Firsts {
    pub(super) const fn new() -> Self {
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
    pub(super) fn prerouting(&self, at: usize) -> First {
        self.prerouting[at % CHUNK]
    }

    /// Records that all prerouting rules were evaluated for a packet. `keep`: they made changes to
    /// be written later.
    #[inline(always)]
    pub(super) fn asked(&mut self, at: usize, keep: bool) {
        self.prerouting[at % CHUNK] = First::NOBODY;
        self.kept |= u64::from(keep) << (at % CHUNK);
    }
}

/// The verdict of all chains, as far as the first candidates decide it. Nothing is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passes,
    /// This rule of `filter` drops the packet.
    Ends(u32),
    /// The rules must be evaluated one by one.
    Asks,
    /// Prerouting rules must be evaluated before the packet is routed.
    AsksEarly,
}

/// The outcome of the short way for a packet.
pub(super) enum Outcome {
    /// The packet leaves by this out.
    Leaves(OutId),
    Ends(Exit),
    /// The packet is left to the guard, with the result of its connection lookup.
    Guard(Met),
}

impl<'a> Plain<'a> {
    /// Returns `None` if routing rules or IPsec policies must be checked for every packet.
    pub(super) fn of(cx: &Context<'a>, ipv6: bool) -> Option<Self> {
        let tables = cx.snapshot.firewall.tables(ipv6);
        let mangle = Mangle {
            prerouting: Busy::of(&tables.mangle, mangle::PREROUTING),
            forward: Busy::of(&tables.mangle, mangle::FORWARD),
            postrouting: Busy::of(&tables.mangle, mangle::POSTROUTING),
        };
        let chains = [mangle.prerouting, mangle.forward, mangle.postrouting];
        let filter = Busy::of(&tables.filter, filter::FORWARD);
        let mut all = chains.iter().chain([&filter]).flatten();
        let reads_marks = all.any(|busy| busy.chain.reads_packet_marks);
        let any = chains.iter().any(Option::is_some);
        let alone = cx.snapshot.rules.is_empty() && cx.snapshot.ipsec.is_empty();
        alone.then_some(Self {
            raw: Busy::of(&tables.raw, raw::PREROUTING),
            filter,
            mangle: any.then_some(mangle),
            reads_marks,
            keeps_marks: cx.snapshot.firewall.keeps_marks & any & !reads_marks,
        })
    }

    /// Returns true if rules match fields without a column.
    #[inline(always)]
    pub(super) fn asks_fields(&self) -> bool {
        let asks = |busy: Option<Busy<'_>>| busy.is_some_and(|busy| !busy.chain.by_columns);
        let mangle = self.mangle.is_some_and(|mangle| {
            asks(mangle.prerouting) | asks(mangle.forward) | asks(mangle.postrouting)
        });
        asks(self.raw) | asks(self.filter) | mangle
    }

    /// Returns the verdict of `filter` for a packet with this first candidate, if `filter` is the
    /// only chain with rules.
    #[inline(always)]
    pub(super) fn ends(&self, first: &First) -> Quick {
        let filter = self.filter.map(|filter| filter.chain.quick(first));
        filter.unwrap_or(Quick::Accept(NOBODY))
    }

    /// Returns the verdict of a chain; a chain without rules accepts.
    #[inline(always)]
    fn says(&self, busy: Option<Busy<'_>>, first: &First) -> Quick {
        self.follow(busy, first, |_| ())
    }

    /// Returns the verdict of a chain. Calls `passed` for each rule that counts the packet and lets
    /// it continue.
    #[inline(always)]
    fn follow(&self, busy: Option<Busy<'_>>, first: &First, passed: impl FnMut(u32)) -> Quick {
        let Some(Busy { chain, .. }) = busy else {
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

    /// Returns the combined verdict of all chains for a packet of a run.
    #[inline(always)]
    pub(super) fn verdict(&self, firsts: &Firsts, at: usize) -> Verdict {
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
    fn early_mark(&self, firsts: &Firsts, at: usize, early: Option<&Early>) -> u32 {
        let asked = early.map_or(0, |early| early.marks.packet);
        let chain = self.mangle.and_then(|mangle| mangle.prerouting);
        let mark = chain.and_then(|busy| busy.chain.mark(&firsts.prerouting[at % CHUNK]));
        mark.unwrap_or(asked)
    }

    /// Returns the packet mark with which an accepted packet leaves. Valid where `keeps_marks` is
    /// set.
    #[inline(never)]
    pub(super) fn mark(&self, firsts: &Firsts, at: usize, run: &Run) -> u32 {
        let at = at % CHUNK;
        let of = |busy: Option<Busy<'_>>, first| busy.and_then(|busy| busy.chain.mark(first));
        let (forward, late) = match self.mangle {
            Some(mangle) => (
                of(mangle.forward, &firsts.forward[at]),
                of(mangle.postrouting, &firsts.postrouting[at]),
            ),
            None => (None, None),
        };
        late.or(forward)
            .unwrap_or_else(|| self.early_mark(firsts, at, run.early(at)))
    }

    /// Counts a packet for the rules of a chain that accept it.
    #[inline(always)]
    fn count(&self, busy: Option<Busy<'_>>, first: &First, len: u32, rules: &rule::Worker) {
        if let Quick::Accept(rule) = self.follow(busy, first, |rule| rules.count(rule, len)) {
            rules.count(rule, len);
        }
    }

    /// Counts a packet of `len` bytes for the rules of all chains up to its verdict.
    #[inline(always)]
    pub(super) fn count_all(
        &self,
        firsts: &Firsts,
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
    pub(super) fn counting(&self, firsts: &Firsts, at: usize) -> Option<Rules> {
        let at = at % CHUNK;
        let mangle =
            |chain: fn(&Mangle<'a>) -> Option<Busy<'a>>| self.mangle.as_ref().and_then(chain);
        let chains = [
            (mangle(|mangle| mangle.prerouting), &firsts.prerouting[at]),
            (mangle(|mangle| mangle.forward), &firsts.forward[at]),
            (mangle(|mangle| mangle.postrouting), &firsts.postrouting[at]),
            (self.filter, &firsts.filter[at]),
        ];
        let (mut rules, mut fits) = (Rules::default(), true);
        let mut count = |rule| fits &= rule == NOBODY || rules.push(rule);
        for (busy, first) in chains {
            if let Quick::Accept(rule) = self.follow(busy, first, &mut count) {
                count(rule);
            }
        }
        fits.then_some(rules)
    }

    /// Returns the prerouting chain if its rules may have to be evaluated, and affect routing by
    /// marks only.
    #[inline(always)]
    pub(super) fn early(&self) -> Option<Busy<'a>> {
        let early = self.mangle?.prerouting?;
        let asks = early.chain.has_to_ask | self.reads_marks;
        (asks & !early.table.decides).then_some(early)
    }

    /// Returns true if the prerouting rules must be evaluated for a packet of a run.
    #[inline(always)]
    pub(super) fn has_to_ask(&self, firsts: &Firsts, at: usize) -> bool {
        let early = self.mangle.and_then(|mangle| mangle.prerouting);
        self.says(early, &firsts.prerouting[at % CHUNK]) == Quick::Ask
    }

    /// Looks up the candidate rules of prerouting for the packets of a run, before routing.
    #[inline(always)]
    pub(super) fn look_up_early(&self, run: &Run, fields: &[Fields; CHUNK], firsts: &mut Firsts) {
        firsts.kept = 0;
        if let Some(mangle) = self.mangle {
            let looked = Looked {
                run,
                fields,
                routed: false,
            };
            look_up(mangle.prerouting, &looked, &mut firsts.prerouting);
        }
    }

    /// Looks up the candidate rules of the later chains for the packets of a run, after routing.
    #[inline(always)]
    pub(super) fn look_up(&self, run: &Run, fields: &[Fields; CHUNK], firsts: &mut Firsts) {
        let looked = Looked {
            run,
            fields,
            routed: true,
        };
        look_up(self.filter, &looked, &mut firsts.filter);
        if let Some(mangle) = self.mangle {
            look_up(mangle.forward, &looked, &mut firsts.forward);
            look_up(mangle.postrouting, &looked, &mut firsts.postrouting);
        }
    }

    /// Decides about a packet of a run, and writes it if the rules accept it.
    #[inline(always)]
    pub(super) fn leave(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        fields: &mut Fields,
        in_run: &InRun<'_>,
        near: &mut Near,
        outlet: &mut Outlet,
    ) -> Outcome {
        let InRun {
            at,
            waiting,
            firsts,
            run,
        } = *in_run;
        let next = near.get(cx, waiting.hop);
        let tracker = &outlet.memory.tracker;
        if !takes(next, fields, frame) || !keeps_to(next, waiting, tracker) {
            return Outcome::Guard(give_up(frame, fields, waiting, tracker));
        }
        let verdict = self.verdict(firsts, at);
        match verdict {
            Verdict::AsksEarly => Outcome::Guard(give_up(frame, fields, waiting, tracker)),
            // The changed TTL may expire here.
            Verdict::Asks if run.early(at).is_some_and(Early::sets_ttl) => {
                Outcome::Guard(give_up(frame, fields, waiting, tracker))
            }
            Verdict::Asks => {
                if let Some(mangle) = self.mangle {
                    let first = &firsts.prerouting[at % CHUNK];
                    self.count(mangle.prerouting, first, fields.len, &outlet.memory.rules);
                }
                let early = run.early(at).copied();
                let mut early = early.unwrap_or_else(|| Early::of(waiting));
                if self.keeps_marks {
                    early.marks.packet = self.early_mark(firsts, at, run.early(at));
                }
                let asking = Asking {
                    waiting,
                    next,
                    at,
                    early,
                };
                ask::all(self, cx, frame, fields, &asking, firsts, outlet)
            }
            Verdict::Ends(_) => {
                self.count_all(firsts, at, fields.len, verdict, &outlet.memory.rules);
                Outcome::Ends(Exit::Drop(DropReason::FirewallFilter))
            }
            Verdict::Passes => {
                self.count_all(firsts, at, fields.len, verdict, &outlet.memory.rules);
                if self.keeps_marks {
                    frame.mark = self.mark(firsts, at, run);
                }
                let shape = Shape::of(&next.adjacency, fields.tuple.ipv6);
                write(frame, &shape, waiting, &outlet.memory.tracker)
            }
        }
    }
}

/// Looks up the candidate rules of one chain for the packets of a run.
#[inline(always)]
fn look_up(busy: Option<Busy<'_>>, looked: &Looked<'_>, firsts: &mut [First; CHUNK]) {
    if let Some(Busy { table, id, .. }) = busy {
        let len = looked.run.len().min(CHUNK);
        table.ahead(id, looked, &mut firsts[..len]);
    }
}

/// Leaves a packet to the guard: restores its received tuple and returns the evaluation results
/// that the guard must not repeat. If the connection ended while the packet waited in the run, the
/// guard looks it up anew.
#[cold]
#[inline(never)]
fn give_up(frame: &Frame, fields: &mut Fields, waiting: &Waiting, tracker: &Tracker) -> Met {
    match waiting.way {
        Some(way) if !tracker.is_live(way) => {
            *fields = Fields::of(packet(frame));
            Met::Ended
        }
        Some(way) => {
            fields.tuple = tracker.tuple(way);
            Met::Tracked(waiting.passed.track(way))
        }
        None => Met::Untracked,
    }
}

/// Writes an accepted packet to a next hop of kind forward.
#[inline(always)]
pub(super) fn write(
    frame: &mut Frame,
    shape: &Shape,
    waiting: &Waiting,
    tracker: &Tracker,
) -> Outcome {
    let translated = waiting
        .way
        .filter(|_| waiting.passed.nat != NatState::default());
    match shape.depart(frame, waiting.len, translated, tracker) {
        Some(()) => Outcome::Leaves(shape.out),
        None => Outcome::Ends(Exit::Drop(DropReason::FirewallTruncated)),
    }
}

/// Returns true if the connection may leave by this next hop without a check of its egress
/// interface ([`Tracker::keeps_to`]). Connections without source translation need no such check.
#[inline(always)]
pub(super) fn keeps_to(next: &Next, waiting: &Waiting, tracker: &Tracker) -> bool {
    let translated = waiting.passed.nat.intersects(NatState::SRCNAT);
    let way = waiting.way.filter(|_| translated);
    way.is_none_or(|way| {
        let next_hop = NextHop {
            id: waiting.hop,
            generation: next.generation,
        };
        tracker.keeps_to(way, next_hop)
    })
}

/// Returns true if the packet fits the next hop unchanged and does not leave by its ingress
/// interface.
#[inline(always)]
fn takes(next: &Next, fields: &Fields, frame: &Frame) -> bool {
    next.simple & (next.adjacency.egress != frame.ingress) & (fields.len <= next.adjacency.mtu)
}
