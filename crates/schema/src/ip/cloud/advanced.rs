//! `/ip/cloud/advanced`: the address reported to the cloud service.

use menu::{Effect, Menu, MenuShape};

use crate::declare::no;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[no(
        "use-local-address",
        "Send the router's local address to the cloud service",
    )]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/cloud/advanced",
        MenuShape::Settings,
        "Advanced cloud settings",
    )
};
