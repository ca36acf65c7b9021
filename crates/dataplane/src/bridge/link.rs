//! The link header of a bridged frame: addresses, tags, and the place of the packet.

use frame::{Frame, Segmentation};
use wire::{EtherType, Mac};

/// Bytes of both addresses of a frame.
pub(super) const ADDRESSES: usize = 12;
/// Bytes of a tag.
pub(super) const TAG: usize = 4;
/// Maximum number of tags that are parsed.
const TAGS: usize = 4;

/// Returns a MAC address as a number.
#[inline(always)]
pub(super) fn number(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Returns the offset of the packet behind all tags.
pub(crate) fn packet_at(bytes: &[u8]) -> usize {
    let mut at = ADDRESSES;
    for _ in 0..TAGS {
        match bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(kind) if EtherType(u16::from_be_bytes(*kind)).is_vlan() => at += TAG,
            _ => break,
        }
    }
    at + 2
}

/// Returns the offset of the packet and its EtherType; EtherType 0 for a truncated frame.
pub(super) fn packet_of(bytes: &[u8]) -> (usize, u16) {
    let at = packet_at(bytes);
    let kind = bytes.get(at - 2..at).and_then(|kind| kind.first_chunk());
    (at, kind.map_or(0, |kind| u16::from_be_bytes(*kind)))
}

/// Returns the bytes of a frame to compare with the MTU of a link; 0 for merged segments, which fit.
pub(super) fn bytes_on_link(frame: &Frame) -> usize {
    match frame.offload.segmentation {
        Segmentation::None => frame.len(),
        // A device splits merged segments by the size that their sender stated.
        _ => 0,
    }
}
