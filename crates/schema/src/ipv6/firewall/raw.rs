//! `/ipv6/firewall/raw`: what happens to packets before their connections are tracked.

use menu::{Menu, Shape};

use crate::brief::RULE_FLAGS;
use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &fw::head(
            &fw::chains(&["output", "prerouting"]),
            &[
                "accept",
                "add-dst-to-address-list",
                "add-src-to-address-list",
                "drop",
                "jump",
                "log",
                "notrack",
                "passthrough",
                "return",
            ],
        ),
        fw::TLS,
        fw::INTERFACES,
        fw::PACKET_MARK,
        fw::PACKET,
        fw::LOG,
        &fw::addresses(&fw::ADDRESSES_V6),
        fw::ADDRESS_LISTS,
        fw::LISTS,
        &fw::address_types(&fw::TYPES_V6),
        fw::HEADERS,
        fw::FLAGS,
        fw::HOP_LIMIT,
        fw::COUNTS,
        COMMENT_DISABLED,
    ],
    flags: RULE_FLAGS,
    stats: fw::HITS,
    commands: fw::COMMANDS,
    rank: 537,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new(
        "/ipv6/firewall/raw",
        Shape::Ordered,
        "Firewall before connection tracking",
    )
};
