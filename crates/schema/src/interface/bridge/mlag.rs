//! `/interface/bridge/mlag`: multi-chassis link aggregation. Its settings have moved to the bridge.

use menu::{Effect, Kind, Menu, Property, Shape};

use crate::declare::{number, span};

const INTERFACE: Kind = Kind::Or(&["none"], &Kind::Reference("interface"));

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("bridge", INTERFACE, "The bridge").default("none"),
        Property::new(
            "peer-port",
            INTERFACE,
            "The port that leads to the other switch",
        )
        .default("none"),
        number("priority", 0, 255, "Which of the two decides").default("128"),
        span("heartbeat", "How often they hear of each other").default("5s"),
    ]],
    effect: Effect::None,
    older: true,
    ..Menu::new(
        "/interface/bridge/mlag",
        Shape::Settings,
        "Older versions: two switches that are one",
    )
};
