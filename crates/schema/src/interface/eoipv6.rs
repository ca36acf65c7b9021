//! `/interface/eoipv6`: Ethernet over IPv6 tunnels.

use menu::Menu;

use super::tunnel::{ACTUAL, ENDS6, NAME, OUTER};
use crate::declare::{mac, number};
use crate::fragment::{
    ARP, COMMENT_DISABLED, IDLE_LOOP_PROTECT, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        ACTUAL,
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        IDLE_LOOP_PROTECT,
        ENDS6,
        &[number(
            "tunnel-id",
            0,
            65_535,
            "Number of the tunnel, the same at both ends",
        )
        .default("0")],
        OUTER,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "remote-address", "tunnel-id"],
    naming: "eoipv6-tunnel",
    ..idle_interfaces("/interface/eoipv6", "eoipv6", "Ethernet over IPv6 tunnels")
};
