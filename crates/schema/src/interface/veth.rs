//! `/interface/veth`: interfaces whose other end is in a container.

use menu::{Family, Kind, Menu, Property};

use crate::declare::{list, mac, no};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, LINK_TIMES, idle_interfaces};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            list(
                "address",
                &Kind::Local(Family::Any),
                "Addresses of the container",
            )
            .default(""),
            Property::new(
                "gateway",
                Kind::Address(Family::V4),
                "Gateway of the container",
            )
            .optional(),
            Property::new(
                "gateway6",
                Kind::Address(Family::V6),
                "IPv6 gateway of the container",
            )
            .optional(),
            mac("mac-address", "Hardware address of the interface"),
            mac("container-mac-address", "Hardware address of the container"),
            no("dhcp", "The container asks for its address by DHCP"),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "address", "gateway"],
    ..idle_interfaces("/interface/veth", "veth", "Interfaces of containers")
};
