//! `/interface/ipip`: IP in IP tunnels over IPv4 (RFC 2003).

use menu::Menu;

use super::tunnel::{ACTUAL, ENDS4, FAST, NAME, OUTER, tunnels};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        ACTUAL,
        ENDS4,
        OUTER,
        FAST,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "local-address", "remote-address"],
    naming: "ipip-tunnel",
    ..tunnels(
        "/interface/ipip",
        "ipip-tunnel",
        "IP in IP tunnels over IPv4 (RFC 2003)",
    )
};
