//! Placeholder interfaces, which a check adds for refused commands.

use menu::{Kind, Menu, MenuShape, Property};

use super::FLAGS;
use crate::fragment::{ARP, COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the interface"),
            Property::new("default-name", Kind::Text, "Default name of the port").read_only(),
            Property::new(
                "mtu",
                Kind::Number {
                    min: 68,
                    max: 65_535,
                },
                "Maximum transmission unit of layer 3",
            )
            .default("1500"),
            Property::new(
                "l2mtu",
                Kind::Number {
                    min: 0,
                    max: 65_535,
                },
                "Maximum transmission unit of layer 2",
            )
            .inert(),
            Property::new("mac-address", Kind::Mac, "Hardware address").read_only(),
            Property::new(
                "orig-mac-address",
                Kind::Mac,
                "The port's own hardware address",
            )
            .read_only(),
        ],
        ARP,
        LINK_TIMES,
        INTERFACE_COUNTERS,
        COMMENT_DISABLED,
    ],
    flags: FLAGS,
    stats: INTERFACE_STATS,
    space: Some("interface"),
    key: Some("name"),

    hidden: true,
    ..Menu::new(
        "/interface/port",
        MenuShape::Fixed,
        "Ports without settings of the medium",
    )
};
