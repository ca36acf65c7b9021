//! Output: packets that this router sends, from its host stack or from control.

use frame::{Frame, InterfaceId};
use wire::Mac;

use super::decide::{Decider, EarlyLookup, PacketView, Passage};
use super::routing::{Address, Query};
use super::{Context, Exit, prerouting, routing};
use crate::demux::pppoe::SESSION_DATA;
use crate::drop::DropReason;
use crate::interface::{Details, Interface, Session, Tag};
use crate::outlet::Outlet;
use crate::packet::Fields;
use crate::punt::PuntReason;
use crate::table::adjacency::HEADER_BYTES;
use crate::table::{Adjacency, Kind, NextHopId};

/// Routes a packet that this router sends.
///
/// `hint` is the egress interface for destinations without routes: multicast and link-local
/// addresses.
///
/// # Errors
/// The packet's exit.
pub(crate) fn run(
    cx: &Context<'_>,
    packet: &[u8],
    hint: InterfaceId,
) -> Result<(NextHopId, Adjacency), Exit> {
    check(packet)?;
    let query = Query::new(packet, InterfaceId::NONE);
    if let Some(mac) = group(query.flow.destination) {
        let egress = match hint {
            InterfaceId::NONE => owner(cx, query.flow.source),
            hint => hint,
        };
        return to_group(cx, egress, mac, query.flow.destination);
    }
    if is_of_link(query.flow.destination) {
        return to_far_end(cx, hint, true);
    }
    match reserved(query.flow.destination) {
        Some(Reserved::Loopback) => return Err(Exit::Punt(PuntReason::Local)),
        Some(Reserved::Unspecified) => return Err(Exit::Punt(PuntReason::NoRoute)),
        None => {}
    }
    let hop = match cx.snapshot.rules.is_empty() {
        true => routing::lookup(cx, routing::MAIN, query.flow.destination),
        false => routing::by_rules(cx, &query.flow)?,
    };
    let adjacency = cx.fib.adjacencies.read(hop);
    match adjacency.kind {
        Kind::Forward => Ok((hop, adjacency)),
        _ => routing::follow(cx, packet, hop),
    }
}

/// Passes a packet of IPv6's link protocols (neighbour discovery, router advertisements, multicast
/// listener reports) through the output rules. The frame is complete, and connection tracking
/// ignores the packet.
///
/// # Errors
/// The drop reason. No ICMP error is sent, because this router is the sender.
pub(super) fn on_link(
    cx: &Context<'_>,
    frame: &Frame,
    outlet: &mut Outlet,
) -> Result<Passage, DropReason> {
    let interface = cx.interfaces.get(frame.egress);
    let interface = interface.ok_or(DropReason::EgressDown)?;
    let packet = frame.bytes().get(usize::from(frame.l3)..);
    let packet = packet.unwrap_or_default();
    let mut passage = Passage::new(Fields::of(packet));
    let mut guard = Decider {
        cx,
        tables: cx.snapshot.firewall.tables(true),
        memory: &mut outlet.memory,
        view: PacketView {
            packet,
            offload: &frame.offload,
            ingress: InterfaceId::NONE,
            port: InterfaceId::NONE,
            guarded: frame.guarded,
            sender: None,
        },
        passage: &mut passage,
        lookup: EarlyLookup::Unknown,
        early: None,
        watch: &mut outlet.rule_events,
    };
    let adjacency = Adjacency {
        kind: Kind::Forward,
        out: interface.out,
        mtu: interface.mtu,
        egress: frame.egress,
        ..Adjacency::default()
    };
    let decided = guard.sent(Ok((NextHopId::NO_ROUTE, adjacency)));
    outlet.send_rule_events(frame);
    match decided {
        Ok(_) => Ok(passage),
        // A routing mark led to an unresolved neighbour; the frame's own link header is complete.
        Err(_) if passage.accepted => Ok(passage),
        Err(Exit::Drop(reason)) => Err(reason),
        Err(Exit::Punt(why)) => Err(why.discards().unwrap_or(DropReason::NoRoute)),
        Err(_) => Err(DropReason::NoRoute),
    }
}

/// Returns true for destinations that leave by the given interface, whatever routes and marks say.
pub(super) fn is_of_link(destination: Address) -> bool {
    let is_link_local =
        matches!(destination, Address::V6(address) if prerouting::is_link_local6(address));
    is_link_local || group(destination).is_some()
}

/// Returns the adjacency of a destination on this interface, whatever routes say: of a link-local address, or of any
/// address behind a point-to-point interface.
///
/// # Errors
/// The packet's exit: the interface is unknown or down.
pub(super) fn to_far_end(
    cx: &Context<'_>,
    egress: InterfaceId,
    ipv6: bool,
) -> Result<(NextHopId, Adjacency), Exit> {
    let Some(interface) = cx.interfaces.get(egress) else {
        return Err(Exit::Punt(PuntReason::NoRoute));
    };
    if !(interface.ethernet || interface.running) {
        return Err(Exit::Drop(DropReason::EgressDown));
    }
    let mut adjacency = Adjacency {
        // Point-to-point links have no link addresses to resolve.
        kind: match interface.ethernet {
            true => Kind::Incomplete,
            false => Kind::Forward,
        },
        out: interface.out,
        mtu: interface.mtu,
        egress,
        ..Adjacency::default()
    };
    if !interface.ethernet {
        write_session_header(cx, &interface, ipv6, &mut adjacency);
    }
    Ok((NextHopId::NO_ROUTE, adjacency))
}

