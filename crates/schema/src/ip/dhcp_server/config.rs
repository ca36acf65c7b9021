//! `/ip/dhcp-server/config`: settings of all DHCP servers.

use menu::{Kind, Menu, Shape};

use crate::declare::{with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "store-leases-disk",
            Kind::Or(&["immediately", "never"], &Kind::SPAN),
            "5m",
            "How often leases are written to disk",
        ),
        yes("accounting", "Whether RADIUS is told of leases").inert(),
        with_default(
            "interim-update",
            Kind::SPAN,
            "0s",
            "How often RADIUS is told in between",
        )
        .inert(),
        with_default(
            "radius-password",
            Kind::Or(&["empty", "same-as-user"], &Kind::Text),
            "empty",
            "The password that RADIUS is asked with",
        )
        .sensitive()
        .inert(),
    ]],
    ..Menu::new(
        "/ip/dhcp-server/config",
        Shape::Settings,
        "DHCP server configuration",
    )
};
