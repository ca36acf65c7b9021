//! `/ip/firewall/filter`: filter rules.

use menu::{Kind, Menu, Property};

use crate::declare::optional;
use crate::firewall as fw;

const ACTION: &[Property] = &[
    optional(
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
        "Reply of the action reject",
    ),
    optional(
        "hw-offload",
        Kind::Bool,
        "Allow hardware offload of FastTracked connections",
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
        fw::TRACKED_V4,
    ],
    old: fw::OLD,
    ..fw::table("/ip/firewall/filter", "Firewall filters")
};
