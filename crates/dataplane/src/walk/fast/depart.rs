//! Pass 3 of the fast path: next hop, forward, egress. Packets that are only forwarded, and packets that tunnels
//! decapsulate, are processed in loops; other packets are decided one by one.

use frame::{Frame, InterfaceId, VECTOR_FRAMES};

use super::pass1_results::HeaderClass;
use super::policed::{policed_run, revealed, tunnel_of};
use super::shortcut_installer::ShortcutInstaller;
use crate::counters::{Counters, Traffic};
use crate::encap::Arrivals;
use crate::ipsec::PolicyLookup;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::table::{Adjacency, Kind, NextHopId};
use crate::walk::decide;
use crate::walk::decide::{LastDecision, PriorResults};
use crate::walk::forward;
use crate::walk::ingress::Entrance;
use crate::walk::leave::{Departed, trim};
use crate::walk::packet::{ETHERNET, packet};
use crate::walk::scratch::Scratch;
use crate::walk::tally::{CounterKey, Speed, Tally, received};
use crate::walk::{Context, Exit, egress};

/// Bytes of an Ethernet header with one tag.
const ONE_TAG: u8 = ETHERNET + 4;

/// Decides about each routed frame and commits the decision to its bytes. Fills in `scratch.outs`
/// and `scratch.entered.exits`.
pub(in crate::walk) fn pass3(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    scratch: &mut Scratch,
    outlet: &mut Outlet,
) {
    let count = frames.len().min(VECTOR_FRAMES);
    let mut state = Tally::new(cx);
    scratch.next_hops.forget();
    let is_fast_path = cx.snapshot.is_routing_only();
    if is_fast_path {
        state.counts_arrivals_of(entrance.id);
    }
    let mut policies = (!cx.snapshot.ipsec.is_empty()).then(|| PolicyLookup::new(cx));
    let installer = match is_fast_path {
        true => ShortcutInstaller::of(cx, entrance, outlet),
        false => None,
    };
    let mut at = 0;
    while at < count {
        let from = at;
        if let Some(policies) = &mut policies {
            let rest = &mut frames[at..];
            at += policed_run::<false>(cx, policies, rest, at, scratch, &mut state, outlet);
            let rest = &mut frames[at..];
            at += policed_run::<true>(cx, policies, rest, at, scratch, &mut state, outlet);
            if at == from {
                at += revealed(cx, &frames[at..], at, scratch, &mut state);
            }
        } else {
            let rest = &mut frames[at..];
            at += straight_run::<false>(cx, entrance, rest, at, scratch, &mut state, outlet);
            let (between, rest) = (at, &mut frames[at..]);
            at += straight_run::<true>(cx, entrance, rest, at, scratch, &mut state, outlet);
            if let Some(installer) = &installer {
                let outs = &scratch.outs;
                let [ipv4, ipv6] = [from..between, between..at];
                let (frames4, outs4) = (&frames[ipv4.clone()], &outs[ipv4]);
                installer.install_straight::<false>(cx, frames4, outs4, outlet);
                let (frames6, outs6) = (&frames[ipv6.clone()], &outs[ipv6]);
                installer.install_straight::<true>(cx, frames6, outs6, outlet);
            }
        }
        if at == from {
            let run = tunnelled(cx, &frames[at..], at, scratch, &mut state);
            if is_fast_path {
                let above = frames[at..at + run].iter();
                let above = above.filter(|frame| entrance.counts_at(frame));
                above.for_each(|frame| count_received(frame, outlet));
            }
            at += run;
        }
        if at == from {
            let frame = &mut frames[at];
            one(cx, entrance, frame, at, scratch, &mut state, outlet);
            at += 1;
        }
    }
    state.flush(cx, &outlet.counters);
}

