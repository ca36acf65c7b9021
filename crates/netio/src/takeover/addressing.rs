//! Reads, removes and restores the kernel's addresses, permanent neighbours and routes of a device.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::IpAddr;

use netlink_packet_core::{Emitable, NLM_F_CREATE, NLM_F_REPLACE, Parseable};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourHeader, NeighbourMessage,
    NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteNextHop,
    RouteNextHopFlags, RouteProtocol, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::netlink::Netlink;

/// A saved address, neighbour or route: the kernel's message, and its readable form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remembered {
    pub(super) message: Vec<u8>,
    pub(super) note: String,
}

/// Addresses of a device to restore, in this order: all IPv4 addresses, and the IPv6 addresses that the kernel does
/// not generate itself.
pub(super) fn addresses(netlink: &mut Netlink, index: u32) -> io::Result<Vec<Remembered>> {
    let all = dump_addresses(netlink, index)?;
    let (v4, mut v6): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|address| address.header.family == AddressFamily::Inet);
    v6.retain(|address| {
        address.header.flags.contains(AddressHeaderFlags::Permanent)
            && address.header.scope != AddressScope::Link
    });
    // The kernel lists the newest IPv6 address first.
    Ok(v4
        .into_iter()
        .chain(v6.into_iter().rev())
        .map(|address| Remembered {
            note: note_of_address(&address),
            message: emit(&address),
        })
        .collect())
}

