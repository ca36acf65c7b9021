//! The passes over the frames of a vector that enter a bridge, by a port or from the router above.
//!
//! ```text
//! 1 sight:  head, class; prefetches the entries of both hosts
//! 2 judge:  learns, looks up, decides; rewrites tags of frames that leave by one port   } in parts of the vector
//! 3 commit: frames to their ports; frames for the router stay in the vector
//! ```
//!
//! Frames keep their order. A frame with the same header as its predecessor reuses its decision.

use core::ops::Range;

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::decide::{self, BridgeDestination, Class, FloodKind, Head, Leaves, Source};
use super::filter;
use super::link::ADDRESSES;
use super::own_source::OwnSources;
use super::scratch::{
    BridgeExit, ClassifiedFrame, EGRESSES, Egress, NO_EGRESS, PART, Passes, RuleScratch,
};
use super::{BridgePort, flood, guard, offload, receive, tags};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::{Dispatch, Outlet};
use crate::punt::PuntReason;
use crate::table::{BridgeHosts, Learned};
use crate::walk::Context;
use crate::walk::decide::bridged::Hook;

/// Headers are prefetched this many frames ahead.
const AHEAD: usize = 8;

/// Applies the bridge's guards to a received frame.
#[cold]
#[inline(never)]
fn guard(source: &Source<'_>, frame: &mut Frame) -> Result<(), DropReason> {
    guard::run(source.bridge.guards, source.trust, frame)
}

/// The decision about consecutive frames with the same header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Leave by the egress port at this position of the cache.
    Leave(u8, Leaves, Class),
    /// Go up to the router.
    Up(Leaves, Class),
    /// Leave by several ports.
    Flood(Class, FloodKind),
    /// Go up to the router, with copies to several ports.
    Group(Class, FloodKind),
    /// Drop.
    Drop(DropReason),
    /// The destination is a reserved bridge address.
    Reserved,
}

/// Bridges frames from a source. Frames for the router stay in the vector. Returns the received
/// frames and their bytes.
pub(super) fn run(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) -> Traffic {
    match filter::with_tables(cx, source) {
        None => bridge(cx, source, vector, passes, outlet),
        Some(source) => filter::run(cx, &source, vector, passes, outlet),
    }
}

/// Bridges frames from a source whose rules before the bridging decision have been evaluated.
pub(super) fn bridge(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) -> Traffic {
    let Passes {
        classified,
        outs,
        exits,
        egresses,
        risen,
        rule_scratch,
        own_sources,
    } = passes;
    egresses.fill(NO_EGRESS);
    let mut stage = Stage {
        cx,
        source,
        hosts: cx.interfaces.bridges().hosts(),
        now: (cx.now.as_nanos() / 1_000_000_000) as u32,
        egresses,
        last: Verdict::Reserved,
        came: Traffic::default(),
        groups: false,
        own_sources,
        outlet,
    };
    let frames = vector.frames_mut();
    let mut at = 0;
    while at < frames.len().min(VECTOR_FRAMES) {
        let part = PART.min(frames.len() - at);
        stage.sight(frames, at..at + part, classified);
        let frames = &mut frames[at..at + part];
        let (outs, exits) = (&mut outs[at..at + part], &mut exits[at..at + part]);
        stage.judge(frames, classified, outs, exits);
        if source.applied.any() {
            stage.ask(frames, outs, exits, rule_scratch);
        }
        at += part;
    }
    let (came, groups) = (stage.came, stage.groups);
    stage.flush();
    if groups && source.asks {
        receive::hear(cx, source, vector.frames(), outlet);
    }
    commit(cx, source, vector, risen, outs, exits, outlet);
    came
}

/// The state of the deciding passes.
struct Stage<'a> {
    cx: &'a Context<'a>,
    source: &'a Source<'a>,
    hosts: &'a BridgeHosts,
    /// The time of this vector in seconds.
    now: u32,
    egresses: &'a mut [Egress; EGRESSES],
    /// The decision about the last frame.
    last: Verdict,
    came: Traffic,
    /// Some frame has a multicast destination.
    groups: bool,
    own_sources: &'a mut OwnSources,
    outlet: &'a mut Outlet,
}

