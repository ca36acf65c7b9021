//! Collects plain packets in the batch, where they are routed and classified together.

use core::ops::Range;

use super::chunk::{Chunk, Passes, Stop};
use super::chunk_lookups::ChunkLookups;
use super::plain_packets::PlainChains;
use crate::connection::Passed;
use crate::drop::DropReason;
use crate::rule::Quick;
use crate::walk::Exit;
use crate::walk::decide::{CHUNK, EarlyLookup};
use crate::walk::packet::packet;

impl Passes<'_, '_> {
    /// Collects plain packets from `at` on in the batch, and moves `at` past them. Stops at the first
    /// packet that does not take the short path; that packet is unchanged.
    #[inline(never)]
    pub(in crate::walk) fn pass(
        &mut self,
        at: &mut usize,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> Stop {
        let count = chunk.frames.len().min(CHUNK);
        while *at < count {
            let (ipv6, end) = lookups.sets.family(*at, count);
            let end = lookups.sets.end_of_plain(*at, end);
            if *at == end {
                let bit = 1 << (*at % CHUNK);
                if lookups.sets.exit & bit != 0 {
                    let exit = chunk.exits[*at];
                    if exit.is_local() {
                        return Stop::Alone(Some(exit), EarlyLookup::Unknown);
                    }
                    *at += 1;
                    continue;
                }
                return match lookups.sets.fasttrack & bit {
                    0 => Stop::Alone(None, EarlyLookup::Unknown),
                    _ => Stop::FastTrack,
                };
            }
            if lookups.batch.is_closed(ipv6) {
                self.finish(chunk, lookups);
            }
            let lookup = match ipv6 {
                true => self.collect::<true>(at, end, chunk, lookups),
                false => self.collect::<false>(at, end, chunk, lookups),
            };
            if let Some(lookup) = lookup {
                return Stop::Alone(None, lookup);
            }
        }
        Stop::End
    }

    /// Collects plain packets of one family from `at` to `end` in the batch, or drops them if `raw`
    /// does. Returns the lookup result of the first packet that the decider must decide about.
    #[inline(always)]
    fn collect<const IPV6: bool>(
        &mut self,
        at: &mut usize,
        end: usize,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> Option<EarlyLookup> {
        let family = usize::from(IPV6);
        let Some(plain) = self.plain[family] else {
            return Some(EarlyLookup::Unknown);
        };
        while *at < end {
            let (till, tracked) = match plain.asks_raw() {
                true => plain.admitted(&lookups.raw[family], *at..end, self.tracks[family]),
                false => (end, self.tracks[family]),
            };
            if *at < till {
                let from = *at;
                *at += self.collect_together::<IPV6>(from..till, tracked, chunk, lookups);
                if plain.asks_raw() {
                    let rules = &self.outlet.memory.rules;
                    plain.count_raw(&lookups.raw[family], &lookups.lens, from..*at, rules);
                }
                if *at == till {
                    continue;
                }
            }
            if let Err(lookup) = self.collect_one::<IPV6>(plain, *at, chunk, lookups) {
                return Some(lookup);
            }
            *at += 1;
        }
        None
    }

    /// Appends packets that `raw` accepts to the batch. Returns the number of packets appended.
    #[inline(always)]
    fn collect_together<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        tracked: bool,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> usize {
        if tracked {
            let tracker = &mut self.outlet.memory.tracker;
            return lookups.collect::<IPV6>(places, chunk.frames, tracker, self.now);
        }
        let (lens, count) = (&lookups.lens[places.clone()], places.len());
        lookups.batch.add::<IPV6>(places, lens, None);
        count
    }

    /// Appends one packet to the batch, or drops it if `raw` does.
    ///
    /// # Errors
    /// The decider must decide about the packet: the result of its connection lookup.
    #[inline(never)]
    fn collect_one<const IPV6: bool>(
        &mut self,
        plain: PlainChains<'_>,
        at: usize,
        chunk: &mut Chunk<'_>,
        lookups: &mut ChunkLookups,
    ) -> Result<(), EarlyLookup> {
        let (family, place) = (usize::from(IPV6), at % CHUNK);
        let len = lookups.lens[place];
        let found = lookups.ways.get(place).filter(|_| self.tracks[family]);
        let quick = plain.before(&lookups.raw[family][place], |_| ());
        let asked = quick == Quick::Ask;
        let tracked = match quick {
            Quick::Accept(_) => self.tracks[family],
            Quick::Notrack(_) => false,
            Quick::Drop(_) => {
                let (raw, rules) = (&lookups.raw[family], &self.outlet.memory.rules);
                plain.count_raw(raw, &lookups.lens, place..place + 1, rules);
                chunk.exits[place] = Exit::Drop(DropReason::FirewallRaw);
                return Ok(());
            }
            _ => {
                let raw = plain.quiet_raw().ok_or(EarlyLookup::Unknown)?;
                // The decider evaluates `raw` for packets that begin a connection, or whose
                // connection is on another worker.
                if self.tracks[family] && found.is_none() {
                    return Err(EarlyLookup::Unknown);
                }
                match self.evaluate_raw::<IPV6>(raw, place, chunk, lookups) {
                    Ok(tracked) => tracked & self.tracks[family],
                    Err(exit) => {
                        chunk.exits[place] = exit;
                        return Ok(());
                    }
                }
            }
        };
        let memory = &mut self.outlet.memory;
        let (mut way, mut passed) = (None, Passed::default());
        if tracked {
            let found = found.ok_or(EarlyLookup::Unknown)?;
            let unknown = if asked {
                EarlyLookup::Admitted(found)
            } else {
                EarlyLookup::Unknown
            };
            let counted = match lookups.sets.tcp >> place & 1 {
                0 => memory.tracker.pass::<IPV6>(found, len, self.now),
                _ => {
                    let (packet, tracker) = (packet(&chunk.frames[place]), &mut memory.tracker);
                    tracker.pass_segment::<IPV6>(found, packet, len, self.now)
                }
            };
            (way, passed) = (Some(found), counted.ok_or(unknown)?);
        }
        if !asked {
            let raw = &lookups.raw[family];
            plain.count_raw(raw, &lookups.lens, place..place + 1, &memory.rules);
        }
        let behind = lookups.batch.len();
        lookups.batch.put::<IPV6>(behind, place, len, way, passed);
        lookups.batch.close::<IPV6>(behind + 1);
        Ok(())
    }
}
