//! `/ipv6/firewall/filter`: which packets go on and which do not.

use menu::{Kind, Menu, Property, Shape};

use crate::brief::{RULE_FLAGS, may};
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

const ACTION: &[Property] = &[may(
    "reject-with",
    Kind::Words(&[
        "icmp-address-unreachable",
        "icmp-admin-prohibited",
        "icmp-err-src-routing-header",
        "icmp-headers-too-long",
        "icmp-no-route",
        "icmp-not-neighbour",
        "icmp-port-unreachable",
        "tcp-reset",
    ]),
    "The answer of reject",
)];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["forward", "input", "output"]),
            &[
                "accept",
                "add-dst-to-address-list",
                "add-src-to-address-list",
                "drop",
                "fasttrack-connection",
                "jump",
                "log",
                "passthrough",
                "reject",
                "return",
            ],
        ),
        ACTION,
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
    old: fw::OLD,
    rank: 534,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new("/ipv6/firewall/filter", Shape::Ordered, "Firewall filters")
};
