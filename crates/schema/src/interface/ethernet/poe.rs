//! `/interface/ethernet/poe`: power over Ethernet (IEEE 802.3af); not supported.

pub(crate) mod settings;

use menu::{Family, FollowedMenu, Kind, Menu, Property};

use crate::declare::{address, no, number, reference, shown, span, words};
use crate::fragment::idle_fixed;

/// Power output modes.
const OUT: &[&str] = &["auto-on", "forced-on", "forced-on-a", "forced-on-bt", "off"];

/// Power output properties of Ethernet ports, without effect.
pub(super) const OF_PORT: &[Property] = &[
    words("poe-out", OUT, "PoE output mode").inert(),
    number("poe-priority", 0, 99, "Power priority").inert(),
    words(
        "poe-voltage",
        &["auto", "high", "low"],
        "PoE output voltage",
    )
    .inert(),
    Property::new("poe-lldp-enabled", Kind::Bool, "Negotiate power by LLDP").inert(),
    Property::new(
        "power-cycle-ping-enabled",
        Kind::Bool,
        "Power cycle on ping failure",
    )
    .inert(),
    Property::new("power-cycle-ping-address", HOST, "Address to ping").inert(),
    span("power-cycle-ping-timeout", "Ping timeout").inert(),
    Property::new(
        "power-cycle-interval",
        Kind::Or(&["none"], &Kind::SPAN),
        "Power cycle interval",
    )
    .inert(),
];

/// A host by IP or MAC address.
const HOST: Kind = Kind::Either(&Kind::Address(Family::Any), &Kind::Mac);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        reference("name", "interface", "The port").read_only(),
        words("poe-out", OUT, "PoE output mode").default("auto-on"),
        number("poe-priority", 0, 99, "Power priority").default("10"),
        words(
            "poe-voltage",
            &["auto", "high", "low"],
            "PoE output voltage",
        )
        .default("auto"),
        no("poe-lldp-enabled", "Negotiate power by LLDP"),
        no("power-cycle-ping-enabled", "Power cycle on ping failure"),
        address("power-cycle-ping-address", "Address to ping").optional(),
        span("power-cycle-ping-timeout", "Ping timeout").default("5s"),
        span("power-cycle-interval", "Power cycle interval").optional(),
        shown("poe-out-status", Kind::Text, "Port status"),
    ]],
    columns: &["name", "poe-out", "poe-priority", "poe-voltage"],
    key: Some("name"),
    follows: &[FollowedMenu {
        path: "/interface/ethernet",
        values: &[],
    }],
    older: true,
    ..idle_fixed("/interface/ethernet/poe", "Power over Ethernet")
};
