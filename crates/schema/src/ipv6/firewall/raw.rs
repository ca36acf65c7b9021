//! `/ipv6/firewall/raw`: rules before connection tracking.

use menu::Menu;

use crate::firewall as fw;
use crate::fragment::COMMENT_DISABLED;
use crate::ip::firewall::raw::HEAD;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        HEAD,
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
    ..fw::table(
        "/ipv6/firewall/raw",
        "Firewall rules before connection tracking",
    )
};
