//! `/ipv6/neighbor`: the IPv6 neighbour table (RFC 4861).

use menu::{Family, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("address", Kind::Address(Family::V6), "IPv6 address").required(),
            interface("Interface name"),
            Property::new("mac-address", Kind::Mac, "MAC address"),
            Property::new(
                "status",
                Kind::Words(&[
                    "delay",
                    "failed",
                    "incomplete",
                    "noarp",
                    "permanent",
                    "probe",
                    "reachable",
                    "stale",
                ]),
                "State of neighbour unreachability detection (RFC 4861, 7.3.2)",
            )
            .read_only(),
            Property::new("vrf", Kind::Text, "The VRF of the interface").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('R', "router", 2),
    ],
    columns: &["address", "interface", "mac-address", "vrf", "status"],
    unique: &[Unique {
        properties: &["address", "interface"],
        failure: "already have such neighbor",
    }],
    ..Menu::new("/ipv6/neighbor", MenuShape::List, "Neighbor management")
};
