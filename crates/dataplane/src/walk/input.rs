//! Input: packets for this router.
//!
//! Protocols that sockets serve go to the host stack by the mirror port of the ingress interface, as bare IP
//! packets. ICMP, neighbour discovery, IGMP and packets for which there is no mirror go to control.

use frame::InterfaceId;

use super::{Context, Exit};
use crate::drop::Drop;
use crate::flow::{upper4, upper6};
use crate::interface::{Details, Interface};
use crate::punt::Why;

const ICMP: u8 = 1;
const IGMP: u8 = 2;
const ICMPV6: u8 = 58;

/// A packet for one of this router's own addresses.
#[cold]
#[inline(never)]
pub(crate) fn unicast(interface: &Interface, packet: &[u8]) -> Exit {
    let Some(protocol) = protocol(packet) else {
        return Exit::Drop(Drop::Ipv6ExtensionHeader);
    };
    match interface.mirror {
        Some(port) if !matches!(protocol, ICMP | ICMPV6) => Exit::Deliver(port),
        _ => Exit::Punt(Why::Local),
    }
}

/// A packet for everybody on the link, or for a group that is taken here.
#[cold]
#[inline(never)]
pub(crate) fn group(interface: &Interface, packet: &[u8]) -> Exit {
    let Some(protocol) = protocol(packet) else {
        return Exit::Drop(Drop::Ipv6ExtensionHeader);
    };
    match (protocol, interface.mirror) {
        (ICMP | IGMP | ICMPV6, _) => Exit::Punt(Why::Local),
        (_, Some(port)) => Exit::Deliver(port),
        // Nobody here listens, and a group is never told.
        (_, None) => Exit::Drop(Drop::MulticastNotMine),
    }
}

/// A packet for an IPv4 group: those of the link are always taken, others when joined.
#[cold]
#[inline(never)]
pub(crate) fn multicast4(
    cx: &Context<'_>,
    (id, interface): (InterfaceId, &Interface),
    packet: &[u8],
    destination: u32,
) -> Exit {
    let of_link = destination >> 8 == 0x00e0_0000;
    let joined = |details: &Details| details.groups4.binary_search(&destination).is_ok();
    if of_link || cx.interfaces.details(id, joined) == Some(true) {
        group(interface, packet)
    } else {
        Exit::Drop(Drop::MulticastNotMine)
    }
}

/// A packet for an IPv6 group.
#[cold]
#[inline(never)]
pub(crate) fn multicast6(
    cx: &Context<'_>,
    (id, interface): (InterfaceId, &Interface),
    packet: &[u8],
    destination: u128,
) -> Exit {
    // Scopes 1 and 2 (RFC 4291, 2.7): the interface and the link.
    let of_link = matches!(destination >> 112 & 0xf, 1 | 2);
    let joined = |details: &Details| details.groups6.binary_search(&destination).is_ok();
    if of_link || cx.interfaces.details(id, joined) == Some(true) {
        group(interface, packet)
    } else {
        Exit::Drop(Drop::MulticastNotMine)
    }
}

/// The upper-layer protocol; none when extension headers are malformed.
fn protocol(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        6 => upper6(packet),
        _ => upper4(packet),
    }
    .map(|upper| upper.protocol)
}