impl Stage<'_> {
    /// Pass 1: parses heads, classifies frames and prefetches the entries of both hosts.
    #[inline(always)]
    fn sight(
        &mut self,
        frames: &mut [Frame],
        places: Range<usize>,
        classified: &mut [ClassifiedFrame; PART],
    ) {
        let (source, hosts) = (self.source, self.hosts);
        let learns = !source.is_router();
        // Guards inspect packets, so frames with equal headers may differ.
        let alike = source.bridge.guards.are_off();
        let (mut bytes, mut groups) = (0, false);
        let mut before = Head::default();
        self.came.packets += places.len() as u64;
        let first = places.start;
        for (at, classified) in places.zip(classified) {
            if let Some(next) = frames.get(at + AHEAD) {
                next.prefetch();
            }
            let frame = &mut frames[at];
            if learns {
                frame.ingress = source.interface;
            }
            bytes += frame.len() as u64;
            let Some(head) = decide::head(frame.bytes()) else {
                classified.again = false;
                classified.refused = Some(DropReason::EthernetLength);
                (classified.head, before) = (Head::default(), Head::default());
                continue;
            };
            // The first frame of each part is always decided again, which limits the age of a decision.
            classified.again = head == before && at != first && alike;
            (classified.head, before) = (head, head);
            if classified.again {
                continue;
            }
            groups |= head.is_to_group();
            let class = match decide::admit(source, &head) {
                Ok(class) => class,
                Err(reason) => {
                    classified.refused = Some(reason);
                    continue;
                }
            };
            (classified.class, classified.refused) = (class, None);
            classified.to = hosts.place(&source.key(&class, head.to));
            hosts.prefetch(classified.to);
            if learns {
                classified.from = hosts.place(&source.key(&class, head.from));
                hosts.prefetch(classified.from);
            }
        }
        self.came.bytes += bytes;
        self.groups |= groups;
    }

    /// Pass 2: decides about each frame.
    #[inline(always)]
    fn judge(
        &mut self,
        frames: &mut [Frame],
        classified: &[ClassifiedFrame; PART],
        outs: &mut [OutId],
        exits: &mut [BridgeExit],
    ) {
        let ends = outs.iter_mut().zip(exits);
        for ((frame, classified), (out, exit)) in frames.iter_mut().zip(classified).zip(ends) {
            if !classified.again {
                self.last = self.decide(frame, classified);
            }
            match self.last {
                Verdict::Leave(at, how, class) => {
                    *out = self.leave(frame, usize::from(at), how, class, exit);
                }
                other => {
                    *out = OutId::NONE;
                    *exit = self.end(frame, other);
                }
            }
        }
    }

    /// Decides about a frame, and learns its source address.
    #[inline(always)]
    fn decide(&mut self, frame: &mut Frame, classified: &ClassifiedFrame) -> Verdict {
        let (source, head) = (self.source, &classified.head);
        if source.keeps(head) {
            return Verdict::Reserved;
        }
        if let Some(reason) = classified.refused {
            return Verdict::Drop(reason);
        }
        let class = classified.class;
        if !source.bridge.guards.are_off()
            && let Err(reason) = guard(source, frame)
        {
            return Verdict::Drop(reason);
        }
        let mut learned = Learned::Known;
        if source.learns(&class) {
            learned = self.learn(frame, classified, &class);
        }
        let interfaces = self.cx.interfaces;
        let to = decide::find(interfaces, self.hosts, source, head, &class, classified.to);
        if let (Some(from), BridgeDestination::Port(id)) = (source.switched, to) {
            self.teach(head, &class, from, learned, id);
        }
        match to {
            BridgeDestination::Port(id) => self.leaves_by(class, id),
            BridgeDestination::Up => match decide::rises(source, &class) {
                Ok(how) => Verdict::Up(how, class),
                Err(reason) => Verdict::Drop(reason),
            },
            BridgeDestination::Many(FloodKind::Unknown) => {
                Verdict::Flood(class, FloodKind::Unknown)
            }
            BridgeDestination::Many(many) if source.is_router() => Verdict::Flood(class, many),
            BridgeDestination::Many(many) => match decide::rises(source, &class) {
                Ok(_) => Verdict::Group(class, many),
                Err(_) => Verdict::Flood(class, many),
            },
            BridgeDestination::Nowhere(reason) => Verdict::Drop(reason),
        }
    }

    /// Learns the source address of a frame. An address of the bridge itself is not learned but
    /// reported to control.
    #[inline(always)]
    fn learn(&mut self, frame: &Frame, classified: &ClassifiedFrame, class: &Class) -> Learned {
        let (source, from) = (self.source, classified.head.from);
        if source.is_own(from) {
            self.tell_own_source(frame);
            return Learned::Fixed;
        }
        let key = source.key(class, from);
        let (now, max) = (self.now, source.bridge.max_learned);
        let learned = self
            .hosts
            .learn_at(classified.from, &key, source.interface, now, max);
        if let Learned::Moved(before) = learned {
            let (bridges, to) = (self.cx.interfaces.bridges(), source.interface);
            offload::moved(bridges.switch(), source.bridge, &key, before, to);
        }
        learned
    }

    /// Sends control the MAC addresses of a frame whose source is an address of the bridge, within
    /// the rate limit.
    #[cold]
    #[inline(never)]
    fn tell_own_source(&mut self, frame: &Frame) {
        if self.own_sources.admits(self.now) {
            self.outlet
                .punt_copy(frame, ADDRESSES, PuntReason::OwnSource);
        }
    }

    /// Teaches a switch below the workers the hosts of a frame that a worker forwards from a
    /// switched port.
    #[cold]
    #[inline(never)]
    fn teach(
        &self,
        head: &Head,
        class: &Class,
        from: &BridgePort,
        learned: Learned,
        to: InterfaceId,
    ) {
        let source = self.source;
        let number = source.bridge.number(to);
        let port = number.and_then(|to| source.bridge.ports().get(to));
        let (Some(port), Learned::Known | Learned::New | Learned::Moved(_)) = (port, learned)
        else {
            return;
        };
        let keys = (source.key(class, head.from), source.key(class, head.to));
        let switch = self.cx.interfaces.bridges().switch();
        offload::bridged(switch, from, &keys.0, port, &keys.1);
    }

    /// Decides how frames of a class leave by this port.
    #[inline(always)]
    fn leaves_by(&mut self, class: Class, id: InterfaceId) -> Verdict {
        let at = id.slot() % EGRESSES;
        if self.egresses[at].id != id {
            self.meet(id);
        }
        let egress = &self.egresses[at];
        if let Err(reason) = egress.joined {
            return Verdict::Drop(reason);
        }
        let number = usize::from(egress.number);
        match decide::passes(self.source.bridge, &class, number, egress.forwarding) {
            Ok(how) => Verdict::Leave(at as u8, how, class),
            Err(reason) => Verdict::Drop(reason),
        }
    }

    /// Prepares a frame to leave by a cached egress port. Returns its out; [`OutId::NONE`] with
    /// `exit` set if more must be done.
    #[inline(always)]
    fn leave(
        &mut self,
        frame: &mut Frame,
        at: usize,
        how: Leaves,
        class: Class,
        exit: &mut BridgeExit,
    ) -> OutId {
        let egress = &mut self.egresses[at % EGRESSES];
        let is_plain = frame.len() <= egress.longest && frame.offload.is_finished();
        if !is_plain || self.source.applied.detours {
            *exit = BridgeExit::Port(egress.number, class);
            return OutId::NONE;
        }
        if how != Leaves::AsItIs && !tags::retag(frame, &class, how, self.source.bridge.ethertype) {
            *exit = BridgeExit::Drop(DropReason::NoBuffer);
            return OutId::NONE;
        }
        frame.egress = egress.id;
        if !self.source.applied.any() {
            egress.sent.packets += 1;
            egress.sent.bytes += frame.len() as u64;
        }
        egress.out
    }

    /// Returns the exit of a frame that does not leave by one port unchanged.
    #[inline(never)]
    fn end(&self, frame: &mut Frame, verdict: Verdict) -> BridgeExit {
        let bridge = self.source.bridge;
        match verdict {
            Verdict::Up(how, class) => match tags::retag(frame, &class, how, bridge.ethertype) {
                true => {
                    frame.rise(self.source.interface, bridge.id);
                    BridgeExit::Up
                }
                false => BridgeExit::Drop(DropReason::NoBuffer),
            },
            Verdict::Flood(class, many) => BridgeExit::Flood(class, many),
            Verdict::Group(class, many) => BridgeExit::Group(class, many),
            Verdict::Drop(reason) => BridgeExit::Drop(reason),
            Verdict::Reserved => BridgeExit::Reserved,
            Verdict::Leave(..) => BridgeExit::Drop(DropReason::EgressDown),
        }
    }

    /// Evaluates the rules for the frames of a part that leave unchanged or go up, and counts
    /// frames that leave.
    #[inline(never)]
    fn ask(
        &mut self,
        frames: &mut [Frame],
        outs: &mut [OutId],
        exits: &mut [BridgeExit],
        rule_scratch: &mut RuleScratch,
    ) {
        let (mut out, mut up) = (0, 0);
        for (at, (leaves, exit)) in outs.iter().zip(&*exits).enumerate() {
            let leaves = *leaves != OutId::NONE;
            let egress = match leaves {
                true => frames[at].egress,
                false => InterfaceId::NONE,
            };
            rule_scratch.pass(at, self.source, egress);
            out |= u64::from(leaves) << at;
            up |= u64::from(!leaves && *exit == BridgeExit::Up) << at;
        }
        let through = filter::through(self.source);
        for (hook, which) in [(through, out), (Hook::Srcnat, out), (Hook::Input, up)] {
            let which = which & rule_scratch.left;
            let ended = rule_scratch.ask(self.cx, self.source, hook, which, frames, self.outlet);
            for at in filter::bits(ended) {
                (outs[at], exits[at]) = (OutId::NONE, BridgeExit::Drop(hook.reason()));
            }
        }
        for at in filter::bits(out & rule_scratch.left) {
            let (id, bytes) = (frames[at].egress, frames[at].len() as u64);
            let place = id.slot() % EGRESSES;
            if self.egresses[place].id != id {
                self.meet(id);
            }
            let egress = &mut self.egresses[place];
            egress.sent.packets += 1;
            egress.sent.bytes += bytes;
        }
    }

    /// Loads an egress port into the cache.
    #[cold]
    #[inline(never)]
    fn meet(&mut self, id: InterfaceId) {
        let (source, cx) = (self.source, self.cx);
        let mut met = Egress { id, ..NO_EGRESS };
        let line = cx.interfaces.get(id);
        let line = line.filter(|line| line.running && line.out != OutId::NONE);
        if let Some(number) = source.bridge.number(id)
            && let Some(line) = line
        {
            met.number = number as u16;
            met.joined = decide::joined(source, number);
            met.forwarding = source.bridge.ports()[number].forwarding;
            met.out = line.out;
            // Tags of a VLAN interface are pushed one by one, on the general way.
            met.longest = match line.under == id {
                // A tag may be added.
                true => flood::longest(&line).saturating_sub(4),
                false => 0,
            };
        }
        let at = id.slot() % EGRESSES;
        self.count(at);
        self.egresses[at] = met;
    }

    /// Writes the remaining counts of all egress ports.
    fn flush(&mut self) {
        for at in 0..EGRESSES {
            self.count(at);
        }
    }

    /// Writes the remaining counts of an egress port.
    fn count(&mut self, at: usize) {
        let Egress { id, sent, .. } = self.egresses[at];
        let Traffic { packets, bytes } = sent;
        if packets == 0 {
            return;
        }
        self.egresses[at].sent = Traffic::default();
        let counters = self.outlet.counters.interface(id);
        counters.tx.add(packets, bytes);
        if !self.source.is_fast() {
            return;
        }
        counters.fp_tx.add(packets, bytes);
        if self.source.is_router() {
            return;
        }
        let counters = self.outlet.counters.interface(self.source.interface);
        counters.fp_rx.add(packets, bytes);
        match self.source.straight_to {
            Some(_) => &self.outlet.counters.bridge_fast_forward,
            None => &self.outlet.counters.bridge_fast_path,
        }
        .add(packets, bytes);
    }
}

