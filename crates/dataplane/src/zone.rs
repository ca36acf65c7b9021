//! Zones of link-local addresses on the shared device of the host plane (RFC 4007, 5 and 6).
//!
//! All point-to-point interfaces share one TUN device. A link-local address does not say on which
//! of them it is, so the second 32 bits of its prefix, zero on every link (RFC 4291, 2.5.6), carry
//! the interface id while a packet is in the host plane: `fe80::2` of interface 5 is
//! `fe80:0:0:5::2` there. A socket learns the interface from its peer's address and chooses the
//! interface by the destination address, which may be a group of the link, too (`ff02:0:0:5::5`).
//! The router's own link-local address is [`HOST`] on every interface.
//!
//! Addresses are rewritten in the IPv6 header and in the packet that an ICMPv6 error quotes. The
//! upper layer's checksum follows (RFC 1624).

use core::net::Ipv6Addr;
use std::ops::Range;

use frame::{Frame, InterfaceId};
use wire::{Protocol, checksum};

use crate::flow::upper6;
use crate::interface::Details;

/// The router's own link-local address in the host plane, on every interface.
pub const HOST: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// Upper 64 bits of every link-local address without a zone.
const PREFIX: u64 = 0xfe80 << 48;
/// Byte ranges of the addresses in an IPv6 header.
const SOURCE: Range<usize> = 8..24;
const DESTINATION: Range<usize> = 24..40;
/// Bytes of an IPv6 header.
const HEADER: usize = 40;
/// Bytes in front of the packet that an ICMPv6 error quotes (RFC 4443, 3).
const QUOTING: usize = 8;

/// Returns the host-plane form of a link-local address on this interface; other addresses are
/// unchanged.
pub fn embed(address: Ipv6Addr, interface: InterfaceId) -> Ipv6Addr {
    let bits = address.to_bits();
    match (bits >> 64) as u64 == PREFIX {
        true => Ipv6Addr::from_bits(bits | u128::from(interface.0) << 64),
        false => address,
    }
}

/// Returns the on-link form of a host-plane address, without its zone.
pub fn strip(address: Ipv6Addr) -> Ipv6Addr {
    let bits = address.to_bits();
    match address.is_unicast_link_local() || is_group_of_link(address) {
        true => Ipv6Addr::from_bits(bits & !(u128::from(u32::MAX) << 64)),
        false => address,
    }
}

/// Returns the interface that a host-plane address names; [`InterfaceId::NONE`] if it names none.
pub fn zone(address: Ipv6Addr) -> InterfaceId {
    match address.is_unicast_link_local() || is_group_of_link(address) {
        true => InterfaceId((address.to_bits() >> 64) as u32),
        false => InterfaceId::NONE,
    }
}

/// Returns the link-local address that stands for an interface's own in the host plane: the lowest.
pub fn own(addresses: impl Iterator<Item = Ipv6Addr>) -> Option<Ipv6Addr> {
    addresses.filter(Ipv6Addr::is_unicast_link_local).min()
}

/// Returns the lowest link-local address of an interface in the table.
pub(crate) fn own_of(details: &Details) -> Option<Ipv6Addr> {
    own(details.addresses6.iter().map(|own| own.address))
}

/// Returns true if an address is a permanently assigned multicast group of link scope (RFC 4291,
/// 2.7).
fn is_group_of_link(address: Ipv6Addr) -> bool {
    address.segments()[0] == 0xff02
}

/// Writes the zone of its interface into a bare IP packet that is about to enter the host plane.
/// `own` is the interface's own link-local address.
///
/// # Errors
/// Returns false and changes nothing if a link-local address in the header has bits where the zone
/// goes, because it would name another interface.
#[must_use]
pub fn enter(frame: &mut Frame, interface: InterfaceId, own: Option<Ipv6Addr>) -> bool {
    let Some([source, destination]) = addresses(frame.bytes()) else {
        return true;
    };
    let is_forged =
        |address: Ipv6Addr| address.is_unicast_link_local() && !is_plain_link_local(address);
    if is_forged(source) || is_forged(destination) {
        return false;
    }
    rewrite(frame, |address| match Some(address) == own {
        true => HOST,
        false => embed(address, interface),
    });
    true
}

