//! Types and properties shared by the routing protocols.

use menu::{Family, Kind, Property};

use crate::declare::{U32, optional, words};

/// Origins of routes.
pub(crate) const SOURCES: Kind = Kind::Words(&[
    "bgp",
    "bgp-mpls-vpn",
    "connected",
    "dhcp",
    "fantasy",
    "isis",
    "modem",
    "ospf",
    "rip",
    "slaac",
    "static",
    "vpn",
]);

/// Address families.
pub(crate) const FAMILIES: Kind = Kind::Words(&["ip", "ipv6"]);

/// One interface, the members of an interface list, or all interfaces.
pub(crate) const INTERFACES: Kind = Kind::Or(
    &["all"],
    &Kind::Either(
        &Kind::Reference("interface"),
        &Kind::Reference("interface-list"),
    ),
);

/// A router id: an address, or the name of an item of `/routing/id`.
pub(crate) const ROUTER_ID: Kind = Kind::Either(&Kind::Address(Family::V4), &Kind::Name);

/// Conditions for originating a default route.
pub(crate) const ORIGINATE: &[&str] = &["always", "if-installed", "never"];

/// A chain of `/routing/filter/rule` for routes.
pub(crate) const fn chain(name: &'static str, help: &'static str) -> Property {
    optional(name, Kind::Text, help)
}

/// RouterOS 6: the metric type for redistributed routes, if any.
pub(crate) const fn as_type(name: &'static str, help: &'static str) -> Property {
    words(name, &["as-type-1", "as-type-2", "no"], help).optional()
}

/// RouterOS 6: a route metric.
pub(crate) const fn metric(name: &'static str, help: &'static str) -> Property {
    optional(name, Kind::Or(&["auto"], &U32), help)
}
