//! Collects plain packets in the run, where they are routed and classified together.

use core::ops::Range;

use super::ahead::Ahead;
use super::chunk::{Chunk, Passes, Stop};
use super::plain::Plain;
use super::{CHUNK, Met};
use crate::connection::Passed;
use crate::drop::DropReason;
use crate::rule::Quick;
use crate::walk::Exit;
use crate::walk::packet::packet;

impl Passes<'_, '_> {
    /// Collects plain packets from `at` on in the run, and moves `at` past them. Stops at the first
    /// packet that does not take the short way; that packet is unchanged.
    #[inline(never)]
    pub(super) fn pass(
        &mut self,
        at: &mut usize,
        chunk: &mut Chunk<'_>,
        ahead: &mut Ahead,
    ) -> Stop {
        let count = chunk.frames.len().min(CHUNK);
        while *at < count {
            let (ipv6, end) = ahead.which.family(*at, count);
            let end = ahead.which.waiting(*at, end);
            if *at == end {
                let bit = 1 << (*at % CHUNK);
                if ahead.which.exit & bit != 0 {
                    let exit = chunk.exits[*at];
                    if exit.is_local() {
                        return Stop::Alone(Some(exit), Met::Unknown);
                    }
                    *at += 1;
                    continue;
                }
                return match ahead.which.fasttrack & bit {
                    0 => Stop::Alone(None, Met::Unknown),
                    _ => Stop::FastTrack,
                };
            }
            if ahead.run.is_closed(ipv6) {
                self.finish(chunk, ahead);
            }
            let met = match ipv6 {
                true => self.wait::<true>(at, end, chunk, ahead),
                false => self.wait::<false>(at, end, chunk, ahead),
            };
            if let Some(met) = met {
                return Stop::Alone(None, met);
            }
        }
        Stop::End
    }

    /// Collects plain packets of one family from `at` to `end` in the run, or drops them if `raw`
    /// does. Returns the lookup result of the first packet that the guard must decide about.
    #[inline(always)]
    fn wait<const IPV6: bool>(
        &mut self,
        at: &mut usize,
        end: usize,
        chunk: &mut Chunk<'_>,
        ahead: &mut Ahead,
    ) -> Option<Met> {
        let family = usize::from(IPV6);
        let Some(plain) = self.plain[family] else {
            return Some(Met::Unknown);
        };
        while *at < end {
            let (till, tracked) = match plain.asks_raw() {
                true => plain.admitted(&ahead.raw[family], *at..end, self.tracks[family]),
                false => (end, self.tracks[family]),
            };
            if *at < till {
                let from = *at;
                *at += self.wait_together::<IPV6>(from..till, tracked, chunk, ahead);
                if plain.asks_raw() {
                    let rules = &self.outlet.memory.rules;
                    plain.count_raw(&ahead.raw[family], &ahead.lens, from..*at, rules);
                }
                if *at == till {
                    continue;
                }
            }
            if let Err(met) = self.wait_one::<IPV6>(plain, *at, chunk, ahead) {
                return Some(met);
            }
            *at += 1;
        }
        None
    }

    /// Appends packets that `raw` accepts to the run. Returns the number of packets appended.
    #[inline(always)]
    fn wait_together<const IPV6: bool>(
        &mut self,
        places: Range<usize>,
        tracked: bool,
        chunk: &mut Chunk<'_>,
        ahead: &mut Ahead,
    ) -> usize {
        if tracked {
            let tracker = &mut self.outlet.memory.tracker;
            return ahead.wait::<IPV6>(places, chunk.frames, tracker, self.now);
        }
        let (lens, count) = (&ahead.lens[places.clone()], places.len());
        ahead.run.add::<IPV6>(places, lens, None);
        count
    }

    /// Appends one packet to the run, or drops it if `raw` does.
    ///
    /// # Errors
    /// The guard must decide about the packet: the result of its connection lookup.
    #[inline(never)]
    fn wait_one<const IPV6: bool>(
        &mut self,
        plain: Plain<'_>,
        at: usize,
        chunk: &mut Chunk<'_>,
        ahead: &mut Ahead,
    ) -> Result<(), Met> {
        let (family, place) = (usize::from(IPV6), at % CHUNK);
        let len = ahead.lens[place];
        let found = ahead.ways.get(place).filter(|_| self.tracks[family]);
        let quick = plain.before(&ahead.raw[family][place], |_| ());
        let asked = quick == Quick::Ask;
        let tracked = match quick {
            Quick::Accept(_) => self.tracks[family],
            Quick::Notrack(_) => false,
            Quick::Drop(_) => {
                let (raw, rules) = (&ahead.raw[family], &self.outlet.memory.rules);
                plain.count_raw(raw, &ahead.lens, place..place + 1, rules);
                chunk.exits[place] = Exit::Drop(DropReason::FirewallRaw);
                return Ok(());
            }
            _ => {
                let raw = plain.quiet_raw().ok_or(Met::Unknown)?;
                // The guard evaluates `raw` for packets that begin a connection, or whose
                // connection is on another worker.
                if self.tracks[family] && found.is_none() {
                    return Err(Met::Unknown);
                }
                match self.ask_raw::<IPV6>(raw, place, chunk, ahead) {
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
            let found = found.ok_or(Met::Unknown)?;
            let unknown = if asked {
                Met::Admitted(found)
            } else {
                Met::Unknown
            };
            let counted = match ahead.which.tcp >> place & 1 {
                0 => memory.tracker.pass::<IPV6>(found, len, self.now),
                _ => {
                    let (packet, tracker) = (packet(&chunk.frames[place]), &mut memory.tracker);
                    tracker.pass_segment::<IPV6>(found, packet, len, self.now)
                }
            };
            (way, passed) = (Some(found), counted.ok_or(unknown)?);
        }
        if !asked {
            let raw = &ahead.raw[family];
            plain.count_raw(raw, &ahead.lens, place..place + 1, &memory.rules);
        }
        let behind = ahead.run.len();
        ahead.run.put::<IPV6>(behind, place, len, way, passed);
        ahead.run.close::<IPV6>(behind + 1);
        Ok(())
    }
}
