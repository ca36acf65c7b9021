//! `/system/ptp`: Precision Time Protocol (IEEE 1588).

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{U32, between, idle_command, shown};
use crate::fragment::COMMENT_DISABLED;

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the clock").required(),
            Property::new(
                "priority1",
                Kind::Or(&["auto"], &between(0, 255)),
                "First priority when a master is chosen",
            )
            .default("auto"),
            Property::new(
                "priority2",
                Kind::Or(&["auto"], &between(0, 255)),
                "Second priority when a master is chosen",
            )
            .default("auto"),
            Property::new(
                "delay-mode",
                Kind::Words(&["auto", "e2e", "p2p"]),
                "Delay measurement mode",
            )
            .default("auto"),
            Property::new(
                "transport",
                Kind::Words(&["auto", "ipv4", "l2-non-forwardable", "l2-forwardable"]),
                "Transport of the messages",
            )
            .default("auto"),
            Property::new(
                "profile",
                Kind::Words(&["default", "802.1as", "g8275.1", "aes67", "smpte"]),
                "Profile of the standard",
            )
            .default("default"),
            Property::new(
                "domain",
                Kind::Or(&["auto"], &between(0, 255)),
                "Domain of the clock",
            )
            .default("auto"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('I', "inactive", 1), Flag::new('X', "disabled", 1)],
    columns: &["name", "profile", "transport", "domain"],
    space: Some("ptp"),
    key: Some("name"),
    commands: &[idle_command("monitor", "Show the state of clocks", &[]).repeating()],
    effect: Effect::None,
    ..Menu::new("/system/ptp", MenuShape::List, "Precision time protocol")
};

pub(crate) static PORT_MENU: Menu = Menu {
    properties: &[&[
        Property::new("ptp", Kind::Reference("ptp"), "The clock").required(),
        Property::new("interface", Kind::Reference("interface"), "The interface").required(),
    ]],
    flags: &[Flag::new('I', "inactive", 1)],
    columns: &["interface", "ptp"],
    effect: Effect::None,
    ..Menu::new("/system/ptp/port", MenuShape::List, "PTP ports")
};

pub(crate) static STATUS: Menu = Menu {
    properties: &[&[
        shown("interface", Kind::Reference("interface"), "Interface"),
        shown("state", Kind::Text, "State"),
        shown("delay", U32, "Delay"),
        shown("port-nr", U32, "Port number"),
        shown("as-capable", Kind::Bool, "Port is capable of 802.1AS"),
        shown("neigh-freq-drift", U32, "Frequency drift of the neighbour"),
    ]],
    columns: &["interface", "state", "delay"],
    effect: Effect::None,
    ..Menu::new(
        "/system/ptp/status",
        MenuShape::Rows,
        "State of the PTP ports",
    )
};
