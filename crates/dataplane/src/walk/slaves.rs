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

/// A VLAN interface that is a bridge port or bond slave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct VlanSlave {
    pub(super) id: InterfaceId,
    /// Number of tags that name the interface on the interface below.
    tags: usize,
}

/// Returns the first bridge port or bond slave that the tags of a frame lead to.
#[inline(always)]
pub(super) fn find(cx: &Context<'_>, on: InterfaceId, bytes: &[u8]) -> Option<VlanSlave> {
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
            let tags = tags + 1;
            return Some(VlanSlave { id, tags });
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
    let mut slave_of = |frame: &Frame| {
        let bytes = frame.bytes();
        let tag = *bytes.get(ETHERNET - 2..)?.first_chunk::<TAG>()?;
        match last {
            Some((known, found)) if known == tag => Some(found),
            _ => {
                let found = find(cx, entrance.id, bytes)?;
                // With several tags, the first tag does not identify the interface.
                last = (found.tags == 1).then_some((tag, found));
                Some(found)
            }
        }
    };
    let first = vector.frames().first().and_then(&mut slave_of);
    if let Some(slave) = first
        && vector
            .frames()
            .iter()
            .all(|frame| slave_of(frame) == Some(slave))
    {
        let mut all = Traffic::default();
        for frame in vector.frames_mut() {
            all.packets += 1;
            all.bytes += frame.len() as u64;
            rise_frame(frame, entrance.id, slave);
        }
        count(entrance, all, outlet);
        if outlet.agenda.put_vector(Item::Framed(slave.id), vector) {
            return;
        }
        for frame in vector.drain() {
            put(frame, slave.id, outlet);
        }
        return;
    }
    for mut frame in vector.extract(|frame| slave_of(frame).is_some()) {
        let Some(slave) = find(cx, entrance.id, frame.bytes()) else {
            outlet.discard(frame, DropReason::VlanUnknown);
            continue;
        };
        let one = Traffic {
            packets: 1,
            bytes: frame.len() as u64,
        };
        rise_frame(&mut frame, entrance.id, slave);
        count(entrance, one, outlet);
        put(frame, slave.id, outlet);
    }
}

/// Removes the VLAN tags of a slave from a frame, which then enters by the slave.
pub(super) fn rise_frame(frame: &mut Frame, below: InterfaceId, slave: VlanSlave) {
    frame.l3 = (ETHERNET + slave.tags * TAG) as u16;
    demux::untag(frame);
    // Counters of the VLAN count the frame without these tags.
    frame.untagged = 0;
    frame.rise(below, slave.id);
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
