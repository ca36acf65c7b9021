//! `/lcd`: display of boards that have one.

use menu::{Effect, ExportSelector, Flag, FollowedMenu, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED_SWITCH, idle_command, nanoseconds, no, shown, yes};
use crate::fragment::SECOND;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        yes("enabled", "Enable the screen"),
        Property::new(
            "touch-screen",
            Kind::Words(&["disabled", "enabled"]),
            "Whether the touch screen is enabled",
        )
        .default("enabled"),
        Property::new(
            "backlight-timeout",
            Kind::Or(&["never"], &nanoseconds(30 * SECOND, 7_200 * SECOND)),
            "Time after which the backlight is switched off",
        )
        .default("30m"),
        no("read-only-mode", "Whether the screen is read-only"),
        Property::new(
            "time-interval",
            Kind::Words(&["min", "hour", "daily", "weekly"]),
            "Period of the graphs",
        )
        .default("min"),
        Property::new(
            "default-screen",
            Kind::Words(&[
                "informative-slideshow",
                "interfaces",
                "log",
                "main-menu",
                "stat-slideshow",
                "stats",
                "stats-all",
            ]),
            "First screen shown",
        )
        .default("main-menu"),
        Property::new("color-scheme", Kind::Words(&["dark", "light"]), "Colours").default("dark"),
        no("flip-screen", "Turn the picture upside down"),
    ]],
    commands: &[
        idle_command("backlight", "Switch the backlight", &[]),
        idle_command("show", "Show a screen", &[]),
        idle_command("take-screenshot", "Write the picture to a file", &[]),
    ],
    effect: Effect::None,
    ..Menu::new("/lcd", MenuShape::Settings, "The screen")
};

pub(crate) static PIN: Menu = Menu {
    properties: &[&[
        Property::new("pin-number", Kind::Sized { min: 4, max: 16 }, "PIN code")
            .default("1234")
            .sensitive(),
        no("hide-pin-number", "Hide the code while it is typed"),
    ]],
    effect: Effect::None,
    ..Menu::new("/lcd/pin", MenuShape::Settings, "PIN code of the screen")
};

pub(crate) static INTERFACES: Menu = Menu {
    properties: &[&[
        Property::new("interface", Kind::Reference("interface"), "The interface").required(),
        Property::new("timeout", Kind::SPAN, "Time for which the page is shown").default("10s"),
        Property::new(
            "max-speed",
            Kind::Or(&["auto"], &Kind::Rate),
            "Maximum rate of the graph",
        )
        .default("auto"),
        DISABLED_SWITCH,
    ]],
    flags: &[
        Flag::new('*', "default", 0),
        Flag::new('I', "inactive", 1),
        Flag::new('X', "disabled", 1),
        Flag::new('D', "displayed", 0),
        Flag::new('W', "default-wireless", 1),
    ],
    columns: &["interface", "max-speed", "timeout"],
    key: Some("interface"),
    follows: &[FollowedMenu {
        path: "/interface/ethernet",
        values: &[],
    }],
    effect: Effect::None,
    ..Menu::new(
        "/lcd/interface",
        MenuShape::Fixed,
        "Interfaces on the screen",
    )
};

pub(crate) static PAGES: Menu = Menu {
    properties: &[&[Property::new(
        "interfaces",
        Kind::List(&Kind::Reference("interface")),
        "The interfaces",
    )
    .default("")]],
    flags: &[Flag::new('*', "default", 0)],
    columns: &["interfaces"],
    parts: 16,
    effect: Effect::None,
    ..Menu::new(
        "/lcd/interface/pages",
        MenuShape::List,
        "Pages of interfaces on the screen",
    )
};

pub(crate) static SCREEN: Menu = Menu {
    properties: &[&[
        Property::new("timeout", Kind::SPAN, "Time for which the page is shown").default("10s"),
        shown("name", Kind::Text, "Name"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('*', "default", 0), Flag::new('X', "disabled", 1)],
    columns: &["name", "timeout"],
    key: Some("name"),
    parts: 16,
    effect: Effect::None,
    ..Menu::new("/lcd/screen", MenuShape::Fixed, "Slides on the screen")
};

/// Displays at a serial or parallel port.
pub(crate) static OLDER: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable the screen"),
        Property::new("type", Kind::Text, "Size of the screen, such as 24x4").default("24x4"),
        Property::new("contrast", Kind::Number { min: 0, max: 255 }, "Contrast").default("0"),
        Property::new("port", Kind::Text, "Port of the screen").default("parallel"),
    ]],
    effect: Effect::None,
    older: true,
    ..Menu::new("/system/lcd", MenuShape::Settings, "Version 6: LCD")
};

pub(crate) static OLDER_PAGE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Contents of the page"),
        Property::new(
            "display-time",
            Kind::SPAN,
            "Time for which the page is shown",
        )
        .default("5s"),
        DISABLED_SWITCH,
    ]],
    columns: &["name", "display-time"],
    key: Some("name"),
    pick: ExportSelector::Name,
    parts: 64,
    effect: Effect::None,
    older: true,
    ..Menu::new(
        "/system/lcd/page",
        MenuShape::Fixed,
        "Version 6: pages of the screen",
    )
};
