//! `/ip/upnp`: port mapping requests by UPnP.

pub(crate) mod interfaces;

use menu::{Effect, Menu, MenuShape};

use crate::declare::{no, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Whether hosts may ask"),
        no(
            "allow-disable-external-interface",
            "Whether hosts may switch the line off",
        ),
        yes("show-dummy-rule", "Whether a dummy rule is shown"),
    ]],
    effect: Effect::None,
    ..Menu::new("/ip/upnp", MenuShape::Settings, "Universal Plug and Play")
};
