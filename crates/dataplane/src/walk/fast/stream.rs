//! Writes consecutive packets of a batch to one next hop in one loop, if rules only count them.
//! Checks shared by all packets are made once.

use super::chunk::Chunk;
use super::fasttrack::EgressHeader;
use super::flow_batch::FlowBatch;
use super::next_hop_cache::CachedNextHop;
use super::plain_packets::{FirstCandidates, Outcome, PlainChains, Verdict, keeps_to, write};
use crate::counters::Traffic;
use crate::rule::{First, Quick};
use crate::walk::Memory;
use crate::walk::decide::CHUNK;

/// The inputs of the loop.
pub(in crate::walk) struct Stream<'a> {
    pub(in crate::walk) plain: &'a PlainChains<'a>,
    pub(in crate::walk) next: &'a CachedNextHop,
    pub(in crate::walk) batch: &'a FlowBatch,
    pub(in crate::walk) firsts: &'a FirstCandidates,
    pub(in crate::walk) memory: &'a Memory,
}

/// The packets that the loop has processed.
#[derive(Default)]
pub(in crate::walk) struct Streamed {
    /// Number of packets of the batch.
    pub(in crate::walk) done: usize,
    /// Packets that leave, and their bytes without link headers.
    pub(in crate::walk) sent: Traffic,
    /// Packets that were dropped.
    ended: Traffic,
}

impl Stream<'_> {
    /// Returns true if one `filter` rule decides about the whole batch and no other chain has rules.
    /// Always false behind a packet that ended an earlier loop.
    #[inline(always)]
    pub(in crate::walk) fn alike(&self, from: usize) -> bool {
        if self.plain.mangle.is_some() {
            return false;
        }
        let firsts = &self.firsts.filter[..self.batch.len().min(CHUNK)];
        let place = firsts.first().map_or(0, |first| first.place);
        let others = |others, first: &First| others | (first.place ^ place);
        from == 0 && firsts.iter().fold(0, others) == 0
    }

    /// Returns the end of the packets to the next hop.
    #[inline(always)]
    fn end(&self, from: usize) -> usize {
        self.batch.stretch(from).min(CHUNK)
    }

    /// Returns true if all packets to the next hop fit its link and none is translated.
    #[inline(always)]
    pub(in crate::walk) fn is_simple(&self, from: usize) -> bool {
        let which = from..self.end(from);
        self.batch.is_simple(which, self.next.adjacency.mtu)
    }

    /// Writes untranslated packets with one common rule, from `from` on, up to the first frame that
    /// is shorter than its packet states.
    #[inline(always)]
    pub(in crate::walk) fn write_simple<const IPV6: bool>(
        &self,
        from: usize,
        chunk: &mut Chunk<'_>,
    ) -> Streamed {
        let first = self.plain.ends(&self.firsts.filter[from % CHUNK]);
        let Quick::Accept(rule) = first else {
            return Streamed::default();
        };
        let shape = EgressHeader::of(&self.next.adjacency, IPV6);
        let mut done = 0;
        for (place, len) in self.batch.simply(from..self.end(from)) {
            let place = usize::from(*place) % CHUNK;
            let (Some(frame), Some(out)) = (chunk.frames.get_mut(place), chunk.outs.get_mut(place))
            else {
                break;
            };
            if shape.depart_as_is::<IPV6>(frame, *len).is_none() {
                break;
            }
            *out = shape.out;
            done += 1;
        }
        let lens = self.batch.simply(from..from + done).map(|(_, len)| len);
        let sent = Traffic {
            packets: done as u64,
            bytes: lens.map(|len| u64::from(*len)).sum(),
        };
        self.memory.rules.count_all(rule, sent);
        Streamed {
            done,
            sent,
            ended: Traffic::default(),
        }
    }

    /// Writes packets from `from` on, up to the first packet that needs more decisions. With
    /// `ALIKE`, one rule counts all packets at once.
    #[inline(always)]
    pub(in crate::walk) fn write<const ALIKE: bool>(
        &self,
        from: usize,
        chunk: &mut Chunk<'_>,
    ) -> Streamed {
        let (batch, tracker) = (self.batch, &self.memory.tracker);
        let rules = &self.memory.rules;
        let shape = EgressHeader::of(&self.next.adjacency, batch.is_ipv6());
        let mtu = self.next.adjacency.mtu;
        let mut streamed = Streamed::default();
        let first = self.plain.ends(&self.firsts.filter[from % CHUNK]);
        let mut counted = Traffic::default();
        for at in from..self.end(from) {
            let batched = batch.get(at);
            let (place, len) = (batched.place, batched.len);
            let (Some(frame), Some(out)) = (chunk.frames.get_mut(place), chunk.outs.get_mut(place))
            else {
                break;
            };
            if len > mtu || !keeps_to(self.next, &batched, tracker) {
                break;
            }
            let sole = match ALIKE {
                true => first,
                false => self.plain.ends(&self.firsts.filter[at]),
            };
            match sole {
                Quick::Accept(_) if ALIKE => {}
                Quick::Accept(rule) if self.plain.mangle.is_none() => rules.count(rule, len),
                _ if self.plain.verdict(self.firsts, at) == Verdict::Passes => {
                    let verdict = Verdict::Passes;
                    self.plain.count_all(self.firsts, at, len, verdict, rules);
                }
                _ => break,
            }
            streamed.done += 1;
            counted.bytes += u64::from(len);
            if self.plain.keeps_marks {
                frame.mark = self.plain.mark(self.firsts, at, batch);
            }
            match write(frame, &shape, &batched, tracker) {
                Outcome::Leaves(to) => *out = to,
                Outcome::Ends(exit) => {
                    chunk.exits[place] = exit;
                    streamed.ended.packets += 1;
                    streamed.ended.bytes += u64::from(len);
                }
                Outcome::Decider(_) => {}
            }
        }
        counted.packets = streamed.done as u64;
        streamed.sent = Traffic {
            packets: counted.packets - streamed.ended.packets,
            bytes: counted.bytes - streamed.ended.bytes,
        };
        if let (true, Quick::Accept(rule)) = (ALIKE, first) {
            rules.count_all(rule, counted);
        }
        streamed
    }
}
