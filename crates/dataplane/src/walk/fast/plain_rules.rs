//! Evaluates the rules of a plain packet that bit sets cannot decide, one by one and in order, and
//! writes their changes into the packet.

use frame::Frame;

use super::fasttrack::EgressHeader;
use super::flow_batch::BatchedPacket;
use super::next_hop_cache::CachedNextHop;
use super::plain_packets::{ActiveChain, FirstCandidates, Outcome, PlainChains, write};
use crate::connection::Track;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::packet::{Fields, Tuple};
use crate::rule::{Ahead, Changes, First, Marks, Subject};
use crate::walk::decide::chains::{ConnectionFacts, Menu, plain_subject};
use crate::walk::decide::passage::PreroutingResult;
use crate::walk::decide::{Memory, Passage, RuleEvents, commit, connection, translation};
use crate::walk::{Context, Exit, egress};

/// A plain packet whose rules are evaluated one by one.
pub(in crate::walk) struct PlainEvaluation<'a> {
    pub(in crate::walk) batched: &'a BatchedPacket,
    pub(in crate::walk) next: &'a CachedNextHop,
    /// Position of the packet in the batch.
    pub(in crate::walk) at: usize,
    /// Result of mangle's prerouting. The later candidates were looked up with these marks.
    pub(in crate::walk) early: PreroutingResult,
}

/// A chain to evaluate for a packet.
struct ChainStep<'a> {
    active: ActiveChain<'a>,
    /// The first rule of the chain that may match the packet.
    first: &'a First,
    /// The menu of the chain, which gives the drop reason.
    menu: Menu,
}

/// The packet's fields, marks and changes during rule evaluation.
struct EvaluationState<'a> {
    received: Tuple,
    track: Track,
    marks: Marks,
    changes: Changes,
    evaluation: &'a PlainEvaluation<'a>,
}

/// Evaluates the chains forward, filter and postrouting, and writes a packet that they accept.
#[inline(never)]
pub(in crate::walk) fn evaluate(
    plain: &PlainChains<'_>,
    cx: &Context<'_>,
    frame: &mut Frame,
    fields: &mut Fields,
    evaluation: &PlainEvaluation<'_>,
    firsts: &FirstCandidates,
    outlet: &mut Outlet,
) -> Outcome {
    let (batched, at) = (evaluation.batched, evaluation.at);
    let mut state = EvaluationState {
        received: fields.tuple,
        track: match batched.way {
            Some(way) => batched.passed.track(way),
            None => Track::default(),
        },
        // Earlier rules may have marked the connection since the lookup.
        marks: Marks {
            connection: match batched.way {
                Some(way) => outlet.memory.tracker.mark(way),
                None => evaluation.early.marks.connection,
            },
            ..evaluation.early.marks
        },
        changes: evaluation.early.changes,
        evaluation,
    };
    fields.ttl -= 1;
    let (forward, late) = match plain.mangle {
        Some(mangle) => (mangle.forward, mangle.postrouting),
        None => (None, None),
    };
    let chains = [
        (forward, &firsts.forward[at], Menu::Mangle),
        (plain.filter, &firsts.filter[at], Menu::Filter),
        (late, &firsts.postrouting[at], Menu::Mangle),
    ];
    for (active, first, menu) in chains {
        let Some(active) = active else {
            continue;
        };
        let step = ChainStep {
            active,
            first,
            menu,
        };
        let (memory, rule_events) = (&mut outlet.memory, &mut outlet.rule_events);
        let exit = state.chain(cx, frame, fields, &step, memory, rule_events);
        if outlet.rule_events.has_events() {
            let tracker = &outlet.memory.tracker;
            let translation = translation::known(tracker, &state.track);
            outlet.rule_events.explain(translation);
            outlet.send_rule_events(frame);
        }
        if let Some(exit) = exit {
            return Outcome::Ends(exit);
        }
    }
    state.keep(cx, &mut outlet.memory);
    state.write(frame, fields, outlet)
}

impl EvaluationState<'_> {
    /// Evaluates one chain. Returns the exit of the packet if a rule ends its walk.
    fn chain(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        fields: &Fields,
        step: &ChainStep<'_>,
        memory: &mut Memory,
        rule_events: &mut RuleEvents,
    ) -> Option<Exit> {
        let mut subject = Subject {
            egress: self.evaluation.next.class,
            leaves_by: self.evaluation.next.adjacency.egress,
            changes: self.changes,
            ..plain_subject(cx, frame, fields, &self.track, self.marks)
        };
        let facts = ConnectionFacts {
            cx,
            tracker: &memory.tracker,
            track: &self.track,
            received: &self.received,
            bytes: fields.len,
        };
        let ahead = match self.marks == self.evaluation.early.marks {
            true => Ahead::of(*step.first),
            false => Ahead::default(),
        };
        let worker = &mut memory.rules;
        let verdict = ahead.run(
            step.active.table,
            step.active.id,
            &mut subject,
            &facts,
            worker,
            rule_events,
        );
        (self.marks, self.changes) = (subject.marks, subject.changes);
        if self.changes.counted
            && let Some(way) = self.track.way
        {
            memory.tracker.set_counted(way);
        }
        step.menu.exit(verdict)
    }

    /// Stores the marks and flags that rules set for the packet's connection.
    fn keep(&self, cx: &Context<'_>, memory: &mut Memory) {
        let batched = self.evaluation.batched;
        let Some(way) = batched.way else {
            return;
        };
        let tracker = &mut memory.tracker;
        if self.marks.connection != tracker.mark(way) {
            tracker.set_mark(way, self.marks.connection);
        }
        if self.changes.fasttrack {
            connection::stay(cx, tracker, &self.track, true, batched.hop);
        }
    }

    fn write(&self, frame: &mut Frame, fields: &Fields, outlet: &mut Outlet) -> Outcome {
        let PlainEvaluation { batched, next, .. } = self.evaluation;
        let kept = Changes {
            fasttrack: self.changes.fasttrack,
            counted: self.changes.counted,
            ..Changes::default()
        };
        let tracker = &outlet.memory.tracker;
        frame.mark = self.marks.packet;
        if self.changes == kept {
            let shape = EgressHeader::of(&next.adjacency, fields.tuple.ipv6);
            return write(frame, &shape, batched, tracker);
        }
        let passage = Passage {
            track: self.track,
            marks: self.marks,
            changes: self.changes,
            translation: translation::known(tracker, &self.track),
            mtu: next.adjacency.mtu,
            ..Passage::new(*fields)
        };
        match commit(frame, &passage) {
            Err(drop) => Outcome::Ends(Exit::Drop(drop)),
            Ok(()) if egress::rewrite(frame, &next.adjacency) => {
                Outcome::Leaves(next.adjacency.out)
            }
            Ok(()) => Outcome::Ends(Exit::Drop(DropReason::NoBuffer)),
        }
    }
}
