//! `/interface/pptp-client`: PPTP clients (RFC 2637).

use menu::Menu;

use super::dial::{
    ALLOW, CONNECT_TO, NAME, ON_DEMAND, PEER_DNS, UNIT, USER, keepalive, profile, routes,
    tunnel_clients, units,
};
use crate::fragment::{COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        &units(UNIT, "1450"),
        &[CONNECT_TO],
        USER,
        &[profile("profile", "default-encryption"), keepalive("60")],
        &routes(ON_DEMAND),
        &[PEER_DNS, ALLOW],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    ..tunnel_clients("/interface/pptp-client", "pptp-out", "PPTP clients")
};
