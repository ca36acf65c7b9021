//! The passes over a vector behind a firewall, in chunks that stay in the first-level cache.
//!
//! Pass 1 is shared with the walk without firewall. Then each chunk is parsed, its connections are
//! prefetched and looked up, and its packets are decided in order, because one packet may create
//! the connection of the next. Packets of the short way are collected in a run, which ends before
//! the next packet of another way.

use frame::{Frame, VECTOR_FRAMES};
use kernels::widest;

use super::ahead::Ahead;
use super::alone::{elsewhere, one};
use super::chunk::{Chunk, Passes, Stop};
use super::find::Find;
use super::plain::{InRun, Outcome, Plain};
use super::read::{Read, Seeing};
use super::stream::Stream;
use super::{Before, CHUNK, Met};
use crate::connection::Tick;
use crate::counters::Traffic;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::enter::pass1;
use crate::walk::ingress::Entrance;
use crate::walk::leave::Departed;
use crate::walk::near::Near;
use crate::walk::scratch::Scratch;
use crate::walk::tally::{CounterKey, Speed, Tally, received};
use crate::walk::teach::Teacher;
use crate::walk::{Context, Exit, bypass};

/// Runs all passes but the last. Fills in `scratch.outs` and `scratch.entered.exits`.
pub(in crate::walk) fn vector(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let Scratch {
        entered,
        outs,
        near,
        ahead,
        ..
    } = scratch;
    let mut passes = Passes::new(cx, entrance, near, outlet);
    entered.begin();
    let count = frames.len().min(VECTOR_FRAMES);
    for from in (0..count).step_by(CHUNK) {
        let places = from..count.min(from + CHUNK);
        ahead.begin();
        let mut seeing = Seeing {
            ahead,
            tracker: &passes.outlet.memory.tracker,
            tracks: passes.tracks,
            reads: passes.reads,
        };
        let counters = &passes.outlet.counters;
        pass1::<false, _>(
            cx,
            entrance,
            frames,
            places.clone(),
            entered,
            &mut seeing,
            counters,
        );
        let mut chunk = Chunk {
            frames: &mut frames[places.clone()],
            lanes: &entered.lanes[places.clone()],
            outs: &mut outs[places.clone()],
            exits: &mut entered.exits[places],
        };
        passes.chunk(&mut chunk, ahead);
    }
    entered.count(entrance, &passes.outlet.counters);
    passes.end();
}

impl<'a, 'o> Passes<'a, 'o> {
    fn new(
        cx: &'a Context<'a>,
        entrance: &Entrance,
        near: &'o mut Near,
        outlet: &'o mut Outlet,
    ) -> Self {
        near.forget();
        let (ingress, teacher) = (entrance.id, Teacher::of(cx, entrance, outlet));
        // No interfaces are passed: the teacher checks those of each flow.
        let is_free = |ipv6| {
            let mut reasons = bypass::keep_from_shortcuts(cx.snapshot, cx.interfaces, ipv6, &[]);
            reasons.next().is_none()
        };
        let may_fasttrack = |ipv6| {
            bypass::keep_from_fasttrack(cx.snapshot, ipv6)
                .next()
                .is_none()
        };
        let plain = [Plain::of(cx, false), Plain::of(cx, true)];
        Self {
            cx,
            plain,
            reads: plain.map(|plain| plain.is_some_and(|plain| plain.asks_fields())),
            tracks: [false, true].map(|ipv6| cx.snapshot.firewall.tracks(ipv6)),
            fasttracks: [false, true].map(may_fasttrack),
            now: Tick::of(cx.now),
            ingress,
            received: Traffic::default(),
            teachers: [false, true].map(|ipv6| teacher.filter(|_| is_free(ipv6))),
            tally: Tally::new(cx),
            near,
            outlet,
        }
    }

    /// Writes the remaining counts.
    fn end(mut self) {
        let counters = &self.outlet.counters;
        self.tally.flush(self.cx, counters);
        let Traffic { packets, bytes } = self.received;
        let own = counters.interface(self.ingress);
        own.fp_rx.add(packets, bytes);
    }
}

impl Passes<'_, '_> {
    fn chunk(&mut self, chunk: &mut Chunk<'_>, ahead: &mut Ahead) {
        chunk.outs.fill(OutId::NONE);
        let (tracker, tracks) = (&self.outlet.memory.tracker, self.tracks);
        widest(Read {
            frames: chunk.frames,
            lanes: chunk.lanes,
            ahead,
            tracker,
            tracks,
            reads: self.reads,
        });
        if tracks[0] | tracks[1] {
            widest(Find {
                count: chunk.frames.len(),
                ahead,
                tracker,
                tracks,
                fasttracks: self.fasttracks,
            });
        }
        for (plain, family) in self.plain.iter().zip(0..) {
            if let Some(plain) = plain.filter(Plain::asks_raw) {
                ahead.look_up_raw(self.cx, &plain, family, chunk.frames);
            }
        }
        let (mut at, count) = (0, chunk.frames.len().min(CHUNK));
        while at < count {
            match self.pass(&mut at, chunk, ahead) {
                Stop::End => break,
                Stop::FastTrack if self.fasttrack(&mut at, chunk, ahead) => {}
                Stop::FastTrack => self.alone(&mut at, None, Met::Unknown, chunk, ahead),
                Stop::Alone(local, met) => self.alone(&mut at, local, met, chunk, ahead),
            }
        }
        self.finish(chunk, ahead);
    }

