//! `/interface/bridge/host`: the MAC address table of bridges.

use menu::{Flag, Kind, Menu, MenuShape, Property};

use super::BRIDGE;
use crate::declare::{mac, number, reference, shown};
use crate::fragment::COMMENT_DISABLED;

/// Properties of a static entry.
const HOST: &[Property] = &[
    mac("mac-address", "Hardware address of the host").required(),
    number("vid", 0, 4_094, "VLAN of the host").optional(),
    reference("interface", "interface", "Port of the host").required(),
    BRIDGE,
    shown("on-interface", Kind::Text, "Interface of the host"),
    shown("age", Kind::SPAN, "Time since the last frame of the host"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[HOST, COMMENT_DISABLED],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('L', "local", 2),
        Flag::new('E', "external", 3),
    ],
    columns: &["mac-address", "vid", "on-interface", "bridge"],
    ..Menu::new(
        "/interface/bridge/host",
        MenuShape::List,
        "Hosts of bridges",
    )
};
