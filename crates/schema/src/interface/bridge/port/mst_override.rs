//! `/interface/bridge/port/mst-override`: port cost and priority per MST instance.

use menu::{Menu, MenuShape, Property, Unique};

use super::{PORT, PRIORITY, cost};
use crate::declare::{MONITORED_ITEMS, idle_command, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_DYNAMIC};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", PORT, "The port").required(),
            number("identifier", 1, 31, "MST instance").required(),
            PRIORITY,
            cost("internal-path-cost", "Internal path cost of the port"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_DYNAMIC,
    columns: &["interface", "identifier", "priority", "internal-path-cost"],
    unique: &[Unique {
        properties: &["interface", "identifier"],
        failure: "already have such override",
    }],
    commands: &[idle_command("monitor", "Show the state", MONITORED_ITEMS).repeating()],
    ..Menu::new(
        "/interface/bridge/port/mst-override",
        MenuShape::List,
        "Port settings per MST instance",
    )
};
