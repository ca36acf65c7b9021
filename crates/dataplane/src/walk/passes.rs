//! The passes over a vector: the stages' decisions, and what they come to, committed.

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use super::forward::{self, Fit};
use super::ingress::{self, Arrived, Entrance};
use super::{Context, Exit, Key, Leaving, Place, egress, output, routing};
use crate::counters::{Counters, Traffic};
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::trace::Silent;

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
    near: Near,
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
            near: Near::new(),
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
        walk::<true>(cx, &entrance, vector, scratch, outlet);
    } else {
        walk::<false>(cx, &entrance, vector, scratch, outlet);
    }
}

fn is_fast(entrance: &Entrance<'_>) -> bool {
    let interface = entrance.interface;
    interface.ipv4.is_fast() && interface.ipv6.is_fast() && interface.vlans.is_empty()
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
    pass3::<FAST>(cx, frames, scratch, outlet);
    let ended = pass4(cx, vector, scratch, outlet);
    if FAST {
        let packets = received.packets.wrapping_sub(ended.packets);
        let bytes = received.bytes.wrapping_sub(ended.bytes);
        let counters = outlet.counters.interface(entrance.id);
        counters.fp_rx.add(packets, bytes);
    }
}

/// What pass 1 saw.
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
    let (mut count4, mut count6) = (0, 0);
    let mut bytes = 0;
    for at in 0..count {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        let frame = &mut frames[at];
        bytes += frame.len() as u64;
        let key = match ingress::plain(entrance, frame.bytes()) {
            Some(arrived) => {
                let key = super::check::<FAST, _>(cx, &arrived, frame.bytes(), &mut Silent);
                frame.ingress = arrived.id;
                frame.l3 = arrived.l3;
                key
            }
            None => odd::<FAST>(cx, entrance, frame, counters),
        };
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
    let packets = count as u64;
    counters.interface(entrance.id).rx.add(packets, bytes);
    Received {
        packets,
        bytes,
        count4,
        count6,
    }
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

/// The next hop, forward, postrouting, egress: decided, and committed to the frames' bytes.
fn pass3<const FAST: bool>(
    cx: &Context<'_>,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let (mut count4, mut count6) = (0, 0);
    let mut run = Run::default();
    let mut redirects = cx.snapshot.send_redirects;
    scratch.near.forget();
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
        if !FAST && !cx.snapshot.rules.is_empty() {
            match super::by_rules(cx, packet(frame), frame.ingress, &mut Silent) {
                Ok(chosen) => hop = chosen,
                Err(exit) => {
                    scratch.exits[at] = exit;
                    scratch.ports[at] = NO_PORT;
                    continue;
                }
            }
        }
        let way = Way {
            hop,
            adjacency: scratch.near.get(cx, hop),
            ipv6,
            own: false,
        };
        let received = frame.len() as u64;
        scratch.ports[at] = match depart(cx, frame, &way, &mut redirects, outlet) {
            Ok(departed) => {
                let key = RunKey {
                    egress: frame.egress,
                    ipv6,
                    fast: FAST || slow_is_fast(cx, frame, ipv6),
                };
                if key != run.key {
                    run.flush(cx, &outlet.counters);
                    run.key = key;
                }
                run.packets += 1;
                run.bytes += frame.len() as u64;
                run.headers += u64::from(frame.l3);
                if !FAST && key.fast {
                    let ingress = outlet.counters.interface(frame.ingress);
                    ingress.fp_rx.add(1, received);
                }
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
    run.flush(cx, &outlet.counters);
}

/// The next hops that this vector has met, so that the shared table is read once for each.
struct Near {
    /// Which id each place holds.
    ids: [u16; Self::PLACES],
    adjacencies: [Adjacency; Self::PLACES],
}

impl Near {
    const PLACES: usize = 32;
    /// Ids that belong to other places, so that nothing is found.
    const EMPTY: [u16; Self::PLACES] = {
        let mut ids = [0; Self::PLACES];
        ids[0] = 1;
        ids
    };

    fn new() -> Self {
        Self {
            ids: Self::EMPTY,
            adjacencies: [const { Adjacency::NONE }; Self::PLACES],
        }
    }

    /// Control may have changed them since the last vector.
    fn forget(&mut self) {
        self.ids = Self::EMPTY;
    }

    #[inline(always)]
    fn get(&mut self, cx: &Context<'_>, hop: NextHopId) -> &Adjacency {
        let place = usize::from(hop.0) % Self::PLACES;
        if self.ids[place] != hop.0 {
            self.ids[place] = hop.0;
            self.adjacencies[place] = cx.fib.adjacencies.read(hop);
        }
        &self.adjacencies[place]
    }
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
fn depart(
    cx: &Context<'_>,
    frame: &mut Frame,
    way: &Way<'_>,
    redirects: &mut bool,
    outlet: &mut Outlet,
) -> Result<Departed, Exit> {
    let leaving = Leaving {
        packet: packet(frame),
        offload: &frame.offload,
        ipv6: way.ipv6,
        own: way.own,
    };
    let followed;
    let adjacency = if way.adjacency.kind == Kind::Forward {
        way.adjacency
    } else {
        followed = super::follow(cx, leaving.packet, frame.ingress, way.hop, &mut Silent)?;
        &followed
    };
    let fit = super::leave(cx, &leaving, adjacency, &mut Silent)?;
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
    let Some(interface) = cx.snapshot.interface(frame.ingress) else {
        return own(cx, frame, outlet);
    };
    let arrived = Arrived {
        id: frame.ingress,
        interface,
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
    let exit = match depart(cx, &mut frame, way, &mut false, outlet) {
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

/// Frames of pass 3 that are counted together.
#[derive(Default)]
struct Run {
    key: RunKey,
    packets: u64,
    bytes: u64,
    /// Bytes of their link headers.
    headers: u64,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct RunKey {
    egress: InterfaceId,
    ipv6: bool,
    fast: bool,
}

impl Run {
    fn flush(&mut self, cx: &Context<'_>, counters: &Counters) {
        let Self {
            key,
            packets,
            bytes,
            headers,
        } = core::mem::take(self);
        if packets == 0 {
            return;
        }
        count_sent(cx, counters, key.egress, packets, bytes);
        if !key.fast {
            return;
        }
        counters.interface(key.egress).fp_tx.add(packets, bytes);
        let family = match key.ipv6 {
            true => &counters.ipv6_fast_path,
            false => &counters.ipv4_fast_path,
        };
        family.add(packets, bytes - headers.min(bytes));
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
