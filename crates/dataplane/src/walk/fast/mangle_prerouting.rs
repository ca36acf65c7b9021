//! Evaluates the rules of mangle's prerouting that bit sets cannot decide, for the packets of a batch
//! before routing. A routing mark selects another table; other changes are stored until the packet
//! leaves.
//!
//! All packets of a batch pass these rules before later chains see any of them, so an address that a
//! later chain puts on a list is seen by the packets behind the batch. A connection mark takes effect
//! at once: the next packet has it.

use super::ChunkLookups;
use super::chunk::{Chunk, Passes};
use super::flow_batch::BatchedPacket;
use super::plain_packets::{ActiveChain, PlainChains};
use crate::connection::Track;
use crate::rule::{Ahead as First, Changes, Marks};
use crate::walk::decide::chains::{ConnectionFacts, plain_subject};
use crate::walk::decide::passage::PreroutingResult;
use crate::walk::decide::{CHUNK, translation};

impl PreroutingResult {
    /// Returns the result for a packet whose rules were not evaluated.
    #[inline(always)]
    pub(in crate::walk) fn of(batched: &BatchedPacket) -> Self {
        Self {
            marks: Marks {
                connection: batched.passed.mark,
                ..Marks::default()
            },
            changes: Changes::default(),
        }
    }

    /// Returns true if a rule changes the packet's TTL.
    pub(in crate::walk) fn sets_ttl(&self) -> bool {
        self.changes.ttl.is_some()
    }

    /// Returns true if rules change more than the packet's marks.
    fn has_changes(&self) -> bool {
        self.changes != Changes::default()
    }
}

impl Passes<'_, '_> {
    /// Evaluates mangle's prerouting for the packets of the batch whose candidate rules require it.
    #[inline(always)]
    pub(in crate::walk) fn evaluate_prerouting(
        &mut self,
        plain: &PlainChains<'_>,
        chunk: &Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) {
        let Some(active) = plain.early() else {
            return;
        };
        // Packets whose connection mark changed after their lookup.
        let mut others = 0_u64;
        for at in 0..lookups.batch.len() {
            let looked_up = others >> (at % CHUNK) & 1 == 0;
            if !looked_up || plain.has_to_ask(&lookups.firsts, at) {
                others |= self.evaluate_one(active, at, looked_up, chunk, lookups);
            }
        }
    }

    /// Evaluates the rules for one packet. Returns a bit for each later packet of the batch whose
    /// connection mark changed.
    #[inline(never)]
    fn evaluate_one(
        &mut self,
        active: ActiveChain<'_>,
        at: usize,
        looked_up: bool,
        chunk: &Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> u64 {
        let packet = lookups.batch.get(at);
        let frame = &chunk.frames[packet.place];
        let first = match looked_up {
            true => First::of(lookups.firsts.prerouting(at)),
            false => First::default(),
        };
        let fields = &*lookups.fields(packet.place, frame);
        let track = match packet.way {
            Some(way) => packet.passed.track(way),
            None => Track::default(),
        };
        let before = PreroutingResult::of(&packet);
        let mut subject = plain_subject(self.cx, frame, fields, &track, before.marks);
        let outlet = &mut *self.outlet;
        let facts = ConnectionFacts {
            cx: self.cx,
            tracker: &outlet.memory.tracker,
            track: &track,
            received: &fields.tuple,
            bytes: fields.len,
        };
        let (worker, rule_events) = (&mut outlet.memory.rules, &mut outlet.rule_events);
        // `PlainChains::early` returns a chain only if none of its rules ends a packet.
        let _accepted = first.run(
            active.table,
            active.id,
            &mut subject,
            &facts,
            worker,
            rule_events,
        );
        let early = PreroutingResult {
            marks: subject.marks,
            changes: subject.changes,
        };
        if outlet.rule_events.has_events() {
            let translation = translation::known(&outlet.memory.tracker, &track);
            outlet.rule_events.explain(translation);
            outlet.send_rule_events(frame);
        }
        lookups.firsts.asked(at, early.has_changes());
        lookups.batch.remember(at, early);
        if early.changes.counted
            && let Some(way) = packet.way
        {
            outlet.memory.tracker.set_counted(way);
        }
        let mark = early.marks.connection;
        match packet.way.filter(|_| mark != before.marks.connection) {
            Some(way) => {
                outlet.memory.tracker.set_mark(way, mark);
                lookups.batch.mark(at, way, mark)
            }
            None => 0,
        }
    }
}
