//! `/ip/firewall/raw`: rules before connection tracking.

use menu::{Menu, Property};

use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;

/// Chains and actions for IPv4 and IPv6.
pub(crate) const HEAD: &[Property] = &fw::head(
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
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
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
    ..fw::table(
        "/ip/firewall/raw",
        "Firewall rules before connection tracking",
    )
};
