//! `/ip/upnp/interfaces`: internal and external interfaces.

use menu::{Effect, Kind, Menu, MenuShape, Property, Unique};

use crate::declare::{DISABLED_DYNAMIC, IPV4, ONLY_DISABLED, optional, property};
use crate::fragment::interface;

/// An internal or external interface.
pub(crate) const SIDES: &[Property] = &[
    interface("The interface"),
    property(
        "type",
        Kind::Words(&["external", "internal"]),
        "Type of the interface: internal or external",
    )
    .required(),
    optional("forced-ip", IPV4, "External address announced to hosts"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[SIDES, ONLY_DISABLED],
    flags: DISABLED_DYNAMIC,
    columns: &["interface", "type", "forced-ip"],
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such interface",
    }],
    effect: Effect::None,
    ..Menu::new("/ip/upnp/interfaces", MenuShape::List, "Interfaces of UPnP")
};
