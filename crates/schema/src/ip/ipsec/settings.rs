//! `/ip/ipsec/settings`: settings of all peers.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{U32, no, with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("xauth-use-radius", "Use RADIUS for XAuth").inert(),
        yes("accounting", "Account users by RADIUS"),
        with_default(
            "interim-update",
            Kind::SPAN,
            "0s",
            "Interim update interval of RADIUS accounting",
        ),
        with_default(
            "ddos-cookie-threshold",
            U32,
            "1000",
            "Number of half-open exchanges above which peers must prove their address",
        ),
    ]],
    old_paths: &["/ip/ipsec/user/settings"],
    ..Menu::new("/ip/ipsec/settings", MenuShape::Settings, "IPsec settings")
};
