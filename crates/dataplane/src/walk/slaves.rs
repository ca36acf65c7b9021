//! VLAN interfaces that are bridge ports or bond slaves. All frames of such a VLAN belong to the
//! bridge or bond, whatever their destination, so they leave the vector of the interface below
//! before ingress. They are queued and walked as vectors of the VLAN's interface. An interface
//! without such VLANs costs one check per vector.

use frame::{Frame, InterfaceId, Vector};

use super::Context;
use super::demux;
use super::ingress::{ETHERNET, Entrance};
use crate::agenda::Item;
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Above, Tag, vlan};
use crate::outlet::Outlet;

/// Maximum number of tags that are parsed.
const TAGS: usize = 4;
/// Bytes of a VLAN tag.
const TAG: usize = 4;

/// Returns the first bridge port or bond slave on the way up along the frame's tags, and the number
/// of tags down to it.
#[inline(always)]
pub(super) fn of(cx: &Context<'_>, on: InterfaceId, bytes: &[u8]) -> Option<(InterfaceId, usize)> {
    let mut id = on;
    for tags in 0..TAGS {
        let at = ETHERNET - 2 + TAG * tags;
        let [a, b, c, d] = *bytes.get(at..)?.first_chunk()?;
        let ethertype = u16::from_be_bytes([a, b]);
        if !matches!(ethertype, vlan::CUSTOMER | vlan::SERVICE) {
            return None;
        }
        let vlan_id = u16::from_be_bytes([c, d]) & 0xfff;
        id = cx.interfaces.vlan(id, Tag { ethertype, vlan_id })?;
        if cx.interfaces.get(id)?.above != Above::Nothing {
            return Some((id, tags + 1));
        }
    }
    None
}

/// Moves the frames of bridge ports and bond slaves out of a vector, and queues them as frames of
/// their VLAN interfaces.
#[inline(never)]
pub(super) fn rise(
    cx: &Context<'_>,
    entrance: &Entrance,
    vector: &mut Vector,
    outlet: &mut Outlet,
) {
    let mut last = None;
    let mut find = |frame: &Frame| {
        let bytes = frame.bytes();
        let tag = *bytes.get(ETHERNET - 2..)?.first_chunk::<TAG>()?;
        match last {
            Some((known, found)) if known == tag => Some(found),
            _ => {
                let found = of(cx, entrance.id, bytes)?;
                // With several tags, the first tag does not identify the interface.
                last = (found.1 == 1).then_some((tag, found));
                Some(found)
            }
        }
    };
    let first = vector.frames().first().and_then(&mut find);
    if let Some(slave) = first
        && vector
            .frames()
            .iter()
            .all(|frame| find(frame) == Some(slave))
    {
        let mut all = Traffic::default();
        for frame in vector.frames_mut() {
            all.packets += 1;
            all.bytes += frame.len() as u64;
            become_of(frame, entrance.id, slave);
        }
        count(entrance, all, outlet);
        if outlet.agenda.put_vector(Item::Framed(slave.0), vector) {
            return;
        }
        for frame in vector.drain() {
            put(frame, slave.0, outlet);
        }
        return;
    }
    for mut frame in vector.extract(|frame| find(frame).is_some()) {
        let Some(slave) = of(cx, entrance.id, frame.bytes()) else {
            outlet.discard(frame, DropReason::VlanUnknown);
            continue;
        };
        let one = Traffic {
            packets: 1,
            bytes: frame.len() as u64,
        };
        become_of(&mut frame, entrance.id, slave);
        count(entrance, one, outlet);
        put(frame, slave.0, outlet);
    }
}

/// Removes the VLAN tags of a slave from its frame.
pub(super) fn become_of(frame: &mut Frame, below: InterfaceId, (id, tags): (InterfaceId, usize)) {
    frame.l3 = (ETHERNET + tags * TAG) as u16;
    demux::untag(frame);
    // Counters of the VLAN count the frame without these tags.
    frame.untagged = 0;
    frame.rise(below, id);
}

/// Counts frames at the interface below; the VLAN interface counts them on entry.
fn count(entrance: &Entrance, came: Traffic, outlet: &Outlet) {
    if entrance.counts {
        let carrier = outlet.counters.interface(entrance.id);
        carrier.rx.add(came.packets, came.bytes);
    }
}

fn put(frame: Frame, slave: InterfaceId, outlet: &mut Outlet) {
    if let Err(frame) = outlet.agenda.put(Item::Framed(slave), frame) {
        outlet.discard(frame, DropReason::AgendaFull);
    }
}
