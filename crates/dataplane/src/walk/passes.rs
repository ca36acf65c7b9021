//! The passes over a vector: the stages' decisions, and what they come to, committed.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::depart::{self, Near};
use super::ingress::{self, Entrance};
use super::{Context, Exit, Key, Place, egress, gather, guarded, prerouting};
use crate::counters::{Counters, Traffic};
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::punt::Why;
use crate::rings::Handed;
use crate::table::NextHopId;
use crate::trace::Silent;

/// Headers are asked for this many frames ahead.
const AHEAD: usize = 8;
/// In place of a port: the frame leaves by its exit.
pub(super) const NO_PORT: u16 = u16::MAX;

/// What the passes tell each other about the frames of a vector, by their place in it.
pub(crate) struct Scratch {
    pub(super) lanes: [Lane; VECTOR_FRAMES],
    pub(super) exits: [Exit; VECTOR_FRAMES],
    pub(super) ports: [u16; VECTOR_FRAMES],
    /// The IPv4 destinations, without gaps, and their next hops.
    pub(super) keys4: [u32; VECTOR_FRAMES],
    pub(super) hops4: [NextHopId; VECTOR_FRAMES],
    /// The same of IPv6.
    pub(super) keys6: [u128; VECTOR_FRAMES],
    pub(super) hops6: [NextHopId; VECTOR_FRAMES],
    pub(super) near: Near,
    pub(super) ahead: guarded::Ahead,
}

/// What pass 1 found a frame to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// It has left its walk already.
    Exit,
    V4,
    V6,
}

impl Scratch {
    /// Keeps how a frame left its walk in pass 1.
    #[inline(always)]
    fn leave(&mut self, place: usize, exit: Exit) {
        self.lanes[place % VECTOR_FRAMES] = Lane::Exit;
        self.exits[place % VECTOR_FRAMES] = exit;
    }

    /// Keeps what pass 1 decided about a frame.
    fn note(&mut self, at: usize, key: Result<Key, Exit>, received: &mut Received) {
        let place = at % VECTOR_FRAMES;
        match key {
            Ok(Key::V4(address)) => {
                self.keys4[received.count4 % VECTOR_FRAMES] = address;
                self.lanes[place] = Lane::V4;
                received.count4 += 1;
            }
            Ok(Key::V6(address)) => {
                self.keys6[received.count6 % VECTOR_FRAMES] = address;
                self.lanes[place] = Lane::V6;
                received.count6 += 1;
            }
            Err(exit) => self.leave(place, exit),
        }
    }

    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            lanes: [Lane::Exit; VECTOR_FRAMES],
            exits: [Exit::Drop(Drop::NoRoute); VECTOR_FRAMES],
            ports: [NO_PORT; VECTOR_FRAMES],
            keys4: [0; VECTOR_FRAMES],
            hops4: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            keys6: [0; VECTOR_FRAMES],
            hops6: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            near: Near::new(),
            ahead: guarded::Ahead::new(),
        })
    }
}

/// Walks a vector that a port with this number received, and leaves it empty.
pub(crate) fn vector(
    cx: &Context<'_>,
    port: u16,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let id = cx
        .snapshot
        .port(port)
        .map_or(InterfaceId::NONE, |binding| binding.interface);
    let Some(entrance) = Entrance::new(cx.snapshot, id) else {
        for frame in vector.drain() {
            outlet.discard(frame, Drop::InterfaceDown);
        }
        return;
    };
    let firewall = &cx.snapshot.firewall;
    if firewall.guards(false) || firewall.guards(true) {
        guard(cx, &entrance, vector, scratch, outlet);
    } else if is_fast(&entrance) {
        walk::<true>(cx, &entrance, vector, scratch, outlet);
    } else {
        walk::<false>(cx, &entrance, vector, scratch, outlet);
    }
}

fn is_fast(entrance: &Entrance<'_>) -> bool {
    let interface = entrance.interface;
    interface.ipv4.is_fast() && interface.ipv6.is_fast() && interface.vlans.is_empty()
}

/// The passes of packets that the firewall looks at.
fn guard(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let frames = vector.frames_mut();
    pass1::<false>(cx, entrance, frames, scratch, &outlet.counters);
    guarded::vector(cx, entrance.id, frames, scratch, outlet);
    pass4(cx, vector, scratch, outlet);
}

/// The passes, one after the other.
fn walk<const FAST: bool>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let frames = vector.frames_mut();
    let received = pass1::<FAST>(cx, entrance, frames, scratch, &outlet.counters);
    let Received { count4, count6, .. } = received;
    let main = cx.fib.main();
    if count4 > 0 {
        main.ipv4
            .lookup_vector(&scratch.keys4[..count4], &mut scratch.hops4[..count4]);
    }
    if count6 > 0 {
        main.ipv6
            .lookup_vector(&scratch.keys6[..count6], &mut scratch.hops6[..count6]);
    }
    depart::pass3::<FAST>(cx, entrance, frames, scratch, outlet);
    let ended = pass4(cx, vector, scratch, outlet);
    if FAST {
        let packets = received.packets.wrapping_sub(ended.packets);
        let bytes = received.bytes.wrapping_sub(ended.bytes);
        let counters = outlet.counters.interface(entrance.id);
        counters.fp_rx.add(packets, bytes);
    }
}

/// What pass 1 saw.
#[derive(Default)]
struct Received {
    packets: u64,
    bytes: u64,
    count4: usize,
    count6: usize,
}

