//! `/interface/pppoe-server`: server interfaces for PPPoE sessions.

pub(crate) mod server;

use menu::Menu;

use super::dial::BINDING;
use crate::declare::text;
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        BINDING,
        &[text("service", "The service that the session asked for")],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &[
        "name",
        "user",
        "mtu",
        "client-address",
        "uptime",
        "encoding",
    ],
    ..idle_interfaces(
        "/interface/pppoe-server",
        "pppoe-in",
        "Interfaces of PPPoE sessions",
    )
};