/// Returns the interface that has a local address. A socket on the shared device selects the
/// interface of a multicast packet by its source address.
fn owner(cx: &Context<'_>, address: Address) -> InterfaceId {
    let hop = routing::lookup(cx, routing::MAIN, address);
    let adjacency = cx.fib.adjacencies.read(hop);
    match adjacency.kind {
        Kind::Local => adjacency.egress,
        _ => InterfaceId::NONE,
    }
}

/// Checks the lengths and version of the network header; the host stack is trusted with the rest.
fn check(packet: &[u8]) -> Result<(), Exit> {
    match packet.first().map(|first| first >> 4) {
        Some(6) => {
            let header = packet
                .first_chunk::<40>()
                .ok_or(Exit::Drop(DropReason::Ipv6Length))?;
            let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
            if payload + 40 > packet.len() {
                return Err(Exit::Drop(DropReason::Ipv6Length));
            }
        }
        Some(4) => {
            let header = packet
                .first_chunk::<20>()
                .ok_or(Exit::Drop(DropReason::Ipv4Length))?;
            let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let header_len = usize::from(header[0] & 0xf) * 4;
            if header_len < 20 || total < header_len || total > packet.len() {
                return Err(Exit::Drop(DropReason::Ipv4Length));
            }
        }
        _ => return Err(Exit::Drop(DropReason::Ipv4Version)),
    }
    Ok(())
}

/// Destinations that are on no link, whatever routes say (RFC 1122, 3.2.1.3; RFC 4291, 2.5.2 and
/// 2.5.3).
enum Reserved {
    /// The loopback addresses.
    Loopback,
    /// The unspecified address.
    Unspecified,
}

fn reserved(destination: Address) -> Option<Reserved> {
    match destination {
        Address::V4(address) if address >> 24 == 127 => Some(Reserved::Loopback),
        Address::V6(1) => Some(Reserved::Loopback),
        Address::V4(address) if address >> 24 == 0 => Some(Reserved::Unspecified),
        Address::V6(0) => Some(Reserved::Unspecified),
        Address::V4(_) | Address::V6(_) => None,
    }
}

/// Returns the MAC address of a multicast group or of the broadcast address (RFC 1112, 6.4; RFC
/// 2464, 7).
fn group(destination: Address) -> Option<Mac> {
    match destination {
        Address::V4(u32::MAX) => Some(Mac([0xff; 6])),
        Address::V4(address) if address >> 28 == 0xe => {
            let [_, b, c, d] = address.to_be_bytes();
            Some(Mac([0x01, 0x00, 0x5e, b & 0x7f, c, d]))
        }
        Address::V6(address) if address >> 120 == 0xff => {
            let [.., a, b, c, d] = address.to_be_bytes();
            Some(Mac([0x33, 0x33, a, b, c, d]))
        }
        Address::V4(_) | Address::V6(_) => None,
    }
}

/// Returns the adjacency of a multicast or broadcast packet on this interface.
fn to_group(
    cx: &Context<'_>,
    egress: InterfaceId,
    destination: Mac,
    address: Address,
) -> Result<(NextHopId, Adjacency), Exit> {
    let Some(interface) = cx.interfaces.get(egress) else {
        return Err(Exit::Punt(PuntReason::NoRoute));
    };
    if !interface.running {
        return Err(Exit::Drop(DropReason::EgressDown));
    }
    let mut adjacency = Adjacency {
        kind: Kind::Forward,
        out: interface.out,
        mtu: interface.mtu,
        egress,
        ..Adjacency::default()
    };
    if interface.ethernet {
        let ethertype = match address {
            Address::V4(_) => 0x0800,
            Address::V6(_) => 0x86dd,
        };
        let tags =
            |details: &Details| link_header(destination, interface.mac, &details.tags, ethertype);
        let written = cx.interfaces.details(egress, tags);
        (adjacency.header, adjacency.header_len) =
            written.ok_or(Exit::Drop(DropReason::EgressDown))?;
    } else {
        let ipv6 = matches!(address, Address::V6(_));
        write_session_header(cx, &interface, ipv6, &mut adjacency);
    }
    Ok((NextHopId::NO_ROUTE, adjacency))
}

/// Writes the link header of an interface that is a PPPoE session; does nothing for other interfaces.
#[cold]
fn write_session_header(
    cx: &Context<'_>,
    interface: &Interface,
    ipv6: bool,
    adjacency: &mut Adjacency,
) {
    let header = cx
        .interfaces
        .details(adjacency.egress, |details: &Details| {
            let session = details.session?;
            let (mut header, len) =
                link_header(session.peer, interface.mac, &details.tags, SESSION_DATA);
            let end = usize::from(len) + Session::HEADER;
            let place = header.get_mut(usize::from(len)..end)?;
            place.copy_from_slice(&session.header(ipv6));
            Some((header, end as u8))
        });
    if let Some((header, len)) = header.flatten() {
        (adjacency.header, adjacency.header_len) = (header, len);
    }
}

/// Builds a link header with these MAC addresses and VLAN tags. Returns the header and its length
/// in bytes.
fn link_header(
    destination: Mac,
    source: Mac,
    tags: &[Tag],
    ethertype: u16,
) -> ([u8; HEADER_BYTES], u8) {
    let mut header = [0; HEADER_BYTES];
    header[..6].copy_from_slice(&destination.0);
    header[6..12].copy_from_slice(&source.0);
    let mut at = 12;
    // The header holds 30 bytes: four tags.
    for tag in tags.iter().take(4) {
        header[at..at + 2].copy_from_slice(&tag.ethertype.to_be_bytes());
        header[at + 2..at + 4].copy_from_slice(&tag.vlan_id.to_be_bytes());
        at += 4;
    }
    header[at..at + 2].copy_from_slice(&ethertype.to_be_bytes());
    (header, (at + 2) as u8)
}
