//! `/routing/igmp-proxy/interface`: upstream and downstream interfaces.

use menu::{Family, Flag, Kind, Menu, Property, Unique};

use crate::declare::{list, no, number, shown};
use crate::dynamic_routing::INTERFACES;
use crate::fragment::{COMMENT_DISABLED, idle_list};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", INTERFACES, "The interface").default("all"),
            number("threshold", 0, 255, "Minimum TTL of forwarded packets").default("1"),
            list(
                "alternative-subnets",
                &Kind::Prefix(Family::V4),
                "Networks of senders",
            )
            .default(""),
            no("upstream", "Upstream interface, towards the senders"),
            shown("status", Kind::Text, "State"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "inactive", 0),
        Flag::new('D', "dynamic", 1),
        Flag::new('U', "upstream", 2),
    ],
    columns: &["interface", "threshold"],
    unique: &[Unique {
        properties: &["interface"],
        failure: "already have such interface",
    }],
    ..idle_list(
        "/routing/igmp-proxy/interface",
        "Interfaces of the IGMP proxy",
    )
};
