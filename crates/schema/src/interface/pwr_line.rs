//! `/interface/pwr-line`: powerline Ethernet; not supported.

use menu::{Menu, MenuShape};

use super::IDLE_MONITOR;
use crate::fragment::{
    ARP, COMMENT_DISABLED, IDLE_LOOP_PROTECT, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces,
    idle_port,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &idle_port("Default name of the port"),
        ARP,
        IDLE_LOOP_PROTECT,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    shape: MenuShape::Fixed,
    columns: &["name", "mtu", "mac-address"],
    ports: &[("pwr-line", "pwr-line")],
    commands: &[IDLE_MONITOR],
    ..idle_interfaces(
        "/interface/pwr-line",
        "pwr-line",
        "Ethernet over power lines",
    )
};
