//! The passes over a vector behind a firewall, in chunks that stay in the first-level cache.
//!
//! Pass 1 is shared with the walk without firewall. Then each chunk is parsed, its connections are
//! prefetched and looked up, and its packets are decided in order, because one packet may create
//! the connection of the next. Packets of the short path are collected in a batch, which ends before
//! the next packet of another way.

use frame::{Frame, VECTOR_FRAMES};
use kernels::widest;

use super::chunk::{Chunk, Passes, Stop};
use super::chunk_lookups::ChunkLookups;
use super::connection_lookup::ConnectionLookup;
use super::enter::pass1;
use super::header_reader::{ColumnWriter, HeaderReader};
use super::next_hop_cache::NextHopCache;
use super::plain_packets::{BatchMember, Outcome, PlainChains};
use super::shortcut_installer::ShortcutInstaller;
use super::stream::Stream;
use crate::connection::Tick;
use crate::counters::Traffic;
use crate::ipsec::PolicyLookup;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::decide::single_packet::{elsewhere, one};
use crate::walk::decide::{CHUNK, EarlyLookup, LastDecision, PriorResults};
use crate::walk::ingress::Entrance;
use crate::walk::leave::Departed;
use crate::walk::scratch::Scratch;
use crate::walk::tally::{CounterKey, Speed, Tally, received};
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
        next_hops,
        lookups,
        ..
    } = scratch;
    let mut passes = Passes::new(cx, entrance, next_hops, outlet);
    entered.begin();
    let count = frames.len().min(VECTOR_FRAMES);
    for from in (0..count).step_by(CHUNK) {
        let places = from..count.min(from + CHUNK);
        lookups.begin();
        let mut writer = ColumnWriter {
            lookups,
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
            &mut writer,
            counters,
        );
        let mut chunk = Chunk {
            frames: &mut frames[places.clone()],
            classes: &entered.classes[places.clone()],
            outs: &mut outs[places.clone()],
            exits: &mut entered.exits[places],
        };
        passes.chunk(&mut chunk, lookups);
    }
    entered.count(entrance, &passes.outlet.counters);
    passes.end();
}

