//! The passes over a vector: the stages' decisions, and what they come to, committed.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::forward::{self, Fit};
use super::ingress::{Arrived, Entrance};
use super::{Context, Exit, Key, Leaving, Place, egress, output, routing};
use crate::counters::Counters;
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::trace::{Silent, Tracer};

/// Headers are asked for this many frames ahead.
const AHEAD: usize = 8;
/// In place of a port: the frame leaves by its exit.
const NO_PORT: u16 = u16::MAX;

/// What the passes tell each other about the frames of a vector, by their place in it.
pub(crate) struct Scratch {
    lanes: [Lane; VECTOR_FRAMES],
    exits: [Exit; VECTOR_FRAMES],
    ports: [u16; VECTOR_FRAMES],
    /// The IPv4 destinations, without gaps, and their next hops.
    keys4: [u32; VECTOR_FRAMES],
    hops4: [NextHopId; VECTOR_FRAMES],
    /// The same of IPv6.
    keys6: [u128; VECTOR_FRAMES],
    hops6: [NextHopId; VECTOR_FRAMES],
}

/// What pass 1 found a frame to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// It has left its walk already.
    Exit,
    V4,
    V6,
}

impl Scratch {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self {
            lanes: [Lane::Exit; VECTOR_FRAMES],
            exits: [Exit::Drop(Drop::NoRoute); VECTOR_FRAMES],
            ports: [NO_PORT; VECTOR_FRAMES],
            keys4: [0; VECTOR_FRAMES],
            hops4: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
            keys6: [0; VECTOR_FRAMES],
            hops6: [NextHopId::NO_ROUTE; VECTOR_FRAMES],
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
    if is_fast(&entrance) {
        walk::<true, _>(cx, &entrance, vector, scratch, outlet, &mut Silent);
    } else {
        walk::<false, _>(cx, &entrance, vector, scratch, outlet, &mut Silent);
    }
}

fn is_fast(entrance: &Entrance<'_>) -> bool {
    let interface = entrance.interface;
    interface.ipv4.is_fast() && interface.ipv6.is_fast() && interface.vlans.is_empty()
}

fn walk<const FAST: bool, T: Tracer>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    vector: &mut Vector,
    scratch: &mut Scratch,
    outlet: &mut Outlet,
    tracer: &mut T,
) {
    let frames = vector.frames_mut();
    let (count4, count6) =
        pass1::<FAST, T>(cx, entrance, frames, scratch, &outlet.counters, tracer);
    let main = cx.fib.main();
    main.ipv4
        .lookup_vector(&scratch.keys4[..count4], &mut scratch.hops4[..count4]);
    main.ipv6
        .lookup_vector(&scratch.keys6[..count6], &mut scratch.hops6[..count6]);
    pass3::<FAST, T>(cx, entrance, frames, scratch, outlet, tracer);
    pass4(cx, vector, scratch, outlet);
}

/// Ingress and prerouting; collects what is to be looked up.
#[inline(always)]
fn pass1<const FAST: bool, T: Tracer>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    counters: &Counters,
    tracer: &mut T,
) -> (usize, usize) {
    let count = frames.len().min(VECTOR_FRAMES);
    let (mut count4, mut count6) = (0, 0);
    let mut bytes = 0;
    for at in 0..count {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        let frame = &mut frames[at];
        bytes += frame.len() as u64;
        let mut place = Place {
            interface: entrance.id,
            l3: 0,
        };
        let key = super::enter::<FAST, T>(cx, entrance, frame.bytes(), &mut place, tracer);
        frame.ingress = place.interface;
        frame.l3 = place.l3;
        if !FAST && place.interface != entrance.id {
            let counters = counters.interface(place.interface);
            counters.rx.add(1, frame.len() as u64);
        }
        scratch.lanes[at] = match key {
            Ok(Key::V4(address)) => {
                scratch.keys4[count4 % VECTOR_FRAMES] = address;
                count4 += 1;
                Lane::V4
            }
            Ok(Key::V6(address)) => {
                scratch.keys6[count6 % VECTOR_FRAMES] = address;
                count6 += 1;
                Lane::V6
            }
            Err(exit) => {
                scratch.exits[at] = exit;
                Lane::Exit
            }
        };
    }
    let own = counters.interface(entrance.id);
    own.rx.add(count as u64, bytes);
    (count4, count6)
}

