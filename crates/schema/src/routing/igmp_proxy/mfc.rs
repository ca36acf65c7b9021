//! `/routing/igmp-proxy/mfc`: the multicast forwarding cache.

use menu::{Kind, Menu, Property};

use crate::declare::{ipv4, list};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC, idle_list};

const INTERFACE: Kind = Kind::Reference("interface");

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            ipv4("group", "The group").required(),
            ipv4("source", "The sender").required(),
            Property::new("upstream-interface", INTERFACE, "Interface of the sender").required(),
            list(
                "downstream-interfaces",
                &INTERFACE,
                "Interfaces of listeners",
            )
            .default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &[
        "group",
        "source",
        "upstream-interface",
        "downstream-interfaces",
    ],
    ..idle_list(
        "/routing/igmp-proxy/mfc",
        "Multicast routes of the IGMP proxy",
    )
};
