//! Reception by a bond: turns frames of slaves into frames of the bond.

use frame::{Frame, InterfaceId, Vector};
use wire::EtherType;

use super::{Bond, Slave, Takes};
use crate::agenda::Item;
use crate::drop::DropReason;
use crate::outlet::Outlet;
use crate::tap;
use crate::walk::{Context, Entrance};

/// Frames are prefetched this many positions ahead.
const AHEAD: usize = 8;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Passes the frames of a slave up to its bond. Drops frames that the bond does not take, and
/// queues those of slow protocols as the slave's own. Returns the entrance of the bond for the
/// frames that remain in the vector; `None` if none remain.
pub(crate) fn rise(
    cx: &Context<'_>,
    slave: &Entrance,
    vector: &mut Vector,
    outlet: &mut Outlet,
) -> Option<Entrance> {
    let bond = cx
        .interfaces
        .bonds()
        .get(cx.interfaces.above(slave.id).slot());
    let bond = bond.as_ref().and_then(|bond| bond.as_deref());
    let found = bond.and_then(|bond| Some((bond, bond.slave(slave.id)?)));
    let slow = count(slave, vector, outlet);
    if slow {
        for mut frame in vector.extract(|frame| is_slow(frame)) {
            frame.ingress = slave.id;
            frame.l3 = ETHERNET as u16;
            if let Err(frame) = outlet.agenda.put(Item::Arrived(slave.id), frame) {
                outlet.discard(frame, DropReason::AgendaFull);
            }
        }
    }
    let takes = match found {
        Some((_, slave)) if slave.takes == Takes::NotShared => Some(true),
        Some((_, slave)) if slave.takes == Takes::All => Some(false),
        _ => None,
    };
    match takes {
        None => {
            for frame in vector.drain() {
                refuse(slave, frame, outlet);
            }
        }
        Some(true) => {
            let shared = |frame: &mut Frame| found.is_some_and(|(bond, _)| is_shared(bond, frame));
            for frame in vector.extract(shared) {
                refuse(slave, frame, outlet);
            }
        }
        Some(false) => {}
    }
    let (bond, slave) = found.filter(|_| !vector.is_empty())?;
    for frame in vector.frames_mut() {
        own(bond, slave, frame);
    }
    if cx.interfaces.taps().any() {
        tap::received(cx, bond.id, vector.frames(), outlet);
    }
    let entrance = Entrance::new(cx.interfaces, bond.id);
    if entrance.is_none() {
        for frame in vector.drain() {
            outlet.discard(frame, DropReason::InterfaceDown);
        }
    }
    entrance
}

/// Returns the interface that receives a frame of a slave: its bond, or the slave itself for slow
/// protocols. Replaces the slave's destination MAC address by that of the bond.
///
/// # Errors
/// The bond does not take the frame from this slave.
pub(crate) fn receiver(
    cx: &Context<'_>,
    slave: InterfaceId,
    frame: &mut Frame,
) -> Result<InterfaceId, DropReason> {
    let bond = { cx.interfaces.bonds() }.get(cx.interfaces.above(slave).slot());
    let bond = bond.as_ref().and_then(|bond| bond.as_deref());
    if is_slow(frame) {
        return Ok(slave);
    }
    let found = bond.and_then(|bond| Some((bond, bond.slave(slave)?)));
    let (bond, slave) = found.ok_or(DropReason::BondInactive)?;
    match slave.takes {
        Takes::Nothing => return Err(DropReason::BondInactive),
        Takes::NotShared if is_shared(bond, frame) => return Err(DropReason::BondInactive),
        Takes::NotShared | Takes::All => {}
    }
    own(bond, slave, frame);
    Ok(bond.id)
}

/// Returns true for multicast frames and frames to the bond's MAC address.
fn is_shared(bond: &Bond, frame: &Frame) -> bool {
    let to = frame.bytes().first_chunk();
    to.is_some_and(|to| to[0] & 1 != 0 || *to == bond.mac.0)
}

/// Counts the frames that a slave received. Returns true if any is of a slow protocol.
fn count(slave: &Entrance, vector: &Vector, outlet: &Outlet) -> bool {
    let frames = vector.frames();
    let (mut bytes, mut slow) = (0, false);
    for (at, frame) in frames.iter().enumerate() {
        if let Some(next) = frames.get(at + AHEAD) {
            next.prefetch();
        }
        bytes += frame.len() as u64;
        slow |= is_slow(frame);
    }
    let counters = outlet.counters.interface(slave.id);
    counters.rx.add(frames.len() as u64, bytes);
    slow
}

/// Returns true for LACP, marker and other slow protocols, which belong to the link itself (IEEE
/// 802.3, annex 57A).
#[inline(always)]
fn is_slow(frame: &Frame) -> bool {
    let head = frame.bytes().first_chunk::<ETHERNET>();
    head.is_some_and(|head| head[12..] == EtherType::SLOW.0.to_be_bytes())
}

fn refuse(slave: &Entrance, mut frame: Frame, outlet: &mut Outlet) {
    frame.ingress = slave.id;
    outlet.discard(frame, DropReason::BondInactive);
}

/// Replaces the slave's destination MAC address by that of the bond.
#[inline(always)]
fn own(bond: &Bond, slave: &Slave, frame: &mut Frame) {
    let Some(mac) = slave.mac else { return };
    if let Some(to) = frame.bytes_mut().first_chunk_mut()
        && *to == mac.0
    {
        *to = bond.mac.0;
    }
}