/// The next hop, forward, postrouting, egress: decided, and committed to the frame's bytes.
#[inline(always)]
fn pass3<const FAST: bool, T: Tracer>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
    tracer: &mut T,
) {
    let (mut count4, mut count6) = (0, 0);
    let mut tally = Tally::default();
    let mut redirects = cx.snapshot.send_redirects;
    let mut cached = NextHopId::NO_ROUTE;
    let mut adjacency = cx.fib.adjacencies.read(cached);
    for (at, frame) in frames.iter_mut().enumerate().take(VECTOR_FRAMES) {
        let (mut hop, ipv6) = match scratch.lanes[at] {
            Lane::V4 => {
                count4 += 1;
                (scratch.hops4[(count4 - 1) % VECTOR_FRAMES], false)
            }
            Lane::V6 => {
                count6 += 1;
                (scratch.hops6[(count6 - 1) % VECTOR_FRAMES], true)
            }
            Lane::Exit => {
                scratch.ports[at] = NO_PORT;
                continue;
            }
        };
        let mut ruled = Ok(hop);
        if !FAST && !cx.snapshot.rules.is_empty() {
            ruled = super::by_rules(cx, packet(frame), frame.ingress, tracer);
            hop = ruled.unwrap_or_default();
        }
        if hop != cached {
            adjacency = cx.fib.adjacencies.read(hop);
            cached = hop;
        }
        let received = frame.len() as u64;
        let way = Way {
            hop,
            adjacency: &adjacency,
            ipv6,
            own: false,
        };
        let departed = match ruled {
            Ok(_) => depart(cx, frame, &way, &mut redirects, outlet, tracer),
            Err(exit) => Err(exit),
        };
        scratch.ports[at] = match departed {
            Ok(departed) => {
                tally.add::<FAST>(cx, &outlet.counters, frame, ipv6, received);
                match departed {
                    Departed::Whole(port) => port,
                    Departed::Unfinished { port, mtu } => {
                        scratch.exits[at] = Exit::Finish { port, mtu };
                        NO_PORT
                    }
                }
            }
            Err(exit) => {
                scratch.exits[at] = exit;
                NO_PORT
            }
        };
    }
    tally.flush::<FAST>(cx, &outlet.counters);
    tally.finish::<FAST>(&outlet.counters, entrance.id);
}

/// Where routing sends a packet.
struct Way<'a> {
    hop: NextHopId,
    adjacency: &'a Adjacency,
    ipv6: bool,
    /// The packet is this router's own.
    own: bool,
}

/// A frame with its new link header.
enum Departed {
    /// Its port takes it as it is.
    Whole(u16),
    /// Its port does not.
    Unfinished { port: u16, mtu: u32 },
}

/// Pass 3 for one frame: decides, and commits what was decided to its bytes.
#[inline(always)]
fn depart<T: Tracer>(
    cx: &Context<'_>,
    frame: &mut Frame,
    way: &Way<'_>,
    redirects: &mut bool,
    outlet: &mut Outlet,
    tracer: &mut T,
) -> Result<Departed, Exit> {
    let leaving = Leaving {
        packet: packet(frame),
        offload: &frame.offload,
        ingress: frame.ingress,
        ipv6: way.ipv6,
        own: way.own,
    };
    let followed;
    let adjacency = if way.adjacency.kind == Kind::Forward {
        way.adjacency
    } else {
        followed = super::follow(cx, &leaving, way.hop, tracer)?;
        &followed
    };
    let fit = super::leave(cx, &leaving, adjacency, tracer)?;
    // Back where it came from: control may owe its sender a redirect. One per vector says it.
    if (adjacency.egress == frame.ingress) & *redirects {
        *redirects = false;
        outlet.redirect(frame, way.hop);
    }
    let aged = match (way.own, way.ipv6) {
        (true, _) => true,
        (false, false) => age4(frame),
        (false, true) => age6(frame),
    };
    if !(aged && egress::rewrite(frame, adjacency)) {
        return Err(Exit::Drop(Drop::NoBuffer));
    }
    let port = adjacency.port;
    if (fit == Fit::Whole) & frame.offload.is_finished() {
        Ok(Departed::Whole(port))
    } else {
        let mtu = adjacency.mtu;
        Ok(Departed::Unfinished { port, mtu })
    }
}

/// A frame from its network header on.
#[inline(always)]
fn packet(frame: &Frame) -> &[u8] {
    let l3 = usize::from(frame.l3);
    frame.bytes().get(l3..).unwrap_or_default()
}

