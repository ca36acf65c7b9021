//! `/interface/w60g/station`: stations of a 60 GHz radio.

use menu::{Kind, Menu, Property};

use super::BRIDGE;
use crate::declare::{mac, number, reference};
use crate::fragment::{ARP, COMMENT_WAITING, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            reference("parent", "interface", "The radio").required(),
            mac("remote-address", "Hardware address of the station").required(),
            number("mtu", 68, 65_535, "Maximum transmission unit of layer 3").default("1500"),
            mac("mac-address", "Hardware address").optional(),
        ],
        ARP,
        &[Property::new(
            "put-in-bridge",
            Kind::Or(&["parent"], &BRIDGE),
            "Bridge for the station",
        )
        .default("parent")],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_WAITING,
    ],
    columns: &["name", "parent", "remote-address"],
    naming: "wlan60-station-",
    ..idle_interfaces(
        "/interface/w60g/station",
        "w60g-station",
        "Stations of a radio",
    )
};
