//! `/ip/cloud/advanced`: the address reported to the cloud service.

use menu::{Effect, Menu, MenuShape};

use crate::declare::no;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[no(
        "use-local-address",
        "Whether the service is sent the router's own address",
    )]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/cloud/advanced",
        MenuShape::Settings,
        "Address that the service is sent",
    )
};
