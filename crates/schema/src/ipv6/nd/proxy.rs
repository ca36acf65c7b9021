//! `/ipv6/nd/proxy`: neighbour discovery proxy (RFC 4389).

use menu::{Effect, Menu, MenuShape};

use crate::declare::{DISABLED, IPV6, property};
use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            property("address", IPV6, "The address").required(),
            interface("Interface on which the router answers"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["address", "interface"],
    effect: Effect::None,
    ..Menu::new(
        "/ipv6/nd/proxy",
        MenuShape::List,
        "Neighbor discovery proxy entries",
    )
};
