//! Applies bridge rules and the IP tables to the frames of a bridge, and removes the frames that
//! they drop.
//!
//! ```text
//! [`run`]: switch chip, dstnat, IP prerouting → decision ─┬→ unchanged: `Stage::ask`, together ───┐
//!                                                         ├→ changed: [`one_leaves`], one by one ─┴→ port
//!                                                         └→ `Stage::ask`, [`one_rises`] → router
//! ```
//!
//! Where packets pass the IP tables, frames are bridged one by one ([`alone`]), because a packet
//! may begin the connection of the next.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::decide::{Source, head};
use super::frame_columns::{CHUNK, PortPair};
use super::passes;
use super::rules::{AppliedTables, Rules};
use super::scratch::{Passes, RuleScratch};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::outlet::{Dispatch, Outlet};
use crate::packet::link::HEADER;
use crate::walk::decide::bridged::{FrameVerdict, FrameVerdicts, Hook, HookInput};
use crate::walk::decide::detour;
use crate::walk::decide::detour::DetourEnd;
use crate::walk::{self, Context};

/// Returns the source with the tables that apply to its frames; `None` if none applies. Called once
/// per vector.
#[inline]
pub(super) fn with_tables<'a>(cx: &Context<'a>, source: &Source<'a>) -> Option<Source<'a>> {
    let tables = &cx.snapshot.firewall.bridge;
    if tables.is_empty() && !tables.slow {
        return None;
    }
    let applied = AppliedTables {
        rules: Rules::of(cx, source.bridge.id),
        detours: !source.is_router() && detour::is_on(cx, source.filters_vlans()),
        slow: tables.slow,
    };
    applied.any().then(|| {
        let mut looked = *source;
        // RouterOS: fast forward is for frames that no table applies to.
        (looked.straight_to, looked.applied) = (None, applied);
        looked
    })
}

impl RuleScratch {
    /// Sets the ports of the frame at `at`. Position 0 begins a new part.
    #[inline(always)]
    pub(super) fn pass(&mut self, at: usize, source: &Source<'_>, egress: InterfaceId) {
        if at == 0 {
            self.left = u64::MAX;
        }
        self.ports[at % CHUNK] = port_pair(source, egress);
    }

    /// Evaluates the rules of a hook for these frames of a part. Returns the frames that end.
    #[inline]
    pub(super) fn ask(
        &mut self,
        cx: &Context<'_>,
        source: &Source<'_>,
        hook: Hook,
        which: u64,
        frames: &mut [Frame],
        outlet: &mut Outlet,
    ) -> u64 {
        let verdicts = self.verdicts(cx, source, hook, which, frames, outlet);
        self.left &= !verdicts.ended();
        verdicts.ended()
    }

    fn verdicts(
        &mut self,
        cx: &Context<'_>,
        source: &Source<'_>,
        hook: Hook,
        which: u64,
        frames: &mut [Frame],
        outlet: &mut Outlet,
    ) -> FrameVerdicts {
        let rules = source.applied.rules.filter(|rules| rules.has(hook));
        let Some(rules) = rules.filter(|_| which != 0) else {
            return FrameVerdicts::default();
        };
        let mut input = HookInput {
            ports: &self.ports[..frames.len().min(CHUNK)],
            frames,
            which,
        };
        rules.evaluate_chunk(cx, hook, &mut input, &mut self.frame_columns, outlet)
    }
}

/// Returns the positions of the set bits, in order.
pub(super) fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let at = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (at < u64::BITS).then_some(at as usize)
    })
}

/// Returns the ports of a frame that leaves by `egress`.
pub(super) fn port_pair(source: &Source<'_>, egress: InterfaceId) -> PortPair {
    PortPair {
        ingress: match source.is_router() {
            true => InterfaceId::NONE,
            false => source.interface,
        },
        egress,
    }
}

/// Returns the hook of the filter for frames from this source to a port.
pub(super) fn through(source: &Source<'_>) -> Hook {
    match source.is_router() {
        true => Hook::Output,
        false => Hook::Forward,
    }
}

/// Bridges frames that tables apply to. The frames that go up to the router stay in the vector.
/// Returns the received frames and their bytes.
#[inline(never)]
pub(super) fn run(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) -> Traffic {
    let is_open = !source.is_router() && source.is_open();
    if is_open
        && source.applied.detours
        && let Some((mut one, mut all)) = passes.rule_scratch.alone.take()
    {
        let mut came = Traffic::default();
        core::mem::swap(vector, &mut all);
        for frame in all.drain() {
            let kept = one.push(frame);
            let passed = alone(cx, source, &mut one, passes, outlet);
            came.packets += passed.packets;
            came.bytes += passed.bytes;
            let rest = kept.err().into_iter().chain(one.drain());
            for frame in rest.filter_map(|frame| vector.push(frame).err()) {
                outlet.discard(frame, DropReason::NoBuffer);
            }
        }
        passes.rule_scratch.alone = Some((one, all));
        return came;
    }
    let ended = match is_open {
        true => arrive(cx, source, vector, &mut passes.rule_scratch, outlet),
        false => Traffic::default(),
    };
    let came = passes::bridge(cx, source, vector, passes, outlet);
    Traffic {
        packets: came.packets + ended.packets,
        bytes: came.bytes + ended.bytes,
    }
}

/// Evaluates the rules before the bridging decision. Returns the frames that ended, and their
/// bytes.
fn arrive(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    rule_scratch: &mut RuleScratch,
    outlet: &mut Outlet,
) -> Traffic {
    let mut ended = arrive_at(cx, source, Hook::Chip, vector, rule_scratch, outlet);
    let more = arrive_at(cx, source, Hook::Dstnat, vector, rule_scratch, outlet);
    ended.packets += more.packets;
    ended.bytes += more.bytes;
    ended
}

