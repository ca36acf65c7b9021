//! `/ip/upnp`: port mapping requests by UPnP.

pub(crate) mod interfaces;

use menu::{Effect, Menu, MenuShape};

use crate::declare::{no, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable UPnP"),
        no(
            "allow-disable-external-interface",
            "Allow hosts to disable the external interface",
        ),
        yes("show-dummy-rule", "Show a dummy rule"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/upnp", MenuShape::Settings, "Universal Plug and Play")
};
