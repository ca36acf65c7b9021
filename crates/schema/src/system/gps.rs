//! `/system/gps`: GPS position and time.

use menu::{Effect, Kind, Menu, MenuShape, Property};

use crate::declare::{MONITORED, U32, idle_command, no, text};

pub(crate) static GPS: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the GPS receiver"),
        Property::new(
            "port",
            Kind::Or(&["none"], &Kind::Or(&["auto"], &Kind::Text)),
            "The port of the receiver",
        )
        .default("none"),
        Property::new("channel", U32, "The channel of the port").default("0"),
        Property::new("init-channel", U32, "Channel used to set up the receiver").default("0"),
        text("init-string", "String sent to set up the receiver"),
        no("set-system-time", "Set the clock by GPS"),
        Property::new(
            "coordinate-format",
            Kind::Words(&["dms", "dd", "ddmm"]),
            "Format of positions",
        )
        .default("dms"),
    ]],
    commands: &[idle_command("monitor", "Show position and time", MONITORED).repeating()],
    effect: Effect::None,
    ..Menu::new(
        "/system/gps",
        MenuShape::Settings,
        "Position and time from satellites",
    )
};
