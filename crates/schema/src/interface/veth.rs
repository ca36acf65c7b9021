//! `/interface/veth`: virtual Ethernet interfaces for containers.

use menu::{Family, Kind, Menu, MenuShape, Property};

use super::{FLAGS, RESET_COUNTERS};
use crate::declare::{list, mac, no};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

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
            .optional()
            .inert(),
            Property::new(
                "gateway6",
                Kind::Address(Family::V6),
                "IPv6 gateway of the container",
            )
            .optional()
            .inert(),
            mac("mac-address", "Hardware address of the interface"),
            mac("container-mac-address", "Hardware address of the container"),
            no("dhcp", "DHCP client in the container").inert(),
        ],
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    columns: &["name", "address", "gateway"],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "veth",
    commands: &[RESET_COUNTERS],
    ..Menu::new(
        "/interface/veth",
        MenuShape::List,
        "Virtual Ethernet interfaces of containers",
    )
};
