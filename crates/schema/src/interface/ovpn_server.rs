//! `/interface/ovpn-server`: server interfaces for OpenVPN sessions.

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
        "/interface/ovpn-server",
        "ovpn-in",
        "Interfaces of OpenVPN sessions",
    )
};
