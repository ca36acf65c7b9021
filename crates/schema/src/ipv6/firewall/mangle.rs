//! `/ipv6/firewall/mangle`: marks and header changes.

use menu::{Family, Kind, Menu, Property};

use crate::declare::optional;
use crate::firewall as fw;

/// Prefix translation (RFC 6296).
const PREFIXES: &[Property] = &[
    optional(
        "src-prefix",
        Kind::Prefix(Family::V6),
        "Prefix before translation",
    ),
    optional(
        "dst-prefix",
        Kind::Prefix(Family::V6),
        "Prefix after translation",
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
        fw::TRACKED_V6,
    ],
    old: fw::OLD_MARKS,
    ..fw::table("/ipv6/firewall/mangle", "Packet marking and header changes")
};
