//! `/interface/eoip`: Ethernet over IP tunnels.

use menu::{AutoValue, Menu};

use super::tunnel::{ACTUAL, ENDS4, FAST, NAME, OUTER, tunnels};
use crate::declare::{mac, number};
use crate::fragment::{ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, LOOP_PROTECT};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        NAME,
        ACTUAL,
        &[mac("mac-address", "Hardware address of the interface")],
        ARP,
        LOOP_PROTECT,
        ENDS4,
        &[number(
            "tunnel-id",
            0,
            65_535,
            "Tunnel identifier; equal at both ends",
        )
        .default("0")],
        OUTER,
        FAST,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "mtu", "mac-address", "remote-address", "tunnel-id"],
    filled: &[("mac-address", AutoValue::TunnelMac)],
    naming: "eoip-tunnel",
    ..tunnels("/interface/eoip", "eoip", "Ethernet over IP tunnels")
};
