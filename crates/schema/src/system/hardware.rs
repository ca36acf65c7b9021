//! Hardware: health, LEDs, boards, regulatory information.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{DISABLED_SWITCH, between, shown};
use crate::spelling::{DEGREES, PERCENT};

pub(crate) static HEALTH: Menu = Menu {
    properties: &[&[
        Property::new(
            "state-after-reboot",
            Kind::Words(&["disabled", "enabled"]),
            "State of monitoring after a restart",
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
    shown_with: &["name", "value"],
    effect: Effect::None,
    ..Menu::new(
        "/system/health",
        MenuShape::Settings,
        "Voltages, temperatures and fans",
    )
};

const FAN: Kind = Kind::Words(&["auxiliary", "main"]);

pub(crate) static HEALTH_SETTINGS: Menu = Menu {
    properties: &[&[
        Property::new(
            "fan-mode",
            Kind::Words(&["auto", "manual"]),
            "Fan control mode",
        )
        .optional(),
        Property::new("use-fan", FAN, "Fan in use").optional(),
        Property::new("use-fan2", FAN, "Second fan in use").optional(),
        Property::new(
            "fan-switch",
            Kind::Words(&["auto", "off", "on"]),
            "When fans run",
        )
        .optional(),
        Property::new(
            "fan-on-threshold",
            DEGREES,
            "Temperature above which fans run",
        )
        .optional(),
        Property::new(
            "fan-full-speed-temp",
            DEGREES,
            "Temperature at which fans run at full speed",
        )
        .optional(),
        Property::new("fan-target-temp", DEGREES, "Target temperature").optional(),
        Property::new(
            "fan-min-speed-percent",
            PERCENT,
            "Minimum fan speed in percent",
        )
        .optional(),
        Property::new(
            "fan-control-interval",
            Kind::SPAN,
            "Interval of speed control",
        )
        .optional(),
        Property::new(
            "cpu-overtemp-check",
            Kind::Bool,
            "Restart when the processor is too hot",
        )
        .optional(),
        Property::new(
            "cpu-overtemp-threshold",
            DEGREES,
            "Processor temperature that causes a restart",
        )
        .optional(),
        Property::new(
            "cpu-overtemp-startup-delay",
            Kind::SPAN,
            "Delay before monitoring begins",
        )
        .optional(),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/system/health/settings",
        MenuShape::Settings,
        "Fan control",
    )
};

pub(crate) static SWOS: Menu = Menu {
    properties: &[&[
        Property::new(
            "address-acquisition-mode",
            Kind::Words(&["dhcp-only", "dhcp-with-fallback", "static"]),
            "Origin of the address",
        )
        .default("dhcp-with-fallback"),
        Property::new(
            "static-ip-address",
            Kind::Address(Family::V4),
            "The address",
        )
        .default("192.168.88.1"),
        Property::new("identity", Kind::Text, "Name of the switch").default("MikroTik"),
        Property::new(
            "allow-from",
            Kind::Prefix(Family::V4),
            "Addresses with access to the switch",
        )
        .default("0.0.0.0/0"),
        Property::new(
            "allow-from-ports",
            Kind::List(&Kind::Name),
            "Ports for access",
        )
        .optional(),
        Property::new(
            "allow-from-vlan",
            between(0, 4_095),
            "VLAN for access; 0 for any",
        )
        .default("0"),
    ]],
    effect: Effect::None,
    ..Menu::new("/system/swos", MenuShape::Settings, "SwOS settings")
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
            "Alignment of the LED display",
        )
        .default("interface-activity"),
        Property::new("leds", Kind::List(&Kind::Text), "Names of the LEDs").default(""),
        Property::new(
            "interface",
            Kind::Reference("interface"),
            "Interface shown by the LED",
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
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1), Flag::new('*', "default", 0)],
    columns: &["type", "leds", "interface"],
    parts: 32,
    effect: Effect::None,
    ..Menu::new("/system/leds", MenuShape::List, "LED functions")
};

pub(crate) static LED_SETTINGS: Menu = Menu {
    properties: &[&[Property::new(
        "all-leds-off",
        Kind::Words(&["never", "immediate", "after-1min", "after-1h"]),
        "Time after which the LEDs are switched off",
    )
    .default("never")]],
    effect: Effect::None,
    ..Menu::new("/system/leds/settings", MenuShape::Settings, "LED settings")
};

pub(crate) static REGULATORY: Menu = Menu {
    properties: &[&[shown("fcc", Kind::Text, "FCC identifier")]],
    effect: Effect::None,
    ..Menu::new(
        "/system/regulatory",
        MenuShape::Status,
        "Regulatory information of the radio",
    )
};
