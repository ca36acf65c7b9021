//! `/interface/gre6`: GRE tunnels over IPv6 (RFC 7676).

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
    naming: "gre6-tunnel",
    ..tunnels(
        "/interface/gre6",
        "gre6-tunnel",
        "GRE tunnels over IPv6 (RFC 7676)",
    )
};
