//! `/interface/eoipv6`: Ethernet over IPv6 tunnels.

use menu::{AutoValue, Menu};

use super::tunnel::{ACTUAL, ENDS6, NAME, OUTER, tunnels};
use crate::declare::{mac, number};
use crate::fragment::{ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, LOOP_PROTECT};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        ACTUAL,
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        LOOP_PROTECT,
        ENDS6,
        &[number(
            "tunnel-id",
            0,
            4_095,
            "Tunnel identifier; equal at both ends",
        )
        .default("0")],
        OUTER,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "remote-address", "tunnel-id"],
    filled: &[("mac-address", AutoValue::TunnelMac)],
    naming: "eoipv6-tunnel",
    ..tunnels("/interface/eoipv6", "eoipv6", "Ethernet over IPv6 tunnels")
};
