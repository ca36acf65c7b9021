//! What is known of the machine: health, LEDs, boards, regulations.

use menu::{Effect, Flag, Kind, Menu, Property, Shape};

use crate::short::{DISABLED, between, shown};

/// The menus of this file.
pub(crate) const MENUS: &[&Menu] = &[&HEALTH, &LEDS, &LED_SETTINGS, &REGULATORY];

pub(crate) static HEALTH: Menu = Menu {
    properties: &[&[
        Property::new(
            "state-after-reboot",
            Kind::Words(&["disabled", "enabled"]),
            "Whether monitoring goes on after a restart",
        )
        .default("enabled"),
        shown("state", Kind::Bool, "State"),
        shown("name", Kind::Text, "Name"),
        shown("value", Kind::Text, "Value"),
        shown(
            "type",
            Kind::Words(&["C", "RPM", "V", "A", "W", "", ""]),
            "Type",
        ),
    ]],
    effect: Effect::None,
    rank: 905,
    ..Menu::new(
        "/system/health",
        Shape::Settings,
        "Voltages, temperatures and fans",
    )
};

pub(crate) static LEDS: Menu = Menu {
    properties: &[&[
        Property::new(
            "type",
            Kind::Words(&[
                "interface-status",
                "interface-receive",
                "interface-transmit",
                "interface-activity",
                "wireless-signal-strength",
                "wireless-status",
                "modem-signal",
                "modem-technology",
                "flash-access",
                "interface-speed",
                "interface-speed-1G",
                "interface-speed-25G",
                "interface-speed-100G",
                "poe-out",
                "ap-cap",
                "on",
                "off",
                "fan-fault",
                "poe-fault",
                "gps-valid",
                "align-left",
                "align-right",
                "align-up",
                "align-down",
            ]),
            "What is shown",
        )
        .default("interface-activity"),
        Property::new("leds", Kind::List(&Kind::Text), "Names of the LEDs").default(""),
        Property::new(
            "interface",
            Kind::Reference("interface"),
            "The interface that is shown",
        )
        .optional(),
        Property::new(
            "modem-signal-threshold",
            between(-113, -51),
            "Signal in dBm above which the LED is lit",
        )
        .default("-91"),
        Property::new(
            "color",
            Kind::Or(
                &[
                    "none",
                    "red",
                    "orange",
                    "yellow",
                    "green-yellow",
                    "green",
                    "green-cyan",
                    "cyan",
                    "blue-cyan",
                    "blue",
                    "blue-magenta",
                    "magenta",
                    "red-magenta",
                ],
                &Kind::Hex { max: 0xff_ffff },
            ),
            "Colour of the LED",
        )
        .default("none"),
        DISABLED,
    ]],
    flags: &[Flag::new('X', "disabled", 1), Flag::new('*', "default", 0)],
    columns: &["type", "leds", "interface"],
    parts: 32,
    effect: Effect::None,
    rank: 906,
    ..Menu::new("/system/leds", Shape::List, "What the LEDs show")
};

pub(crate) static LED_SETTINGS: Menu = Menu {
    properties: &[&[Property::new(
        "all-leds-off",
        Kind::Words(&["never", "immediate", "after-1min", "after-1h"]),
        "When the LEDs go dark",
    )
    .default("never")]],
    effect: Effect::None,
    rank: 907,
    ..Menu::new(
        "/system/leds/settings",
        Shape::Settings,
        "All LEDs together",
    )
};

pub(crate) static REGULATORY: Menu = Menu {
    properties: &[&[shown("fcc", Kind::Text, "FCC identifier")]],
    effect: Effect::None,
    rank: 908,
    ..Menu::new(
        "/system/regulatory",
        Shape::Status,
        "Approvals of the radio",
    )
};
