//! Pass 3 with IPsec policies: consecutive plain packets are forwarded in a loop, unprotected or to the association of
//! their policy, and consecutive IPsec packets for this router are recognised together. Other packets are left to the
//! stage functions.

use frame::{Frame, InterfaceId, VECTOR_FRAMES};

use super::depart::straight;
use super::pass1_results::HeaderClass;
use crate::encap;
use crate::ipsec;
use crate::ipsec::PolicyLookup;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::table::Kind;
use crate::walk::leave::admitted;
use crate::walk::packet::packet;
use crate::walk::scratch::Scratch;
use crate::walk::tally::{Speed, Tally};
use crate::walk::{Context, Exit};

/// Forwards consecutive frames of one family that pass or are protected, and whose next hop requires TTL and MTU checks
/// only. Returns their number.
#[inline(never)]
pub(in crate::walk) fn policed_run<const IPV6: bool>(
    cx: &Context<'_>,
    policies: &mut PolicyLookup<'_>,
    frames: &mut [Frame],
    from: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
    outlet: &Outlet,
) -> usize {
    // The stage functions count the packets of such a family as FastPath.
    if cx.snapshot.family(IPV6).is_fast() {
        return 0;
    }
    let (class, used) = match IPV6 {
        true => (HeaderClass::V6, state.count6),
        false => (HeaderClass::V4, state.count4),
    };
    let hops = match IPV6 {
        true => &scratch.hops6[..],
        false => &scratch.hops4[..],
    };
    let hops = hops.get(used..).unwrap_or_default();
    let classes = scratch.entered.classes.get(from..).unwrap_or_default();
    let outs = scratch.outs.get_mut(from..).unwrap_or_default();
    let mut done = 0;
    for (((frame, is), hop), out) in frames.iter_mut().zip(classes).zip(hops).zip(outs) {
        if *is != class {
            break;
        }
        let next = scratch.next_hops.get(cx, *hop);
        if !next.is_straight(frame.ingress) {
            break;
        }
        let received = frame.ingress != InterfaceId::NONE;
        let Some(protects) = policies.out::<IPV6>(packet(frame), frame.guarded, received) else {
            break;
        };
        if !straight::<IPV6>(frame, &next.adjacency) {
            break;
        }
        *out = protects;
        if protects == OutId::NONE {
            *out = next.adjacency.out;
            state.count(cx, frame, IPV6, Speed::Slow, &outlet.counters);
        }
        done += 1;
    }
    match IPV6 {
        true => state.count6 += done,
        false => state.count4 += done,
    }
    done
}

/// Sets the exits of consecutive ESP packets for this router. Returns their number.
#[inline(never)]
pub(in crate::walk) fn revealed(
    cx: &Context<'_>,
    frames: &[Frame],
    from: usize,
    scratch: &mut Scratch,
    state: &mut Tally,
) -> usize {
    let reader = cx.snapshot.ipsec.associations.arriving_reader();
    let mut arrivals = ipsec::Arrivals::new(&reader);
    for (at, frame) in frames.iter().enumerate() {
        let place = (from + at) % VECTOR_FRAMES;
        let (hops, used) = match scratch.entered.classes[place] {
            HeaderClass::V4 => (&scratch.hops4, &mut state.count4),
            HeaderClass::V6 => (&scratch.hops6, &mut state.count6),
            HeaderClass::Exit => return at,
        };
        let next = scratch.next_hops.get(cx, hops[*used % VECTOR_FRAMES]);
        if next.adjacency.kind != Kind::Local || !arrivals.is_esp(packet(frame)) {
            return at;
        }
        *used += 1;
        scratch.outs[place] = OutId::NONE;
        scratch.entered.exits[place] = Exit::Reveal;
    }
    frames.len()
}

/// Returns the lookup of a tunnel's packets under IPsec policies: the packet is not for IPsec, and a policy admits it.
#[inline(always)]
pub(in crate::walk) fn tunnel_of(
    cx: &Context<'_>,
    arrivals: &mut encap::Arrivals,
    frame: &Frame,
) -> Option<InterfaceId> {
    let packet = packet(frame);
    if ipsec::arrival(cx, packet).is_some() {
        return None;
    }
    let id = arrivals.of(cx, packet)?;
    admitted(cx, frame, true).is_ok().then_some(id)
}
