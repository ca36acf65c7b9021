//! `/interface/bridge/mlag`: multi-chassis link aggregation. Its settings have moved to the bridge.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{number, span};

const INTERFACE: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("bridge", INTERFACE, "The bridge").default("none"),
        Property::new("peer-port", INTERFACE, "Port to the other switch").default("none"),
        number("priority", 0, 255, "Priority of the switch").default("128"),
        span("heartbeat", "Heartbeat interval").default("5s"),
    ]],
    effect: Effect::None,
    older: true,
    ..Menu::new(
        "/interface/bridge/mlag",
        MenuShape::Settings,
        "Older versions: multi-chassis link aggregation",
    )
};