/// Removes all addresses from a device.
pub(super) fn remove_addresses(netlink: &mut Netlink, index: u32) -> io::Result<()> {
    for address in dump_addresses(netlink, index)? {
        match netlink.change(RouteNetlinkMessage::DelAddress(address), 0) {
            // A secondary address was removed together with its primary address.
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Restores an address; an existing one is no error.
pub(super) fn add_address(netlink: &mut Netlink, address: &Remembered) -> io::Result<()> {
    let message = AddressMessage::parse(&address.message).map_err(io::Error::other)?;
    if was_in_use(&message) {
        let request = RouteNetlinkMessage::NewAddress(at_once(message.clone()));
        netlink.change(request, NLM_F_CREATE | NLM_F_REPLACE)?;
        // The address is usable now; the next request restores its original flags.
    }
    let request = RouteNetlinkMessage::NewAddress(message);
    netlink.change(request, NLM_F_CREATE | NLM_F_REPLACE)
}

/// Permanent and proxy neighbours of a device, which the kernel removes with the last address.
pub(super) fn neighbours(netlink: &mut Netlink, index: u32) -> io::Result<Vec<Remembered>> {
    let mut neighbours = Vec::new();
    for flags in [NeighbourFlags::empty(), NeighbourFlags::Proxy] {
        let mut request = NeighbourMessage::default();
        request.header.flags = flags;
        for answer in netlink.dump(RouteNetlinkMessage::GetNeighbour(request))? {
            if let RouteNetlinkMessage::NewNeighbour(neighbour) = answer
                && neighbour.header.ifindex == index
                && is_written_down(&neighbour.header)
            {
                neighbours.push(remembered_neighbour(neighbour));
            }
        }
    }
    Ok(neighbours)
}

/// Restores a neighbour; an existing one is no error.
pub(super) fn add_neighbour(netlink: &mut Netlink, neighbour: &Remembered) -> io::Result<()> {
    let message = NeighbourMessage::parse(&neighbour.message).map_err(io::Error::other)?;
    let request = RouteNetlinkMessage::NewNeighbour(message);
    netlink.change(request, NLM_F_CREATE | NLM_F_REPLACE)
}

/// Routes to restore once a device has its addresses again: routes by this device, and routes by other devices whose
/// source is one of its addresses. Excludes routes that the kernel creates for addresses or from router
/// advertisements.
pub(super) fn routes(netlink: &mut Netlink, index: u32) -> io::Result<Vec<Remembered>> {
    let own: Vec<IpAddr> = dump_addresses(netlink, index)?
        .iter()
        .filter_map(own_address)
        .collect();
    let mut routes: Vec<RouteMessage> = dump_routes(netlink)?
        .into_iter()
        .filter(|route| leaves_by(route, index) || source(route).is_some_and(|s| own.contains(&s)))
        .filter(|route| {
            route.header.kind == RouteType::Unicast
                && !matches!(
                    route.header.protocol,
                    RouteProtocol::Kernel | RouteProtocol::Ra
                )
                && !route.header.flags.contains(RouteFlags::Cloned)
        })
        .collect();
    // A gateway must be reachable before its route is added.
    routes.sort_by_key(|route| gateway(route).is_some());
    for route in &mut routes {
        route.header.flags &= RouteFlags::Onlink;
        route
            .attributes
            .retain(|attribute| !matches!(attribute, RouteAttribute::CacheInfo(_)));
        // The kernel does not accept the state flags of a next hop, such as `dead`.
        for hop in route.attributes.iter_mut().flat_map(next_hops) {
            hop.flags &= RouteNextHopFlags::Onlink;
        }
    }
    Ok(routes
        .iter()
        .map(|route| Remembered {
            note: note_of_route(route),
            message: emit(route),
        })
        .collect())
}

/// Restores a route; an existing one is no error.
pub(super) fn add_route(netlink: &mut Netlink, route: &Remembered) -> io::Result<()> {
    let message = RouteMessage::parse(&route.message).map_err(io::Error::other)?;
    let request = RouteNetlinkMessage::NewRoute(message);
    netlink.change(request, NLM_F_CREATE | NLM_F_REPLACE)
}

/// True if a default route of the main table leaves by this device and does not come from a router advertisement.
pub(super) fn carries_default_route(netlink: &mut Netlink, index: u32) -> io::Result<bool> {
    let routes = dump_routes(netlink)?;
    Ok(routes.iter().any(|route| {
        route.header.destination_prefix_length == 0
            && route.header.kind == RouteType::Unicast
            && route.header.table == RouteHeader::RT_TABLE_MAIN
            && route.header.protocol != RouteProtocol::Ra
            && leaves_by(route, index)
    }))
}

/// True if IPv6 is disabled on a device; `None` if the kernel has no IPv6.
pub(super) fn ipv6_disabled(device: &str) -> io::Result<Option<bool>> {
    match fs::read_to_string(ipv6_switch(device)) {
        Ok(text) => Ok(Some(text.trim() != "0")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Disables or enables IPv6 on a device, which removes all its addresses and routes; a kernel without IPv6 is no
/// error.
pub(super) fn set_ipv6_disabled(device: &str, disabled: bool) -> io::Result<()> {
    match fs::write(ipv6_switch(device), if disabled { "1" } else { "0" }) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The kernel forbids slashes in device names.
fn ipv6_switch(device: &str) -> String {
    format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6")
}

/// True for an IPv6 address that passed duplicate address detection.
fn was_in_use(address: &AddressMessage) -> bool {
    let others =
        AddressHeaderFlags::Nodad | AddressHeaderFlags::Tentative | AddressHeaderFlags::Dadfailed;
    address.header.family == AddressFamily::Inet6 && !address.header.flags.intersects(others)
}

/// Sets an address to skip duplicate address detection, which takes a second in which the kernel accepts no routes
/// with this address.
fn at_once(mut address: AddressMessage) -> AddressMessage {
    address.header.flags |= AddressHeaderFlags::Nodad;
    for attribute in &mut address.attributes {
        if let AddressAttribute::Flags(flags) = attribute {
            *flags |= AddressFlags::Nodad;
        }
    }
    address
}

fn dump_addresses(netlink: &mut Netlink, index: u32) -> io::Result<Vec<AddressMessage>> {
    let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
    let answers = netlink.dump(request)?.into_iter();
    Ok(answers
        .filter_map(|answer| match answer {
            RouteNetlinkMessage::NewAddress(address) if address.header.index == index => {
                Some(address)
            }
            _ => None,
        })
        .collect())
}

fn is_written_down(neighbour: &NeighbourHeader) -> bool {
    let is_ip = matches!(neighbour.family, AddressFamily::Inet | AddressFamily::Inet6);
    let is_proxy = neighbour.flags.contains(NeighbourFlags::Proxy);
    is_ip && (is_proxy || neighbour.state == NeighbourState::Permanent)
}

fn remembered_neighbour(mut neighbour: NeighbourMessage) -> Remembered {
    // Removes the kernel's counters.
    neighbour.attributes.retain(|attribute| {
        !matches!(
            attribute,
            NeighbourAttribute::CacheInfo(_) | NeighbourAttribute::Probes(_)
        )
    });
    Remembered {
        note: note_of_neighbour(&neighbour),
        message: emit(&neighbour),
    }
}

fn dump_routes(netlink: &mut Netlink) -> io::Result<Vec<RouteMessage>> {
    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut request = RouteMessage::default();
        request.header.address_family = family;
        let answers = match netlink.dump(RouteNetlinkMessage::GetRoute(request)) {
            // The kernel does not support this address family.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => continue,
            other => other?,
        };
        routes.extend(answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        }));
    }
    Ok(routes)
}

fn leaves_by(route: &RouteMessage, index: u32) -> bool {
    route.attributes.iter().any(|attribute| match attribute {
        RouteAttribute::Oif(out) => *out == index,
        RouteAttribute::MultiPath(hops) => hops.iter().any(|hop| hop.interface_index == index),
        _ => false,
    })
}

fn gateway(route: &RouteMessage) -> Option<&RouteAttribute> {
    route.attributes.iter().find(|attribute| {
        matches!(
            attribute,
            RouteAttribute::Gateway(_) | RouteAttribute::Via(_) | RouteAttribute::MultiPath(_)
        )
    })
}

fn emit(message: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; message.buffer_len()];
    message.emit(&mut bytes);
    bytes
}

fn note_of_address(address: &AddressMessage) -> String {
    match own_address(address) {
        Some(own) => format!("{own}/{}", address.header.prefix_len),
        None => "an address".to_owned(),
    }
}

fn note_of_neighbour(neighbour: &NeighbourMessage) -> String {
    let address = neighbour
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => {
                Some(IpAddr::V4(*address))
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => {
                Some(IpAddr::V6(*address))
            }
            _ => None,
        });
    address.map_or_else(|| "a neighbour".to_owned(), |address| address.to_string())
}

/// The host's own address; on a point-to-point link the other attribute is the peer's.
fn own_address(address: &AddressMessage) -> Option<IpAddr> {
    let attributes = || address.attributes.iter();
    let local = attributes().find_map(|attribute| match attribute {
        AddressAttribute::Local(own) => Some(*own),
        _ => None,
    });
    let other = || {
        attributes().find_map(|attribute| match attribute {
            AddressAttribute::Address(other) => Some(*other),
            _ => None,
        })
    };
    local.or_else(other)
}

/// Preferred source address of a route.
fn source(route: &RouteMessage) -> Option<IpAddr> {
    route
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::PrefSource(address) => ip_of(address),
            _ => None,
        })
}

