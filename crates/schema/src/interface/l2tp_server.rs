//! `/interface/l2tp-server`: server interfaces for L2TP sessions.

pub(crate) mod server;

use menu::{Flag, Menu, MenuShape};

use super::RESET_COUNTERS;
use super::dial::BINDING;
use super::pppoe_client::MONITOR;
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

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
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('R', "running", 0),
    ],
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "l2tp-in",
    naming: "l2tp-in",
    commands: &[MONITOR, RESET_COUNTERS],
    ..Menu::new(
        "/interface/l2tp-server",
        MenuShape::List,
        "Interfaces of L2TP sessions",
    )
};
