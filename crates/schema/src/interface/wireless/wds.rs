//! `/interface/wireless/wds`: wireless distribution system links.

use menu::{Kind, Menu, Property};

use super::MASTER;
use crate::declare::{mac, no, number};
use crate::fragment::{ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            number("mtu", 0, 65_535, "Maximum transmission unit of layer 3").default("1500"),
            number("l2mtu", 0, 65_535, "Maximum transmission unit of layer 2").optional(),
        ],
        ARP,
        &[
            no(
                "disable-running-check",
                "Consider the interface running at all times",
            ),
            Property::new("master-interface", MASTER, "Physical interface").default("none"),
            mac("wds-address", "Remote MAC address").default("00:00:00:00:00:00"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "mtu", "master-interface", "wds-address"],
    ..idle_interfaces("/interface/wireless/wds", "wds", "WDS links")
};
