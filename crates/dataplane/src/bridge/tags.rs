//! VLAN tags of bridged frames: pushed, popped and changed as the membership of an egress port
//! requires.

use frame::Frame;

use super::decide::{Class, Leaves};
use super::link::{ADDRESSES, TAG};

/// The bit positions of a tag's priority and VLAN id.
const PRIORITY_SHIFT: u16 = 13;
const VLAN: u16 = 0xfff;

/// Adds or removes the tag of a frame for its egress port. Returns false and changes nothing if
/// there is no room.
#[inline(always)]
#[must_use]
pub(super) fn retag(frame: &mut Frame, class: &Class, leaves: Leaves, ethertype: u16) -> bool {
    match (leaves, class.is_tagged()) {
        (Leaves::AsItIs, _) | (Leaves::Untagged, false) => true,
        (Leaves::Tagged, true) => {
            name(frame, class.vid());
            true
        }
        (Leaves::Tagged, false) => {
            let priority = u16::from(frame.priority & 7) << PRIORITY_SHIFT;
            push(frame, ethertype, priority | class.vid())
        }
        (Leaves::Untagged, true) => {
            pop(frame);
            true
        }
    }
}

/// Writes the VLAN id into a priority tag (IEEE 802.1Q, 6.9.1).
#[inline(always)]
fn name(frame: &mut Frame, vid: u16) {
    if let Some(tci) = frame.bytes_mut().get_mut(ADDRESSES + 2..)
        && let Some(tci) = tci.first_chunk_mut::<2>()
    {
        let named = u16::from_be_bytes(*tci) & !VLAN | vid;
        *tci = named.to_be_bytes();
    }
}

/// Pushes a tag. Returns false if there is no room.
#[inline(always)]
#[must_use]
pub(super) fn push(frame: &mut Frame, ethertype: u16, tci: u16) -> bool {
    if !frame.push_front(TAG) {
        return false;
    }
    let bytes = frame.bytes_mut();
    if let Some(addresses) = bytes.get(TAG..).and_then(|b| b.first_chunk::<ADDRESSES>())
        && let addresses = *addresses
        && let Some(head) = bytes.first_chunk_mut::<{ ADDRESSES + TAG }>()
    {
        head[..ADDRESSES].copy_from_slice(&addresses);
        let [a, b] = ethertype.to_be_bytes();
        let [c, d] = tci.to_be_bytes();
        head[ADDRESSES..].copy_from_slice(&[a, b, c, d]);
    }
    frame.offload.shift(TAG as i16);
    true
}

/// Pops a tag, and keeps its priority in the frame.
#[inline(always)]
fn pop(frame: &mut Frame) {
    let Some(&head) = frame.bytes().first_chunk::<{ ADDRESSES + TAG }>() else {
        return;
    };
    frame.came_priority = head[ADDRESSES + 2] >> 5;
    if let Some(place) = frame.bytes_mut().get_mut(TAG..)
        && let Some(place) = place.first_chunk_mut::<ADDRESSES>()
        && let Some(addresses) = head.first_chunk()
    {
        *place = *addresses;
    }
    frame.pull_front(TAG);
    frame.offload.shift(-(TAG as i16));
}
