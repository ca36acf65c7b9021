//! What the routing protocols have in common.

use menu::{Family, Kind, Property};

use crate::declare::{U32, optional, words};

/// Where routes come from.
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

/// The families that a protocol carries.
pub(crate) const FAMILIES: Kind = Kind::Words(&["ip", "ipv6"]);

/// Interfaces: one, those of a list, or all.
pub(crate) const INTERFACES: Kind = Kind::Or(
    &["all"],
    &Kind::Either(
        &Kind::Reference("interface"),
        &Kind::Reference("interface-list"),
    ),
);

/// Number of a router: an address, or the name of an item of `/routing/id`.
pub(crate) const ROUTER_ID: Kind = Kind::Either(&Kind::Address(Family::V4), &Kind::Name);

/// When a default route is told others.
pub(crate) const ORIGINATE: &[&str] = &["always", "if-installed", "never"];

/// The chain of `/routing/filter/rule` that routes pass.
pub(crate) const fn chain(name: &'static str, help: &'static str) -> Property {
    optional(name, Kind::Text, help)
}

/// How version 6 told others of routes: with which type of metric, if at all.
pub(crate) const fn as_type(name: &'static str, help: &'static str) -> Property {
    words(name, &["as-type-1", "as-type-2", "no"], help).optional()
}

/// A metric of version 6.
pub(crate) const fn metric(name: &'static str, help: &'static str) -> Property {
    optional(name, Kind::Or(&["auto"], &U32), help)
}
