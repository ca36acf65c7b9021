//! The passes over frames that come into a bridge together, by a port or from the router above.
//!
//! ```text
//! 1 sight:  head, class; asks for the lines of both stations
//! 2 judge:  learns, looks up, decides; rewrites the tags of what leaves as it is     } in parts of the vector
//! 3 commit: frames to their ports; what goes up stays in the vector
//! ```
//!
//! Frames keep their order. A frame that is sent as the one before it was, between the same stations, is not looked
//! up again.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::decide::{self, Class, Head, Many, Source, To};
use super::filter::{self, Asking};
use super::{BridgePort, flood, guard, offload, receive, tags};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::table::bridge_hosts::Place;
use crate::table::{BridgeHosts, Learned};
use crate::walk::Context;
use crate::walk::guarded::bridged::Hook;

/// Frames whose lines are asked for before the first of them is decided about.
const PART: usize = 32;
/// Headers are asked for so many frames ahead.
const AHEAD: usize = 8;
/// Egress ports that are remembered within a vector, by the low bits of their slots.
const EGRESSES: usize = 32;

/// What pass 1 saw of a frame.
#[derive(Clone, Copy)]
struct Seen {
    head: Head,
    class: Result<Class, DropReason>,
    /// Where its stations are looked for.
    to: Place,
    from: Place,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It leaves as it is now.
    Out(OutId),
    /// It goes up as it is now.
    Up,
    /// It leaves by the port with this number, and not as it is.
    Port(u16, Class),
    /// It leaves by several ports.
    Flood(Class, Many),
    /// Copies leave by several ports, and it goes up.
    Group(Class, Many),
    /// It is discarded.
    Drop(DropReason),
    /// Its address is one of those that bridges keep for themselves.
    Reserved,
}

/// An egress port, as frames of this vector see it.
#[derive(Clone, Copy)]
struct Egress {
    id: InterfaceId,
    number: u16,
    /// Whether frames may leave by it at all.
    joined: Result<(), DropReason>,
    out: OutId,
    forwarding: u32,
    /// The longest frame that leaves as it is.
    longest: usize,
    sent: Traffic,
}

const NO_EGRESS: Egress = Egress {
    id: InterfaceId::NONE,
    number: 0,
    joined: Err(DropReason::EgressDown),
    out: OutId::NONE,
    forwarding: 0,
    longest: 0,
    sent: Traffic {
        packets: 0,
        bytes: 0,
    },
};

/// Memory of the stage.
pub(crate) struct Bridging {
    /// Frames that leave the router above one by one, or some together.
    pub(super) some: Vector,
    pub(super) passes: Passes,
}

/// Memory of the passes.
pub(super) struct Passes {
    seen: [Seen; PART],
    ways: [Way; VECTOR_FRAMES],
    egresses: [Egress; EGRESSES],
    /// Frames that go up, while others of their vector leave.
    risen: Vector,
    pub(super) asking: Asking,
}

impl Bridging {
    pub(crate) fn new() -> Box<Self> {
        let seen = Seen {
            head: Head::default(),
            class: Err(DropReason::BridgeSource),
            to: Place::default(),
            from: Place::default(),
        };
        Box::new(Self {
            some: Vector::new(),
            passes: Passes {
                seen: [seen; PART],
                ways: [Way::Up; VECTOR_FRAMES],
                egresses: [NO_EGRESS; EGRESSES],
                risen: Vector::new(),
                asking: Asking::new(),
            },
        })
    }
}

/// Bridges frames from a source; those that go up stay in the vector. Returns what came.
pub(super) fn run(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) -> Traffic {
    match filter::looked_at(cx, source) {
        None => bridge(cx, source, vector, passes, outlet),
        Some(source) => filter::run(cx, &source, vector, passes, outlet),
    }
}

