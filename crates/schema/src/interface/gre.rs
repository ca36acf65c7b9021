//! `/interface/gre`: GRE tunnels over IPv4 (RFC 2784).

use menu::Menu;

use super::tunnel::{ACTUAL, ENDS4, FAST, NAME, OUTER};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

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
    naming: "gre-tunnel",
    ..idle_interfaces(
        "/interface/gre",
        "gre-tunnel",
        "GRE tunnels over IPv4 (RFC 2784)",
    )
};
