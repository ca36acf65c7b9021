//! Pass 3: the next hop, forward, postrouting, egress.

use frame::{Frame, InterfaceId, VECTOR_FRAMES};

use super::enter::Lane;
use super::forward::{self, Fit};
use super::ingress::Entrance;
use super::passes::{NO_PORT, Scratch};
use super::{Context, Exit, Leaving, egress, options};
use crate::counters::{Counters, Traffic};
use crate::drop::Drop;
use crate::outlet::Outlet;
use crate::snapshot::Snapshot;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::trace::Silent;

const ETHERNET: u8 = 14;

/// The pass: decides about each frame that was looked up, and commits what was decided to its
/// bytes. Fills in `scratch.ports` and `scratch.entered.exits`.
pub(super) fn pass3<const FAST: bool>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let count = frames.len().min(VECTOR_FRAMES);
    let mut state = Tally::new(cx, entrance.id);
    scratch.near.forget();
    let mut at = 0;
    while at < count {
        if FAST {
            at += straight_run::<false>(cx, &mut frames[at..], at, scratch, &mut state, outlet);
            at += straight_run::<true>(cx, &mut frames[at..], at, scratch, &mut state, outlet);
        }
        if at < count {
            one::<FAST>(cx, &mut frames[at], at, scratch, &mut state, outlet);
            at += 1;
        }
    }
    state.flush(cx, &outlet.counters);
}

/// What pass 3 keeps from frame to frame.
pub(super) struct Tally {
    /// The interface that the vector came in by.
    near_to: InterfaceId,
    /// A redirect may still be asked for.
    redirects: bool,
    run: Run,
    /// How many next hops of each family are used up.
    count4: usize,
    count6: usize,
    /// Whether the firewall looks at packets: of IPv4, of IPv6.
    guards: [bool; 2],
}

/// Frames of one family that follow each other and whose next hop leaves nothing to decide but
/// lifetime and size; returns how many. A loop of its own for each family, as in pass 1.
#[inline(never)]
fn straight_run<const IPV6: bool>(
    cx: &Context<'_>,
    frames: &mut [Frame],
    from: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
    outlet: &mut Outlet,
) -> usize {
    let (lane, used) = match IPV6 {
        true => (Lane::V6, &mut state.count6),
        false => (Lane::V4, &mut state.count4),
    };
    let hops = match IPV6 {
        true => &scratch.hops6[..],
        false => &scratch.hops4[..],
    };
    let hops = hops.get(*used..).unwrap_or_default();
    let lanes = scratch.entered.lanes.get(from..).unwrap_or_default();
    let ports = scratch.ports.get_mut(from..).unwrap_or_default();
    let mut key = state.run.key;
    let (mut packets, mut bytes) = (0, 0);
    let mut done = 0;
    for (((frame, is), hop), port) in frames.iter_mut().zip(lanes).zip(hops).zip(ports) {
        if *is != lane {
            break;
        }
        let next = scratch.near.get(cx, *hop, state.near_to);
        if !(next.straight && straight::<IPV6>(frame, &next.adjacency)) {
            break;
        }
        *port = next.adjacency.port;
        let leaves = RunKey {
            egress: next.adjacency.egress,
            ipv6: IPV6,
            speed: Speed::FastPath,
        };
        if leaves != key {
            state.run.add(packets, bytes, packets * u64::from(ETHERNET));
            state.run.flush(cx, &outlet.counters);
            state.run.key = leaves;
            (key, packets, bytes) = (leaves, 0, 0);
        }
        packets += 1;
        bytes += frame.len() as u64;
        done += 1;
    }
    state.run.add(packets, bytes, packets * u64::from(ETHERNET));
    *used += done;
    done
}

/// Decides about a frame behind an untagged Ethernet header that gets another one, and commits it.
/// False, and nothing changed, if more is to be decided.
#[inline(always)]
pub(super) fn straight<const IPV6: bool>(frame: &mut Frame, adjacency: &Adjacency) -> bool {
    const LINK: usize = ETHERNET as usize;
    if (frame.l3 != u16::from(ETHERNET)) | !frame.offload.is_finished() {
        return false;
    }
    let Some((link, packet)) = frame.bytes_mut().split_first_chunk_mut::<LINK>() else {
        return false;
    };
    let Some(header) = adjacency.header.first_chunk::<LINK>() else {
        return false;
    };
    let total = if IPV6 {
        match packet.first_chunk_mut::<40>() {
            Some(packet) if forward::is_plain6(packet, adjacency.mtu) => {
                forward::age6(packet);
                forward::total6(packet)
            }
            _ => return false,
        }
    } else {
        match packet.first_chunk_mut::<20>() {
            Some(packet) if forward::is_plain4(packet, adjacency.mtu) => {
                forward::age4(packet);
                forward::total4(packet)
            }
            _ => return false,
        }
    };
    *link = *header;
    frame.egress = adjacency.egress;
    trim(frame, LINK + total as usize)
}

