//! `/interface/lte/apn`: access point names of mobile networks.

use menu::{Builtin, ExportSelector, Flag, Kind, Menu, Property};

use crate::declare::{number, optional, secret, text, words, yes};
use crate::fragment::{COMMENT, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the profile"),
        text("apn", "Name of the access point"),
        yes("use-peer-dns", "Use the operator's DNS servers"),
        yes("add-default-route", "Add a default route"),
        number(
            "default-route-distance",
            0,
            255,
            "Distance of the default route",
        )
        .default("2"),
        words(
            "ip-type",
            &["auto", "ipv4", "ipv4-ipv6", "ipv6"],
            "IP version requested from the network",
        )
        .default("auto"),
        Property::new(
            "ipv6-interface",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Interface that announces the prefix",
        )
        .default("none")
        .quiet(),
        words(
            "authentication",
            &["chap", "none", "pap"],
            "Authentication type",
        )
        .default("none"),
        text("user", "User name"),
        secret("password", "Password of the user"),
        yes(
            "use-network-apn",
            "Use the access point name set by the operator",
        ),
        Property::new(
            "passthrough-interface",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Interface of the host to which the address is passed",
        )
        .default("none"),
        Property::new(
            "passthrough-mac",
            Kind::Or(&["auto"], &Kind::Mac),
            "MAC address of the host to which the address is passed",
        )
        .default("auto"),
        optional(
            "passthrough-subnet-size",
            Kind::Or(&["auto", "p2p"], &Kind::Number { min: 0, max: 32 }),
            "Prefix length of the host's address",
        ),
        COMMENT,
    ]],
    flags: &[Flag::new('*', "default", 0)],
    columns: &[
        "name",
        "apn",
        "ip-type",
        "use-peer-dns",
        "add-default-route",
    ],
    naming: "apn",
    space: Some("lte-apn"),
    key: Some("name"),
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    pick: ExportSelector::Default,
    ..idle_list("/interface/lte/apn", "Access points of mobile networks")
};
