//! `/ipv6/address`: IPv6 addresses of this router's interfaces.

use menu::{Family, Flag, Kind, Menu, Property, Shape, Unique};

use crate::fragment::{COMMENT_DISABLED, interface};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("address", Kind::Local(Family::V6), "IPv6 address").required(),
            Property::new("from-pool", Kind::Text, "The pool that gives the prefix")
                .default("")
                .inert(),
            Property::new(
                "from-pool-policy",
                Kind::Words(&["any", "exact", "recommended", "strict", "without-acquire"]),
                "What to take from the pool",
            )
            .default("recommended")
            .inert(),
            interface("Interface name"),
            Property::new(
                "actual-interface",
                Kind::Text,
                "The interface that has the address",
            )
            .read_only(),
            Property::new(
                "eui-64",
                Kind::Bool,
                "Makes the last 64 bits from the MAC address",
            )
            .default("no"),
            Property::new("advertise", Kind::Bool, "Advertises the prefix to hosts").default("yes"),
            Property::new(
                "no-dad",
                Kind::Bool,
                "Does not look for a duplicate first (RFC 4862)",
            )
            .default("no"),
            Property::new(
                "auto-link-local",
                Kind::Bool,
                "Gives the interface a link-local address too",
            )
            .default("yes"),
            Property::new("vrf", Kind::Text, "The VRF of the interface").read_only(),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('G', "global", 2),
        Flag::new('L', "link-local", 2),
        Flag::new('S', "slave", 3),
    ],
    columns: &["address", "from-pool", "interface", "vrf", "advertise"],
    unique: &[Unique {
        properties: &["address", "interface"],
        failure: "already have such address",
    }],
    rank: 530,
    ..Menu::new("/ipv6/address", Shape::List, "Address management")
};
