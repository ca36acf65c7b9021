//! `/ip/nat-pmp`: port mapping requests by NAT-PMP (RFC 6886).

pub(crate) mod interfaces;

use menu::{Effect, Menu, MenuShape};

use crate::declare::no;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[no("enabled", "Enable NAT-PMP")]],
    effect: Effect::None,
    ..Menu::new(
        "/ip/nat-pmp",
        MenuShape::Settings,
        "NAT port mapping protocol",
    )
};
