//! `/ipv6/firewall/mangle`: marks for packets, connections and routes, and changes of headers.

use menu::{Family, Kind, Menu, Property, Shape};

use crate::brief::{RULE_FLAGS, may};
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

/// Translation of prefixes (RFC 6296).
const PREFIXES: &[Property] = &[
    may(
        "src-prefix",
        Kind::Prefix(Family::V6),
        "The prefix that is translated",
    ),
    may(
        "dst-prefix",
        Kind::Prefix(Family::V6),
        "The prefix that it becomes",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["forward", "input", "output", "postrouting", "prerouting"]),
            &[
                "accept",
                "add-dst-to-address-list",
                "add-src-to-address-list",
                "change-dscp",
                "change-hop-limit",
                "change-mss",
                "dnpt",
                "drop",
                "jump",
                "log",
                "mark-connection",
                "mark-packet",
                "mark-routing",
                "passthrough",
                "return",
                "set-priority",
                "sniff-pc",
                "sniff-tzsp",
                "snpt",
            ],
        ),
        PREFIXES,
        &fw::changes(("new-hop-limit", "Change of the hop limit")),
        fw::NAT_STATE,
        fw::TLS,
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
    old: fw::OLD_MARKS,
    rank: 535,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new(
        "/ipv6/firewall/mangle",
        Shape::Ordered,
        "Packet marking and header changes",
    )
};
