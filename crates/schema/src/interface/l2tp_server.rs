//! `/interface/l2tp-server`: server interfaces for L2TP sessions.

pub(crate) mod server;

use menu::Menu;

use super::dial::BINDING;
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[BINDING, LINK_TIMES, INTERFACE_COUNTERS, COMMENT_DISABLED],
    columns: &[
        "name",
        "user",
        "mtu",
        "client-address",
        "uptime",
        "encoding",
    ],
    ..idle_interfaces(
        "/interface/l2tp-server",
        "l2tp-in",
        "Interfaces of L2TP sessions",
    )
};
