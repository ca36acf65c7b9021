//! `/system/console`: local terminals.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED_SWITCH, U32, shown, text};

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "port",
            Kind::Or(&["none"], &Kind::Reference("port")),
            "The serial port",
        )
        .default("none"),
        Property::new("channel", U32, "The channel of the port").default("0"),
        text("term", "The type of the terminal"),
        shown("vcno", U32, "Number of the virtual terminal"),
        DISABLED_SWITCH,
    ]],
    flags: &[
        Flag::new('*', "default", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('W', "wedged", 1),
        Flag::new('U', "used", 1),
        Flag::new('F', "free", 1),
    ],
    columns: &["port", "term"],
    parts: 16,
    effect: Effect::None,
    ..Menu::new(
        "/system/console",
        MenuShape::List,
        "Terminals at serial ports and the screen",
    )
};

pub(crate) static SCREEN: Menu = Menu {
    properties: &[&[
        Property::new(
            "line-count",
            Kind::Words(&["25", "40", "50"]),
            "Number of text lines",
        )
        .default("25"),
        Property::new(
            "blank-interval",
            Kind::Words(&["never", "1min", "10min", "60min"]),
            "Idle time after which the screen is blanked",
        )
        .default("10min"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/system/console/screen",
        MenuShape::Settings,
        "The text screen",
    )
};
