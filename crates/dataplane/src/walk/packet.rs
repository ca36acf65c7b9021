//! The parts of a packet that decisions read.

use frame::{Frame, IpsecState, Offload};
use wire::Mac;

use crate::rule::Sender;

/// Bytes of an Ethernet header without tags.
pub(super) const ETHERNET: u8 = 14;

/// The destination of a packet, for routing.
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

/// The inputs of pass 3, besides the next hop.
#[derive(Clone, Copy)]
pub(crate) struct Leaving<'a> {
    /// The packet from its network header on.
    pub(crate) packet: &'a [u8],
    pub(super) offload: &'a Offload,
    /// The packet is the router's own; its lifetime stays.
    pub(super) own: bool,
    /// The IPsec processing that the packet has passed.
    pub(super) guarded: IpsecState,
}

/// Returns the link-layer sender of a frame; `None` on links without MAC addresses.
#[inline(always)]
pub(super) fn sender(frame: &Frame) -> Option<Sender> {
    sender_of(frame.bytes(), frame.l3, frame.came_priority)
}

/// Returns the link-layer sender of a frame whose packet begins at `l3`. `priority` is that of tags already removed.
#[inline(always)]
pub(super) fn sender_of(bytes: &[u8], l3: u16, priority: u8) -> Option<Sender> {
    let mac = Mac(*bytes.get(6..12)?.first_chunk()?);
    match usize::from(l3) {
        ..14 => None,
        14 => Some(Sender { mac, priority }),
        // The last tag belongs to the ingress interface.
        l3 => {
            let priority = bytes.get(l3 - 4)? >> 5;
            Some(Sender { mac, priority })
        }
    }
}

/// Returns the packet of a frame, from the network header on.
#[inline(always)]
pub(super) fn packet(frame: &Frame) -> &[u8] {
    let l3 = usize::from(frame.l3);
    frame.bytes().get(l3..).unwrap_or_default()
}