impl<'a, 'o> Passes<'a, 'o> {
    fn new(
        cx: &'a Context<'a>,
        entrance: &Entrance,
        next_hops: &'o mut NextHopCache,
        outlet: &'o mut Outlet,
    ) -> Self {
        next_hops.forget();
        let (ingress, installer) = (entrance.id, ShortcutInstaller::of(cx, entrance, outlet));
        // No interfaces are passed: the installer checks those of each flow.
        let is_free = |ipv6| {
            let mut reasons = bypass::keep_from_shortcuts(cx.snapshot, cx.interfaces, ipv6, &[]);
            reasons.next().is_none()
        };
        let may_fasttrack = |ipv6| {
            bypass::keep_from_fasttrack(cx.snapshot, ipv6)
                .next()
                .is_none()
        };
        let plain = [PlainChains::of(cx, false), PlainChains::of(cx, true)];
        Self {
            cx,
            plain,
            reads: plain.map(|plain| plain.is_some_and(|plain| plain.asks_fields())),
            tracks: [false, true].map(|ipv6| cx.snapshot.firewall.tracks(ipv6)),
            fasttracks: [false, true].map(may_fasttrack),
            now: Tick::of(cx.now),
            ingress,
            by_wire: entrance.counts,
            received: Traffic::default(),
            installers: [false, true].map(|ipv6| installer.filter(|_| is_free(ipv6))),
            tally: Tally::new(cx),
            last: LastDecision::default(),
            policies: (!cx.snapshot.ipsec.is_empty()).then(|| PolicyLookup::new(cx)),
            next_hops,
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
    fn chunk(&mut self, chunk: &mut Chunk<'_>, lookups: &mut ChunkLookups) {
        chunk.outs.fill(OutId::NONE);
        let (tracker, tracks) = (&self.outlet.memory.tracker, self.tracks);
        widest(HeaderReader {
            frames: chunk.frames,
            classes: chunk.classes,
            lookups,
            tracker,
            tracks,
            reads: self.reads,
        });
        if tracks[0] | tracks[1] {
            widest(ConnectionLookup {
                count: chunk.frames.len(),
                lookups,
                tracker,
                tracks,
                fasttracks: self.fasttracks,
            });
        }
        lookups.look_up_ipsec(self.cx, self.by_wire, chunk.frames);
        for (plain, family) in self.plain.iter().zip(0..) {
            if let Some(plain) = plain.filter(PlainChains::asks_raw) {
                lookups.look_up_raw(self.cx, &plain, family, chunk.frames);
            }
        }
        let (mut at, count) = (0, chunk.frames.len().min(CHUNK));
        while at < count {
            match self.pass(&mut at, chunk, lookups) {
                Stop::End => break,
                Stop::FastTrack if self.fasttrack(&mut at, chunk, lookups) => {}
                Stop::FastTrack => self.alone(&mut at, None, EarlyLookup::Unknown, chunk, lookups),
                Stop::Alone(local, lookup) => self.alone(&mut at, local, lookup, chunk, lookups),
            }
        }
        self.finish(chunk, lookups);
    }

    /// Lets the decider decide about the next packet, after the batch is finished. A packet that repeats
    /// the last decision needs no finished batch: that decision depends on no earlier packet.
    #[inline(never)]
    fn alone(
        &mut self,
        at: &mut usize,
        local: Option<Exit>,
        lookup: EarlyLookup,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) {
        let before = PriorResults {
            local,
            lookup,
            early: None,
        };
        if !self.repeat(*at, &before, chunk, lookups) {
            self.finish(chunk, lookups);
            self.guard(*at, before, chunk, lookups);
        }
        *at += 1;
    }

    /// Applies the last decision to a packet for this router. Returns false, without changes, if the
    /// guard must decide.
    #[inline(always)]
    fn repeat(
        &mut self,
        at: usize,
        before: &PriorResults,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> bool {
        if self.last.is_none() {
            return false;
        }
        let frame = &mut chunk.frames[at];
        let fields = &*lookups.fields(at, frame);
        let last = &mut self.last;
        let exit = last.repeat_arrival(self.cx, frame, fields, before, self.outlet);
        if let Some(exit) = exit {
            chunk.exits[at] = exit;
        }
        exit.is_some()
    }

    /// Routes the packets of the batch, evaluates their rules, and writes them.
    #[inline(never)]
    pub(in crate::walk) fn finish(&mut self, chunk: &mut Chunk<'_>, lookups: &mut ChunkLookups) {
        let (len, ipv6) = (lookups.batch.len(), lookups.batch.is_ipv6());
        let Some(plain) = self.plain[usize::from(ipv6)].filter(|_| len > 0) else {
            return;
        };
        lookups.batch.columns.classify(self.cx, len);
        lookups.look_up_early(&plain);
        self.evaluate_prerouting(&plain, chunk, lookups);
        let tracker = &self.outlet.memory.tracker;
        lookups.look_up(&plain, self.cx, self.next_hops, tracker, chunk.frames);
        if let Some(policies) = &mut self.policies {
            lookups.look_up_policies(policies, chunk.frames, tracker);
        }
        let mut at = 0;
        while at < len {
            at += self.stream(at, chunk, lookups);
            if at >= len {
                break;
            }
            let batched = lookups.batch.get(at);
            let place = batched.place;
            let frame = &mut chunk.frames[place];
            let received = received(frame);
            let (fields, firsts, batch) =
                lookups.with_fields(&batched, frame, &self.outlet.memory.tracker);
            let member = BatchMember {
                at,
                batched: &batched,
                firsts,
                batch,
            };
            let left = plain.leave(self.cx, frame, fields, &member, self.next_hops, self.outlet);
            match left {
                Outcome::Leaves(out) => {
                    if !out.is_protect() {
                        let counters = &self.outlet.counters;
                        self.tally
                            .count_decided(self.cx, frame, ipv6, received, counters);
                    }
                    chunk.outs[place] = out;
                }
                Outcome::Ends(exit) => chunk.exits[place] = exit,
                Outcome::Decider(lookup) => {
                    // The marks of an ended connection do not apply to the new one.
                    let early = lookups
                        .batch
                        .early(at)
                        .filter(|_| !matches!(lookup, EarlyLookup::Ended));
                    let before = PriorResults {
                        local: None,
                        lookup,
                        early: early.copied(),
                    };
                    self.guard(place, before, chunk, lookups);
                }
            }
            at += 1;
        }
        if let Some(installer) = self.installers[usize::from(ipv6)] {
            self.install_batch(&installer, &plain, chunk, lookups);
        }
        lookups.batch.clear();
    }

    /// Writes consecutive packets of the batch to one next hop, if rules only count them. Returns the
    /// number of packets processed.
    #[inline(never)]
    fn stream(&mut self, from: usize, chunk: &mut Chunk<'_>, lookups: &ChunkLookups) -> usize {
        let (batch, ipv6) = (&lookups.batch, lookups.batch.is_ipv6());
        let Some(plain) = &self.plain[usize::from(ipv6)] else {
            return 0;
        };
        let (hop, ingress) = batch.between(from);
        let next = self.next_hops.get(self.cx, hop);
        let egress = next.adjacency.egress;
        if !next.simple | (egress == ingress) | !self.tally.is_guarded(ipv6) {
            return 0;
        }
        let stream = Stream {
            plain,
            next,
            batch,
            firsts: &lookups.firsts,
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

    /// Lets the decider decide about one packet.
    #[inline(never)]
    fn guard(
        &mut self,
        at: usize,
        mut before: PriorResults,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) {
        if self.repeat(at, &before, chunk, lookups) {
            return;
        }
        let frame = &mut chunk.frames[at];
        let fields = &*lookups.fields(at, frame);
        self.last.forget();
        let tracker = &self.outlet.memory.tracker;
        if matches!(before.lookup, EarlyLookup::Unknown)
            && self.tracks[usize::from(fields.tuple.ipv6)]
        {
            let found = tracker.lookup(&fields.tuple);
            if let Some(worker) = elsewhere(self.cx, found, fields, frame, self.outlet) {
                chunk.exits[at] = Exit::HandOver(worker);
                return;
            }
            before.lookup = EarlyLookup::Found(found);
        }
        let (last, tally) = (&mut self.last, &mut self.tally);
        match one(self.cx, frame, fields, before, last, tally, self.outlet) {
            Ok(Departed::Whole(out)) => chunk.outs[at] = out,
            Ok(Departed::Unfinished { out, mtu }) => {
                chunk.exits[at] = Exit::Finish { out, mtu };
            }
            Err(exit) => chunk.exits[at] = exit,
        }
    }
}
