//! Input: packets for this router.
//!
//! What a service of control hears (`service.rs`) goes to control. Everything else goes to the host stack by the
//! mirror port of the ingress interface, as bare IP packets. Where there is no mirror, control answers that nobody
//! listens.

use frame::InterfaceId;

use super::{Context, Exit};
use crate::drop::DropReason;
use crate::encap;
use crate::flow::upper6;
use crate::interface::{Details, Interface};
use crate::ipsec;
use crate::punt::Why;
use crate::service::Found;

/// The interface that a packet came in by.
type Ingress<'a> = (InterfaceId, &'a Interface);

/// A packet for one of this router's own addresses.
#[cold]
#[inline(never)]
pub(crate) fn unicast(cx: &Context<'_>, ingress: Ingress<'_>, packet: &[u8]) -> Exit {
    local(cx, ingress, packet, false).unwrap_or(Exit::Punt(Why::Local))
}

/// A packet for everybody on the link, or for a group that is taken here.
#[cold]
#[inline(never)]
pub(crate) fn group(cx: &Context<'_>, ingress: Ingress<'_>, packet: &[u8]) -> Exit {
    if let Some(exit) = arrival(cx, packet) {
        return exit;
    }
    // Nobody here listens, and a group is never told.
    local(cx, ingress, packet, true).unwrap_or(Exit::Drop(DropReason::MulticastNotMine))
}

/// What becomes of a packet for this router that has another one in it; none of any other.
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    ipsec::arrival(cx, packet).or_else(|| encap::arrival(cx, packet))
}

/// Who takes a packet for this router: the service that hears it, else the sockets of the host stack.
fn local(cx: &Context<'_>, (id, is): Ingress<'_>, packet: &[u8], many: bool) -> Option<Exit> {
    if !has_upper(packet) {
        return Some(Exit::Drop(DropReason::Ipv6ExtensionHeader));
    }
    let services = &cx.snapshot.services;
    match services.packet(packet, many, cx.interfaces.services(id)) {
        Some(Found::Service(id)) => Some(Exit::Punt(Why::Service {
            id,
            meets_rules: services.meets_rules(id),
        })),
        Some(Found::Piece) => Some(Exit::Punt(Why::Local)),
        None => is.mirror.map(Exit::Deliver),
    }
}

/// A packet for an IPv4 group: those of the link are always taken, others when joined.
#[cold]
#[inline(never)]
pub(crate) fn multicast4(
    cx: &Context<'_>,
    ingress: Ingress<'_>,
    packet: &[u8],
    destination: u32,
) -> Exit {
    let of_link = destination >> 8 == 0x00e0_0000;
    let joined = |details: &Details| details.groups4.binary_search(&destination).is_ok();
    if of_link || cx.interfaces.details(ingress.0, joined) == Some(true) {
        group(cx, ingress, packet)
    } else {
        Exit::Drop(DropReason::MulticastNotMine)
    }
}

/// A packet for an IPv6 group.
#[cold]
#[inline(never)]
pub(crate) fn multicast6(
    cx: &Context<'_>,
    ingress: Ingress<'_>,
    packet: &[u8],
    destination: u128,
) -> Exit {
    // Scopes 1 and 2 (RFC 4291, 2.7): the interface and the link.
    let of_link = matches!(destination >> 112 & 0xf, 1 | 2);
    let joined = |details: &Details| details.groups6.binary_search(&destination).is_ok();
    if of_link || cx.interfaces.details(ingress.0, joined) == Some(true) {
        group(cx, ingress, packet)
    } else {
        Exit::Drop(DropReason::MulticastNotMine)
    }
}

/// Whether the upper layer of a packet can be found: not where extension headers are malformed.
fn has_upper(packet: &[u8]) -> bool {
    packet.first().is_none_or(|first| first >> 4 != 6) || upper6(packet).is_some()
}
