//! `/ipv6/firewall/nat`: address and port translation.

use menu::{Family, Kind, Menu, OldProperty, Property};

use crate::declare::{PORTS, optional};
use crate::firewall as fw;

const ACTION: &[Property] = &[
    optional(
        "to-address",
        Kind::Prefix(Family::V6),
        "Addresses to translate to",
    ),
    optional("to-ports", PORTS, "Ports to translate to"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["dstnat", "input", "output", "srcnat"]),
            &[
                "accept",
                "add-dst-to-address-list",
                "add-src-to-address-list",
                "dst-nat",
                "jump",
                "log",
                "masquerade",
                "netmap",
                "passthrough",
                "redirect",
                "return",
                "src-nat",
            ],
        ),
        ACTION,
        fw::TRACKED_V6,
    ],
    old: &[OldProperty::renamed("to-addresses", "to-address")],
    ..fw::table("/ipv6/firewall/nat", "Network Address Translation")
};
