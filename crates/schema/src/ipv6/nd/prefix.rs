//! `/ipv6/nd/prefix`: advertised prefixes in addition to those of addresses (RFC 4861, 4.6.2).

pub(crate) mod default;

use menu::{Family, Kind, Menu, MenuShape, Property};

use crate::declare::{INTERFACE, RULE_FLAGS, no, optional, with_default, yes};
use crate::fragment::{COMMENT_DISABLED, interface};

/// Lifetime of a prefix.
pub(crate) const LIFETIME: Kind = Kind::Or(&["infinity"], &Kind::SPAN);
/// Whether hosts should prefer DHCPv6 prefix delegation (RFC 9762).
pub(crate) const BY_DHCP: Property = no(
    "dhcp6-pd-preferred",
    "Tell hosts to request a prefix by DHCPv6 (RFC 9762)",
)
.inert();

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            with_default(
                "prefix",
                Kind::Or(&["none"], &Kind::Prefix(Family::V6)),
                "::/64",
                "The prefix",
            ),
            with_default(
                "6to4-interface",
                Kind::Or(&["none"], &INTERFACE),
                "none",
                "6to4 interface from which the prefix is derived",
            )
            .inert(),
            interface("Interface for advertisements"),
            yes("on-link", "On-link flag of the prefix"),
            yes(
                "autonomous",
                "Autonomous flag: hosts configure addresses (SLAAC)",
            ),
            BY_DHCP,
            optional("valid-lifetime", LIFETIME, "Valid lifetime of the prefix"),
            optional(
                "preferred-lifetime",
                LIFETIME,
                "Preferred lifetime of the prefix",
            ),
        ],
        COMMENT_DISABLED,
    ],
    flags: RULE_FLAGS,
    ..Menu::new("/ipv6/nd/prefix", MenuShape::List, "Advertised prefixes")
};
