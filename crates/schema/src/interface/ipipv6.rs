//! `/interface/ipipv6`: IP in IP tunnels over IPv6 (RFC 2473).

use menu::Menu;

use super::tunnel::{ACTUAL, ENDS6, NAME, OUTER, tunnels};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        ACTUAL,
        ENDS6,
        OUTER,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "local-address", "remote-address"],
    naming: "ipipv6-tunnel",
    ..tunnels(
        "/interface/ipipv6",
        "ipipv6-tunnel",
        "IP in IP tunnels over IPv6 (RFC 2473)",
    )
};