fn next_hops(attribute: &mut RouteAttribute) -> &mut [RouteNextHop] {
    match attribute {
        RouteAttribute::MultiPath(hops) => hops,
        _ => &mut [],
    }
}

fn ip_of(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}

/// Formats a route as ip-route(8) does, as far as administrators need it.
fn note_of_route(route: &RouteMessage) -> String {
    let target = route
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RouteAttribute::Destination(target) => ip_of(target),
            _ => None,
        });
    let mut note = match target {
        Some(target) => format!("{target}/{}", route.header.destination_prefix_length),
        None => "default".to_owned(),
    };
    note_ways(&mut note, &route.attributes);
    if let Some(source) = source(route) {
        let _ = write!(note, " src {source}");
    }
    note
}

fn note_ways(note: &mut String, attributes: &[RouteAttribute]) {
    for attribute in attributes {
        match attribute {
            RouteAttribute::Gateway(gateway) => {
                let gateway = ip_of(gateway).map(|gateway| format!(" via {gateway}"));
                note.push_str(&gateway.unwrap_or_default());
            }
            RouteAttribute::Via(RouteVia::Inet6(gateway)) => {
                let _ = write!(note, " via {gateway}");
            }
            RouteAttribute::MultiPath(hops) => {
                for hop in hops {
                    note_ways(note, &hop.attributes);
                }
            }
            _ => {}
        }
    }
}
