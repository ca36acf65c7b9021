//! Plain packets go into the run, where they wait to be routed and looked up together.

use super::ahead::Ahead;
use super::plain::Plain;
use super::vector::{Chunk, Passes, Stop};
use super::{CHUNK, Met};
use crate::connection::{NatState, Passed};
use crate::drop::Drop;
use crate::punt::Why;
use crate::rule::{NOBODY, Quick};
use crate::walk::Exit;
use crate::walk::depart::packet;

impl Passes<'_, '_> {
    /// Plain packets from `at` on go the short way: they wait in the run. Stops at the first that does
    /// not, with nothing done to it.
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
                    if let Exit::Deliver(_) | Exit::Punt(Why::Local) = exit {
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

    /// Puts plain packets of one family from `at` to `end` into the run, or drops them if that is what
    /// `raw` says. Where one is to be decided about alone: what is known of its connection.
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
        let simple = !plain.asks_raw() & !plain.asks_early();
        if simple & !self.tracks[family] {
            let lens = &ahead.lens[*at..end];
            ahead.run.add::<IPV6>(*at..end, lens, None);
            *at = end;
            return None;
        }
        while *at < end {
            if simple {
                let tracker = &mut self.outlet.memory.tracker;
                *at += ahead.wait::<IPV6>(*at..end, chunk.frames, tracker, self.now);
                if *at == end {
                    return None;
                }
            }
            if let Err(met) = self.wait_one::<IPV6>(plain, *at, chunk, ahead) {
                return Some(met);
            }
            *at += 1;
        }
        None
    }

    /// The same for one packet.
    ///
    /// # Errors
    /// It is to be decided about alone: what is known of its connection.
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
        let memory = &mut self.outlet.memory;
        let (rule, tracked) = match plain.before(&ahead.raw[family][place]) {
            Quick::Accept(rule) => (rule, self.tracks[family]),
            Quick::Notrack(rule) => (rule, false),
            Quick::Drop(rule) => {
                memory.rules.count(rule, len);
                chunk.exits[place] = Exit::Drop(Drop::FirewallRaw);
                return Ok(());
            }
            _ => return Err(Met::Unknown),
        };
        let (mut way, mut passed) = (None, Passed::default());
        if tracked {
            let found = ahead.ways.get(place).ok_or(Met::Unknown)?;
            let counted = match ahead.which.tcp >> place & 1 {
                0 => memory.tracker.pass::<IPV6>(found, len, self.now),
                _ => {
                    let (packet, tracker) = (packet(&chunk.frames[place]), &mut memory.tracker);
                    tracker.pass_segment::<IPV6>(found, packet, len, self.now)
                }
            };
            (way, passed) = (Some(found), counted.ok_or(Met::Unknown)?);
            if passed.nat != NatState::default() {
                if plain.asks_early() {
                    return Err(Met::Tracked(passed.track(found)));
                }
                ahead.turn::<IPV6>(place, found, &memory.tracker);
            }
        }
        if rule != NOBODY {
            memory.rules.count(rule, len);
        }
        let behind = ahead.run.len();
        ahead.run.put::<IPV6>(behind, (place, len), way, passed);
        ahead.run.close::<IPV6>(behind + 1);
        Ok(())
    }
}