/// Removes the zone from a bare IP packet out of the host plane. Returns the interface that the
/// zone names; [`InterfaceId::NONE`] if it names none. `own` returns the link-local address of an
/// interface.
pub fn leave(frame: &mut Frame, own: impl FnOnce(InterfaceId) -> Option<Ipv6Addr>) -> InterfaceId {
    let Some([source, destination]) = addresses(frame.bytes()) else {
        return InterfaceId::NONE;
    };
    let interface = match zone(destination) {
        InterfaceId::NONE => zone(source),
        interface => interface,
    };
    if interface == InterfaceId::NONE {
        return interface;
    }
    let own = own(interface).unwrap_or(HOST);
    rewrite(frame, |address| match address == HOST {
        true => own,
        false => strip(address),
    });
    interface
}

fn is_plain_link_local(address: Ipv6Addr) -> bool {
    (address.to_bits() >> 64) as u64 == PREFIX
}

/// Returns the source and destination of an IPv6 packet, if one of them has link scope.
fn addresses(packet: &[u8]) -> Option<[Ipv6Addr; 2]> {
    let header = packet.first_chunk::<HEADER>()?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let both = [&header[SOURCE], &header[DESTINATION]].map(address_at);
    let is_of_link =
        |address: &Ipv6Addr| address.is_unicast_link_local() || is_group_of_link(*address);
    both.iter().any(is_of_link).then_some(both)
}

fn address_at(bytes: &[u8]) -> Ipv6Addr {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    Ipv6Addr::from_octets(bytes)
}

/// Rewrites the addresses of a packet, and of the packet that an ICMPv6 error quotes.
fn rewrite(frame: &mut Frame, to: impl Fn(Ipv6Addr) -> Ipv6Addr) {
    let needs_checksum = frame.offload.needs_checksum;
    let packet = frame.bytes_mut();
    let upper = upper6(packet);
    let mut change = 0;
    let mut replace = |packet: &mut [u8], range: Range<usize>| {
        let Some(bytes) = packet.get_mut(range) else {
            return;
        };
        let before = checksum::sum(bytes);
        let address = to(address_at(bytes)).octets();
        bytes.copy_from_slice(&address);
        let now = checksum::sum(bytes);
        change = checksum::combine(change, checksum::combine(now, !before));
    };
    replace(packet, SOURCE);
    replace(packet, DESTINATION);
    let Some(upper) = upper else {
        return;
    };
    if upper.protocol == Protocol::ICMPV6.0 && !is_later_fragment(packet, upper.fragment) {
        let is_error = packet
            .get(upper.offset)
            .is_some_and(|kind| kind & 0x80 == 0);
        let quoted = upper.offset + QUOTING;
        if is_error && packet.get(quoted).is_some_and(|first| first >> 4 == 6) {
            replace(packet, quoted + SOURCE.start..quoted + SOURCE.end);
            replace(packet, quoted + DESTINATION.start..quoted + DESTINATION.end);
        }
    }
    if is_later_fragment(packet, upper.fragment) {
        return;
    }
    let at = match Protocol(upper.protocol) {
        Protocol::TCP => 16,
        Protocol::UDP | Protocol::UDP_LITE => 6,
        Protocol::ICMPV6 => 2,
        _ => return,
    };
    let field = packet.get_mut(upper.offset + at..);
    let Some(field) = field.and_then(|rest| rest.first_chunk_mut::<2>()) else {
        return;
    };
    let stood = u16::from_be_bytes(*field);
    let stands = match needs_checksum {
        // The pending checksum covers the pseudo header; the port completes it.
        true => checksum::combine(stood, change),
        false => match !checksum::combine(!stood, change) {
            0 if upper.protocol == Protocol::UDP.0 => u16::MAX,
            checksum => checksum,
        },
    };
    *field = stands.to_be_bytes();
}

/// Returns true for later fragments, which have no upper-layer header.
fn is_later_fragment(packet: &[u8], is_fragment: bool) -> bool {
    is_fragment && !crate::flow::is_first_fragment6(packet)
}

#[cfg(test)]
mod tests;
