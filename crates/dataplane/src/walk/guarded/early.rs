//! Evaluates the rules of mangle's prerouting that bit sets cannot decide, for the packets of a run
//! before routing. A routing mark selects another table; other changes are stored until the packet
//! leaves.
//!
//! All packets of a run pass these rules before later chains see any of them, so an address that a
//! later chain puts on a list is seen by the packets behind the run. A connection mark takes effect
//! at once: the next packet has it.

use super::chains::{Known, waiting};
use super::chunk::{Chunk, Passes};
use super::passage::Early;
use super::plain::{Busy, Plain};
use super::run::Waiting;
use super::{Ahead, CHUNK, translation};
use crate::connection::Track;
use crate::rule::{Ahead as First, Changes, Marks};

impl Early {
    /// Returns the result for a packet whose rules were not evaluated.
    #[inline(always)]
    pub(super) fn of(waiting: &Waiting) -> Self {
        Self {
            marks: Marks {
                connection: waiting.passed.mark,
                ..Marks::default()
            },
            changes: Changes::default(),
        }
    }

    /// Returns true if a rule changes the packet's TTL.
    pub(super) fn sets_ttl(&self) -> bool {
        self.changes.ttl.is_some()
    }

    /// Returns true if rules change more than the packet's marks.
    fn is_to_be_kept(&self) -> bool {
        self.changes != Changes::default()
    }
}

impl Passes<'_, '_> {
    /// Evaluates mangle's prerouting for the packets of the run whose candidate rules require it.
    #[inline(always)]
    pub(super) fn ask_early(&mut self, plain: &Plain<'_>, chunk: &Chunk<'_>, ahead: &mut Ahead) {
        let Some(busy) = plain.early() else {
            return;
        };
        // Packets whose connection mark changed after their lookup.
        let mut others = 0_u64;
        for at in 0..ahead.run.len() {
            let looked_up = others >> (at % CHUNK) & 1 == 0;
            if !looked_up || plain.has_to_ask(&ahead.firsts, at) {
                others |= self.ask_one(busy, at, looked_up, chunk, ahead);
            }
        }
    }

    /// Evaluates the rules for one packet. Returns a bit for each later packet of the run whose
    /// connection mark changed.
    #[inline(never)]
    fn ask_one(
        &mut self,
        busy: Busy<'_>,
        at: usize,
        looked_up: bool,
        chunk: &Chunk<'_>,
        ahead: &mut Ahead,
    ) -> u64 {
        let one = ahead.run.get(at);
        let frame = &chunk.frames[one.place];
        let first = match looked_up {
            true => First::of(ahead.firsts.prerouting(at)),
            false => First::default(),
        };
        let fields = &*ahead.fields(one.place, frame);
        let track = match one.way {
            Some(way) => one.passed.track(way),
            None => Track::default(),
        };
        let before = Early::of(&one);
        let mut subject = waiting(self.cx, frame, fields, &track, before.marks);
        let outlet = &mut *self.outlet;
        let facts = Known {
            cx: self.cx,
            tracker: &outlet.memory.tracker,
            track: &track,
            received: &fields.tuple,
            bytes: fields.len,
        };
        let (worker, told) = (&mut outlet.memory.rules, &mut outlet.told);
        // `Plain::early` returns a chain only if none of its rules ends a packet.
        let _accepted = first.run(busy.table, busy.id, &mut subject, &facts, worker, told);
        let early = Early {
            marks: subject.marks,
            changes: subject.changes,
        };
        if outlet.told.has_events() {
            let translation = translation::known(&outlet.memory.tracker, &track);
            outlet.told.explain(translation);
            outlet.tell(frame);
        }
        ahead.firsts.asked(at, early.is_to_be_kept());
        ahead.run.remember(at, early);
        if early.changes.counted
            && let Some(way) = one.way
        {
            outlet.memory.tracker.set_counted(way);
        }
        let mark = early.marks.connection;
        match one.way.filter(|_| mark != before.marks.connection) {
            Some(way) => {
                outlet.memory.tracker.set_mark(way, mark);
                ahead.run.mark(at, way, mark)
            }
            None => 0,
        }
    }
}
