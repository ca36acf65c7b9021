//! Packets of a run that follow each other to one next hop, and of which rules say no more than that they
//! pass: written in one loop, which looks once at what is the same for all.

use super::CHUNK;
use super::plain::{Outcome, Plain, write};
use super::run::Run;
use super::vector::Chunk;
use crate::counters::Traffic;
use crate::rule::{First, Quick};
use crate::walk::Memory;
use crate::walk::depart::Next;

/// See the module.
pub(super) struct Stream<'a> {
    pub(super) plain: &'a Plain<'a>,
    pub(super) next: &'a Next,
    pub(super) run: &'a Run,
    /// By place in the run.
    pub(super) firsts: &'a [First; CHUNK],
    pub(super) memory: &'a Memory,
}

/// What was written.
#[derive(Default)]
pub(super) struct Streamed {
    /// How many packets of the run.
    pub(super) done: usize,
    /// What of it leaves.
    pub(super) sent: Traffic,
    /// The bytes of link headers among that.
    pub(super) headers: u64,
}

impl Stream<'_> {
    /// Whether one rule takes the whole run. That is not looked for again behind a packet that ended
    /// the loop.
    #[inline(always)]
    pub(super) fn alike(&self, from: usize) -> bool {
        let firsts = &self.firsts[..self.run.len().min(CHUNK)];
        let place = firsts.first().map_or(0, |first| first.place);
        let others = |others, first: &First| others | (first.place ^ place);
        from == 0 && firsts.iter().fold(0, others) == 0
    }

    /// Writes packets from `from` on, until one is not to be written like this. Where they are `ALIKE`,
    /// their rule counts them together.
    #[inline(always)]
    pub(super) fn write<const ALIKE: bool>(&self, from: usize, chunk: &mut Chunk<'_>) -> Streamed {
        let (run, ipv6) = (self.run, self.run.is_ipv6());
        let (rules, tracker) = (&self.memory.rules, &self.memory.tracker);
        let mut streamed = Streamed::default();
        let first = self.plain.filtered(&self.firsts[from % CHUNK]);
        let mut counted = Traffic::default();
        for at in from..run.stretch(from) {
            let place = run.place(at);
            let (frame, len) = (chunk.frames.get_mut(place), run.packet_len(at));
            let (Some(frame), Some(port)) = (frame, chunk.ports.get_mut(place)) else {
                break;
            };
            let says = match ALIKE {
                true => first,
                false => self.plain.filtered(&self.firsts[at % CHUNK]),
            };
            let Quick::Accept(rule) = says else {
                break;
            };
            if len > self.next.adjacency.mtu {
                break;
            }
            match ALIKE {
                true => counted.bytes += u64::from(len),
                false => rules.count(rule, len),
            }
            streamed.done += 1;
            match write(frame, ipv6, self.next, &run.get(at), tracker) {
                Outcome::Leaves(to) => *port = to,
                Outcome::Ends(exit) => {
                    chunk.exits[place] = exit;
                    continue;
                }
                Outcome::Guard(_) => continue,
            }
            streamed.sent.packets += 1;
            streamed.sent.bytes += frame.len() as u64;
            streamed.headers += u64::from(frame.l3);
        }
        if let (true, Quick::Accept(rule)) = (ALIKE, first) {
            counted.packets = streamed.done as u64;
            rules.count_all(rule, counted);
        }
        streamed
    }
}
