//! Transmission by a bond: chooses the slave of each frame.

use frame::Frame;
use wire::Mac;

use super::hash::{self, BalanceKey, HashPolicy};
use super::{Bond, SLAVES, Sends, Slave};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::out::Out;
use crate::outlet::{Dispatch, Outlet};
use crate::tap::{self, Direction};
use crate::walk::Context;

/// The operation code of ARP replies (RFC 826).
const REPLY: [u8; 2] = [0, 2];

/// Sends frames by the slaves of the bond in this slot.
pub(crate) fn leave(
    cx: &Context<'_>,
    frames: impl Iterator<Item = Frame>,
    slot: u32,
    outlet: &mut Outlet,
) {
    let bond = cx.interfaces.bonds().get(slot as usize);
    let Some(bond) = bond.as_ref().and_then(|bond| bond.as_deref()) else {
        for frame in frames {
            outlet.lose(frame, DropReason::EgressDown);
        }
        return;
    };
    let (worker, _) = outlet.place_among();
    let tapped = cx.interfaces.taps().any();
    let mut sent = Sent::default();
    for mut frame in frames {
        // A frame whose egress is the bond itself has already been shown to taps.
        if tapped && frame.egress != bond.id {
            tap::show(cx, bond.id, Direction::Transmitted, &frame, 0, outlet);
        }
        let place = match &bond.sends {
            Sends::Nothing => {
                outlet.lose(frame, DropReason::BondDown);
                continue;
            }
            Sends::One(place) => *place,
            Sends::Turns(places) => {
                let turn = bond.loads.turn(worker, 1) as usize;
                places[turn % places.len()]
            }
            Sends::Hashed(policy, places) => hashed(*policy, places, &frame),
            Sends::Buckets { .. } => by_peer(bond, &mut frame, worker),
            Sends::All(places) => {
                to_all(cx, bond, frame, places, &mut sent, outlet);
                continue;
            }
        };
        send(cx, bond, frame, place, &mut sent, outlet);
    }
    for (slave, sent) in bond.slaves().iter().zip(sent.0) {
        if sent.packets > 0 {
            let counters = outlet.counters.interface(slave.interface);
            counters.tx.add(sent.packets, sent.bytes);
        }
    }
}

/// The slaves that may send a frame, by index.
pub(crate) enum Egress {
    /// This slave.
    One(u8),
    /// One of these slaves, in turn.
    Any(Vec<u8>),
    /// All of these slaves, a copy each.
    All(Vec<u8>),
}

/// Returns which slaves would send a frame. Changes neither the frame nor the bond's loads.
///
/// # Errors
/// No slave can send.
pub(crate) fn egress(bond: &Bond, frame: &Frame) -> Result<Egress, DropReason> {
    Ok(match &bond.sends {
        Sends::Nothing => return Err(DropReason::BondDown),
        Sends::One(place) => Egress::One(*place),
        Sends::Turns(places) => Egress::Any(places.clone()),
        Sends::All(places) => Egress::All(places.clone()),
        Sends::Hashed(policy, places) => Egress::One(hashed(*policy, places, frame)),
        Sends::Buckets { of, active, .. } => match hash::balance_key(frame.bytes()) {
            BalanceKey::Peer(hash) => Egress::One(of[(hash >> 24) as usize % of.len()]),
            BalanceKey::Arp(_) | BalanceKey::Other => Egress::One(*active),
        },
    })
}

#[inline(always)]
fn hashed(policy: HashPolicy, places: &[u8], frame: &Frame) -> u8 {
    let hash = policy.hash(frame.bytes());
    places[((u64::from(hash) * places.len() as u64) >> 32) as usize]
}

/// Frames that each slave has sent, by index.
#[derive(Default)]
struct Sent([Traffic; SLAVES]);

#[inline(always)]
fn send(
    cx: &Context<'_>,
    bond: &Bond,
    frame: Frame,
    place: u8,
    sent: &mut Sent,
    outlet: &mut Outlet,
) {
    let Some(slave) = bond.slaves().get(usize::from(place)) else {
        return outlet.lose(frame, DropReason::BondDown);
    };
    let of = &mut sent.0[usize::from(place) % SLAVES];
    of.packets += 1;
    of.bytes += frame.len() as u64;
    match slave.out.out() {
        Out::Port(_) | Out::Tunnel(_) | Out::Queue(_) => outlet.dispatch(cx, frame, slave.out),
        // A slave is a port or a tunnel, never a bond or bridge.
        _ => outlet.lose(frame, DropReason::EgressDown),
    }
}

/// Sends a copy by each of these slaves; the last slave gets the frame itself.
#[cold]
#[inline(never)]
fn to_all(
    cx: &Context<'_>,
    bond: &Bond,
    frame: Frame,
    places: &[u8],
    sent: &mut Sent,
    outlet: &mut Outlet,
) {
    let Some((last, others)) = places.split_last() else {
        return outlet.lose(frame, DropReason::BondDown);
    };
    for place in others {
        match outlet.pool.copy(&frame) {
            Some(copy) => send(cx, bond, copy, *place, sent, outlet),
            None => outlet.counters.dropped(DropReason::NoBuffer),
        }
    }
    send(cx, bond, frame, *last, sent, outlet);
}

/// Returns the slave for a frame by its peer. Replaces the bond's source MAC address by that of the
/// slave.
fn by_peer(bond: &Bond, frame: &mut Frame, worker: u16) -> u8 {
    let Sends::Buckets {
        of,
        active,
        receive,
    } = &bond.sends
    else {
        return 0;
    };
    let key = hash::balance_key(frame.bytes());
    let place = match key {
        BalanceKey::Peer(hash) => {
            let bucket = (hash >> 24) as u8;
            let bytes = frame.len() as u64;
            bond.loads.add(worker, bucket, bytes);
            of[usize::from(bucket)]
        }
        BalanceKey::Arp(at) if *receive => answer(bond, frame, at, &of[..]).unwrap_or(*active),
        BalanceKey::Arp(_) | BalanceKey::Other => *active,
    };
    if let Some(Slave { mac: Some(mac), .. }) = bond.slaves().get(usize::from(place)) {
        replace(frame, 6, bond.mac, *mac);
    }
    place
}

/// Writes the MAC address of the peer's slave into an ARP reply, so that the peer sends to that
/// slave. Returns the slave; `None` for other ARP packets, which carry the bond's address to all
/// peers.
fn answer(bond: &Bond, frame: &mut Frame, at: usize, of: &[u8]) -> Option<u8> {
    let packet = frame.bytes().get(at..)?;
    let (kind, peer) = (packet.get(6..8)?, packet.get(24..28)?);
    let to_one = frame.bytes().first()? & 1 == 0;
    if kind != REPLY || !to_one {
        return None;
    }
    let bucket = hash::of_peer4(*peer.first_chunk()?) >> 24;
    let place = of[bucket as usize % of.len()];
    if let Some(mac) = bond.slaves().get(usize::from(place))?.mac {
        replace(frame, at + 8, bond.mac, mac);
    }
    Some(place)
}

/// Replaces the MAC address at offset `at` if it is `from`.
fn replace(frame: &mut Frame, at: usize, from: Mac, to: Mac) {
    let place = frame.bytes_mut().get_mut(at..);
    if let Some(place) = place.and_then(|place| place.first_chunk_mut())
        && *place == from.0
    {
        *place = to.0;
    }
}
