//! `/ip/firewall/nat`: address and port translation.

use menu::{Family, Kind, Menu, Property};

use crate::declare::{IPV4, PORT, PORTS, optional};
use crate::firewall as fw;

const ACTION: &[Property] = &[
    optional(
        "to-addresses",
        Kind::Addresses(Family::V4),
        "Addresses to translate to",
    ),
    optional("to-ports", PORTS, "Ports to translate to"),
    optional(
        "same-not-by-dst",
        Kind::Bool,
        "Action same: select the address by the source only",
    ),
    optional(
        "randomise-ports",
        Kind::Bool,
        "Choose source ports at random",
    ),
    optional(
        "socksify-service",
        Kind::Name,
        "Socksify service for the action socksify",
    )
    .inert(),
    optional("socks5-server", IPV4, "SOCKS5 server for the connections").inert(),
    optional("socks5-port", PORT, "The port of the SOCKS5 server").inert(),
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
                "endpoint-independent-nat",
                "jump",
                "log",
                "masquerade",
                "netmap",
                "passthrough",
                "redirect",
                "return",
                "same",
                "socksify",
                "src-nat",
            ],
        ),
        ACTION,
        fw::TRACKED_V4,
    ],
    old: fw::OLD_NAT,
    ..fw::table("/ip/firewall/nat", "Network Address Translation")
};
