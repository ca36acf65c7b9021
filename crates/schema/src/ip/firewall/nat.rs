//! `/ip/firewall/nat`: which addresses and ports are translated.

use menu::{Family, Kind, Menu, Property};

use crate::brief::{IPV4, PORT, PORTS, may};
use crate::firewall as fw;

const ACTION: &[Property] = &[
    may(
        "to-addresses",
        Kind::Addresses(Family::V4),
        "Addresses to translate to",
    ),
    may("to-ports", PORTS, "Ports to translate to"),
    may(
        "same-not-by-dst",
        Kind::Bool,
        "Whether same leaves the destination out of account",
    ),
    may(
        "randomise-ports",
        Kind::Bool,
        "Whether ports are chosen at random",
    ),
    may(
        "socksify-service",
        Kind::Name,
        "The SOCKS client that takes connections",
    )
    .inert(),
    may(
        "socks5-server",
        IPV4,
        "The SOCKS5 server that takes connections",
    )
    .inert(),
    may("socks5-port", PORT, "The port of the SOCKS5 server").inert(),
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