/// The same of frames that come to the bridging decision.
pub(super) fn bridge(
    cx: &Context<'_>,
    source: &Source<'_>,
    vector: &mut Vector,
    passes: &mut Passes,
    outlet: &mut Outlet,
) -> Traffic {
    let Passes {
        seen,
        ways,
        egresses,
        risen,
        asking,
    } = passes;
    egresses.fill(NO_EGRESS);
    let mut stage = Stage {
        cx,
        source,
        hosts: cx.interfaces.bridges().hosts(),
        now: (cx.now.as_nanos() / 1_000_000_000) as u32,
        egresses,
        last: None,
        came: Traffic::default(),
        groups: false,
        outlet,
    };
    let frames = vector.frames_mut();
    let mut at = 0;
    while at < frames.len() {
        let part = PART.min(frames.len() - at);
        stage.sight(&mut frames[at..], part, seen);
        let (frames, ways) = (&mut frames[at..at + part], &mut ways[at..at + part]);
        for ((frame, seen), way) in frames.iter_mut().zip(&*seen).zip(&mut *ways) {
            *way = stage.judge(frame, seen);
        }
        if source.looks.any() {
            stage.ask(frames, ways, asking);
        }
        at += part;
    }
    let (came, groups) = (stage.came, stage.groups);
    stage.flush();
    if groups && source.asks {
        receive::hear(cx, source, vector.frames(), outlet);
    }
    commit(cx, source, (vector, risen), ways, outlet);
    came
}

/// The passes that decide.
struct Stage<'a> {
    cx: &'a Context<'a>,
    source: &'a Source<'a>,
    hosts: &'a BridgeHosts,
    /// The second of this vector.
    now: u32,
    egresses: &'a mut [Egress; EGRESSES],
    /// The stations and the class of the last frame that was looked up, and where it went.
    last: Option<(u64, u64, Class, To)>,
    came: Traffic,
    /// There are frames for groups.
    groups: bool,
    outlet: &'a mut Outlet,
}

