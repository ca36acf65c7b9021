//! `/partitions`: boot partitions of the flash.

use menu::{Argument, Effect, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{NUMBERS, U32, idle_command, shown, unnamed_argument};

const OTHER: Argument = unnamed_argument("partition", Kind::Text, "The other partition");

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the partition"),
        Property::new(
            "fallback-to",
            Kind::Or(&["etherboot", "next"], &Kind::Text),
            "Partition to start when this one cannot be started",
        )
        .default("next"),
        shown("version", Kind::Text, "Version"),
        shown("size", U32, "Size"),
    ]],
    flags: &[Flag::new('A', "active", 0), Flag::new('R', "running", 1)],
    columns: &["name", "fallback-to", "version", "size"],
    key: Some("name"),
    parts: 8,
    commands: &[
        idle_command("activate", "Start from this partition next", &[NUMBERS]),
        idle_command("copy-to", "Copy the system to another partition", &[OTHER]),
        idle_command("repartition", "Repartition the flash", &[]),
        idle_command(
            "restore-config-from",
            "Restore the configuration of another partition",
            &[OTHER],
        ),
        idle_command(
            "save-config-to",
            "Copy the configuration to another partition",
            &[OTHER],
        ),
    ],
    effect: Effect::None,
    ..Menu::new("/partitions", MenuShape::Fixed, "Partitions")
};
