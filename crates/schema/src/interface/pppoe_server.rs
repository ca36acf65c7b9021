//! `/interface/pppoe-server`: server interfaces for PPPoE sessions.

pub(crate) mod server;

use menu::{Flag, Menu, MenuShape};

use super::RESET_COUNTERS;
use super::dial::BINDING;
use super::pppoe_client::MONITOR;
use crate::declare::text;
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

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
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('R', "running", 0),
    ],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "pppoe-in",
    naming: "pppoe-in",
    commands: &[MONITOR, RESET_COUNTERS],
    ..Menu::new(
        "/interface/pppoe-server",
        MenuShape::List,
        "Interfaces of PPPoE sessions",
    )
};
