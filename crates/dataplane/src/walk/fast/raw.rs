//! `raw` for the short path: verdicts for groups of packets, and for single packets whose rules must
//! be evaluated.

use core::ops::Range;

use super::chunk::{Chunk, Passes};
use super::chunk_lookups::ChunkLookups;
use super::plain_packets::{ActiveChain, PlainChains};
use super::raw_packets::RawPackets;
use crate::connection::Track;
use crate::rule;
use crate::rule::{Ahead as Candidate, First, Marks, NOBODY, Quick};
use crate::walk::Exit;
use crate::walk::decide::CHUNK;
use crate::walk::decide::chains::{ConnectionFacts, Menu, plain_subject};

impl<'a> PlainChains<'a> {
    /// Returns the chain of `raw` if its rules only accept, drop or exempt packets from tracking,
    /// without logging or other side effects.
    #[inline(always)]
    pub(in crate::walk) fn quiet_raw(&self) -> Option<ActiveChain<'a>> {
        self.raw.filter(|raw| !raw.table.tells)
    }

    /// Returns true if `raw` has rules.
    #[inline(always)]
    pub(in crate::walk) fn asks_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// Looks up the candidate rules of `raw` for the packets of a chunk.
    #[inline(always)]
    pub(in crate::walk) fn look_up_raw(
        &self,
        arrived: &RawPackets<'_>,
        firsts: &mut [First; CHUNK],
    ) {
        if let Some(raw) = self.raw {
            let len = arrived.frames.len().min(CHUNK);
            raw.table.ahead(raw.id, arrived, &mut firsts[..len]);
        }
    }

    /// Returns the end of the leading packets in `places` that `raw` accepts without further
    /// evaluation and with the same tracking, and whether these packets are tracked.
    #[inline(always)]
    pub(in crate::walk) fn admitted(
        &self,
        raw: &[First; CHUNK],
        places: Range<usize>,
        tracks: bool,
    ) -> (usize, bool) {
        let is = |at: usize| match self.before(&raw[at % CHUNK], |_| ()) {
            Quick::Accept(_) => Some(tracks),
            Quick::Notrack(_) => Some(false),
            _ => None,
        };
        let first = is(places.start);
        let mut rest = places.clone();
        let end = match first {
            Some(_) => rest.find(|at| is(*at) != first).unwrap_or(places.end),
            None => places.start,
        };
        (end, first.unwrap_or(tracks))
    }

    /// Counts packets for the `raw` rules that decided about them.
    #[inline(always)]
    pub(in crate::walk) fn count_raw(
        &self,
        raw: &[First; CHUNK],
        lens: &[u32; CHUNK],
        places: Range<usize>,
        rules: &rule::Worker,
    ) {
        for at in places {
            let (first, len) = (&raw[at % CHUNK], lens[at % CHUNK]);
            let count = |rule| rules.count(rule, len);
            let (Quick::Accept(rule) | Quick::Notrack(rule) | Quick::Drop(rule)) =
                self.before(first, count)
            else {
                continue;
            };
            if rule != NOBODY {
                rules.count(rule, len);
            }
        }
    }

    /// Returns the verdict of `raw` for a packet with this first candidate. Calls `passed` for each
    /// rule that counts the packet and lets it continue.
    #[inline(always)]
    pub(in crate::walk) fn before(&self, first: &First, passed: impl FnMut(u32)) -> Quick {
        match self.raw {
            Some(raw) => raw.chain.follow(first, passed),
            None => Quick::Accept(NOBODY),
        }
    }
}

impl Passes<'_, '_> {
    /// Evaluates `raw` for one packet. Returns true if the packet is tracked.
    ///
    /// # Errors
    /// The packet's exit.
    #[inline(never)]
    pub(in crate::walk) fn evaluate_raw<const IPV6: bool>(
        &mut self,
        raw: ActiveChain<'_>,
        place: usize,
        chunk: &Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> Result<bool, Exit> {
        let frame = &chunk.frames[place];
        let first = Candidate::of(lookups.raw[usize::from(IPV6)][place]);
        let (fields, track) = (&*lookups.fields(place, frame), Track::default());
        let mut subject = plain_subject(self.cx, frame, fields, &track, Marks::default());
        let outlet = &mut *self.outlet;
        let facts = ConnectionFacts {
            cx: self.cx,
            tracker: &outlet.memory.tracker,
            track: &track,
            received: &fields.tuple,
            bytes: fields.len,
        };
        let (worker, rule_events) = (&mut outlet.memory.rules, &mut outlet.rule_events);
        let verdict = first.run(raw.table, raw.id, &mut subject, &facts, worker, rule_events);
        match Menu::Raw.exit(verdict) {
            Some(exit) => Err(exit),
            None => Ok(!subject.changes.untracked),
        }
    }
}