/// Cuts off what the last link padded the packet with.
#[inline(always)]
pub(super) fn trim(frame: &mut Frame, len: usize) -> bool {
    len == frame.len() || frame.set_len(len)
}

/// Pass 3 for any frame.
#[inline(never)]
fn one<const FAST: bool>(
    cx: &Context<'_>,
    frame: &mut Frame,
    at: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
    outlet: &mut Outlet,
) {
    let place = at % VECTOR_FRAMES;
    scratch.ports[place] = NO_PORT;
    let (mut hop, ipv6) = match scratch.entered.lanes[place] {
        Lane::V4 => {
            state.count4 += 1;
            (scratch.hops4[(state.count4 - 1) % VECTOR_FRAMES], false)
        }
        Lane::V6 => {
            state.count6 += 1;
            (scratch.hops6[(state.count6 - 1) % VECTOR_FRAMES], true)
        }
        Lane::Exit => return,
    };
    if !FAST && !cx.snapshot.rules.is_empty() {
        match super::by_rules(cx, packet(frame), frame.ingress, &mut Silent) {
            Ok(chosen) => hop = chosen,
            Err(exit) => {
                scratch.entered.exits[place] = exit;
                return;
            }
        }
    }
    let received = frame.len() as u64;
    let way = Way {
        hop,
        adjacency: &scratch.near.get(cx, hop, state.near_to).adjacency,
        ipv6,
        own: false,
    };
    match depart(cx, frame, &way, &mut state.redirects, outlet) {
        Ok(departed) => {
            let fast = FAST || slow_is_fast(cx, frame, ipv6);
            let speed = if fast { Speed::FastPath } else { Speed::Slow };
            state.count(cx, frame, ipv6, speed, &outlet.counters);
            if !FAST && fast {
                let ingress = outlet.counters.interface(frame.ingress);
                ingress.fp_rx.add(1, received);
            }
            match departed {
                Departed::Whole(port) => scratch.ports[place] = port,
                Departed::Unfinished { port, mtu } => {
                    scratch.entered.exits[place] = Exit::Finish { port, mtu };
                }
            }
        }
        Err(exit) => scratch.entered.exits[place] = exit,
    }
}

impl Tally {
    pub(super) fn new(cx: &Context<'_>, near_to: InterfaceId) -> Self {
        Self {
            near_to,
            redirects: cx.snapshot.send_redirects,
            run: Run::default(),
            count4: 0,
            count6: 0,
            guards: [false, true].map(|ipv6| cx.snapshot.firewall.guards(ipv6)),
        }
    }

    /// Counts what was not counted yet.
    pub(super) fn flush(&mut self, cx: &Context<'_>, counters: &Counters) {
        self.run.flush(cx, counters);
    }

    /// Whether control is to be told of a packet that goes back where it came from: once a vector.
    pub(super) fn owes_redirect(&mut self, egress: InterfaceId, ingress: InterfaceId) -> bool {
        let owes = (egress == ingress) & self.redirects;
        self.redirects &= !owes;
        owes
    }

    /// Counts a frame that leaves past the firewall, and of which `received` bytes came in. Where that
    /// looks only at the other family, it has left by FastPath.
    #[inline(always)]
    pub(super) fn count_guarded(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        ipv6: bool,
        received: u64,
        counters: &Counters,
    ) {
        let fast = !self.guards[usize::from(ipv6)] && slow_is_fast(cx, frame, ipv6);
        let speed = if fast { Speed::FastPath } else { Speed::Slow };
        self.count(cx, frame, ipv6, speed, counters);
        if fast {
            let ingress = counters.interface(frame.ingress);
            ingress.fp_rx.add(1, received);
        }
    }

    /// Whether the firewall looks at a family.
    #[inline(always)]
    pub(super) fn is_guarded(&self, ipv6: bool) -> bool {
        self.guards[usize::from(ipv6)]
    }

    /// Counts packets that leave behind Ethernet headers by one interface; their bytes are without those.
    #[inline(always)]
    pub(super) fn count_all(
        &mut self,
        cx: &Context<'_>,
        (egress, ipv6, speed): (InterfaceId, bool, Speed),
        sent: Traffic,
        counters: &Counters,
    ) {
        if sent.packets == 0 {
            return;
        }
        let key = RunKey {
            egress,
            ipv6,
            speed,
        };
        if key != self.run.key {
            self.run.flush(cx, counters);
            self.run.key = key;
        }
        let headers = sent.packets * u64::from(ETHERNET);
        self.run.add(sent.packets, sent.bytes + headers, headers);
    }

    /// Counts a frame that leaves.
    #[inline(always)]
    pub(super) fn count(
        &mut self,
        cx: &Context<'_>,
        frame: &Frame,
        ipv6: bool,
        speed: Speed,
        counters: &Counters,
    ) {
        let key = RunKey {
            egress: frame.egress,
            ipv6,
            speed,
        };
        if key != self.run.key {
            self.run.flush(cx, counters);
            self.run.key = key;
        }
        self.run.add(1, frame.len() as u64, u64::from(frame.l3));
    }
}

