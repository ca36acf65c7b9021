//! `/interface/bridge/mdb`: the multicast database: ports that listen to multicast groups.

use menu::{Menu, MenuShape, Property};

use super::BRIDGE;
use super::port::PORT;
use crate::declare::{address, list, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            address("group", "The multicast group").required(),
            number("vid", 1, 4_094, "VLAN of the group").optional(),
            list("interface", &PORT, "Ports with listeners").default(""),
            BRIDGE,
            Property::new(
                "on-ports",
                menu::Kind::Text,
                "Ports with listeners at present",
            )
            .read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["group", "vid", "on-ports", "bridge"],
    ..Menu::new(
        "/interface/bridge/mdb",
        MenuShape::List,
        "Multicast groups of bridges",
    )
};
