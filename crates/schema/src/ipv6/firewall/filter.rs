//! `/ipv6/firewall/filter`: filter rules.

use menu::{Kind, Menu, Property};

use crate::declare::optional;
use crate::firewall as fw;

const ACTION: &[Property] = &[optional(
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
    "Reply of the action reject",
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
        fw::TRACKED_V6,
    ],
    old: fw::OLD,
    ..fw::table("/ipv6/firewall/filter", "Firewall filters")
};
