//! Input: packets for this router.
//!
//! Packets of control's services (`service.rs`) go to control. All others go to the host stack by
//! the mirror port of the ingress interface, as bare IP packets. Without a mirror, control answers
//! that no socket listens.

use frame::{Frame, InterfaceId};

use super::{Context, Exit};
use crate::drop::DropReason;
use crate::encap;
use crate::flow::upper6;
use crate::interface::{Details, Interface};
use crate::ipsec;
use crate::punt::PuntReason;
use crate::service::LookupResult;

/// The ingress interface of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Ingress<'a> {
    pub(crate) id: InterfaceId,
    pub(crate) interface: &'a Interface,
}

/// Returns the exit of a packet for one of this router's unicast addresses.
#[cold]
#[inline(never)]
pub(crate) fn unicast(cx: &Context<'_>, ingress: Ingress<'_>, packet: &[u8]) -> Exit {
    local(cx, ingress, packet, false).unwrap_or(Exit::Punt(PuntReason::Local))
}

/// Returns the exit of a broadcast, or of a multicast packet whose group this router has joined.
#[cold]
#[inline(never)]
pub(crate) fn group(cx: &Context<'_>, ingress: Ingress<'_>, packet: &[u8]) -> Exit {
    if let Some(exit) = arrival(cx, packet) {
        return exit;
    }
    // Without a receiver the packet is dropped: multicast and broadcast cause no ICMP errors.
    local(cx, ingress, packet, true).unwrap_or(Exit::Drop(DropReason::MulticastNotMine))
}

/// Returns the exit of an IPsec or tunnel packet for this router; `None` for other packets.
pub(crate) fn arrival(cx: &Context<'_>, packet: &[u8]) -> Option<Exit> {
    ipsec::arrival(cx, packet).or_else(|| encap::arrival(cx, packet))
}

/// Returns the receiver of a packet for this router: its service, or the sockets of the host stack.
/// `None` without either.
fn local(cx: &Context<'_>, ingress: Ingress<'_>, packet: &[u8], many: bool) -> Option<Exit> {
    if !has_upper(packet) {
        return Some(Exit::Drop(DropReason::Ipv6ExtensionHeader));
    }
    let services = &cx.snapshot.services;
    match services.packet(packet, many, cx.interfaces.services(ingress.id)) {
        Some(LookupResult::Service(id)) => Some(Exit::Punt(PuntReason::Service {
            id,
            meets_rules: services.meets_rules(id),
        })),
        Some(LookupResult::Piece) => Some(Exit::Punt(PuntReason::Local)),
        None => ingress.interface.mirror.map(Exit::Deliver),
    }
}

/// Returns the exit of a unicast packet for this router that its tunnel leaves to control: that of its service.
pub(crate) fn service_of_packet(cx: &Context<'_>, frame: &Frame) -> Exit {
    let services = &cx.snapshot.services;
    let packet = frame.bytes().get(usize::from(frame.l3)..);
    let asked = cx.interfaces.services(frame.ingress);
    match services.packet(packet.unwrap_or_default(), false, asked) {
        Some(LookupResult::Service(id)) => Exit::Punt(PuntReason::Service {
            id,
            meets_rules: services.meets_rules(id),
        }),
        _ => Exit::Drop(DropReason::PppProtocol),
    }
}

/// Returns the exit of an IPv4 multicast packet: groups of the link (224.0.0.0/24) are always
/// received, others when joined.
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
    if of_link || cx.interfaces.details(ingress.id, joined) == Some(true) {
        group(cx, ingress, packet)
    } else {
        Exit::Drop(DropReason::MulticastNotMine)
    }
}

/// Returns the exit of an IPv6 multicast packet: interface-local and link-local groups are always
/// received, others when joined.
#[cold]
#[inline(never)]
pub(crate) fn multicast6(
    cx: &Context<'_>,
    ingress: Ingress<'_>,
    packet: &[u8],
    destination: u128,
) -> Exit {
    // Scopes 1 and 2 (RFC 4291, 2.7): interface-local and link-local.
    let of_link = matches!(destination >> 112 & 0xf, 1 | 2);
    let joined = |details: &Details| details.groups6.binary_search(&destination).is_ok();
    if of_link || cx.interfaces.details(ingress.id, joined) == Some(true) {
        group(cx, ingress, packet)
    } else {
        Exit::Drop(DropReason::MulticastNotMine)
    }
}

/// Returns true if the upper-layer header can be found; false for malformed IPv6 extension headers.
fn has_upper(packet: &[u8]) -> bool {
    packet.first().is_none_or(|first| first >> 4 != 6) || upper6(packet).is_some()
}
