//! `/interface/gre`: GRE tunnels over IPv4 (RFC 2784).

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
    naming: "gre-tunnel",
    ..tunnels(
        "/interface/gre",
        "gre-tunnel",
        "GRE tunnels over IPv4 (RFC 2784)",
    )
};
