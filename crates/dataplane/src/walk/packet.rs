//! The parts of a packet that decisions read.

use frame::{Frame, Guarded, Offload};
use wire::Mac;

use crate::rule::Sender;

/// Bytes of an Ethernet header without tags.
pub(super) const ETHERNET: u8 = 14;

/// A destination to be routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    V4(u32),
    V6(u128),
}

impl core::fmt::Display for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::V4(bits) => core::net::Ipv4Addr::from_bits(bits).fmt(f),
            Self::V6(bits) => core::net::Ipv6Addr::from_bits(bits).fmt(f),
        }
    }
}

/// What pass 3 decides from, beside the next hop.
#[derive(Clone, Copy)]
pub(crate) struct Leaving<'a> {
    /// From its network header on.
    pub(crate) packet: &'a [u8],
    pub(super) offload: &'a Offload,
    pub(super) ipv6: bool,
    /// It is the router's own: its lifetime is not touched.
    pub(super) own: bool,
    /// What IPsec has done to it.
    pub(super) guarded: Guarded,
}

/// Who sent a frame on the link; none on links without such addresses.
#[inline(always)]
pub(super) fn sender(frame: &Frame) -> Option<Sender> {
    sender_of(frame.bytes(), (frame.l3, frame.came_priority))
}

/// Who sent a frame whose packet begins at `l3`, and which came with this priority if its tags are off.
#[inline(always)]
pub(super) fn sender_of(bytes: &[u8], (l3, priority): (u16, u8)) -> Option<Sender> {
    let mac = Mac(*bytes.get(6..12)?.first_chunk()?);
    match usize::from(l3) {
        ..14 => None,
        14 => Some(Sender { mac, priority }),
        // The last tag is that of the interface that it came by.
        l3 => {
            let priority = bytes.get(l3 - 4)? >> 5;
            Some(Sender { mac, priority })
        }
    }
}

/// A frame from its network header on.
#[inline(always)]
pub(super) fn packet(frame: &Frame) -> &[u8] {
    let l3 = usize::from(frame.l3);
    frame.bytes().get(l3..).unwrap_or_default()
}