/// Pass 3: sends frames to their ports; frames for the router stay in the vector.
fn commit(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    risen: &mut Vector,
    outs: &[OutId; VECTOR_FRAMES],
    exits: &[BridgeExit; VECTOR_FRAMES],
    outlet: &mut Outlet,
) {
    let count = vector.len().min(VECTOR_FRAMES);
    let outs = &outs[..count];
    let first = outs.first().copied().unwrap_or_default();
    let bits = outs.iter();
    let others = bits.fold(0, |others, out| others | (out.bits() ^ first.bits()));
    if others == 0 {
        if first != OutId::NONE && outlet.dispatch_vector(cx, vector, first) {
            return;
        }
        if first == OutId::NONE && exits[..count].iter().all(|exit| *exit == BridgeExit::Up) {
            return;
        }
    }
    let mut frames = vector.drain();
    let mut at = 0;
    while at < count {
        let out = outs[at];
        if out != OutId::NONE {
            let run = outs[at..].iter().take_while(|next| **next == out).count();
            outlet.dispatch_run(cx, &mut frames, run, out);
            at += run;
            continue;
        }
        let exit = exits[at];
        at += 1;
        let Some(mut frame) = frames.next() else {
            break;
        };
        match exit {
            BridgeExit::Up => {}
            BridgeExit::Group(class, many) => {
                if let Err(reason) = group(cx, source, &mut frame, class, many, outlet) {
                    outlet.discard(frame, reason);
                    continue;
                }
            }
            exit => {
                end(cx, source, frame, exit, outlet);
                continue;
            }
        }
        if let Err(frame) = risen.push(frame) {
            outlet.discard(frame, DropReason::NoBuffer);
        }
    }
    drop(frames);
    core::mem::swap(vector, risen);
}

