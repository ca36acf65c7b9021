//! `/ip/dhcp-server/config`: settings of all DHCP servers.

use menu::{Kind, Menu, MenuShape};

use crate::declare::{with_default, yes};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default(
            "store-leases-disk",
            Kind::Or(&["immediately", "never"], &Kind::SPAN),
            "5m",
            "Interval at which leases are written to disk",
        ),
        yes("accounting", "Account leases by RADIUS"),
        with_default(
            "interim-update",
            Kind::SPAN,
            "0s",
            "Interim update interval of RADIUS accounting",
        ),
        with_default(
            "radius-password",
            Kind::Or(&["empty", "same-as-user"], &Kind::Text),
            "empty",
            "Password for RADIUS requests",
        )
        .sensitive(),
    ]],
    ..Menu::new(
        "/ip/dhcp-server/config",
        MenuShape::Settings,
        "DHCP server configuration",
    )
};
