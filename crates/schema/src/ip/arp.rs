//! `/ip/arp`: the ARP table (RFC 826).

use menu::{Family, Flag, Kind, Menu, MenuShape, Property, Unique};

use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("address", Kind::Address(Family::V4), "IP address").required(),
            Property::new("mac-address", Kind::Mac, "MAC address"),
            interface("Interface name"),
            Property::new(
                "published",
                Kind::Bool,
                "Answer for the address by proxy ARP",
            )
            .default("no"),
            Property::new(
                "status",
                Kind::Words(&[
                    "delay",
                    "failed",
                    "incomplete",
                    "permanent",
                    "probe",
                    "reachable",
                    "stale",
                ]),
                "State of neighbour unreachability detection",
            )
            .read_only(),
            Property::new("vrf", Kind::Text, "The VRF of the interface").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('H', "dhcp", 1),
        Flag::new('D', "dynamic", 1),
        Flag::new('P', "published", 2),
        Flag::new('C', "complete", 3),
    ],
    columns: &["address", "mac-address", "interface", "vrf", "status"],
    unique: &[Unique {
        properties: &["address", "interface"],
        failure: "already have such arp",
    }],
    ..Menu::new("/ip/arp", MenuShape::List, "ARP entries management")
};