/// The next hops that this vector has met, so that the shared table is read once for each.
pub(super) struct Near([Next; Self::PLACES]);

/// One of them, on a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Next {
    pub(super) adjacency: Adjacency,
    id: NextHopId,
    /// That of [`crate::table::Fib::generation`].
    pub(super) generation: u32,
    /// Packets for it are forwarded in an Ethernet header, and not back to where they came from:
    /// only their lifetime and size are left to decide about.
    pub(super) straight: bool,
}

impl Near {
    const PLACES: usize = 32;

    pub(super) fn new() -> Self {
        let none = Next {
            adjacency: Adjacency::NONE,
            id: NextHopId::NO_ROUTE,
            generation: 0,
            straight: false,
        };
        Self([none; Self::PLACES])
    }

    /// Control may have changed them since the last vector.
    pub(super) fn forget(&mut self) {
        for (place, next) in self.0.iter_mut().enumerate() {
            // An id that belongs to another place is never found.
            next.id = NextHopId(place as u16 ^ 1);
        }
    }

    #[inline(always)]
    pub(super) fn get(&mut self, cx: &Context<'_>, hop: NextHopId, ingress: InterfaceId) -> &Next {
        let next = &mut self.0[usize::from(hop.0) % Self::PLACES];
        if next.id != hop {
            next.read(cx, hop, ingress);
        }
        next
    }
}

impl Next {
    #[inline(never)]
    fn read(&mut self, cx: &Context<'_>, hop: NextHopId, ingress: InterfaceId) {
        self.id = hop;
        self.generation = cx.fib.generation(hop);
        self.adjacency = cx.fib.adjacencies.read(hop);
        let Snapshot {
            ipv4,
            ipv6,
            send_redirects,
            ..
        } = cx.snapshot;
        let back = self.adjacency.egress == ingress && *send_redirects;
        self.straight = self.adjacency.kind == Kind::Forward
            && self.adjacency.header_len == ETHERNET
            && ipv4.forward
            && ipv6.forward
            && !back;
    }
}

/// Where routing sends a packet.
pub(super) struct Way<'a> {
    pub(super) hop: NextHopId,
    pub(super) adjacency: &'a Adjacency,
    pub(super) ipv6: bool,
    /// The packet is this router's own.
    pub(super) own: bool,
}

/// A frame with its new link header.
pub(super) enum Departed {
    /// Its port takes it as it is.
    Whole(u16),
    /// Its port does not.
    Unfinished { port: u16, mtu: u32 },
}

/// Pass 3 for one frame: decides, and commits what was decided to its bytes.
pub(super) fn depart(
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
        (false, false) => {
            options::commit(cx, frame, adjacency.egress);
            age4(frame)
        }
        (false, true) => age6(frame),
    };
    if !(aged && egress::rewrite(frame, adjacency)) {
        return Err(Exit::Drop(Drop::NoBuffer));
    }
    Ok(departed(frame, adjacency, fit == Fit::Whole))
}

/// How a frame with its new link header leaves by this adjacency, into which it fits `whole` or not.
#[inline(always)]
pub(super) fn departed(frame: &Frame, adjacency: &Adjacency, whole: bool) -> Departed {
    let port = adjacency.port;
    if whole & frame.offload.is_finished() {
        Departed::Whole(port)
    } else {
        let mtu = adjacency.mtu;
        Departed::Unfinished { port, mtu }
    }
}

/// A frame from its network header on.
#[inline(always)]
pub(super) fn packet(frame: &Frame) -> &[u8] {
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
    let total = forward::total4(header) as usize;
    trim(frame, l3 + total)
}

#[inline(always)]
fn age6(frame: &mut Frame) -> bool {
    let l3 = usize::from(frame.l3);
    let header = frame.bytes_mut().get_mut(l3..);
    let Some(header) = header.and_then(|packet| packet.first_chunk_mut::<40>()) else {
        return false;
    };
    forward::age6(header);
    let total = forward::total6(header) as usize;
    trim(frame, l3 + total)
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
    speed: Speed,
}

/// Which handler a frame went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Speed {
    /// The whole walk.
    #[default]
    Slow,
    /// FastPath: nothing looks at the packet but routing.
    FastPath,
    /// FastTrack: its connection says what becomes of it.
    FastTrack,
}

impl Run {
    #[inline(always)]
    fn add(&mut self, packets: u64, bytes: u64, headers: u64) {
        self.packets += packets;
        self.bytes += bytes;
        self.headers += headers;
    }

    #[inline(never)]
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
        egress::count_sent(cx, counters, key.egress, packets, bytes);
        let family = match (key.speed, key.ipv6) {
            (Speed::Slow, _) => return,
            (Speed::FastPath, true) => &counters.ipv6_fast_path,
            (Speed::FastPath, false) => &counters.ipv4_fast_path,
            (Speed::FastTrack, true) => &counters.ipv6_fasttrack,
            (Speed::FastTrack, false) => &counters.ipv4_fasttrack,
        };
        counters.interface(key.egress).fp_tx.add(packets, bytes);
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
