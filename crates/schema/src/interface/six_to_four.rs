//! `/interface/6to4`: IPv6 tunnels over IPv4 (RFC 4213).

use menu::Menu;

use super::tunnel::{ACTUAL, ENDS4, NAME, OUTER, tunnels};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        ACTUAL,
        ENDS4,
        OUTER,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "local-address", "remote-address"],
    naming: "sit",
    ..tunnels(
        "/interface/6to4",
        "6to4-tunnel",
        "IPv6 tunnels over IPv4 (RFC 4213)",
    )
};