/// One hop less to live, and no padding of the last link any more.
#[inline(always)]
fn age4(frame: &mut Frame) -> bool {
    let l3 = usize::from(frame.l3);
    let header = frame.bytes_mut().get_mut(l3..);
    let Some(header) = header.and_then(|packet| packet.first_chunk_mut::<20>()) else {
        return false;
    };
    forward::age4(header);
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    l3 + total == frame.len() || frame.set_len(l3 + total)
}

#[inline(always)]
fn age6(frame: &mut Frame) -> bool {
    let l3 = usize::from(frame.l3);
    let header = frame.bytes_mut().get_mut(l3..);
    let Some(header) = header.and_then(|packet| packet.first_chunk_mut::<40>()) else {
        return false;
    };
    forward::age6(header);
    let total = usize::from(u16::from_be_bytes([header[4], header[5]])) + 40;
    l3 + total == frame.len() || frame.set_len(l3 + total)
}

/// Queues, punts and drops, in order.
fn pass4(cx: &Context<'_>, vector: &mut Vector, scratch: &Scratch, outlet: &mut Outlet) {
    let count = vector.len().min(VECTOR_FRAMES);
    let mut frames = vector.drain();
    let mut at = 0;
    while at < count {
        let port = scratch.ports[at];
        if port == NO_PORT {
            if let Some(frame) = frames.next() {
                settle(cx, frame, scratch.exits[at], outlet);
            }
            at += 1;
            continue;
        }
        let alike = scratch.ports[at..count].iter();
        let run = alike.take_while(|other| **other == port).count();
        outlet.send_run(cx, &mut frames, run, port);
        at += run;
    }
}

/// Does what an exit says.
#[cold]
fn settle(cx: &Context<'_>, mut frame: Frame, exit: Exit, outlet: &mut Outlet) {
    match exit {
        Exit::Drop(reason) => outlet.discard(frame, reason),
        Exit::Punt(why) => outlet.punt(frame, why),
        Exit::Finish { port, mtu } => egress::finish(cx, outlet, frame, port, mtu),
        Exit::Deliver(port) => {
            let l3 = frame.l3;
            if l3 == 0 || egress::relayer(&mut frame, l3, 0) {
                egress::finish(cx, outlet, frame, port, u32::MAX);
            }
        }
    }
}

/// Routes a packet of this router's own, which begins at `frame.l3`.
pub(crate) fn own(cx: &Context<'_>, mut frame: Frame, outlet: &mut Outlet) {
    frame.ingress = InterfaceId::NONE;
    let decided = output::run(cx, packet(&frame), frame.egress);
    let ipv6 = packet(&frame).first().is_some_and(|first| first >> 4 == 6);
    match decided {
        Ok((hop, adjacency)) => {
            let way = Way {
                hop,
                adjacency: &adjacency,
                ipv6,
                own: true,
            };
            one(cx, frame, &way, outlet);
        }
        Err(exit) => settle(cx, frame, exit, outlet),
    }
}

/// Walks a punted packet again, from prerouting on.
pub(crate) fn resume(cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
    let Some(entrance) = Entrance::new(cx.snapshot, frame.ingress) else {
        return own(cx, frame, outlet);
    };
    let arrived = Arrived {
        entrance,
        l3: frame.l3,
        ipv6: packet(&frame).first().is_some_and(|first| first >> 4 == 6),
        group: false,
    };
    let key = super::check::<false, _>(cx, &arrived, frame.bytes(), &mut Silent);
    let routed = key.and_then(|key| {
        let destination = match key {
            Key::V4(address) => routing::Address::V4(address),
            Key::V6(address) => routing::Address::V6(address),
        };
        match cx.snapshot.rules.is_empty() {
            true => Ok(routing::lookup(cx, routing::MAIN, destination)),
            false => super::by_rules(cx, packet(&frame), frame.ingress, &mut Silent),
        }
    });
    match routed {
        Ok(hop) => {
            let adjacency = cx.fib.adjacencies.read(hop);
            let way = Way {
                hop,
                adjacency: &adjacency,
                ipv6: arrived.ipv6,
                own: false,
            };
            one(cx, frame, &way, outlet);
        }
        Err(exit) => settle(cx, frame, exit, outlet),
    }
}