/// Sends copies of a multicast frame, and prepares the frame itself for the router.
///
/// # Errors
/// A rule drops the frame for the router.
#[cold]
#[inline(never)]
fn group(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: &mut Frame,
    class: Class,
    many: FloodKind,
    outlet: &mut Outlet,
) -> Result<(), DropReason> {
    flood::copies(cx, source, frame, class, many, outlet);
    if let Ok(how) = decide::rises(source, &class) {
        // Without room for a tag the frame has no VLAN, and ends at ingress.
        let _ = tags::retag(frame, &class, how, source.bridge.ethertype);
    }
    frame.rise(source.interface, source.bridge.id);
    filter::one_rises(cx, source, frame, outlet)
}

/// Acts on the exit of a frame that does not leave by one port unchanged.
#[cold]
#[inline(never)]
fn end(cx: &Context<'_>, source: &Source<'_>, frame: Frame, exit: BridgeExit, outlet: &mut Outlet) {
    match exit {
        BridgeExit::Port(number, class) => {
            let number = usize::from(number);
            match decide::leaves(source, &class, number) {
                Ok(how) => flood::leave(cx, source, frame, class, number, how, outlet),
                Err(reason) => outlet.discard(frame, reason),
            }
        }
        BridgeExit::Flood(class, many) => flood::flood(cx, source, frame, class, many, outlet),
        BridgeExit::Drop(reason) => outlet.discard(frame, reason),
        BridgeExit::Reserved => receive::reserved(cx, source, frame, outlet),
        // Frames for the router do not reach this function.
        BridgeExit::Up | BridgeExit::Group(..) => outlet.discard(frame, DropReason::BridgeNowhere),
    }
}