impl Stage<'_> {
    /// Pass 1.
    #[inline(always)]
    fn sight(&mut self, frames: &mut [Frame], part: usize, seen: &mut [Seen; PART]) {
        let source = self.source;
        for (at, seen) in seen.iter_mut().enumerate().take(part) {
            if let Some(next) = frames.get(at + AHEAD) {
                next.prefetch();
            }
            let frame = &mut frames[at];
            if !source.is_router() {
                frame.ingress = source.interface;
            }
            self.came.packets += 1;
            self.came.bytes += frame.len() as u64;
            let Some(head) = decide::head(frame.bytes()) else {
                seen.class = Err(DropReason::EthernetLength);
                continue;
            };
            seen.head = head;
            self.groups |= head.is_to_group();
            seen.class = decide::admit(source, &head);
            let Ok(class) = &seen.class else { continue };
            seen.to = self.hosts.place(&source.key(class, head.to));
            seen.from = self.hosts.place(&source.key(class, head.from));
            if !source.is_router() {
                self.hosts.prefetch(seen.from);
            }
            self.hosts.prefetch(seen.to);
        }
    }

    /// Pass 2 for one frame.
    #[inline(always)]
    fn judge(&mut self, frame: &mut Frame, seen: &Seen) -> Way {
        let head = &seen.head;
        let class = match seen.class {
            Ok(class) if !self.source.keeps(head) => class,
            Err(reason) if !self.source.keeps(head) || reason == DropReason::EthernetLength => {
                return Way::Drop(reason);
            }
            _ => return Way::Reserved,
        };
        if !self.source.bridge.guards.are_off()
            && let Err(reason) = self.guard(frame)
        {
            return Way::Drop(reason);
        }
        let to = match self.last {
            Some((to, from, of, found)) if (to, from, of) == (head.to, head.from, class) => found,
            _ => self.look_up(seen, class),
        };
        match to {
            To::Port(id) => self.leave(frame, class, id),
            To::Up => self.rise(frame, class),
            To::Many(Many::Unknown) => Way::Flood(class, Many::Unknown),
            To::Many(many) if self.source.is_router() => Way::Flood(class, many),
            To::Many(many) => match decide::rises(self.source, &class) {
                Ok(_) => Way::Group(class, many),
                Err(_) => Way::Flood(class, many),
            },
            To::Nowhere(reason) => Way::Drop(reason),
        }
    }

    #[cold]
    #[inline(never)]
    fn guard(&self, frame: &mut Frame) -> Result<(), DropReason> {
        guard::run(self.source.bridge.guards, self.source.trust, frame)
    }

    /// Learns where a frame comes from, and looks up where it goes.
    #[inline(always)]
    fn look_up(&mut self, seen: &Seen, class: Class) -> To {
        let (source, head) = (self.source, &seen.head);
        let mut learned = Learned::Known;
        if source.learns(&class) && head.from != source.own {
            let key = source.key(&class, head.from);
            let when = (self.now, source.bridge.max_learned);
            learned = self.hosts.learn_at(seen.from, &key, source.interface, when);
            if let Learned::Moved(before) = learned {
                let (bridges, to) = (self.cx.interfaces.bridges(), source.interface);
                offload::moved(bridges.switch(), source.bridge, &key, (before, to));
            }
        }
        let tables = (self.cx.interfaces, self.hosts);
        let to = decide::find(tables, source, head, &class, seen.to);
        if let (Some(from), To::Port(id)) = (source.switched, to) {
            self.teach(head, &class, (from, learned), id);
        }
        // What is not known may be in a moment.
        self.last = (!matches!(to, To::Many(_))).then_some((head.to, head.from, class, to));
        to
    }

    /// A frame goes on from a port that is switched below the workers, which were asked all the same.
    #[cold]
    #[inline(never)]
    fn teach(
        &self,
        head: &Head,
        class: &Class,
        (from, learned): (&BridgePort, Learned),
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
        offload::bridged(switch, (from, &keys.0), (port, &keys.1));
    }

    /// A frame leaves by this port.
    #[inline(always)]
    fn leave(&mut self, frame: &mut Frame, class: Class, id: InterfaceId) -> Way {
        let source = self.source;
        let mut egress = &mut self.egresses[id.slot() % EGRESSES];
        if egress.id != id {
            egress = self.meet(id);
        }
        if let Err(reason) = egress.joined {
            return Way::Drop(reason);
        }
        let to = (usize::from(egress.number), egress.forwarding);
        let how = match decide::passes(source.bridge, &class, to) {
            Ok(how) => how,
            Err(reason) => return Way::Drop(reason),
        };
        let is_plain = frame.len() <= egress.longest && frame.offload.is_finished();
        if !is_plain || source.looks.detours {
            return Way::Port(egress.number, class);
        }
        if !tags::retag(frame, &class, how, source.bridge.ethertype) {
            return Way::Drop(DropReason::NoBuffer);
        }
        frame.egress = id;
        if !source.looks.any() {
            egress.sent.packets += 1;
            egress.sent.bytes += frame.len() as u64;
        }
        Way::Out(egress.out)
    }

    /// Asks rules about those frames of a part that leave as they are, and those that go up. Counts what leaves.
    #[inline(never)]
    fn ask(&mut self, frames: &mut [Frame], ways: &mut [Way], asking: &mut Asking) {
        let (mut out, mut up) = (0, 0);
        for (at, (frame, way)) in frames.iter().zip(&*ways).enumerate() {
            let egress = match way {
                Way::Out(_) => frame.egress,
                _ => InterfaceId::NONE,
            };
            asking.pass(at, self.source, egress);
            out |= u64::from(matches!(way, Way::Out(_))) << at;
            up |= u64::from(*way == Way::Up) << at;
        }
        let through = filter::through(self.source);
        for (hook, which) in [(through, out), (Hook::Srcnat, out), (Hook::Input, up)] {
            let which = which & asking.left;
            let ended = asking.ask(self.cx, self.source, (hook, which), frames, self.outlet);
            for at in filter::bits(ended) {
                ways[at] = Way::Drop(hook.reason());
            }
        }
        for at in filter::bits(out & asking.left) {
            let (id, bytes) = (frames[at].egress, frames[at].len() as u64);
            let mut egress = &mut self.egresses[id.slot() % EGRESSES];
            if egress.id != id {
                egress = self.meet(id);
            }
            egress.sent.packets += 1;
            egress.sent.bytes += bytes;
        }
    }

    /// An egress port that was not met yet, or not lately.
    #[cold]
    #[inline(never)]
    fn meet(&mut self, id: InterfaceId) -> &mut Egress {
        let (source, cx) = (self.source, self.cx);
        let mut met = Egress { id, ..NO_EGRESS };
        let line = cx.interfaces.get(id).filter(|line| line.running);
        if let Some(number) = source.bridge.number(id)
            && let Some(line) = line
        {
            met.number = number as u16;
            met.joined = decide::joined(source, number);
            met.forwarding = source.bridge.ports()[number].forwarding;
            met.out = line.out;
            // The tags of a VLAN's interface are put on one by one.
            met.longest = match line.under == id {
                // A tag may come on top.
                true => flood::longest(&line).saturating_sub(4),
                false => 0,
            };
        }
        let at = id.slot() % EGRESSES;
        self.count(at);
        self.egresses[at] = met;
        &mut self.egresses[at]
    }

    /// A frame goes up.
    #[inline(always)]
    fn rise(&mut self, frame: &mut Frame, class: Class) -> Way {
        let bridge = self.source.bridge;
        match decide::rises(self.source, &class) {
            Ok(how) if tags::retag(frame, &class, how, bridge.ethertype) => {
                frame.rise(self.source.interface, bridge.id);
                Way::Up
            }
            Ok(_) => Way::Drop(DropReason::NoBuffer),
            Err(reason) => Way::Drop(reason),
        }
    }

    /// Counts what left by all ports.
    fn flush(&mut self) {
        for at in 0..EGRESSES {
            self.count(at);
        }
    }

    /// Counts what left by a port.
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

