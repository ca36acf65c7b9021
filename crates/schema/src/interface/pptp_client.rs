//! `/interface/pptp-client`: PPTP clients (RFC 2637).

use menu::Menu;

use super::dial::{
    ALLOW, CONNECT_TO, NAME, PEER_DNS, ROUTES, UNIT, USER, keepalive, profile, units,
};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT, "1450"),
        &[CONNECT_TO],
        USER,
        &[profile("profile", "default-encryption"), keepalive("60")],
        ROUTES,
        &[PEER_DNS, ALLOW],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "connect-to", "user", "profile"],
    naming: "pptp-out",
    ..idle_interfaces("/interface/pptp-client", "pptp-out", "PPTP clients")
};
