//! `/ip/firewall/filter`: which packets go on and which do not.

use menu::{Kind, Menu, Property, Shape};

use crate::brief::{RULE_FLAGS, may};
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

const ACTION: &[Property] = &[
    may(
        "reject-with",
        Kind::Words(&[
            "icmp-admin-prohibited",
            "icmp-host-prohibited",
            "icmp-host-unreachable",
            "icmp-net-prohibited",
            "icmp-network-unreachable",
            "icmp-port-unreachable",
            "icmp-protocol-unreachable",
            "tcp-reset",
        ]),
        "The answer of reject",
    ),
    may(
        "hw-offload",
        Kind::Bool,
        "Whether FastTrack may use hardware",
    ),
];

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
                "tarpit",
            ],
        ),
        ACTION,
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
    old: fw::OLD,
    rank: 450,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new("/ip/firewall/filter", Shape::Ordered, "Firewall filters")
};
