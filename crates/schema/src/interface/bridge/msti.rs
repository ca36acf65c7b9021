//! `/interface/bridge/msti`: MST instances (IEEE 802.1s).

use menu::{Menu, MenuShape, Property, Unique};

use super::{BRIDGE, PRIORITY, VLANS};
use crate::declare::{MONITORED_ITEMS, idle_command, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            BRIDGE,
            number("identifier", 1, 31, "Identifier of the MST instance").required(),
            PRIORITY,
            Property::new("vlan-mapping", VLANS, "VLANs of the instance").default(""),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["bridge", "identifier", "priority", "vlan-mapping"],
    unique: &[Unique {
        properties: &["bridge", "identifier"],
        failure: "already have such instance",
    }],
    commands: &[idle_command("monitor", "Show the state", MONITORED_ITEMS).repeating()],
    ..Menu::new(
        "/interface/bridge/msti",
        MenuShape::List,
        "MST instances of bridges",
    )
};
