//! `/special-login`: automatic login at serial ports.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED_SWITCH, U32};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("user", Kind::Name, "User of the login").required(),
        Property::new("port", Kind::Reference("port"), "The serial port").required(),
        Property::new("channel", U32, "The channel of the port").default("0"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["user", "port", "channel"],
    effect: Effect::None,
    ..Menu::new("/special-login", MenuShape::List, "Logins at serial ports")
};