/// Pass 3.
fn commit(
    cx: &Context<'_>,
    source: &Source<'_>,
    (vector, risen): (&mut Vector, &mut Vector),
    ways: &[Way; VECTOR_FRAMES],
    outlet: &mut Outlet,
) {
    let ways = &ways[..vector.len().min(VECTOR_FRAMES)];
    let first = ways.first().copied().unwrap_or(Way::Up);
    if matches!(first, Way::Out(_) | Way::Up) && ways.iter().all(|way| *way == first) {
        match first {
            Way::Out(out) if outlet.dispatch_vector(cx, vector, out) => return,
            Way::Up => return,
            _ => {}
        }
    }
    let mut frames = vector.drain();
    let mut at = 0;
    while at < ways.len() {
        let way = ways[at];
        if let Way::Out(out) = way {
            let run = ways[at..].iter().take_while(|next| **next == way).count();
            outlet.dispatch_run(cx, &mut frames, run, out);
            at += run;
            continue;
        }
        at += 1;
        let Some(mut frame) = frames.next() else {
            break;
        };
        match way {
            Way::Up => {}
            Way::Group(class, many) => {
                if let Err(reason) = group(cx, source, &mut frame, (class, many), outlet) {
                    outlet.discard(frame, reason);
                    continue;
                }
            }
            way => {
                end(cx, source, frame, way, outlet);
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

/// Sends copies of a frame for a group, which then is the router's.
///
/// # Errors
/// A rule keeps it from the router.
#[cold]
#[inline(never)]
fn group(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: &mut Frame,
    (class, many): (Class, Many),
    outlet: &mut Outlet,
) -> Result<(), DropReason> {
    flood::copies(cx, source, frame, (class, many), outlet);
    if let Ok(how) = decide::rises(source, &class) {
        // With no room for a tag it is of no VLAN, and ends at ingress.
        let _ = tags::retag(frame, &class, how, source.bridge.ethertype);
    }
    frame.rise(source.interface, source.bridge.id);
    filter::one_rises(cx, source, frame, outlet)
}

/// Does with a frame what was decided, where that is more than to send it as it is.
#[cold]
#[inline(never)]
fn end(cx: &Context<'_>, source: &Source<'_>, frame: Frame, way: Way, outlet: &mut Outlet) {
    match way {
        Way::Port(number, class) => {
            let number = usize::from(number);
            match decide::leaves(source, &class, number) {
                Ok(how) => flood::leave(cx, source, frame, (class, (number, how)), outlet),
                Err(reason) => outlet.discard(frame, reason),
            }
        }
        Way::Flood(class, many) => flood::flood(cx, source, frame, (class, many), outlet),
        Way::Drop(reason) => outlet.discard(frame, reason),
        Way::Reserved => receive::reserved(cx, source, frame, outlet),
        Way::Out(out) => outlet.dispatch(cx, frame, out),
        // They go up.
        Way::Up | Way::Group(..) => outlet.discard(frame, DropReason::BridgeNowhere),
    }
}
