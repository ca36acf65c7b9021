//! `/interface/ipipv6`: IP in IP tunnels over IPv6 (RFC 2473).

use menu::Menu;

use super::tunnel::{ACTUAL, ENDS6, NAME, OUTER};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

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
    ..idle_interfaces(
        "/interface/ipipv6",
        "ipipv6-tunnel",
        "IP in IP tunnels over IPv6 (RFC 2473)",
    )
};