/// Forwards consecutive frames of one family whose next hop requires TTL and MTU checks only.
/// Returns their number. One loop per family keeps its values in registers.
#[inline(never)]
fn straight_run<const IPV6: bool>(
    cx: &Context<'_>,
    entrance: &Entrance,
    frames: &mut [Frame],
    from: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
    outlet: &mut Outlet,
) -> usize {
    let (class, used) = match IPV6 {
        true => (HeaderClass::V6, &mut state.count6),
        false => (HeaderClass::V4, &mut state.count4),
    };
    let hops = match IPV6 {
        true => &scratch.hops6[..],
        false => &scratch.hops4[..],
    };
    let hops = hops.get(*used..).unwrap_or_default();
    let classes = scratch.entered.classes.get(from..).unwrap_or_default();
    let outs = scratch.outs.get_mut(from..).unwrap_or_default();
    let speed = match cx.snapshot.queues {
        true => Speed::Slow,
        false => Speed::FastPath,
    };
    let mut key = state.batch.key;
    let (mut packets, mut bytes, mut headers) = (0, 0, 0);
    let (mut ingress, mut came) = (InterfaceId::NONE, Traffic::default());
    let mut done = 0;
    for (((frame, is), hop), out) in frames.iter_mut().zip(classes).zip(hops).zip(outs) {
        if *is != class {
            break;
        }
        let next = scratch.next_hops.get(cx, *hop);
        let on_port = frame.ingress != entrance.id;
        let received = if on_port { received(frame) } else { 0 };
        if !(next.is_straight(frame.ingress) && straight::<IPV6>(frame, &next.adjacency)) {
            break;
        }
        *out = next.adjacency.out;
        if on_port && speed == Speed::FastPath {
            // Frames of the port's own interface are counted together elsewhere.
            if frame.ingress != ingress {
                count_fast(entrance, ingress, came, outlet);
                (ingress, came) = (frame.ingress, Traffic::default());
            }
            came.packets += 1;
            came.bytes += received;
        }
        let leaves = CounterKey {
            egress: next.adjacency.egress,
            ipv6: IPV6,
            speed,
        };
        if leaves != key {
            state.batch.add(packets, bytes, headers);
            state.batch.flush(cx, &outlet.counters);
            state.batch.key = leaves;
            (key, packets, bytes, headers) = (leaves, 0, 0, 0);
        }
        packets += 1;
        headers += u64::from(frame.l3);
        bytes += frame.len() as u64;
        done += 1;
    }
    state.batch.add(packets, bytes, headers);
    count_fast(entrance, ingress, came, outlet);
    *used += done;
    done
}

/// Counts a frame as received by the interface above the port (VLAN or session).
fn count_received(frame: &Frame, outlet: &Outlet) {
    let counters = outlet.counters.interface(frame.ingress);
    counters.rx.add(1, received(frame));
}

/// Counts frames as received by an interface above the port and forwarded by the fast path.
#[inline(always)]
fn count_fast(entrance: &Entrance, ingress: InterfaceId, came: Traffic, outlet: &Outlet) {
    if came.packets > 0 {
        let counters = outlet.counters.interface(ingress);
        if entrance.counts_above {
            counters.rx.add(came.packets, came.bytes);
        }
        counters.fp_rx.add(came.packets, came.bytes);
    }
}

/// Forwards a frame with an untagged Ethernet header to another link, and replaces the header.
/// Returns false and changes nothing if more decisions are needed.
#[inline(always)]
pub(in crate::walk) fn straight<const IPV6: bool>(
    frame: &mut Frame,
    adjacency: &Adjacency,
) -> bool {
    match adjacency.header_len {
        ETHERNET => {}
        ONE_TAG => return straight_tagged::<IPV6>(frame, adjacency),
        _ => return straight_longer::<IPV6>(frame, adjacency),
    }
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
    let Some(total) = age_plain::<IPV6>(packet, adjacency.mtu) else {
        return false;
    };
    *link = *header;
    frame.egress = adjacency.egress;
    trim(frame, LINK + total as usize)
}

/// As [`straight`], where the other header has one tag.
#[inline(never)]
fn straight_tagged<const IPV6: bool>(frame: &mut Frame, adjacency: &Adjacency) -> bool {
    straight_behind::<IPV6>(frame, adjacency, ONE_TAG)
}

/// As [`straight`], where the other header has several tags or ends with that of a PPPoE session.
#[inline(never)]
fn straight_longer<const IPV6: bool>(frame: &mut Frame, adjacency: &Adjacency) -> bool {
    straight_behind::<IPV6>(frame, adjacency, adjacency.header_len)
}

/// Like [`straight`], for a link header of `len` bytes, longer than an Ethernet header.
#[inline(always)]
fn straight_behind<const IPV6: bool>(frame: &mut Frame, adjacency: &Adjacency, len: u8) -> bool {
    const LINK: usize = ETHERNET as usize;
    let (mtu, header) = (adjacency.mtu, usize::from(len));
    let is_plain = (frame.l3 == u16::from(ETHERNET)) & frame.offload.is_finished();
    if !is_plain || frame.headroom() < header.saturating_sub(LINK) {
        return false;
    }
    let Some((_, packet)) = frame.bytes_mut().split_first_chunk_mut::<LINK>() else {
        return false;
    };
    let Some(total) = age_plain::<IPV6>(packet, mtu) else {
        return false;
    };
    frame.egress = adjacency.egress;
    let written = egress::tag(frame, &adjacency.header, len);
    written && trim(frame, header + total as usize)
}