fn arrive_at(
    cx: &Context<'_>,
    source: &Source<'_>,
    hook: Hook,
    vector: &mut Vector,
    rule_scratch: &mut RuleScratch,
    outlet: &mut Outlet,
) -> Traffic {
    let mut ended = Traffic::default();
    if !{ source.applied.rules }.is_some_and(|rules| rules.has(hook)) {
        return ended;
    }
    let mut verdicts = [FrameVerdicts::default(); VECTOR_FRAMES.div_ceil(CHUNK)];
    rule_scratch
        .ports
        .fill(port_pair(source, InterfaceId::NONE));
    for (frames, verdicts) in vector.frames_mut().chunks_mut(CHUNK).zip(&mut verdicts) {
        // RouterOS: bridge rules cannot drop spanning tree messages; rules of a switch chip can.
        let passes = |frame: &Frame| {
            hook == Hook::Chip || head(frame.bytes()).is_none_or(|head| !source.keeps(&head))
        };
        let which = frames.iter().rev();
        let which = which.fold(0, |which, frame| which << 1 | u64::from(passes(frame)));
        *verdicts = rule_scratch.verdicts(cx, source, hook, which, frames, outlet);
    }
    if verdicts.iter().all(|verdicts| verdicts.ended() == 0) {
        return ended;
    }
    let mut place = 0;
    let mut frames = vector.extract(|_| {
        let at = place;
        place += 1;
        verdicts[at / CHUNK].ended() >> (at % CHUNK) & 1 != 0
    });
    for verdicts in verdicts {
        for at in bits(verdicts.ended()) {
            let Some(mut frame) = frames.next() else {
                return ended;
            };
            ended.packets += 1;
            ended.bytes += frame.len() as u64;
            frame.ingress = source.interface;
            let is = |set: u64| set >> at & 1 != 0;
            if is(verdicts.answers) {
                (frame.egress, frame.l3) = (source.interface, HEADER as u16);
                walk::transmit(cx, frame, outlet);
            } else if is(verdicts.malformed) {
                outlet.discard(frame, DropReason::ArpMalformed);
            } else {
                outlet.discard(frame, hook.reason());
            }
        }
    }
    ended
}

/// Bridges one frame whose packet may pass the IP tables.
fn alone(
    cx: &Context<'_>,
    source: &Source<'_>,
    one: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) -> Traffic {
    let ended = arrive(cx, source, one, &mut passes.rule_scratch, outlet);
    let Some(frame) = one.frames_mut().first_mut() else {
        return ended;
    };
    let came = Traffic {
        packets: 1,
        bytes: frame.len() as u64,
    };
    // Packets for the router pass the IP tables after the bridge.
    let passing = head(frame.bytes()).filter(|head| head.to != source.own && !source.keeps(head));
    if passing.is_some() {
        match detour::enter(cx, frame, source.bridge.id, source.interface, outlet) {
            Ok(detoured) => outlet.detoured = detoured,
            Err(DetourEnd::Routed) => {
                let [_, _, own @ ..] = source.own.to_be_bytes();
                if let Some(to) = frame.bytes_mut().first_chunk_mut() {
                    *to = own;
                }
            }
            Err(DetourEnd::Ends(exit)) => {
                for frame in one.drain() {
                    outlet.settle(cx, frame, exit);
                }
                return came;
            }
        }
    }
    passes::bridge(cx, source, one, passes, outlet);
    outlet.detoured = None;
    came
}

/// Evaluates the rules for a frame that leaves by `frame.egress`. Returns the frame unless it ends.
#[inline(never)]
pub(super) fn one_leaves(
    cx: &Context<'_>,
    source: &Source<'_>,
    mut frame: Frame,
    outlet: &mut Outlet,
) -> Option<Frame> {
    let ports = port_pair(source, frame.egress);
    let asks = |hook: Hook, frame: &mut Frame, outlet: &mut Outlet| {
        let rules = source.applied.rules?;
        match rules.evaluate_one(cx, hook, frame, ports, outlet) {
            FrameVerdict::GoesOn => None,
            FrameVerdict::Drop(reason) => Some(reason),
            FrameVerdict::Answers => Some(hook.reason()),
        }
    };
    if let Some(reason) = asks(through(source), &mut frame, outlet) {
        outlet.discard(frame, reason);
        return None;
    }
    if let Some(mut detoured) = outlet.detoured {
        let ports = detour::Ports {
            bridge: source.bridge.id,
            ingress: source.interface,
            egress: frame.egress,
        };
        let left = detour::leave(cx, &mut frame, &mut detoured, ports, outlet);
        outlet.detoured = Some(detoured);
        if let Err(exit) = left {
            outlet.settle(cx, frame, exit);
            return None;
        }
    }
    match asks(Hook::Srcnat, &mut frame, outlet) {
        None => Some(frame),
        Some(reason) => {
            outlet.discard(frame, reason);
            None
        }
    }
}

/// Evaluates the rules for a frame that goes up to the router or to a service of its port.
///
/// # Errors
/// A rule drops the frame.
pub(super) fn one_rises(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: &mut Frame,
    outlet: &mut Outlet,
) -> Result<(), DropReason> {
    let Some(rules) = source.applied.rules else {
        return Ok(());
    };
    let ports = port_pair(source, InterfaceId::NONE);
    match rules.evaluate_one(cx, Hook::Input, frame, ports, outlet) {
        FrameVerdict::Drop(reason) => Err(reason),
        FrameVerdict::GoesOn | FrameVerdict::Answers => Ok(()),
    }
}