    /// Finishes the run, then lets the guard decide about the next packet.
    #[inline(never)]
    fn alone(
        &mut self,
        at: &mut usize,
        local: Option<Exit>,
        met: Met,
        chunk: &mut Chunk<'_>,
        ahead: &mut Ahead,
    ) {
        self.finish(chunk, ahead);
        let before = Before {
            local,
            met,
            early: None,
        };
        self.guard(*at, before, chunk, ahead);
        *at += 1;
    }

    /// Routes the packets of the run, evaluates their rules, and writes them.
    #[inline(never)]
    pub(super) fn finish(&mut self, chunk: &mut Chunk<'_>, ahead: &mut Ahead) {
        let (len, ipv6) = (ahead.run.len(), ahead.run.is_ipv6());
        let Some(plain) = self.plain[usize::from(ipv6)].filter(|_| len > 0) else {
            return;
        };
        ahead.run.columns.classify(self.cx, len);
        ahead.look_up_early(&plain);
        self.ask_early(&plain, chunk, ahead);
        let tracker = &self.outlet.memory.tracker;
        ahead.look_up(&plain, self.cx, self.near, tracker);
        let mut at = 0;
        while at < len {
            at += self.stream(at, chunk, ahead);
            if at >= len {
                break;
            }
            let waiting = ahead.run.get(at);
            let place = waiting.place;
            let frame = &mut chunk.frames[place];
            let received = received(frame);
            let (fields, firsts, run) = ahead.asked(&waiting, frame, &self.outlet.memory.tracker);
            let in_run = InRun {
                at,
                waiting: &waiting,
                firsts,
                run,
            };
            let left = plain.leave(self.cx, frame, fields, &in_run, self.near, self.outlet);
            match left {
                Outcome::Leaves(out) => {
                    let counters = &self.outlet.counters;
                    self.tally
                        .count_guarded(self.cx, frame, ipv6, received, counters);
                    chunk.outs[place] = out;
                }
                Outcome::Ends(exit) => chunk.exits[place] = exit,
                Outcome::Guard(met) => {
                    // The marks of an ended connection do not apply to the new one.
                    let early = ahead.run.early(at).filter(|_| !matches!(met, Met::Ended));
                    let before = Before {
                        local: None,
                        met,
                        early: early.copied(),
                    };
                    self.guard(place, before, chunk, ahead);
                }
            }
            at += 1;
        }
        if let Some(teacher) = self.teachers[usize::from(ipv6)] {
            self.teach_run(&teacher, &plain, chunk, ahead);
        }
        ahead.run.clear();
    }

    /// Writes consecutive packets of the run to one next hop, if rules only count them. Returns the
    /// number of packets processed.
    #[inline(never)]
    fn stream(&mut self, from: usize, chunk: &mut Chunk<'_>, ahead: &Ahead) -> usize {
        let (run, ipv6) = (&ahead.run, ahead.run.is_ipv6());
        let Some(plain) = &self.plain[usize::from(ipv6)] else {
            return 0;
        };
        let (hop, ingress) = run.between(from);
        let next = self.near.get(self.cx, hop);
        let egress = next.adjacency.egress;
        if !next.simple | (egress == ingress) | !self.tally.is_guarded(ipv6) {
            return 0;
        }
        let stream = Stream {
            plain,
            next,
            run,
            firsts: &ahead.firsts,
            memory: &self.outlet.memory,
        };
        let streamed = match (stream.alike(from), stream.is_simple(from), ipv6) {
            (true, true, true) => stream.write_simple::<true>(from, chunk),
            (true, true, false) => stream.write_simple::<false>(from, chunk),
            (true, false, _) => stream.write::<true>(from, chunk),
            (false, ..) => stream.write::<false>(from, chunk),
        };
        let header_len = next.adjacency.header_len;
        let key = CounterKey {
            egress,
            ipv6,
            speed: Speed::Slow,
        };
        let counters = &self.outlet.counters;
        self.tally
            .count_all(self.cx, key, header_len, streamed.sent, counters);
        streamed.done
    }

    /// Lets the guard decide about one packet.
    #[inline(never)]
    fn guard(&mut self, at: usize, mut before: Before, chunk: &mut Chunk<'_>, ahead: &mut Ahead) {
        let frame = &mut chunk.frames[at];
        let fields = &*ahead.fields(at, frame);
        let tracker = &self.outlet.memory.tracker;
        if matches!(before.met, Met::Unknown) && self.tracks[usize::from(fields.tuple.ipv6)] {
            let found = tracker.lookup(&fields.tuple);
            if let Some(worker) = elsewhere(self.cx, found, fields, frame, self.outlet) {
                chunk.exits[at] = Exit::HandOver(worker);
                return;
            }
            before.met = Met::Found(found);
        }
        match one(self.cx, frame, fields, before, &mut self.tally, self.outlet) {
            Ok(Departed::Whole(out)) => chunk.outs[at] = out,
            Ok(Departed::Unfinished { out, mtu }) => {
                chunk.exits[at] = Exit::Finish { out, mtu };
            }
            Err(exit) => chunk.exits[at] = exit,
        }
    }
}