/// Prefetches the next hops, their egress interfaces and the counters of these.
#[cold]
#[inline(never)]
pub(in crate::walk) fn prefetch(cx: &Context<'_>, hops: &[NextHopId], counters: &Counters) {
    const AHEAD: usize = 16;
    let adjacencies = &cx.fib.adjacencies;
    let first = hops.iter().take(AHEAD);
    first.for_each(|hop| adjacencies.prefetch(*hop));
    for (at, hop) in hops.iter().enumerate() {
        if let Some(next) = hops.get(at + AHEAD) {
            adjacencies.prefetch(*next);
        }
        let egress = adjacencies.egress_hint(*hop);
        cx.interfaces.prefetch(egress);
        kernels::prefetch(counters.interface(egress));
    }
}

/// Decrements the TTL of a packet that needs no other decision, and returns its length in bytes.
/// Returns `None` and changes nothing if more decisions are needed.
#[inline(always)]
fn age_plain<const IPV6: bool>(packet: &mut [u8], mtu: u32) -> Option<u32> {
    if IPV6 {
        let packet = packet.first_chunk_mut::<40>()?;
        forward::is_plain6(packet, mtu).then(|| {
            forward::age6(packet);
            forward::total6(packet)
        })
    } else {
        let packet = packet.first_chunk_mut::<20>()?;
        forward::is_plain4(packet, mtu).then(|| {
            forward::age4(packet);
            forward::total4(packet)
        })
    }
}

/// Sets the exits of consecutive packets for this router that a tunnel decapsulates. Returns their
/// number.
#[inline(never)]
fn tunnelled(
    cx: &Context<'_>,
    frames: &[Frame],
    from: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
) -> usize {
    let mut arrivals = Arrivals::default();
    let policed = !cx.snapshot.ipsec.is_empty();
    for (at, frame) in frames.iter().enumerate() {
        let place = (from + at) % VECTOR_FRAMES;
        let (hops, used) = match scratch.entered.classes[place] {
            HeaderClass::V4 => (&scratch.hops4, &mut state.count4),
            HeaderClass::V6 => (&scratch.hops6, &mut state.count6),
            HeaderClass::Exit => return at,
        };
        let next = scratch.next_hops.get(cx, hops[*used % VECTOR_FRAMES]);
        if next.adjacency.kind != Kind::Local {
            return at;
        }
        let id = match policed {
            true => tunnel_of(cx, &mut arrivals, frame),
            false => arrivals.of(cx, packet(frame)),
        };
        let Some(id) = id else {
            return at;
        };
        *used += 1;
        scratch.outs[place] = OutId::NONE;
        scratch.entered.exits[place] = Exit::Decapsulate(id);
    }
    frames.len()
}

/// Decides about any frame as [`decide::one`] does.
#[inline(never)]
fn one(
    cx: &Context<'_>,
    entrance: &Entrance,
    frame: &mut Frame,
    at: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
    outlet: &mut Outlet,
) {
    let place = at % VECTOR_FRAMES;
    scratch.outs[place] = OutId::NONE;
    if entrance.counts_at(frame) && cx.snapshot.is_routing_only() {
        count_received(frame, outlet);
    }
    let exit = &mut scratch.entered.exits[place];
    let local = match scratch.entered.classes[place] {
        HeaderClass::V4 => {
            state.count4 += 1;
            None
        }
        HeaderClass::V6 => {
            state.count6 += 1;
            None
        }
        // Policies may require IPsec of packets for this router.
        HeaderClass::Exit if exit.is_local() && !cx.snapshot.ipsec.is_empty() => Some(*exit),
        HeaderClass::Exit => return,
    };
    let fields = Fields::of(packet(frame));
    let before = PriorResults::of(local);
    let last = &mut LastDecision::default();
    match decide::one(cx, frame, &fields, before, last, state, outlet) {
        Ok(Departed::Whole(out)) => scratch.outs[place] = out,
        Ok(Departed::Unfinished { out, mtu }) => *exit = Exit::Finish { out, mtu },
        Err(left) => *exit = left,
    }
}
