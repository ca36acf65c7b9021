//! `/system/identity`: the router's name.

use menu::{Kind, Menu, MenuShape, Property};

/// RouterOS: maximum length of 64 bytes.
const NAME: Kind = Kind::Sized { min: 0, max: 64 };

pub(crate) static MENU: Menu = Menu {
    properties: &[&[Property::new("name", NAME, "The router's name").default("ferroute")]],
    ..Menu::new(
        "/system/identity",
        MenuShape::Settings,
        "Name of the router",
    )
};
