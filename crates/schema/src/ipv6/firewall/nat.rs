//! `/ipv6/firewall/nat`: which addresses and ports are translated.

use menu::{Family, Kind, Menu, Old, Property, Shape};

use crate::brief::{PORTS, RULE_FLAGS, may};
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

const ACTION: &[Property] = &[
    may(
        "to-address",
        Kind::Prefix(Family::V6),
        "Addresses to translate to",
    ),
    may("to-ports", PORTS, "Ports to translate to"),
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
        fw::STATE,
        &[fw::connection_limit(&fw::LIMIT_V6)],
        &fw::addresses(&fw::ADDRESSES_V6),
        fw::ADDRESS_LISTS,
        fw::LISTS,
        &fw::address_types(&fw::TYPES_V6),
        fw::HEADERS,
        fw::FLAGS,
        fw::HOP_LIMIT,
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
    old: &[Old::renamed("to-addresses", "to-address")],
    rank: 536,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new(
        "/ipv6/firewall/nat",
        Shape::Ordered,
        "Network Address Translation",
    )
};
