//! `/system/gps`: position and time from satellites.

use menu::{Effect, Kind, Menu, Property, Shape};

use crate::short::{COUNT, MONITORED, idle, switch, text};

pub(crate) static GPS: Menu = Menu {
    properties: &[&[
        switch("enabled", "no", "Whether the receiver is used"),
        Property::new(
            "port",
            Kind::Or(&["none"], &Kind::Or(&["auto"], &Kind::Text)),
            "The port of the receiver",
        )
        .default("none"),
        Property::new("channel", COUNT, "The channel of the port").default("0"),
        Property::new(
            "init-channel",
            COUNT,
            "The channel that the receiver is set up by",
        )
        .default("0"),
        text("init-string", "What is sent to set the receiver up"),
        switch("set-system-time", "no", "Sets the clock"),
        Property::new(
            "coordinate-format",
            Kind::Words(&["dms", "dd", "ddmm"]),
            "How positions are written",
        )
        .default("dms"),
    ]],
    commands: &[idle("monitor", "Show position and time", MONITORED).repeating()],
    effect: Effect::None,
    ..Menu::new(
        "/system/gps",
        Shape::Settings,
        "Position and time from satellites",
    )
};
