//! `/ip/firewall/raw`: what happens to packets before their connections are tracked.

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
        fw::FLAGS,
        fw::TLS,
        fw::INTERFACES,
        fw::PACKET_MARK,
        fw::PACKET,
        fw::LOG,
        &fw::addresses(&fw::ADDRESSES_V4),
        fw::V4,
        &fw::address_types(&fw::TYPES_V4),
        fw::ADDRESS_LISTS,
        fw::HOTSPOT,
        fw::LISTS,
        fw::TTL,
        fw::COUNTS,
        COMMENT_DISABLED,
    ],
    flags: RULE_FLAGS,
    stats: fw::HITS,
    commands: fw::COMMANDS,
    rank: 453,
    derive: Some(fw::complete),
    check: Some(fw::check),
    dynamic_first: true,
    ..Menu::new(
        "/ip/firewall/raw",
        Shape::Ordered,
        "Firewall before connection tracking",
    )
};
