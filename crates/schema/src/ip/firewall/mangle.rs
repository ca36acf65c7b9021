//! `/ip/firewall/mangle`: marks for packets, connections and routes, and changes of headers.

use menu::{Menu, Property, Shape};

use crate::brief::{IPV4, RULE_FLAGS, may};
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

const ROUTE: &[Property] = &[may(
    "route-dst",
    IPV4,
    "The gateway that route sends packets to",
)];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["forward", "input", "output", "postrouting", "prerouting"]),
            &[
                "accept",
                "add-dst-to-address-list",
                "add-src-to-address-list",
                "change-dscp",
                "change-mss",
                "change-ttl",
                "clear-df",
                "drop",
                "fasttrack-connection",
                "jump",
                "log",
                "mark-connection",
                "mark-packet",
                "mark-routing",
                "passthrough",
                "return",
                "route",
                "set-priority",
                "sniff-pc",
                "sniff-tzsp",
                "strip-ipv4-options",
            ],
        ),
        &fw::changes(("new-ttl", "Change of the time to live")),
        ROUTE,
        fw::FLAGS,
        fw::P2P,
        fw::STATE,
        fw::NAT_STATE,
        fw::TLS,
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
    old: fw::OLD_MARKS,
    rank: 451,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new(
        "/ip/firewall/mangle",
        Shape::Ordered,
        "Packet marking and header changes",
    )
};
