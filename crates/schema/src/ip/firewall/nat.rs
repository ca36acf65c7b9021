//! `/ip/firewall/nat`: which addresses and ports are translated.

use menu::{Family, Kind, Menu, Property, Shape};

use crate::brief::{IPV4, PORT, PORTS, RULE_FLAGS, may};
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

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
        &[fw::connection_limit(&fw::LIMIT_V4)],
        fw::DEEP,
        &fw::addresses(&fw::ADDRESSES_V4),
        fw::V4,
        &fw::address_types(&fw::TYPES_V4),
        fw::ADDRESS_LISTS,
        fw::HOTSPOT,
        fw::LISTS,
        fw::TTL,
        fw::CONNECTION,
        fw::ROUTING,
        fw::INTERFACES,
        fw::PACKET_MARK,
        fw::PACKET,
        fw::LOG,
        fw::COUNTS,
        COMMENT_DISABLED,
    ],
    flags: RULE_FLAGS,
    stats: fw::HITS,
    commands: fw::COMMANDS,
    old: fw::OLD_NAT,
    rank: 452,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new(
        "/ip/firewall/nat",
        Shape::Ordered,
        "Network Address Translation",
    )
};
