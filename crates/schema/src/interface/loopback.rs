//! The interface `lo`: always running, for addresses of the router itself. RouterOS: it has no menu.

use menu::{Builtin, Kind, Menu, MenuShape, Property};

use super::FLAGS;
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            Property::new(
                "mtu",
                Kind::Number {
                    min: 68,
                    max: 65_536,
                },
                "Maximum transmission unit of layer 3",
            )
            .default("65536"),
        ],
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),
    kind: "loopback",
    builtin: &[Builtin {
        values: &[(".id", "*FFFFFFFE"), ("name", "lo")],
    }],
    hidden: true,
    ..Menu::new(
        "/interface/loopback",
        MenuShape::Fixed,
        "Loopback interfaces",
    )
};
