//! `/interface/pwr-line`: Ethernet over the cable of the power supply. There is none here.

use menu::{Kind, Menu, Property, Shape};

use super::IDLE_MONITOR;
use crate::fragment::{
    ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, LOOP_PROTECT, idle_interfaces,
};
use crate::terms::{mac, number, shown};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            shown(
                "default-name",
                Kind::Text,
                "The name that the port has by itself",
            ),
            number("mtu", 68, 65_535, "Maximum transmission unit of layer 3").default("1500"),
            number("l2mtu", 0, 65_535, "Maximum transmission unit of layer 2").optional(),
            mac("mac-address", "Hardware address").optional(),
        ],
        ARP,
        LOOP_PROTECT,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    shape: Shape::Fixed,
    columns: &["name", "mtu", "mac-address"],
    ports: &[("pwr-line", "pwr-line")],
    commands: &[IDLE_MONITOR],
    rank: 12,
    ..idle_interfaces(
        "/interface/pwr-line",
        "pwr-line",
        "Ethernet over power lines",
    )
};
