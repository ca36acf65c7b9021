//! `/system/identity`: the router's name.

use menu::{Kind, Menu, Property, Shape};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[Property::new("name", Kind::Text, "The router's name").default("ferroute")]],
    rank: 700,
    ..Menu::new("/system/identity", Shape::Settings, "Name of the router")
};
