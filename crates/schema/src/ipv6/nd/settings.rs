//! `/ipv6/nd/settings`: acceptance of router advertisements.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{between, with_default};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "router-advertisement-route-distance",
            between(1, 255),
            "1",
            "Distance of routes from advertisements",
        ),
        with_default(
            "router-advertisement-ignored-options",
            Kind::Set(&["dns", "mtu"]),
            "",
            "Ignored options of received advertisements",
        ),
    ]],
    ..Menu::new(
        "/ipv6/nd/settings",
        MenuShape::Settings,
        "Settings for received router advertisements",
    )
};
