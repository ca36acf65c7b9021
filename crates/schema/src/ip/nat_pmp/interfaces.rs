//! `/ip/nat-pmp/interfaces`: internal and external interfaces.

use menu::{Effect, Menu, MenuShape, Unique};

use crate::declare::{DISABLED_DYNAMIC, ONLY_DISABLED};
use crate::ip::upnp::interfaces::SIDES;

pub(crate) static MENU: Menu = Menu {
    properties: &[SIDES, ONLY_DISABLED],
    flags: DISABLED_DYNAMIC,
    columns: &["interface", "type", "forced-ip"],
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such interface",
    }],
    effect: Effect::None,
    ..Menu::new(
        "/ip/nat-pmp/interfaces",
        MenuShape::List,
        "Interfaces of NAT-PMP",
    )
};