/// Ingress and prerouting; collects what is to be looked up.
fn pass1<const FAST: bool>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    counters: &Counters,
) -> Received {
    let count = frames.len().min(VECTOR_FRAMES);
    let mut received = Received {
        packets: count as u64,
        ..Received::default()
    };
    let mut at = 0;
    while at < count {
        let from = at;
        at = plain_run::<FAST, false>(cx, entrance, frames, at, scratch, &mut received);
        at = plain_run::<FAST, true>(cx, entrance, frames, at, scratch, &mut received);
        if at == from {
            let frame = &mut frames[at];
            received.bytes += frame.len() as u64;
            let key = odd::<FAST>(cx, entrance, frame, counters);
            scratch.note(at, key, &mut received);
            at += 1;
        }
    }
    let own = counters.interface(entrance.id);
    own.rx.add(received.packets, received.bytes);
    received
}

/// Pass 1 for plain frames of one family, as many as follow each other; returns where they end.
///
/// A loop of its own for each family keeps what it works with in registers.
#[inline(never)]
fn plain_run<const FAST: bool, const IPV6: bool>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    frames: &mut [Frame],
    from: usize,
    scratch: &mut Scratch,
    received: &mut Received,
) -> usize {
    let count = frames.len().min(VECTOR_FRAMES);
    let (mut count4, mut count6) = (received.count4, received.count6);
    let mut bytes = 0;
    let mut at = from;
    while at < count {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        let frame = &mut frames[at];
        let Some(arrived) = ingress::plain(entrance, frame.bytes()) else {
            break;
        };
        if arrived.ipv6 != IPV6 {
            break;
        }
        bytes += frame.len() as u64;
        frame.ingress = arrived.id;
        frame.l3 = arrived.l3;
        let packet = frame.bytes().get(ingress::ETHERNET..).unwrap_or_default();
        let place = at % VECTOR_FRAMES;
        if IPV6 {
            match prerouting::ipv6::<FAST>(cx, &arrived, packet) {
                Ok(address) => {
                    scratch.keys6[count6 % VECTOR_FRAMES] = address;
                    scratch.lanes[place] = Lane::V6;
                    count6 += 1;
                }
                Err(exit) => scratch.leave(place, exit),
            }
        } else {
            match prerouting::ipv4::<FAST>(cx, &arrived, packet) {
                Ok(address) => {
                    scratch.keys4[count4 % VECTOR_FRAMES] = address;
                    scratch.lanes[place] = Lane::V4;
                    count4 += 1;
                }
                Err(exit) => scratch.leave(place, exit),
            }
        }
        at += 1;
    }
    (received.count4, received.count6) = (count4, count6);
    received.bytes += bytes;
    at
}

/// Pass 1 for a frame that is not plain.
#[cold]
#[inline(never)]
fn odd<const FAST: bool>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    frame: &mut Frame,
    counters: &Counters,
) -> Result<Key, Exit> {
    let mut place = Place {
        interface: entrance.id,
        l3: 0,
    };
    let key = super::enter::<FAST, _>(cx, entrance, frame.bytes(), &mut place, &mut Silent);
    frame.ingress = place.interface;
    frame.l3 = place.l3;
    if place.interface != entrance.id {
        let vlan = counters.interface(place.interface);
        vlan.rx.add(1, frame.len() as u64);
    }
    key
}

/// Queues, punts and drops, in order. Returns what ended here.
fn pass4(cx: &Context<'_>, vector: &mut Vector, scratch: &Scratch, outlet: &mut Outlet) -> Traffic {
    let mut ended = Traffic::default();
    let ports = &scratch.ports[..vector.len().min(VECTOR_FRAMES)];
    let first = ports.first().copied().unwrap_or(NO_PORT);
    let others = ports.iter().fold(0, |others, port| others | (port ^ first));
    if others == 0 && first != NO_PORT && outlet.send_vector(vector, first) {
        return ended;
    }
    let mut frames = vector.drain();
    let mut at = 0;
    while at < ports.len() {
        let port = ports[at];
        if port == NO_PORT {
            if let Some(frame) = frames.next() {
                let exit = scratch.exits[at];
                if !matches!(exit, Exit::Finish { .. }) {
                    ended.packets += 1;
                    ended.bytes += frame.len() as u64;
                }
                settle(cx, frame, exit, outlet);
            }
            at += 1;
            continue;
        }
        let alike = ports[at..].iter();
        let run = alike.take_while(|other| **other == port).count();
        outlet.send_run(cx, &mut frames, run, port);
        at += run;
    }
    ended
}

/// The port that a frame came by, through its interface.
pub(super) fn arrived_by(cx: &Context<'_>, frame: &Frame) -> u16 {
    let interface = cx.snapshot.interface(frame.ingress);
    interface.map_or(NO_PORT, |interface| interface.port)
}

/// Does what an exit says.
#[cold]
pub(super) fn settle(cx: &Context<'_>, mut frame: Frame, exit: Exit, outlet: &mut Outlet) {
    match exit {
        Exit::Drop(reason) => outlet.discard(frame, reason),
        Exit::Punt(why) => {
            if why == Why::Local {
                gather::stays(&mut frame);
            }
            outlet.punt(frame, why);
        }
        Exit::Collect => gather::collect(cx, frame, outlet),
        Exit::HandOver(worker) => {
            let port = arrived_by(cx, &frame);
            if let Some((frame, reason)) = outlet.hand(worker, Handed::Arrived(frame, port)) {
                outlet.discard(frame, reason);
            }
        }
        Exit::Finish { port, mtu } => egress::finish(cx, outlet, frame, port, mtu),
        Exit::Deliver(port) => {
            gather::stays(&mut frame);
            let l3 = frame.l3;
            if l3 == 0 || egress::relayer(&mut frame, l3, 0) {
                egress::finish(cx, outlet, frame, port, u32::MAX);
            }
        }
    }
}
