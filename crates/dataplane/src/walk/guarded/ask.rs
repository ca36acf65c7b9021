//! Evaluates the rules of a plain packet that bit sets cannot decide, one by one and in order, and
//! writes their changes into the packet.

use frame::Frame;

use super::chains::{Known, Menu, waiting};
use super::fasttrack::Shape;
use super::passage::Early;
use super::plain::{Busy, Firsts, Outcome, Plain, write};
use super::run::Waiting;
use super::{Memory, Passage, Told, commit, connection, translation};
use crate::connection::Track;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::packet::{Fields, Tuple};
use crate::rule::{Ahead, Changes, First, Marks, Subject};
use crate::walk::near::Next;
use crate::walk::{Context, Exit, egress};

/// A plain packet whose rules are evaluated one by one.
pub(super) struct Asking<'a> {
    pub(super) waiting: &'a Waiting,
    pub(super) next: &'a Next,
    /// Position of the packet in the run.
    pub(super) at: usize,
    /// Result of mangle's prerouting. The later candidates were looked up with these marks.
    pub(super) early: Early,
}

/// A chain to evaluate for a packet.
struct Step<'a> {
    busy: Busy<'a>,
    /// The first rule of the chain that may match the packet.
    first: &'a First,
    /// The menu of the chain, which gives the drop reason.
    menu: Menu,
}

/// The packet's fields, marks and changes during rule evaluation.
struct Asked<'a> {
    received: Tuple,
    track: Track,
    marks: Marks,
    changes: Changes,
    asking: &'a Asking<'a>,
}

/// Evaluates the chains forward, filter and postrouting, and writes a packet that they accept.
#[inline(never)]
pub(super) fn all(
    plain: &Plain<'_>,
    cx: &Context<'_>,
    frame: &mut Frame,
    fields: &mut Fields,
    asking: &Asking<'_>,
    firsts: &Firsts,
    outlet: &mut Outlet,
) -> Outcome {
    let (waiting, at) = (asking.waiting, asking.at);
    let mut asked = Asked {
        received: fields.tuple,
        track: match waiting.way {
            Some(way) => waiting.passed.track(way),
            None => Track::default(),
        },
        // Earlier rules may have marked the connection since the lookup.
        marks: Marks {
            connection: match waiting.way {
                Some(way) => outlet.memory.tracker.mark(way),
                None => asking.early.marks.connection,
            },
            ..asking.early.marks
        },
        changes: asking.early.changes,
        asking,
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
    for (busy, first, menu) in chains {
        let Some(busy) = busy else {
            continue;
        };
        let step = Step { busy, first, menu };
        let (memory, told) = (&mut outlet.memory, &mut outlet.told);
        let exit = asked.chain(cx, frame, fields, &step, memory, told);
        if outlet.told.has_events() {
            let tracker = &outlet.memory.tracker;
            let translation = translation::known(tracker, &asked.track);
            outlet.told.explain(translation);
            outlet.tell(frame);
        }
        if let Some(exit) = exit {
            return Outcome::Ends(exit);
        }
    }
    asked.keep(cx, &mut outlet.memory);
    asked.write(frame, fields, outlet)
}

impl Asked<'_> {
    /// Evaluates one chain. Returns the exit of the packet if a rule ends its walk.
    fn chain(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        fields: &Fields,
        step: &Step<'_>,
        memory: &mut Memory,
        told: &mut Told,
    ) -> Option<Exit> {
        let mut subject = Subject {
            egress: self.asking.next.class,
            leaves_by: self.asking.next.adjacency.egress,
            changes: self.changes,
            ..waiting(cx, frame, fields, &self.track, self.marks)
        };
        let facts = Known {
            cx,
            tracker: &memory.tracker,
            track: &self.track,
            received: &self.received,
            bytes: fields.len,
        };
        let ahead = match self.marks == self.asking.early.marks {
            true => Ahead::of(*step.first),
            false => Ahead::default(),
        };
        let worker = &mut memory.rules;
        let verdict = ahead.run(
            step.busy.table,
            step.busy.id,
            &mut subject,
            &facts,
            worker,
            told,
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
        let waiting = self.asking.waiting;
        let Some(way) = waiting.way else {
            return;
        };
        let tracker = &mut memory.tracker;
        if self.marks.connection != tracker.mark(way) {
            tracker.set_mark(way, self.marks.connection);
        }
        if self.changes.fasttrack {
            connection::stay(cx, tracker, &self.track, true, waiting.hop);
        }
    }

    fn write(&self, frame: &mut Frame, fields: &Fields, outlet: &mut Outlet) -> Outcome {
        let Asking { waiting, next, .. } = self.asking;
        let kept = Changes {
            fasttrack: self.changes.fasttrack,
            counted: self.changes.counted,
            ..Changes::default()
        };
        let tracker = &outlet.memory.tracker;
        frame.mark = self.marks.packet;
        if self.changes == kept {
            let shape = Shape::of(&next.adjacency, fields.tuple.ipv6);
            return write(frame, &shape, waiting, tracker);
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