/// Passes 3 and 4 for a frame by itself.
fn one(cx: &Context<'_>, mut frame: Frame, way: &Way<'_>, outlet: &mut Outlet) {
    let exit = match depart(cx, &mut frame, way, &mut false, outlet, &mut Silent) {
        Ok(departed) => {
            count_sent(cx, &outlet.counters, frame.egress, 1, frame.len() as u64);
            match departed {
                Departed::Whole(port) => return outlet.send(cx, frame, port),
                Departed::Unfinished { port, mtu } => Exit::Finish { port, mtu },
            }
        }
        Err(exit) => exit,
    };
    settle(cx, frame, exit, outlet);
}

/// Sends a complete frame by the interface that `egress` names.
pub(crate) fn transmit(cx: &Context<'_>, frame: Frame, outlet: &mut Outlet) {
    let Some(interface) = cx.snapshot.interface(frame.egress) else {
        return outlet.discard(frame, Drop::EgressDown);
    };
    if !interface.running {
        return outlet.discard(frame, Drop::EgressDown);
    }
    count_sent(cx, &outlet.counters, frame.egress, 1, frame.len() as u64);
    egress::finish(cx, outlet, frame, interface.port, u32::MAX);
}

/// Counts frames on their egress interface, and on the port's own where that is another (a VLAN's
/// parent).
fn count_sent(
    cx: &Context<'_>,
    counters: &Counters,
    egress: InterfaceId,
    packets: u64,
    bytes: u64,
) {
    counters.interface(egress).tx.add(packets, bytes);
    let parent = parent(cx, egress);
    if parent != egress {
        counters.interface(parent).tx.add(packets, bytes);
    }
}

fn parent(cx: &Context<'_>, egress: InterfaceId) -> InterfaceId {
    let port = cx.snapshot.interface(egress).map(|egress| egress.port);
    port.and_then(|port| cx.snapshot.port(port))
        .map_or(egress, |binding| binding.interface)
}

/// What pass 3 counts, summed over runs of frames to one interface and over the vector.
#[derive(Default)]
struct Tally {
    egress: InterfaceId,
    /// Of the run.
    packets: u64,
    bytes: u64,
    /// Of the vector, on the fast path, from the network header on.
    packets4: u64,
    bytes4: u64,
    packets6: u64,
    bytes6: u64,
    /// The fast path's frames as they were received.
    received: u64,
}

impl Tally {
    #[inline(always)]
    fn add<const FAST: bool>(
        &mut self,
        cx: &Context<'_>,
        counters: &Counters,
        frame: &Frame,
        ipv6: bool,
        received: u64,
    ) {
        if frame.egress != self.egress {
            self.flush::<FAST>(cx, counters);
            self.egress = frame.egress;
        }
        let sent = frame.len() as u64;
        self.packets += 1;
        self.bytes += sent;
        let bytes = sent - u64::from(frame.l3).min(sent);
        if !FAST {
            if !slow_is_fast(cx, frame, ipv6) {
                return;
            }
            // Interfaces of both kinds share this vector: counted one by one.
            counters.interface(frame.ingress).fp_rx.add(1, received);
            counters.interface(frame.egress).fp_tx.add(1, sent);
        }
        self.received += received;
        if ipv6 {
            self.packets6 += 1;
            self.bytes6 += bytes;
        } else {
            self.packets4 += 1;
            self.bytes4 += bytes;
        }
    }

    /// Ends a run.
    fn flush<const FAST: bool>(&mut self, cx: &Context<'_>, counters: &Counters) {
        if self.packets == 0 {
            return;
        }
        count_sent(cx, counters, self.egress, self.packets, self.bytes);
        if FAST {
            let egress = counters.interface(self.egress);
            egress.fp_tx.add(self.packets, self.bytes);
        }
        (self.packets, self.bytes) = (0, 0);
    }

    /// Ends the vector.
    fn finish<const FAST: bool>(&self, counters: &Counters, ingress: InterfaceId) {
        counters.ipv4_fast_path.add(self.packets4, self.bytes4);
        counters.ipv6_fast_path.add(self.packets6, self.bytes6);
        if FAST {
            let ingress = counters.interface(ingress);
            ingress
                .fp_rx
                .add(self.packets4 + self.packets6, self.received);
        }
    }
}

/// Whether a frame on an interface that has to walk in full (for its VLANs, or for its other
/// family) is one that counts as fast.
fn slow_is_fast(cx: &Context<'_>, frame: &Frame, ipv6: bool) -> bool {
    cx.snapshot
        .interface(frame.ingress)
        .is_some_and(|ingress| match ipv6 {
            true => ingress.ipv6.is_fast(),
            false => ingress.ipv4.is_fast(),
        })
}
